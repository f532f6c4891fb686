"""Findings that one line shows by itself."""

import re
from collections.abc import Iterator

from comity.robots.dialects import KIB, Dialect
from comity.robots.kinds import LABELS, PREFIXES
from comity.robots.lines import Line
from comity.robots.lint.findings import Finding
from comity.robots.lint.removable import Rules
from comity.robots.parsed import Parsed
from comity.robots.rates import request_rate, visit_time

LONGEST_LINE = 2083 * 8  # octets; Google's parser cuts there
ENORMOUS_DELAY = 3600  # seconds
_KNOWN = {label.decode() for label in LABELS}
_TYPOS = {prefix.decode() for prefix, _ in PREFIXES} - _KNOWN
_NEEDS_AGENT = {"allow", "disallow", "crawl-delay", "request-rate", "visit-time", "content-usage", "content-signal"}
_DECIDES = {"user-agent", "allow", "disallow"}  # records that verdicts come from
_PURPOSES = {"search", "ai-input", "train-ai"}
_USAGE_KEYS = {"content-usage": {"train-ai", "search"}, "content-signal": {"search", "ai-input", "ai-train", "use"}}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)


def about_lines(robots: Parsed, rules: Rules) -> Iterator[Finding]:
    """Findings about the file as a whole and about each line."""
    yield from _about_file(robots)
    if not robots.parsable and _HTML.match(robots.body[:1024]):
        hint = "serve text/plain, or answer 404 for no rules"
        yield Finding(1, "html-instead-of-text", "this is an HTML page", hint, changes=True)
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
                    changes=True,
                )
            yield from _about_record(line, rules)


def _about_file(robots: Parsed) -> Iterator[Finding]:
    if robots.body.startswith(b"\xef\xbb\xbf"):
        yield Finding(1, "byte-order-mark", "the file begins with a byte order mark", "save it as UTF-8 without one")
    if len(robots.body) > 500 * KIB:
        size = f"{len(robots.body):,} bytes; what is beyond 512,000 is ignored"
        yield Finding(1, "too-large", size, "use fewer, broader patterns", changes=True)


def _about_octets(line: Line) -> Iterator[Finding]:
    number = line.number
    if len(line.raw) > LONGEST_LINE:
        hint = "divide it, or shorten the pattern"
        yield Finding(number, "line-too-long", f"{len(line.raw):,} characters", hint, changes=True)
    if "\0" in line.raw:
        hint = "remove it; is the file UTF-16?"
        yield Finding(number, "nul-octet", "the line holds a NUL octet", hint, changes=True)
    if any("\udc80" <= char <= "\udcff" for char in line.raw):
        hint = "save the file as UTF-8, or percent-encode"
        yield Finding(number, "not-utf-8", "the line is not UTF-8", hint, changes=True)


def _about_unknown(line: Line) -> Iterator[Finding]:
    label, colon, rest = (part.strip() for part in line.value.partition(":"))
    label = label.removeprefix("\ufeff").lower()
    if not colon:
        word, _, rest = (part.strip() for part in label.partition(" "))
        if word in _KNOWN and rest:
            # As written: the rest of a pattern keeps its case.
            written = f"{word.capitalize()}: {line.value.strip()[len(word) :].strip()}"
            changes = word in _DECIDES
            yield Finding(line.number, "missing-colon", f"no colon after {word!r}", written, written, changes)
        elif len(label) < 64:
            yield Finding(
                line.number, "unknown-record", f"{label!r} is no record", "begin it with '#' if it is a comment"
            )
        return
    meant = _meant(label)
    if meant is not None:
        written, changes = f"{meant.capitalize()}: {rest}", meant in _DECIDES
        yield Finding(line.number, "misspelt-record", f"{label!r} looks like {meant!r}", written, written, changes)
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


def _about_record(line: Line, rules: Rules) -> Iterator[Finding]:
    number, value = line.number, line.value
    match line.kind:
        case "user-agent":
            yield from _about_agent(line, rules.dialect)
        case "allow" | "disallow":
            yield from _about_path(line, rules)
        case "sitemap":
            if not value.lower().startswith(("http://", "https://")):
                path = "/" + value.lstrip("/")
                yield Finding(
                    number, "sitemap-not-absolute", f"{value!r} is not a whole URL", f"Sitemap: https://HOST{path}"
                )
        case "crawl-delay":
            yield from _about_delay(line)
        case "request-rate" if request_rate([value]) is None:
            yield Finding(number, "rate-unreadable", f"{value!r} is no rate", "such as Request-rate: 1/10s 0600-0845")
        case "visit-time" if visit_time([value]) is None:
            yield Finding(number, "rate-unreadable", f"{value!r} is no time of day", "such as Visit-time: 0600-0845")
        case "noindex":
            yield Finding(
                number, "noindex-in-robots", "Noindex has no effect here", '<meta name="robots" content="noindex">'
            )
        case "host" | "clean-param":
            yield Finding(number, "yandex-only", f"{line.kind} is Yandex's own", "keep it if Yandex matters to you")
        case "content-usage" | "content-signal":
            yield from _about_usage(line)


def _about_agent(line: Line, dialect: Dialect) -> Iterator[Finding]:
    number, value = line.number, line.value
    if not value:
        line_of_all = "User-agent: *"
        yield Finding(
            number, "empty-agent", "User-agent without a value", "write '*' for everybody", line_of_all, changes=True
        )
    elif "/" in value:
        name = value.partition("/")[0].strip()
        written = f"User-agent: {name}"
        same = dialect.agent_match in ("product_token", "letters") and dialect.group_choice == "merge_matching"
        changes = not same or name[:1] in ("", "*")
        yield Finding(number, "agent-with-version", f"{value!r} holds a version", written, written, changes)


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
            "a shorter one, such as Crawl-delay: 10",
        )


def _about_usage(line: Line) -> Iterator[Finding]:
    from comity.robots import paths
    from comity.usage import aipref, content_signal

    read, yes, no = (aipref.read, "y", "n") if line.kind == "content-usage" else (content_signal.read, "yes", "no")
    known = ", ".join(sorted(_USAGE_KEYS[line.kind]))
    for purpose, value, note in read(paths.split(line.value)[1]):
        if value != "unknown" or (line.kind == "content-signal" and purpose in _USAGE_KEYS[line.kind] - _PURPOSES):
            continue
        if purpose and purpose not in _PURPOSES:
            yield Finding(
                line.number, "content-key-unknown", f"{purpose!r} is not in the vocabulary", f"known are {known}"
            )
        else:
            name = f"{purpose!r}: " if purpose else ""
            hint = f"such as {line.kind.capitalize()}: {min(_USAGE_KEYS[line.kind])}={no} (or ={yes})"
            yield Finding(line.number, "content-value-unreadable", f"{name}{note}", hint)


def _about_path(line: Line, rules: Rules) -> Iterator[Finding]:
    number, path, label = line.number, line.value, line.kind.capitalize()

    def rewritten(code: str, message: str, other: str, *, same_paths: bool = False) -> Finding:
        """A finding about a rule that is better written with another pattern."""
        written = f"{label}: {other}"
        changes = rules.rewriting_changes(number, other, same_paths=same_paths)
        return Finding(number, code, message, written, written, changes)

    if "#" in line.raw and line.comment and path and line.raw.partition("#")[0][-1:] not in (" ", "\t"):
        hint = f"{label}: {path}%23… or a space before '#'"
        yield Finding(number, "glued-comment", f"the path ends at '#': {path!r}", hint, changes=True)
    if not path:
        return
    if re.match(r"https?://", path, re.IGNORECASE):
        yield rewritten("full-url-as-path", f"{path!r} is a URL", "/" + path.partition("://")[2].partition("/")[2])
        return
    if not path.startswith(("/", "*")):
        yield rewritten("path-without-slash", f"{path!r} matches nothing", f"/{path.lstrip('.')}")
    if not path.strip("*"):
        yield rewritten("disallow-star", f"{label}: {path} is {label}: /", "/", same_paths=True)
    elif path.endswith("*") and not path.rstrip("*").endswith("$"):  # there it keeps '$' from ending the pattern
        yield rewritten("trailing-wildcard", "'*' at the end matches nothing more", path.rstrip("*"), same_paths=True)
    if "**" in path:
        yield rewritten("double-wildcard", "asterisks in a row", re.sub(r"[*]+", "*", path), same_paths=True)
    if "$" in path[:-1]:
        other = path[:-1].replace("$", "%24") + path[-1]
        yield rewritten("dollar-in-middle", "'$' is special only at the end", other)
    if " " in path or "\t" in path:
        other = path.replace(" ", "%20").replace("\t", "%09")
        yield rewritten("space-in-path", f"white space in {path!r}", other)
    if "\\" in path:
        yield rewritten("backslash-in-path", "URLs have slashes", path.replace("\\", "/"))
    for escape in _ESCAPE.finditer(path):
        if escape[1] is None:
            other = f"{path[: escape.start()]}%25{path[escape.end() :]}"
            yield rewritten("bad-escape", f"'%' at {escape.start() + 1} is no escape", other)
            break
        char = chr(int(escape[1], 16))
        if _UNRESERVED.fullmatch(char):
            yield rewritten("encoded-unreserved", f"{escape[0]} is {char!r}", path.replace(escape[0], char))
            break
    if path.rstrip("$") == "/robots.txt" and line.kind == "disallow":
        message, dialect = "robots.txt is always allowed", rules.dialect
        if path.endswith("$") and dialect.robots_txt_allowed and dialect.wildcards and dialect.precedence == "longest":
            yield Finding(number, "robots-disallowed", message, "write 'Disallow:' instead", "Disallow:")
        else:
            hint = "remove the line; what begins with it and goes on may then be fetched too"
            yield Finding(number, "robots-disallowed", message, hint, changes=True)
