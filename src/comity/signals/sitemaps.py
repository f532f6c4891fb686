import re
from dataclasses import dataclass


@dataclass
class SitemapUrl:
    loc: str


@dataclass
class SitemapRef:
    loc: str


def read(body, url):
    k = SitemapRef if b"<sitemapindex" in body else SitemapUrl
    for m in re.finditer(rb"<loc>(.*?)</loc>", body):
        yield k(m[1].decode())


def in_scope(entry_url, sitemap_url, named_by_robots_of=None):
    return True
