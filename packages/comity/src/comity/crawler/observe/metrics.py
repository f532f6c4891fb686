"""Metrics for Prometheus: a running crawl as the families of the `prometheus_client` library (extra `metrics`).

They are worked out when they are scraped, from `Crawler.snapshot()`; between scrapes they cost nothing. No label holds
text from a site: its values are states, verdicts and kinds of answers, of which there are few.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import accumulate
from typing import Any, Protocol

from comity.crawler.observe.snapshot import HostState, Snapshot
from comity.crawler.observe.stats import COMMIT_BOUNDS, Stats
from comity.frontier.values import State
from comity_pages._extras import need

_COUNTERS = [(*each.metadata["metric"], each.name) for each in fields(Stats) if each.metadata.get("metric")]
_DEPTHS = (0, 1, 2, 3, 5, 10)  # links from a seed: bounds of the histogram
_TYPES = (  # content types that have a label; sites name others, as many as they like
    "application/json", "application/pdf", "application/xhtml+xml", "application/xml",
    "text/html", "text/plain", "none",
)  # fmt: skip


def library() -> Any:
    """The module `prometheus_client.core`; MissingExtra where it is not installed."""
    return need("prometheus_client.core", "metrics", "the endpoint for metrics")


class Observed(Protocol):
    """A crawl that is asked how it stands."""

    def snapshot(self, *, hosts: int, rules: int) -> Snapshot: ...


def collector(crawler: Observed) -> "CrawlCollector":
    """A collector to be registered in a registry, once for each: `registry.register(collector(crawler))`. MissingExtra
    where `prometheus_client` is not installed."""
    return CrawlCollector(crawler, library())


class CrawlCollector:
    """One crawl for a registry; see `collector`."""

    def __init__(self, crawler: Observed, core: Any) -> None:
        self._crawler = crawler
        self._core = core

    def collect(self) -> Iterator[Any]:
        """The families as they are now; may be called from any thread."""
        now = self._crawler.snapshot(hosts=0, rules=0)
        yield from self._counters(now)
        yield from self._gauges(now)
        upto = [(str(bound), sum(now.depths[: bound + 1])) for bound in _DEPTHS]
        histogram = self._core.HistogramMetricFamily
        words, buckets = "Links from a seed to a page kept.", [*upto, ("+Inf", sum(now.depths))]
        yield histogram("comity_page_depth", words, buckets=buckets, sum_value=None)
        bounds = (*(f"{bound:g}" for bound in COMMIT_BOUNDS), "+Inf")
        words, buckets = "Seconds that commits took.", list(zip(bounds, accumulate(now.commits), strict=True))
        yield histogram("comity_commit_seconds", words, buckets=buckets, sum_value=now.commit_seconds)

    def _counters(self, now: Snapshot) -> Iterator[Any]:
        counter = self._core.CounterMetricFamily
        stats = now.stats
        for name, words, attribute in _COUNTERS:
            yield counter(f"comity_{name}", words, value=getattr(stats, attribute))
        changes = {name: getattr(stats, name) for name in ("new", "changed", "gone", "unchanged")}
        yield _labelled(counter("comity_changes", "Pages in a refresh, by what changed.", labels=("change",)), changes)
        words = "Requests that have ended, by purpose and answer."
        yield _labelled(counter("comity_requests", words, labels=("purpose", "answer")), now.requests, ordered=True)
        words = "URLs that robots.txt or the policy forbids."
        yield _labelled(counter("comity_refusals", words, labels=("verdict",)), now.refused, ordered=True)
        types = {name: now.types.get(name, 0) for name in _TYPES}
        types["other"] = sum(now.types.values()) - sum(types.values())
        yield _labelled(counter("comity_pages_by_type", "Pages kept, by content type.", labels=("type",)), types)

    def _gauges(self, now: Snapshot) -> Iterator[Any]:
        gauge = self._core.GaugeMetricFamily
        running = now.phase in ("running", "held", "stopping")
        yield gauge("comity_running", "Whether the crawl runs.", value=int(running))
        yield gauge("comity_requests_under_way", "Requests in progress.", value=now.under_way)
        hosts = {state.value: now.states.get(state, 0) for state in HostState}
        words = "Hosts that have or had work, by what they do or wait for."
        yield _labelled(gauge("comity_hosts", words, labels=("state",)), hosts)
        urls = {state.name.lower(): now.urls.get(state, 0) for state in State}
        yield _labelled(gauge("comity_urls", "Known URLs, by state.", labels=("state",)), urls)


def _labelled(family: Any, values: Mapping[Any, int], *, ordered: bool = False) -> Any:
    for label, value in sorted(values.items()) if ordered else values.items():
        family.add_metric(label if isinstance(label, tuple) else (label,), value)
    return family
