"""The character encoding of an HTML page, found as browsers find it (HTML standard, 13.2.3.2).

It decides from the bytes and the Content-Type header only: byte-order mark, then header, then a `meta` in the first
1,024 bytes, then an XML declaration, then what the bytes look like; where they are no UTF-8, a
`meta` that stands later. It never guesses from language or place.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import quote

import webencodings

from comity_pages._utf8 import is_utf8
from comity_pages.signals import xhtml
from comity_pages.signals._tags import tags
from comity_pages.signals.content_type import HTML_TYPES, essence, extract

PRESCAN_BYTES = 1024
LATER_BYTES = 65_536  # of a page that names no encoding there, where one that stands later is looked for
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
_MARKS = tuple(mark for mark, _ in _BOMS)
_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "replacement": "windows-1252",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-user-defined": "windows-1252",
}
_CONTENT_CHARSET = re.compile(
    r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^;\t\n\f\r "'][^;\t\n\f\r ]*))""", re.IGNORECASE
)
_MEDIA_TYPE = re.compile(r"[\t\n\f\r ]*(?:text/html|application/xhtml\+xml)[\t\n\f\r ]*;", re.IGNORECASE)
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_SAFE = "!$%&()*+,-./:;=?@[\\]^_`{|}~"  # in a query, `"`, `#`, `'`, `<` and `>` are percent-encoded
_UTF_16_XML = ((b"<\0?\0x\0", "utf-16le"), (b"\0<\0?\0x", "utf-16be"))
_XML = re.compile(
    rb"""<\?xml(?>[^>]*?encoding)[\x00-\x20]*+=[\x00-\x20]*+(?:"([^"\x00-\x20>]*)"|'([^'\x00-\x20>]*)')[^>]*+>"""
)
_USUAL_HEAD = re.compile(  # how most pages begin; the long way says the same
    rb"""[\t\n\f\r ]*<!doctype html>[\t\n\f\r ]*<html(?: lang=(?:"[a-z-]+"|[a-z-]+))?>[\t\n\f\r ]*<head>"""
    rb"""[\t\n\f\r ]*<meta charset=(?:"utf-8"[\t\n\f\r ]*/?|utf-8)>""",
    re.IGNORECASE,
)
_BINARY = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|PK\x03\x04|\x1f\x8b\x08|BZh[1-9]1AY&SY|\x7fELF|\0asm"
    rb"|wOF[F2][\0\x01O]|ID3[\x02-\x04]\0|OggS\0",
    re.DOTALL,
)
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b"
    rb"|body|br|p)[ >])",
    re.IGNORECASE,
)


def is_binary(body: bytes) -> bool:
    """Whether a body begins as a picture, an archive, a program, a font or a sound does, whatever it is served as
    (WHATWG MIME Sniffing, 6).
    """
    return _BINARY.match(body) is not None


def is_html(body: bytes, content_type: str | None) -> bool:
    """Whether an answer is HTML: its header says so, or states no media type where a browser would take the body for
    HTML (WHATWG MIME Sniffing, 7.1).
    """
    media_type = essence(content_type)
    if media_type in HTML_TYPES:
        return True
    return xhtml.is_xhtml(body, content_type) if media_type else _HTML.match(body) is not None


def detect(body: bytes, content_type: str | None = None, *, markup: bool = True) -> str:
    """The encoding's name as the Encoding standard writes it, lower case: `utf-8`, `windows-1252`, `shift_jis`.

    Where none is named: `utf-8` for bytes that are valid UTF-8 (also when cut off inside a character), else
    `windows-1252`, the standard's default for most places.

    Args:
        markup: whether the body is HTML or XML, which may name its encoding itself.
    """
    if body.startswith(_MARKS):
        return next(name for mark, name in _BOMS if body.startswith(mark))
    named = of_header(content_type)
    if named is None and markup:
        named = prescan(body[:PRESCAN_BYTES])
    if named is not None:
        return named
    if is_utf8(body):
        return "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        # a parser that meets it changes the encoding (HTML standard, 13.2.3.5); one misspelt is better than none
        head = body[:LATER_BYTES] if markup else b""
        return prescan(head) or _from_metas(head, misspelt=True) or "windows-1252"
    return "utf-8"


def python_codec(encoding: str) -> str:
    """The name of Python's codec for an encoding of the standard, for `bytes.decode`.

    Most have the same name. Of the others it is the codec that reads what the standard means: its Shift_JIS is cp932.
    Two have none and are read as windows-1252: `x-user-defined`, as HTML does where a `meta` names it, and
    `replacement`, which stands for encodings of seven bits in which markup can hide.
    """
    return _CODECS.get(encoding, encoding)


def to_utf8(body: bytes, encoding: str) -> bytes:
    """The page in UTF-8 without a byte-order mark, U+FFFD for what is malformed.

    Args:
        encoding: by the standard's name or Python's.
    """
    if body.startswith(_MARKS):
        mark = next((mark for mark, name in _BOMS if name == encoding and body.startswith(mark)), b"")
        body = body[len(mark) :]
    if encoding == "utf-8":
        return body if is_utf8(body) else body.decode("utf-8", "replace").encode("utf-8")
    known = webencodings.lookup(encoding)
    if known is not None:
        text, _ = known.codec_info.decode(body, "replace")  # x-user-defined is known to no other list of codecs
        return str(text).encode("utf-8", "replace")
    try:
        return body.decode(encoding, "replace").encode("utf-8", "replace")
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace").encode("utf-8")


def to_text(body: bytes, encoding: str) -> str:
    """The page as text, U+FFFD for what is malformed. `encoding` as of `to_utf8`."""
    return to_utf8(body, encoding).decode("utf-8", "replace")


def encode_query(query: str, encoding: str) -> str:
    """A URL's query with its non-ASCII characters percent-encoded in the page's encoding (URL standard, 5.1).

    A character that the encoding lacks becomes a character reference, as a form in a browser would send it.
    """
    known = webencodings.lookup(encoding)
    if known is None or encoding.startswith("utf-16") or encoding == "replacement":
        return query
    return _NON_ASCII.sub(lambda match: "".join(_percent_encode(char, known) for char in match[0]), query)


def _percent_encode(char: str, encoding: webencodings.Encoding) -> str:
    try:
        octets = encoding.codec_info.encode(char, "strict")[0]
    except UnicodeEncodeError:
        return f"%26%23{ord(char)}%3B"
    return "".join(f"%{octet:02X}" if octet > 126 or octet < 33 else quote(chr(octet), safe=_SAFE) for octet in octets)


def _standard_name(label: str) -> str | None:
    known = webencodings.lookup(label)
    return known.name if known is not None else None


def of_header(content_type: str | None) -> str | None:
    """The encoding that a header states, by the standard's name."""
    said = extract(content_type) if content_type else None
    return _standard_name(said.charset) if said is not None and said.charset else None


def prescan(head: bytes) -> str | None:
    """The encoding that a `meta` element, or else the XML declaration, names.

    Source: HTML standard, "prescan a byte stream to determine its encoding" and "get an XML encoding".
    """
    for start, name in _UTF_16_XML:
        if head.startswith(start):
            return name
    if _USUAL_HEAD.match(head):
        return "utf-8"
    return _from_metas(head) or _from_xml(head)


def _from_xml(head: bytes) -> str | None:
    match = _XML.match(head)
    name = _standard_name((match[1] or match[2] or b"").decode("latin-1")) if match else None
    # Whoever could read so far in ASCII is not reading UTF-16.
    return "utf-8" if name in ("utf-16le", "utf-16be") else name


def _from_metas(head: bytes, *, misspelt: bool = False) -> str | None:
    if b"charset" not in head.lower() and b"&#" not in head:  # which may stand for its letters
        return None
    metas = (said for name, said in tags(head) if name == "meta" and isinstance(said, dict))
    return next(filter(None, (_from_meta(said, misspelt=misspelt) for said in metas)), None)


def _from_meta(attributes: dict[str, str], *, misspelt: bool) -> str | None:
    """What a `meta` names; where it is `misspelt`, by a media type in its content alone (`httpequiv`, `name`)."""
    label = attributes.get("charset")
    if label is None:
        if attributes.get("http-equiv", "").lower() != "content-type" and not (
            misspelt and _MEDIA_TYPE.match(attributes.get("content", ""))
        ):
            return None
        match = _CONTENT_CHARSET.search(attributes.get("content", ""))
        if match is None:
            return None
        label = match[1] or match[2] or match[3] or ""
    name = _standard_name(label)
    if name in ("utf-16le", "utf-16be"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name
