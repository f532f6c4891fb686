"""Asks the engine's two forms, and the columns, the same questions, and counts where they differ: `make compare`.

Files, agents and URLs are put together at random, by a seed, from what rules are made of; every dialect has its turn.
A question is one verdict, from the reference and from the fast form, by its first way and by its second; for columns,
one row, judged in the column and by the policy, over every dialect and every status of robots.txt.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator

import pyarrow as pa

from comity import bulk
from comity.bulk import outcomes
from comity.policy import OriginPolicy, Policy
from comity_pages import urls
from comity_robots import DIALECTS, Dialect, directives, engine, parse
from comity_robots.engine import reference

AGENTS = (
    "MyBot",
    "MyBot/2.1 (+https://e.com/bot)",
    "Mozilla/5.0 (compatible; My-Bot/1)",
    "other",
    "bot 2",
    "Öbot",
    "*",
)
NAMES = ("*", "mybot", "MyBot", "MyBot/2", "my", "My-Bot 3", "other", "oth*r", "bot 2", "bot", "öbot", "* x", "")
PIECES = (
    "/",
    "a",
    "b",
    "A",
    "*",
    "$",
    "%61",
    "%2f",
    "%2F",
    "%zz",
    "%2a",
    "%24",
    "ä",
    "\x7f",
    "?",
    ";",
    "&x=",
    "~",
    " ",
    "<",
)
ENDINGS = ("", "/index.html", "/index.htm", "/robots.txt", "$", "*", "*$")
ENDS = ("\n", "\r", "\r\n", "\n\n", " # c\n", "\0x\n")
STATUSES = (None, 200, 204, 301, 401, 403, 404, 410, 429, 500, 503)


def path(chance: random.Random) -> str:
    return "/" + "".join(chance.choices(PIECES, k=chance.randrange(5))) + chance.choice(ENDINGS)


def file(chance: random.Random) -> str:
    labels = [name for name in directives.NAMES.values() if name not in ("user-agent", "allow", "disallow")]
    labels += ["useragent", "dissallow", "Disallow", "allowed", "#"]
    lines = []
    for _ in range(chance.randrange(1, 14)):
        kind = chance.random()
        if kind < 0.3:
            line = f"User-agent: {chance.choice(NAMES)}"
        elif kind < 0.85:
            value = "" if kind < 0.33 else path(chance)[chance.random() < 0.03 :]
            line = f"{'allow' if kind < 0.5 else 'disallow'}{chance.choice((':', ': ', ' : ', ' '))}{value}"
        else:
            line = f"{chance.choice(labels)}: {chance.choice(('1', '2.5', 'x', '/a', 'train-ai=n'))}"
        lines.append(line + chance.choice(ENDS[:2] if chance.random() < 0.8 else ENDS))
    return chance.choice(("", "", "", "\ufeff")) + "".join(lines)


def url(chance: random.Random) -> str:
    before = ("", "https://e.com", "//e.com", "HTTP://x", "e.com", "a b://c")
    return chance.choice(before[: 2 if chance.random() < 0.9 else 6]) + path(chance) + chance.choice(("", "", "#/x"))


def asked(robots: engine.Matchers, address: str, agent: str) -> bool | str:
    try:
        return robots.allowed(address, agent)
    except ValueError as error:
        return type(error).__name__


def plain(body: bytes, dialect: Dialect, agent: str, addresses: list[str]) -> Iterator[bool | str]:
    """What the reference alone says."""
    start = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    index = reference.scan(body, start, len(body), dialect)
    _, numbers = reference.applying(body, index, agent, dialect, directives.RULES, directives.RULES)
    matcher = reference.matcher_of(body, index, numbers, dialect)
    for address in addresses:
        try:
            yield matcher.answer(address, agent)
        except ValueError as error:
            yield type(error).__name__


def compare_engine(count: int, seconds: float, chance: random.Random) -> tuple[int, int]:
    """Questions asked, and answers that differ."""
    done = wrong = 0
    end = time.monotonic() + seconds
    dialects = [
        *DIALECTS.values(),
        *(Dialect(name=f"own {order}", precedence=order) for order in ("allow_first", "disallow_first")),
    ]
    while done < count and time.monotonic() < end:
        dialect = chance.choice(dialects)
        body = file(chance).encode()
        agent = chance.choice(AGENTS)
        addresses = [url(chance) for _ in range(60)]
        robots = parse(body, dialect)
        for place, expected in enumerate(plain(body, dialect, agent, addresses)):
            if asked(robots, addresses[place], agent) != expected:  # the first question is answered in one pass
                wrong += 1
                print("DIFFERS", dialect.name, body, agent, addresses[place], expected)
            done += 1
    return done, wrong


def compare_columns(count: int, seconds: float, chance: random.Random) -> tuple[int, int]:
    """Rows judged, and rows that differ."""
    done = wrong = 0
    end = time.monotonic() + seconds
    while done < count and time.monotonic() < end:
        for name in DIALECTS:
            for status in STATUSES:
                body = file(chance).encode()
                agents = [agent for agent in AGENTS if agent.isascii() and agent != "*"]
                addresses = ["https://e.com" + path(chance) for _ in range(200)]
                policy = Policy(dialect=name)
                table = pa.table(
                    {"origin": ["https://e.com"], "body": [body], "status": pa.array([status], pa.int32())}
                )
                found = bulk.verdicts(addresses, table, agents, policy=policy, wide=True, threads=1)
                for agent in agents:
                    own = policy.with_changes(agent=agent, product_token=None)
                    judge = OriginPolicy(own, outcomes.answered(own, status, body))
                    said = zip(
                        found[f"{agent}.verdict"].to_pylist(), found[f"{agent}.may_fetch"].to_pylist(), strict=True
                    )
                    for address, row in zip(addresses, said, strict=True):
                        decision = judge.decide(urls.normalise(address))
                        if (decision.verdict, decision.may_fetch) != row:
                            wrong += 1
                            print("DIFFERS", name, status, body, agent, address, decision.verdict, row)
                        done += 1
    return done, wrong


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--questions", type=int, default=10_000_000)
    options.add_argument("--seconds", type=float, default=3600.0, help="at most, for each of the two")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not engine.COMPILED:
        sys.exit("the fast form is not built here: there is nothing to compare")
    differ = 0
    for what, compare, count in (
        ("reference and fast form", compare_engine, given.questions),
        ("columns and policy", compare_columns, given.questions // 50),
    ):
        begun = time.monotonic()
        done, wrong = compare(count, given.seconds, random.Random(given.seed))
        print(f"{what}: {done:,} questions, {wrong:,} different, {time.monotonic() - begun:,.0f} s", flush=True)
        differ += wrong
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
