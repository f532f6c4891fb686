"""`comity crawl --metrics`: serves a crawl's metrics to Prometheus while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from comity._serving import LOOPBACK, host_of, is_loopback, parse_listen_address, unusable
from comity.crawler import Crawler
from comity.crawler.observe.metrics import collector, library
from comity.errors import InvalidSetting


def parse_address(text: str) -> tuple[str, int]:
    """Parse `[ADDRESS:]PORT`; without an address, only this machine is served. Raises InvalidSetting."""
    try:
        given, port = parse_listen_address(text)
        address = LOOPBACK[0] if given is None else given.removeprefix("[").removesuffix("]")
        ip_address(address)
    except ValueError:
        raise InvalidSetting(
            f"metrics: {text!r} is not [ADDRESS:]PORT", hint="for example 9464, or 0.0.0.0:9464 for every interface"
        ) from None
    return address, port


@contextmanager
def serving(crawler: Crawler, where: str) -> Iterator[str]:
    """Serve the metrics of a crawl and of this process at `[ADDRESS:]PORT`; yields the URL. Port 0 takes any free one.
    Raises InvalidSetting if the address cannot be used, MissingExtra without `prometheus_client`."""
    address, port = parse_address(where)
    library()  # or the error that says how to get it
    import prometheus_client as prometheus

    registry = prometheus.CollectorRegistry()
    prometheus.ProcessCollector(registry=registry)
    prometheus.PlatformCollector(registry=registry)
    registry.register(collector(crawler))
    try:
        server, thread = prometheus.start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        raise unusable(f"metrics: {where}", error) from error
    if is_loopback(address):
        server.set_app(_named(server.get_app()))
    host = f"[{address}]" if ":" in address else address
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _named(app: Any) -> Any:
    """Refuse requests that name another host, as a page does whose name was made to resolve to this machine (DNS
    rebinding)."""

    def checked(environ: dict[str, Any], start: Any) -> Any:
        if is_loopback(host_of(environ.get("HTTP_HOST", ""))):
            return app(environ, start)
        start("421 Misdirected Request", [("Content-Type", "text/plain")])
        return [b"the request names another host\n"]

    return checked
