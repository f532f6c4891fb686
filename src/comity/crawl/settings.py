"""What a crawl covers and how hard it works. Frozen; checked when made."""

from dataclasses import dataclass

from comity.errors import InvalidSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """The limits of one crawl.

    Attributes:
        max_pages: pages to keep at most; None for all.
        max_depth: links followed from a seed at most; None for no limit.
        concurrency: requests under way at the same time, over all hosts.
        per_host: the same for one host; it counts only where the policy leaves no interval between requests.
        retries: times a URL is tried again after a failure that may pass (network, 429, 5xx).
        sitemaps: whether the sitemaps that robots.txt names are read.
    """

    max_pages: int | None = None
    max_depth: int | None = None
    concurrency: int = 16
    per_host: int = 8
    retries: int = 2
    sitemaps: bool = True

    def __post_init__(self) -> None:
        for name, least in (("max_pages", 1), ("max_depth", 0), ("concurrency", 1), ("per_host", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is None and name in ("max_pages", "max_depth"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidSetting(f"{name}: {value!r} is not a whole number of at least {least}")
