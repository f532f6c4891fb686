"""Ed25519 keys: made, kept in a file that only its owner can read, and published as a JWK (RFC 8037)."""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from comity.errors import InvalidSetting
from comity_pages._extras import need

KEY_BYTES: Final = 32
TEST_KEYS: Final = frozenset(("poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",))
"""Thumbprints of keys whose private half is printed in a standard (RFC 9421, B.1.4)."""


def encoded(data: bytes) -> str:
    """Base64url without padding, as JOSE writes it (RFC 7515, 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decoded(text: str) -> bytes:
    """Raises ValueError: it is not base64url."""
    if not text.isascii() or set(text) & set("+/="):
        raise ValueError(f"{text!r:.80} is not base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _ed25519() -> Any:
    return need("cryptography.hazmat.primitives.asymmetric.ed25519", "identity", "an identity")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The half of a key that everybody may have.

    Attributes:
        x: its 32 bytes.
        thumbprint: the key's name in `keyid` (RFC 7638, for Ed25519 RFC 8037, A.3).
        not_before, expires: seconds since 1970 between which the directory says that it signs; None: not stated.
    """

    x: bytes
    not_before: float | None = None
    expires: float | None = None
    thumbprint: str = field(init=False)

    def __post_init__(self) -> None:
        members = f'{{"crv":"Ed25519","kty":"OKP","x":"{encoded(self.x)}"}}'
        object.__setattr__(self, "thumbprint", encoded(sha256(members.encode()).digest()))

    @classmethod
    def from_jwk(cls, jwk: Mapping[str, Any]) -> "PublicKey":
        """Raises ValueError: it is not an Ed25519 key, or its `kid` is not its thumbprint."""
        if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or not isinstance(jwk.get("x"), str):
            raise ValueError("not an Ed25519 key (kty OKP, crv Ed25519, x)")
        x = decoded(jwk["x"])
        if len(x) != KEY_BYTES:
            raise ValueError(f"an Ed25519 key has {KEY_BYTES} bytes, not {len(x)}")
        times = (jwk.get("nbf"), jwk.get("exp"))
        if any(time is not None and (isinstance(time, bool) or not isinstance(time, int | float)) for time in times):
            raise ValueError("nbf and exp are numbers of seconds")
        return cls(x, *times)

    def jwk(self) -> dict[str, Any]:
        """Return the key as a directory lists it (draft, 4.1)."""
        jwk: dict[str, Any] = {
            "kty": "OKP",
            "crv": "Ed25519",
            "kid": self.thumbprint,
            "x": encoded(self.x),
            "use": "sig",
        }
        for name, time in (("nbf", self.not_before), ("exp", self.expires)):
            if time is not None:
                jwk[name] = int(time)
        return jwk

    def holds(self, now: float) -> bool:
        """Return whether the key may be used at a time, by what its directory says."""
        return (self.not_before is None or self.not_before <= now) and (self.expires is None or now < self.expires)

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Raises MissingExtra where the library for it is not installed."""
        try:
            _ed25519().Ed25519PublicKey.from_public_bytes(self.x).verify(signature, data)
        except need("cryptography.exceptions", "identity", "an identity").InvalidSignature:
            return False
        return True


class SigningKey:
    """A private key. It shows itself nowhere: not in `repr`, not in errors, and it cannot be pickled."""

    __slots__ = ("_key", "public")

    def __init__(self, private: bytes) -> None:
        self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(private)
        self.public = PublicKey(self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.thumbprint}>"

    def __reduce__(self) -> str:
        raise TypeError("a private key cannot be pickled: give the folder of the identity")

    def sign(self, data: bytes) -> bytes:
        signature: bytes = self._key.sign(data)
        return signature

    @classmethod
    def made(cls) -> "SigningKey":
        """Return a new key."""
        return cls(_ed25519().Ed25519PrivateKey.generate().private_bytes_raw())

    def write(self, path: Path) -> None:
        """Write it to a file that only its owner can read.

        Raises:
            FileExistsError: a file is there; a key is never overwritten.
            OSError
        """
        text = json.dumps({"kty": "OKP", "crv": "Ed25519", "d": encoded(self._key.private_bytes_raw())})
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(handle)

    @classmethod
    def read(cls, path: Path) -> "SigningKey":
        """
        Raises:
            InvalidSetting: it cannot be read, holds no key, or others can read it. What it holds is never told.
        """
        try:
            text = path.read_bytes()
            mode = path.stat().st_mode
        except OSError as error:
            raise InvalidSetting(
                f"the key {path} cannot be read: {error.strerror or error}",
                hint="comity identity new makes one",
            ) from None
        if os.name == "posix" and mode & 0o077:
            raise InvalidSetting(f"the key {path} can be read by others", hint=f"chmod 600 {path}")
        try:
            private = decoded(json.loads(text)["d"])
            if len(private) != KEY_BYTES:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise InvalidSetting(f"{path} does not hold an Ed25519 key of comity identity") from None
        return cls(private)
