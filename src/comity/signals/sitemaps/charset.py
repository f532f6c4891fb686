"""Which characters the bytes are: byte order mark, then how the first bytes look, then what the XML declares."""

import codecs
import re
from typing import Final

import webencodings

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKS: Final = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_DECLARED: Final = re.compile(rb"""\s{0,99}<\?xml[^>]{0,80}?encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9._:-]{1,40})["']""")


def detect(head: bytes) -> tuple[str, int]:
    """The name of Python's codec (`utf-8` where nothing else is said) and how many bytes of mark to skip."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec, len(mark) * (
                2 if head.startswith(mark, len(mark)) else 1
            )  # two: joined by a careless program
    for look, codec in _LOOKS:
        if head.startswith(look):
            return codec, 0
    declared = _DECLARED.match(head)
    named = webencodings.lookup(declared[1].decode("ascii")) if declared else None
    # Whoever could be read as far as the declaration does not write UTF-16, whatever he declares.
    if named is None or named.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return "utf-8", 0
    return named.codec_info.name, 0
