"""`comity fetch`: one page as Markdown for people, or the whole with its evidence as JSON."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comity import client
from comity.cli.exits import Exit
from comity.cli.input_files import read
from comity.cli.options import ASKING, FILE, JSON, PATH, PRESET, PURPOSE, argument, command, loaded, option, refuse
from comity.cli.terminal import error_line, safe
from comity.errors import BadStatus, RobotsDisallowed, RobotsUnreachable
from comity.frontier.durable import write_named
from comity.http_rules import GONE, is_temporary

if TYPE_CHECKING:
    from comity.retrieve import Retrieved
    from comity_pages.schemas import Schema, SelectedRecords


@command("Fetch and crawl")
@argument("url", "URL")
@option(
    "--strategy",
    ("prefer", "force", "disabled"),
    "Take the URL that the site's llms.txt offers for the page: prefer (if there is one), force (nothing else), "
    "disabled (never).",
    default="prefer",
)
@option("--content", ("main", "all"), "Convert the main content, or all visible text.", default="main")
@option("-o --output", "FILE", "Where to write it.", type=PATH, otherwise="standard output")
@option(
    "--with pieces",
    ("sections", "chunks", "links", "images", "tables"),
    "Add these parts of the page to --json.",
    multiple=True,
)
@option("--max-tokens", "N", "Tokens of a chunk.", type=click.IntRange(32), default=512)
@option("--schema", "FILE", "Print the records that these CSS selectors (JSON) make of the page.", type=FILE)
@PRESET
@PURPOSE
@ASKING
@JSON
def fetch(
    url: str,
    strategy: Any,
    content: Any,
    output: Path | None,
    pieces: Any,
    max_tokens: int,
    schema: Path | None,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Fetch one page as Markdown.

    Notes about the page go to standard error. Exit code 0: done, 1: not available, 2: disallowed, 3: the site could
    not be reached.
    """
    import asyncio

    from comity.retrieve import retrieve
    from comity_pages.schemas import Schema

    if pieces and not as_json:
        raise click.UsageError("--with adds to --json")
    if schema is not None and (as_json or strategy == "force"):
        given = "--json" if as_json else "--strategy force"
        raise click.UsageError(f"--schema prints the records of the page itself; leave out {given}")
    if schema is not None:
        refuse("has no effect on the records of --schema", "content")
    if "chunks" not in pieces:
        refuse("goes with --with chunks", "max_tokens")
    configuration = loaded(**options)
    selecting = None if schema is None else _Selecting(Schema(read(schema).decode("utf-8-sig", "replace")))

    async def retrieved() -> "Retrieved":
        how: Any = "disabled" if selecting else strategy  # what llms.txt offers has no elements to select
        async with client.AsyncClient(configuration.policy, configuration.client) as opened:
            return await retrieve(opened, url, strategy=how, content=content, extractor=selecting)

    try:
        result = asyncio.run(retrieved())
    except RobotsUnreachable:
        raise
    except RobotsDisallowed as error:
        error_line(str(error))
        return Exit.PARTLY
    except BadStatus as error:
        error_line(str(error))
        return Exit.NOT_READY if is_temporary(error.status) else Exit.FATAL
    if selecting is not None and selecting.found is None:
        error_line(f"{result.url} is {result.media_type}: a schema selects from HTML")
        return Exit.FATAL
    walled = result.kind != "page" and not result.markdown
    text = json.dumps(result.to_dict(pieces, max_tokens), indent=2) + "\n" if as_json else result.markdown
    if output is not None:
        write_named(output, text.encode("utf-8", "surrogatepass"))
    elif as_json:
        click.echo(text, nl=False)
    elif selecting is not None:
        _print(text)
    elif not walled:
        _print(text if text.endswith("\n") else text + "\n")
    for line in (*_warnings(result), *_hidden(result)) if selecting else () if as_json else _notes(result):
        error_line(line)
    if selecting is not None:
        return selecting.end(result.url)
    return Exit.FATAL if walled else Exit.DONE


class _Selecting:
    """An extractor that returns the records of a page, a line of JSON each."""

    def __init__(self, schema: "Schema") -> None:
        self._schema = schema
        self.found: SelectedRecords | None = None

    def __call__(self, html: str, url: str) -> str:
        self.found = self._schema.read(html, url)
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.found.records)

    def end(self, url: str) -> Exit:
        """Print how the page does not fit the schema; return the exit code."""
        if self.found is None or self.found.misfit is None:
            return Exit.DONE
        error_line(f"{url} does not fit the schema: {self.found.misfit}")
        return Exit.PARTLY


def _print(text: str) -> None:
    """Print text: escaped on a terminal, as it is in UTF-8 elsewhere."""
    if sys.stdout.isatty():
        data = safe(text, lines=True).encode(sys.stdout.encoding, "replace")
    else:
        data = text.encode("utf-8", "surrogatepass")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _notes(result: "Retrieved") -> list[str]:
    chosen = result.evidence.considered[-1]
    why = f" ({chosen.reason.replace('_', ' ')})" if chosen.reason != "original" else ""
    notes = [f"{result.url}{why}, {result.media_type}, quality {result.quality.score:.2f}"]
    if result.kind != "page":
        what = "an empty page" if result.kind == "empty" else f"no page, but a {result.kind.replace('_', ' ')}"
        notes.append(f"{what}: {result.reason}")
    notes += [
        f"llms.txt: {manifest.problem}"
        for manifest in result.evidence.manifests
        if manifest.kind == "llms.txt" and manifest.problem and manifest.status not in GONE
    ]
    notes += [f"quality: {reason.message}" for reason in result.quality.reasons]
    notes += _warnings(result)
    if result.left_out:
        parts = ", ".join(f"{each.place} {each.words}" for each in result.left_out)
        notes.append(f"left out (number of words): {parts}; use --content all to keep them")
    return [*notes, *_hidden(result)]


def _warnings(result: "Retrieved") -> list[str]:
    return [f"warning: {warning.message}" for warning in result.warnings]


def _hidden(result: "Retrieved") -> list[str]:
    own = result.evidence.conversion == "extractor"  # it may have kept what we would have left out
    notes = [
        f"hidden text{'' if each.kept or own else ', left out'}: {each.message} «{each.excerpt}»"
        for each in result.hidden[:10]
    ]
    if len(result.hidden) > 10:
        notes.append(f"hidden text: {len(result.hidden) - 10} more passages; use --json to see all")
    return notes
