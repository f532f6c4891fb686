"""Well-known agents: by what names crawlers go, who sends them, what for, and where and when that was read.

The table lies beside this file; `use_agents` puts another in its place. It decides nothing about who may fetch what,
and nothing fetches it.
"""

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

from comity_robots.agents import ascii_lower
from comity_robots.errors import InvalidSetting

PURPOSES: Final = (
    *("search", "AI training", "AI search", "user-triggered"),
    *("link preview", "SEO", "archive", "advertising", "monitoring", "data", "unstated"),
)
"""What an agent fetches pages for. `data`: for customers of its operator; `unstated`: its operator does not say."""
MAX_TABLE_CHARACTERS: Final = 4 * 1024 * 1024
_NAME: Final = re.compile(r"[^\s#/*:\x00-\x1f\x7f](?:[^#/*:\x00-\x1f\x7f]{0,78}[^\s#/*:\x00-\x1f\x7f])?")
_LINK: Final = re.compile(r"\[([^][]{1,200})\]\((https?://[^()\s]{1,500})\)")
_FUNCTIONS: Final = (  # words of ai.robots.txt's robots.json -> purpose; the first that occurs
    ("undocumented", "unstated"),
    ("search crawler", "AI search"),
    ("search result", "AI search"),
    ("assistant", "user-triggered"),
    ("agents", "user-triggered"),
    ("train", "AI training"),
    ("data provider", "data"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent of the table.

    Attributes:
        name: its product token, as its operator writes it.
        operator: who sends it.
        purpose: one of PURPOSES.
        about: what it does, in a few words; empty where no source says it.
        source: URL of the page that says so, as a rule the operator's.
        via: the list that says so and names that page, with its date; empty where the page itself was read.
        read: the day, as YYYY-MM-DD, on which the source said so; empty where that is not known.
        asked: whether surveys and audits ask about it where no agents are named: `yes` or empty.
    """

    name: str
    operator: str
    purpose: str
    about: str = ""
    source: str
    via: str = ""
    read: str
    asked: str = ""


COLUMNS: Final = tuple(field.name for field in fields(KnownAgent))


class AgentTable:
    """Well-known agents, in order and by name."""

    def __init__(self, agents: Iterable[KnownAgent]) -> None:
        self.agents = tuple(agents)

    @cached_property
    def by_name(self) -> dict[str, KnownAgent]:
        """Each agent by its name in lower case."""
        return _by_name(self.agents)


_used: list[AgentTable] = []  # the one that use_agents put in the place of the shipped one


def table() -> AgentTable:
    """The table in force."""
    return _used[0] if _used else _shipped()


def use_agents(agents: Iterable[KnownAgent] | None) -> None:
    """Use these agents from now on, in the whole process; None: those that come with comity."""
    _used[:] = [] if agents is None else [AgentTable(agents)]


@cache
def _shipped() -> AgentTable:
    return AgentTable(read_table(files("comity_robots").joinpath("agent_table.csv").read_text("utf-8")))


def known_agents(purpose: str | None = None) -> tuple[KnownAgent, ...]:
    """All agents of the table that is in force, or those with a purpose.

    Raises:
        InvalidSetting: there is no such purpose.
    """
    every = table().agents
    if purpose is None:
        return every
    if purpose not in PURPOSES:
        raise InvalidSetting(f"purpose: {purpose!r} is none", hint=f"write one of {', '.join(PURPOSES)}")
    return tuple(each for each in every if each.purpose == purpose)


def names_for(purpose: str) -> tuple[str, ...]:
    """Names of the agents with a purpose, as a group of `build` takes them.

    Raises:
        InvalidSetting: there is no such purpose.
    """
    return tuple(each.name for each in known_agents(purpose))


def asked_agents() -> tuple[str, ...]:
    """Names of the agents that surveys and audits ask about where none are named."""
    return tuple(each.name for each in known_agents() if each.asked)


def known_agent(name: str) -> KnownAgent | None:
    """The agent of this name, in whatever case; None where the table has none."""
    return table().by_name.get(ascii_lower(name))


def read_table(text: str) -> tuple[KnownAgent, ...]:
    """The agents of a table: CSV with a line of column names, or the robots.json of the project ai.robots.txt.

    Raises:
        InvalidSetting: it is neither, or a row says what the table cannot hold; the message names the row.
    """
    if len(text) > MAX_TABLE_CHARACTERS:
        raise InvalidSetting(f"a table of agents has at most {MAX_TABLE_CHARACTERS:,} characters")
    if text.lstrip()[:1] == "{":
        return _from_robots_json(text)
    rows = csv.DictReader(text.lstrip("\ufeff").splitlines(), restkey="")
    if missing := {"name", "operator", "purpose", "source", "read"} - {*(rows.fieldnames or ())}:
        raise InvalidSetting(f"not a table of agents: it has no column {', '.join(sorted(missing))}")
    try:
        found = [(row, f"line {rows.line_num}") for row in rows]
    except csv.Error as error:
        raise InvalidSetting(f"not a table of agents: {error}") from None
    for row, where in found:
        if "" in row:
            raise InvalidSetting(f"{where}: more values than there are columns (write quotes around one with a comma)")
    return _whole(_checked({name: (row.get(name) or "").strip() for name in COLUMNS}, where) for row, where in found)


def merged(old: Iterable[KnownAgent], new: Iterable[KnownAgent]) -> tuple[KnownAgent, ...]:
    """Both tables in one, by name: the row that was read later stands, of one day the new one."""
    found = _by_name(old)
    for each in new:
        before = found.get(ascii_lower(each.name))
        if before is None or each.read >= before.read:
            found[ascii_lower(each.name)] = each
    return tuple(found.values())


def as_csv(agents: Iterable[KnownAgent]) -> str:
    """A table as `read_table` reads it."""
    import io  # late: with csv, only who writes a table needs it

    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([getattr(each, name) for name in COLUMNS] for each in agents)
    return written.getvalue()


def _by_name(agents: Iterable[KnownAgent]) -> dict[str, KnownAgent]:
    return {ascii_lower(each.name): each for each in agents}


def _checked(values: dict[str, str], where: str) -> KnownAgent:
    name = values["name"]
    if not _NAME.fullmatch(name):
        raise InvalidSetting(f"{where}: {name[:80]!r} is not a name that a User-agent line can hold")
    if values["purpose"] not in PURPOSES:
        raise InvalidSetting(f"{where}: {name}: purpose: write one of {', '.join(PURPOSES)}")
    if not re.fullmatch(r"https?://[^\s\x00-\x1f\x7f]{1,500}", values["source"]):
        raise InvalidSetting(f"{where}: {name}: source: write the URL of the page that says so")
    if values["read"] and not _is_day(values["read"]):
        raise InvalidSetting(f"{where}: {name}: read: write a day as 2026-11-28")
    if values.get("asked") not in (None, "", "yes"):
        raise InvalidSetting(f"{where}: {name}: asked: write yes or nothing")
    if any(len(value) > 500 or not value.isprintable() for value in values.values()):
        raise InvalidSetting(f"{where}: {name}: a value has at most 500 printable characters")
    return KnownAgent(**values)


def _is_day(text: str) -> bool:
    from datetime import date  # late: only who writes a table needs it

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _whole(agents: Iterable[KnownAgent]) -> tuple[KnownAgent, ...]:
    found: dict[str, KnownAgent] = {}
    for each in agents:
        if found.setdefault(ascii_lower(each.name), each) is not each:
            raise InvalidSetting(f"{each.name} is there twice")
    if not found:
        raise InvalidSetting("not a table of agents: it names none")
    return tuple(found.values())


def _from_robots_json(text: str) -> tuple[KnownAgent, ...]:
    """The robots.json of ai.robots.txt says no day: its rows are of no day, and so replace none."""
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(f"not JSON: {error}") from None
    found: dict[str, KnownAgent] = {}
    for name, each in given.items():
        if not isinstance(each, dict) or not _NAME.fullmatch(name):
            continue  # "Name/1.0" is listed beside "Name"
        said = {key: str(value) for key, value in each.items()}
        link = _LINK.search(said.get("operator", ""))
        function = said.get("function", "").lower()
        purpose = next((purpose for words, purpose in _FUNCTIONS if words in function), "unstated")
        operator = link[1] if link else said.get("operator", "").split(" that ")[0]
        if operator.startswith("Unclear"):
            operator = "unstated"
        values = {
            "name": name,
            "operator": " ".join(operator.split())[:80],
            "purpose": purpose,
            "about": " ".join(_LINK.sub(r"\1", said.get("function", "")).split())[:200],
            "source": link[2] if link else "https://github.com/ai-robots-txt/ai.robots.txt",
            "via": "ai.robots.txt",
            "read": "",
        }
        found.setdefault(ascii_lower(name), _checked(values, name))
    return _whole(found.values())
