"""Path and query of a URL in the form in which they are compared, and patterns in the same form.

RFC 9309, 2.2.2 and 2.2.3. Nothing here knows what is done with the result.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

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
_HEX = b"0123456789ABCDEF"


def normalised(octets: bytes, form: cython.int, pattern: cython.bint) -> bytes:
    """Octets in the form in which patterns and paths are compared.

    Args:
        form: one of FORMS.
        pattern: a pattern, in which `*` and a final `$` keep their meaning; in a path both are ordinary characters
            and are encoded, which is how RFC 9309, 2.2.3 lets a pattern name them.
    """
    if form == _RAW:
        return octets
    out = bytearray()
    size: cython.Py_ssize_t = len(octets)
    i: cython.Py_ssize_t = 0
    char: cython.int
    code: cython.int
    while i < size:
        char = octets[i]
        if char == 37 and i + 2 < size and (code := _hex_pair(octets[i + 1], octets[i + 2])) >= 0:
            i += 3
            if (code in _UNRESERVED) if form == _RFC9309 else (code not in _GEM_KEEPS):
                out.append(code)
            else:
                out.append(37)
                out.append(_HEX[code >> 4])
                out.append(_HEX[code & 15])
            continue
        i += 1
        if (
            ((char >= 128 or char in _ILLEGAL) and form == _RFC9309)
            or (char == 42 and not pattern)
            or (char == 36 and not (pattern and i == size))
        ):
            out.append(37)
            out.append(_HEX[char >> 4])
            out.append(_HEX[char & 15])
        else:
            out.append(char)
    return bytes(out)


@cython.cfunc
@cython.exceptval(check=False)
def _hex_pair(high: cython.int, low: cython.int) -> cython.int:
    """The octet that two hexadecimal digits name; negative where they are none."""
    a: cython.int = _digit(high)
    b: cython.int = _digit(low)
    return -1 if a < 0 or b < 0 else 16 * a + b


@cython.cfunc
@cython.exceptval(check=False)
def _digit(char: cython.int) -> cython.int:
    if 48 <= char <= 57:
        return char - 48
    char = char | 32
    return char - 87 if 97 <= char <= 102 else -1


@cython.ccall
def path_of(url, form: cython.int, semicolon: cython.bint):  # types: see the .pyi
    """Path and query of a URL, or of a bare path, in the form in which it is compared; `/` where there is none.

    Scheme, authority and fragment are left out.
    """
    if cython.compiled:
        return _path_of(url, form, semicolon)
    starts = "/?;" if semicolon else "/?"
    begin = 2 if url.startswith("//") else 0
    at = _first_of(url, starts, begin)
    if at > begin and url[at - 1 : at + 2] == "://":
        at = _first_of(url, starts, at + 2)
    end = url.find("#", begin)
    if at < 0 or 0 <= end < at:
        return b"/"
    text = url[at:end] if end >= 0 else url[at:]
    path = text.encode("utf-8", "surrogatepass") if text[0] == "/" else b"/" + text.encode("utf-8", "surrogatepass")
    if form != _RAW and text.translate(_WITHOUT_PLAIN):
        return normalised(path, form, False)
    return path


def _first_of(text: str, chars: str, begin: int) -> int:
    places = [place for char in chars if (place := text.find(char, begin)) >= 0]
    return min(places) if places else -1


@cython.cfunc
def _path_of(url: str, form: cython.int, semicolon: cython.bint) -> bytes:
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
    while at < size and not _starts_path(text[at], semicolon):
        if text[at] == 35:
            return b"/"
        at += 1
    if begin < at < size - 1 and text[at] == 47 and text[at - 1] == 58 and text[at + 1] == 47:
        at += 2
        while at < size and not _starts_path(text[at], semicolon):
            if text[at] == 35:
                return b"/"
            at += 1
    if at >= size:
        return b"/"
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
