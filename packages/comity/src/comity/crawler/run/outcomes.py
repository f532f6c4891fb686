"""What came of a URL: the values that a fetch returns, and TABLE, which says what each of them leads to.

Nothing is done here: a ResultBuffer records them (results.py). A kind of outcome is a class, with its record and what
the frontier is to remember of it beside its state, and a row of the table. Nobody changes one; they are not frozen,
because one is made for each page, and a field takes ten times as long then.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from comity import times
from comity.crawler.finding.duplicates import Duplicate
from comity.crawler.observe.stats import StatsCollector
from comity.crawler.output import link_graph, records
from comity.crawler.output.ledger import Ledger
from comity.crawler.output.records import CrawledPage, Grounds, PageChange
from comity.crawler.output.sink import Channel
from comity.crawler.run import recrawl
from comity.errors import Postponed as NotNow
from comity.errors import UnwantedType
from comity.frontier.values import Batch, Entry, EntryKind, State, Visit
from comity.http_rules import GONE
from comity.net import Response
from comity.policy import Decision, Reason, RobotsResult
from comity_pages.signals.links import Page
from comity_pages.signals.robots_meta import PageWarning, RobotsMeta
from comity_robots.usage.statements import Usage

if TYPE_CHECKING:
    from comity_pages.content.kinds import Judgement, PageKind

Written = tuple[Channel, dict[str, Any], Response | RobotsResult | None]
"""A record for a channel of the output, and the answer that it is about."""
LEFT_STATUSES: Final = (*GONE, *recrawl.MOVED_STATUSES)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Outcome:
    """What came of one URL: the answer, where there was one, and in a refresh its last visit, `before`. `requisites`:
    URLs of what it needs to look as it does, where that is kept."""

    entry: Entry
    answer: Response | None = None
    before: Visit | None = None
    requisites: Sequence[str] = ()

    @property
    def taken(self) -> int | None:
        """Bytes that it takes of the limits of pages; None where it is no page."""
        return None

    @property
    def is_left(self) -> bool:
        """Whether nothing is at its URL any more, or something else for good."""
        return self.answer is not None and self.answer.status in LEFT_STATUSES

    @property
    def outdates(self) -> bool:
        """Whether what its last visit found counts no more."""
        return self.is_left

    @property
    def trouble(self) -> str | None:
        """Why it gave no page and may be a trouble of the whole crawl, in words."""
        return None

    @property
    def blocked(self) -> bool:
        """Whether our rule on addresses (`Policy.allow_addresses`) is why it gave no page."""
        return False

    def record(self) -> dict[str, Any]:
        """What is written to the channel of its kind."""
        raise NotImplementedError

    def beside(self, refresh: int) -> "Iterable[Outcome | Written]":
        """What else follows from it; `refresh`: the number of the refresh that this is, 0 for none."""
        return ()

    def note(self, batch: Batch, refresh: int) -> None:
        """Add to a batch what the frontier is to remember."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RobotsKnown(Outcome):
    """Its robots.txt is known now, and allows it: it may be fetched when its host is ready again."""

    decision: Decision


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Requeued(Outcome):
    """It is to have its turn again: what it needed is known now, or there was no room for a page. `error`: why its host
    is not to be asked for a while."""

    error: NotNow | None = None


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Retried(Outcome):
    """It failed, and is to be tried again."""

    def note(self, batch: Batch, refresh: int) -> None:
        batch.retried.append(self.entry.id)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Deferred(Outcome):
    """Its site's robots.txt cannot be reached, `why` in words: it waits until its host is resumed, and that counts as a
    try. `until`: when the robots.txt may be asked for again; None: that is known."""

    why: str
    until: float | None = None

    @property
    def trouble(self) -> str:
        return self.why

    def note(self, batch: Batch, refresh: int) -> None:
        batch.postponed.append(self.entry.id)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class PageRead(Outcome):
    """A page was read. `named`: the page with the links that count; None where it names nothing. `meta`: what it says
    of following them."""

    named: Page | None = None
    meta: RobotsMeta = records.NO_META


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class BodyRead(PageRead):
    """A page came whose body is new, as far as is known here; `usage` is what is stated, as its record has it."""

    answer: Response
    usage: dict[str, Any] | None

    @property
    def taken(self) -> int:
        return len(self.answer.body)

    @property
    def outdates(self) -> bool:
        return True


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class PageKept(BodyRead):
    """A page.

    Attributes:
        answer: as it was served.
        shown: the same, or the page after its scripts ran.
        read: what its tags say; None where it is no HTML.
        made: records that an expander made of it.
        stated: what is stated about its use.
        fingerprint: of its text, where near duplicates are looked for.
        judgement: what it is where that was looked into: a page, one that says that it is not there, a check.
        warnings: what is to be known before it is used or cited.
        misfit: why it does not fit the schema that records are made by.
        ahead: what the sink read of it before.
        rendered: fields of its record that speak of its scripts, where they ran.
        headers: names of response headers that the record is to have.
        duplicate: what it repeats; known when it is entered, as `lastmod`: when it changed, as a sitemap says.
    """

    shown: Response
    read: Page | None
    made: Sequence[Any]
    stated: Usage | None
    fingerprint: int | None = None
    judgement: "Judgement | None" = None
    warnings: Sequence[PageWarning] = ()
    misfit: str | None = None
    ahead: dict[str, Any] | None = None
    rendered: dict[str, Any] | None = None
    headers: tuple[str, ...] = ()
    has_graph: bool = False
    duplicate: Duplicate | None = None
    lastmod: str | None = None

    def record(self) -> dict[str, Any]:
        """The page and the evidence that it could be fetched; `records.complete` says what is in it."""
        entry, answer, read, duplicate = self.entry, self.answer, self.read, self.duplicate
        record: dict[str, Any] = {
            "url": answer.url,
            "found_on": entry.found_on,
            "status": answer.status,
            "fetched_at": times.iso(answer.fetched_at),
            "elapsed": round(answer.elapsed * 1e4) / 1e4,
            "depth": entry.depth,
            "content_type": answer.content_type,
            "bytes": len(answer.body),
            "sha256": answer.sha256,
            "title": read.title if read is not None else None,
            "canonical": read.canonical if read is not None else None,
            "lastmod": self.lastmod,
            "link_count": len(read.links) if read is not None else 0,
            "noindex": self.meta.noindex,
            "duplicate": duplicate.kind if duplicate else None,
            "duplicate_of": duplicate.of if duplicate else None,
            "soft_404": self._instead("not_found"),
            "challenge": self._instead("challenge"),
            "misfit": self.misfit,
            "warnings": [{"code": each.code, "message": each.message} for each in self.warnings] or None,
            "refresh": 0,
            "decision": answer.decision.to_record(),
            "usage": self.usage,
            "headers": {name: ", ".join(answer.header_values(name)) or None for name in self.headers} or None,
            "rendered": None,
            "rendered_sha256": None,
            "render_note": None,
            "render_parts": None,
        }
        if read is not None:
            record["encoding"] = read.encoding
        if self.ahead is not None:
            record["ahead"] = self.ahead
        return record if self.rendered is None else record | self.rendered

    def _instead(self, kind: "PageKind") -> str | None:
        """By what it was known that it is this and no page."""
        return self.judgement.reason if self.judgement is not None and self.judgement.kind == kind else None

    def beside(self, refresh: int) -> "Iterable[Outcome | Written]":
        for made in self.made:
            yield "records", {"url": self.answer.url, "refresh": refresh, "record": made}, None
        if refresh:
            kind = New if self.before is None or self.before.digest is None else Changed
            yield kind(entry=self.entry, answer=self.answer, before=self.before, by="content")
        if self.has_graph and self.read is not None:
            for edge in link_graph.edges(self.shown, self.read):
                yield "links", edge, None

    def note(self, batch: Batch, refresh: int) -> None:
        batch.visits.append(recrawl.visited(self.answer, depth=self.entry.depth, found_on=self.entry.found_on))

    def page(self) -> CrawledPage:
        """As a program gets it."""
        return CrawledPage.of(
            self.shown,
            self.read,
            self.meta,
            depth=self.entry.depth,
            duplicate=self.duplicate,
            found_on=self.entry.found_on,
            usage=self.stated,
            lastmod=self.lastmod,
        )


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Change(Outcome):
    """What a refresh found out about a page; `by` what says so: the `content` compared, a `validator` confirmed (304),
    the `status`, a sitemap's `lastmod`."""

    by: Grounds

    change: ClassVar[PageChange]

    def record(self) -> dict[str, Any]:
        return _change(self, self.change, self.by)


class New(Change):
    change = "new"


class Changed(Change):
    change = "changed"


class Gone(Change):
    """An error is in its place, which is the answer to keep."""

    change = "gone"


class Moved(Gone):
    """A redirect is in its place, which is kept with that."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Unchanged(PageRead):
    """A page is as it was; `answer` is None where the site was not asked, and `by` what says so."""

    before: Visit
    by: Grounds

    @property
    def outdates(self) -> bool:
        return False

    def record(self) -> dict[str, Any]:
        return _change(self, "unchanged", self.by)

    @property
    def taken(self) -> int:
        return len(self.answer.body) if self.answer is not None and self.by == "content" else 0

    def note(self, batch: Batch, refresh: int) -> None:
        batch.visits.append(recrawl.confirmed(self.before, self.answer))


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Redirected(Outcome):
    """It leads elsewhere; `target` is None where that is no web address."""

    answer: Response
    target: str | None

    def record(self) -> dict[str, Any]:
        entry, answer = self.entry, self.answer
        return {
            "url": answer.url,
            "found_on": entry.found_on,
            "status": answer.status,
            "location": answer.location,
            "to": self.target,
            "fetched_at": times.iso(answer.fetched_at),
            "depth": entry.depth,
            "refresh": 0,
            "decision": answer.decision.to_record(),
        }

    def beside(self, refresh: int) -> "Iterable[Outcome | Written]":
        if self.before is not None and self.before.digest is not None and self.answer.status in recrawl.MOVED_STATUSES:
            yield Moved(entry=self.entry, answer=self.answer, before=self.before, by="status")


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class SitemapRead(Outcome):
    """A sitemap or a feed; `stated`: the latest time of a change that it leaves, and the page's URL; `said`: the fields
    of its record on how it was read, once it was."""

    answer: Response
    stated: tuple[tuple[float, str], ...] = ()
    said: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return {
            "url": self.entry.url,
            "found_on": self.entry.found_on,
            "status": self.answer.status,
            "fetched_at": times.iso(self.answer.fetched_at),
            "sha256": self.answer.sha256,
            **self.said,
            "refresh": 0,
        }

    def note(self, batch: Batch, refresh: int) -> None:
        batch.stated += self.stated


class SitemapCut(SitemapRead):
    """A sitemap or a feed that could not be read to its end."""


class GuessedSitemapMissing(Outcome):
    """There is no sitemap in a place that nobody had named."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Refused(Outcome):
    """It may not be fetched."""

    decision: Decision

    @property
    def trouble(self) -> str | None:
        return self.decision.why if self.decision.may_pass else None

    @property
    def blocked(self) -> bool:
        return self.decision.reason is Reason.ADDRESS_BLOCKED

    def record(self) -> dict[str, Any]:
        entry = self.entry
        needed_by = entry.found_on if entry.kind is EntryKind.REQUISITE else None
        return records.refusal(self.decision, depth=entry.depth, found_on=entry.found_on, needed_by=needed_by)

    def note(self, batch: Batch, refresh: int) -> None:
        if self.decision.by_policy:
            batch.by_policy.append((State.REFUSED, self.entry.id))


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class PartRefused(Outcome):
    """Something that a page wanted to load may not be fetched; the page's own entry is not settled by that."""

    decision: Decision

    def record(self) -> dict[str, Any]:
        url = self.entry.url
        return records.refusal(self.decision, depth=self.entry.depth, found_on=url, needed_by=url)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RefusedByUsage(BodyRead):
    """A page was fetched, and is not kept because of what is stated about its use."""

    why: str

    def record(self) -> dict[str, Any]:
        answer, entry = self.answer, self.entry
        return records.refusal(answer.decision, depth=entry.depth, found_on=entry.found_on) | {
            "url": entry.url,
            "by": "usage",
            "why": self.why,
            "status": answer.status,
            "fetched_at": times.iso(answer.fetched_at),
            "usage": self.usage,
        }

    def note(self, batch: Batch, refresh: int) -> None:
        batch.by_usage.append(self.entry.id)
        if refresh:  # the page that was kept before is out: should it be kept again, it is a new one
            batch.visits.append(Visit(self.entry.url, self.entry.depth, found_on=self.entry.found_on))


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Failed(Outcome):
    """It is given up. `passing`: the failure may pass, so a refresh asks for it again. `by_policy`: it is our own
    policy that has nothing sent. `ours`: it is comity that cannot process the page, and no fault of its site."""

    why: str
    passing: bool = False
    by_policy: bool = False
    ours: bool = False

    @property
    def trouble(self) -> str | None:
        return self.why

    @property
    def blocked(self) -> bool:
        return self.by_policy

    def record(self) -> dict[str, Any]:
        status = self.answer.status if self.answer else None
        record = _failure(self.entry, self.why, self.entry.attempts + 1, status)
        return record | {"by": "comity"} if self.ours else record

    def note(self, batch: Batch, refresh: int) -> None:
        entry = self.entry
        if self.passing and entry.kind is EntryKind.PAGE:
            batch.owed.append((entry.url, entry.depth, entry.found_on))
        if self.by_policy:
            batch.by_policy.append((State.FAILED, entry.id))


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RequisiteKept(Outcome):
    """What a page, or a style sheet, needs to look as it does."""

    answer: Response

    def record(self) -> dict[str, Any]:
        answer, entry = self.answer, self.entry
        return {
            "url": answer.url,
            "found_on": entry.found_on,
            "status": answer.status,
            "fetched_at": times.iso(answer.fetched_at),
            "depth": entry.depth,
            "content_type": answer.content_type,
            "bytes": len(answer.body),
            "sha256": answer.sha256,
            "refresh": 0,
            "decision": answer.decision.to_record(),
        }


class RequisiteFailed(Failed):
    """The same, given up: no page failed by it."""

    @property
    def trouble(self) -> None:
        return None

    @property
    def blocked(self) -> bool:
        return False


def of_its_kind(outcome: Outcome) -> Outcome:
    """An outcome as it counts by what its URL was fetched for."""
    if outcome.entry.kind is not EntryKind.REQUISITE or not isinstance(outcome, Failed):
        return outcome
    return RequisiteFailed(**{each.name: getattr(outcome, each.name) for each in fields(outcome)})


class PaymentRequiredOutcome(Failed):
    """Its site asks for payment or a licence; nothing is ever paid."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class NoURL(Outcome):
    """What was given to start from, `entry.url`, is no web address."""

    why: str

    def record(self) -> dict[str, Any]:
        return _failure(self.entry, self.why, attempts=0)


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Unwanted(Outcome):
    """It is of a content type that the settings leave out."""

    error: UnwantedType

    def record(self) -> dict[str, Any]:
        return {
            "url": self.entry.url,
            "found_on": self.entry.found_on,
            "depth": self.entry.depth,
            "status": self.error.status,
            "content_type": self.error.content_type,
            "why": str(self.error),
            "refresh": 0,
        }


def _failure(entry: Entry, why: str, attempts: int, status: int | None = None) -> dict[str, Any]:
    return {
        "url": entry.url,
        "found_on": entry.found_on,
        "depth": entry.depth,
        "attempts": attempts,
        "status": status,
        "why": why,
        "refresh": 0,
    }


def _change(found: Outcome, change: PageChange, by: Grounds) -> dict[str, Any]:
    """What a refresh found out about a page; a site that was not asked gave no answer."""
    answer, before = found.answer, found.before
    previous = before.digest if before is not None else None
    now = previous if change == "unchanged" else None
    if change in ("new", "changed") and answer is not None:
        now = answer.sha256
    return {
        "url": found.entry.url,
        "found_on": found.entry.found_on,
        "change": change,
        "by": by,
        "refresh": 0,
        "status": answer.status if answer is not None else None,
        "fetched_at": times.iso(answer.fetched_at) if answer is not None else None,
        "sha256": now,
        "previous_fetched_at": times.iso(before.kept) if before is not None else None,
        "previous_sha256": previous,
    }


class Kind(NamedTuple):
    """What a kind of outcome leads to.

    Attributes:
        state: as what its URL leaves the queue; None: it stays there, or is none of the queue's.
        channel: of the output, where it is written.
        with_answer: whether the answer is written with its record.
        counters: of Stats, that it adds to.
        ledger: writes its record there.
        report: counts its record and logs it.
        word: what telemetry calls it, if not by its class.
    """

    state: State | None = None
    channel: Channel | None = None
    with_answer: bool = False
    counters: tuple[str, ...] = ()
    ledger: Callable[[Ledger, dict[str, Any]], None] | None = None
    report: Callable[[StatsCollector, dict[str, Any]], None] | None = None
    word: str = ""


_DONE: Final = State.DONE
TABLE: Final[dict[type[Outcome], Kind]] = {
    PageKept: Kind(_DONE, "pages", True, ("pages",), word="kept"),
    New: Kind(None, "changes", False, ("new",)),
    Changed: Kind(None, "changes", False, ("changed",)),
    Unchanged: Kind(_DONE, "changes", True, ("unchanged",)),
    Gone: Kind(_DONE, "changes", True, ("gone",)),
    Moved: Kind(_DONE, "changes", False, ("gone",)),
    Redirected: Kind(_DONE, "redirects", True, ("redirects",)),
    SitemapRead: Kind(_DONE, "sitemaps", False, ("sitemaps",), None, StatsCollector.sitemap),
    SitemapCut: Kind(_DONE, "sitemaps", False, ("sitemaps", "sitemaps_cut"), None, StatsCollector.sitemap),
    GuessedSitemapMissing: Kind(_DONE),
    Refused: Kind(State.REFUSED, "refusals", False, ("refused",), Ledger.refusal, StatsCollector.refused),
    PartRefused: Kind(None, "refusals", False, ("refused",), Ledger.refusal, StatsCollector.refused),
    RefusedByUsage: Kind(State.REFUSED, "refusals", False, ("refused",)),
    Failed: Kind(State.FAILED, "failures", True, ("failed",), None, StatsCollector.failed),
    PaymentRequiredOutcome: Kind(
        State.FAILED, "failures", True, ("failed", "unpaid"), None, StatsCollector.failed, "unpaid"
    ),
    RequisiteKept: Kind(_DONE, "requisites", True, ("requisites",), word="requisite"),
    RequisiteFailed: Kind(State.FAILED, "failures", True, ("requisites_failed",), None, StatsCollector.failed),
    NoURL: Kind(None, "failures", False, ("failed",), Ledger.unsent, StatsCollector.failed),
    Unwanted: Kind(_DONE, "unwanted", False, ("unwanted",)),
    Deferred: Kind(None, counters=("postponed",)),
    Retried: Kind(),
    Requeued: Kind(),
    RobotsKnown: Kind(),
}
"""By kind of outcome, what it leads to."""
