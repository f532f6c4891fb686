"""`comity crawl --metrics`: serves a crawl's metrics to Prometheus while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from comity._listening import LOOPBACK, host_of, is_loopback, place_of
from comity.crawler.cluster.sharded import AnyCrawl
from comity.crawler.observe.metrics import collector, library
from comity.errors import InvalidSetting


def place(text: str) -> tuple[str, int]:
    """Address and port of `[ADDRESS:]PORT`, or an InvalidSetting; without an address only this machine is served."""
    try:
        given, port = place_of(text)
        address = LOOPBACK[0] if given is None else given.removeprefix("[").removesuffix("]")
        ip_address(address)
    except ValueError:
        raise InvalidSetting(
            f"metrics: {text!r} is not [ADDRESS:]PORT", hint="for example 9464, or 0.0.0.0:9464 for every interface"
        ) from None
    return address, port


@contextmanager
def serving(crawler: AnyCrawl, where: str) -> Iterator[str]:
    """Serve a crawl's metrics, with those of the process, at `[ADDRESS:]PORT`; gives the URL. Port 0: any free one.
    InvalidSetting: it is no address of this machine, or in use. MissingExtra: `prometheus_client` is not installed."""
    address, port = place(where)
    library()  # or the error that says how to get it
    import prometheus_client as prometheus

    registry = prometheus.CollectorRegistry()
    prometheus.ProcessCollector(registry=registry)
    prometheus.PlatformCollector(registry=registry)
    registry.register(collector(crawler))
    try:
        server, thread = prometheus.start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        raise InvalidSetting(
            f"metrics: {where} cannot be listened on: {error.strerror}", hint="choose another port"
        ) from error
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
    """The application for requests that name this machine: a page of a site whose name was made to lead here (DNS
    rebinding) names that site."""

    def checked(environ: dict[str, Any], start: Any) -> Any:
        if is_loopback(host_of(environ.get("HTTP_HOST", ""))):
            return app(environ, start)
        start("421 Misdirected Request", [("Content-Type", "text/plain")])
        return [b"the request names another host\n"]

    return checked
