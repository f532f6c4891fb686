"""Digests of what was received or is written."""

import hashlib


def sha256_of(data: bytes | str) -> str:
    """The SHA-256 of octets, or of a text's UTF-8, in hex."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()
