"""`comity crawl`: the options with which a crawl is made, or gone on with (crawling.py)."""

from typing import Any, Final

import click

from comity.cli.exits import Exit
from comity.cli.options import (
    ENGINE,
    FILE,
    JSON,
    PATH,
    PRESET,
    PURPOSE,
    READING,
    argument,
    command,
    grouped,
    option,
    option_for,
)
from comity.cli.terminal import nonblocking
from comity.crawler.crawl_settings import limits
from comity.crawler.output.formats import FORMATS

_PARTS: Final = click.IntRange(1, 256)
_LIMITS: Final = grouped(
    "What is crawled",
    *map(option_for, limits()),
    option_for("min_free_disk"),
    option_for("max_depth"),
    option_for("scope"),
    option_for("include", metavar="PATTERN", multiple=True),
    option_for("exclude", metavar="PATTERN", multiple=True),
    option_for("follow_nofollow", is_flag=True, help="Also follow links marked nofollow."),
    option_for("duplicates"),
    option_for("concurrency"),
    option_for("min_interval", "--delay"),
    option_for("link_graph", "--links", is_flag=True, help="Write the links of each page: from, to, text, rel."),
    option_for("requisites"),
    option_for("record_headers", metavar="NAMES", multiple=True),
    option_for("only_if", metavar="PURPOSE=WORD", multiple=True),
    option_for("render", is_flag=True, help="Run the scripts of pages in Chromium."),
    option_for("render_auto", is_flag=True, help="Run the scripts only of pages that are next to empty without them."),
)
_WATCHING: Final = grouped(
    "Watching",
    option("-q --quiet", None, "Show no progress, only the summary."),
    option("-v --verbose", None, "Log to standard error; -vv: each request too.", count=True),
    option("--log", "FILE", "Write a log to FILE, one line per event.", type=PATH),
    option(
        "--metrics", "[ADDRESS:]PORT", "Serve metrics for Prometheus while the crawl runs.", otherwise="on loopback"
    ),
    option(
        "--dashboard",
        "PORT",
        "Serve a page that shows the crawl, to this machine; 0: any free port.",
        type=click.IntRange(0, 65535),
    ),
    option_for(
        "webhook", metavar="URL", help="Notify URL of the crawl's end, and of each host's first refusal and failure."
    ),
    option_for("telemetry", is_flag=True, help="Send traces and metrics to OpenTelemetry."),
)

_SEVERAL: Final = grouped(
    "Several processes and machines",
    option("--workers", "N", "Processes that share the crawl, each with its own hosts.", type=_PARTS, default=1),
    option("--shards", "N", "Parts of a new crawl; it keeps them.", type=_PARTS, otherwise="2 for each worker"),
    option(
        "--store",
        "URL",
        "Keep the queue in PostgreSQL, for several machines: postgresql://USER@HOST/DATABASE, with "
        "?crawl=NAME where it holds several.",
    ),
    option("--join", None, "Work on the crawl in --store that others have begun."),
    option(
        "--lease",
        "TIME",
        "With --store: time without contact after which a process loses its shards (new crawls only).",
        otherwise="15s",
    ),
    ENGINE,
)


@command("Fetch and crawl")
@argument("url", "[URL]...")
@option("-o --output folder", "DIR", "Folder for the results.", type=PATH, otherwise="crawl-HOST-TIME")
@option("--format form", tuple(FORMATS), "How the results are written.", otherwise="jsonl")
@option("--compress", ("gzip", "zstd"), "Write JSON lines compressed (.jsonl.gz, .jsonl.zst).")
@option("--urls", "FILE", "Also start from the URLs in FILE, one per line ('-': standard input).", type=FILE)
@option("--sink", "MODULE:NAME", "A plug-in that writes the results, instead of --format.")
@option("--source", "MODULE:NAME", "A plug-in that supplies the start URLs.")
@option("--expander", "MODULE:NAME", "A plug-in that extracts records and URLs from each page.")
@option("--schema", "FILE", "CSS selectors (JSON) that make typed records of pages.", type=FILE)
@_LIMITS
@PRESET
@PURPOSE
@READING
@option("--resume", None, "Continue the crawl in DIR.")
@option("--refresh", None, "Crawl DIR again and report which pages are new, changed, gone or unchanged.")
@option_for(
    "trust_lastmod", "--no-lastmod", is_flag=True, flag_value=False,
    help="In a refresh, also request pages that their sitemap lists as unchanged.",
)  # fmt: skip
@option_for("mode", "--no-robots", is_flag=True, flag_value="ignore", help="Do not check robots.txt at all.")
@option_for("identity", metavar="DIR", help="Sign requests with the identity in DIR (comity identity new).")
@option_for("raw", is_flag=True, help="Write bodies to WARC and WACZ as they came over the wire.")
@option("--report", "FILE", "Write a report as HTML at the end.", type=PATH)
@option("--ok-if-some-failed", None, "Exit with 0 even if some pages failed.")
@option("--print-systemd", None, "Print units that run the crawl of --config each week, and crawl nothing.")
@option("--demo", None, "Crawl the bundled demo web site on loopback.")
@_SEVERAL
@_WATCHING
@JSON
@nonblocking()
def crawl(**given: Any) -> Exit:
    """Crawl web sites.

    With -c FILE whose `output` names a folder, the crawl is begun, resumed or refreshed, whichever is due. A SIZE is in
    bytes, or like 50MB; a TIME in seconds, or like 10m. Exit code 0: done, 2: some pages failed (see
    --ok-if-some-failed), 3: nothing could be reached, retry later, 130: stopped by Ctrl-C.
    """
    from comity.cli.crawling import run_crawl  # late: who wants help needs none of it

    return run_crawl(given)
