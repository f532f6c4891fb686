"""What a crawl makes of an answer, as plain values: the page handed to a program, and the records written down."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from comity import times
from comity.crawler.finding.duplicates import Duplicate
from comity.crawler.finding.traps import Trap
from comity.errors import ExtractionFailed
from comity.policy import Decision, RobotsResult
from comity_pages.signals import encodings
from comity_pages.signals.links import Page
from comity_pages.signals.robots_meta import RobotsMeta
from comity_robots.shown import ReprMixin, short
from comity_robots.usage.statements import Usage

if TYPE_CHECKING:  # what reads a finished crawl needs no network
    from comity.net import Response
    from comity_pages.extraction import ExtractedPage

NO_META: Final = RobotsMeta()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CrawledPage(ReprMixin):
    """One page.

    Attributes:
        url: the URL that answered, in normal form.
        status: of HTTP, 200 to 299.
        content_type: the media type in lower case, without parameters.
        body: as it came, decoded from any content coding; of a rendered page the document after its scripts ran.
        encoding: character encoding of the body, by the name of Python's codec: `body.decode(encoding, "replace")` is
            what `text` gives.
        title, canonical, links: of an HTML page; links are in document order, those that ask not to be followed
            included.
        noindex: whether the page asks to be kept out of indexes.
        duplicate: the page kept before that this one repeats, where that was looked for.
        depth: links from the URL that was given.
        found_on: the page that named it first; None where it was given.
        decision: why it could be fetched, with rule and evidence; of use it knows what robots.txt states alone.
        usage: what robots.txt, headers and metas state together; None where the policy has no purposes.
        fetched_at: Unix time in seconds.
        lastmod: when it changed last, as a sitemap says that was read before, and as precisely; None where none does.
    """

    url: str
    status: int
    content_type: str
    body: bytes
    encoding: str
    title: str | None
    canonical: str | None
    links: tuple[str, ...]
    noindex: bool
    depth: int
    decision: Decision
    fetched_at: float
    duplicate: Duplicate | None = None
    found_on: str | None = None
    usage: Usage | None = None
    lastmod: str | None = None

    def _line(self) -> str:
        said = f"{self.status} {short(self.url)} {self.content_type}"
        return f"{said} {len(self.body):,} bytes" + (f" {short(self.title)!r}" if self.title else "")

    def _rows(self) -> Iterable[tuple[str, object]]:
        yield from (("url", self.url), ("title", self.title), ("status", self.status), ("type", self.content_type))
        yield from (("bytes", f"{len(self.body):,}"), ("links", f"{len(self.links):,}"), ("depth", self.depth))
        yield from (("found on", self.found_on), ("why", self.decision.why))

    @property
    def text(self) -> str:
        """The body as text, markup included; octets that mean nothing in its encoding become U+FFFD."""
        return encodings.to_text(self.body, self.encoding)

    @property
    def content(self) -> "ExtractedPage | None":
        """What the page says, as Markdown, with its metadata, sections and chunks; None of an image, say. Worked out
        each time.

        Raises:
            ExtractionFailed: it is built to exhaust a parser.
        """
        from comity_pages.documents import read_body  # late: most crawls want no Markdown

        return read_body(self.body, self.url, self.content_type, encoding=self.encoding)

    @property
    def markdown(self) -> str:
        """The Markdown of `content`; empty where there is none. Worked out each time."""
        try:
            return read.markdown if (read := self.content) is not None else ""
        except ExtractionFailed:
            return ""

    @classmethod
    def of(
        cls,
        response: "Response",
        read: Page | None,
        meta: RobotsMeta,
        *,
        depth: int = 0,
        duplicate: Duplicate | None = None,
        found_on: str | None = None,
        usage: Usage | None = None,
        lastmod: str | None = None,
    ) -> Self:
        """Of a response and what was read in it (`read_response`, `read_meta`)."""
        kind = response.headers.get("Content-Type")
        return cls(
            url=response.url,
            status=response.status,
            content_type=response.content_type,
            body=response.body,
            encoding=encodings.python_codec(
                read.encoding if read is not None else encodings.detect(response.body, kind)
            ),
            title=read.title if read is not None else None,
            canonical=read.canonical if read is not None else None,
            links=tuple(link.url for link in read.links) if read is not None else (),
            noindex=meta.noindex,
            depth=depth,
            decision=response.decision,
            fetched_at=response.fetched_at,
            duplicate=duplicate,
            found_on=found_on,
            usage=usage,
            lastmod=lastmod,
        )


_TEXT = ("text/", "application/xhtml", "application/xml", "application/json", "application/javascript")

PageChange = Literal["new", "changed", "gone", "unchanged"]
Grounds = Literal["status", "validator", "content", "lastmod"]


def complete(record: dict[str, Any], response: "Response", *, in_utf8: bool = False, exact: bool = False) -> None:
    """Add the body to a page's record, and null for what it does not have: the keys are always the same. That is done
    when it is written: a text takes much memory. `in_utf8` leaves a text in UTF-8, as bytes, for a sink that takes it
    so; `exact` keeps a body as it was served where its text, or what was rendered of it, is another."""
    if "body" in record:  # that of a rendered page
        as_served = exact
    elif ("encoding" in record or response.content_type.startswith(_TEXT)) and not encodings.is_binary(response.body):
        found = record.get("encoding") or encodings.detect(response.body, response.headers.get("Content-Type"))
        encoding = record["encoding"] = encodings.python_codec(found)
        text = encodings.to_utf8(response.body, encoding)
        if not (as_served := exact and text != response.body):
            record["body"] = text if in_utf8 else text.decode("utf-8", "replace")
    else:
        as_served = True
    if as_served:
        record["body_base64"] = base64.b64encode(response.body).decode("ascii")
    for name in ("encoding", "body", "body_base64"):
        record.setdefault(name, None)


def refusal(
    decision: Decision, *, depth: int, found_on: str | None = None, needed_by: str | None = None
) -> dict[str, Any]:
    """A URL that was not fetched because robots.txt or the policy forbids it; a page may have `needed_by` it."""
    return {
        "url": decision.url,
        "found_on": found_on,
        "depth": depth,
        "by": "policy" if decision.by_policy else "robots",
        "why": decision.why,
        "needed_by": needed_by,
        "status": None,
        "fetched_at": None,
        "usage": None,
        "refresh": 0,
        "decision": decision.to_record(),
    }


def trap(url: str, trap: Trap, *, depth: int, found_on: str | None = None) -> dict[str, Any]:
    """A URL that was left out because it leads nowhere."""
    return {"url": url, "found_on": found_on, "depth": depth, "trap": trap.name, "why": trap.why, "refresh": 0}


def robots(result: RobotsResult) -> dict[str, Any]:
    """A robots.txt as it was served, or why there is none. One that was not read to its end says so."""
    return {
        "origin": result.origin,
        "url": result.url,
        "outcome": result.kind,
        "status": result.status,
        "error": result.error,
        "fetched_at": times.iso(result.fetched_at),
        "redirects": list(result.redirects),
        "sha256": result.sha256,
        "body_base64": base64.b64encode(result.body).decode("ascii"),
        **({"cut": True} if result.is_cut else {}),
    }


def evidence(decision: Decision | None) -> dict[str, Any]:
    """Verdict, rule and robots.txt of a decision as the ledger has them, with times as Unix seconds; all None where
    none was needed."""
    source = decision.source if decision is not None else None
    rule = decision.rule if decision is not None else None
    return {
        "verdict": decision.verdict if decision is not None else None,
        "line": rule.line if rule else None,
        "rule": rule.text if rule else None,
        "robots_sha256": source.sha256 if source else None,
        "robots_at": times.to_milliseconds(source.fetched_at) if source else None,
    }
