"""Findings that one line shows by itself."""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from comity_robots.directives import DIRECTIVES, LABELS, NAMES, PREFIXES
from comity_robots.fields import DAY, SECONDS
from comity_robots.lines import Line
from comity_robots.lint.findings import CODES, Finding
from comity_robots.lint.names import about_name, one_slip
from comity_robots.lint.patterns import HOST, about_path
from comity_robots.lint.removable import Rules
from comity_robots.parsed import Parsed
from comity_robots.rates import crawl_delay, request_rates, visit_time
from comity_robots.usage.statements import is_absolute

MAX_LINE_CHARACTERS = 2083 * 8  # Google's parser cuts there
ENORMOUS_DELAY_SECONDS = 3600
_KNOWN = {label.decode() for label in LABELS}
_TYPOS = {prefix.decode() for prefix, _ in PREFIXES} - _KNOWN
_NEEDS_AGENT = {NAMES[each.number] for each in DIRECTIVES if each.scope in ("rules", "preferences", "pace")}
PREFERENCES = {NAMES[each.number] for each in DIRECTIVES if each.scope == "preferences"}
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!|\?|/?[a-z][a-z0-9]*(?=[\s>/]))", re.IGNORECASE)
_SECOND = re.compile(
    r"(?:^|[ \t;,])(user-agent|disallow|allow|sitemap|crawl-delay|noindex)[ \t]*:[ \t]*", re.IGNORECASE
)
_AGENT_WORD = re.compile(r"(?:user[-_ ]?)?agents?[ \t]*(?:[:=]|$)", re.IGNORECASE)
_FORMATS: Final = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"U\0": "UTF-16",
    b"\0U": "UTF-16",
    b"#\0": "UTF-16",
    b"{": "JSON",
    b"[": "JSON",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "a ZIP archive",
}
"""How files of other formats begin."""
_RTF: Final = b"{\\rtf"
_UNREAD: Final = "no line of it is a record, so all is allowed"
_LIKE_A_RECORD = re.compile(r"[A-Za-z][A-Za-z-]{2,30}[ \t]*:")
MAX_LABEL_SHOWN = 64
_RUN_INTO = re.compile(r"(user-agent|disallow|allow|sitemap|crawl-delay)[ \t]*:[ \t]*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
MAX_DELAY_CHARS = 40
_SECONDS = re.compile(
    r"([0-9]+(?:\.[0-9]+|,[0-9]{1,2})?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)?", re.IGNORECASE
)
_WRITTEN_OUT: Final = {"sec": "s", "second": "s", "minute": "m", "hour": "h", "day": "d"}
_UNITS: Final = SECONDS | {word: SECONDS[unit] for word, unit in _WRITTEN_OUT.items()}
OCTET: Final = re.compile("[\udc80-\udcff]")  # one that is no text, as lines have it
_FILLERS = "\u115f\u1160\u3164\uffa0"  # letters without a shape
CODES.update(
    {
        "byte-order-mark": ("warning", "a byte order mark, which some parsers take for part of the first label"),
        "content-key-unknown": ("warning", "a Content-Usage or Content-Signal key outside the vocabulary"),
        "content-value-unreadable": ("error", "a Content-Usage or Content-Signal value outside the vocabulary"),
        "crawl-delay-enormous": ("warning", "a Crawl-delay of an hour or more, which makes a crawl hopeless"),
        "crawl-delay-unreadable": ("error", "a Crawl-delay that is not a number of seconds"),
        "html-instead-of-text": ("error", "HTML, not a robots.txt"),
        "invisible-character": ("error", "a character that nobody sees, which is part of the label or the value"),
        "line-too-long": ("warning", "a line longer than some parsers read"),
        "missing-colon": ("error", "a known label without a colon"),
        "misspelt-record": ("error", "a label that is nearly a known one: most parsers ignore the line"),
        "licence-not-absolute": ("error", "a License must be a whole URL"),
        "not-robots-txt": ("error", "another format, or a server's message: no line of it is a record as it was meant"),
        "noindex-in-robots": ("warning", "Noindex in robots.txt: use a robots meta or X-Robots-Tag"),
        "not-utf-8": ("warning", "bytes that are not UTF-8"),
        "nul-octet": ("warning", "a NUL byte, at which some parsers end the line"),
        "rate-unreadable": ("error", "a Request-rate or Visit-time that cannot be read"),
        "record-without-agent": ("error", "a record that needs a User-agent before it"),
        "sitemap-not-absolute": ("error", "a Sitemap must be a whole URL"),
        "too-large": ("error", "more than 500 KiB: crawlers ignore the rest"),
        "two-on-a-line": ("error", "two records on one line are read as one"),
        "unknown-record": ("info", "a label that is not known"),
        "url-without-label": ("error", "a URL without a label in front of it"),
        "yandex-only": ("info", "a record that Yandex made: it reads Clean-param and used to read Host"),
    }
)


def about_lines(robots: Parsed, rules: Rules, lines: tuple[Line, ...]) -> Iterator[Finding]:
    """Findings about the file as a whole and about each line."""
    yield from _about_file(robots)
    if _HTML.match(robots.body[:1024]) and not any(line.kind == "user-agent" for line in lines):
        hint = "serve text/plain, or answer 404 for no rules"
        yield Finding(1, "html-instead-of-text", "this is an HTML page", hint, changes=True)
        return
    if (other := _other_format(robots, lines)) is not None:
        hint = "save it as text in UTF-8, with records such as 'User-agent: *'; for no rules answer 404"
        yield Finding(1, "not-robots-txt", other, hint, changes=True)
        return
    agents = 0
    html = False
    home = _home(lines)
    for line in lines:
        agents += line.kind == "user-agent"
        if not agents and _is_nearly_agent(line):
            home = f"mend the User-agent line that it belongs to: line {line.number}"
        yield from _about_octets(line)
        if (finding := _about_invisible(line) or _about_second(line)) is not None:
            yield finding
        elif line.kind == "unknown":
            if html:
                continue
            if html := _HTML.match(line.raw.encode("utf-8", "replace")) is not None:
                message = "HTML begins here: nothing on this line is read as a record"
                yield Finding(line.number, "html-instead-of-text", message, "remove it from the file", changes=True)
            else:
                yield from _about_unknown(line)
        elif line.kind not in ("comment", "blank"):
            if not agents and line.kind in _NEEDS_AGENT:
                message = f"{line.kind} before any User-agent"
                yield Finding(line.number, "record-without-agent", message, home, changes=True)
            yield from _about_record(line)


def _other_format(robots: Parsed, lines: Sequence[Line]) -> str | None:
    """What a file is in which nothing is a record; None where there is one, or where it is nearly a robots.txt.

    The text of an RTF file stands in it line by line, so that its lines may be read, with the marks that end them.
    """
    if robots.body.lstrip().startswith(_RTF):
        return "this is RTF: its marks are read as parts of names and paths, if anything is read"
    if any(line.kind not in ("comment", "blank", "unknown") for line in lines):
        return None
    body = robots.body.lstrip()
    found = next((name for begins, name in _FORMATS.items() if body.startswith(begins)), None)
    if found is not None:
        return f"this is {found}: {_UNREAD}"
    unread = [line for line in lines if line.kind == "unknown"]
    if not unread or any(_LIKE_A_RECORD.match(line.value) or _colonless(line.value) for line in unread):
        return None
    return f"this is something else ({unread[0].value[:MAX_LABEL_SHOWN]!r}): {_UNREAD}"


def _colonless(value: str) -> bool:
    word, _, rest = value.removeprefix("\ufeff").partition(" ")
    return word.lower() in _KNOWN and _fits(word.lower(), rest.strip())


def _home(lines: Sequence[Line]) -> str:
    """What to do with records above the first User-agent line.

    Above a Crawl-delay alone `User-agent: *` would share the rules of the group below, because only a rule ends a
    group; and where `*` has rules elsewhere, a second group is merged with them.
    """
    named = [line for line in lines if line.kind == "user-agent"]
    first = itertools.takewhile(lambda line: line.kind != "user-agent" and not _is_nearly_agent(line), lines)
    above = [line for line in first if line.kind in _NEEDS_AGENT]
    everybodys = next((line.number for line in named if line.value == "*"), None)
    if everybodys is not None:
        return f"move it below the User-agent line it is meant for: line {everybodys} if for everybody, else another"
    if not any(line.kind in ("allow", "disallow") for line in above):
        return "move it below the User-agent line it is meant for"
    return "put 'User-agent: *' above it" if len(above) == 1 else f"put 'User-agent: *' above line {above[0].number}"


def _is_nearly_agent(line: Line) -> bool:
    """Whether a line is meant for a User-agent line, and is none: what follows is for whom it names, not for all."""
    return line.kind == "unknown" and (
        _AGENT_WORD.match(line.value) is not None
        or any((finding.replacement or "").startswith("User-agent:") for finding in _about_unknown(line))
    )


def _about_file(robots: Parsed) -> Iterator[Finding]:
    if robots.body.startswith(b"\xef\xbb\xbf"):
        yield Finding(1, "byte-order-mark", "the file begins with a byte order mark", "save it as UTF-8 without one")
    if len(robots.body) > 500 * 1024:
        size = f"{len(robots.body):,} bytes; what is beyond 512,000 is ignored"
        yield Finding(1, "too-large", size, "use fewer, broader patterns", changes=True)


def _about_octets(line: Line) -> Iterator[Finding]:
    number = line.number
    if len(line.raw) > MAX_LINE_CHARACTERS:
        hint = "divide it, or shorten the pattern"
        yield Finding(number, "line-too-long", f"{len(line.raw):,} characters", hint, changes=True)
    if "\0" in line.raw:
        hint = "remove it; is the file UTF-16?"
        yield Finding(number, "nul-octet", "the line holds a NUL byte", hint, changes=True)
    if not line.raw.isascii() and OCTET.search(line.raw):
        hint = "save the file as UTF-8, or percent-encode"
        yield Finding(number, "not-utf-8", "the line is not UTF-8", hint, changes=True)


def _about_invisible(line: Line) -> Finding | None:
    """Invisible characters outside comments: they are part of the label or the value."""
    text = line.raw.rstrip("\r\n").partition("#")[0]
    if line.number == 1:
        text = text.removeprefix("\ufeff")
    if text.isascii():
        return None
    found = [place for place, char in enumerate(text) if _is_invisible(text, place, char)]
    if not found:
        return None
    names = dict.fromkeys(f"U+{ord(text[place]):04X}" for place in found)
    hidden = set(found)
    plain = [
        (" " if unicodedata.category(char) == "Zs" else "") if place in hidden else char
        for place, char in enumerate(text)
    ]
    written = "".join(plain).strip()
    message = f"an invisible character ({', '.join(names)}) is read as part of the line"
    hint = f"type the line again: {written}" if written else "remove it"
    return Finding(line.number, "invisible-character", message, hint, written, changes=True)


def _is_invisible(text: str, place: int, char: str) -> bool:
    if char.isascii():
        return False
    if char in "\u200c\u200d":  # between the letters of Persian and of Indian scripts they are spelling
        around = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
        return len(around) < 2 or any(each.isascii() for each in around)
    return unicodedata.category(char) in ("Cf", "Zs", "Zl", "Zp", "Cc") or char in _FILLERS


def _about_second(line: Line) -> Finding | None:
    """Two records on one line: all of it is read as the first one's value."""
    if line.kind not in ("user-agent", "allow", "disallow", "sitemap", "crawl-delay"):
        return None
    label, value = line.kind.capitalize(), line.value
    find = _RUN_INTO if line.kind == "user-agent" else _SECOND
    written = []
    start = 0
    for second in find.finditer(value):
        written.append((label, value[start : second.start()].strip().rstrip(";,")))
        label, start = second[1].capitalize(), second.end()
    written.append((label, value[start:].strip()))
    if len(written) == 1:
        if line.kind in ("user-agent", "crawl-delay"):
            return None
        parts = [part for part in re.split(r"[\s,;]+", value) if part]
        first = ("http://", "https://") if line.kind == "sitemap" else "/"
        if len(parts) < 2 or not all(part.lower().startswith(first) for part in parts):
            return None
        written = [(label, part) for part in parts]
    texts = list(dict.fromkeys(f"{label}: {value}" for label, value in written if value))
    if not texts:
        return None
    hint = f"write them one per line: {'; '.join(texts)}"
    code, message = "two-on-a-line", f"{len(written)} records on one line are read as one"
    return Finding(line.number, code, message, hint, "\n".join(texts), changes=True)


def _about_unknown(line: Line) -> Iterator[Finding]:
    label, colon, rest = (part.strip() for part in line.value.partition(":"))
    label = label.removeprefix("\ufeff").lower()
    if not colon or " " in label.strip():
        word, _, rest = (part.strip() for part in line.value.removeprefix("\ufeff").partition(" "))
        word = word.lower()
        if word in _KNOWN and _fits(word, rest):
            # As written: the rest of a pattern keeps its case.
            written = f"{word.capitalize()}: {rest}"
            yield Finding(line.number, "missing-colon", f"no colon after {word!r}", written, written, changes=True)
            return
    shown = repr(label[:MAX_LABEL_SHOWN])
    if not colon:
        yield Finding(line.number, "unknown-record", f"{shown} is not a record", "begin it with '#' if it is a comment")
        return
    rest = line.value.partition(":")[2].strip()
    if label in ("http", "https") and rest.startswith("//"):
        hint = written = f"Sitemap: {line.value}"
        message = "a URL without a label is not read"
        yield Finding(line.number, "url-without-label", message, f"write {hint} if it is one", written, changes=True)
        return
    meant = _meant(label)
    lenient = next((NAMES[number] for prefix, number in PREFIXES if label.encode().startswith(prefix)), None)
    if meant is not None or lenient is not None:
        written = f"{(meant or lenient or '').capitalize()}: {rest}"
        message = f"{shown} looks like {meant!r}" if meant else f"Google reads {shown} as {lenient!r}, others ignore it"
        if lenient == "disallow" and meant is None and not rest:  # to disallow nothing is not what it says
            hint = "write 'Disallow: /' if all is meant, 'Disallow:' if nothing"
            yield Finding(line.number, "misspelt-record", message, hint, changes=True)
        else:
            yield Finding(line.number, "misspelt-record", message, written, written, changes=True)
    else:
        yield Finding(line.number, "unknown-record", f"{shown} is not known", "remove it if nobody needs it")


def _fits(label: str, value: str) -> bool:
    """Whether a text may be the value of a record: prose that begins with such a word is none."""
    if label in ("allow", "disallow"):
        return value.startswith(("/", "*")) and " " not in value
    if label == "sitemap":
        return value.lower().startswith(("http://", "https://"))
    if label == "crawl-delay":
        return value[:1].isdigit()
    return bool(value) and " " not in value


def _meant(label: str) -> str | None:
    """The known label that a misspelt one stands for: one slip away, or a misspelling that Google forgives."""
    if not 3 <= len(label) <= 20:
        return None
    plain = label.replace(" ", "").replace("_", "").replace("-", "")
    for known in _KNOWN:
        if plain == known.replace("-", "") or (len(known) > 4 and one_slip(label, known)):
            return known
    if any(label.startswith(typo) for typo in _TYPOS):
        return "disallow" if label.startswith("d") else ("sitemap" if label.startswith("s") else "user-agent")
    return next(
        (known for known in ("user-agent", "disallow", "allow") if label == known + "s" or label == known + "ed"), None
    )


def _about_record(line: Line) -> Iterator[Finding]:
    number, value = line.number, line.value
    match line.kind:
        case "user-agent":
            if (finding := about_name(line)) is not None:
                yield finding
        case "allow" | "disallow":
            yield from about_path(line)
        case "sitemap":
            if not value.lower().startswith(("http://", "https://")):
                yield _about_sitemap(number, value)
        case "crawl-delay":
            yield from _about_delay(line)
        case "request-rate" if not any(request_rates([value])):
            hint = "write for example Request-rate: 1/10s 0600-0845"
            yield Finding(number, "rate-unreadable", f"{value!r} is not a rate", hint)
        case "visit-time" if visit_time([value]) is None:
            hint = "write for example Visit-time: 0600-0845"
            yield Finding(number, "rate-unreadable", f"{value!r} is not a time of day", hint)
        case "noindex":
            hint = 'put <meta name="robots" content="noindex"> into the page'
            yield Finding(number, "noindex-in-robots", "Google stopped reading Noindex here in 2019", hint)
        case "host" | "clean-param":
            yield Finding(number, "yandex-only", f"{line.kind} is Yandex's own", "keep it if Yandex matters to you")
        case "license" if not is_absolute(value):
            hint = "write for example License: https://HOST/license.xml"
            yield Finding(number, "licence-not-absolute", f"{value!r} is not a whole URL", hint)
        case _ if line.kind in PREFERENCES:
            yield from _about_usage(line)


def _about_sitemap(number: int, value: str) -> Finding:
    code, message = "sitemap-not-absolute", f"{value!r} is not a whole URL"
    if not value:
        return Finding(number, code, "Sitemap without a URL", "remove it", "", changes=True)
    host, slash, _ = value.removeprefix("//").partition("/")
    if scheme := re.fullmatch(r"(https?)(?::/*|//)(.+)", value, re.IGNORECASE | re.DOTALL):
        url = f"{scheme[1].lower()}://{scheme[2]}"
    elif value.startswith("//") or (slash and HOST.fullmatch(host)):
        url = "https://" + value.removeprefix("//")
    else:
        url = f"https://HOST/{value.lstrip('./')}"
        return Finding(number, code, message, f"write Sitemap: {url}")
    return Finding(number, code, message, f"Sitemap: {url}", f"Sitemap: {url}", changes=True)


def _about_delay(line: Line) -> Iterator[Finding]:
    value = line.value
    if _NUMBER.fullmatch(value):
        seconds = float(value)
        if ENORMOUS_DELAY_SECONDS <= seconds < float("inf"):
            message = f"{seconds:g} s between requests: at most {max(DAY / seconds, 1):.0f} a day"
            hint = "write a shorter one, such as Crawl-delay: 10"
            yield Finding(line.number, "crawl-delay-enormous", message, hint)
        return
    message = f"{value!r} is not a number of seconds"
    read = crawl_delay([value])
    meant = _SECONDS.fullmatch(value)
    written = None
    if read is not None:  # Python's digits, signs and exponents
        message += f": some crawlers read {read:.10g}, others nothing"
        hint = f"write Crawl-delay: {read:.10g} if that is meant"
    elif meant is not None and len(value) < MAX_DELAY_CHARS:
        number = float(meant[1].replace(",", ".")) * _UNITS[_unit(meant[2])]
        hint = written = f"Crawl-delay: {number:.10g}"
    else:
        hint = "write for example Crawl-delay: 5"
    yield Finding(line.number, "crawl-delay-unreadable", message, hint, written, changes=True)


def _unit(text: str | None) -> str:
    unit = (text or "s").lower()
    return unit if unit in _UNITS else unit.removesuffix("s")


def _about_usage(line: Line) -> Iterator[Finding]:
    from comity_robots import paths
    from comity_robots.robots_usage import STATING
    from comity_robots.usage.statements import PURPOSES, USE

    vocabulary = STATING[LABELS[line.kind.encode()]]
    known = ", ".join(vocabulary.keys)
    path, text = paths.split(line.value)
    words = text.split()
    if len(words) > 1 and "," not in text and all(0 < word.find("=") < len(word) - 1 for word in words):
        written = f"{vocabulary.label}: {f'{path} ' if path else ''}{', '.join(words)}"
        message = "blanks separate no statements, commas do: nothing can be read"
        yield Finding(line.number, "content-value-unreadable", message, written, written, changes=True)
        return
    stated = vocabulary.stated(text)
    if not stated:
        example = f"{vocabulary.label}: {vocabulary.keys[0]}={vocabulary.no}"
        yield Finding(line.number, "content-value-unreadable", "it states nothing", f"write for example {example}")
    for purpose, value, note in stated:
        if value != "unknown":
            continue
        if purpose and purpose not in (*PURPOSES, USE):
            message = f"{purpose!r} is not in the vocabulary"
            yield Finding(line.number, "content-key-unknown", message, f"known are {known}")
        else:
            name = f"{purpose!r}: " if purpose else ""
            example = f"{vocabulary.label}: {vocabulary.keys[0]}={vocabulary.no} (or ={vocabulary.yes})"
            yield Finding(line.number, "content-value-unreadable", f"{name}{note}", f"write for example {example}")
