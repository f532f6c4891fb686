"""The other side: which signatures a request carries, what each covers, and whether a key made it
(draft-ietf-webbotauth-httpsig-protocol, 3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from comity.errors import InvalidURL
from comity.signatures.base import TAG, Covered, Uncovered, base, joined, requested, structured
from comity.signatures.keys import TEST_KEYS, PublicKey
from comity_pages.urls import Url

MAX_LIFE_SECONDS: Final = 86_400  # seconds between `created` and `expires` that are accepted (draft, 3.2)
MAX_SKEW_SECONDS: Final = 30  # seconds by which the signer's clock may be ahead
MAX_SIGNATURES: Final = 4  # signatures of one request that are looked at
MAX_COVERED_COMPONENTS: Final = 32  # components that a signature may cover
MAX_FIELD_CHARACTERS: Final = 16_384
"""Of each of the three fields: reading them costs a server time before anybody is known."""
MAX_URL_CHARACTERS: Final = 2_048  # of a URL in `Signature-Agent`: it is kept, whoever sent it
Kind = Literal["directory", "jwks_uri", "cimd"]
SITEMAP_PATHS: Final = "/.well-known/http-message-signatures-directory"


class Refused(ValueError):
    """A signature does not hold, or cannot; `str` says why."""


@dataclass(frozen=True, slots=True)
class Signed:
    """One signature of a request, as it claims to be: nothing of it is true before `check` has passed.

    Attributes:
        label: its name in the three fields.
        keyid: thumbprint of the key that it names.
        created, expires: seconds since 1970.
        nonce: what the signer says that it uses once; None where it says nothing.
        covered: the components that it covers, as the request writes them.
        url: where the key directory is to be found: an identity only once that URL was fetched and lists the key.
        kind: what lies at `url`: the directory of an origin, a JWK set, or a client's metadata document.
    """

    label: str
    keyid: str
    created: int
    expires: int
    nonce: str | None
    covered: tuple[str, ...]
    url: str
    kind: Kind
    _base: bytes
    _signature: bytes

    @property
    def identity(self) -> str:
        """The URL that stands for the signer, once it was fetched and lists the key (draft, 4): with its query, for
        another one may be another's."""
        return self.url

    def check_time(self, now: float) -> None:
        """Raises Refused: the signature is over, or does not hold yet."""
        if self.created > now + MAX_SKEW_SECONDS:
            raise Refused("the signature was created in the future")
        if now >= self.expires:
            raise Refused("the signature has expired")

    def check(self, key: PublicKey, now: float) -> None:
        """Raises Refused: the signature is not this key's, is over, or does not hold yet."""
        self.check_time(now)
        if key.thumbprint != self.keyid:
            raise Refused(f"the key is {key.thumbprint}, and the signature names {self.keyid}")
        if key.thumbprint in TEST_KEYS:
            raise Refused("the key is printed in a standard, so anybody can sign with it")
        if not key.holds(now):
            raise Refused("the key is not valid now, says its directory")
        if not key.verifies(self._signature, self._base):
            raise Refused("the signature is not by that key over this request")


def signatures_of(method: str, url: str, fields: Mapping[str, str]) -> list[Signed | Refused]:
    """Return the Web Bot Auth signatures that a request carries, in its order; empty where it carries none.

    Args:
        url: absolute URL of the request, path and query as they were sent.
        fields: its fields; the names may be in any case.

    Raises:
        Refused: the fields cannot be read at all.
        InvalidURL
    """
    lower = joined(fields.items())
    if "signature-input" not in lower or "signature" not in lower:
        return []
    for name in ("signature-input", "signature", "signature-agent"):
        if len(lower.get(name, "")) > MAX_FIELD_CHARACTERS:
            raise Refused(f"{name} has more than {MAX_FIELD_CHARACTERS:,} characters")
    try:
        inputs, signatures = structured(lower["signature-input"]), structured(lower["signature"])
    except ValueError as error:
        raise Refused(f"Signature-Input or Signature is {error}") from None
    found: list[Signed | Refused] = []
    for label, value in inputs.items():
        if not isinstance(value, tuple) or not isinstance(value[0], list) or value[1].get("tag") != TAG:
            continue  # a signature for another purpose
        if len(found) == MAX_SIGNATURES:
            break
        try:
            found.append(_signed(label, value[0], value[1], signatures.get(label), method, requested(url), lower))
        except (Refused, Uncovered) as error:
            found.append(Refused(f"{label}: {error}"))
    return found


def _signed(
    label: str,
    covered: Covered,
    parameters: Mapping[str, Any],
    signature: Any,
    method: str,
    url: str,
    fields: Mapping[str, str],
) -> Signed:
    if not isinstance(signature, tuple) or not isinstance(signature[0], bytes):
        raise Refused("Signature has no bytes for it")
    created, expires, keyid = (parameters.get(name) for name in ("created", "expires", "keyid"))
    if type(created) is not int or type(expires) is not int or not isinstance(keyid, str):
        raise Refused("created, expires and keyid are required")
    if not created < expires <= created + MAX_LIFE_SECONDS:
        raise Refused("it holds for more than a day, or for no time")
    if parameters.get("alg") not in (None, "ed25519"):
        raise Refused(f"the algorithm {parameters['alg']!r:.40} is not ed25519")
    if len(covered) > MAX_COVERED_COMPONENTS:
        raise Refused(f"it covers more than {MAX_COVERED_COMPONENTS} components")
    for name, having in covered:  # RFC 9421, 2: a component's name is a string, and so is the key of a member (2.1.2)
        if type(name) is not str or type(having.get("key", "")) is not str:
            raise Refused("a component that it covers has a name or a key that is not a string")
    names = {name for name, having in covered if not having}
    if not names & {"@authority", "@target-uri"}:
        raise Refused("it covers neither @authority nor @target-uri")
    agent, kind = _agent(label, covered, fields)
    nonce = parameters.get("nonce")
    return Signed(
        label,
        keyid,
        created,
        expires,
        nonce if isinstance(nonce, str) else None,
        tuple(f"{name};key={having['key']}" if "key" in having else name for name, having in covered),
        agent,
        kind,
        base(method, url, fields, covered, parameters),
        signature[0],
    )


def _agent(label: str, covered: Covered, fields: Mapping[str, str]) -> tuple[str, Kind]:
    """Return where the keys are, by the member of `Signature-Agent` that the signature covers: no other is its own."""
    field = fields.get("signature-agent", "").strip()
    if not field:
        raise Refused("the request has no Signature-Agent")
    if field.startswith('"'):  # the bare string of earlier drafts
        field = f"{label}={field}"
        keys = [label] if ("signature-agent", {}) in [(name, dict(having)) for name, having in covered] else []
    else:
        keys = [having["key"] for name, having in covered if name == "signature-agent" and set(having) == {"key"}]
    if not keys:
        raise Refused("it does not cover its member of Signature-Agent, so it says nothing about who sent it")
    key = label if label in keys else keys[0]
    try:
        value, parameters = structured(field)[key]
    except (ValueError, KeyError, TypeError):
        raise Refused(f"Signature-Agent has no member {key}") from None
    kind = str(parameters.get("type", "directory"))
    try:
        url = Url(value) if isinstance(value, str) and len(value) <= MAX_URL_CHARACTERS else None
    except InvalidURL:
        url = None
    if url is None or not url.startswith("https://"):
        raise Refused(f"Signature-Agent is not an https URL of at most {MAX_URL_CHARACTERS:,} characters")
    if kind == "directory":
        if url.path_and_query != "/":
            raise Refused("Signature-Agent names a page where an origin is expected")
        return f"{url.origin}{SITEMAP_PATHS}", "directory"
    if url.path_and_query == SITEMAP_PATHS:  # or what is no directory there would have a directory's name
        raise Refused("Signature-Agent names a key directory: only its origin is to be named")
    if kind == "jwks_uri":
        return str(url), "jwks_uri"
    if kind == "cimd":
        return str(url), "cimd"
    raise Refused(f"the type {kind!r:.40} of Signature-Agent is not known here")
