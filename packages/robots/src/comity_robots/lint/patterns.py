"""Findings about the pattern of one Allow or Disallow."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import quote

from comity_robots.engine.reference import is_exempt
from comity_robots.lines import Line
from comity_robots.lint.findings import CODES, Finding

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_REGEX = re.compile(
    r"\\[dwsDWS./?+-]|\[\^?\w-\w|\(\?[:=!]|\([^()|]{1,100}\|[^()]{1,100}\)|\A\^/|\.\+|\.\*\\|\.\*[)]|(?<=[^/*]/)\.\*\Z",
    re.ASCII,
)
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
HOST = re.compile(r"(?:www\.|[\w-]+\.[\w-]+\.)[\w.-]*+(?<=[a-z]{2})(?=[/*$]|\Z)", re.IGNORECASE)
_FILE = re.compile(r"\.(?:js|css|php|html?|aspx?|jsp|cgi|pl|xml|json|pdf|png|jpe?g|gif|txt|cfm)[*$]*\Z", re.IGNORECASE)
CODES.update(
    {
        "backslash-in-path": ("warning", "a backslash where URLs have a slash"),
        "bad-escape": ("warning", "`%` that is not followed by two hexadecimal digits"),
        "disallow-star": ("info", "`*` alone where `/` says the same everywhere"),
        "dollar-in-middle": ("warning", "`$` that does not end the pattern and is an ordinary character there"),
        "double-wildcard": ("info", "asterisks in a row: one does the same"),
        "encoded-unreserved": ("warning", "an escape of a character that needs none: some crawlers do not decode it"),
        "full-url-as-path": ("error", "a whole URL where a path belongs: it matches nothing"),
        "glued-comment": ("warning", "`#` within a path begins a comment and cuts the path"),
        "path-not-encoded": ("info", "characters beyond ASCII in a path: Google recommends their escapes (2026-10-23)"),
        "path-without-slash": ("error", "a path that begins with neither `/` nor `*` matches nothing"),
        "entity-in-path": ("warning", "`&amp;` in a path: HTML's way to write `&`, which no URL has"),
        "hides-resized-images": ("info", "a rule that closes `/cdn-cgi/`, where Cloudflare serves resized images too"),
        "regex-in-path": ("warning", "a regular expression: patterns know `*` and a final `$` only"),
        "robots-disallowed": ("info", "robots.txt itself is always allowed"),
        "space-in-path": ("warning", "white space within a path, which no URL holds"),
        "trailing-wildcard": ("info", "`*` at the end matches nothing more: a pattern is a prefix"),
    }
)


def about_path(line: Line) -> Iterator[Finding]:
    """All that its pattern shows."""
    number, path, label = line.number, line.value, line.kind.capitalize()

    def rewritten(code: str, message: str, other: str) -> Finding:
        """A finding about a rule that is better written with another pattern."""
        if other != other.strip():  # blanks at the end would not be read
            other = re.sub(r"\s", _escaped, other)
        written = f"{label}: {other}"
        return Finding(number, code, message, written, written, changes=True)

    if "#" in line.raw and line.comment and path and line.raw.partition("#")[0][-1:] not in (" ", "\t"):
        hint = f"{label}: {path}%23… or a space before '#'"
        yield Finding(number, "glued-comment", f"the path ends at '#': {path!r}", hint, changes=True)
    if not path:
        return
    if re.match(r"https?:/", path, re.IGNORECASE):
        host, slash, rest = path.partition(":")[2].lstrip("/").partition("/")
        message = f"{path!r} is a URL: it matches nothing"
        if not rest.strip("*"):
            hint = f"rules for {host} belong in that host's own robots.txt"
            yield Finding(number, "full-url-as-path", message, hint, changes=True)
        else:
            finding = rewritten("full-url-as-path", message, slash + rest)
            yield replace(finding, suggestion=f"write {finding.suggestion} if {host} is this host")
        return
    regex = _REGEX.search(path)
    if regex is not None:
        message = f"{regex[0]!r} is compared as it stands: patterns are no regular expressions"
        hint = "write a beginning of the path, '*' for any characters, '$' for the end"
        yield Finding(number, "regex-in-path", message, hint, changes=True)
        return
    if not path.startswith(("/", "*")):
        yield from _about_start(line, rewritten)
    if not path.strip("*"):
        yield rewritten("disallow-star", f"{label}: {path} is {label}: /", "/")
    elif path.endswith("*") and not path.rstrip("*").endswith("$"):  # there it keeps '$' from ending the pattern
        yield rewritten("trailing-wildcard", "'*' at the end matches nothing more", path.rstrip("*"))
    if "**" in path:
        yield rewritten("double-wildcard", "asterisks in a row", re.sub(r"[*]+", "*", path))
    if "$" in path[:-1]:
        other = path[:-1].replace("$", "%24") + path[-1]
        yield rewritten("dollar-in-middle", "'$' is special only at the end", other)
    if " " in path or "\t" in path:
        other = path.replace(" ", "%20").replace("\t", "%09")
        yield rewritten("space-in-path", f"white space in {path!r}", other)
    if not path.isascii() and "\ufffd" not in path:
        other = "".join(char if char.isascii() else quote(char) for char in path)
        yield rewritten("path-not-encoded", "characters beyond ASCII, which URLs hold as escapes", other)
    if "&amp;" in path:
        yield rewritten("entity-in-path", "'&amp;' is HTML for '&'", path.replace("&amp;", "&"))
    if path in ("/cdn-cgi/", "/cdn-cgi", "/cdn-cgi/*") and line.kind == "disallow":
        hint = "add 'Allow: /cdn-cgi/image/' if you use them"
        message = "images that Cloudflare resizes lie in /cdn-cgi/image/"
        yield Finding(number, "hides-resized-images", message, hint, changes=True)
    if "\\" in path:
        yield rewritten("backslash-in-path", "URLs have slashes", path.replace("\\", "/"))
    for escape in _ESCAPE.finditer(path):
        if escape[1] is None:
            if re.match(r"[0-9A-Fa-f]?[*]", path[escape.end() : escape.end() + 2]):
                continue  # the beginning of any escape
            other = f"{path[: escape.start()]}%25{path[escape.end() :]}"
            yield rewritten("bad-escape", f"'%' at {escape.start() + 1} is not an escape", other)
            break
        char = chr(int(escape[1], 16))
        if _UNRESERVED.fullmatch(char):
            yield rewritten("encoded-unreserved", f"{escape[0]} is {char!r}", path.replace(escape[0], char))
            break
    if is_exempt(path.rstrip("$").encode("utf-8", "replace"), True) and line.kind == "disallow":
        hint = "remove the line; longer paths that begin like it may then be fetched too"
        yield Finding(number, "robots-disallowed", "robots.txt is always allowed", hint, changes=True)


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _about_start(line: Line, rewritten: Callable[[str, str, str], Finding]) -> Iterator[Finding]:
    """A path that begins with neither slash nor asterisk, and how it may be meant."""
    path, label = line.value, line.kind.capitalize()
    code, message = "path-without-slash", f"{path!r} matches nothing"
    bare = path.strip(_QUOTES).strip()
    if bare.lower() in ("none", "null", "nothing", ""):
        meant = f"{label}:"
        yield Finding(line.number, code, message, meant, meant, changes=True)
    elif HOST.match(bare) and not _FILE.search(bare.partition("/")[0]):
        hint = "a robots.txt holds for its own host: write the path alone, or use the other host's robots.txt"
        yield Finding(line.number, code, message, hint, changes=True)
    elif bare.startswith(("/", "*")):
        yield rewritten(code, message, bare)
    elif bare.startswith((".", "?")) and not bare.startswith(("./", "../")):
        yield rewritten(code, message, f"/*{bare}")  # an ending or a query, wherever it stands
    elif "/" not in bare and re.match(r"[\w.\[\]-]+=", bare):
        yield rewritten(code, message, f"/*{bare}")  # a parameter's name
    else:
        yield rewritten(code, message, "/" + bare.lstrip("./\\"))
