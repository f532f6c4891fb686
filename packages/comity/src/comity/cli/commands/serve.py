"""`comity serve`: the workbench for robots.txt, and the dashboard of a crawl, as a web page on this machine."""

from pathlib import Path
from typing import Any

import click

from comity._serving import check_exposure, listen
from comity.cli.exits import Exit
from comity.cli.input_files import token_in
from comity.cli.options import ASKING, TOKEN_FILE, argument, command, loaded, option
from comity.cli.terminal import error_line
from comity.crawler.storage.open_crawl import open_crawl

_PORT = click.IntRange(0, 65535)


@command("Set up and serve")
@argument("place", "[DIR]")
@option("--host", "ADDRESS", "Address to serve on; any but loopback needs a token.", default="127.0.0.1")
@option("--port", "N", "Port; 0 takes a free one.", type=_PORT, default=8765)
@TOKEN_FILE
@ASKING
def serve(place: str | None, host: str, port: int, token_file: Path | None, **options: Any) -> Exit:
    """Serve the robots.txt workbench, or a crawl's dashboard.

    A web page for this machine. With DIR, or the URL of a crawl's store, also a dashboard of the crawl there, running
    or finished.
    """
    from comity.web.serving import server_of

    configuration = loaded(**options)
    token = token_in(token_file)
    check_exposure("--host", host, token, ())
    if place is not None:
        open_crawl(place)  # or the error that there is none
    server = server_of(configuration.policy, configuration.client, token=token, place=place)
    with listen(host, port) as listening:
        shown = f"http://{host}:{listening.getsockname()[1]}/"
        error_line(f"serving {shown}{'?token=...' if token else ''}  (Ctrl-C ends it)")
        if place is not None:
            error_line(f"the crawl: {shown}dashboard.html{'?token=...' if token else ''}")
        server.run(sockets=[listening])
    return Exit.DONE
