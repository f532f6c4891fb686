"""Signs a request by Web Bot Auth: who asks, for what, for a minute
(draft-ietf-webbotauth-httpsig-protocol, 3.2)."""

import os
from base64 import b64encode
from typing import Final, Literal

from comity.signatures.base import TAG, derived
from comity.signatures.keys import SigningKey

LIFE_SECONDS: Final = 60
"""Seconds that a signature holds: as short as clocks allow, for whoever sees it can send it again."""
LABEL: Final = "sig1"
Form = Literal["dictionary", "string"]


class Signer:
    """Signs requests in the name of one key directory.

    Args:
        key: the private key.
        agent: origin at which the key directory is published, such as `https://bot.example`.
        form: how `Signature-Agent` is written: `dictionary` as the draft has it, `string` for verifiers that know
            earlier drafts alone.
    """

    __slots__ = ("_agent", "_covered", "_field", "_key", "keyid")

    def __init__(self, key: SigningKey, agent: str, form: Form = "dictionary") -> None:
        self._key = key
        member, label = ("", "") if form == "string" else (f';key="{LABEL}"', f"{LABEL}=")
        self._field = f'{label}"{agent}"'
        self._agent = f'"signature-agent"{member}: "{agent}"'
        self._covered = f'("@authority" "@method" "@path" "signature-agent"{member})'
        self.keyid = key.public.thumbprint

    def headers(self, method: str, url: str, now: float, *, nonce: str | None = None) -> dict[str, str]:
        """Return the three fields that sign a request.

        Args:
            url: absolute, in normal form.
            now: seconds since 1970.
            nonce: base64, another for each request; made at random where none is given.
        """
        created = int(now)
        once = b64encode(os.urandom(24)).decode("ascii") if nonce is None else nonce
        parameters = (
            f'{self._covered};created={created};expires={created + LIFE_SECONDS};keyid="{self.keyid}"'
            f';nonce="{once}";tag="{TAG}"'
        )
        authority, path = derived("@authority", method, url), derived("@path", method, url)
        # as `base` writes it, at a fraction of its cost: all the parts are known to need no escapes
        signed = (
            f'"@authority": {authority}\n"@method": {method}\n"@path": {path}\n{self._agent}\n'
            f'"@signature-params": {parameters}'
        )
        signature = b64encode(self._key.sign(signed.encode("ascii"))).decode("ascii")
        return {
            "Signature-Agent": self._field,
            "Signature-Input": f"{LABEL}={parameters}",
            "Signature": f"{LABEL}=:{signature}:",
        }
