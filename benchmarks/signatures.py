"""What a signature costs: signing a request and verifying it, beside http-message-signatures.

Run by `python benchmarks/signatures.py [HOW_MANY]`. Times are of the processor, the best of five rounds.
"""

import datetime
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from common import row, table
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms

from comity.signatures import Refused, Signer, SigningKey, signatures_of

PRIVATE = bytes(range(32))
URL = "https://example.com/path/to/resource?a=1"
COVERED = ("@authority", "@method", "@path", '"signature-agent";key="sig1"')


class Keys(HTTPSignatureKeyResolver):
    def resolve_private_key(self, key_id: str) -> Any:
        return Ed25519PrivateKey.from_private_bytes(PRIVATE)

    def resolve_public_key(self, key_id: str) -> Any:
        return Ed25519PrivateKey.from_private_bytes(PRIVATE).public_key()


def microseconds(call: Callable[[], object], how_many: int) -> float:
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        for _ in range(how_many):
            call()
        best = min(best, time.process_time() - begun)
    return best / how_many * 1e6


def main() -> None:
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    key = SigningKey(PRIVATE)
    signer = Signer(key, "https://bot.example")
    now = time.time()
    headers = signer.headers("GET", URL, now)

    def verify() -> None:
        (found,) = signatures_of("GET", URL, headers)
        assert not isinstance(found, Refused)
        found.check(key.public, now)

    theirs = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    judge = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    created = datetime.datetime.now(datetime.UTC)

    def sign_theirs() -> None:
        message = SimpleNamespace(method="GET", url=URL, headers={"Signature-Agent": 'sig1="https://bot.example"'})
        theirs.sign(
            message,
            key_id=key.public.thumbprint,
            created=created,
            expires=created + datetime.timedelta(minutes=1),
            label="sig1",
            tag="web-bot-auth",
            covered_component_ids=COVERED,
        )

    message = SimpleNamespace(method="GET", url=URL, headers=headers)
    us = [
        microseconds(call, how_many)
        for call in (lambda: signer.headers("GET", URL, now), sign_theirs, verify, lambda: judge.verify(message))
    ]
    table("processor time a request", "comity", "others")
    row("signing it", f"{us[0]:.0f} us", f"http-message-signatures {us[1]:.0f} us")
    row("verifying it", f"{us[2]:.0f} us", f"http-message-signatures {us[3]:.0f} us")


if __name__ == "__main__":
    main()
