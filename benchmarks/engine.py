"""The robots engine beside its peers, in the same run: one row a figure, medians of several.

Run by `make bench-engine`. The corpus is read from ../shared/corpus where it is present.
"""

import gc
import os
import random
import statistics
import subprocess
import sys
import time
import urllib.robotparser
from collections.abc import Callable
from pathlib import Path

import robots as robotspy
from common import row, table
from protego import Protego
from robotstxt import RobotsMatcher  # Google's C++ parser, as the package fast-robotstxt

import comity
from comity_robots._forms import engine

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "robots"
URL = "https://example.com/section42/part42/page.html?id=12345&lang=en"
AGENT = "MyBot/1.0"


def seconds(work: Callable[[], object], times: int, rounds: int = 7) -> float:
    """Median time of one call; of fewer calls where one takes long, as in the interpreted form."""
    started = time.perf_counter()
    work()
    once = time.perf_counter() - started
    times, rounds = min(times, int(0.2 / once) + 1), min(rounds, int(1 / once) + 1)
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(times):
            work()
        found.append((time.perf_counter() - started) / times)
    return statistics.median(found)


def rules(count: int) -> str:
    """A robots.txt with this many rules, one in ten with wildcards."""
    lines = ["User-agent: *"]
    for number in range(count):
        if number % 10 == 9:
            lines.append(f"Disallow: /section{number}/*/item{number}?sort=")
        else:
            lines.append(f"{'Allow' if number % 3 == 0 else 'Disallow'}: /section{number % 97}/part{number}/")
    return "\n".join(lines)


def verdicts() -> None:
    text = rules(30)
    ours, stdlib = comity.parse(text), urllib.robotparser.RobotFileParser()
    protego = Protego.parse(text)
    stdlib.parse(text.splitlines())
    google = RobotsMatcher()
    spy = robotspy.RobotsParser.from_string(text)
    time_ours = seconds(lambda: ours.allowed(URL, AGENT), 20_000)
    others = []
    for name, work in (
        ("Protego", lambda: protego.can_fetch(URL, AGENT)),
        ("urllib.robotparser", lambda: stdlib.can_fetch(AGENT, URL)),
        ("robotspy", lambda: spy.can_fetch(AGENT, URL)),
        ("Google's C++ by Python", lambda: google.is_allowed(text, "MyBot", URL)),
    ):
        others.append(f"{name} {seconds(work, 500, 5) * 1e6:.1f} us")
    row("one verdict, 30 rules", f"{time_ours * 1e6:.2f} us", ", ".join(others))
    for count in (1_000, 10_000):
        text = rules(count)
        many_rules, protego = comity.parse(text), Protego.parse(text)
        own = seconds(lambda many_rules=many_rules: many_rules.allowed(URL, AGENT), 20_000)
        peer = seconds(lambda protego=protego: protego.can_fetch(URL, AGENT), max(20_000 // count, 3), 3)
        row(f"one verdict, {count:,} rules", f"{own * 1e6:.2f} us", f"Protego {peer * 1e6:.0f} us")
    many = [URL] * 1000
    each = seconds(lambda: ours.allowed_many(many, AGENT), 20) / 1000
    row("each verdict of a thousand asked at once, 30 rules", f"{each * 1e6:.2f} us", "")


def making() -> None:
    """What the second question about an agent costs more than the next: its matcher, beside the parse."""

    def cost(body: bytes) -> tuple[float, float]:
        robots = comity.parse(body)

        def made() -> None:
            robots._matchers.clear()
            robots._matcher_for(AGENT)

        return seconds(lambda: comity.parse(body), 20), seconds(made, 20)

    for count in (30, 100, 1_000):
        wild = "User-agent: *\n" + "".join(f"Disallow: /*dir{n}/{n * 7919}*x\n" for n in range(count))
        for text, kind in ((rules(count), "rules"), (wild, "rules with wildcards")):
            parsed, made = cost(text.encode())
            ours = f"{made * 1e6:.0f} us, {made / parsed:.1f} x the time of parsing"
            row(f"making a matcher, {count:,} {kind}", ours, "")
    if not CORPUS.is_dir():
        return
    found = [cost(path.read_bytes()) for path in random.Random(1).sample(sorted(CORPUS.iterdir()), 300)]
    ratios = sorted(made / parsed for parsed, made in found)
    whole = sum(made for _, made in found) / sum(parsed for parsed, _ in found)
    middle, most = ratios[len(ratios) // 2], ratios[len(ratios) * 9 // 10]
    ours = f"{whole:.1f} x the time of parsing; median {middle:.1f} x, nine of ten below {most:.1f} x"
    row("making a matcher, 300 real files", ours, "")


def parsing() -> None:
    if not CORPUS.is_dir():
        row("parsing", "not measured: the corpus is not here", "")
        return
    bodies = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    size = sum(map(len, bodies))
    ours = seconds(lambda: [comity.parse(body) for body in bodies], 1, 7)
    asked = seconds(lambda: [comity.parse(body).allowed(URL, AGENT) for body in bodies], 1, 3)
    some = [body.decode("utf-8", "replace") for body in random.Random(1).sample(bodies, 300)]
    peer = seconds(lambda: [Protego.parse(text) for text in some], 1, 3)
    speed, peer_speed = size / ours / 1e6, sum(map(len, some)) / peer / 1e6
    google = RobotsMatcher()
    texts = [body.decode("latin-1") for body in bodies]  # its binding takes text; it reads the file for each question
    cpp = seconds(lambda: [google.is_allowed(text, "MyBot", URL) for text in texts], 1, 5)
    others = f"Google's C++ {size / cpp / 1e6:.0f} MB/s, Protego {peer_speed:.0f} MB/s"
    row(f"parsing {len(bodies):,} real files", f"{speed:.0f} MB/s", others)
    ours, others = f"{asked / len(bodies) * 1e6:.1f} us", f"Google's C++ {cpp / len(bodies) * 1e6:.1f} us"
    row("parsing a file for one question", ours, others)
    gc.collect()
    before = _resident()
    kept = [comity.parse(bytes(bytearray(body))) for _ in range(5) for body in bodies]
    parsed = _resident() - before
    for robots in kept:
        robots.allowed(URL, AGENT)
        robots.allowed(URL, AGENT)  # the second question makes the matcher
    with_matcher = _resident() - before
    ours = f"{parsed / 5 / size:.1f} x its text; {with_matcher / 5 / size:.1f} x with a matcher"
    row("memory of a parsed file", ours, "")


def hostile() -> None:
    number = 500 * 1024 // 24
    for name, body, path in (
        ("/*a*a*a*a*bN", "".join(f"Disallow: /*a*a*a*a*b{n}\n" for n in range(number)), "a" * 2000),
        ("/*bbb…*Nx", "".join(f"Disallow: /*{'b' * (n % 40)}*{n}x\n" for n in range(12_000)), "b" * 2000),
        ("/*a*a*a…*b", "Disallow: /" + "*a" * 250_000 + "*b\n", "a" * 2000),
    ):
        robots = comity.parse("User-agent: *\n" + body)
        took = seconds(lambda robots=robots, path=path: robots.allowed("https://h/" + path, AGENT), 3, 5)
        row(f"one verdict, 500 KiB of `{name}`, path of 2,000 octets", f"{took * 1e3:.3f} ms", "")


def starting() -> None:
    for what in ("import comity", "import comity; comity.parse"):
        bare, ours = [], []
        for _ in range(9):
            bare.append(_run("pass"))
            ours.append(_run(what))
        took = (statistics.median(ours) - statistics.median(bare)) * 1e3
        row(f"`{what}`, beyond a bare interpreter", f"{took:.0f} ms", "")


def _run(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    table("", f"comity, {engine()}", "others")
    verdicts()
    making()
    parsing()
    hostile()
    starting()
