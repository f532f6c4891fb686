# cython: boundscheck=False, wraparound=False
"""URLs in one normal form: what WHATWG's URL standard makes of them, without fragment, without credentials and without
the dot that may end a host name.

It decides which texts are the same http or https URL and what a reference on a page points to; it never resolves a
name and never contacts anything. ada-url is the judge; texts that are plainly in normal form already, and plain
references, are recognised without asking it. docs/urls.md lists what the normal form removes and what it keeps.

A `Url` is made where a URL comes in, and whoever gets one need not look at it again. The links of a page stay plain
texts, for there are many: `Base.join` gives them in normal form, `host` and `origin` make no object.
"""

from __future__ import annotations

from ada_url import join_url, normalize_url

from comity_pages.errors import InvalidURL, without_userinfo

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

if cython.compiled:
    from cython.cimports.comity_robots.plain_urls import authority_end, path_end, query_end, scheme_end

# Looking pays only as machine code; interpreted, ada-url is faster and judges everything.
_FAST = cython.compiled
_SCHEMES = ("http://", "https://")
_SCHEME_MARKS = str.maketrans("", "", "+-.")


class Url(str):
    """An absolute http or https URL in normal form: a text that knows its parts. One that is a Url already is given
    back as it is, so that every function may make its own of what it is given.

    Attributes:
        origin: `scheme://host[:port]`, without the scheme's default port (WHATWG URL, 4.7).

    Raises:
        InvalidURL: the text is not an absolute http or https URL with a valid host.
    """

    __slots__ = ("origin",)

    def __new__(cls, text):
        if type(text) is Url:
            return text
        normal: str = _normal(_as_str(text))
        url = str.__new__(cls, normal)
        url.origin = normal[: normal.index("/", 8)]  # here, for it is asked for most
        return url

    @property
    def host(self):
        """The host, lower case, without port; an IPv6 address keeps its brackets."""
        return _host_of(self.origin)

    @property
    def path_and_query(self):
        """What follows the origin, which robots.txt rules are matched with: `/path` or `/path?query`."""
        return self[len(self.origin) :]


def normalise(url):
    """The normal form of a text (WHATWG URL, 4.4; fragment, userinfo and the host's last dot removed), a plain text
    again. Errors as for `Url`.
    """
    return _normal(_as_str(url))


def is_http(url):
    """True where the text is an absolute http or https URL with a valid host: where `Url` would not raise."""
    return type(url) is Url or (_FAST and _plain(_as_str(url)) is not None) or _by_ada(_as_str(url), None) is not None


def origin(url):
    """As `Url.origin`, for a text. Errors as for `Url`."""
    text: str = _as_str(url)
    end: cython.Py_ssize_t = -1
    if _FAST and is_ascii(text):
        end = authority_end(ascii_of(text), len(text))
    if end < 0:
        text = _normal(text)
        end = text.index("/", 8)
    return text[:end]


def host(url):
    """As `Url.host`, for a text. Errors as for `Url`."""
    return _host_of(origin(url))


def join(base, reference):
    """The normal form of what `reference` points to on a page whose base URL is `base`.

    None where that is not http or https, or is no valid URL at all. For many references of one page, `Base` saves
    looking at the base each time.
    """
    return Base(base).join(reference)


@cython.final
@cython.cclass
class Base:
    """What the references of one page are resolved against: the page's URL or its `<base href>`."""

    def __init__(self, url) -> None:
        self.url = _scalars(_as_str(url))
        normal: str | None = None
        if _FAST:
            normal = _plain(self.url)
            if normal is None:
                normal = _by_ada(self.url, None)
        # What is relative to anything but http and https is left to ada-url, reference by reference.
        self._plain = normal is not None
        if normal is not None:
            self._normal = normal
            self._root = normal.index("/", 8)
            self._origin = normal[: self._root]
            query: cython.Py_ssize_t = normal.find("?", self._root)
            self._path = normal if query < 0 else normal[:query]
            self._directory = self._path[: self._path.rfind("/") + 1]

    def join(self, reference):
        """Join as the function `join` does."""
        found: str | None = None
        size: cython.Py_ssize_t = len(reference)
        end: cython.Py_ssize_t
        if not self._plain:
            return _by_ada(reference, self.url)
        if size == 0:
            return self._normal
        first: cython.Py_UCS4 = reference[0]
        if first == "/":
            if size > 1 and reference[1] == "/":
                found = _plain(self._origin[: self._origin.index("/")] + reference)
            else:
                end = _path_end_of(reference, 1)
                if end >= 0:
                    found = self._origin + (reference if end == size else reference[:end])
        elif first == "#":
            return self._normal
        elif first == "?":
            end = _query_end_of(reference, 1)
            if end >= 0:
                found = self._path + (reference if end == size else reference[:end])
        else:
            end = scheme_end(reference)
            if end < 0:
                found = self._relative(reference)
            elif reference.startswith(_SCHEMES):
                found = _plain(reference)
            elif reference[:end].lower() not in ("http", "https"):
                return None
        return found if found is not None else _by_ada(reference, self.url)

    def _relative(self, reference):
        """For a path without leading slash: `x.html`, `./x.html`, `../../x.html`; None where it is not plain."""
        directory: str = self._directory
        start: cython.Py_ssize_t = 0
        if reference.startswith("./"):
            start = 2
        while reference.startswith("../", start):
            start += 3
            if len(directory) > self._root + 1:
                directory = directory[: directory.rfind("/", 0, len(directory) - 1) + 1]
        end: cython.Py_ssize_t = _path_end_of(reference, start)
        if end < 0:
            return None
        return directory + (reference if start == 0 and end == len(reference) else reference[start:end])


@cython.cfunc
@cython.exceptval(check=False)
def _path_end_of(text: str, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return path_end(ascii_of(text), len(text), i) if is_ascii(text) else -1


@cython.cfunc
@cython.exceptval(check=False)
def _query_end_of(text: str, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return query_end(ascii_of(text), len(text), i) if is_ascii(text) else -1


@cython.cfunc
def _as_str(text) -> str:
    """A text as compiled code takes it: no subclass."""
    if type(text) is str:
        return text
    if isinstance(text, str):
        return str(text)
    raise TypeError(f"a URL is a str, not {type(text).__name__}")


@cython.cfunc
def _host_of(found: str) -> str:
    start: cython.Py_ssize_t = 8 if found.startswith("https") else 7
    end: cython.Py_ssize_t = found.rfind(":")
    if end < start or found.endswith("]"):
        return found[start:]
    return found[start:end]


@cython.cfunc
def _normal(url: str) -> str:
    found: str | None = _plain(url) if _FAST else None
    if found is None:
        found = _by_ada(url, None)
        if found is None:
            raise _invalid_url(url)
    return found


@cython.cfunc
def _plain(url: str) -> str | None:
    """The normal form where only a slash after the host may be missing and a fragment too much; else None."""
    if not is_ascii(url):
        return None
    text: cython.p_const_char = ascii_of(url)
    size: cython.Py_ssize_t = len(url)
    i: cython.Py_ssize_t = authority_end(text, size)
    if i < 0:
        return None
    if i == size:
        return url + "/"
    end: cython.Py_ssize_t = i
    if text[i] == 47:
        end = path_end(text, size, i + 1)
        if end == size:
            return url
        return url[:end] if end >= 0 else None
    if text[i] == 63:
        end = query_end(text, size, i + 1)
    return url[:i] + "/" + url[i:end] if end >= 0 else None


def _by_ada(reference: str, base: str | None) -> str | None:
    """The normal form by ada-url, None where there is none."""
    try:
        href = normalize_url(reference) if base is None else join_url(base, reference)
    except ValueError:
        scalars = _scalars(reference)
        return _by_ada(scalars, base) if scalars != reference else None
    if not href.startswith(_SCHEMES):
        return None
    mark = href.find("#")
    if mark >= 0:
        href = href[:mark]
    start = href.index("//") + 2
    end = href.index("/", start)
    at = href.rfind("@", start, end)
    name, colon, port = href[max(start, at + 1) : end].partition(":")
    if name.endswith(".") and name != "." and not name.endswith(".."):  # the root of DNS, written out: the same server
        name = name.removesuffix(".")
    return href[:start] + name + colon + port + href[end:]


def _scalars(text: str) -> str:
    """The text as the standard receives it: a lone surrogate is U+FFFD (Web IDL, USVString)."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_url(text: str) -> bool:
    try:
        return bool(normalise(text))
    except InvalidURL:
        return False


def _invalid_url(url: str) -> InvalidURL:
    text = url if len(url) <= 200 else url[:200] + "..."
    scheme, colon, rest = url.strip().partition(":")
    port = rest.partition("/")[0]
    named = bool(colon) and scheme.isascii() and scheme.translate(_SCHEME_MARKS).isalnum() and not port.isdecimal()
    bare = text.strip()
    hint = "" if named else "write for example https://example.com/"
    if not bare:
        what = "an empty text is not a URL"
    elif not named and (bare.startswith(("/", ".")) or not bare.strip("/.")):
        what = f"{text!r} needs a scheme and a host"
    elif not named and _is_url(f"https://{bare}"):
        what, hint = f"{text!r} needs a scheme: did you mean https://{bare}?", ""
    elif not named:
        what = f"{text!r} is not a URL"
    elif scheme.lower() not in ("http", "https"):
        what = f"{text!r} is not http or https"
    else:
        what = f"{text!r} has no valid host or port"
    return InvalidURL(without_userinfo(what), url=without_userinfo(url), hint=hint)
