"""One file that clients share: robots.txt files and pages that need not be fetched again."""

from comity.store.cache import Cache, Page

__all__ = ["Cache", "Page"]
