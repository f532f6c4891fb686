"""The commands that read what a crawl left in its folder, or leave it an order there."""

import time
from pathlib import Path
from typing import Any

import click

from comity.cli.exits import Exit
from comity.cli.options import ALLOW_ADDRESS, CONFIG, JSON, PATH, loaded, option_for
from comity.cli.terminal import complain, say
from comity.errors import InvalidSetting

FOLDERS = click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=PATH)
STORE = click.option(
    "--store", metavar="URL", help="Where the queue of a crawl in PostgreSQL is, if not where DIR says.  [as DIR says]"
)


class _FrontierGroup(click.Group):
    """`comity frontier DIR` shows a queue; `slow`, `stop` and `go` give an order about a host. `--store URL` may stand
    in the place of DIR."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        args = [word for each in args for word in (each.split("=", 1) if each.startswith("--store=") else [each])]
        if "--store" in args[:-1]:
            at = args.index("--store")
            url = args[at + 1]
            del args[at : at + 2]
            args.insert(1 if args and args[0] in self.commands else 0, url)
        elif "--store" in args:
            raise click.UsageError("Option '--store' requires an argument.", context)
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["show", *args]
        return super().parse_args(context, args)

    def format_usage(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for words in ("[OPTIONS] DIR", "slow DIR HOST TIME", "stop DIR HOST", "go DIR HOST", "--store URL ..."):
            formatter.write_usage(context.command_path, words)


@click.group(cls=_FrontierGroup)
def frontier() -> None:
    """Show the queue of a crawl, or have the crawl ask one of its hosts more slowly, or not at all.

    An order holds within a second while the crawl runs, and in later runs, until another one about the host. Of a crawl
    in PostgreSQL write --store URL in the place of DIR.
    """


@frontier.command(name="slow")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
@click.argument("interval", metavar="TIME")
def slow_host(folder: str, host: str, interval: str) -> Exit:
    """Leave at least TIME (seconds, or such as 2m) between two requests to HOST, whatever its robots.txt says."""
    from comity.cli import frontier as command

    return command.order(folder, host, "slow", interval)


@frontier.command(name="stop")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
def stop_host(folder: str, host: str) -> Exit:
    """Send nothing more to HOST; its URLs stay in the queue."""
    from comity.cli import frontier as command

    return command.order(folder, host, "stop")


@frontier.command(name="go")
@click.argument("folder", metavar="DIR")
@click.argument("host", metavar="HOST")
def go_on_with_host(folder: str, host: str) -> Exit:
    """Lift what was ordered about HOST."""
    from comity.cli import frontier as command

    return command.order(folder, host, "go")


@frontier.command(name="show")
@click.argument("folder", metavar="DIR")
@click.option("--host", metavar="H", help="The queue of this host only.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    help="Maximum number of hosts, or of URLs with --host.  [10]",
)
@JSON
def show_frontier(folder: str, host: str | None, limit: int, as_json: bool) -> Exit:
    """Show the queue of a crawl: URLs by state, the hosts with the longest queues, and the next URLs.

    Reads only; the crawl may be running.
    """
    from comity.cli import frontier as command

    return command.show(folder, host=host, limit=limit, as_json=as_json)


@click.command()
@click.argument("folder", metavar="DIR...", type=PATH)
@click.argument("url", metavar="URL...", nargs=-1, required=True)
@STORE
@JSON
def why(folder: Path, url: tuple[str, ...], store: str | None, as_json: bool) -> Exit:
    """What became of URLs in a crawl: kept, refused, left out, failed, waiting, never met; and why.

    Reads only; the crawl may be running. With --json one line a URL. Of a crawl in PostgreSQL name the folders of all
    machines: a page that lies in another folder is not found.
    """
    from comity.cli import why as command

    return command.show(folder, url, as_json=as_json, store=store)


@click.command()
@FOLDERS
@STORE
@click.option("--bodies", is_flag=True, help="Print the bodies too.")
def pages(folders: tuple[Path, ...], store: str | None, bodies: bool) -> Exit:
    """The pages of a crawl as they are after its refreshes, as lines of JSON: the latest of each URL, gone ones out.

    Of a crawl in PostgreSQL name the folders of all machines. Exit code 2: some of its parts are not in them.
    """
    from comity.cli import pages as command

    return command.show(folders, bodies=bodies, store=store)


@click.command()
@FOLDERS
@STORE
@click.option("--hash", "noted", metavar="HEX", help="The last hash of the ledger, if you stored it elsewhere.")
@click.option("--sealed-by", metavar="KEYID", help="The key that must have sealed it, if you stored that elsewhere.")
@click.option("--authority", metavar="FILE", type=PATH, help="Certificates of the authority that stamped it, as PEM.")
@JSON
def prove(folders: tuple[Path, ...], as_json: bool, **how: Any) -> Exit:
    """Check a finished crawl against its ledger, offline, and name any record that breaks the rules.

    Of a crawl in PostgreSQL name the folders of all machines; of it the store is asked how far it was committed.
    Exit code 0: everything holds, 1: something does not, or is missing.
    """
    from comity.cli import prove as command

    return command.show(folders, as_json=as_json, **how)


@click.command()
@FOLDERS
@STORE
@option_for("identity", metavar="DIR", help="The identity that seals (comity identity new).")
@click.option("--authority", metavar="URL", help="Time-stamp authority that stamps the signature (RFC 3161).")
@CONFIG
@ALLOW_ADDRESS
def seal(folders: tuple[Path, ...], store: str | None, authority: str | None, **options: Any) -> Exit:
    """Sign the last hash of a crawl's ledger, once it is proved: seal.json shows that nothing was changed since.

    Exit code 1: it is not proved, so not sealed.
    """
    from comity.audit.prove import prove
    from comity.audit.seal import FILE, seal
    from comity.crawler.sinks import wacz
    from comity.signatures.folder import signing_key

    configuration, now = loaded(**options), time.time()
    if configuration.client.identity is None:
        raise InvalidSetting("identity: name the one that seals, by --identity DIR")
    identity, key = signing_key(Path(configuration.client.identity), now)
    proof = prove(folders, store=store, seals=False)
    if not proof.holds:
        complain(f"not sealed, for it is not proved: {proof.findings[0]}; comity prove says more")
        return Exit.FATAL
    how: Any = {"policy": configuration.policy, "settings": configuration.client}
    seal(folders[0], proof.hash, identity, key, now, authority=authority, **how)
    if (folders[0] / wacz.FILE).exists():
        wacz.pack(folders[0])
    say(f"sealed {proof.hash} in {folders[0] / FILE}, by the key {key.public.thumbprint}")
    return Exit.DONE


@click.command()
@FOLDERS
@STORE
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=PATH,
    default=Path("report.html"),
    help="The file to write.  [report.html]",
)
def report(folders: tuple[Path, ...], store: str | None, output: Path) -> Exit:
    """Write a report of a crawl as one HTML page, for screen and print.

    Of a crawl in PostgreSQL name the folders of all machines.
    """
    from comity.audit.report import write

    for words in write(folders, output, store=store):
        complain(f"{words}; comity prove says more")
    say(f"report in {output}")
    return Exit.DONE
