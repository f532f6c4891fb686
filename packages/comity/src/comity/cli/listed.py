"""The URLs that a site's sitemaps list, for `comity check --sitemap`."""

from collections.abc import Iterator
from typing import Final

from comity.cli.terminal import count_noun, error_line
from comity.client import Client
from comity.client.sitemaps import listed_urls
from comity_pages import urls

MAX_SITEMAPS: Final = 1000  # read of one site


def urls_of_site(client: Client, site: str, unread: list[str]) -> Iterator[str]:
    """Yield the URLs of a site that its sitemaps list: those that its robots.txt names, else `/sitemap.xml`.

    What could not be read, or lies elsewhere, is said on standard error; sitemaps that could not be read to their end
    are added to `unread`.
    """
    origin = urls.origin(site)
    decision = client.check(site)
    result = client.inspect().get(origin)
    waiting = [] if result is None else list(result.robots.sitemaps)
    if not waiting:
        error_line(f"{origin}: robots.txt names no sitemap; {origin}/sitemap.xml is tried ({decision.why})")
        waiting = [f"{origin}/sitemap.xml"]
    pages: set[str] = set()
    count = elsewhere = 0
    for listed in listed_urls(client, waiting, origin, MAX_SITEMAPS):
        count += 1
        if listed.problem:
            error_line(f"sitemap {listed.sitemap} {listed.problem}")
            unread.append(listed.sitemap)
        elsewhere += listed.elsewhere
        yield from (page for page in listed.pages if page not in pages)
        pages.update(listed.pages)
    unread += waiting
    left = f"; not read: {count_noun(len(waiting), 'sitemap')}" if waiting else ""
    others = f"; passed over, of other hosts: {elsewhere:,}" if elsewhere else ""
    error_line(f"{count_noun(len(pages), 'URL')} in {count_noun(count, 'sitemap')} of {origin}{others}{left}")
