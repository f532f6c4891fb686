"""The seal of a crawl: the last hash of its ledger, signed by the key of an identity and, where an authority is named,
stamped with the time (RFC 3161). It lies in `seal.json`; without the key nobody can make another for a changed crawl.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity import times
from comity.audit.chain import Proof
from comity.errors import FetchError, InputError, InvalidURL
from comity.files import read_regular, write_anew
from comity.frontier.durable import translate_os_errors
from comity.signatures.folder import Identity
from comity.signatures.keys import PublicKey, SigningKey, decoded, encoded
from comity_pages._extras import need
from comity_pages.urls import Url
from comity_robots.fields import WrongType, typed

if TYPE_CHECKING:  # what checks a seal needs no network
    from comity.net import ClientSettings
    from comity.policy import Policy

MAX_SEAL_BYTES: Final = 1024 * 1024  # with a time stamp and its certificates it has some thousands
FILE: Final = "seal.json"
_LARGEST: Final = 64 * 1024
_TO_INSTALL: Final = ("identity", "a time stamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSeal:
    """
    Attributes:
        hash: the last hash of the ledger, as `comity prove` prints it.
        at: when it was signed, by the signer's clock, in whole seconds since 1970.
        agent: origin at which the identity publishes its keys, as the signer says.
        x: the public key, base64url.
        signature: by that key over the three fields before it, base64url.
        timestamp: an authority's answer about the signature (RFC 3161, 2.4.2), base64url; None: there is none.
    """

    hash: str
    at: int
    agent: str
    x: str
    signature: str = ""
    timestamp: str | None = None

    @property
    def statement(self) -> bytes:
        """What is signed. It begins otherwise than the base of any signed request: neither can stand for the other."""
        return json.dumps(["comity: last hash of a ledger", self.hash, self.at, self.agent]).encode()


def seal(
    folder: Path,
    last: str,
    identity: Identity,
    key: SigningKey,
    now: float,
    *,
    authority: str | None = None,
    policy: "Policy",
    settings: "ClientSettings",
) -> CrawlSeal:
    """Write the seal of a crawl into its folder, in the place of an earlier one.

    Args:
        last: the last hash of its ledger, once it is proved.
        authority: URL of a time-stamp authority, which is asked for a stamp on the signature.

    Raises:
        AddressBlocked, Timeout, FetchError: the authority gave none.
        MissingExtra, InvalidURL
        StorageError: it cannot be written; an earlier one stays.
    """
    unsigned = CrawlSeal(hash=last, at=int(now), agent=identity.origin, x=encoded(key.public.x))
    signature = key.sign(unsigned.statement)
    made = replace(unsigned, signature=encoded(signature))
    if authority is not None:
        import asyncio

        stamp = asyncio.run(_stamped(Url(authority), signature, policy, replace(settings, identity=None)))
        made = replace(made, timestamp=encoded(stamp))
    with translate_os_errors(folder / FILE):
        write_anew(folder / FILE, f"{json.dumps(asdict(made), indent=2)}\n".encode())
    return made


async def _stamped(url: Url, data: bytes, policy: "Policy", settings: "ClientSettings") -> bytes:
    from comity.net.deadlines import Deadline
    from comity.net.session import Session

    client = need("rfc3161_client", *_TO_INSTALL)
    query = client.TimestampRequestBuilder().data(data).hash_algorithm(client.base.HashAlgorithm.SHA256).build()
    headers = {"Content-Type": "application/timestamp-query"}  # RFC 3161, 3.4
    async with Session(policy, settings) as session:
        with Deadline(settings.most_seconds, url):
            reader = await session.open().open("POST", url, headers=headers, data=query.as_bytes())
            answer = await reader.read(_LARGEST)
    if answer.status != 200:
        raise FetchError(f"{url} answered {answer.status} to the query for a time stamp", url=url)
    try:
        info = client.decode_timestamp_response(answer.body).tst_info
    except ValueError as error:
        raise FetchError(f"{url} gave no time stamp: {error}", url=url) from None
    if info.message_imprint.message != sha256(data).digest() or info.nonce != query.nonce:
        raise FetchError(f"{url} gave a time stamp for something else", url=url)
    return answer.body


def check(folder: Path, proof: Proof, *, sealed_by: str | None = None, authority: Path | None = None) -> bool:
    """Hold a crawl's seal against what was proved: findings go to `proof`, and what it says to `proof.sealed`. Gives
    whether there is a seal.

    Args:
        sealed_by: thumbprint of the key that must have sealed it, as it was noted outside the folder.
        authority: PEM file with the certificates of authorities whose time stamps count; None: none is looked at. An
            InputError says that it cannot be read.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        return False
    try:
        found: CrawlSeal = typed(json.loads(read_regular(path, MAX_SEAL_BYTES)), CrawlSeal)
        key = PublicKey.from_jwk({"kty": "OKP", "crv": "Ed25519", "x": found.x})
        signature = decoded(found.signature)
        origin = Url(found.agent).origin
        stamp = None if found.timestamp is None else decoded(found.timestamp)
    except (OSError, WrongType, InvalidURL, ValueError, RecursionError):
        proof.add(FILE, None, "it cannot be read, or is damaged")
        return True
    if not key.verifies(signature, found.statement):
        proof.add(FILE, None, "its signature does not hold: it was changed")
    elif found.hash != proof.hash:
        proof.add(FILE, None, f"it was made when the last hash was {found.hash}")
    if sealed_by is not None and sealed_by != key.thumbprint:
        proof.add(FILE, None, f"signed by the key {key.thumbprint}, not by {sealed_by}")
    proof.sealed = f"at {times.iso(found.at)} by the key {key.thumbprint}, which claims to be of {origin}"
    for wrong in () if stamp is None else _stamp(stamp, signature, authority, proof):
        proof.add(FILE, None, wrong)
    return True


def _stamp(answer: bytes, data: bytes, authority: Path | None, proof: Proof) -> Iterator[str]:
    client = need("rfc3161_client", *_TO_INSTALL)
    try:
        stamp = client.decode_timestamp_response(answer)
        at = times.iso(stamp.tst_info.gen_time.timestamp())
        if stamp.tst_info.message_imprint.message != sha256(data).digest():
            yield "its time stamp is for something else"
            return
        if authority is None:
            proof.sealed += f"; stamped at {at}, by whom was not checked (--authority)"
            return
        verifier = client.VerifierBuilder()
        for certificate in _certificates(authority):
            verifier = verifier.add_root_certificate(certificate)
        verifier.build().verify_message(stamp, data)
        proof.sealed += f"; stamped at {at}, by an authority of {authority}"
    except (ValueError, client.VerificationError) as error:
        yield f"its time stamp does not hold: {error}"


def _certificates(file: Path) -> list[Any]:
    load = need("cryptography.x509", *_TO_INSTALL).load_pem_x509_certificates
    try:
        return list(load(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: no certificates can be read from it: {error}") from None
