"""Reads a page that was fetched: its tags, what an expander makes of it, what is stated about its use.

It reads what came, asks for nothing and writes nothing: what came of the page is an outcome.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any, Final

from multidict import CIMultiDict, CIMultiDictProxy

from comity.crawler.finding.duplicates import fingerprint_of
from comity.crawler.finding.uses import Uses
from comity.crawler.output import plugins
from comity.crawler.output.records import NO_META
from comity.crawler.output.runner import ReadAhead
from comity.crawler.run.outcomes import PageKept, PageRead, RefusedByUsage, Unchanged
from comity.crawler.run.run_config import RunConfig
from comity.digests import sha256_of
from comity.errors import ExtractionFailed
from comity.frontier.values import Entry, Visit
from comity.net import Response
from comity.net.loop_slices import LoopSlices
from comity.policy.page_warnings import collect_warnings, of_data
from comity_pages.signals import encodings, usage
from comity_pages.signals.links import Link, Page, read_page
from comity_pages.signals.robots_meta import PageWarning, RobotsMeta
from comity_pages.signals.robots_meta import read as read_robots_meta
from comity_pages.signals.soft_404 import find_not_found
from comity_robots.usage.statements import Usage

if TYPE_CHECKING:
    from comity_pages.content.kinds import Judgement
    from comity_pages.metadata.json_ld import Entity

SMALL_PAGE_BYTES: Final = 8 * 1024  # bytes that take as long to read as a page takes however small it is
LARGE_PAGE_BYTES: Final = 64 * 1024  # bytes of a page that takes some tenths of a millisecond to read
MAX_CHALLENGE_LINKS: Final = 16  # of an answer that may check its visitor: the checks have next to none
_TAG: Final = re.compile("<[^<>]*>")
HUGE_PAGE_BYTES: Final = 512 * 1024  # bytes of a page that is read in another thread: some milliseconds


def is_page(response: Response) -> bool:
    """Whether a response may be HTML."""
    return encodings.is_html(response.body, _stated(response))


def as_page(response: Response) -> tuple[bytes, str, str | None, Sequence[str], str | None]:
    """What `read_page` takes of a response."""
    links, refresh = response.header_values("Link"), response.headers.get("Refresh")
    return response.body, response.url, _stated(response), links, refresh


def read_response(response: Response) -> Page | None:
    """What an HTML page says; None where the response is something else."""
    return read_page(*as_page(response)) if is_page(response) else None


def read_meta(response: Response, read: Page | None, *, agent: str) -> RobotsMeta:
    """The directives for robots in a response's headers and metas."""
    tags = response.header_values("X-Robots-Tag")
    metas = read.metas if read is not None else ()
    if not tags and not metas:
        return NO_META
    return read_robots_meta(tags, metas, agent=agent, now=datetime.fromtimestamp(response.fetched_at, UTC))


def _stated(response: Response) -> str:
    return response.headers.get("Content-Type") or ""


def _text_of(markup: str) -> str:
    """What headings say, as they are written on the page."""
    return unescape(_TAG.sub(" ", markup)) if "<" in markup else ""


def may_be_no_page(response: Response, read: Page) -> bool:
    """Whether an HTML answer may say that the page is not there, or check its visitor: `overview_of` looks."""
    if find_not_found(" ".join(f"{read.title or ''} {_text_of(read.headings)}".split())) is not None:
        return True
    if len(read.links) > MAX_CHALLENGE_LINKS or len(response.body) > LARGE_PAGE_BYTES:
        return False
    from comity_pages.content.kinds import may_be_challenge  # late: of most pages it is not asked

    beginning = response.body[:SMALL_PAGE_BYTES].decode("utf-8", "replace")
    match = find_not_found(" ".join(_text_of(beginning).split()))
    return match is not None or may_be_challenge(read.title or "", response.body)


def overview_of(response: Response, read: Page) -> tuple["Judgement | None", Sequence["Entity"]]:
    """What an HTML answer is and what it states as data; nothing where it cannot be read. Takes milliseconds."""
    from comity_pages.documents import overview

    try:
        return overview(response.body, response.url, _stated(response), encoding=read.encoding) or (None, ())
    except ExtractionFailed:
        return None, ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rendered:
    """One page after its scripts ran.

    Attributes:
        body: the document in UTF-8; None where the page is kept as it was served.
        url: what references are resolved against: the page's URL, as scripts may have changed it (history.pushState).
        targets: where scripts wanted to go; the browser stayed.
        note: what went wrong, one sentence; None where nothing did.
        parts: how many requests of the page were `fetched`, `reused`, `refused` by a rule, `failed` and `left_out`.
    """

    body: bytes | None
    url: str
    targets: tuple[str, ...] = ()
    note: str | None = None
    parts: Mapping[str, int]

    def shown(self, response: Response) -> Response:
        """The response as if the rendered document had been served."""
        if self.body is None:
            return response
        headers = CIMultiDict(response.all_headers)
        headers["Content-Type"] = f"{response.content_type or 'text/html'}; charset=utf-8"
        return replace(response, body=self.body, headers=CIMultiDictProxy(headers))

    def read(self, response: Response) -> Page | None:
        """What the page says: links and title as rendered, and every meta, also one that a script took away."""
        served = read_response(response)
        page = read_response(replace(self.shown(response), url=self.url)) if self.body is not None else served
        if page is None:
            return served
        known = {link.url for link in page.links}
        more = [Link(target) for target in self.targets]
        metas = page.metas
        if served is not None and served is not page:
            metas = (*metas, *(meta for meta in served.metas if meta not in metas))
            if self.note is not None:  # it may have been cut off before the browser had read it all
                more.extend(served.links)
        links = (*page.links, *(link for link in more if link.url not in known))
        return replace(page, url=response.url, links=links, metas=metas)

    def record(self, response: Response) -> dict[str, Any]:
        """The fields of a page's record that speak of this; `sha256`, `bytes` and `encoding` are those of what was
        served."""
        fields: dict[str, Any] = {"rendered": self.body is not None}
        if self.body is not None:
            fields["rendered_sha256"] = sha256_of(self.body)
            served = encodings.detect(response.body, response.headers.get("Content-Type"))
            fields["encoding"] = encodings.python_codec(served)
            fields["body"] = self.body.decode("utf-8")
        return fields | {"render_note": self.note, "render_parts": dict(self.parts)}


class Reader:
    """Reads the pages of one crawl. `executor` is for what takes long and needs nothing of the crawl's, `read_ahead`
    and `keeps_requisites` are the sink's. `collects`: whether what pages need to look as they do is fetched.
    """

    def __init__(
        self, config: RunConfig, executor: Executor, read_ahead: ReadAhead | None, *, keeps_requisites: bool
    ) -> None:
        self.collects = keeps_requisites and config.settings.requisites != "none"
        policy, self.settings = config.policy, config.settings
        self._agent = policy.asked_as
        self._plugins = config.plugins
        use = policy.use if policy.mode == "respect" else None  # the most that is done with what is fetched
        self._uses = Uses(policy.purposes, self.settings.only_if, policy.asked_as, use)
        self._policy = policy
        self._executor = executor
        self._read_ahead = read_ahead
        self._slices = LoopSlices(LARGE_PAGE_BYTES)

    def _warnings(
        self,
        response: Response,
        read: Page | None,
        meta: RobotsMeta,
        stated: Usage | None,
        entities: Sequence["Entity"],
    ) -> Sequence[PageWarning]:
        """What is to be known before a page is used or cited."""
        if stated is None:  # no purpose is asked about, and what is left to know are the terms
            terms = usage.from_links(read.license_links, response.url) if read is not None else ()
            stated = usage.merge(response.decision.usage, Usage(licences=terms))
        warnings = collect_warnings(response.decision, stated, read or Page(response.url), meta, self._policy)
        return (*warnings, *of_data(entities))

    async def requisites(self, response: Response, read: Page | None) -> Sequence[str]:
        """URLs of what a page or a style sheet needs to look as it does, where the crawl collects that."""
        is_sheet = read is None and response.content_type == "text/css"
        if not self.collects or not (is_sheet or read is not None):
            return ()
        from comity_pages.requisites import of_page, of_sheet  # late: only an archive needs it

        body, url = response.body, response.url
        if read is None:
            find = partial(of_sheet, body, url, _stated(response))
        else:
            find = partial(of_page, body, url, base=read.base, encoding=read.encoding)
        return await asyncio.get_running_loop().run_in_executor(self._executor, find)

    async def read(
        self, entry: Entry, response: Response, before: Visit | None = None, rendered: Rendered | None = None
    ) -> PageRead:
        """Read a page, whose last visit in a refresh was `before`. Where its scripts ran, the page `rendered` counts
        instead; the response goes to the output as it is. A PluginError says that the expander failed."""
        size, loop = len(response.body), asyncio.get_running_loop()
        is_huge = size >= HUGE_PAGE_BYTES
        if not is_huge:  # answers of many hosts may come at the same moment
            await self._slices.take(size + SMALL_PAGE_BYTES)
        shown = response if rendered is None else rendered.shown(response)
        read_it = read_response if rendered is None else rendered.read
        read = await loop.run_in_executor(self._executor, read_it, response) if is_huge else read_it(response)
        meta = read_meta(response, read, agent=self._agent)
        expanded = self._plugins.expand(shown)
        named = plugins.following(read, expanded, response.url)
        stated = self._uses.stated(response, read)
        preferences = self._uses.record(stated)
        if (why := self._uses.refusal(stated)) is not None:
            return RefusedByUsage(
                entry=entry, answer=response, before=before, named=named, meta=meta, why=why, usage=preferences
            )
        if before is not None and before.digest == response.sha256:
            return Unchanged(entry=entry, answer=response, before=before, named=named, meta=meta, by="content")
        fingerprint = None
        if read is not None and self.settings.duplicates == "near":
            # Tens of thousands of words take their time, and the interpreter lets others go on meanwhile.
            make = partial(fingerprint_of, shown.body, read.encoding)
            fingerprint = await loop.run_in_executor(self._executor, make)
        judgement: Judgement | None = None
        entities: Sequence[Entity] = ()
        if read is not None and (b"isAccessibleForFree" in shown.body or may_be_no_page(shown, read)):
            judgement, entities = await loop.run_in_executor(self._executor, overview_of, shown, read)
        ahead = None
        if self._read_ahead is not None and (reading := self._read_ahead(shown)) is not None:
            ahead = await asyncio.wrap_future(reading)
        return PageKept(
            entry=entry,
            answer=response,
            before=before,
            named=named,
            meta=meta,
            shown=shown,
            read=read,
            made=expanded.records,
            stated=stated,
            usage=preferences,
            fingerprint=fingerprint,
            judgement=judgement,
            warnings=self._warnings(shown, read, meta, stated, entities),
            misfit=expanded.misfit,
            ahead=ahead,
            rendered=None if rendered is None else rendered.record(response),
            headers=self.settings.record_headers,
            has_graph=self.settings.link_graph,
            requisites=await self.requisites(shown, read),
        )
