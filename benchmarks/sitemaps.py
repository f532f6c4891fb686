"""Reading sitemaps beside its peers, in the same run: one row a figure, medians of several.

Run by `python benchmarks/sitemaps.py`. Peers that are not installed are left out:
`pip install lxml ultimate-sitemap-parser` brings them.
"""

import gzip
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from common import row, table

from comity_pages.signals.sitemaps import SitemapReader, SitemapRef, read

HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)
URL = "https://example.com/sitemap.xml"
ENTRIES = 50_000
FILES = 1_000


def plain(count: int = ENTRIES) -> Iterator[bytes]:
    """A urlset as most programs write it: location, date, frequency, priority; about 200 bytes an entry."""
    yield HEAD
    for number in range(count):
        yield (
            b"<url>\n  <loc>https://example.com/catalogue/item-%08d.html?a=1&amp;b=2</loc>\n"
            b"  <lastmod>2026-0%d-11T10:%02d:00+00:00</lastmod>\n"
            b"  <changefreq>weekly</changefreq>\n  <priority>0.8</priority>\n</url>\n"
        ) % (number, number % 9 + 1, number % 60)
    yield b"</urlset>\n"


def heavy(count: int = ENTRIES) -> Iterator[bytes]:
    """The largest that sitemaps.org allows: 50,000 entries in 50 MiB, each with an image and languages."""
    yield HEAD
    for number in range(count):
        languages = b"".join(
            b'  <xhtml:link rel="alternate" hreflang="%s" href="https://example.com/%s/catalogue/item-%08d.html"/>\n'
            % (code, code, number)
            for code in (b"de", b"en", b"es", b"fr", b"it", b"nl")
        )
        yield (
            b"<url>\n  <loc>https://example.com/en/catalogue/item-%08d.html</loc>\n%s"
            b"  <image:image><image:loc>https://example.com/images/%s-%08d.jpg</image:loc></image:image>\n"
            b"  <lastmod>2026-05-17</lastmod>\n</url>\n"
        ) % (number, languages, b"x" * 180, number)
    yield b"</urlset>\n"


def largest() -> int:
    """Reads the largest file allowed as it is made, 64 KiB at a time; how many entries there were."""
    return sum(1 for _ in read(heavy(), URL))


def index() -> int:
    """Reads an index of a thousand files and every file in it (gzip, 1,000 entries each); how many files there were."""
    body = gzip.compress(b"".join(plain(1_000)))
    listing = b"".join(
        b"<sitemap><loc>https://example.com/%d.xml.gz</loc></sitemap>" % number for number in range(FILES)
    )
    files = 0
    for entry in read(b"<sitemapindex>" + listing + b"</sitemapindex>", URL):
        assert isinstance(entry, SitemapRef)
        assert sum(1 for _ in read(body, entry.loc)) == 1_000
        files += 1
    return files


def ours(body: bytes) -> int:
    reader = SitemapReader(URL)
    count = sum(1 for _ in reader.read(body))
    assert reader.problem is None, reader.problem
    return count


def element_tree(body: bytes) -> int:
    """The standard library's tree, whole, with the fields as text: no dates, no limits."""
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    return len(
        [
            (url.findtext(space + "loc"), url.findtext(space + "lastmod"), url.findtext(space + "priority"))
            for url in ElementTree.fromstring(body).iter(space + "url")
        ]
    )


def lxml_iterparse(body: bytes) -> int:
    """lxml as a stream, fields as text."""
    from lxml import etree

    found = []
    fields: dict[str, str | None] = {}
    for _, element in etree.iterparse(io.BytesIO(body), events=("end",)):
        name = element.tag.rpartition("}")[2]
        if name == "url":
            found.append(tuple(fields.values()))
            fields = {}
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        else:
            fields[name] = element.text
    return len(found)


def ultimate_sitemap_parser(body: bytes) -> int:
    from usp.tree import sitemap_from_str

    return sum(1 for _ in sitemap_from_str(body.decode()).all_pages())


def peers() -> Iterator[tuple[str, Callable[[bytes], int]]]:
    yield "xml.etree, whole tree", element_tree
    try:
        import lxml  # noqa: F401
    except ModuleNotFoundError:
        row("lxml", "", "not installed")
    else:
        yield "lxml iterparse", lxml_iterparse
    try:
        import usp  # noqa: F401
    except ModuleNotFoundError:
        row("ultimate-sitemap-parser", "", "not installed")
    else:
        import logging

        logging.disable()
        yield "ultimate-sitemap-parser", ultimate_sitemap_parser


def rate(work: Callable[[bytes], int], body: bytes, rounds: int) -> float:
    """Entries per second, the median of some rounds."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        count = work(body)
        found.append(count / (time.perf_counter() - started))
        assert count == ENTRIES, count
    return statistics.median(found)


def resident(call: str) -> float:
    """The most memory in MiB that a process of its own needs for one call of this module."""
    # VmHWM, because ru_maxrss counts what the parent held when it forked.
    program = f"import sitemaps; {call}; print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def main() -> None:
    body = b"".join(plain())
    own = rate(ours, body, 7)
    table("", "comity", "others")
    others = ", ".join(f"{name} {rate(peer, body, 3):,.0f} URLs/s" for name, peer in peers())
    row(f"entries of a sitemap of {len(body) / 1e6:.0f} MB", f"{own:,.0f} URLs/s", others)
    packed = gzip.compress(body)
    row(f"the same in gzip, {len(packed) / 1e6:.1f} MB", f"{rate(ours, packed, 5):,.0f} URLs/s", "")
    large = b"".join(heavy())
    size = f"{len(large) / 2**20:.0f} MiB"
    row(f"largest allowed, {size}, 7 URLs and an image an entry", f"{rate(ours, large, 3):,.0f} entries/s", "")
    lines = b"".join(b"https://example.com/catalogue/item-%08d.html\n" % number for number in range(ENTRIES))
    row("a text file with a URL a line", f"{rate(ours, lines, 5):,.0f} URLs/s", "")
    if sys.platform == "linux":
        row(f"resident, the {size} file", f"{resident('sitemaps.largest()'):.0f} MiB", "")
        row(f"resident, an index of {FILES:,} files", f"{resident('sitemaps.index()'):.0f} MiB", "")
        row("resident, nothing read", f"{resident('0'):.0f} MiB", "")
    print(f"{ENTRIES:,} entries each, Python {sys.version.split()[0]}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
