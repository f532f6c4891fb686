"""Findings that one line shows by itself."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from comity.robots.dialects import KIB
from comity.robots.kinds import LABELS, PREFIXES
from comity.robots.lint.findings import Finding
from comity.robots.parsed import Robots
from comity.robots.values import Line

LONGEST_LINE = 2083 * 8  # octets; Google's parser cuts there
ENORMOUS_DELAY = 3600  # seconds
_KNOWN = {label.decode() for label in LABELS}
_TYPOS = {prefix.decode() for prefix, _ in PREFIXES} - _KNOWN
_NEEDS_AGENT = {"allow", "disallow", "crawl-delay", "request-rate", "visit-time", "content-usage", "content-signal"}
_USAGE_KEYS = {"content-usage": {"train-ai", "search"}, "content-signal": {"search", "ai-input", "ai-train", "use"}}
_RATE = re.compile(r"\d{1,9}\s*/\s*\d{1,9}\s*[smhd]?(\s+\d{4}\s*-\s*\d{4})?", re.IGNORECASE)
_VISIT = re.compile(r"\d{4}\s*-\s*\d{4}")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)


def about_lines(robots: Robots) -> Iterator[Finding]:
    """Findings about the file as a whole and about each line."""
    yield from _about_file(robots)
    if not robots.parsable and _HTML.match(robots.body[:1024]):
        yield Finding(1, "html-instead-of-text", "this is an HTML page", "serve text/plain, or answer 404 for no rules")
        return
    agents = 0
    for line in robots.lines:
        agents += line.kind == "user-agent"
        yield from _about_octets(line)
        if line.kind == "unknown":
            yield from _about_unknown(line)
        elif line.kind not in ("comment", "blank"):
            if not agents and line.kind in _NEEDS_AGENT:
                yield Finding(
                    line.number,
                    "record-without-agent",
                    f"{line.kind} before any User-agent",
                    "put 'User-agent: *' above it",
                )
            yield from _about_record(line)


def _about_file(robots: Robots) -> Iterator[Finding]:
    if robots.body.startswith(b"\xef\xbb\xbf"):
        yield Finding(1, "byte-order-mark", "the file begins with a byte order mark", "save it as UTF-8 without one")
    if len(robots.body) > 500 * KIB:
        yield Finding(
            1,
            "too-large",
            f"{len(robots.body):,} bytes; what is beyond 512,000 is ignored",
            "use fewer, broader patterns",
        )


def _about_octets(line: Line) -> Iterator[Finding]:
    if len(line.raw) > LONGEST_LINE:
        yield Finding(
            line.number, "line-too-long", f"{len(line.raw):,} characters", "divide it, or shorten the pattern"
        )
    if "\0" in line.raw:
        yield Finding(line.number, "nul-octet", "the line holds a NUL octet", "remove it; is the file UTF-16?")
    if any("\udc80" <= char <= "\udcff" for char in line.raw):
        yield Finding(line.number, "not-utf-8", "the line is not UTF-8", "save the file as UTF-8, or percent-encode")


def _about_unknown(line: Line) -> Iterator[Finding]:
    label, colon, rest = (part.strip() for part in line.value.partition(":"))
    label = label.removeprefix("\ufeff").lower()
    if not colon:
        word, _, rest = (part.strip() for part in label.partition(" "))
        if word in _KNOWN and rest:
            yield Finding(line.number, "missing-colon", f"no colon after {word!r}", f"{word.capitalize()}: {rest}")
        elif len(label) < 64:
            yield Finding(
                line.number, "unknown-record", f"{label!r} is no record", "begin it with '#' if it is a comment"
            )
        return
    meant = _meant(label)
    if meant is not None:
        yield Finding(
            line.number, "misspelt-record", f"{label!r} looks like {meant!r}", f"{meant.capitalize()}: {rest}"
        )
    elif len(label) < 64:
        yield Finding(
            line.number, "unknown-record", f"{label!r} is read by nobody known", "remove it if nobody needs it"
        )


def _meant(label: str) -> str | None:
    """The known label that a misspelt one stands for: one slip away, or a misspelling that Google forgives."""
    if not 3 <= len(label) <= 20:
        return None
    plain = label.replace(" ", "").replace("_", "").replace("-", "")
    for known in _KNOWN:
        if plain == known.replace("-", "") or (len(known) > 4 and _one_slip(label, known)):
            return known
    if any(label.startswith(typo) for typo in _TYPOS):
        return "disallow" if label.startswith("d") else ("sitemap" if label.startswith("s") else "user-agent")
    return next(
        (known for known in ("user-agent", "disallow", "allow") if label == known + "s" or label == known + "ed"), None
    )


def _one_slip(one: str, other: str) -> bool:
    """Whether one insertion, omission, replacement or swap of neighbours makes the two equal."""
    if abs(len(one) - len(other)) > 1:
        return False
    i = 0
    while i < min(len(one), len(other)) and one[i] == other[i]:
        i += 1
    a, b = one[i:], other[i:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[1::-1] == b[:2] and a[2:] == b[2:])


def _about_record(line: Line) -> Iterator[Finding]:
    number, value = line.number, line.value
    match line.kind:
        case "user-agent":
            if not value:
                yield Finding(number, "empty-agent", "User-agent without a value", "write '*' for everybody")
            elif "/" in value:
                name = value.partition("/")[0].strip()
                yield Finding(number, "agent-with-version", f"{value!r} holds a version", f"User-agent: {name}")
        case "allow" | "disallow":
            yield from _about_path(line)
        case "sitemap":
            if not value.lower().startswith(("http://", "https://")):
                path = "/" + value.lstrip("/")
                yield Finding(
                    number, "sitemap-not-absolute", f"{value!r} is not a whole URL", f"Sitemap: https://HOST{path}"
                )
        case "crawl-delay":
            yield from _about_delay(line)
        case "request-rate" if not _RATE.fullmatch(value):
            yield Finding(number, "rate-unreadable", f"{value!r} is no rate", "Request-rate: 1/10s 0600-0845")
        case "visit-time" if not _VISIT.fullmatch(value):
            yield Finding(number, "rate-unreadable", f"{value!r} is no time of day", "Visit-time: 0600-0845")
        case "noindex":
            yield Finding(
                number, "noindex-in-robots", "Noindex has no effect here", '<meta name="robots" content="noindex">'
            )
        case "host" | "clean-param":
            yield Finding(number, "yandex-only", f"{line.kind} is Yandex's own", "keep it if Yandex matters to you")
        case "content-usage" | "content-signal":
            yield from _about_usage(line)


def _about_delay(line: Line) -> Iterator[Finding]:
    try:
        seconds = float(line.value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        yield Finding(
            line.number, "crawl-delay-unreadable", f"{line.value!r} is no number of seconds", "Crawl-delay: 5"
        )
    elif seconds >= ENORMOUS_DELAY:
        yield Finding(
            line.number,
            "crawl-delay-enormous",
            f"{seconds:g} s between requests: {86_400 / seconds:.0f} pages a day",
            "Crawl-delay: 10, or Disallow: / if nobody shall come",
        )


def _about_usage(line: Line) -> Iterator[Finding]:
    preferences = line.value.partition(" ")[2] if line.value.startswith("/") else line.value
    for part in preferences.split(","):
        key = part.partition("=")[0].strip()
        if key and key not in _USAGE_KEYS[line.kind]:
            known = ", ".join(sorted(_USAGE_KEYS[line.kind]))
            yield Finding(line.number, "content-key-unknown", f"{key!r} is not in the vocabulary", f"known are {known}")


def _about_path(line: Line) -> Iterator[Finding]:
    number, path, label = line.number, line.value, line.kind.capitalize()
    if "#" in line.raw and line.comment and path and line.raw.partition("#")[0][-1:] not in (" ", "\t"):
        yield Finding(
            number, "glued-comment", f"the path ends at '#': {path!r}", f"{label}: {path}%23… or a space before '#'"
        )
    if not path:
        return
    if re.match(r"https?://", path, re.IGNORECASE):
        rest = "/" + path.partition("://")[2].partition("/")[2]
        yield Finding(number, "full-url-as-path", f"{path!r} is a URL", f"{label}: {rest}")
        return
    if not path.startswith(("/", "*")):
        yield Finding(number, "path-without-slash", f"{path!r} matches nothing", f"{label}: /{path.lstrip('.')}")
    if path == "*":
        yield Finding(number, "disallow-star", f"{label}: * is {label}: /", f"{label}: /")
    elif path.endswith("*"):
        yield Finding(number, "trailing-wildcard", "'*' at the end does nothing", f"{label}: {path.rstrip('*')}")
    if "**" in path:
        yield Finding(number, "double-wildcard", "asterisks in a row", f"{label}: {re.sub(r'[*]+', '*', path)}")
    if "$" in path[:-1]:
        yield Finding(
            number,
            "dollar-in-middle",
            "'$' is special only at the end",
            f"{label}: {path[:-1].replace('$', '%24')}{path[-1]}",
        )
    if " " in path or "\t" in path:
        yield Finding(
            number, "space-in-path", f"white space in {path!r}", f"{label}: {quote(path, safe='/*$?&=%:;,+@!~()')}"
        )
    if "\\" in path:
        yield Finding(number, "backslash-in-path", "URLs have slashes", f"{label}: {path.replace(chr(92), '/')}")
    for escape in _ESCAPE.finditer(path):
        if escape[1] is None:
            yield Finding(
                number, "bad-escape", f"'%' at {escape.start() + 1} is no escape", "write '%25' for a percent sign"
            )
            break
        if _UNRESERVED.fullmatch(chr(int(escape[1], 16))):
            char = chr(int(escape[1], 16))
            yield Finding(
                number, "encoded-unreserved", f"{escape[0]} is {char!r}", f"{label}: {path.replace(escape[0], char)}"
            )
            break
    if path.rstrip("$") == "/robots.txt" and line.kind == "disallow":
        yield Finding(number, "robots-disallowed", "robots.txt is always allowed", "remove the line")
