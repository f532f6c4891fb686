"""Which groups are meant for us: `User-agent` values compared with our agent string (RFC 9309, 2.2.1)."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from comity.robots.dialects import Dialect

PLACEHOLDER: Final = "mozilla"
"""What every browser calls itself, and most large crawlers after them: the name of nobody (RFC 9110, 10.1.5)."""
TOKEN: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
"""A token (RFC 9110, 5.6.2). RFC 9309, 2.2.1 has letters, `_` and `-` only; names such as `MJ12bot` are in wide use."""
_FIRST: Final = re.compile(r"\s*mozilla(?:/[^\s(]*)?(?=[\s(]|\Z)", re.IGNORECASE)
_COMPATIBLE: Final = rf"\bcompatible\s*;\s*({TOKEN})(?=\s*(?:[/;),]|\Z)|\s+(?:\+|https?:))"

_BLANK = " \t\n\r\x0b\x0c"
_FOLDED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz-_")


def choose(groups: Sequence[Sequence[str]], agent: str, dialect: Dialect) -> list[int]:
    """Numbers of the groups that apply to an agent, in file order; those for `*` only where no other does.

    Args:
        groups: the `User-agent` values of each group, as written.
    """
    agent = folded(agent)
    values = [[folded(value) for value in group] for group in groups]
    for match in _comparisons(agent, dialect):
        # For each group the length of the most specific of its values that match; -1 where none does.
        weights = [max((len(value) for value in group if match(value)), default=-1) for group in values]
        if max(weights, default=-1) >= 0:
            return _chosen(weights, dialect)
    return _chosen([1 if any(_is_star(value, dialect) for value in group) else -1 for group in values], dialect)


class Chooser:
    """`choose` for many agents: groups are looked up by name where a dialect compares names as a whole."""

    def __init__(self, groups: Sequence[Sequence[str]], dialect: Dialect) -> None:
        self._groups = groups
        self._dialect = dialect
        self._everybodys: list[int] = []
        self._named: dict[str, dict[int, int]] = {}  # name -> group -> length of the most specific value
        key = _KEYS.get(dialect.agent_match)
        self._indexed = key is not None
        if key is None:
            return
        for number, group in enumerate(groups):
            values = [folded(value) for value in group]
            if any(_is_star(value, dialect) for value in values):
                self._everybodys.append(number)
            for value in values:
                if not _is_star(value, dialect) and value != "*":
                    weights = self._named.setdefault(key(value), {})
                    weights[number] = max(len(value), weights.get(number, -1))

    def choose(self, agent: str) -> list[int]:
        """Numbers of the groups that apply to an agent, in file order."""
        if not self._indexed:
            return choose(self._groups, agent, self._dialect)
        name, product = names(folded(agent))
        match self._dialect.agent_match:
            case "letters":
                called = {letters(folded(agent))}
            case "exact":
                called = {product}
            case _:
                called = {name, product}
        weights: dict[int, int] = {}
        for each in called - {""}:  # who has no name is called by no group
            for number, weight in self._named.get(each, {}).items():
                weights[number] = max(weight, weights.get(number, -1))
        found = sorted(weights or self._everybodys)
        if self._dialect.group_choice == "first_matching":
            return found[:1]
        if self._dialect.group_choice == "most_specific" and weights:
            return [number for number in found if weights[number] == max(weights.values())]
        return found


def _chosen(weights: list[int], dialect: Dialect) -> list[int]:
    matching = [number for number, weight in enumerate(weights) if weight >= 0]
    if dialect.group_choice == "first_matching":
        return matching[:1]
    if dialect.group_choice == "most_specific":
        return [number for number in matching if weights[number] == max(weights)]
    return matching


def _is_star(value: str, dialect: Dialect) -> bool:
    if dialect.agent_match == "letters":  # `*` followed by white space and anything still counts
        return value[:1] == "*" and (len(value) == 1 or value[1] in _BLANK)
    return value == "*"


def _comparisons(agent: str, dialect: Dialect) -> list[Callable[[str], bool]]:
    """The comparisons to try one after the other; the first that any group passes decides."""
    own = identified(agent)
    name, product = names(own)
    others = PLACEHOLDER if own != agent else None  # part of our agent string, but not what we are called
    match dialect.agent_match:
        case "product_token":
            return [lambda value: value != "*" and product != "" and token(value) in (name, product)]
        case "letters":
            ours = letters(own)
            return [lambda value: ours != "" and letters(value) == ours and not _is_star(value, dialect)]
        case "exact":
            return [lambda value: value not in ("", "*") and value == product]
        case "substring":
            return [lambda value: value not in ("", "*") and token(value) != others and value in agent]
        case "bidirectional_substring":
            return [
                lambda value: value not in ("", "*") and value in (agent, product),
                lambda value: value not in ("", "*") and token(value) != others and (value in agent or agent in value),
            ]
        case "glob":
            return [lambda value: value != "" and token(value) != others and _glob(value, agent)]


def folded(text: str) -> str:
    """ASCII letters in lower case; product tokens hold no others (RFC 9309, 2.2.1)."""
    return text.translate(_FOLDED)


def identified(agent: str) -> str:
    """An agent string without what says nothing of who sends it.

    Large crawlers send what browsers do, with their own name in it: of `Mozilla/5.0 (compatible; MyBot/1.0; +URL)` this
    is `MyBot`. Such a string that names nobody gives an empty text; any other is given back as it is, `Mozilla` alone
    included.
    """
    browser = _FIRST.match(agent)
    if browser is None or not agent[browser.end() :].strip():
        return agent
    found = re.compile(_COMPATIBLE, re.IGNORECASE).search(agent, browser.end())  # late: few need it
    return found[1] if found is not None else ""


def product_token(agent: str) -> str:
    """Our product token, as our agent string has it (RFC 9309, 2.2.1); empty where it holds none, or only `Mozilla`.

    It is what stands before `/` or white space, or the name in `Mozilla/5.0 (compatible; NAME/...)`.
    """
    _, product = names(identified(agent))
    return "" if folded(product) == PLACEHOLDER else product


def names(agent: str) -> tuple[str, str]:
    """What our agent string is called in a file: what stands before `/`, and the first word of that."""
    name = agent.split("/", 1)[0].strip()
    return name, name.split()[0] if name.split() else ""


def token(value: str) -> str:
    """A `User-agent` value without its version: up to `/`, or up to white space before a number."""
    value = value.split("/", 1)[0].strip(_BLANK)
    head, _, last = value.rpartition(" ")
    return head.rstrip(_BLANK) if head and last[:1] in tuple("0123456789") else value


def letters(value: str) -> str:
    """The leading letters, `-` and `_`: what Google's parser takes for the product token."""
    size = 0
    while size < len(value) and value[size] in _LETTERS:
        size += 1
    return value[:size]


def _glob(value: str, agent: str) -> bool:
    """Whether a value with `*` for any run occurs in the agent string. Linear: runs are looked for leftmost."""
    position = 0
    for run in value.split("*"):
        position = agent.find(run, position)
        if position < 0:
            return False
        position += len(run)
    return True


_KEYS: dict[str, Callable[[str], str]] = {"product_token": token, "letters": letters, "exact": lambda value: value}
