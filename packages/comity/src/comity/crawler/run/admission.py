"""The URL filter: what a crawl finds enters the queue once, cleaned, in scope, no trap, and only where robots.txt
allows it. It asks what is known already and sends no request: where robots.txt was not read yet, the URL waits for
that."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

from comity.crawler.finding.canonicalize import Canonicalizer
from comity.crawler.finding.recently_seen import RecentlySeen
from comity.crawler.finding.scope import GROWN, SCOPE, Scope, stored_scope
from comity.crawler.finding.sitemap_names import SITEMAP_PATHS, SitemapNames
from comity.crawler.finding.traps import Traps, redirect_trap
from comity.crawler.output import records
from comity.crawler.run.outcomes import NoURL
from comity.crawler.run.recrawl import LASTMOD
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.run_config import RunConfig
from comity.domains import registrable
from comity.errors import InvalidURL
from comity.frontier.values import Entry, EntryKind, Found, Message, State, Visit
from comity.policy import OriginPolicy, RobotsResult
from comity_pages import urls
from comity_robots import Robots


def named_sitemaps(origin: str, robots: Robots) -> tuple[str, ...]:
    """The URLs of the sitemaps that an origin's robots.txt names."""
    targets = (urls.join(origin + "/", sitemap) for sitemap in robots.sitemaps)
    return tuple(dict.fromkeys(target for target in targets if target is not None))


MAX_ORIGINS: Final = 20_000  # of which it is remembered what robots.txt says of sitemaps, and of parameters
T = TypeVar("T")


def _remember(values: dict[str, T], origin: str, value: T) -> None:
    """Keep what was learned or used last; of the rest, where there is much of it, the first is forgotten."""
    values.pop(origin, None)
    values[origin] = value
    if len(values) > MAX_ORIGINS:
        del values[next(iter(values))]


MAX_RECENT_URLS: Final = 32_768  # URLs remembered in memory to spare the frontier most repeats
MAX_LEFT_OUT_URLS: Final = 4_096  # URLs after which those are forgotten that were left out before them
_PLAIN: Final = Canonicalizer()


class URLFilter:
    """Decides which URLs enter the queue of one crawl. It knows the scope as redirects move it, counts of paths, and
    what each robots.txt says of parameters and sitemaps.

    Args:
        seeds: URLs in normal form that the scope lies around.
        origin_policy: what holds for the origin of a URL in normal form, or None where the site would have to be asked.
        grown: what runs before remember of how the scope grew; see `stored_scope`.
    """

    def __init__(
        self,
        config: RunConfig,
        seeds: Iterable[str],
        results: ResultBuffer,
        origin_policy: Callable[[str], OriginPolicy | None],
        grown: Mapping[str, Any],
    ) -> None:
        settings = self._settings = config.settings
        self._results = results
        self._origin_policy = origin_policy
        self._assignment = config.assignment  # what concerns the hosts of another shard goes there
        self._recent = RecentlySeen(MAX_RECENT_URLS)
        self.unmet = self._recent.unmet
        self._recent_requisites = RecentlySeen(MAX_RECENT_URLS)
        self._left_out: set[str] = set()  # so that each is counted once
        self._left_out_before: set[str] = set()
        self._scope: Scope = settings.scope_around(seeds, stored_scope(results.facts.get, lambda start: grown))
        self._grown = list(grown)  # names of facts that the first save makes superfluous
        self._saves = 0  # of the scope
        self._given: list[str] = []
        today = datetime.fromtimestamp(config.clock.wall(), UTC).date()
        self._traps = Traps(settings.max_url_length, settings.max_path_segments, today=today, facts=results.facts)
        self._canonicalizers: dict[str, Canonicalizer] = {}  # by origin, where robots.txt has a word in it
        self._sitemaps: dict[str, tuple[str, ...]] = {}  # by origin, as robots.txt names them
        self.sitemap_names = SitemapNames(results.facts)

    def leave_out(self, found: Iterable[str], why: Literal["outside", "nofollow"]) -> None:
        """Count links that are not followed: their page is too deep, or asks not to. Another may still lead there.

        Many pages have more of these than of all else, so nothing is done for each of them alone.
        """
        new = self._recent.others(set(found))
        unclean = {url for url in new if "?" in url or ";" in url or "(" in url}
        new -= unclean
        new |= self._recent.others(set(map(self.clean, unclean)))
        new = new.difference(self._left_out).difference(self._left_out_before)
        self._results.count(why, len(new))
        self._left_out |= new
        if len(self._left_out) > MAX_LEFT_OUT_URLS:
            self._left_out, self._left_out_before = set(), self._left_out

    def guess_sitemap(self, url: str, *, is_missing: bool = False) -> None:
        """Take up the first place where the site of a URL may have a sitemap, or where that `is_missing`, the next.

        Nobody named it, so it is not refused either where it may not be asked for.
        """
        origin = urls.origin(url)
        following = SITEMAP_PATHS.index(url.removeprefix(origin)) + 1 if is_missing else 0
        for place in SITEMAP_PATHS[following : following + 1]:
            origin_policy = self._origin_policy(guess := origin + place)
            if origin_policy is not None and origin_policy.allows(guess):
                self.discover(guess, depth=1, kind=EntryKind.SITEMAP)

    def dated(self, url: str, depth: int, lastmod: str) -> None:
        """Remember what a sitemap says of when a page that we may fetch changed, until its record is written."""
        url = self.clean(url)
        is_ours = self._assignment is None or self._assignment.elsewhere(urls.host(url)) is None
        if not is_ours or not self._scope.covers(url, depth=depth, lists=False):
            return
        if (origin_policy := self._origin_policy(url)) is None or origin_policy.allows(url):
            self._results.facts.put(f"{LASTMOD}{url}", lastmod)

    def from_source(self, url: str) -> None:
        """Take up what a source names: it is given by hand, and the scope widens around it."""
        try:
            url = urls.normalise(url)
        except InvalidURL as error:
            self._results.record(NoURL(entry=Entry(0, url, 0, EntryKind.PAGE, 0, 0), why=str(error)), "")
        else:
            self._given.append(url)  # the scope covers it once many are there, see `save_state`
            self.discover(url, depth=0, given=True)

    def revisit(self, visit: Visit) -> None:
        """Take up what was visited in an earlier crawl: it was cleaned then, and was no trap."""
        if self._scope.holds(visit.url, depth=visit.depth):
            self.discover(visit.url, depth=visit.depth, given=True, found_on=visit.found_on)

    def discover(
        self,
        url: str,
        *,
        depth: int,
        kind: EntryKind = EntryKind.PAGE,
        hops: int = 0,
        given: bool = False,
        found_on: str | None = None,
        named_by: Sequence[str] = (),
    ) -> None:
        """Take up a URL that is new and in scope (or given by hand): into the queue if robots.txt allows it.
        `named_by`: of a sitemap, the origins whose robots.txt leads to it."""
        needed = kind is EntryKind.REQUISITE
        if needed:
            if self._recent_requisites.meet(url) or not self._is_wanted(url, found_on):
                return
            given = True  # as it is named, wherever it lies: else the page would not find it
        # A link may have named what is given before, and have been cleaned. What only a page needs is no link.
        is_known = not needed and self._recent.meet(url) and not given
        if is_known and not named_by:
            return
        clean = url if given else self.clean(url)
        is_named_anew = bool(named_by) and self.sitemap_names.add(clean, named_by)
        if is_known and not is_named_anew:
            return
        if not given:
            if clean is not url and self._recent.meet(clean) and not named_by:
                return
            url = clean
            if not self._scope.covers(url, depth=depth, lists=kind is EntryKind.SITEMAP) and not (
                named_by and self.sitemap_names.admit(url, self._scope)
            ):
                self._results.count("outside", 1)
                return
        host = urls.host(url)
        if (assignment := self._assignment) is not None and (shard := assignment.elsewhere(host)) is not None:
            pace, unplaced = assignment.settled.get(host), not assignment.is_settled(host)
            message = Message(url, depth, kind, hops, found_on, given, pace=pace, unplaced=unplaced)
            self._results.message(shard, replace(message, named_by=tuple(named_by)) if named_by else message)
            return
        trap = redirect_trap(url, hops)
        if trap is None and self._settings.traps and not given:  # what is given by hand is taken as it is
            trap = self._traps.judge(url, depth=depth)
        origin_policy = self._origin_policy(url) if trap is None else None
        refusal: dict[str, Any] | None = None
        if trap is not None:
            state, refusal = State.REFUSED, records.trap(url, trap, depth=depth, found_on=found_on)
        elif origin_policy is None:
            state = State.UNASKED
        elif origin_policy.allows(url):
            state = State.QUEUED
        elif (decision := origin_policy.decide(url)).may_pass:
            state = State.UNASKED  # it will be asked for again
        else:
            needed_by = found_on if needed else None
            refusal = records.refusal(decision, depth=depth, found_on=found_on, needed_by=needed_by)
            state = State.REFUSED
        by_policy = refusal is not None and refusal.get("by") == "policy"
        priority = -1 if needed else 0
        found = Found(url, host, depth, kind, state, hops, refusal, priority, by_policy, found_on)
        self._results.found(found, again=is_named_anew and found.stays and self.sitemap_names.is_owed(url, named_by))

    def _is_wanted(self, url: str, found_on: str | None) -> bool:
        """Whether what a page needs is taken, wherever it lies; what is not is counted."""
        if found_on is None:
            return True
        is_wanted = not self._scope.excludes(url) and (
            self._settings.requisites == "all" or registrable(urls.host(url)) == registrable(urls.host(found_on))
        )
        self._results.count("outside", not is_wanted)
        return is_wanted

    def covers(self, entry: Entry) -> bool:
        """Whether a URL lies in scope."""
        return self._scope.covers(entry.url, depth=entry.depth, lists=False)

    def robots_seen(self, result: RobotsResult) -> None:
        """Take note of what a robots.txt says of sitemaps and parameters."""
        if named := named_sitemaps(result.origin, result.robots):
            _remember(self._sitemaps, result.origin, named)
        canonicalizer = Canonicalizer.from_robots(record.value for record in result.robots.records("clean-param"))
        if canonicalizer.rules:
            _remember(self._canonicalizers, result.origin, canonicalizer)

    @property
    def forgets(self) -> bool:
        """Whether what was learned of some origin may have been forgotten since."""
        return max(len(self._sitemaps), len(self._canonicalizers)) >= MAX_ORIGINS

    def clean(self, url: str) -> str:
        """A URL without what only tracks or names a session; the same object where there is nothing to take."""
        if not self._settings.clean_urls or not ("?" in url or ";" in url or "(" in url):
            return url
        if not self._canonicalizers or (known := self._canonicalizers.get(origin := urls.origin(url))) is None:
            return _PLAIN.clean(url)
        if len(self._canonicalizers) >= MAX_ORIGINS:  # what is in use is not what is forgotten next
            _remember(self._canonicalizers, origin, known)
        return known.clean(url)

    def arrived(self, message: Message) -> None:
        """Take up what another shard found."""
        if message.widens:
            self._look_again(self._scope.move(message.found_on or message.url, message.url))
        else:
            self._recent_requisites.forget(message.url)
            self._recent.forget(message.url)  # it may have gone out from here, to be placed
            self.discover(
                message.url,
                depth=message.depth,
                kind=message.kind,
                hops=message.hops,
                given=message.given,
                found_on=message.found_on,
                named_by=message.named_by,
            )

    def moved(self, origin: str, target: str) -> None:
        """A URL given by hand redirected: example.com to www.example.com, for instance."""
        if self._look_again(self._scope.move(origin, target)) and self._assignment is not None:
            for shard in self._assignment.others:
                self._results.message(shard, Message(target, found_on=origin, widens=True))

    def reaches(self, origin: str) -> bool:
        """Whether an origin has URLs in scope."""
        return self._scope.reaches(f"{origin}/")

    def sitemaps_of(self, origin: str) -> tuple[str, ...]:
        """The sitemaps that an origin's robots.txt names."""
        return self._sitemaps.get(origin, ())

    def names(self, url: str) -> bool:
        """Whether the robots.txt of a URL's site names it as a sitemap."""
        return bool(self._sitemaps) and url in self.sitemaps_of(urls.origin(url))

    def naming(self, url: str) -> tuple[str, ...]:
        """The origins that a sitemap may list URLs of, its own first, where a robots.txt of theirs leads to it."""
        origins = self.sitemap_names.of(url)
        return origins if len(origins) > 1 or self.names(url) else ()

    def was_read(self, entry: Entry, left: Iterable[str], origins: Sequence[str] | None = None) -> None:
        """A sitemap was read for `origins`, and more of it was `left`, by host: it has another turn once one of these
        names it too. A redirect leads each of them."""
        self.sitemap_names.read(entry.url, left)
        new = () if origins is None else self.sitemap_names.of(entry.url)[len(origins) :]  # named it meanwhile
        if new and self.sitemap_names.is_owed(entry.url, new):
            found = Found(entry.url, urls.host(entry.url), entry.depth, entry.kind, State.UNASKED, entry.hops)
            self._results.found(found, again=True)

    def is_guess(self, url: str) -> bool:
        """Whether a sitemap's URL is a place that nobody named."""
        origin = urls.origin(url)
        return url.removeprefix(origin) in SITEMAP_PATHS and url not in self.sitemaps_of(origin)

    def save_state(self) -> dict[str, Any]:
        """What changed since the last call, by name, to be remembered across runs."""
        state: dict[str, Any] = {}
        if self._given:
            self._look_again(self._scope.widen(self._given))
            self._given.clear()
        changes = self._scope.take_changes()
        if not self._saves:
            state = dict.fromkeys(self._grown) | {SCOPE: self._scope.to_dict()}
        elif changes:
            state = {f"{GROWN}{self._saves}": changes}
        self._saves += bool(state)
        return state

    def _look_again(self, is_changed: bool) -> bool:
        """Where the scope has changed, some of what was met lately may lie in it."""
        if is_changed:
            self._recent.clear()
        return is_changed
