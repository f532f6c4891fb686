"""What a crawl remembers by name, in a run and over several."""

import asyncio
from pathlib import Path

import pytest
from sites import Site

from comity import Crawler, CrawlSettings, Policy
from comity.frontier.rules import DurableFrontier
from comity.frontier.state_overlay import StateOverlay


def test_what_was_put_is_found_before_while_and_after_it_is_committed() -> None:
    stored: dict[str, int] = {}
    facts = StateOverlay(stored.get, is_new=True)
    for number in range(5_000):
        facts.put(f"fact {number}", number)
        taken = facts.take()
        assert facts.get(f"fact {number}") == number, "on its way"
        stored |= taken
        facts.committed()
    assert [facts.get(f"fact {number}") for number in range(5_000)] == list(range(5_000))
    facts.put("fact 7", None)
    assert facts.get("fact 7", "gone") == "gone"


def test_what_was_never_put_is_not_looked_for_in_a_new_crawl() -> None:
    asked: list[str] = []
    new, resumed = StateOverlay(asked.append, is_new=True), StateOverlay(asked.append)
    for number in range(1_000):
        new.put(f"content {number}", 1)
        assert new.get(f"another {number}") is None
    assert len(asked) < 5  # one name of 8,000 at most is taken for another
    asked.clear()
    assert resumed.get("content 1") is None
    assert asked == ["content 1"]


def test_a_crawl_that_goes_on_knows_the_content_of_pages_that_were_kept_before(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    load = DurableFrontier.load_state

    def noting(self: DurableFrontier, key: str, default: object = None) -> object:
        asked.append(key)
        return load(self, key, default)

    monkeypatch.setattr(DurableFrontier, "load_state", noting)
    site.link("/", *(f"/{number}" for number in range(6)))
    for number in range(6):
        site.set(f"/{number}", "<p>the same")
    policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
    first = Crawler(site.url("/"), tmp_path, policy=policy, settings=CrawlSettings(max_pages=2, sitemaps=False))
    assert asyncio.run(first.run()).duplicates == 0
    assert not [name for name in asked if name.startswith("content ")]
    asyncio.run(Crawler((), tmp_path, policy=policy, settings={"max_pages": None}).run())
    assert [name for name in asked if name.startswith("content ")]
    second = Crawler((), tmp_path, policy=policy)
    assert second.running is None
    assert asyncio.run(second.run()).duplicates == 5
