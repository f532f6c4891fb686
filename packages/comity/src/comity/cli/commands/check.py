"""`comity check`: whether URLs may be fetched."""

import json
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click

from comity.cells import escape_formula
from comity.cli.answers import COLOURS, Answer, answers, exit_code, policies_of, truncation_note
from comity.cli.exits import Exit
from comity.cli.input_files import lines_in, named, site_url
from comity.cli.options import FILE, JUDGING, argument, command, option
from comity.cli.terminal import error_line, print_out
from comity.errors import InputError, InvalidURL
from comity_pages.urls import normalise

_COLUMNS: Final = ("url", "agent", "answer", "why", "verdict", "line", "rule", "robots_sha256", "robots_at", "delay")
_MAX_URL_COLUMNS: Final = 60  # that URLs are filled up to


@command("Check URLs")
@argument("url", "[URL|PATH]...")
@option("--urls", "FILE", "Check the URLs in FILE too: one per line, or a sitemap ('-': standard input).", type=FILE)
@option("--sitemap", None, "List which URLs in the site's sitemaps may not be fetched.")
@JUDGING
@option("--csv as_csv", None, "Print a table as CSV.")
@option("--json as_json", None, "Print a line of JSON for each URL.")
@option("--exit-zero", None, "Exit with 0 whatever the answers are, for xargs and scripts.")
def check(
    url: tuple[str, ...],
    urls: Path | None,
    sitemap: bool,
    robots: Path | None,
    as_csv: bool,
    as_json: bool,
    exit_zero: bool,
    **options: Any,
) -> Exit:
    """Check whether URLs may be fetched.

    With --robots a path such as /private will do. With --sitemap the sites are named, and those of their URLs listed
    that an agent may not fetch. Several --agent give an answer for each. Exit code 0: all allowed, 2: one is not, 3: a
    robots.txt is unreachable, 64: one is not a URL, 66: a file or sitemap could not be read.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    if not url and urls is None:
        raise click.UsageError("no URL given: name some, or a file of them with --urls")
    if str(urls) == str(robots) == "-":
        raise click.UsageError("--urls and --robots cannot both read standard input")
    if sitemap and (urls is not None or robots is not None):
        raise click.UsageError("--sitemap reads the sitemaps that sites name: leave out --urls and --robots")
    policies, client = policies_of(**options)
    targets: Iterable[str] = (*url, *(lines_in(urls).values() if urls is not None else ()))
    if not targets and urls is not None:
        raise InputError(f"{named(urls)} holds no URL", hint="write one on each line")
    asking, unread = None, list[str]()
    if sitemap:
        from comity.cli.listed import urls_of_site  # late: few ask for it
        from comity.client.sitemaps import sitemap_client

        asking = click.get_current_context().with_resource(sitemap_client(policies[0], client))
        targets = chain.from_iterable(urls_of_site(asking, normalise(site_url(each) or each), unread) for each in url)
    if as_csv:
        import csv  # late: few ask for a table

        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow((*_COLUMNS, *policies[0].purposes))
    judged: list[str] = []
    noted: set[str] = set()
    width = max(len(policy.agent) for policy in policies)
    listed = targets if isinstance(targets, tuple) else ()  # others come one by one
    columns = max((len(each) for each in listed if len(each) <= _MAX_URL_COLUMNS), default=0)
    for each in answers(targets, policies, client, robots, asking=asking):
        row = _row(each)
        result = None if isinstance(each, InvalidURL) else each[1]
        if result is not None and (words := truncation_note(result)) and result.url not in noted:
            noted.add(result.url)
            error_line(f"{result.url}: {words}")
        judged.append(row["answer"])
        if sitemap and row["answer"] == "allowed":
            continue
        if as_json:
            print(json.dumps(row), flush=True)
        elif as_csv:
            flat = row | (row["decision"] or {})
            stated = ((row["usage"] or {}).get(purpose, {}).get("preference") for purpose in policies[0].purposes)
            table.writerow([escape_formula(value) for value in (*(flat.get(name) for name in _COLUMNS), *stated)])
        elif isinstance(each, InvalidURL):
            error_line(str(each))
        else:
            decision, _, _ = each
            agent = f"{decision.agent:{width}}  " if len(policies) > 1 else ""
            shown = f"  {agent}{decision.url:{columns}}  {decision.why}"
            print_out(shown, lead=f"{row['answer']:11}", colour=COLOURS[decision.answer], indent=13)
            for purpose in decision.purposes:
                print_out(f"{'':11}  {decision.explain_usage(purpose)}")
    code = Exit.DONE if exit_zero else exit_code(judged)
    return Exit.INPUT if unread and code is Exit.DONE and not exit_zero else code


def _row(each: Answer) -> dict[str, Any]:
    """Return an answer as a record; its keys are always the same."""
    if isinstance(each, InvalidURL):
        return {"url": each.url, "agent": None, "answer": "error", "why": str(each), "decision": None, "usage": None}
    decision, _, _ = each
    return {
        "url": decision.url,
        "agent": decision.agent,
        "answer": decision.answer,
        "why": decision.why,
        "decision": decision.to_record(),
        "usage": decision.usage.to_record(decision.purposes) if decision.purposes else None,
    }
