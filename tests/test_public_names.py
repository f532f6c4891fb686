"""The public names: they change only on purpose, and then this list with them."""

from typing import Any

import pytest

import comity
from comity.gate import Gate

NAMES = """
    AddressBlocked AsyncClient BadStatus CircuitOpen Client ClientSettings ComityError CrawlSettings CrawledPage Crawler
    Decision Dialect Expanded Expander FetchError InvalidJSON InvalidRecord InvalidSetting InvalidURL Match PluginError
    Policy Postponed RenderingFailed Response Robots RobotsDisallowed RobotsUnreachable Sink Source StorageError Timeout
    TooLarge TooManyRedirects UnwantedType crawl crawl_index_page crawl_page crawl_pages load_settings parse
"""
CLIENT = "check clear_cache close crawl_delay get get_many head inspect is_allowed policy retrieve settings stream"
POLICY = """
    adaptive agent allow_addresses allow_hosts asked_as backoff breaker_failures breaker_recovery cache_life dialect
    failure_life honour max_backoff max_crawl_delay max_retry_after min_interval mode on_unavailable on_unparsable
    on_unreachable pace_by preset product product_token purposes robots_charset robots_fetch_counts robots_redirects
    stale_life unreachable_life url_charset with_changes
"""
GATE = """
    ask consult epoch finished headers_received lend origin_policy pace_of pause policy resolved returned robots
    robots_abandoned robots_arrived robots_at_hand robots_redirected stopped sweep throttles
"""


def public(thing: Any) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def test_comity_has_these_names() -> None:
    assert sorted(comity.__all__) == NAMES.split()
    assert all(getattr(comity, name) is not None for name in comity.__all__)


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (comity.Client(), CLIENT),
        (comity.AsyncClient(), CLIENT),
        (comity.Policy(), POLICY),
        (Gate(comity.Policy()), GATE),
    ],
    ids=["Client", "AsyncClient", "Policy", "Gate"],
)
def test_these_attributes_are_public(thing: Any, names: str) -> None:
    assert public(thing) == names.split()
