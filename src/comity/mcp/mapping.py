"""The tool map: which URLs a site has, by its sitemaps and by the links of one page, without fetching them."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from comity import ComityError, CrawlSettings, Response, urls
from comity.mcp.answers import Unanswerable, answer, short
from comity.mcp.content_store import kept_as_json
from comity.mcp.service import Service
from comity.policy.robots_result import RobotsResult
from comity.signals import sitemaps
from comity.signals.links import read_page

FILES: Final = 10  # sitemaps asked for, for one map
ENTRIES: Final = 20_000  # URLs of one map
_WELL_KNOWN: Final = "/sitemap.xml"


async def map_site(service: Service, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The URLs of a site in scope, a page of them at a time."""
    cursor, limit = arguments.get("cursor"), arguments["limit"]
    if cursor is not None:
        key, _, digits = cursor.partition(":")
        found = service.store.maps.get(key)
        if found is None or not digits.isascii() or not digits.isdigit() or int(digits) > len(found):
            raise Unanswerable(
                "cursor_expired",
                "The cursor is none of this server's, or the map is not kept any more.",
                "Ask for the map again, without a cursor.",
            )
        return _page(found, key, int(digits), limit, None)
    if "url" not in arguments:
        raise Unanswerable("invalid_arguments", "Neither a url nor a cursor is given.", "Give one of them.")
    url = urls.normalise(arguments["url"])
    async with service.sites.turn(url) as told:
        mapped = _Map(service, url, arguments)
        await mapped.make()
        told(mapped.delay)
    found = list(mapped.entries.values())
    return _page(found, kept_as_json(found, service.store.maps.put), 0, limit, mapped)


class _Map:
    """The making of one map."""

    def __init__(self, service: Service, url: str, arguments: Mapping[str, Any]) -> None:
        self.service = service
        self.url = url
        self.delay = 0.0
        self.entries: dict[str, dict[str, Any]] = {}
        self.sources: list[dict[str, Any]] = []
        self.whole = True
        settings = CrawlSettings(scope=arguments["scope"], include=tuple(arguments.get("include", ())))
        self._scope = settings.scope_around([url])
        self._named_by: str | None = None
        self._known: Mapping[str, RobotsResult] = {}

    async def make(self) -> None:
        client = self.service.client
        decision = await client.check(self.url)
        self.delay = decision.delay
        self._known = client.inspect()
        if decision.may_fetch:
            await self._links()
        origin = urls.origin(self.url)
        self._known = client.inspect()
        result = self._known.get(origin)
        named = result.robots.sitemaps if result is not None and result.robots is not None else ()
        self._named_by = urls.host(self.url) if named else None
        waiting = [target for each in named if (target := urls.join(origin + "/", each)) is not None]
        waiting = list(dict.fromkeys(waiting or [origin + _WELL_KNOWN]))
        asked = 0
        while waiting:
            sitemap = waiting.pop(0)
            if asked >= FILES:
                self.whole = False
                return
            asked += 1
            waiting = list(dict.fromkeys([*waiting, *await self._sitemap(sitemap)]))

    async def _links(self) -> None:
        response = await self._answer(self.url, "page")
        if response is None:
            return
        await asyncio.to_thread(self._read_links, response)

    def _read_links(self, response: Response) -> None:
        read = read_page(
            response.body, response.url, response.headers.get("Content-Type"), response.header_values("Link")
        )
        for link in read.links:
            if not link.nofollow:
                self._add(link.url, "link", None)

    async def _sitemap(self, url: str) -> list[str]:
        """Add what a sitemap lists; gives the sitemaps that it names."""
        if not self._scope.reaches(url):
            self.sources.append({"source": "sitemap", "status": None, "problem": "out of scope", "url": short(url)})
            return []
        response = await self._answer(url, "sitemap")
        return [] if response is None else await asyncio.to_thread(self._read_sitemap, response)

    def _read_sitemap(self, response: Response) -> list[str]:
        reader = sitemaps.SitemapReader(response.url)
        others: list[str] = []
        for entry in reader.read(response.body):
            target = urls.join(response.url, entry.loc)
            if target is None or not sitemaps.in_scope(target, response.url, named_by=self._named_by):
                continue
            if isinstance(entry, sitemaps.SitemapRef):
                others.append(target)
            elif not self._add(target, "sitemap", entry.lastmod.date().isoformat() if entry.lastmod else None):
                break
        self.sources[-1] |= {"entries": reader.entries, "problem": reader.problem}
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
    end = min(start + limit, len(found))
    said: dict[str, Any] = {
        "total": len(found),
        "from": start,
        "cursor": f"{key}:{end}" if end < len(found) else None,
    }
    from_site: dict[str, Any] = {"urls": [{**each, "url": short(each["url"], 2048)} for each in found[start:end]]}
    if mapped is not None:
        said["whole"] = mapped.whole
        from_site["sources"] = mapped.sources
    return answer({**said, "from_site": from_site})
