"""Sitemaps, read as a stream: which URLs a site says exist, and how fresh they are.

Bytes in, entries out, in constant memory. It decides nothing: a sitemap grants no permission, and every URL found
here still has to be normalised, checked against robots.txt and against the address guard.
"""

from comity_pages.signals.sitemaps.dates import Precision
from comity_pages.signals.sitemaps.entries import (
    Image,
    Limits,
    News,
    Position,
    SitemapAlternate,
    SitemapEntry,
    SitemapKind,
    SitemapRef,
    SitemapUrl,
    Video,
)
from comity_pages.signals.sitemaps.reader import SitemapReader, read
from comity_pages.signals.sitemaps.scope import in_scope, may_be_sitemap

__all__ = [
    "Image",
    "Limits",
    "News",
    "Position",
    "Precision",
    "SitemapAlternate",
    "SitemapEntry",
    "SitemapKind",
    "SitemapReader",
    "SitemapRef",
    "SitemapUrl",
    "Video",
    "in_scope",
    "may_be_sitemap",
    "read",
]
