"""A crawl started or resumed from the command line: built from the options, run, and summarised."""

import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from comity._ray import joined
from comity.cli import process
from comity.cli.exits import Exit
from comity.cli.input_files import read, urls_in
from comity.cli.logs import logging_to
from comity.cli.metrics import serving
from comity.cli.options import as_option, as_typed, is_typed, loaded, refuse
from comity.cli.summary import is_blocked, print_summary, resume_command
from comity.cli.systemd import units
from comity.cli.terminal import error_line, nonblocking, print_out
from comity.configuration import PREFIX, Configuration, CrawlJob, every_setting
from comity.crawler import Crawler, CrawlSettings
from comity.crawler.cluster.worker_process import COMMAND
from comity.crawler.cluster.workers import LEASE_SECONDS, Workers
from comity.crawler.crawler import ChosenPlugins
from comity.crawler.observe.stats import shown
from comity.crawler.output.formats import FORMATS
from comity.crawler.output.plugins import SchemaExpander, look_in
from comity.crawler.output.runner import DEFAULT
from comity.crawler.run import checkpoint
from comity.crawler.run.checkpoint import RightsNotGiven, rights_in
from comity.crawler.run.recrawl import not_begun
from comity.crawler.storage.folder import FolderStorage, due
from comity.crawler.storage.manifest import stored_in
from comity.crawler.storage.open_crawl import open_crawl
from comity.crawler.storage.stored_config import OF_THE_RUN, StoredConfig, settings_to_dict
from comity.errors import ComityError, InvalidSetting, StorageError
from comity.frontier.durable import writing_to
from comity.net import ClientSettings
from comity.policy import Policy
from comity_pages.urls import host as host_of
from comity_pages.urls import normalise
from comity_robots._forms import lacks_compiled
from comity_robots.fields import SettingField, settings_of

if TYPE_CHECKING:
    from comity.crawler.cluster.worker_process import Start

INTERPRETED: Final = (
    "modules are interpreted, which costs several times the CPU: comity was installed without a C compiler, or from "
    "the wheel that pip kept of such a time (with one: pip cache remove comity* && "
    "pip install --force-reinstall --no-deps comity comity-pages comity-robots; "
    "COMITY_NO_EXTENSIONS=1 hides this line)"
)
DEMO_DELAY_SECONDS: Final = 0.2  # seconds; the demo site is ours
_ALWAYS_SHOWN: Final = frozenset(("agent", "min_interval", "mode"))  # first of what a crawl goes on with
_DUE: Final = {"begin": "beginning the crawl in", "resume": "resuming the crawl in", "refresh": "refreshing"}
_LEASE: Final = SettingField(name="--lease", hint=float, unit="seconds")


class CrawlOptions(SimpleNamespace):
    """The options of `comity crawl` that are not settings, by the names that commands/crawl.py gives them."""

    def check(self) -> None:
        """Raise an error if options contradict each other."""
        if self.sink is not None and self.form is not None:
            raise click.UsageError("--format and --sink exclude each other")
        if self.compress is not None and (self.sink is not None or self.form not in (None, "jsonl")):
            raise click.UsageError("--compress packs JSON Lines: leave out --sink, and any other --format than jsonl")
        if self.schema is not None and self.expander is not None:
            raise click.UsageError("--schema and --expander exclude each other")
        if is_typed("render") and is_typed("render_auto"):
            raise click.UsageError("--render and --render-auto exclude each other")
        if self.resume and self.refresh:
            raise click.UsageError("--resume and --refresh exclude each other")
        if self.store is None and (self.join or self.lease is not None):
            raise click.UsageError("--join and --lease are about a crawl in PostgreSQL: add --store URL")
        if self.store is not None and self.source is not None:
            raise click.UsageError("--source is not possible with --store")
        if self.join and self.mode:
            raise click.UsageError("--join excludes --resume and --refresh: it takes part in what one of them begins")
        if self.address is not None and self.engine != "ray":
            raise InvalidSetting("--address names a Ray cluster: add --engine ray")
        if self.demo and (self.url or self.urls or self.mode):
            raise InvalidSetting(
                "--demo starts its own web site and cannot be combined with a URL, --resume or --refresh"
            )

    def take(self, job: CrawlJob, file: object) -> None:
        """Take over what a settings file says of the crawl, where nothing was typed in its place."""
        said = {"folder": job.output, "urls": job.urls, "log": job.log, "report": job.report}
        found: dict[str, Any] = {name: None if value is None else Path(value) for name, value in said.items()}
        found["metrics"] = job.metrics
        now = vars(self)
        now |= {name: value for name, value in found.items() if now[name] is None}
        now["url"] = (*now["url"], *job.seeds)
        now["ok_if_some_failed"] |= job.ok_if_some_failed
        if not is_typed("workers"):
            self.workers = job.workers
        if job.format is not None and self.format is None:
            if job.format not in FORMATS:
                raise InvalidSetting(f"{file}: format: {job.format!r} is not one of {', '.join(FORMATS)}")
            now["form"] = job.format

    @property
    def mode(self) -> str | None:
        """The option that continues a crawl: `--resume`, `--refresh` or None."""
        return "--resume" if self.resume else "--refresh" if self.refresh else None

    @property
    def format(self) -> str | None:
        """The output format, or the plug-in that writes it."""
        packed = {"gzip": "jsonl.gz", "zstd": "jsonl.zst"}  # as --format may say it too
        form: str | None = self.sink or (self.form if self.compress is None else packed[self.compress])
        return form

    @property
    def expander_name(self) -> str | None:
        """The plug-in that extracts records from pages."""
        if self.schema is None:
            plugin: str | None = self.expander
            return plugin
        return SchemaExpander(read(self.schema).decode("utf-8-sig", "replace")).name

    def plugins(self, expander: str | None) -> ChosenPlugins:
        """The plug-ins given on the command line, by kind."""
        return {"source": self.source, "expander": expander, "sink": self.format}


def run_crawl(given: dict[str, Any]) -> Exit:
    """Build the crawl that the options describe, run it to its end and print the summary."""
    settings = {name: value for name, value in given.items() if name == "config" or name in every_setting()}
    typed = CrawlOptions(**{name: value for name, value in given.items() if name not in settings})
    typed.check()
    expander = typed.expander_name
    configuration = loaded(**settings)
    if typed.print_systemd:
        return _print_units(configuration, *given.keys() - {"config", "print_systemd", "quiet"})
    if configuration.job is not None:
        typed.take(configuration.job, configuration.job_file)
        if typed.folder is not None and typed.mode is None and not (typed.join or typed.demo or typed.store):
            word = due(typed.folder)
            if word == "begin" and not (typed.url or typed.urls or typed.source):
                raise InvalidSetting(
                    f"{configuration.job_file} names no URL", hint='write for example seeds = ["https://example.com/"]'
                )
            typed.resume, typed.refresh = word == "resume", word == "refresh"
            if not typed.quiet:
                error_line(f"{configuration.job_file}: {_DUE[word]} {typed.folder}")
    seeds = [*map(normalise, typed.url), *(urls_in(typed.urls) if typed.urls is not None else ())]
    console = Console(stderr=True)
    try:
        look_in(Path.cwd())  # plug-ins are found where the command is run
    except OSError as error:
        raise StorageError(f"the current folder cannot be used: {error.strerror}", hint="change to one") from error
    with ExitStack() as stack:
        crawler, client_settings, notes = _crawler(typed, expander, configuration, seeds, stack)
        there = crawler.folder.is_dir()
        own = typed.store is None and not (there and any(crawler.folder.iterdir()))
        quiet = typed.quiet
        if typed.report is not None:
            from comity.audit.report import write  # late: few want one, and it takes time; but before the crawl

            _check_writable(typed.report, crawler.folder)
        shown_on = console if typed.verbose else None
        stack.enter_context(logging_to(typed.log, shown_on, level=process.level_of(typed.verbose)))
        if typed.metrics is not None:
            served = stack.enter_context(serving(crawler, typed.metrics))
            if not quiet:
                error_line(f"metrics at {served}")
        if typed.dashboard is not None:
            from comity.web.serving import dashboard  # late: needs an extra

            where = typed.store or str(crawler.folder)
            page = stack.enter_context(dashboard(where, typed.dashboard, crawler.policy, client_settings))
            error_line(f"dashboard at {page}")
        if lacks_compiled() and not quiet:
            error_line(INTERPRETED)
        stats = process.run(crawler, None if typed.as_json or quiet else console, partial(_print_notes, *notes))
    # Who ended it does not wait for a terminal that hangs.
    with nonblocking("stdout") if crawler.stopped else nullcontext():
        some_may_fail = typed.ok_if_some_failed
        variables, options = _words_to_resume(crawler, configuration, typed.plugins(expander))
        again = None if typed.demo else resume_command(crawler, variables, options)
        code = print_summary(crawler, stats, as_json=typed.as_json, again=again, ok_if_some_failed=some_may_fail)
        if typed.report is not None:
            for words in write(crawler.folder, typed.report, store=typed.store):
                error_line(words)
            if typed.as_json:
                error_line(f"report in {typed.report}")
            else:
                print_out(f"{'report in':20}{'':>12}  {typed.report}")
        if own and is_blocked(crawler) and not any(map(partial(_is_within, crawler.folder), (typed.log, typed.report))):
            shutil.rmtree(crawler.folder, ignore_errors=True)  # so that the next command, with the address, begins it
            if there:
                crawler.folder.mkdir(exist_ok=True)
            error_line(f"{crawler.folder} is as it was before: nothing of the crawl is kept")
        return code


def _print_units(configuration: Configuration, *others: str) -> Exit:
    """Print systemd's units for the crawl that a settings file describes; `others`: options that are not in them."""
    job = configuration.job
    if job is None or job.output is None or not (job.seeds or job.urls):
        raise InvalidSetting(
            "--print-systemd needs a settings file that says the whole crawl",
            hint="write seeds and output into crawl.toml, then: comity crawl -c crawl.toml --print-systemd",
        )
    refuse("is not in the units, which run what the file says: write it there, or into ExecStart", *others)
    click.echo(units(Path(configuration.job_file)))
    return Exit.DONE


def _is_within(folder: Path, file: Path | None) -> bool:
    return file is not None and file.resolve().is_relative_to(folder.resolve())


def _crawler(
    typed: CrawlOptions, expander: str | None, configuration: Configuration, seeds: list[str], stack: ExitStack
) -> tuple[Crawler, ClientSettings, Sequence[str]]:
    """Return the crawl, its client settings, and lines to print once it has begun; what it needs is on the stack."""
    policy, settings, client_settings = configuration.policy, configuration.crawl, configuration.client
    folder, store, again, join, shards = typed.folder, typed.store, typed.mode, typed.join, typed.shards
    if client_settings.connections < settings.concurrency:
        client_settings = replace(client_settings, connections=settings.concurrency)
    if typed.demo:
        from comity.demo import serve  # late: only here

        try:
            site = stack.enter_context(serve())
        except OSError as error:
            what = error.strerror or error
            raise ComityError(f"--demo: its web site cannot be served on this machine: {what}") from error
        seeds = [normalise(seed) for seed in site.seeds]
        policy = policy.with_changes(allow_addresses=(*policy.allow_addresses, "127.0.0.0/8"))
        if configuration.settings["min_interval"].origin == "default":
            policy = policy.with_changes(min_interval=DEMO_DELAY_SECONDS)
        client_settings = replace(client_settings, resolve=site.resolve)
    if join and (settled := _options_settled_by_the_crawl(configuration, typed.lease)):
        raise InvalidSetting(f"--join takes part in a crawl as it was begun: leave out {', '.join(settled)}")
    storage = None if store is not None or folder is None else FolderStorage(folder)
    begun = StoredConfig() if storage is None else storage.config()
    if not seeds and not again and not join and typed.source is None and not begun.is_there:
        raise InvalidSetting("no URL given: write for example: comity crawl https://example.com/")
    goes_on = limits = ""
    folder = _parts_folder(folder, seeds) if store is not None else _folder(folder, seeds, again, begun)
    given: CrawlSettings | Mapping[str, Any] = settings
    if again:
        if store is not None:
            begun = open_crawl(store).config()
        _check_rights(begun, store or folder, configuration, typed.plugins(expander))
        policy, goes_on = _resumed_policy(begun.policy, configuration)
        given, limits = _settings_for_run(begun, configuration, expander)
    form = typed.format or begun.plugins.get("sink", DEFAULT)
    for name in ("raw", "requisites") if form not in ("warc", "wacz") else ():
        if is_typed(name) and configuration.settings[name].value not in (False, "none"):
            raise InvalidSetting(f"--{name} is for archives: add --format warc or wacz, in the place of {form}")
    if typed.engine == "ray" and store is None and shards is None and begun.manifest is None:
        shards = Workers(typed.workers).new_shards  # one worker is placed as several are
    workers = Workers(
        typed.workers,
        shards,
        store,
        how="join" if join else "resume" if typed.resume else "begin",
        lease=LEASE_SECONDS if typed.lease is None else _LEASE.checked(_LEASE.read(typed.lease)),
        command=(*COMMAND, *("-v",) * typed.verbose, *(() if typed.log is None else ("--log", str(typed.log)))),
        on_notice=error_line,
    )
    if typed.engine == "ray":
        on_ray = _on_ray(typed.address, typed.workers, typed.verbose, typed.log, anywhere=store is not None)
        workers = replace(workers, start=stack.enter_context(on_ray))
    crawler = Crawler(
        seeds,
        storage or folder,
        policy=policy,
        settings=given,
        client_settings=client_settings,
        plugins=typed.plugins(expander),
        refresh=typed.refresh,
        workers=workers,
    )
    return crawler, client_settings, (goes_on, limits)


@contextmanager
def _on_ray(address: str | None, workers: int, verbose: int, log: Path | None, *, anywhere: bool) -> Iterator["Start"]:
    """Start workers as Ray actors; the Ray cluster is joined for the duration."""
    from comity.crawler.cluster.on_ray import ray_starter

    prepare = partial(process.prepare, Path.cwd(), verbose, None if log is None else log.absolute())
    with joined("--engine ray", address, processors=workers, logs=verbose > 0) as ray:
        yield ray_starter(ray, prepare=prepare, anywhere=anywhere)


def _print_notes(*lines: str) -> None:
    for line in filter(None, lines):
        error_line(line)


def _parts_folder(folder: Path | None, seeds: list[str]) -> Path:
    """Return the folder where this machine keeps its parts of a crawl in PostgreSQL."""
    if folder is not None and stored_in(folder) is None and FolderStorage(folder).config().is_there:
        raise StorageError(f"{folder} already contains a crawl of its own", hint="choose another folder with -o")
    return folder or _folder(None, seeds, None, StoredConfig())


def _folder(folder: Path | None, seeds: list[str], again: str | None, begun: StoredConfig) -> Path:
    if folder is None:
        if again:
            raise InvalidSetting(f"{again} needs the folder of the crawl: -o DIR")
        host = host_of(seeds[0]).strip("[]").replace(":", "-") + "-" if seeds else ""  # Windows allows no colon
        return Path(f"crawl-{host}{time.strftime('%Y%m%d-%H%M%S')}")
    if begun.is_there and not again:
        raise StorageError(
            f"{folder} already contains a crawl", hint="add --resume to continue it, --refresh to see what changed"
        )
    if again and not begun.is_there:
        raise not_begun(folder, again.removeprefix("--"))
    return folder


def _check_writable(file: Path, folder: Path) -> None:
    """Check before the crawl that a file can be written after it."""
    if file.parent == folder and not file.is_dir():
        return
    before = file.exists()
    with writing_to(file, "name another --report FILE"):
        file.open("ab").close()
        if not before:
            file.unlink()


def _check_rights(begun: StoredConfig, where: object, configuration: Configuration, plugins: ChosenPlugins) -> None:
    """Raise RightsNotGiven if a resumed crawl would have rights that this command does not give."""
    given = configuration.stated | {kind for kind, name in plugins.items() if name is not None}
    rights = rights_in(begun, configuration.policy, configuration.crawl, given)
    if not rights:
        return
    variables, words = _as_options(rights)
    command = " ".join((*variables, shlex.join(("comity", *sys.argv[1:], *words))))
    begun_with = " ".join((*variables, *map(quote, words)))
    raise RightsNotGiven(where, rights, begun_with, f"if that is what you want, type: {command}")


def _words_to_resume(
    crawler: Crawler, configuration: Configuration, plugins: ChosenPlugins
) -> tuple[list[str], list[str]]:
    """Return the variables and options that must be typed again to resume: rights that no folder can give and no
    variable in force gives."""
    named = {kind: str(name) for kind, name in plugins.items() if name is not None}
    begun = StoredConfig(True, crawler.policy, settings_to_dict(crawler.settings), 0, named)
    in_force = [name for name, each in configuration.chosen.items() if each.origin.startswith(PREFIX)]
    return _as_options(rights_in(begun, Policy(), CrawlSettings(), in_force))


def _as_options(rights: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Format settings and plug-ins as options, or as variables where no option exists."""
    words: list[str] = []
    variables: list[str] = []
    for name, value in rights.items():
        if name not in every_setting():
            words += [f"--{name}", value]
        elif (typed := as_option(name, value)) is not None:
            words += typed
        else:
            variables.append(f"{PREFIX}{name.upper()}={quote(every_setting()[name].written(value))}")
    return variables, words


def _resumed_policy(policy: Policy | None, configuration: Configuration) -> tuple[Policy, str]:
    """Return the stored policy, changed by the command line and reduced to what is allowed now, and a line that
    describes it."""
    now, stated = configuration.policy, configuration.stated
    if policy is None:
        return now, ""
    for name, each in settings_of(Policy).items():
        allows = name not in checkpoint.AGENT_FIELDS and each.grants(getattr(policy, name), getattr(now, name))
        if name in configuration.arguments or (name in stated and allows):
            policy = policy.with_changes(**{name: getattr(now, name)})
    others = [name for name in settings_of(Policy) if getattr(policy, name) != getattr(now, name)]
    if not others:
        return policy, ""
    pace = f"{policy.min_interval:g} s between requests to a host, mode {policy.mode}"
    changes = [
        f"{name} {every_setting()[name].written(getattr(policy, name))}" for name in others if name not in _ALWAYS_SHOWN
    ]
    return policy, f"resuming with the earlier settings: {shown(', '.join((policy.agent, pace, *changes)))}"


def _settings_for_run(
    before: StoredConfig, configuration: Configuration, expander: str | None
) -> tuple[dict[str, Any], str]:
    """Return the settings given for this run, and a line that names the earlier options it keeps."""
    now, typed = configuration.crawl, configuration.arguments.keys()
    begun = checkpoint.stated_settings(CrawlSettings(**before.settings))
    kept = {name: value for name, value in begun.items() if name not in typed or (name == "exclude" and now.exclude)}
    words = [word for name, value in kept.items() for word in as_typed(name, value)]
    if expander is None and "expander" in before.plugins:
        words.append("and the schema")  # code would have to be given again
    given = {
        name: getattr(now, name)
        for name, each in settings_of(CrawlSettings).items()
        if name in typed | OF_THE_RUN or (name in configuration.stated and not each.stricter)
    }
    return given, f"keeping the earlier options: {shown(' '.join(words))}" if words else ""


def _options_settled_by_the_crawl(configuration: Configuration, lease: str | None) -> list[str]:
    """Return the given options that a joining process cannot change, because the crawl settled them when it began."""
    settled = (settings_of(Policy).keys() | settings_of(CrawlSettings).keys()) - OF_THE_RUN
    options = [as_typed(name, value)[0] for name, value in configuration.arguments.items() if name in settled]
    return options + ["--lease"] * (lease is not None)
