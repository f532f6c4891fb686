"""One URL for an agent: robots.txt first, then llms.txt for a better URL, then the page as Markdown, with evidence.

It decides which of the candidates is fetched; it never lets llms.txt, a page or a caller's part allow what robots.txt
of the URL's own origin does not, and takes no text for an instruction.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from comity.digests import sha256_of
from comity.errors import (
    AddressBlocked,
    BadStatus,
    ComityError,
    InvalidSetting,
    NoCandidate,
    PartFailed,
    PaymentRequired,
    RobotsDisallowed,
    RobotsUnreachable,
    UnsupportedContent,
)
from comity.net import Response
from comity.payment import bad_status
from comity.policy import Decision
from comity.policy.page_warnings import collect_warnings, of_data, of_frames, of_hidden
from comity.retrieve.evidence import CandidateOutcome, Considered, Conversion, Evidence, Manifest, Retrieved
from comity.retrieve.llms_txt import llms_txt
from comity.retrieve.plugins import (
    DEFAULT_HEADERS,
    Chooser,
    Extractor,
    Fetcher,
    HttpClient,
    call_plugin,
    choose,
    fetch,
    require,
)
from comity_pages import urls
from comity_pages.documents import FORMS, TO_READ_PDF, Form, form_of, read_answer, text_of
from comity_pages.extraction import Content, ExtractedPage
from comity_pages.html.bounds import limit_markup
from comity_pages.quality import quality_of
from comity_pages.signals import links, llms, robots_meta, usage
from comity_pages.signals.llms import CandidateReason, Strategy
from comity_pages.signals.robots_meta import PageWarning, RobotsMeta

Why = CandidateReason | Literal["chooser"]
MAX_REFRESHES: Final = 5  # pages followed that send their reader on at once, one after the other

# A guessed URL that answers with a page of HTML is most often a site's "not found" with status 200.
_GUESSED: Final = ("markdown_variant", "index_markdown")


async def retrieve(
    client: HttpClient,
    url: str,
    *,
    strategy: Strategy = "prefer",
    content: Content = "main",
    fetcher: Fetcher | None = None,
    extractor: Extractor | None = None,
    chooser: Chooser | None = None,
    read: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> Retrieved:
    """Fetch a page for an agent, as Markdown.

    Args:
        client: decides, paces and fetches.
        url: absolute, http or https.
        strategy: `prefer` a URL that llms.txt offers for the page, or its Markdown variant; `force` one, never the page
            itself; `disabled`: the page itself, llms.txt is not requested.
        content: `main` leaves out what is not the page's content and says so in `left_out`; `all` keeps whatever a
            person would see.
        fetcher: `fetcher(url, headers)` gets pages and llms.txt in the client's place; robots.txt stays the client's.
            Pacing those requests becomes the fetcher's business, and so does guarding what names lead to: a URL that
            holds an address which is not public is not handed to it.
        extractor: `extractor(html, url)` gives the Markdown of a page.
        chooser: `chooser(url, candidates)` gives None or the URL to try first, with headers for it.
        read: `read(function, *arguments)` calls what reads the site's text, off the loop; a server gives
            `ReaderProcesses.read`, which gives up what takes too long.

    Raises:
        InvalidURL
        InvalidSetting: `strategy` or `content` is none of those.
        RobotsDisallowed: the page, or what it redirects to, may not be fetched. Nothing was, in its place either.
        NoCandidate: no candidate was allowed and answered.
        BadStatus, UnsupportedContent: the page's own answer is no page.
        ExtractionFailed, PartFailed, MissingExtra: it could not be made Markdown.
        AddressBlocked, FetchError and its kinds
    """
    llms.candidates(url, None, strategy=strategy)
    if content not in ("main", "all"):
        raise InvalidSetting(f"content {content!r} is neither 'main' nor 'all'")
    return await _Retrieval(client, urls.normalise(url), strategy, content, fetcher, extractor, chooser, read).run()


@dataclass(slots=True)
class _Retrieval:
    """The state of one retrieval."""

    client: HttpClient
    url: str
    strategy: Strategy
    content: Content
    fetcher: Fetcher | None
    extractor: Extractor | None
    chooser: Chooser | None
    read: Callable[..., Awaitable[Any]]
    decisions: dict[str, Decision] = field(default_factory=dict)
    manifests: dict[tuple[str, str], Manifest] = field(default_factory=dict)
    considered: list[Considered] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=DEFAULT_HEADERS.copy)
    refused_headers: tuple[str, ...] = ()
    not_followed: str = ""  # why it was not gone on where the page sends its reader, in words
    started_at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)

    async def run(self) -> Retrieved:
        decision = await self.decide(self.url)
        require(decision)
        answer, form = await self.first_usable(await self.candidates())
        return await self.result(decision, await self.sent_on(await self.read_answer(answer, form)))

    async def sent_on(self, read: "_Read") -> "_Read":
        """Follow pages that send their reader on at once, as a crawl does, like redirects; return the last one."""
        passed = {read.answer.url}
        while (target := read.leads_to) is not None and target not in passed:
            if len(passed) > MAX_REFRESHES:
                self.not_followed = f"More than {MAX_REFRESHES} pages send their reader on one after the other."
                break
            try:
                require(await self.decide(target))
                there = await fetch(self.client, self.fetcher, target, self.headers)
                form = _usable(there, "original")
            except PartFailed:
                raise
            except ComityError as error:
                self.not_followed = f"That was not followed: {error.args[0]}"
                break
            there.history = (*read.answer.history, read.answer.head_only(), *there.history)
            passed |= {target, there.url}
            read = await self.read_answer(there, form)
        return read

    async def read_answer(self, answer: Response, form: Form) -> "_Read":
        """Read the tags, the headers and the text of an answer."""
        began = time.monotonic()
        said, page = await self.read(
            read_answer,
            answer.body,
            answer.url,
            answer.headers.get("Content-Type", ""),
            answer.header_values("Link"),
            answer.headers.get("Refresh") or None,
            content=self.content,
            convert=self.extractor is None or form != "html",
        )
        now = datetime.fromtimestamp(answer.fetched_at, UTC)
        tags = answer.header_values("X-Robots-Tag")
        directives = robots_meta.read(tags, said.metas, agent=self.client.policy.asked_as, now=now)
        return _Read(answer, form, said, page, directives, time.monotonic() - began)

    async def decide(self, url: str) -> Decision:
        """Ask robots.txt of the URL's own origin, once, and note it in the evidence."""
        if url in self.decisions:
            return self.decisions[url]
        decision = self.decisions[url] = await self.client.check(url)
        source = decision.source
        if source is not None:
            self.manifests[("robots.txt", source.origin)] = Manifest(
                "robots.txt",
                source.origin,
                source.url,
                source.status,
                source.sha256,
                source.fetched_at,
                source.redirects,
                source.error,
            )
        return decision

    async def candidates(self) -> list[tuple[str, Why]]:
        """List the URLs to try, in order, each with its reason."""
        found = None
        if self.strategy != "disabled":
            origin = urls.origin(self.url)
            found, manifest = await llms_txt(self.client, origin, self.fetcher, self.read)
            self.manifests[("llms.txt", origin)] = manifest
            for hop in (*manifest.redirects, manifest.url):
                if urls.origin(hop) != origin:
                    await self.decide(hop)
        known = llms.candidates(self.url, found, strategy=self.strategy)
        order: dict[str, Why] = {each.url: each.reason for each in known}
        if self.chooser is not None:
            first, headers, self.refused_headers = await choose(self.chooser, self.url, known)
            self.headers |= headers
            if first is not None:
                order = {first: order.get(first, "chooser"), **order}
        return list(order.items())

    async def first_usable(self, order: list[tuple[str, Why]]) -> tuple[Response, Form]:
        """The first candidate that is allowed and answers with something that can be read."""
        own: ComityError | None = None  # why the page itself cannot be had
        for url, why in order:
            answer: Response | None = None
            verdict: str | None = None
            try:
                decision = await self.decide(url)
                verdict = decision.verdict
                require(decision)
                answer = await fetch(self.client, self.fetcher, url, self.headers)
                kind = _usable(answer, why)
            except PartFailed:
                raise
            except ComityError as error:
                own = error if url == self.url else own
                self.note(url, why, verdict, _outcome(error), error.args[0], answer)
            else:
                self.note(url, why, verdict, "chosen", decision.why, answer)
                return answer, kind
        if own is not None:
            raise own
        tried = "; ".join(f"{each.url}: {each.why}" for each in self.considered[:5])
        raise NoCandidate(
            f"no alternative to {self.url} could be fetched: {tried or 'the site offers none'}",
            url=self.url,
            considered=tuple(self.considered),
            hint="strategy 'prefer' falls back on the page itself",
        )

    def note(
        self, url: str, why: Why, verdict: str | None, outcome: CandidateOutcome, words: str, answer: Response | None
    ) -> None:
        status, media_type = (answer.status, answer.content_type or None) if answer is not None else (None, None)
        self.considered.append(Considered(url, why, verdict, outcome, words, status, media_type))

    async def result(self, requested: Decision, read: "_Read") -> Retrieved:
        """Convert the answer, judge it and put the result together."""
        policy, answer, form, said = self.client.policy, read.answer, read.form, read.said
        for hop in answer.redirects:
            await self.decide(hop)
        decision = await self.decide(answer.url)
        began = time.monotonic()
        page, conversion = await self.converted(read)
        conversion_seconds = read.seconds + time.monotonic() - began
        stated = usage.from_answer(decision.usage, answer.all_headers, said, agent=policy.asked_as, url=answer.url)
        source, has_title = len(answer.body) if form == "html" else 0, said.title is not None or form == "text"
        quality = await self.read(quality_of, page, source, has_title=has_title)
        return Retrieved(
            url=answer.url,
            requested_url=self.url,
            title=said.title,
            markdown=page.markdown,
            media_type=answer.content_type,
            decision=decision,
            usage=stated,
            quality=quality,
            warnings=(
                *collect_warnings(decision, stated, said, read.directives, policy),
                *((PageWarning("refresh_not_followed", self.not_followed),) if self.not_followed else ()),
                *of_frames(said, page.markdown),
                *of_data(page.metadata.entities),
                *of_hidden(page.hidden),
            ),
            hidden=page.hidden,
            evidence=Evidence(
                agent=policy.agent,
                strategy=self.strategy,
                decision=requested,
                manifests=tuple(self.manifests.values()),
                considered=tuple(self.considered),
                redirects=answer.redirects,
                request_headers=answer.request_headers,
                refused_headers=self.refused_headers,
                source_sha256=sha256_of(answer.body),
                source_bytes=len(answer.body),
                markdown_sha256=sha256_of(page.markdown),
                conversion=conversion,
                started_at=self.started_at,
                fetched_at=answer.fetched_at,
                seconds=time.monotonic() - self.started,
                conversion_seconds=conversion_seconds,
            ),
            kind=page.judgement.kind,
            reason=page.judgement.reason,
            metadata=page.metadata,
            left_out=page.left_out,
            heading_ids=page.heading_ids,
            page_starts=page.page_starts,
            folded=page.folded,
        )

    async def converted(self, read: "_Read") -> tuple[ExtractedPage, Conversion]:
        """The Markdown: what is Markdown or plain text already passes through unchanged."""
        if self.extractor is None or read.form != "html":
            return read.page, "comity" if read.form in ("html", "pdf") else "unchanged"
        answer = read.answer
        cut, _ = limit_markup(text_of(answer.body, answer.headers.get("Content-Type", "")), answer.url)
        markdown = await call_plugin("extractor", self.extractor, cut, answer.url, about=answer.url)
        if not isinstance(markdown, str):
            raise PartFailed(f"the extractor answered {type(markdown).__name__}, not text", url=answer.url)
        return replace(read.page, markdown=markdown, left_out=(), agreement=None), "extractor"


@dataclass(frozen=True, slots=True)
class _Read:
    """An answer, what was read of it, and how many seconds that took."""

    answer: Response
    form: Form
    said: links.Page
    page: ExtractedPage
    directives: RobotsMeta
    seconds: float

    @property
    def leads_to(self) -> str | None:
        """Where the page sends its reader on at once, unless it asks that its links are not followed."""
        refresh = self.said.refresh
        if self.form != "html" or refresh is None or refresh.seconds > 0 or self.directives.nofollow:
            return None
        return refresh.url


def _usable(answer: Response, why: Why) -> Form:
    """Raises BadStatus, UnsupportedContent."""
    url = answer.url
    if not 200 <= answer.status < 300:
        raise bad_status(url, answer.status, answer.all_headers, body=answer.body)
    if answer.status in (204, 205):
        raise UnsupportedContent(f"{url} answered with HTTP status {answer.status}, which has no content", url=url)
    media_type = answer.content_type
    kind = form_of(answer.body, answer.headers.get("Content-Type", "") or media_type)
    if kind is None and media_type in FORMS:
        raise UnsupportedContent(
            f"{url} is served as {media_type}, and its first bytes are not text",
            url=url,
            hint="client.get fetches it as it is",
        )
    if kind is None:
        what = f"is {media_type}" if media_type else "has no Content-Type"
        raise UnsupportedContent(
            f"{url} {what}: only HTML, Markdown, plain text and PDF can be retrieved",
            url=url,
            hint=TO_READ_PDF if media_type == "application/pdf" else "client.get fetches it as it is",
        )
    if kind == "html" and why in _GUESSED:
        raise UnsupportedContent(f"{url} is HTML, where Markdown was expected", url=url)
    return kind


def _outcome(error: ComityError) -> CandidateOutcome:
    match error:
        case RobotsUnreachable():
            return "unreachable"
        case RobotsDisallowed():
            return "disallowed"
        case AddressBlocked():
            return "address_blocked"
        case PaymentRequired():
            return "payment_required"
        case BadStatus():
            return "bad_status"
        case UnsupportedContent():
            return "unsupported_content"
        case _:
            return "failed"
