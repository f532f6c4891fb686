"""The tags of an HTML page that matter to a crawler, found as the HTML standard's tokenizer finds them (13.2.5).

It reads tags, attributes, comments, scripts and raw text as a browser's tokenizer does, in one pass and in time linear
in the page's length. It builds no tree: a tree builder takes quadratic time for deep nesting, and the page decides how
deep. Of the tree it follows only what changes how text is read: `template`, and SVG and MathML.
"""

from __future__ import annotations

import re
from html.entities import html5

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

if cython.compiled:
    from cython.cimports.libc.string import memchr

# What a tag means here: its attributes are wanted, its content is text, or both.
_WANTED = cython.declare(cython.int, 1)
_RAW_TEXT = cython.declare(cython.int, 2)
_SCRIPT = cython.declare(cython.int, 4)
_PLAINTEXT = cython.declare(cython.int, 8)
_TEMPLATE = cython.declare(cython.int, 16)
_FOREIGN = cython.declare(cython.int, 32)
_TITLE = cython.declare(cython.int, 64)
_KINDS: dict[bytes, int] = {
    **dict.fromkeys(b"a area link frame meta base html".split(), 1),
    **dict.fromkeys(b"style textarea xmp noembed noframes".split(), 2),
    **dict.fromkeys((b"svg", b"math"), 32),
    b"iframe": 1 | 2,
    b"title": 2 | 64,
    b"script": 4,
    b"plaintext": 8,
    b"template": 16,
}
_NAMES = {name: name.decode() for name in _KINDS}
_ATTRIBUTES = {
    name.encode(): name for name in "href src rel name content lang type hreflang xlink:href http-equiv charset".split()
}
# Start tags that end SVG or MathML (13.2.6.5), as does `font` with one of three attributes; and elements in which HTML
# begins again (13.2.6).
BREAKOUT = frozenset(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_BREAKOUT = frozenset(name.encode() for name in BREAKOUT)
_FONT_BREAKOUT = re.compile(rb"[\t\n\f\r /](?:color|face|size)[\t\n\f\r /=>]", re.IGNORECASE)
_HTML_INSIDE = frozenset(b"#template foreignobject desc title mi mo mn ms mtext annotation-xml".split())
_SVG_HTML_INSIDE = frozenset((b"foreignobject", b"desc", b"title"))
# An end tag looks this far up at most; drawings nest less.
_MAX_DEPTH = 100
MAX_TAGS = 100_000
_MAX_TAGS = cython.declare(cython.Py_ssize_t, MAX_TAGS)
_BYTES_A_SLICE = cython.declare(cython.Py_ssize_t, 64 * 1024)  # octets read before other threads may run

_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([a-zA-Z][a-zA-Z0-9]{0,31};?))")
_MAX_BARE_NAME_CHARS = max(len(name) for name in html5 if not name.endswith(";"))
_C1 = bytes(range(0x80, 0xA0)).decode("cp1252", "replace")


HEADING = cython.declare(cython.Py_ssize_t, 300)  # octets from a heading on that are given


def tags(text: bytes) -> list[tuple[str, str | dict[str, str]]]:
    """The a, area, link, iframe, frame, meta, base, html and title start tags of a page, in order.

    Reading stops after MAX_TAGS of them.

    Args:
        text: the page in UTF-8.

    Returns:
        Pairs of name and attributes, of which only those a crawler reads are kept (see _ATTRIBUTES); of an `a` with no
        other than `href` that alone, as a text. A `title` has its content as the attribute `text`, as has a `script`,
        which is given only where its `type` may be RSL's; `xlink:href` is kept inside SVG only. A span, div or section
        with `data-nosnippet` is `nosnippet`. What is in a `template` is left out, and of SVG and MathML everything but
        `a`. At the end there may be `#headings` with the page from its first h1 and from its first h2 on, HEADING
        octets each, as `text`.
    """
    return _Tokenizer(text).all_tags()


def text(page: bytes, most: int) -> str:
    """The words of a page that its reader sees, white space collapsed, a space where a tag stood.

    What is in `script`, `style`, `noscript`, `template`, `title`, `textarea` and the like is left out. Reading stops
    once there is enough.

    Args:
        page: in UTF-8.
        most: characters.
    """
    return _Tokenizer(page).read_text(most)


def unescape(text: str, attribute: bool) -> str:
    """The text with its character references replaced (13.2.5.72 to 13.2.5.80)."""
    if "&" not in text:
        return text
    if text.count("&") == text.count("&amp;"):  # most of what has any
        return text.replace("&amp;", "&")

    def replace(match: re.Match[str]) -> str:
        hexadecimal, decimal, name = match.groups()
        if name is None:
            return _numbered_char(hexadecimal, 16) if hexadecimal else _numbered_char(decimal, 10)
        for size in (len(name), *range(min(len(name) - 1, _MAX_BARE_NAME_CHARS), 1, -1)):
            found = html5.get(name[:size])
            if found is None:
                continue
            follower = name[size : size + 1] or text[match.end() : match.end() + 1]
            if attribute and name[size - 1] != ";" and (follower == "=" or (follower.isascii() and follower.isalnum())):
                break
            return found + name[size:]
        return match[0]

    return _REFERENCE.sub(replace, text)


def _numbered_char(digits: str, base: int) -> str:
    digits = digits.lstrip("0")
    code = int(digits or "0", base) if len(digits) <= 8 else 0x110000
    if 0x80 <= code < 0xA0 and _C1[code - 0x80] != "\ufffd":
        return _C1[code - 0x80]
    if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return chr(code)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _is_space(code: cython.int) -> cython.bint:
    return code == 32 or code == 10 or code == 9 or code == 13 or code == 12


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _may_matter(code: cython.int, size: cython.Py_ssize_t) -> cython.bint:
    """False for most tags that are not in _KINDS, by their first letter and length alone."""
    code |= 32
    if size == 1:
        return code == 97  # a
    if size == 3:
        return code == 115 or code == 120  # svg xmp
    if size == 4:
        return code == 97 or code == 108 or code == 98 or code == 104 or code == 109  # area link base html meta math
    if size == 5:
        return code == 116 or code == 102 or code == 115  # title frame style
    return 6 <= size <= 9


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _may_be_rsl(data: cython.p_const_uchar, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """False for most media types other than `application/rsl+xml`."""
    i: cython.Py_ssize_t
    for i in range(start + 2, end):  # noqa: SIM110 - a loop is compiled to one
        if data[i] == 43 and data[i - 1] | 32 == 108 and data[i - 2] | 32 == 115:  # sl+
            return True
    return False


@cython.final
@cython.cclass
class _Tokenizer:
    _text: bytes
    _data: cython.p_const_uchar  # the same octets, for reading one
    _size: cython.Py_ssize_t
    _at: cython.Py_ssize_t  # the next octet
    _found: list
    _templates: cython.Py_ssize_t  # how many are open
    _open: list  # names of the open elements of SVG and MathML and of open templates, outermost first
    _self_closing: cython.bint
    _pieces: list | None  # where the text is wanted, and not the tags: what there is of it
    _room: cython.Py_ssize_t  # for octets of text
    _noscript: cython.bint
    _withheld: cython.bint  # whether the tag has data-nosnippet
    _rsl: str | None  # its type, where that may be RSL's
    _heading: cython.Py_ssize_t  # where the first h1 begins; -1 where there is none
    _second: cython.Py_ssize_t  # and the first h2
    _href: str | None  # of an `a` that has no other attribute so far
    _kept: dict | None  # the attributes of another tag

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._data = text
        self._size = len(text)
        self._at = self._templates = self._room = 0
        self._heading = self._second = -1
        self._found = []
        self._open = []
        self._self_closing = self._noscript = self._withheld = False
        self._pieces = self._rsl = self._href = self._kept = None

    @cython.ccall
    def all_tags(self) -> list:
        """As `tags` gives them."""
        found: list = self.run()
        parts: list = [self._text[at : at + HEADING] for at in (self._heading, self._second) if at >= 0]
        if parts:
            found.append(("#headings", {"text": b" ".join(parts).decode("utf-8", "replace")}))
        return found

    @cython.ccall
    def read_text(self, most: cython.Py_ssize_t) -> str:
        self._pieces = []
        self._room = 4 * most
        self.run()
        self._text_until(self._size)
        words: str = unescape(b" ".join(self._pieces).decode("utf-8", "replace"), False)
        return " ".join(words.split())[:most]

    @cython.ccall
    def run(self) -> list:
        data: cython.p_const_uchar = self._data
        i: cython.Py_ssize_t = self._next(60, 0)
        code: cython.int
        due: cython.Py_ssize_t = _BYTES_A_SLICE
        while i < self._size - 1 and len(self._found) < _MAX_TAGS:
            if i >= due:
                due = i + _BYTES_A_SLICE
                with cython.nogil:
                    pass  # compiled code would keep other threads waiting to its end
            if self._pieces is not None:
                self._text_until(i)
                if self._room <= 0:
                    break
            code = data[i + 1]
            if 97 <= (code | 32) <= 122:
                self._start_tag(i + 1)
            elif code == 47:  # /
                self._end_tag(i + 2)
            elif code == 33:  # !
                self._declaration(i)
            elif code == 63:  # ?
                self._skip_past(b">", i + 1)
            else:
                self._at = i + 1
            i = self._next(60, self._at)
        return self._found

    @cython.cfunc
    def _text_until(self, end: cython.Py_ssize_t) -> None:
        """Keep what stands between the last tag and `end`, if it is text that is shown."""
        start: cython.Py_ssize_t = self._at
        while start < end and _is_space(self._data[start]):
            start += 1
        if start < end and self._room > 0 and self._templates == 0 and not self._noscript:
            end = min(end, start + self._room)
            self._room -= end - start + 1
            self._pieces.append(self._text[start:end])

    @cython.cfunc
    def _next(self, code: cython.int, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The next place of an octet from `i` on, the page's end where there is none."""
        size: cython.Py_ssize_t = self._size
        data: cython.p_const_uchar = self._data
        if not cython.compiled:
            i = self._text.find(code, i)
            return size if i < 0 else i
        if i >= size:
            return size
        found: cython.p_const_char = cython.cast(cython.p_const_char, memchr(data + i, code, size - i))
        if found == cython.NULL:
            return size
        return found - cython.cast(cython.p_const_char, data)

    @cython.cfunc
    def _lower(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        data: cython.p_const_uchar = self._data
        i: cython.Py_ssize_t
        for i in range(start, end):
            if 65 <= data[i] <= 90:
                return data[start:end].lower()
        return data[start:end]

    @cython.cfunc
    def _skip_past(self, mark: bytes, start: cython.Py_ssize_t) -> None:
        end: cython.Py_ssize_t = self._text.find(mark, start)
        self._at = self._size if end < 0 else end + len(mark)

    @cython.cfunc
    def _declaration(self, i: cython.Py_ssize_t) -> None:
        """A comment, a doctype, a CDATA section, or what counts as a comment; `i` is at its `<`."""
        text: bytes = self._text
        data: cython.p_const_uchar = self._data
        end: cython.Py_ssize_t
        if i + 3 < self._size and data[i + 2] == 45 and data[i + 3] == 45:  # <!--
            # `<!-->` and `<!--->` are whole comments; `--!>` ends one too, but not at once.
            end = self._next(45, i + 2)
            while end + 2 < self._size:
                if data[end + 1] == 45:
                    if data[end + 2] == 62:  # -->
                        self._at = end + 3
                        return
                    if data[end + 2] == 33 and end >= i + 4 and end + 3 < self._size and data[end + 3] == 62:  # --!>
                        self._at = end + 4
                        return
                end = self._next(45, end + 1)
            self._at = self._size
        elif self._open and self._open[-1] not in _HTML_INSIDE and text.startswith(b"<![CDATA[", i):
            self._skip_past(b"]]>", i + 9)
        else:
            self._skip_past(b">", i + 2)

    @cython.cfunc
    def _name_end(self, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
        data: cython.p_const_uchar = self._data
        code: cython.int
        while i < self._size:
            code = data[i]
            if code == 62 or code == 47 or _is_space(code):
                break
            i += 1
        return i

    @cython.cfunc
    def _start_tag(self, start: cython.Py_ssize_t) -> None:
        end: cython.Py_ssize_t = self._name_end(start)
        name: bytes = b""
        kind: cython.int = 0
        is_a: cython.bint = end - start == 1 and self._data[start] | 32 == 97  # most of what matters
        if is_a:
            name = b"a"
            kind = _WANTED
        elif end - start == 2 and self._data[start] | 32 == 104 and self._data[end - 1] in (49, 50):
            if self._data[end - 1] == 49:
                self._heading = start - 1 if self._heading < 0 else self._heading
            elif self._second < 0:
                self._second = start - 1
        elif self._open or _may_matter(self._data[start], end - start):
            name = self._lower(start, end)
            kind = _KINDS.get(name, 0)
        taken: cython.bint = self._templates == 0 and self._pieces is None
        wanted: cython.bint = kind & _WANTED and taken
        self._href = None
        self._kept = None
        self._withheld = False
        self._rsl = None
        if not self._attributes(end, wanted):
            return
        if is_a and wanted and self._href is not None and not self._open:
            self._found.append(("a", self._href))
            return
        attributes: dict | None = self._all_kept() if wanted else None
        if self._open and self._foreign_start(name, end):
            if attributes is not None and name == b"a":
                if "xlink:href" in attributes and not self._in_svg():
                    del attributes["xlink:href"]
                self._found.append(("a", attributes))
            return
        if self._withheld and taken and self._lower(start, end) in (b"span", b"div", b"section"):
            self._found.append(("nosnippet", {}))
        if kind == 0:
            if self._pieces is not None and name == b"noscript":
                self._noscript = True
            return
        if attributes is not None:
            attributes.pop("xlink:href", None)
            self._found.append((_NAMES[name], attributes))
        if kind & _RAW_TEXT:
            start = self._at
            end = self._raw_text_end(name)
            if kind & _TITLE and taken:
                title = self._text[start:end].replace(b"\0", b"\xef\xbf\xbd").decode("utf-8", "replace")
                self._found.append(("title", {"text": unescape(title, False)}))
        elif kind & _SCRIPT:
            start = self._at
            self._script_end()
            if self._rsl is not None and taken:
                end = self._text.rfind(b"<", start, self._at)
                content: bytes = self._text[start : self._at if end < 0 else end]
                self._found.append(("script", {"type": self._rsl, "text": content.decode("utf-8", "replace")}))
        elif kind & _PLAINTEXT:
            self._at = self._size
        elif kind & _TEMPLATE:
            self._templates += 1
            self._open.append(b"#template")
        elif kind & _FOREIGN and not self._self_closing and len(self._open) < _MAX_DEPTH:
            self._open.append(name)

    @cython.cfunc
    def _end_tag(self, start: cython.Py_ssize_t) -> None:
        code: cython.int = self._data[start] if start < self._size else 0
        if not 97 <= (code | 32) <= 122:
            # `</>` is nothing, other marks begin a comment, and at the end it is text.
            self._skip_past(b">", start)
            return
        end: cython.Py_ssize_t = self._name_end(start)
        if not self._attributes(end, False):
            return
        if self._noscript and self._text[start:end].lower() == b"noscript":
            self._noscript = False
        if self._open:
            self._element_end(self._lower(start, end))

    @cython.cfunc
    def _attributes(self, i: cython.Py_ssize_t, wanted: cython.bint) -> cython.bint:
        """Read the attributes from `i` on; False where the page ends inside the tag, which then is none."""
        data: cython.p_const_uchar = self._data
        size: cython.Py_ssize_t = self._size
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        value: cython.Py_ssize_t
        value_end: cython.Py_ssize_t
        code: cython.int
        self._self_closing = False
        while i < size:
            code = data[i]
            if code == 62:  # >
                self._at = i + 1
                self._self_closing = data[i - 1] == 47 and self._self_closing
                return True
            if code == 47:  # /
                self._self_closing = True
                i += 1
                continue
            if _is_space(code):
                i += 1
                continue
            start = i
            i += 1
            while i < size:
                code = data[i]
                if code == 61 or code == 62 or code == 47 or _is_space(code):
                    break
                i += 1
            end = i
            while i < size and _is_space(data[i]):
                i += 1
            value = value_end = i
            self._self_closing = False
            if i < size and data[i] == 61:  # =
                i += 1
                while i < size and _is_space(data[i]):
                    i += 1
                if i >= size:
                    break
                code = data[i]
                if code == 34 or code == 39:  # " '
                    value = i + 1
                    value_end = self._next(code, value)
                    if value_end >= size:
                        break
                    i = value_end + 1
                else:
                    value = i
                    while i < size:
                        code = data[i]
                        if code == 62 or _is_space(code):
                            break
                        i += 1
                    value_end = i
            if end - start == 14 and data[start] | 32 == 100 and self._lower(start, end) == b"data-nosnippet":
                self._withheld = True
            elif (
                end - start == 4
                and self._rsl is None
                and _may_be_rsl(data, value, value_end)
                and self._lower(start, end) == b"type"
            ):
                self._rsl = self._value(value, value_end)
            if wanted:
                self._keep(start, end, value, value_end)
        self._at = size
        return False

    @cython.cfunc
    def _all_kept(self) -> dict:
        if self._kept is None:
            self._kept = {} if self._href is None else {"href": self._href}
            self._href = None
        return self._kept

    @cython.cfunc
    def _keep(
        self, start: cython.Py_ssize_t, end: cython.Py_ssize_t, value: cython.Py_ssize_t, value_end: cython.Py_ssize_t
    ) -> None:
        data: cython.p_const_uchar = self._data
        # href src rel name content lang type hreflang xlink:href http-equiv charset: most others differ in length.
        size: cython.Py_ssize_t = end - start
        if size < 3 or size > 10 or size == 5 or size == 6 or size == 9:
            return
        name: str | None
        i: cython.Py_ssize_t = start
        if size == 4 and data[i] == 104 and data[i + 1] == 114 and data[i + 2] == 101 and data[i + 3] == 102:
            name = "href"
        else:
            if data[i] | 32 not in (104, 115, 114, 110, 99, 108, 116, 120):  # h s r n c l t x
                return
            name = _ATTRIBUTES.get(self._lower(start, end))
        if name == "href" and self._kept is None:
            if self._href is None:
                self._href = self._value(value, value_end)
        elif name is not None and name not in self._all_kept():
            self._kept[name] = self._value(value, value_end)

    @cython.cfunc
    def _value(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> str:
        data: cython.p_const_uchar = self._data
        i: cython.Py_ssize_t
        for i in range(start, end):
            if data[i] == 38 or data[i] == 13 or data[i] == 0:  # & \r \0
                octets: bytes = data[start:end]
                octets = octets.replace(b"\0", b"\xef\xbf\xbd").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                return unescape(octets.decode("utf-8", "replace"), True)
        return data[start:end].decode("utf-8", "replace")

    @cython.cfunc
    def _closes(self, i: cython.Py_ssize_t, name: bytes) -> cython.bint:
        """Whether `name` stands at `i`, in any case, and ends there."""
        end: cython.Py_ssize_t = i + len(name)
        if end >= self._size or self._data[i:end].lower() != name:
            return False
        code: cython.int = self._data[end]
        return code == 62 or code == 47 or _is_space(code)

    @cython.cfunc
    def _raw_text_end(self, name: bytes) -> cython.Py_ssize_t:
        """Go to the end tag of this name and return where the text before it ends."""
        i: cython.Py_ssize_t = self._text.find(b"</", self._at)
        while i >= 0:
            if self._closes(i + 2, name):
                self._attributes(i + 2 + len(name), False)
                return i
            i = self._text.find(b"</", i + 2)
        self._at = self._size
        return self._size

    @cython.cfunc
    def _script_end(self) -> None:
        """Go past `</script>`, minding `<!-- <script> </script> -->` (13.2.5.17 to 13.2.5.31)."""
        text: bytes = self._text
        data: cython.p_const_uchar = self._data
        i: cython.Py_ssize_t = self._at
        code: cython.int
        escaped: cython.bint = False
        doubly: cython.bint = False
        while True:
            if not escaped:
                i = self._next(60, i)
            if i >= self._size:
                break
            code = data[i]
            if code == 60:  # <
                if i + 1 < self._size and data[i + 1] == 47 and self._closes(i + 2, b"script"):
                    if not doubly:
                        self._attributes(i + 8, False)
                        return
                    doubly = False
                elif escaped and not doubly and self._closes(i + 1, b"script"):
                    doubly = True
                elif not escaped and text.startswith(b"!--", i + 1):
                    escaped = True
                    i += 1  # the dashes may belong to `-->` as well
            elif code == 45 and text.startswith(b"->", i + 1):  # -
                escaped = doubly = False
            i += 1
        self._at = self._size

    @cython.cfunc
    def _foreign_start(self, name: bytes, end: cython.Py_ssize_t) -> cython.bint:
        """A start tag inside SVG, MathML or a template, whose name ends at `end`; False where it is HTML."""
        if self._open[-1] in _HTML_INSIDE:
            return False
        if name in _BREAKOUT or (name == b"font" and _FONT_BREAKOUT.search(self._text, end, self._at) is not None):
            self._leave_foreign()
            return False
        if not self._self_closing and len(self._open) < _MAX_DEPTH:
            if name in _HTML_INSIDE and (name in _SVG_HTML_INSIDE) != self._in_svg():
                # A formula's `title`, a drawing's `mi`: HTML does not begin again in it. Upper case tells it apart.
                name = name.upper()
            self._open.append(name)
        return True

    @cython.cfunc
    def _in_svg(self) -> cython.bint:
        """Whether foreign elements are SVG's here: the outermost one since HTML decides for all in it (13.2.6.5)."""
        root: bytes = b""
        name: bytes
        for name in reversed(self._open):
            if name in _HTML_INSIDE:
                break
            root = name
        return root == b"svg"

    @cython.cfunc
    def _leave_foreign(self) -> None:
        while self._open and self._open[-1] not in _HTML_INSIDE:
            self._open.pop()

    @cython.cfunc
    def _element_end(self, name: bytes) -> None:
        """An end tag inside SVG, MathML or a template: a template's closes all within, others stay within theirs.

        HTML left open inside an integration point is not known here: the point's end tag closes it.
        """
        if name == b"p" or name == b"br":
            self._leave_foreign()
            return
        other: bytes = name.upper()
        place: cython.Py_ssize_t = len(self._open) - 1
        while place >= 0:
            if self._open[place] == name or self._open[place] == other:
                del self._open[place:]
                return
            if self._open[place] == b"#template":
                if name == b"template":
                    del self._open[place:]
                    self._templates -= 1
                return
            place -= 1
