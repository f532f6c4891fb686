"""llms.txt and llms-full.txt: what a site offers to language models, and which URL may serve one better than a page's.

Everything in it is untrusted: text is data and never an instruction, and a link is at most an http or https URL that
has still to be asked about, by its origin's robots.txt and by the address guard. Source: the llms.txt proposal
(llmstxt.org).
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import ada_url

from comity_pages import urls
from comity_pages.errors import InvalidSetting

Strategy = Literal["disabled", "prefer", "force"]
CandidateReason = Literal["llms_exact", "llms_loose", "markdown_variant", "index_markdown", "original"]

MAX_SIZE: Final = 8 * 1024 * 1024  # octets or characters of a file that are read
MAX_LINES: Final = 250_000
MAX_LINE: Final = 8192  # characters of a line that are read
MAX_LINKS: Final = 10_000
_MAX_SECTIONS: Final = 1000
_MAX_TEXT: Final = 64 * 1024
_MAX_LOOSE: Final = 5

# CommonMark, 4.5: what follows the backticks of an opening fence holds none.
_FENCE = re.compile(r" {0,3}(`{3,}+(?=[^`]*$)|~{3,}+)")
_FENCE_END = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_BULLET = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,9}[.)])[ \t]+[*_]{0,3}")
# Matched where an item begins, never searched for, and possessive: one pass over the line, whatever stands there.
_LINK = re.compile(
    r"""\[ (?P<name> (?: [^\[\]\\] | \\. | \[[^\[\]]*+\] )*+ ) \]
    \( [ \t]*+ (?: < (?P<quoted>[^<>]*+) > | (?P<plain> (?: [^\s()<>] | \([^\s()]*+\) )++ ) )
    (?: [ \t]++ (?: "[^"]*+" | '[^']*+' | \([^()]*+\) ) )?+ [ \t]*+ \)""",
    re.VERBOSE,
)
_BARE_LINK = re.compile(r"<?(?P<plain>https?://[^\s<>]++)>?", re.IGNORECASE)
_BEFORE_NOTES = re.compile(r"[*_]{0,3}[ \t]*(?:[:\u2013\u2014-]+[*_]{0,3}[ \t]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INDEX = re.compile(r"/(?:index\.html?|index)?$|\.html?$")


@dataclass(frozen=True, slots=True)
class LlmsLink:
    """One link of a list: `- [name](url): notes`.

    Attributes:
        name, notes: what the site says about it, untrusted text.
        url: absolute, http or https, in normal form; not checked yet.
        line: where it stands, from 1.
    """

    name: str
    url: str
    notes: str
    line: int


@dataclass(frozen=True, slots=True)
class LlmsSection:
    """An H2 section and its links; the name is empty for links above the first one."""

    name: str
    links: tuple[LlmsLink, ...]

    @property
    def optional(self) -> bool:
        """Whether the site says that it can be skipped where a shorter context is needed."""
        return self.name.strip().lower() == "optional"


@dataclass(frozen=True, slots=True)
class LlmsTxt:
    """An llms.txt as read.

    Attributes:
        url: where it was served; relative links start here.
        title: the first H1; None where there is none.
        summary: the block quote below it, or None.
        text: what else stands above the first H2, lists of links excluded.
        sections: in order, those without links included.
        dropped: links left out: other schemes, credentials, control characters, not a URL, or over MAX_LINKS.
        problem: why it was not read, or not to its end; None where all is well.
    """

    url: str
    title: str | None = None
    summary: str | None = None
    text: str = ""
    sections: tuple[LlmsSection, ...] = ()
    dropped: int = 0
    problem: str | None = None
    _by_page: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for link in self.links:
            self._by_page.setdefault(_page_key(link.url), []).append(link.url)

    @property
    def links(self) -> tuple[LlmsLink, ...]:
        """All links; optional sections come last."""
        ranked = sorted(self.sections, key=lambda section: section.optional)
        return tuple(link for section in ranked for link in section.links)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL to ask about and perhaps to fetch, and why it is one."""

    url: str
    reason: CandidateReason


def parse(text: bytes | str, url: str) -> LlmsTxt:
    """Read an llms.txt or llms-full.txt. Never raises on content.

    Args:
        text: the body; bytes are taken as UTF-8.
        url: where it was served, after redirects.
    """
    problem = f"only the first {MAX_SIZE:,} bytes were read" if len(text) > MAX_SIZE else None
    text = text[:MAX_SIZE]
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:14].lower().startswith(("<!doctype html", "<html")):
        return LlmsTxt(url, problem="an HTML page, not an llms.txt")
    reading = _Reader(url)
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if number > MAX_LINES:
            problem = f"only the first {MAX_LINES:,} lines were read"
            break
        reading.take(line.rstrip("\n")[:MAX_LINE], number)
    if reading.is_cut and problem is None:
        problem = f"only the first {MAX_LINKS:,} links were read"
    return LlmsTxt(
        url,
        reading.title,
        "\n".join(reading.summary).strip() or None,
        "\n".join(reading.text).strip(),
        tuple(LlmsSection(name, tuple(links)) for name, links in reading.sections if name or links),
        reading.dropped,
        problem,
    )


def candidates(page_url: str, llms: LlmsTxt | None, *, strategy: Strategy = "prefer") -> tuple[Candidate, ...]:
    """What may be fetched in place of a page, best first; each still needs a decision.

    In order: the link of llms.txt that is this very URL; links that mean the same page (http or https, `www.`, a slash
    or `index.html` at the end, `.html`, `.md`), Markdown first; the URL with `.md`, or with `index.html.md` where it
    ends in a slash; the URL itself. A site without llms.txt has not said that it serves Markdown, so nothing but the
    page itself is asked of it.

    Args:
        page_url: the page wanted, absolute.
        llms: the llms.txt of its site; None where there is none.
        strategy: `prefer`; `disabled`: only the page itself; `force`: without the page itself, so that the result may
            be empty, which is the caller's error to raise.

    Raises:
        InvalidURL: `page_url` is not an absolute http or https URL.
        InvalidSetting: there is no such strategy.
    """
    if strategy not in get_args(Strategy):
        raise InvalidSetting(f"strategy is {strategy!r}; it can be {', '.join(get_args(Strategy))}")
    page = urls.normalise(page_url)
    found: dict[str, CandidateReason] = {}
    if strategy != "disabled" and llms is not None and (llms.title or llms.sections):
        same = llms._by_page.get(_page_key(page), [])
        if page in same:
            found[page] = "llms_exact"
        for url in sorted(dict.fromkeys(same), key=lambda url: not url.endswith(".md"))[:_MAX_LOOSE]:
            found.setdefault(url, "llms_loose")
        for url, reason in _variants(page):
            found.setdefault(url, reason)
    if strategy != "force":
        found.setdefault(page, "original")
    return tuple(Candidate(url, reason) for url, reason in found.items())


class _Reader:
    def __init__(self, url: str) -> None:
        self.title: str | None = None
        self.summary: list[str] = []
        self.text: list[str] = []
        self.sections: list[tuple[str, list[LlmsLink]]] = [("", [])]
        self.dropped = 0
        self.is_cut = False  # whether links were left out because there are too many
        self._base = url if urls.is_http(url) else None
        self._fence = ""
        self._links = 0
        self._kept = 0

    def take(self, line: str, number: int) -> None:
        if self._fence:  # code is no list of links
            end = _FENCE_END.match(line)
            if end and end[1].startswith(self._fence):
                self._fence = ""
        elif fence := _FENCE.match(line):
            self._fence = fence[1]
        elif heading := _HEADING.match(line):
            self._head(len(heading[1]), _title(heading[2] or ""))
            return
        elif bullet := _BULLET.match(line):
            link = _LINK.match(line, bullet.end()) or _BARE_LINK.match(line, bullet.end())
            if link:
                self._link(link, line, number)
                return
        self._keep(line)

    def _head(self, level: int, name: str) -> None:
        if level == 1 and self.title is None:
            self.title = name
        elif level <= 2 and len(self.sections) <= _MAX_SECTIONS:
            self.sections.append((name, []))

    def _keep(self, line: str) -> None:
        if len(self.sections) > 1 or self._kept > _MAX_TEXT:
            return
        self._kept += len(line) + 1
        quoted = line.lstrip(" ")
        if quoted.startswith(">") and not any(map(str.strip, self.text)):
            self.summary.append(quoted[1:].strip())
        else:
            self.text.append(line)

    def _link(self, link: re.Match[str], line: str, number: int) -> None:
        parts = link.groupdict()
        plain = parts["plain"] or ""
        if "name" not in parts:
            plain = plain.rstrip(".,:;")  # of the sentence, not of the URL
        url = _normalise_link(parts.get("quoted") or plain, self._base)
        if url is None or self._links == MAX_LINKS:
            self.dropped += 1
            self.is_cut = self.is_cut or url is not None
            return
        self._links += 1
        start = _BEFORE_NOTES.match(line, link.end())
        notes = line[start.end() if start else link.end() :].strip()
        self.sections[-1][1].append(LlmsLink((parts.get("name") or "").strip(), url, notes, number))


def _title(text: str) -> str:
    """A heading without its closing sequence, which white space must precede (CommonMark, 4.2): `C#` has none."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _normalise_link(reference: str, base: str | None) -> str | None:
    """The normal form of a link that may become a candidate."""
    if _CONTROL.search(reference):
        return None
    try:
        parsed = ada_url.URL(reference, base)
    except ValueError:
        return None
    if parsed.username or parsed.password:  # urls.join would strip them; who writes them here wants to mislead
        return None
    return urls.normalise(parsed.href) if urls.is_http(parsed.href) else None


def _page_key(url: str) -> str:
    """The same for all spellings of one page: what `candidates` calls loose."""
    address, question, query = url.partition("?")
    host, _, path = address.partition("://")[2].partition("/")
    path = f"/{path}"
    if path.endswith(".md"):
        path = path[:-3]
    path = _INDEX.sub("", path)
    return f"{host.removeprefix('www.')}{path}{question}{query}"


def _variants(page: str) -> Iterator[tuple[str, CandidateReason]]:
    address, question, query = page.partition("?")
    if address.endswith("/"):
        yield f"{address}index.html.md{question}{query}", "index_markdown"
    elif not address.lower().endswith((".md", ".markdown", ".txt")):
        yield f"{address}.md{question}{query}", "markdown_variant"
