"""Which URLs a sitemap may speak for (sitemaps.org, "Sitemap file location" and "Sitemaps & Cross Submits").

Being in scope is no permission to fetch; out of scope, the sitemap's word about a URL counts nothing.
"""

from comity_pages import urls
from comity_pages.errors import InvalidURL


def in_scope(entry_url: str, sitemap_url: str, named_by: str | None = None) -> bool:
    """Whether `sitemap_url` may list `entry_url`.

    A sitemap named in a host's robots.txt may list every URL of that host, wherever it is served. Any sitemap may
    list URLs of its host and port in its directory and below, over http or https. The same holds for the
    sitemaps that an index lists.

    Args:
        entry_url: absolute http or https URL from the sitemap; anything else is out of scope.
        sitemap_url: where the sitemap was really served, after redirects.
        named_by: the host whose robots.txt names the sitemap, or names the index that led to it (`example.com`; its
            port does not matter; a URL of that host does as well); None where no robots.txt does.
    """
    try:
        entry = urls.normalise(entry_url)
        own = urls.normalise(sitemap_url)
        if named_by and urls.host(named_by if "://" in named_by else f"http://{named_by}/") == urls.host(entry):
            return True
    except InvalidURL:
        return False
    directory = own.partition("?")[0].rpartition("/")[0] + "/"
    return _without_scheme(entry).startswith(_without_scheme(directory))


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


def may_be_sitemap(url: str | None) -> bool:
    """Whether a URL looks like a sitemap's, where nothing says that it is one."""
    path = (url or "").partition("?")[0].lower()
    return "sitemap" in path or path.endswith((".xml", ".xml.gz"))
