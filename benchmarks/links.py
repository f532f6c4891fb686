"""Links of a page beside other ways to get them: pages of 10 KB with 60 links, one core, one row a figure.

Run by `python benchmarks/links.py`. lxml is measured where it is installed.
"""

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import ada_url
from common import row, table
from selectolax.lexbor import LexborHTMLParser

from comity_pages import urls
from comity_pages.signals import encodings
from comity_pages.signals._tags import tags
from comity_pages.signals.links import read_page
from comity_robots._forms import engine

SEED = 20_260
URL = "https://www.example.com/docs/guide/page.html"
DOCUMENTATION = Path("/usr/share/doc/python3.11/html")
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "many", "pages", "wait", "to", "be")
FORMS = ("/section/{0}/page.html", "page{0}.html", "../up{0}/x.html", "https://www.example.com/a/{0}?b=c&amp;d=e",
         "?page={0}", "https://other.example/{0}/x.html")  # fmt: skip


def page(rng: random.Random, links: int = 60, size: int = 10_000) -> bytes:
    """A page as sites serve them: a head with metas, a menu, text with links in it."""
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>A page of a site</title>\n'
        '<link rel="canonical" href="/docs/guide/page.html"><meta name="robots" content="index, follow">\n'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/style.css">\n'
        '<link rel="alternate" hreflang="de" href="/de/page.html"><script>if (a < b) document.write("<p>");</script>\n'
        '</head><body class="page">\n'
    )
    parts = [head]
    rest = size - len(head)
    for number in range(links):
        reference = rng.choice(FORMS).format(number)
        link = f'<a class="link" href="{reference}" title="number {number}">Item {number}</a>'
        text = " ".join(rng.choices(WORDS, k=max(0, (rest // links - len(link) - 12) // 5)))
        parts.append(f"<li>{link} <b>{text[:9]}</b>{text[9:]}</li>\n")
    return "".join([*parts, "</body></html>\n"]).encode()


def by_lexbor(body: bytes) -> list[str]:
    """A tree by lexbor, its links joined by ada-url."""
    found = []
    for node in LexborHTMLParser(body).css("a[href]"):
        try:
            found.append(ada_url.join_url(URL, node.attributes["href"] or ""))
        except ValueError:
            continue
    return found


def by_lexbor_and_urllib(body: bytes) -> list[str]:
    """A tree by lexbor, its links joined by urllib, as most Python crawlers join."""
    return [urldefrag(urljoin(URL, node.attributes["href"] or ""))[0] for node in LexborHTMLParser(body).css("a[href]")]


def peers() -> dict[str, Callable[[bytes], object]]:
    found: dict[str, Callable[[bytes], object]] = {
        "selectolax with ada-url": by_lexbor,
        "selectolax with urljoin": by_lexbor_and_urllib,
    }
    try:
        from lxml import html
    except ModuleNotFoundError:
        row("lxml", "", "not installed")
        return found

    def by_lxml(body: bytes) -> list[str]:
        """lxml's own way, which Scrapy's LinkExtractor builds on."""
        tree = html.document_fromstring(body)
        return [urldefrag(urljoin(URL, str(href)))[0] for href in tree.xpath("//a/@href")]

    found["lxml with urljoin"] = by_lxml
    try:
        from scrapy.http import HtmlResponse
        from scrapy.linkextractors import LinkExtractor
    except ModuleNotFoundError:
        return found
    extractor = LinkExtractor()
    found["Scrapy's LinkExtractor"] = lambda body: extractor.extract_links(HtmlResponse(URL, body=body))
    return found


def seconds(work: Callable[[bytes], object], pages: list[bytes], rounds: int = 7) -> float:
    """Median time of one page."""
    work(pages[0])
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for body in pages:
            work(body)
        found.append((time.perf_counter() - started) / len(pages))
    return statistics.median(found)


def report(name: str, pages: list[bytes], compared: bool = True) -> None:
    links = statistics.mean(len(read_page(body, URL).links) for body in pages)
    size = statistics.mean(map(len, pages))
    ours = seconds(lambda body: read_page(body, URL, "text/html; charset=utf-8"), pages)
    theirs = {each: f"{1 / seconds(peer, pages, 3):,.0f}" for each, peer in peers().items()} if compared else {}
    what = f"links of {name}: pages of {size:,.0f} octets with {links:.0f} different links"
    row(what, f"{1 / ours:,.0f} pages/s", ", ".join(f"{each} {rate} pages/s" for each, rate in theirs.items()))
    if not compared:
        return
    row("reading tags, of that", f"{seconds(tags, pages) * 1e6:.0f} us", "")
    row("character set, of that", f"{seconds(lambda body: encodings.detect(body, None), pages) * 1e6:.0f} us", "")
    base = urls.Base(URL)
    hrefs = [said for _, said in tags(pages[0]) if isinstance(said, str)]
    joined = seconds(lambda _: [base.join(href) for href in hrefs], pages)
    row(f"joining {len(hrefs)} references, of that", f"{joined * 1e6:.0f} us", "")


if __name__ == "__main__":
    print(f"engine {engine()}, seed {SEED}")
    table("", "comity", "others")
    rng = random.Random(SEED)
    report("pages as sites serve them", [page(rng) for _ in range(100)])
    if DOCUMENTATION.exists():
        report(
            "Python's documentation",
            [path.read_bytes() for path in sorted(DOCUMENTATION.glob("library/*.html"))],
            compared=False,
        )
