"""The URLs that a site's sitemaps list, for `comity check --sitemap`. No page that they list is fetched."""

from collections.abc import Iterator
from typing import Final

from comity.cli.terminal import error_line
from comity.client import Client
from comity.errors import ComityError
from comity_pages import urls
from comity_pages.signals import sitemaps

MAX_SITEMAPS: Final = 1000  # read of one site
MAX_SITEMAP_BYTES: Final = 52_428_800  # the limit of sitemaps.org


def listed_urls(client: Client, site: str) -> Iterator[str]:
    """Yield the URLs of a site that its sitemaps list: those that its robots.txt names, else `/sitemap.xml`.

    What could not be read, or lies elsewhere, is said on standard error.
    """
    origin = urls.origin(site)
    decision = client.check(site)
    result = client.inspect().get(origin)
    named = () if result is None else result.robots.sitemaps
    waiting = [target for each in named if (target := urls.join(f"{origin}/", each)) is not None]
    if not waiting:
        error_line(f"{origin}: robots.txt names no sitemap; {origin}/sitemap.xml is tried ({decision.why})")
        waiting = [f"{origin}/sitemap.xml"]
    asked: set[str] = set()
    pages: set[str] = set()
    elsewhere = 0
    while waiting and len(asked) < MAX_SITEMAPS:
        sitemap = waiting.pop(0)
        if sitemap in asked:
            continue
        asked.add(sitemap)
        try:
            response = client.get(sitemap).raise_for_status()
        except ComityError as error:
            error_line(f"sitemap {sitemap} was not read: {error}")
            continue
        reader = sitemaps.SitemapReader(response.url)
        for entry in reader.read(response.body):
            target = urls.join(response.url, entry.loc)
            if target is None or urls.host(target) != urls.host(origin):
                elsewhere += 1
            elif isinstance(entry, sitemaps.SitemapRef):
                waiting.append(target)
            elif target not in pages:
                pages.add(target)
                yield target
        if reader.problem is not None or reader.kind == "unknown":
            error_line(f"sitemap {sitemap} was not read to its end: {reader.problem or 'it is none'}")
    left = f"; {len(waiting):,} sitemaps were left unread" if waiting else ""
    others = f"; {elsewhere:,} entries of other hosts were passed over" if elsewhere else ""
    error_line(f"{len(pages):,} URLs in {len(asked):,} sitemaps of {origin}{others}{left}")
