"""URLs in one normal form: the names of `comity_pages.urls`, where programs that use comity look for them."""

from comity_pages.urls import Base, Url, host, is_http, join, normalise, origin

__all__ = ["Base", "Url", "host", "is_http", "join", "normalise", "origin"]
