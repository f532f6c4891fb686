"""A crawl is told to OpenTelemetry: a span a request, one a URL, metrics."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sites import Site

from comity import Crawler, CrawlSettings, Policy


@pytest.fixture(scope="module")
def read() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """What is told in this process; providers can be set once."""
    spans, measures = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(tracing)
    metrics.set_meter_provider(MeterProvider([measures]))
    return spans, measures


@pytest.fixture
def spans(read: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> InMemorySpanExporter:
    read[0].clear()
    return read[0]


def crawled(site: Site, folder: Path, **settings: Any) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.link("/", "/a", "/private/b", "/gone")
    site.set("/a", "text")
    policy = Policy(agent="TestBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    asyncio.run(Crawler(site.url("/"), folder, policy=policy, settings=CrawlSettings(sitemaps=False, **settings)).run())


def test_each_request_is_a_span_of_an_http_client_and_a_child_of_its_url(
    site: Site, tmp_path: Path, spans: InMemorySpanExporter, read: Any
) -> None:
    crawled(site, tmp_path / "out", telemetry=True)
    found = spans.get_finished_spans()
    whole = {each.context.span_id: each for each in found if each.name == "fetch"}
    sent = [each for each in found if each.name == "GET"]
    assert {each.attributes["url.full"]: each.attributes["comity.outcome"] for each in whole.values()} == {
        site.url("/"): "kept", site.url("/a"): "kept", site.url("/gone"): "failed",
    }  # fmt: skip
    assert len(sent) == len(site.seen) == 4
    for each in sent:
        assert each.kind is trace.SpanKind.CLIENT
        assert each.attributes["server.address"] == "127.0.0.1"
        assert 0 < each.end_time - each.start_time < 60e9
        if each.attributes["comity.purpose"] == "robots.txt":
            assert each.parent is None
        else:
            assert whole[each.parent.span_id].attributes["url.full"] == each.attributes["url.full"]
    (lost,) = [each for each in sent if each.attributes["http.response.status_code"] == 404]
    assert lost.attributes["error.type"] == "404"
    assert lost.status.status_code is trace.StatusCode.ERROR
    told = read[1].get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    counts: Counter[str] = Counter()
    for metric in told:
        for point in metric.data.data_points:
            counts[metric.name] += getattr(point, "count", 0) or getattr(point, "value", 0)
    assert counts["http.client.request.duration"] == 4
    assert counts["comity.outcomes"] >= 3


def test_a_url_that_is_tried_again_is_one_span_with_a_child_for_each_request(
    site: Site, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    tries: list[web.StreamResponse] = []

    async def shaky(_: web.Request) -> web.StreamResponse:
        tries.append(web.Response(status=200 if tries else 503, text="late", headers={"Retry-After": "0"}))
        return tries[-1]

    site.set("/a", shaky)
    site.link("/", "/a")
    policy = Policy(agent="TestBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(sitemaps=False, telemetry=True)
    asyncio.run(Crawler(site.url("/"), tmp_path / "out", policy=policy, settings=settings).run())
    assert len(tries) == 2
    about = [each for each in spans.get_finished_spans() if each.attributes["url.full"] == site.url("/a")]
    (whole,) = [each for each in about if each.name == "fetch"]
    assert whole.attributes["comity.outcome"] == "kept"
    sent = [each for each in about if each.name == "GET"]
    assert [each.attributes["http.response.status_code"] for each in sent] == [503, 200]
    assert {each.parent.span_id for each in sent} == {whole.context.span_id}


def test_nothing_is_told_unless_asked_for(site: Site, tmp_path: Path, spans: InMemorySpanExporter) -> None:
    crawled(site, tmp_path / "out")
    assert not spans.get_finished_spans()
