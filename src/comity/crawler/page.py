"""A page as a crawl hands it to a program: what came, what the page says about itself, and why it could be fetched."""

from dataclasses import dataclass
from typing import Final, Self

from comity.crawler.duplicates import Duplicate
from comity.net import Response
from comity.policy import Decision
from comity.signals import encodings
from comity.signals.links import Page, read_page
from comity.signals.robots_meta import RobotsMeta
from comity.signals.robots_meta import read as read_robots_meta

HTML: Final = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledPage:
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
        decision: why it could be fetched, with rule and evidence.
        fetched_at: Unix time in seconds.
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

    @property
    def text(self) -> str:
        """The body as text, markup included; octets that mean nothing in its encoding become U+FFFD."""
        return encodings.to_utf8(self.body, self.encoding).decode("utf-8", "replace")

    @classmethod
    def of(
        cls,
        response: Response,
        read: Page | None,
        meta: RobotsMeta,
        *,
        depth: int = 0,
        duplicate: Duplicate | None = None,
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
        )


def read_response(response: Response) -> Page | None:
    """What an HTML page says; None where the response is something else."""
    if response.content_type not in HTML and (response.content_type or b"<" not in response.body[:512]):
        return None
    links = response.header_values("Link")
    refresh = response.headers.get("Refresh")
    return read_page(response.body, response.url, response.headers.get("Content-Type"), links, refresh)


def read_meta(response: Response, read: Page | None, *, agent: str) -> RobotsMeta:
    """The directives for robots in a response's headers and metas."""
    tags = response.header_values("X-Robots-Tag")
    metas = read.metas if read is not None else ()
    return read_robots_meta(tags, metas, agent=agent) if tags or metas else RobotsMeta()
