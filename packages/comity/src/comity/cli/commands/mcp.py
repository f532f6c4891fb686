"""`comity mcp`: a server of tools for agents, on standard input and output or over HTTP."""

from pathlib import Path
from typing import Any

import click

from comity._serving import check_exposure, listen, parse_listen_address
from comity.cli.exits import Exit
from comity.cli.input_files import token_in
from comity.cli.options import AGENT, ALLOW_ADDRESS, CONFIG_ALONE, PATH, PRESET, TOKEN_FILE, command, loaded, option
from comity.cli.terminal import error_line
from comity.errors import InvalidSetting
from comity_robots.fields import SettingField

_CRAWL_SECONDS = SettingField(name="--crawl-seconds", hint=float, unit="seconds")
_PAGES = click.IntRange(min=1)


@command("Set up and serve")
@option("--http", "ADDRESS:PORT", "Serve over HTTP at /mcp there, such as 127.0.0.1:8766.", otherwise="stdio")
@TOKEN_FILE
@option("--allow-host", "NAME", "A name that clients may call this server by.", multiple=True)
@option("--allow-origin", "ORIGIN", "An origin whose web pages may call this server.", multiple=True)
@option("--folder", "DIR", "Where crawls are written.", type=PATH, otherwise="removed at the end")
@option("--crawl-pages", "N", "Crawls of more pages need a person's consent.", type=_PAGES, default=100)
@option("--crawl-seconds", "TIME", "Longer crawls need a person's consent.", default="10m")
@AGENT
@PRESET
@CONFIG_ALONE
@ALLOW_ADDRESS
def mcp(
    http: str | None,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    folder: Path | None,
    crawl_pages: int,
    crawl_seconds: str,
    **options: Any,
) -> Exit:
    """Serve tools for AI agents (Model Context Protocol).

    On standard input and output, or over HTTP.
    """
    configuration = loaded(unnamed=False, **options)  # an editor starts it in whatever folder it has open
    longest: float = _CRAWL_SECONDS.checked(_CRAWL_SECONDS.read(crawl_seconds))
    from comity.mcp import CrawlLimits, Service, serving  # late: help needs none of it

    service = Service(configuration.policy, configuration.client, CrawlLimits(crawl_pages, longest), folder)
    if http is None:
        if token_file is not None or allow_host or allow_origin:
            raise InvalidSetting("--token-file, --allow-host and --allow-origin go with --http")
        serving.over_stdio(service)
        return Exit.DONE
    try:
        host, port = parse_listen_address(http)
    except ValueError:
        host = None
    if not host:
        raise InvalidSetting(f"--http: {http!r} is not ADDRESS:PORT, such as 127.0.0.1:8766")
    token = token_in(token_file)
    check_exposure("--http", host, token, allow_host)
    with listen(host, port) as listening:
        error_line(f"serving MCP at http://{host}:{listening.getsockname()[1]}/mcp")
        serving.over_http(
            service,
            listening,
            host=host,
            token=token,
            allowed_hosts=allow_host,
            allowed_origins=allow_origin,
        )
    return Exit.DONE
