"""SHA-256 of a body, worked out once however many books it is entered in.

A page's request, its record and the search for duplicates ask for it one after the other, so the last one suffices.
"""

from hashlib import sha256

_last: tuple[bytes, str] = (b"", sha256(b"").hexdigest())


def digest(body: bytes) -> str:
    """SHA-256 in hex."""
    global _last
    known, value = _last
    if body is not known:
        value = sha256(body).hexdigest()
        _last = (body, value)
    return value
