"""The public names: they change only on purpose, and then this list with them."""

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import comity
from comity.crawler import Crawl, Stats
from comity.gate import Gate

NAMES = """
    AddressBlocked AsyncClient BadStatus CircuitOpen Client ClientSettings ComityError CrawlSettings CrawledPage
    Crawler Decision Dialect Expanded Expander FetchError InvalidJSON InvalidRecord InvalidSetting InvalidURL Match
    PageCrawler PaymentRequired PluginError Policy Postponed RenderingFailed Response Robots RobotsDisallowed
    RobotsUnreachable Sink Source StorageError Timeout TooLarge TooManyRedirects UnwantedType check crawl
    crawl_index_page crawl_page crawl_pages fetch load_settings parse
"""
CLIENT = "check clear_cache close crawl_delay get get_many head inspect is_allowed policy retrieve settings stream"
POLICY = """
    adaptive agent allow_addresses allow_hosts asked_as backoff breaker_failures breaker_recovery cache_life dialect
    failure_life honour max_backoff max_crawl_delay max_retry_after min_interval mode on_unavailable on_unparsable
    on_unreachable pace_by preset product product_token purposes robots_charset robots_fetch_counts robots_redirects
    stale_life unreachable_life url_charset use with_changes
"""
GATE = """
    ask consult epoch finished headers_received hosts_at origin_policy pace_of pause policy release_robots_turn resolved
    robots robots_abandoned robots_arrived robots_at_hand robots_redirected stopped sweep throttles
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


@pytest.mark.parametrize(
    ("page", "heading", "thing"),
    [
        ("client.md", "A response", comity.Response),
        ("crawl.md", "In a program", comity.CrawledPage),
        ("crawl.md", "In a program", Crawl),
        ("crawl.md", "In a program", Stats),
    ],
)
def test_every_attribute_of_what_a_program_is_handed_is_described_in_the_documentation(
    page: str, heading: str, thing: type
) -> None:
    text = (Path(__file__).parents[3] / "docs" / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    described = set(re.findall(r"`(\w+)(?:\(\w*\))?`", section))
    named = [field.name for field in (fields(thing) if is_dataclass(thing) else ())]
    attributes = {*public(thing), *(name for name in named if not name.startswith("_"))}
    assert attributes - {"of", "to_dict", "from_dict"} <= described


@pytest.mark.parametrize(
    "function",
    [
        comity.crawl,
        comity.crawl_page,
        comity.crawl_pages,
        comity.crawl_index_page,
        comity.parse,
        comity.load_settings,
        comity.check,
        comity.fetch,
        *(getattr(kind, name) for kind in (comity.Client, comity.AsyncClient) for name in CLIENT.split()
          if callable(getattr(kind, name, None))),
    ],
    ids=lambda function: function.__qualname__,
)  # fmt: skip
def test_help_shows_the_types_of_what_goes_in_and_comes_out(function: Any) -> None:
    signature = inspect.signature(function)
    given = [parameter for name, parameter in signature.parameters.items() if name != "self"]
    assert all(parameter.annotation is not parameter.empty for parameter in given)
    assert signature.return_annotation is not signature.empty
    assert inspect.getdoc(function)


def test_another_type_than_a_policy_is_refused_in_words() -> None:
    for call in (comity.Client, comity.AsyncClient, lambda policy: comity.crawl("https://h/", policy=policy)):
        with pytest.raises(TypeError, match="policy: expected Policy, not dict"):
            call({})  # type: ignore[arg-type]
