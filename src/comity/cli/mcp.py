"""`comity mcp`: a server of tools for agents, on standard input and output or over HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING

from comity._listening import check_exposure, listen
from comity.cli import input_files
from comity.cli.exits import Exit
from comity.cli.terminal import complain
from comity.configuration import Configuration
from comity.errors import InvalidSetting
from comity.fields import SettingField
from comity.mcp import serving

if TYPE_CHECKING:
    from comity.mcp.service import Service

_CRAWL_SECONDS = SettingField(name="--crawl-seconds", hint=float, unit="seconds")


def serve(
    configuration: Configuration,
    *,
    http: str | None,
    token_file: Path | None,
    allowed_hosts: tuple[str, ...],
    allowed_origins: tuple[str, ...],
    folder: Path | None,
    pages: int,
    seconds: str,
) -> Exit:
    """Serve until the client leaves, or the process is told to end."""
    longest: float = _CRAWL_SECONDS.checked(_CRAWL_SECONDS.read(seconds))
    serving.check_installed()

    def make() -> "Service":
        from comity.mcp.crawls import CrawlLimits  # late: the first answer does not wait for it
        from comity.mcp.service import Service

        return Service(configuration.policy, configuration.client, CrawlLimits(pages=pages, seconds=longest), folder)

    if http is None:
        if token_file is not None or allowed_hosts or allowed_origins:
            raise InvalidSetting("--token-file, --allow-host and --allow-origin go with --http")
        serving.over_stdio(make)
        return Exit.DONE
    host, port = _address(http)
    token = None if token_file is None else input_files.read(token_file).decode("utf-8", "replace").strip()
    check_exposure("--http", host, token, allowed_hosts)
    with listen(host, port) as listening:
        complain(f"serving MCP at http://{host}:{listening.getsockname()[1]}/mcp")
        serving.over_http(
            make(),
            listening,
            host=host,
            token=token,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
        )
    return Exit.DONE


def _address(text: str) -> tuple[str, int]:
    """
    Raises:
        InvalidSetting: it is not ADDRESS:PORT.
    """
    host, _, digits = text.rpartition(":")
    if not host or not digits.isascii() or not digits.isdigit() or int(digits) > 65535:
        raise InvalidSetting(f"--http: {text!r} is not ADDRESS:PORT, such as 127.0.0.1:8766")
    return host, int(digits)
