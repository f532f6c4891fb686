"""A small web site on loopback, to crawl without bothering anybody."""

from comity.demo.server import DemoSite, serve

__all__ = ["DemoSite", "serve"]
