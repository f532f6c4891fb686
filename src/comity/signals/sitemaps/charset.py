"""Which characters the bytes are: byte order mark, then how the first bytes look, then what the XML declares."""

import codecs
import re
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKS: Final = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_DECLARED: Final = re.compile(rb"""\s{0,99}<\?xml[^>]{0,80}?encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9._:-]{1,40})["']""")
# The names that sites use. A closed list, because Python's codecs hold much that is no charset.
_CHARSETS: Final = re.compile(
    r"cp125\d|cp866|cp874|cp932|cp949|iso8859-\d+|koi8-[rtu]|shift_jis\w*|euc_\w+|iso2022_\w+|gb2312|gbk|gb18030|big5\w*|johab"
)


def detect(head: bytes) -> tuple[str, int]:
    """The charset by Python's name (`utf-8` where nothing else is said) and how many bytes of mark to skip."""
    for mark, charset in _MARKS:
        if head.startswith(mark):
            return charset, len(mark)
    for look, charset in _LOOKS:
        if head.startswith(look):
            return charset, 0
    declared = _DECLARED.match(head)
    if declared:
        try:
            name = codecs.lookup(declared[1].decode("ascii")).name
        except LookupError:
            return "utf-8", 0
        if _CHARSETS.fullmatch(name):
            return name, 0
    return "utf-8", 0
