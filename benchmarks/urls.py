"""URLs beside ada-url and urllib: agreement on a million generated references, then the cost of each form.

Run by `python benchmarks/urls.py [HOW_MANY]`; the seed is fixed. Exits with 1 where one answer differs from ada-url's.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import ada_url
from common import row, table

from comity_pages import urls
from comity_robots._forms import engine

SEED = 20_260
BASES = (
    "http://example.com/",
    "https://example.com/a/b/page.html?x=1&y=/../2",
    "http://127.0.0.1:8000/dir/",
    "https://www.example.co.uk:8443/a//b/./c",
    "http://example.com/a//b//",
    "http://[::1]:81/x/y",
    "https://xn--bcher-kva.example/%7Euser/%2e/x",
    "HTTP://User:Secret@EXAMPLE.com:80/A/../B#top",
    "http://example.com/?q",
    "http://example.com",
    "http://a_b.example./x/y/z",
    "ftp://example.com/pub/",
    "mailto:someone@example.com",
)
# Pieces that references are made of: everything that means something to the URL parser, and what surrounds it.
PIECES = (
    *"/////....??##::@@%&&==;;,,++--__~~!!$*'()[]|\\ \t\n\r\"<>^`{}",
    *("a", "b", "page", "index.html", "a:b", "1:2", "+a:", "C:", "C|/", ";p=1"),
    *("Über", "日本", "ß", "\x00", "\x7f", "\ud800", "\U0001f600", "\u200d", "\xad", "。"),
    *("../", "./", "..", "/..", "/.", "//", "///", "/../", ".hidden", "..a", "..."),
    *("%2e", "%2E", "%2E%2e", "%2E%2E/", "/%2E/", ".%2E", "%2", "%zz", "%41"),
    *("http:", "https:", "HTTP:", "https://", "http://", "hTTps://"),
    *("ftp://", "mailto:", "javascript:", "data:", "file:"),
    *("example.com", "EXAMPLE.com", "www.example.org", "xn--bcher-kva", "xn--a", "3com"),
    *("a..b", "a.", ".a", "a--b", "-a", "a-", "[::1]", "[::ffff:1.2.3.4]", "[", "]"),
    *("127.0.0.1", "127.1", "0x7f.1", "2130706433", "1.2.3.4.5", "256.0.0.1", "01.2.3.4"),
    *(":80", ":443", ":8080", ":0", ":00080", ":65535", ":65536", ":", ":a", "user@", "user:pass@", "@"),
    *("?q=1", "?", "#", "#frag", "?a=b&c=d", "&amp;", "?'", "?a#b?c"),
)


SCHEMES = ("http://", "https://", "//", "HTTP://", "http:", "https:/")
HOSTS = (
    *(
        "example.com",
        "EXAMPLE.com",
        "a-b.example",
        "a_b.example",
        "a--b",
        "a",
        "a.",
        "a..b",
        ".a",
        "3com",
        "1.example.2x",
    ),
    *(
        "xn--bcher-kva.example",
        "xn--0.pt",
        "a.xn--",
        "xn--zn7c.com",
        "ex%61mple.com",
        "bücher.example",
        "user@h",
        "u:p@h",
    ),
    *(
        "127.0.0.1",
        "127.0.0.256",
        "127.0.0.01",
        "127.1",
        "1.2.3.4.5",
        "0x7f.1",
        "0.0.0.0",
        "[::1]",
        "[1::2::3]",
        "a b",
        "",
    ),
)
PORTS = ("", "", "", ":", ":80", ":443", ":8080", ":080", ":0", ":65535", ":65536", ":99999999999", ":8a")
ENDS = (
    "",
    "/",
    "?",
    "#",
    "/a/b.html",
    "/a?b=c#d",
    "?q#f",
    "#f",
    "\\a",
    "/a/../b",
    "/%2E%2E/a",
    "/.well-known/x",
    "/a b",
)


def references(count: int, seed: int) -> Iterator[str]:
    """References as pages write them, and worse; the same for the same seed."""
    rng = random.Random(seed)
    for number in range(count):
        if number % 3 == 0:
            yield rng.choice(SCHEMES) + rng.choice(HOSTS) + rng.choice(PORTS) + rng.choice(ENDS)
        else:
            yield "".join(rng.choices(PIECES, k=rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12))))


def truth(reference: str, base: str | None) -> str | None:
    """What ada-url says, in the words of its own setters."""
    clean = reference.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    try:
        parsed = ada_url.URL(clean, base)
    except ValueError:
        return None
    if parsed.protocol not in ("http:", "https:"):
        return None
    parsed.username = parsed.password = parsed.hash = ""
    if parsed.hostname.endswith(".") and parsed.hostname != "." and not parsed.hostname.endswith(".."):
        parsed.hostname = parsed.hostname.removesuffix(".")
    return parsed.href


def disagreements(count: int, seed: int = SEED) -> list[tuple[str, str, str | None, str | None]]:
    """(base, reference, ours, ada-url's) wherever they differ, by `join`, `Base.join` and the functions of one URL."""
    found: list[tuple[str, str, str | None, str | None]] = []
    bases = [urls.Base(base) for base in BASES]
    for number, reference in enumerate(references(count, seed)):
        base = bases[number % len(bases)]
        expected = truth(reference, base.url)
        given = base.join(reference)
        if given != expected:
            found.append((base.url, reference, given, expected))
        absolute = reference if number % 2 else f"http{'s' * (number % 4 // 2)}://{reference}"
        alone = truth(absolute, None)
        if urls.is_http(absolute) != (alone is not None):
            found.append(("", absolute, "is_http", alone))
        if alone is not None:
            parsed = ada_url.URL(alone)
            wanted = (
                alone,
                parsed.origin,
                parsed.hostname,
                parsed.pathname + alone[alone.find("?") :] * ("?" in alone),
            )
            answers = (
                urls.normalise(absolute),
                urls.origin(absolute),
                urls.host(absolute),
                urls.Url(absolute).path_and_query,
            )
            if answers != wanted:
                found.append(("", absolute, repr(answers), repr(wanted)))
            if urls.normalise(alone) != alone:
                found.append(("", alone, urls.normalise(alone), "normalised twice"))
    return found


def nanoseconds(work: Callable[[], object], times: int = 20_000, rounds: int = 7) -> float:
    """Median time of one call."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter_ns()
        for _ in range(times):
            work()
        found.append((time.perf_counter_ns() - started) / times)
    return statistics.median(found)


def costs() -> None:
    base = "https://www.example.com/docs/guide/page.html?v=2"
    page = urls.Base(base)
    for name, reference in (
        ("site-relative", "/some/path/to/a/page.html?with=query"),
        ("relative", "page-two.html"),
        ("one directory up", "../other/page.html"),
        ("query", "?page=2"),
        ("fragment", "#section"),
        ("absolute", "https://other.example.com/a/b.html"),
        ("scheme-relative", "//cdn.example.com/a/b.html"),
        ("other scheme", "mailto:someone@example.com"),
        ("non-ASCII (ada-url)", "/caf\u00e9/menu"),
    ):
        ours = nanoseconds(lambda reference=reference: page.join(reference))
        once = nanoseconds(lambda reference=reference: urls.join(base, reference))
        ada = nanoseconds(lambda reference=reference: ada_url.join_url(base, reference))
        lib = nanoseconds(lambda reference=reference: urljoin(base, reference))
        row(
            f"joining a reference: {name}",
            f"{ours:.0f} ns with `Base`, {once:.0f} ns without",
            f"ada-url {ada:.0f} ns, urljoin {lib:.0f} ns",
        )
    for function in (urls.normalise, urls.is_http, urls.origin, urls.host, urls.Url):
        ours = nanoseconds(lambda function=function: function(base))
        ada = nanoseconds(lambda: ada_url.normalize_url(base))
        row(f"`{function.__name__}` of a URL", f"{ours:.0f} ns", f"ada-url's `normalize_url` {ada:.0f} ns")


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"engine {engine()}, seed {SEED}")
    started = time.perf_counter()
    wrong = disagreements(total)
    took = time.perf_counter() - started
    table("", "comity", "others")
    row(f"references joined as ada-url does, {took:.0f} s", f"{total - len(wrong):,} of {total:,}", "")
    for line in wrong[:20]:
        print("  differs:", *map(repr, line))
    costs()
    sys.exit(bool(wrong))
