"""Whose URLs a sitemap may list: those of its own host, and of each host whose robots.txt names it, or an index that
leads to it, wherever it lies (sitemaps.org, "Sitemaps & Cross Submits"). It asks nobody."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from comity.crawler.finding.scope import Scope
from comity.frontier.state_overlay import StateOverlay
from comity_pages import urls

SITEMAP_PATHS: Final = ("/sitemap.xml", "/sitemap_index.xml")  # tried one after the other where robots.txt names none
NAMED: Final = "sitemap "
"""How the names of facts begin that have, by a sitemap's URL, the other origins whose robots.txt leads to it."""
ELSEWHERE: Final = "sitemap hosts "  # the same, by an origin: hosts outside of the scope on which its sitemaps lie
LEFT: Final = "sitemap left "
"""The same, once a sitemap was read: the hosts of which it lists URLs that were not taken, or ANY_HOST."""
ANY_HOST: Final = "*"
MAX_HOSTS_LEFT: Final = 1_000  # of one sitemap that are remembered by name
MAX_ORIGINS_NAMING: Final = 1_000  # of one sitemap: it is read again for each of which it lists URLs
MAX_HOSTS_ELSEWHERE: Final = 16  # else a robots.txt, or one index, could send a crawl to any number of strangers


def leads_into(scope: Scope, origins: Iterable[str]) -> bool:
    """Whether an origin that names a sitemap has URLs in scope, so that the sitemap may be read, wherever it lies."""
    return any(scope.reaches(f"{origin}/") for origin in origins)


def naming(load_state: Callable[[str, Any], Any], url: str) -> tuple[str, ...]:
    """The other origins whose robots.txt leads to a sitemap, as a run remembers them."""
    return tuple(load_state(NAMED + url, ()))


class SitemapNames:
    """The sitemaps of one crawl that other hosts name."""

    def __init__(self, facts: StateOverlay) -> None:
        self._facts = facts

    def of(self, url: str) -> tuple[str, ...]:
        """The origins of which a sitemap may list URLs, its own first."""
        return urls.origin(url), *naming(self._facts.get, url)

    def add(self, url: str, origins: Iterable[str]) -> bool:
        """Remember whose robots.txt leads to a sitemap; whether that is new of any of them."""
        known = self.of(url)
        host = urls.host(url)
        new = [origin for origin in origins if origin not in known and urls.host(origin) != host]
        if len(known) + len(new) > MAX_ORIGINS_NAMING:
            return False
        if new:
            self._facts.put(NAMED + url, [*known[1:], *new])
        return bool(new)

    def read(self, url: str, hosts: Iterable[str]) -> None:
        """Remember of a sitemap that was read the hosts of which it lists URLs that nobody allowed it to list."""
        left = sorted(hosts)
        if left or self._facts.get(LEFT + url):
            self._facts.put(LEFT + url, left or None)

    def is_owed(self, url: str, origins: Iterable[str]) -> bool:
        """Whether a sitemap was read already, and left out URLs of these origins: asked once, it is read again then."""
        left = self._facts.get(LEFT + url, ())
        if not any(host in left for host in (ANY_HOST, *map(urls.host, origins))):
            return False
        self._facts.put(LEFT + url, None)
        return True

    def admit(self, url: str, scope: Scope) -> bool:
        """Whether a sitemap outside of the scope is read: one of the few hosts on which a site in scope has them."""
        host = urls.host(url)
        for origin in self.of(url)[1:]:
            hosts = self._facts.get(ELSEWHERE + origin, [])
            if leads_into(scope, (origin,)) and (host in hosts or len(hosts) < MAX_HOSTS_ELSEWHERE):
                if host not in hosts:
                    self._facts.put(ELSEWHERE + origin, [*hosts, host])
                return True
        return False
