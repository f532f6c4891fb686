"""The URLs that sitemaps list, read one after another with a client. No page that they list is fetched."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from comity.client.blocking_client import Client
from comity.errors import ComityError
from comity.net import ClientSettings
from comity.policy import Policy
from comity_pages import urls
from comity_pages.signals import sitemaps

MAX_SITEMAP_BYTES: Final = 52_428_800  # the limit of sitemaps.org


@dataclass(frozen=True, slots=True)
class ListedUrls:
    """What one sitemap lists.

    Attributes:
        pages: URLs of the site, each once.
        indexed: sitemaps of the site that it names.
        elsewhere: entries of other hosts, or without a URL.
        problem: in words, why it was not read, or not to its end; empty if it was.
    """

    sitemap: str
    pages: list[str]
    indexed: int
    elsewhere: int
    problem: str


def sitemap_client(policy: Policy, settings: ClientSettings) -> Client:
    """Return a client that takes sitemaps as large as they may be."""
    return Client(policy, replace(settings, max_body=max(settings.max_body, MAX_SITEMAP_BYTES)))


def listed_urls(client: Client, waiting: list[str], origin: str, most: int) -> Iterator[ListedUrls]:
    """Read so many sitemaps, each once, with those that an index names; `waiting` holds the ones that are left.

    Args:
        origin: what a relative name is joined to, and whose URLs count.
    """
    asked: set[str] = set()
    while waiting and len(asked) < most:
        named = waiting.pop(0)
        sitemap = urls.join(origin, named) or named  # what is no URL is refused by the client, in words
        if sitemap in asked:
            continue
        asked.add(sitemap)
        try:
            response = client.get(sitemap).raise_for_status()
        except ComityError as error:
            yield ListedUrls(sitemap, [], 0, 0, f"was not read: {error}")
            continue
        reader = sitemaps.SitemapReader(response.url)
        pages: dict[str, None] = {}
        indexed = elsewhere = 0
        for entry in reader.read(response.body):
            target = urls.join(response.url, entry.loc)
            if target is None or urls.host(target) != urls.host(origin):
                elsewhere += 1
            elif isinstance(entry, sitemaps.SitemapRef):
                waiting.append(target)
                indexed += 1
            else:
                pages[target] = None
        bad = reader.problem is not None or reader.kind == "unknown"
        problem = f"was not read to its end: {reader.problem or 'it is none'}" if bad else ""
        yield ListedUrls(sitemap, list(pages), indexed, elsewhere, problem)
