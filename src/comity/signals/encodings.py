"""The character set of an HTML document, found as the HTML standard finds it: byte order mark, HTTP, `meta`, default.

Labels are those of the Encoding standard, so `latin-1` means windows-1252, as in every browser.
"""

import re

import webencodings

PRESCAN = 1024  # octets in which a `meta` must declare the character set
_META = re.compile(rb"<meta\s[^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\"';\s]{1,40})", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))


def detect(body: bytes, content_type: str | None) -> str:
    """The name of the encoding, as the Encoding standard spells it."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    if content_type and (declared := _CHARSET.search(content_type)) and (known := webencodings.lookup(declared[1])):
        return str(known.name)
    found = _META.search(body, 0, PRESCAN)
    known = webencodings.lookup(found[1].decode("ascii")) if found else None
    if known is not None:
        # A document whose `meta` could be read octet by octet is not UTF-16, whatever it says.
        return "utf-8" if known.name.startswith("utf-16") else str(known.name)
    try:
        body[:65_536].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(body[:65_536]) - 4:
            return "windows-1252"
    return "utf-8"


def decode(body: bytes, encoding: str) -> str:
    """The text; what cannot be decoded becomes U+FFFD."""
    text, _ = webencodings.decode(body, webencodings.lookup(encoding) or webencodings.UTF8, "replace")
    return str(text)
