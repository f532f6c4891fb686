"""A crawl as OpenTelemetry spans and metrics: a span for each request, by the semantic conventions of HTTP clients, and
one for each URL that was fetched, of which the request is a child. They go to the providers that the program has set;
without any, by OTLP over HTTP to where OpenTelemetry's own variables say. A crawl meets millions of servers, so only
spans have the server's address."""

import time
from collections import OrderedDict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from comity.gate import FetchRobots
from comity_pages._extras import need

if TYPE_CHECKING:
    from comity.net.request_record import RequestRecord

NAME: Final = "comity"
# Seconds, as the conventions have them.
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
MAX_OPEN_SPANS: Final = 10_000  # URLs that were fetched and of which it is not known yet what came


class Telemetry:
    """What is told to OpenTelemetry; MissingExtra where that is not installed."""

    def __init__(self) -> None:
        trace = self._trace = _part("trace")
        metrics = _part("metrics")
        self._own: list[Any] = []
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # nobody has set one
            self._own = [_spans(), _measures()]
            trace.set_tracer_provider(self._own[0])
            metrics.set_meter_provider(self._own[1])
        meter = metrics.get_meter(NAME, version(NAME))
        self._tracer = trace.get_tracer(NAME, version(NAME))
        self._seconds = meter.create_histogram(
            "http.client.request.duration", "s", "Requests.", explicit_bucket_boundaries_advisory=BUCKETS
        )
        self._outcomes = meter.create_counter("comity.outcomes", "{url}", "URLs that were fetched, by what came.")
        self._open: OrderedDict[str, Any] = OrderedDict()
        self._wall = time.time_ns() - time.monotonic_ns()

    def request(self, record: "RequestRecord") -> None:
        """A request that is over."""
        parts = urlsplit(record.url)
        general: dict[str, Any] = {"http.request.method": record.method}
        if record.status is not None:
            general["http.response.status_code"] = record.status
        failed = record.error is not None or (record.status or 0) >= 400
        if failed:
            general["error.type"] = "_OTHER" if record.status is None else str(record.status)
        about = general | {
            "url.full": record.url,
            "server.address": parts.hostname or "",
            "server.port": parts.port or (443 if parts.scheme == "https" else 80),
            "comity.purpose": "robots.txt" if isinstance(record.cause, FetchRobots) else "content",
        }
        began, ended = self._at(record.sent), self._at(record.end)
        context = None
        if not isinstance(record.cause, FetchRobots):
            whole = self._open.get(record.url)  # of one that is tried again
            if whole is None:
                whole = self._tracer.start_span("fetch", attributes={"url.full": record.url}, start_time=began)
            context = self._trace.set_span_in_context(whole)
            self._open[record.url] = whole
            if len(self._open) > MAX_OPEN_SPANS:
                self._open.popitem(last=False)[1].end()
        span = self._tracer.start_span(
            record.method, context, self._trace.SpanKind.CLIENT, attributes=about, start_time=began
        )
        if failed:
            span.set_status(self._trace.StatusCode.ERROR, record.error)
        span.end(ended)
        self._seconds.record(record.end - record.sent, general)

    def outcome(self, url: str, kind: str) -> None:
        """What came of a URL: `kept`, `redirected`, `failed` and so on."""
        self._outcomes.add(1, {"comity.outcome": kind})
        whole = self._open.pop(url, None)
        if whole is not None:
            whole.set_attribute("comity.outcome", kind)
            whole.end()

    def close(self) -> None:
        """End what is open; waits until it is sent, where no program has set providers."""
        for whole in self._open.values():
            whole.end()
        self._open.clear()
        for provider in self._own:
            provider.force_flush()

    def _at(self, monotonic: float) -> int:
        return self._wall + int(monotonic * 1e9)


def _part(name: str) -> Any:
    return need(f"opentelemetry.{name}", "telemetry", "telemetry")


def _spans() -> Any:
    provider = _part("sdk.trace").TracerProvider()
    exporter = _part("exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    provider.add_span_processor(_part("sdk.trace.export").BatchSpanProcessor(exporter))
    return provider


def _measures() -> Any:
    exporter = _part("exporter.otlp.proto.http.metric_exporter").OTLPMetricExporter()
    return _part("sdk.metrics").MeterProvider([_part("sdk.metrics.export").PeriodicExportingMetricReader(exporter)])
