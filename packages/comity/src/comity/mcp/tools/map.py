"""The tool map: which URLs a site has, by its sitemaps and by the links of one page, without fetching them."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from comity import ComityError, CrawlSettings, Response
from comity.digests import sha256_of
from comity.mcp import tool
from comity.mcp.answers import fitting, invalid, truncate
from comity.mcp.reading import sitemap_entries
from comity.mcp.service import Service
from comity.policy.robots_result import RobotsResult
from comity_pages import urls
from comity_pages.signals import sitemaps
from comity_pages.signals.links import read_page
from comity_pages.urls import Url

MAX_SITEMAPS: Final = 10  # asked for, for one map
MAX_URLS: Final = 20_000  # of one map
_WELL_KNOWN: Final = "/sitemap.xml"


class _Listed(tool.Form):
    url: str
    found_in: str
    lastmod: str | None
    allowed: Annotated[bool | None, Field(description="null: not asked.")]


class _Source(tool.Form):
    source: str
    status: int | None
    problem: str | None
    url: str
    entries: int | None = None


class _FromSite(tool.Form):
    urls: list[_Listed]
    sources: list[_Source] | None = None


class _Answer(tool.Answer):
    total: int
    from_: Annotated[int, Field(alias="from")]
    cursor: Annotated[str | None, Field(description="For more; null: this is the end.")]
    from_site: Annotated[_FromSite, tool.FROM_SITE]
    whole: Annotated[bool | None, Field(description="False where limits left something out.")] = None


@tool.define("List a site's URLs", name="map")
async def map_site(
    context: tool.ToolContext,
    url: tool.UrlGiven | None = None,
    cursor: tool.Cursor | None = None,
    limit: Annotated[int, Field(description="URLs in one answer.", ge=1, le=1000)] = 100,
    scope: tool.Scope = "host",
    include: tool.Include | None = None,
) -> _Answer:
    """Lists the URLs of a site from its sitemaps and the links of one page, in scope, without fetching them."""
    service = tool.service_of(context)
    maps = service.store.maps
    mapped, start = None, 0
    if cursor is not None:
        key, found, start = maps.resume(cursor)
    elif url is None:
        raise invalid("Neither a url nor a cursor is given.", "Give one of them.")
    else:
        mapped = _Map(service, Url(url), CrawlSettings(scope=scope, include=tuple(include or ())))
        await mapped.make()
        found = list(mapped.entries.values())
        text = json.dumps(found)
        key = sha256_of(text)
        maps.put(key, found, len(text))
    shown = fitting([{**each, "url": truncate(each["url"], 2048)} for each in found[start : start + limit]])
    end = start + len(shown)
    return _Answer.model_validate(
        {
            "total": len(found),
            "from": start,
            "cursor": f"{key}:{end}" if end < len(found) else None,
            "from_site": {"urls": shown, "sources": mapped and mapped.sources},
            "whole": mapped and mapped.whole,
        }
    )


class _Map:
    """Collects the URLs of one site."""

    def __init__(self, service: Service, url: Url, settings: CrawlSettings) -> None:
        self.service = service
        self.url = url
        self.entries: dict[str, dict[str, Any]] = {}
        self.sources: list[dict[str, Any]] = []
        self.whole = True
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
        named = result.robots.sitemaps if result is not None else ()
        self._named_by = self.url.host if named else None
        waiting = [target for each in named if (target := urls.join(origin + "/", each)) is not None]
        waiting = list(dict.fromkeys(waiting or [origin + _WELL_KNOWN]))
        asked = 0
        elsewhere = set(waiting)  # what robots.txt names may lie on another host (sitemaps.org, Cross Submits)
        while waiting:
            sitemap = waiting.pop(0)
            if asked >= MAX_SITEMAPS:
                self.whole = False
                return
            asked += 1
            listed = await self._sitemap(sitemap, anywhere=sitemap in elsewhere)
            elsewhere.update(each for each in listed if urls.host(each) == urls.host(sitemap))
            waiting = list(dict.fromkeys([*waiting, *listed]))

    async def _links(self) -> None:
        response = await self._get(self.url, "page")
        if response is None:
            return
        stated, named = response.headers.get("Content-Type"), response.header_values("Link")
        read = await self.service.readers.read(read_page, response.body, response.url, stated, named)
        for link in read.links:
            if not link.nofollow:
                self._add(link.url, "link", None)

    async def _sitemap(self, url: str, *, anywhere: bool) -> list[str]:
        """Add what a sitemap lists; return the sitemaps it names. `anywhere`: also outside of the scope."""
        if not anywhere and not self._scope.reaches(url):
            self._note(url, "sitemap")["problem"] = "out of scope"
            return []
        response = await self._get(url, "sitemap")
        if response is None:
            return []
        entries, problem = await self.service.readers.read(sitemap_entries, response.url, response.body)
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

    def _note(self, url: str, source: str) -> dict[str, Any]:
        self.sources.append({"source": source, "status": None, "problem": None, "url": truncate(url)})
        return self.sources[-1]

    async def _get(self, url: str, source: str) -> Response | None:
        read = self._note(url, source)
        try:
            response = await self.service.client.get(url)
        except ComityError as error:
            read["problem"] = truncate(error.args[0] if error.args else type(error).__name__, 200)
            return None
        read["status"] = response.status
        return response if response.ok else None

    def _add(self, url: str, found_in: str, changed: str | None) -> bool:
        """Add a URL in scope; return whether there is room for more."""
        url = url.partition("#")[0]
        if not self._scope.holds(url):
            return True
        if len(self.entries) >= MAX_URLS:
            self.whole = False
            return False
        known = self.entries.get(url)
        if known is None:
            result = self._known.get(urls.origin(url))
            robots = result.robots if result is not None and result.has_file else None
            allowed = None if robots is None else robots.allowed(url, self.service.policy.asked_as)
            self.entries[url] = {"url": url, "found_in": found_in, "lastmod": changed, "allowed": allowed}
        elif changed is not None:
            known["lastmod"] = changed
        return True
