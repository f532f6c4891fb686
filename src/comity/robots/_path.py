"""Path and query of a URL in the form in which they are compared, and patterns in the same form.

RFC 9309, 2.2.2 and 2.2.3. Nothing here knows what is done with the result.
"""

from __future__ import annotations

from comity.errors import InvalidURL

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

MOST_SHOWN = 100  # characters of what was asked about
# Forms of a path; see path_form of Dialect. Google's changes patterns only.
FORMS = {"none": 0, "google": 0, "rfc9309": 1, "gem": 2}
_RAW = cython.declare(cython.int, 0)
_RFC9309 = cython.declare(cython.int, 1)

# What becomes of an octet: 0 it stays, 1 it needs a closer look, 2 it ends the path. No URL may hold white space,
# control characters or any of "<>\^`{|} (RFC 3986, 2), so those are compared encoded, as browsers send them.
_ILLEGAL = frozenset(b'"<>\\^`{|}\x7f') | frozenset(range(33))
LOOKS = bytes(2 if octet == 35 else octet in _ILLEGAL or octet in b"%*$" or octet >= 128 for octet in range(256))
PLAIN = bytes(octet for octet in range(128) if LOOKS[octet] == 0)
_WITHOUT_PLAIN = dict.fromkeys(PLAIN)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_GEM_KEEPS = frozenset(b"/?&=*$%#")
# Octets that are decoded where they stand encoded, and octets that are encoded where they stand as they are.
_DECODED = bytes(octet in _UNRESERVED for octet in range(256))
_GEM_DECODED = bytes(octet not in _GEM_KEEPS for octet in range(256))
_ENCODED = bytes(octet >= 128 or octet in _ILLEGAL for octet in range(256))
_HEX = b"0123456789ABCDEF"
# The same, for code that holds no Python object: compiled, these are addresses (see the .pxd).
_DECODED_AT = _DECODED
_GEM_DECODED_AT = _GEM_DECODED
_ENCODED_AT = _ENCODED
_HEX_AT = _HEX
_SCHEME = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-."  # RFC 3986, 3.1
_IN_SCHEME = bytes(octet in _SCHEME for octet in range(256))


def normalised(octets: bytes, form: cython.int, pattern: cython.bint) -> bytes:
    """Octets in the form in which patterns and paths are compared.

    Args:
        form: one of FORMS.
        pattern: a pattern, in which `*` and a final `$` keep their meaning; in a path both are ordinary characters
            and are encoded, which is how RFC 9309, 2.2.3 lets a pattern name them.
    """
    if form == _RAW:
        return octets
    size: cython.Py_ssize_t = len(octets)
    if cython.compiled:
        room: bytes = PyBytes_FromStringAndSize(cython.NULL, 3 * size)
        start: cython.p_char = room
        given: cython.p_const_char = octets
        return start[
            : normalise(cython.cast(cython.p_uchar, given), size, form, pattern, cython.cast(cython.p_uchar, start))
        ]
    out = bytearray(3 * size)
    return bytes(out[: normalise(octets, size, form, pattern, out)])


def normalise(octets, size, form, pattern, out):  # types: see the .pxd
    """Write octets to `out`, which has room for three times as many, as `normalised` gives them; how many these are."""
    decoded: cython.p_const_char = _DECODED_AT if form == _RFC9309 else _GEM_DECODED_AT
    encoded: cython.p_const_char = _ENCODED_AT
    digits: cython.p_const_char = _HEX_AT
    i: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = 0
    char: cython.int
    code: cython.int
    while i < size:
        char = octets[i]
        if char == 37 and i + 2 < size and (code := _hex_pair(octets[i + 1], octets[i + 2])) >= 0:
            i += 3
            if decoded[code]:
                out[n] = code
                n += 1
                continue
            char = code
        else:
            i += 1
            if not (
                (form == _RFC9309 and encoded[char])
                or (char == 42 and not pattern)
                or (char == 36 and not (pattern and i == size))
            ):
                out[n] = char
                n += 1
                continue
        out[n] = 37
        out[n + 1] = digits[char >> 4]
        out[n + 2] = digits[char & 15]
        n += 3
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hex_pair(high: cython.int, low: cython.int) -> cython.int:
    """The octet that two hexadecimal digits name; negative where they are none."""
    a: cython.int = _digit(high)
    b: cython.int = _digit(low)
    return -1 if a < 0 or b < 0 else 16 * a + b


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _digit(char: cython.int) -> cython.int:
    if 48 <= char <= 57:
        return char - 48
    char = char | 32
    return char - 87 if 97 <= char <= 102 else -1


@cython.ccall
def path_of(url, form: cython.int, semicolon: cython.bint):  # types: see the .pyi
    """Path and query of a URL, or of a bare path, in the form in which it is compared; `/` where there is none.

    Scheme, authority and fragment are left out. Empty where `url` is neither: not text, or text that begins with
    neither a scheme and `://` nor with `/` or `?`.

    Args:
        form: one of FORMS.
        semicolon: as Google's parser cuts it: `;` begins a path too, and no text at all stands for `/`.
    """
    if not isinstance(url, str):
        return b""
    if cython.compiled:
        return _path_of(url, form, semicolon)
    starts = "/?;" if semicolon else "/?"
    text = url.partition("#")[0]
    begin = 2 if text.startswith("//") else 0
    at = _first_of(text, starts, begin)
    if at > begin and text[at - 1 : at + 2] == "://":
        if text[begin : at - 1].encode("utf-8", "surrogatepass").translate(None, _SCHEME):
            return b""
        at = _first_of(text, starts, at + 2)
    elif begin == 0 and at != 0:
        return b"/" if semicolon and not text else b""
    if at < 0:
        return b"/"
    text = text[at:] if text[at] == "/" else "/" + text[at:]
    path = text.encode("utf-8", "surrogatepass")
    return normalised(path, form, False) if form != _RAW and text.translate(_WITHOUT_PLAIN) else path


def _first_of(text: str, chars: str, begin: int) -> int:
    places = [place for char in chars if (place := text.find(char, begin)) >= 0]
    return min(places) if places else -1


@cython.cfunc
def _path_of(url: object, form: cython.int, semicolon: cython.bint) -> bytes:
    size: cython.Py_ssize_t = 0
    text: cython.p_const_char = cython.NULL
    try:
        text = PyUnicode_AsUTF8AndSize(url, cython.address(size))
    except UnicodeEncodeError:  # lone surrogates
        encoded: bytes = url.encode("utf-8", "surrogatepass")
        return _cut_path(encoded, len(encoded), form, semicolon)
    return _cut_path(text, size, form, semicolon)


@cython.cfunc
def _cut_path(text: cython.p_const_char, size: cython.Py_ssize_t, form: cython.int, semicolon: cython.bint) -> bytes:
    begin: cython.Py_ssize_t = 2 if size >= 2 and text[0] == 47 and text[1] == 47 else 0
    at: cython.Py_ssize_t = begin
    end: cython.Py_ssize_t
    look: cython.char
    special: cython.bint = False
    in_scheme: cython.p_const_char = cython.cast(bytes, _IN_SCHEME)
    i: cython.Py_ssize_t
    while at < size and not _starts_path(text[at], semicolon):
        if text[at] == 35:
            return b"/" if begin or (semicolon and at == 0) else b""
        at += 1
    if begin < at < size - 1 and text[at] == 47 and text[at - 1] == 58 and text[at + 1] == 47:
        for i in range(begin, at - 1):
            if not in_scheme[cython.cast(cython.uchar, text[i])]:
                return b""
        at += 2
        while at < size and not _starts_path(text[at], semicolon):
            if text[at] == 35:
                return b"/"
            at += 1
    elif begin == 0 and at > 0:
        return b""
    if at >= size:
        return b"/" if at or semicolon else b""
    end = at
    looks: cython.p_const_char = cython.cast(bytes, LOOKS)
    while end < size:
        look = looks[cython.cast(cython.uchar, text[end])]
        if look:
            if look == 2:
                break
            special = True
        end += 1
    path: bytes = PyBytes_FromStringAndSize(text + at, end - at)
    if text[at] != 47:
        path = b"/" + path
    return normalised(path, form, False) if special and form != _RAW else path


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _starts_path(char: cython.char, semicolon: cython.bint) -> cython.bint:
    return char == 47 or char == 63 or (char == 59 and semicolon)


def unanswerable(url, agent):  # types: see the .pyi
    """The error to raise where `url` is neither a URL nor a path, or where one of the two is not text."""
    for name, value, what in (("url", url, "a URL or a path"), ("agent", agent, "a product token or User-Agent")):
        if not isinstance(value, str):
            return TypeError(f"{name}: {what} is text (str), not {type(value).__name__}")
    shown = repr(url if len(url) <= MOST_SHOWN else url[:MOST_SHOWN] + "…")
    if agent.startswith("/") or "://" in agent.split(" ", 1)[0]:
        hint = "the agent looks like one: the URL comes first, then the agent"
    else:
        hint = "write it whole, such as https://example.com/page, or as a path that begins with '/'"
    return InvalidURL(f"url: {shown} is neither a URL nor a path", url=url, hint=hint)
