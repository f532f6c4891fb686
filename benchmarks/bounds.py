"""What the bounds on a page cut or refuse of pages that people read every day.

    python benchmarks/bounds.py [--corpus FOLDER] [--pages N]

Of bounds on what reaches the parser, each is lifted in turn where lifting all of them changes anything; of the others
what they count is counted. One line a bound: the most that a page has, and how many pages it changes.
"""

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch

from comity.crawler.finding import duplicates
from comity.errors import ExtractionFailed
from comity_pages import extraction
from comity_pages.content import blocks, content
from comity_pages.html import bounds, css, hidden, hiding_rules, tree
from comity_pages.markdown import tables
from comity_pages.metadata import json_ld
from comity_pages.signals import links, robots_meta
from comity_pages.signals._tags import MAX_TAGS, tags

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "pages"
BEFORE_THE_PARSER = (
    *("MAX_SOURCE", "MAX_HTML", "MAX_TAGS", "MAX_ATTRIBUTES", "MAX_OPEN", "MAX_FORMATTING", "MAX_SHAPES"),
    *("MAX_OPTIONS", "_MAX_DATA_CHARS", "_MAX_DATA_TAGS", "_MAX_COMMENT_CHARS"),
)
NEVER = 1 << 40

found: dict[str, list[float]] = defaultdict(list)
changed: dict[str, list[str]] = defaultdict(list)


def lifted(html: str, url: str, names: tuple[str, ...]) -> object:
    with patch.multiple(bounds, **dict.fromkeys(names, NEVER)):
        return answer(html, url)


def answer(html: str, url: str) -> object:
    try:
        return bounds.limit_markup(html, url)
    except ExtractionFailed as error:
        return str(error)


def count(name: str, value: float, most: float, page: str) -> None:
    found[f"{name} = {most:,.0f}"].append(value)
    if value > most:
        changed[f"{name} = {most:,.0f}"].append(page)


def depth(root: tree.Node) -> int:
    deepest, stack = 0, [(root, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in node.children if isinstance(child, tree.Node))
    return deepest


def look(name: str, body: bytes, url: str) -> None:
    html = body.decode("utf-8", "replace")
    as_it_is = answer(html, url)
    changes = as_it_is != lifted(html, url, BEFORE_THE_PARSER)
    for each in BEFORE_THE_PARSER:
        key = f"html.bounds.{each} = {getattr(bounds, each):,}"
        found[key].append(0)
        if changes and as_it_is != lifted(html, url, (each,)):
            changed[key].append(name)
    began = time.thread_time()
    page = extraction.read(html, url)
    count("extraction.MAX_SECONDS", time.thread_time() - began, extraction.MAX_SECONDS, name)
    with patch.multiple(tree, MAX_DEPTH=400, MAX_NODES=NEVER):
        root = tree.parse(html, url)
    count("html.tree.MAX_DEPTH", depth(root.root), tree.MAX_DEPTH, name)
    count("html.tree.MAX_NODES", sum(map(len, root.by_name.values())), tree.MAX_NODES, name)
    count("content.MAX_BLOCKS", len(blocks.split_blocks(root, set())), content.MAX_BLOCKS, name)
    count("html.hidden.MAX_FOUND", len(page.hidden), hidden.MAX_FOUND, name)
    scripts = [each.text() for each in root.all("script") if "ld+json" in each.attributes.get("type", "").lower()]
    count("metadata.json_ld.MAX_SCRIPTS", len(scripts), json_ld.MAX_SCRIPTS, name)
    count("metadata.json_ld.MAX_SIZE", max(map(len, scripts), default=0), json_ld.MAX_SIZE, name)
    count("metadata.json_ld.MAX_OBJECTS", len(json_ld.objects(root)), json_ld.MAX_OBJECTS - 1, name)
    count("metadata.json_ld.MAX_ENTITIES", len(page.metadata.entities), json_ld.MAX_ENTITIES - 1, name)
    count(
        "html.hiding_rules.MAX_SHEET",
        sum(len(each.text()) for each in root.all("style")),
        hiding_rules.MAX_SHEET,
        name,
    )
    styles = [len(each.attributes.get("style", "")) for each in root.styled]
    count("html.css.MAX_STYLE", max(styles, default=0), css.MAX_STYLE, name)
    rows = [
        sum(child.name in ("td", "th") for child in each.children if isinstance(child, tree.Node))
        for each in root.all("tr")
    ]
    count("markdown.tables._MAX_COLUMNS", max(rows, default=0), tables._MAX_COLUMNS, name)
    said = links.read_page(body, url)
    count("signals._tags.MAX_TAGS", len(tags(body)), MAX_TAGS - 1, name)
    count("signals.links.MAX_LINKS", len(said.links), links.MAX_LINKS - 1, name)
    longest = max((len(each.attributes.get("href", "")) for each in root.all("a")), default=0)
    count("signals.links.MAX_URL_LENGTH", longest, links.MAX_URL_LENGTH, name)
    count("signals.links.MAX_TOTAL_LENGTH", sum(len(each.url) for each in said.links), links.MAX_TOTAL_LENGTH, name)
    metas = [len(each.attributes.get("content", "")) for each in root.all("meta")]
    count("signals.robots_meta.MAX_CHARS", max(metas, default=0), robots_meta.MAX_CHARS, name)
    count(
        "crawler.duplicates.MAX_TEXT_CHARACTERS",
        len(" ".join(root.text().split())),
        duplicates.MAX_TEXT_CHARACTERS,
        name,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pages", type=int, default=10_000)
    arguments.add_argument("--corpus", type=Path, default=CORPUS)
    options = arguments.parse_args()
    lines = gzip.decompress((options.corpus / "truth.jsonl.gz").read_bytes()).decode().split("\n")
    rows = [json.loads(line) for line in lines if line]
    if options.pages < len(rows):
        rows = random.Random(1).sample(rows, options.pages)
    refused = 0
    for row in rows:
        body = gzip.decompress((options.corpus / "html" / f"{row['id']}.html.gz").read_bytes())
        try:
            look(row["id"], body, row["url"] or "https://example.com/")
        except ExtractionFailed as error:
            refused += 1
            print(error)
    print(f"{len(rows)} pages, {refused} refused")
    for key, values in found.items():
        most = f"most {max(values):,.1f}" if max(values) else ""
        print(f"{key:45} {most:22} changes {len(changed[key])} pages {' '.join(changed[key][:8])}")


if __name__ == "__main__":
    main()
