"""Makes an export of what a crawl has committed, while it runs or afterwards: a file or folder in another format."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from comity.crawler.output.columns import Fields, stated
from comity.crawler.output.formats import EXPORTS, FORMATS
from comity.crawler.output.plugins import BY_SCHEMA, SchemaExpander
from comity.crawler.output.runner import read_back
from comity.crawler.output.source import Source, SourcePart
from comity.crawler.output.targets import opened, put
from comity.crawler.storage.crawl_output import CrawlOutput
from comity.crawler.storage.open_crawl import open_output
from comity.digests import sha256_of
from comity.errors import ComityError, InputError, InvalidSetting
from comity.files import open_regular, read_regular

Read: TypeAlias = Callable[[str], bytes | None]


def export(
    output: CrawlOutput,
    to: str,
    where: str,
    *,
    since: int = 0,
    on_source: Callable[[Source], Source] = lambda source: source,
) -> dict[str, Any]:
    """Export a crawl to a file, a folder or a URL; gives the manifest. What is there of an earlier export is replaced,
    once the new one is whole; parts that are not there are left out.

    Args:
        to: the name of an export; `since`: the first refresh whose records are wanted.
        on_source: told of what is read, before; it may give it another `on_record`.

    Raises:
        InvalidSetting: it cannot be made of the crawl's log, or a library is missing.
        StorageError: the log is damaged or incomplete, or something else is in its place.
    """
    form = EXPORTS[to]
    write, source = form.writer(to), _source(output, since)
    logs = {part.format for part in source.parts}
    if form.needs_log and (since or any(FORMATS[each].module != FORMATS[form.log].module for each in logs)):
        what = f"to: {to} is made of a whole log in {form.log}"
        if since:
            raise InvalidSetting(what, hint="leave out --since")
        raise InvalidSetting(f"{what}, and that is in {', '.join(logs)}", hint=f"crawl with --format {form.log}")
    if to == "files" and "markdown" in logs:
        raise InvalidSetting("to: a log in markdown does not keep the pages as they were served")
    seals = [sha256_of(read_regular(path)) for part in source.parts if (path := part.path / "seal.json").exists()]
    how = {"since": since, "seals": seals}
    return put_export(output, to, where, lambda path, _: write(on_source(source), path), form.is_file, **how)


def put_export(
    output: CrawlOutput, to: str, where: str, write: Callable[[Path, Read], None], is_file: bool = True, **how: Any
) -> dict[str, Any]:
    """Have an export of a crawl in its place, if it is not there already; `how` it is made tells it from another.
    `write` is handed a path, and what reads a file beside the place."""
    of = {part.name: [part.format, part.committed, part.ledger] for part in _source(output, 0).parts}
    made_of = json.loads(json.dumps({"crawl": crawl_in(output), "to": to, **how, "of": of}))
    root, name = where.rstrip("/"), ""
    if is_file:
        root, slash, name = root.rpartition("/")
        root = root or slash or "."
    with opened(root) as (target, work):
        return put(target, work, name, made_of, lambda path: write(path, target.read))


def export_at_end(folder: Path, form: str, store: str | None) -> None:
    """What `--format` names is made of the log, at the end of a run."""
    if form in FORMATS and (its := FORMATS[form].export) is not None:
        where = (folder / its.place).as_posix()
        try:
            output = open_output(folder, store)
            if store is None or any(part.absent is None for part in output.parts):  # a machine may have had no shard
                export(output, form, where)
        except ComityError as error:
            hint = f"the crawl's log is safe; then: comity export {folder} --to {form} -o {where}"
            raise type(error)(*error.args, hint=f"{error.hint}; {hint}" if error.hint else hint) from error


def crawl_in(output: CrawlOutput) -> str:
    """What tells a crawl from all others, by its ledger; an InputError says that nothing of it is committed."""
    for part in output.parts:
        if part.absent is None and part.ledger.exists():
            with open_regular(part.ledger) as lines:
                try:
                    return str(json.loads(lines.readline(1 << 20))["crawl"])
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue
    raise InputError(f"{output.name}: nothing of the crawl is committed yet")


def _source(output: CrawlOutput, since: int) -> Source:
    if since > (last := output.refresh):
        raise InputError(f"{output.name} has no refresh {since}: {f'its last is {last}' if last else 'it has none'}")
    parts: list[SourcePart] = []
    fields: Fields = {}
    for part in (each for shard in output.there for each in shard):
        part.check_begun()
        if (ledger := (state := part.state()).get("ledger")) is None:
            continue
        form, committed = (sink := state.get("sink") or {}).get("name", ""), sink.get("committed") or {}
        if form not in FORMATS:
            raise InvalidSetting(f"{part.path} was written by the plug-in {form}, which cannot be read back")
        read = partial(read_back, part.path, form, committed)
        parts.append(SourcePart(part.path, part.name, form, committed, ledger["length"], ledger["written"], read))
        expander = str((state.get("plugins") or {}).get("expander"))
        if expander.startswith(BY_SCHEMA):
            fields = stated(SchemaExpander(expander.removeprefix(BY_SCHEMA)).columns)
    return Source(Path(output.name).resolve().name, parts, since, fields)
