"""`comity serve`: the workbench for robots.txt, and the dashboard of a crawl, as a web page on this machine."""

from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.options import AGENT, ALLOW_ADDRESS, CONFIG, FILE, loaded
from comity.cli.terminal import complain


@click.command()
@click.argument("place", metavar="[DIR]", required=False)
@click.option(
    "--host", default="127.0.0.1", help="Address to serve on; beyond this machine it needs a token.  [127.0.0.1]"
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, metavar="N", help="Port; 0 takes a free one.  [8765]"
)
@click.option("--token-file", metavar="FILE", type=FILE, help="A file with the token that others have to show.")
@AGENT
@CONFIG
@ALLOW_ADDRESS
def serve(place: str | None, host: str, port: int, token_file: Path | None, **options: Any) -> Exit:
    """A robots.txt workbench as a web page, and with DIR a dashboard of the crawl there, running or finished.

    DIR may be the URL of a crawl's store, too.
    """
    from comity._extras import need
    from comity._listening import check_exposure, listen
    from comity.cli import input_files
    from comity.web.app import build

    uvicorn = need("uvicorn", "web", "comity serve")
    configuration = loaded(**options)
    token = None if token_file is None else input_files.read(token_file).decode("utf-8", "replace").strip()
    check_exposure("--host", host, token, ())
    app = build(configuration.policy, configuration.client, host=host, token=token, place=place)
    with listen(host, port) as listening:
        shown = f"http://{host}:{listening.getsockname()[1]}/"
        complain(f"serving {shown}{'?token=...' if token else ''}  (Ctrl-C ends it)")
        if place is not None:
            complain(f"the crawl: {shown}dashboard.html")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])
    return Exit.DONE
