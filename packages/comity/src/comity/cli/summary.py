"""Prints the summary of a crawl (what was done, where it is, what to do next) and chooses the exit code."""

import json
from collections.abc import Iterator
from shlex import quote
from typing import Final

from rich.console import Console
from rich.text import Text

from comity.audit.broken import failed  # here: the package may be replaced while the crawl runs
from comity.cli.exits import Exit
from comity.cli.terminal import error_line, safe
from comity.crawler import Crawler, Stats
from comity.crawler.crawl_settings import limits
from comity.crawler.finding.limits import COUNTED
from comity.crawler.observe.stats import size
from comity.crawler.observe.words import FAILED, NO_ROBOTS, QUEUED, REFUSED
from comity.crawler.output.formats import FORMATS
from comity.crawler.run import checkpoint
from comity.policy import Policy

_MAX_FAILED_SHOWN: Final = 5  # that are named
_IF_ANY: Final = (
    "skipped by type", "payment required", NO_ROBOTS, QUEUED, "known, not fetched", "out of scope", "nofollow",
    "requisites", "damaged sitemaps", "without rules", "robots.txt cut", "soft 404", "challenges", "misfit",
)  # fmt: skip


def print_summary(
    crawler: Crawler,
    stats: Stats,
    *,
    as_json: bool,
    again: str | None = None,
    ok_if_some_failed: bool = False,
) -> Exit:
    """Print the summary. `again`: the command that resumes the crawl; None if it cannot be resumed.
    `ok_if_some_failed`: failed pages leave the exit code at 0 if anything was fetched."""
    end = crawler.end
    if as_json:
        found = {"folder": str(crawler.folder), **stats.to_dict(), "left": end.left, "ended": _ended(crawler)}
        found |= {"unasked": end.unasked} if crawler.refreshes else {}
        print(json.dumps(found | {"limits": checkpoint.changed_settings(crawler.settings)}))
    else:
        changes = (
            ("new", stats.new, _where(crawler, "changes")),
            ("changed", stats.changed, ""),
            ("gone", stats.gone, ""),
            ("unchanged", stats.unchanged, ""),
        )
        counts = (
            *(changes if crawler.refreshes else ()),
            ("pages", stats.pages, _where(crawler, "pages")),
            (REFUSED, stats.refused, _where(crawler, "refusals")),
            ("skipped as traps", stats.trapped, _where(crawler, "traps")),
            ("skipped by type", stats.unwanted, _where(crawler, "unwanted")),
            (FAILED, stats.failed, _where(crawler, "failures")),
            ("payment required", stats.unpaid, "of the failed; comity never pays"),
            (NO_ROBOTS, stats.postponed, "which is unreachable"),
            (QUEUED, end.left, _more(crawler, again)),
            ("known, not fetched", end.unasked, "first in the next refresh"),
            ("out of scope", stats.outside, "links, by scope, patterns or depth"),
            ("nofollow", stats.nofollow, "links that were not followed"),
            ("requisites", stats.requisites + stats.requisites_failed, _requisites(stats)),
            ("redirects", stats.redirects, _where(crawler, "redirects")),
            ("duplicates", stats.duplicates, f"marked in {_where(crawler, 'pages')}"),
            ("damaged sitemaps", stats.sitemaps_cut, f"not read to their end; {_where(crawler, 'sitemaps')}"),
            ("without rules", stats.without_rules, f"hosts: robots.txt is 403, HTML, ...; {_where(crawler, 'robots')}"),
            (
                "robots.txt cut",
                stats.robots_cut,
                f"hosts: read to the limit, not the rest; {_where(crawler, 'robots')}",
            ),
            ("soft 404", stats.soft_404, "pages that say they are not there"),
            ("challenges", stats.challenges, "answers that check the visitor, not the page: a bot wall"),
            ("misfit", stats.misfit, "pages that do not fit the schema"),
        )
        ended = (
            ("stopped", "before the queue was empty; so the exit code is 130")
            if crawler.stopped
            else ("finished", _ended(crawler))
        )
        agent = crawler.policy.agent
        rows = (
            *((name, f"{count:,}", where) for name, count, where in counts if count or name not in _IF_ANY),
            ("size of pages", size(stats.body_bytes), ""),
            ("time spent on delays", f"{stats.waited:,.1f} s", "sum over hosts"),
            (ended[0], "", ended[1]),
            *((("User-Agent", "", f"{agent} (default; set yours with --agent)"),) if agent == Policy().agent else ()),
            ("results in", "", str(crawler.folder)),
        )
        console = Console(highlight=False, soft_wrap=True)
        for name, value, where in rows:
            what = (f"  {safe(where)}" if where else "", "dim" if value else "")
            console.print(Text.assemble(f"{name:22}", (f"{value:>10}", "bold"), what))
            for words in _broken(crawler, stats) if name == FAILED else ():
                console.print(safe(words), markup=False, style="dim")
            if name == FAILED and stats.failed and not (ok_if_some_failed or crawler.stopped):
                console.print("  so the exit code is 2; --ok-if-some-failed makes it 0", style="dim")
    code = _conclude(crawler, stats, again)
    return Exit.DONE if code is Exit.PARTLY and ok_if_some_failed and stats.reached else code


def _ended(crawler: Crawler) -> str:
    if crawler.stopped:
        return "stopped"
    if crawler.end.limit_reached:
        return crawler.settings.budget.in_words(crawler.end.limit_reached)
    if crawler.end.deferred:
        return crawler.end.deferred
    if not crawler.end.left:
        return "the queue is empty" + ("; the rest waits for robots.txt" if crawler.stats.postponed else "")
    return "hosts have reached their limits" if _lifted(crawler) else "nothing more can be fetched now"


def _requisites(stats: Stats) -> str:
    failed = f"; {stats.requisites_failed:,} failed" if stats.requisites_failed else ""
    return f"images, style sheets, scripts, fonts of pages{failed}"


def _broken(crawler: Crawler, stats: Stats) -> Iterator[str]:
    """Yield lines for the first failed URLs, and the command that lists all."""
    if not stats.failed or crawler.store is not None:
        return
    links = failed(crawler.folder)
    for link in links[:_MAX_FAILED_SHOWN]:
        yield f"  {link.url}  {link.why}" + (f", linked from {link.pages[0]}" if link.pages else "")
    yield f"  all, with the pages that link to them: comity report {crawler.folder} --broken-links"


def _more(crawler: Crawler, again: str | None) -> str:
    lifted = _lifted(crawler)
    return f"continue: {again}{lifted}" if again and lifted else ""


def _lifted(crawler: Crawler) -> str:
    """Return the options that lift the limits that ended the run; empty if none did."""
    if crawler.stopped or crawler.end.deferred:
        return ""
    if crawler.end.limit_reached:
        return _raised(crawler)
    given = (name for name in limits() if name.endswith("_per_host") and getattr(crawler.settings, name) is not None)
    return "".join(f" --{name.replace('_', '-')} none" for name in given)


def _raised(crawler: Crawler) -> str:
    """Return the option that lifts the limit at which the run ended; without it the next run would end at once."""
    reached = crawler.end.limit_reached
    return f" --max-{reached} none" if reached in COUNTED else ""


def resume_command(crawler: Crawler, variables: list[str], words: list[str]) -> str:
    """Return the command that resumes a crawl, with its variables and options. A stopped crawl in a store is joined,
    since others may still work on it."""
    store, to = crawler.store, f"-o {quote(str(crawler.folder))}"
    if store is not None:
        to = f"--store '{store}' {to}"
        if crawler.stopped:
            return f"comity crawl {to} --join"
    return " ".join((*variables, f"comity crawl {to} --resume", *map(quote, words)))


def _conclude(crawler: Crawler, stats: Stats, again: str | None) -> Exit:
    """Print what is left to do, or why nothing is; return the exit code."""
    if crawler.stopped:
        error_line(f"stopped early{f'; continue with: {again}' if again else ''}")
        return Exit.INTERRUPTED
    if is_blocked(crawler):
        error_line(f"nothing was fetched: {crawler.end.refusal or crawler.end.trouble}")
        return Exit.NOT_READY
    if not stats.reached and crawler.end.trouble:
        error_line(f"{'nothing was fetched' if crawler.end.passing else 'no page was kept'}: {crawler.end.trouble}")
        return Exit.NOT_READY if crawler.end.passing else Exit.PARTLY
    if not stats.reached and crawler.end.refusal:
        what = "no page was kept" if crawler.settings.only_if else "nothing was fetched"
        error_line(f"{what}: {crawler.end.refusal}")
    if crawler.end.deferred:
        how = f"; continue later with: {again}{_raised(crawler)}" if again else ""
        end = crawler.end
        error_line(f"queued, because their hosts must rest: {end.left:,} ({end.deferred}){how}")
        if not stats.reached:
            return Exit.NOT_READY
    if stats.postponed:
        how = f"; try again later with: {again}{_raised(crawler)}" if again else ""
        error_line(f"{NO_ROBOTS}, which is unreachable: {stats.postponed:,}{how}")
        if not stats.reached:
            return Exit.NOT_READY
    return Exit.PARTLY if stats.failed else Exit.DONE


def is_blocked(crawler: Crawler) -> bool:
    """Whether our rule on addresses kept every URL of the crawl from being fetched."""
    stats = crawler.stats
    return 0 < crawler.end.blocked == stats.refused + stats.failed and not stats.reached and not crawler.end.left


def _where(crawler: Crawler, channel: str) -> str:
    if crawler.format not in FORMATS:
        return crawler.format
    form = FORMATS[crawler.format]
    if form.export is not None:
        return form.export.where.format(channel)
    return ("shard-*/" if crawler.is_sharded else "") + form.where.format(channel)
