"""What the demo site holds: several hosts, each with one thing that crawlers meet on real sites.

Only values: no server, no time. Every page that robots.txt forbids exists, so a crawler that did not ask would be
caught in the server's log.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

DOMAIN = "demo.localhost"


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """One answer of the server.

    Attributes:
        wait: seconds before it is sent.
        drop: whether the connection is closed instead.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drop: bool = False


Pages = dict[str, ServedAnswer]

_STYLE = (
    "body{font:17px/1.55 Georgia,serif;max-width:38rem;margin:3rem auto;padding:0 1rem;"
    "color:#23303a;background:#fbfaf6}"
    "h1{font-size:1.7rem}a{color:#1c5d7d}nav{border-top:1px solid #d8d3c4;margin-top:2rem;padding-top:.6rem}"
)


def page(title: str, text: str, *links: tuple[str, str], head: str = "", charset: str = "utf-8") -> ServedAnswer:
    """A readable HTML page with links (target, name)."""
    anchors = " · ".join(f'<a href="{escape(target)}">{escape(name)}</a>' for target, name in links)
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="{charset}"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style>{head}</head><body><h1>{escape(title)}</h1><p>{text}</p><nav>{anchors}</nav></body></html>"
    )
    return ServedAnswer(html.encode(charset), content_type=f"text/html; charset={charset}")


def text(body: str, status: int = 200, kind: str = "text/plain; charset=utf-8") -> ServedAnswer:
    return ServedAnswer(body.encode(), status, kind)


def hosts(port: int) -> dict[str, Pages]:
    """Host name -> path with query -> answer."""

    def url(name: str, path: str = "/") -> str:
        return f"http://{name}.{DOMAIN}:{port}{path}"

    return {
        f"{name}.{DOMAIN}": pages
        for name, pages in (
            ("harbour", _harbour(url)),
            ("library", _library(url("library"))),
            ("market", _market()),
            ("slow", _slow()),
            ("storm", _storm()),
            ("fortress", _fortress()),
            ("fog", _fog()),
        )
    }


def _harbour(url: Callable[..., str]) -> Pages:
    """The way in: links to everywhere, redirects, a page in latin-1, no robots.txt."""
    names = ("library", "market", "slow", "storm", "fortress", "fog")
    return {
        "/": page(
            "The harbour",
            "Boats leave for every island from here. Some of them ask visitors to keep off the grass.",
            *((url(name), f"the {name}") for name in names),
            ("/timetable", "timetable"),
            ("/caf%C3%A9", "café"),
            ("/old-pier", "the old pier"),
            ("/ferry", "ferry to the reading room"),
            ("/shortcut", "a short cut"),
            ("/roundabout", "roundabout"),
            ("/lost", "lost and found"),
        ),
        "/timetable": page("Timetable", "Every boat leaves when the one before it has arrived.", ("/", "harbour")),
        "/caf%C3%A9": page("Café", "Crêpes, thé, and a view of the fog.", ("/", "harbour"), charset="iso-8859-1"),
        "/old-pier": ServedAnswer(status=301, headers={"Location": "/new-pier"}),
        "/new-pier": page("The new pier", "It is where the old one was, but drier.", ("/", "harbour")),
        "/ferry": ServedAnswer(status=302, headers={"Location": url("library", "/reading-room")}),
        "/shortcut": ServedAnswer(status=302, headers={"Location": url("library", "/vault/gold")}),
        "/roundabout": ServedAnswer(status=302, headers={"Location": "/roundabout"}),
    }


def _library(root: str) -> Pages:
    """Allow within Disallow, a sitemap index with a gzipped sitemap, llms.txt with a Markdown twin."""
    shelves = [f"/shelf/{number}" for number in range(1, 7)]
    hidden = [f"/catalogue/{letter}" for letter in "abcdef"]
    base = root.rstrip("/")
    robots = (
        "# Silence, please.\nUser-agent: *\nCrawl-delay: 0.3\nDisallow: /vault/\nAllow: /vault/open-day\n"
        f"Disallow: /*?sort=\nContent-Usage: train-ai=n\n\nSitemap: {base}/sitemaps.xml\n"
    )
    index = f"<sitemap><loc>{base}/catalogue.xml.gz</loc></sitemap>"
    urls = "".join(
        f"<url><loc>{base}{path}</loc><lastmod>2026-05-17</lastmod></url>" for path in (*hidden, "/vault/silver")
    )
    return {
        "/robots.txt": text(robots),
        "/sitemaps.xml": text(_sitemap("sitemapindex", index), kind="application/xml"),
        "/catalogue.xml.gz": ServedAnswer(
            gzip.compress(_sitemap("urlset", urls).encode(), mtime=0), content_type="application/gzip"
        ),
        "/llms.txt": text(
            "# The library\n\n> Everything the islands wrote down.\n\n## Rooms\n\n"
            f"- [Reading room]({base}/reading-room.md): the quiet one\n- [The vault]({base}/vault/gold): keep out\n"
        ),
        "/": page(
            "The library",
            "Six shelves, one reading room, and a vault that is opened once a year.",
            *((path, f"shelf {path[-1]}") for path in shelves),
            ("/shelf/1?sort=colour", "by colour"),
            ("/reading-room", "reading room"),
            ("/vault/gold", "the vault"),
            ("/vault/open-day", "open day"),
        ),
        "/reading-room": page("The reading room", "Chairs, lamps, and a cat that belongs to nobody.", ("/", "library")),
        "/reading-room.md": text("# The reading room\n\nChairs, lamps, a cat.\n", kind="text/markdown; charset=utf-8"),
        "/vault/gold": page("Gold", "You should not be reading this.", ("/", "library")),
        "/vault/silver": page("Silver", "Nor this.", ("/", "library")),
        "/vault/open-day": page("Open day", "The third of May, from ten to four.", ("/", "library")),
        "/shelf/1?sort=colour": page("By colour", "The same books again.", ("/", "library")),
        **{
            path: page(f"Shelf {path[-1]}", "Logbooks, mostly.", ("/", "library"), (f"{path}?sort=colour", "by colour"))
            for path in shelves
        },
        **{f"{path}?sort=colour": page("By colour", "The same books again.") for path in shelves[1:]},
        **{path: page(f"Catalogue {path[-1].upper()}", "No page links here; the sitemap does.") for path in hidden},
    }


def _market() -> Pages:
    """nofollow as link, as meta and as header, a calendar that never ends behind a Disallow, a binary file."""
    stalls = [f"/stall/{name}" for name in ("apples", "bread", "candles", "dice", "eggs")]
    robots = (
        "User-agent: *\nDisallow: /basket\nDisallow: /calendar/\nDisallow: /*.exe$\n"
        "Content-Signal: search=yes, ai-train=no\n"
    )
    return {
        "/robots.txt": text(robots),
        "/": page(
            "The market",
            'Five stalls. <a rel="nofollow" href="/rumours">Rumours</a> are free.',
            *((path, path.rpartition("/")[2]) for path in stalls),
            ("/basket", "your basket"),
            ("/calendar/2026-11", "calendar"),
            ("/price-list", "price list"),
            ("/back-room", "back room"),
            ("/scales.exe", "scales"),
            ("/ledger.bin", "ledger"),
        ),
        "/rumours": page("Rumours", "Reached by a link that asks not to be followed."),
        "/price-list": page(
            "Price list",
            "Everything costs one shell.",
            ("/secret-a", "x"),
            head='<meta name="robots" content="nofollow">',
        ),
        "/back-room": ServedAnswer(
            page("Back room", "Shh.", ("/secret-b", "x")).body, headers={"X-Robots-Tag": "noindex, nofollow"}
        ),
        "/secret-a": page("A", "Behind a nofollow."),
        "/secret-b": page("B", "Behind a nofollow."),
        "/basket": page("Basket", "Empty, and forbidden."),
        "/scales.exe": ServedAnswer(b"MZ", content_type="application/octet-stream"),
        "/ledger.bin": ServedAnswer(bytes(range(256)) * 8, content_type="application/octet-stream"),
        "/calendar/2026-11": page("November", "There is always another month.", ("/calendar/2026-12", "next")),
        "/calendar/2026-12": page("December", "And another.", ("/calendar/2027-01", "next")),
        **{path: page(f"Stall: {path.rpartition('/')[2]}", "Fresh every day.", ("/", "market")) for path in stalls},
    }


def _slow() -> Pages:
    """A Crawl-delay longer than ours, and a page that takes its time."""
    return {
        "/robots.txt": text("User-agent: *\nCrawl-delay: 0.8\n"),
        "/": page(
            "The slow island", "No hurry.", ("/snail", "snail"), ("/tortoise", "tortoise"), ("/glacier", "glacier")
        ),
        "/snail": page("The snail", "It arrived.", ("/", "slow")),
        "/tortoise": page("The tortoise", "It won.", ("/", "slow")),
        "/glacier": ServedAnswer(page("The glacier", "You waited for this.", ("/", "slow")).body, wait=1.5),
    }


def _storm() -> Pages:
    """Errors: 500, a dropped connection, and a link to nothing."""
    return {
        "/robots.txt": text("User-agent: *\nDisallow:\n"),
        "/": page(
            "The storm", "Some of this will fail.", ("/lightning", "x"), ("/wreck", "x"), ("/gone", "x"), ("/eye", "x")
        ),
        "/lightning": ServedAnswer(b"crack", status=500),
        "/wreck": ServedAnswer(drop=True),
        "/eye": page("The eye", "Quiet in here.", ("/", "storm")),
    }


def _fortress() -> Pages:
    """Everything is forbidden."""
    return {
        "/robots.txt": text("User-agent: *\nDisallow: /\n"),
        "/": page("The fortress", "The gate is shut.", ("/keep", "the keep")),
        "/keep": page("The keep", "How did you get in?"),
    }


def _fog() -> Pages:
    """robots.txt cannot be had, so nothing may be fetched for now."""
    return {"/robots.txt": text("come back later", 503), "/": page("The fog", "Nobody has seen this page.")}


def _sitemap(root: str, content: str) -> str:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="{space}">{content}</{root}>'
