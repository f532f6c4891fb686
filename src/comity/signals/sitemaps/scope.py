"""Which URLs a sitemap may speak for (sitemaps.org, "Sitemap file location" and "Sitemaps & Cross Submits").

Being in scope is no permission to fetch; being out of it means that the sitemap's word about this URL counts nothing.
"""

import ada_url


def in_scope(entry_url: str, sitemap_url: str, named_by_robots_of: str | None = None) -> bool:
    """Whether `sitemap_url` may list `entry_url`.

    A sitemap named in a host's robots.txt may list every URL of that host, wherever it is served. Any sitemap may
    list URLs of its own host in its own directory and below. Hosts are compared with their ports, the usual ports of
    http and https being the same. The same rule holds for the sitemaps named in an index.

    Args:
        entry_url: absolute http or https URL from the sitemap; anything else is out of scope.
        sitemap_url: where the sitemap was really served.
        named_by_robots_of: host (`example.com`, `example.com:8080`) whose robots.txt names the sitemap or the
            index that led to it, or a URL of that host; None where no robots.txt does.
    """
    entry = _host_and_path(entry_url)
    if entry is None:
        return False
    host, path = entry
    if named_by_robots_of:
        scheme = "http" if named_by_robots_of.endswith(":80") else "https"
        owner = _host_and_path(
            named_by_robots_of if "://" in named_by_robots_of else f"{scheme}://{named_by_robots_of}/"
        )
        if owner is not None and owner[0] == host:
            return True
    own = _host_and_path(sitemap_url)
    return own is not None and own[0] == host and path.startswith(own[1][: own[1].rindex("/") + 1])


def _host_and_path(url: str) -> tuple[str, str] | None:
    try:
        parsed = ada_url.URL(url)
    except ValueError:
        return None
    if parsed.protocol not in ("http:", "https:"):
        return None
    return parsed.host, parsed.pathname
