"""The tool map: which URLs a site has, by its sitemaps and by the links of one page, without fetching them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from comity import ComityError, CrawlSettings, Response
from comity.mcp.answers import Unanswerable, answer, fitting, short
from comity.mcp.content_store import kept_as_json
from comity.mcp.service import Service
from comity.mcp.tool import Cursor, Include, Scope, Tool, UrlGiven, invalid
from comity.policy.robots_result import RobotsResult
from comity_pages import urls
from comity_pages.signals import sitemaps
from comity_pages.signals.links import read_page
from comity_pages.urls import Url

FILES: Final = 10  # sitemaps asked for, for one map
ENTRIES: Final = 20_000  # URLs of one map
_WELL_KNOWN: Final = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """
    Attributes:
        limit: URLs in one answer.
    """

    url: UrlGiven | None = None
    cursor: Cursor | None = None
    limit: Annotated[int, ("minimum", 1), ("maximum", 1000)] = 100
    scope: Scope = "host"
    include: Include | None = None


@dataclass(frozen=True, slots=True)
class _Listed:
    """
    Attributes:
        allowed: null: not asked.
    """

    url: str
    found_in: str
    lastmod: str | None
    allowed: bool | None


@dataclass(frozen=True, slots=True)
class _Source:
    source: str
    status: int | None
    problem: str | None
    url: str
    entries: int | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    urls: list[_Listed]
    sources: list[_Source] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """
    Attributes:
        cursor: For more; null: this is the end.
        whole: False where limits left something out.
    """

    total: int
    from_: int
    cursor: str | None
    from_site: _Said
    whole: bool | None = None


async def _map_site(service: Service, given: _Arguments) -> dict[str, Any]:
    cursor, limit = given.cursor, given.limit
    if cursor is not None:
        key, _, digits = cursor.partition(":")
        found = service.store.maps.get(key)
        if found is None or not digits.isascii() or not digits.isdigit() or int(digits) > len(found):
            raise Unanswerable(
                "cursor_expired",
                "The cursor is not from this server, or the map is no longer kept.",
                "Ask for the map again, without a cursor.",
            )
        return _page(found, key, int(digits), limit, None)
    if given.url is None:
        raise invalid("Neither a url nor a cursor is given.", "Give one of them.")
    url = Url(given.url)
    mapped = _Map(service, url, given)
    await mapped.make()
    found = list(mapped.entries.values())
    return _page(found, kept_as_json(found, service.store.maps.put), 0, limit, mapped)


def _entries(url: str, body: bytes) -> tuple[list[sitemaps.SitemapUrl | sitemaps.SitemapRef], str | None]:
    """What a sitemap lists, and why it was not read to its end."""
    reader = sitemaps.SitemapReader(url)
    return list(reader.read(body)), reader.problem


class _Map:
    """The making of one map."""

    def __init__(self, service: Service, url: Url, given: _Arguments) -> None:
        self.service = service
        self.url = url
        self.entries: dict[str, dict[str, Any]] = {}
        self.sources: list[dict[str, Any]] = []
        self.whole = True
        settings = CrawlSettings(scope=given.scope, include=tuple(given.include or ()))
        self._scope = settings.scope_around([url])
        self._named_by: str | None = None
        self._known: Mapping[str, RobotsResult] = {}

    async def make(self) -> None:
        client = self.service.client
        decision = await client.check(self.url)
        self._known = client.inspect()
        if decision.may_fetch:
            await self._links()
        origin = self.url.origin
        self._known = client.inspect()
        result = self._known.get(origin)
        named = result.robots.sitemaps if result is not None and result.robots is not None else ()
        self._named_by = self.url.host if named else None
        waiting = [target for each in named if (target := urls.join(origin + "/", each)) is not None]
        waiting = list(dict.fromkeys(waiting or [origin + _WELL_KNOWN]))
        asked = 0
        elsewhere = set(waiting)  # what robots.txt names may lie on another host (sitemaps.org, Cross Submits)
        while waiting:
            sitemap = waiting.pop(0)
            if asked >= FILES:
                self.whole = False
                return
            asked += 1
            listed = await self._sitemap(sitemap, anywhere=sitemap in elsewhere)
            elsewhere.update(each for each in listed if urls.host(each) == urls.host(sitemap))
            waiting = list(dict.fromkeys([*waiting, *listed]))

    async def _links(self) -> None:
        response = await self._answer(self.url, "page")
        if response is None:
            return
        stated, named = response.headers.get("Content-Type"), response.header_values("Link")
        read = await self.service.readers.read(read_page, response.body, response.url, stated, named)
        for link in read.links:
            if not link.nofollow:
                self._add(link.url, "link", None)

    async def _sitemap(self, url: str, *, anywhere: bool) -> list[str]:
        """Add what a sitemap lists; gives the sitemaps that it names. `anywhere`: also outside of the scope."""
        if not anywhere and not self._scope.reaches(url):
            self.sources.append({"source": "sitemap", "status": None, "problem": "out of scope", "url": short(url)})
            return []
        response = await self._answer(url, "sitemap")
        if response is None:
            return []
        entries, problem = await self.service.readers.read(_entries, response.url, response.body)
        others: list[str] = []
        for entry in entries:
            target = urls.join(response.url, entry.loc)
            if target is None or not sitemaps.in_scope(target, response.url, named_by=self._named_by):
                continue
            if isinstance(entry, sitemaps.SitemapRef):
                others.append(target)
            elif not self._add(target, "sitemap", entry.lastmod.date().isoformat() if entry.lastmod else None):
                break
        self.sources[-1] |= {"entries": len(entries), "problem": problem}
        return others

    async def _answer(self, url: str, source: str) -> Response | None:
        said: dict[str, Any] = {"source": source, "status": None, "problem": None, "url": short(url)}
        self.sources.append(said)
        try:
            response = await self.service.client.get(url)
        except ComityError as error:
            said["problem"] = short(error.args[0] if error.args else type(error).__name__, 200)
            return None
        said["status"] = response.status
        return response if response.ok else None

    def _add(self, url: str, found_in: str, changed: str | None) -> bool:
        """Whether there is room for more."""
        url = url.partition("#")[0]
        if not self._scope.holds(url):
            return True
        if len(self.entries) >= ENTRIES:
            self.whole = False
            return False
        known = self.entries.get(url)
        if known is None:
            result = self._known.get(urls.origin(url))
            robots = result.robots if result is not None else None
            allowed = None if robots is None else robots.allowed(url, self.service.policy.asked_as)
            self.entries[url] = {"url": url, "found_in": found_in, "lastmod": changed, "allowed": allowed}
        elif changed is not None:
            known["lastmod"] = changed
        return True


def _page(found: list[dict[str, Any]], key: str, start: int, limit: int, mapped: _Map | None) -> dict[str, Any]:
    shown = fitting([{**each, "url": short(each["url"], 2048)} for each in found[start : start + limit]])
    end = start + len(shown)
    said = _Said(
        [_Listed(**each) for each in shown],
        [_Source(**each) for each in mapped.sources] if mapped is not None else None,
    )
    cursor = f"{key}:{end}" if end < len(found) else None
    return answer(_Answer(len(found), start, cursor, said, None if mapped is None else mapped.whole))


MAP = Tool(
    "map",
    "List a site's URLs",
    "Lists the URLs of a site from its sitemaps and the links of one page, in scope, without fetching them.",
    _Arguments,
    _Answer,
    _map_site,
)
