"""comity: may I fetch this, how fast, and what may I do with it? This module exports the public names."""

from typing import TYPE_CHECKING, Any

from comity import _compiled
from comity_robots import _forms
from comity_robots._lazy import lazy_exports

_forms.register(__name__, __path__[0], _compiled.MODULES)

if TYPE_CHECKING:
    from comity.client import AsyncClient, Client, check, fetch
    from comity.configuration import load as load_settings
    from comity.crawler import (
        CrawledPage,
        Crawler,
        CrawlSettings,
        Expanded,
        Expander,
        PageCrawler,
        Sink,
        Source,
        crawl,
        crawl_index_page,
        crawl_page,
        crawl_pages,
    )
    from comity.errors import (
        AddressBlocked,
        BadStatus,
        CircuitOpen,
        ComityError,
        FetchError,
        InvalidJSON,
        InvalidRecord,
        InvalidSetting,
        InvalidURL,
        PaymentRequired,
        PluginError,
        Postponed,
        RenderingFailed,
        RobotsDisallowed,
        RobotsUnreachable,
        StorageError,
        Timeout,
        TooLarge,
        TooManyRedirects,
        UnwantedType,
    )
    from comity.net import ClientSettings, Response
    from comity.policy import Decision, Policy
    from comity_robots import Dialect, Match, Robots, parse

__all__ = [
    "AddressBlocked",
    "AsyncClient",
    "BadStatus",
    "CircuitOpen",
    "Client",
    "ClientSettings",
    "ComityError",
    "CrawlSettings",
    "CrawledPage",
    "Crawler",
    "Decision",
    "Dialect",
    "Expanded",
    "Expander",
    "FetchError",
    "InvalidJSON",
    "InvalidRecord",
    "InvalidSetting",
    "InvalidURL",
    "Match",
    "PageCrawler",
    "PaymentRequired",
    "PluginError",
    "Policy",
    "Postponed",
    "RenderingFailed",
    "Response",
    "Robots",
    "RobotsDisallowed",
    "RobotsUnreachable",
    "Sink",
    "Source",
    "StorageError",
    "Timeout",
    "TooLarge",
    "TooManyRedirects",
    "UnwantedType",
    "check",
    "crawl",
    "crawl_index_page",
    "crawl_page",
    "crawl_pages",
    "fetch",
    "load_settings",
    "parse",
]

_late = lazy_exports(
    __name__,
    {
        "comity.errors": "AddressBlocked BadStatus CircuitOpen ComityError FetchError InvalidJSON InvalidRecord"
        " InvalidSetting InvalidURL PaymentRequired PluginError Postponed RenderingFailed RobotsDisallowed"
        " RobotsUnreachable StorageError Timeout TooLarge TooManyRedirects UnwantedType",
        "comity_robots": "Dialect Match Robots parse",
        "comity.policy": "Decision Policy",
        "comity.client": "AsyncClient Client check fetch",
        "comity.net": "ClientSettings Response",
        "comity.crawler": "crawl CrawlSettings CrawledPage Crawler Expanded Expander PageCrawler Sink Source"
        " crawl_index_page crawl_page crawl_pages",
        "comity.configuration": "load_settings=load",
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("comity")
    if name == "bulk":
        from importlib import import_module

        return import_module("comity.bulk")
    return _late(name)


def __dir__() -> list[str]:
    return sorted(__all__)
