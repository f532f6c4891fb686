"""Which groups are meant for us: `User-agent` values compared with our agent string (RFC 9309, 2.2.1)."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

AgentMatch = Literal["product_token", "letters", "exact", "substring", "bidirectional_substring", "glob"]
GroupChoice = Literal["merge_matching", "first_matching", "most_specific"]

PLACEHOLDER: Final = "mozilla"
"""What every browser calls itself, and most large crawlers after them, so it identifies none (RFC 9110, 10.1.5)."""
NOBODY: Final = "\x01nobody"
"""An agent to which only groups for `*` apply, because no file can name it."""
_TOKEN_CHAR: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]"
TOKEN: Final = f"{_TOKEN_CHAR}+"
"""A token (RFC 9110, 5.6.2). RFC 9309, 2.2.1 has letters, `_` and `-` only; names such as `MJ12bot` are in wide use."""
_FIRST: Final = re.compile(r"\s*mozilla(?:/[^\s(]*)?(?=[\s(]|\Z)", re.IGNORECASE)
_COMPATIBLE: Final = (
    rf"\bcompatible\s*;\s*((?:{_TOKEN_CHAR}|[^\W\x00-\x7f])++)(?=\s*(?:[/;),]|\Z)|\s+(?:\+|https?:))"
    rf"|\(({_TOKEN_CHAR}++)/[^\s;()]*+;\s*\+?https?:"  # as Applebot and Amazonbot end a browser's
)

_Weights = dict[int, int]  # number of a group -> length of the most specific of its values that match
_BLANK = " \t\n\r\x0b\x0c"
_FOLDED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz-_")


class Chooser:
    """Which groups apply to agents; they are looked up by name where a dialect compares names as a whole.

    Args:
        groups: the `User-agent` values of each group, as written.
        agent_match, group_choice, applebot_as_googlebot: as of a Dialect.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[str]],
        agent_match: AgentMatch,
        group_choice: GroupChoice,
        applebot_as_googlebot: bool = False,
    ) -> None:
        self._values = [(ascii_lower(value), number) for number, group in enumerate(groups) for value in group]
        self._match, self._choice, self._as_googlebot = agent_match, group_choice, applebot_as_googlebot
        self._key = key = KEYS.get(agent_match)
        self._named: dict[str, list[tuple[str, int]]] = {}
        if key is not None:
            for value, number in self._values:
                if not _is_star(value, agent_match) and value != "*":
                    self._named.setdefault(key(value), []).append((value, number))

    def choose(self, agent: str) -> list[int]:
        """Numbers of the groups that apply to an agent, in file order; those for `*` only where no other does."""
        chosen = self._naming(agent)
        if not chosen and self._as_googlebot and ascii_lower(product_token(agent)) == "applebot":
            chosen = self._naming("googlebot")
        return chosen or _chosen(
            {number: 1 for value, number in self._values if _is_star(value, self._match)}, self._choice
        )

    def _naming(self, agent: str) -> list[int]:
        """Numbers of the groups that name an agent, as the dialect compares names."""
        agent = ascii_lower(agent)
        if self._key is not None:
            one, product = match_names(strip_browser_prefix(agent), self._match)
            names = {one, product} if product else ()  # an agent without a name matches no group
            tried: Iterable[list[tuple[str, int]]] = [[each for name in names for each in self._named.get(name, ())]]
        else:
            tried = ([each for each in self._values if match(each[0])] for match in _comparisons(agent, self._match))
        for found in tried:
            weights: _Weights = {}
            for value, number in found:
                weights[number] = max(len(value), weights.get(number, -1))
            if weights:
                return _chosen(weights, self._choice)
        return []


def _chosen(weights: _Weights, group_choice: GroupChoice) -> list[int]:
    found = sorted(weights)
    if group_choice == "first_matching":
        return found[:1]
    if group_choice == "most_specific":
        most = max(weights.values(), default=-1)
        return [number for number in found if weights[number] == most]
    return found


def _is_star(value: str, agent_match: AgentMatch) -> bool:
    if agent_match == "letters":  # `*` followed by white space and anything still counts
        return value[:1] == "*" and (len(value) == 1 or value[1] in _BLANK)
    return value == "*"


def _comparisons(agent: str, agent_match: AgentMatch) -> list[Callable[[str], bool]]:
    """Where names are not compared as a whole: the comparisons to try one after the other; the first that any group
    passes decides."""
    own = strip_browser_prefix(agent)
    name, product = match_names(own, agent_match)
    others = PLACEHOLDER if own != agent else None  # part of our agent string, but not a name that we match by
    if agent_match == "substring":
        return [lambda value: value in name and value not in ("", "*")]
    if agent_match == "glob":
        return [lambda value: value != "" and _glob(value, agent) and token(value) != others]
    return [
        lambda value: value not in ("", "*") and value in (agent, product),
        lambda value: (value in agent or agent in value) and value not in ("", "*") and token(value) != others,
    ]


def ascii_lower(text: str) -> str:
    """ASCII letters in lower case; product tokens hold no others (RFC 9309, 2.2.1)."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def strip_browser_prefix(agent: str) -> str:
    """An agent string without what says nothing of who sends it.

    Large crawlers send what browsers do, with their own name in it: of `Mozilla/5.0 (compatible; MyBot/1.0; +URL)` and
    of `Mozilla/5.0 (...) Safari/600.2.5 (MyBot/1.0; +URL)` this is `MyBot`. Such a string without a name gives an empty
    text; any other is given back as it is, `Mozilla` alone included.
    """
    browser = _FIRST.match(agent)
    if browser is None or not agent[browser.end() :].strip():
        return agent
    found = re.compile(_COMPATIBLE, re.IGNORECASE).search(agent, browser.end())  # late: few need it
    return found[1] or found[2] if found is not None else ""


def product_token(agent: str) -> str:
    """Our product token, as our agent string has it (RFC 9309, 2.2.1); empty where it holds none, or only `Mozilla`.

    It is what stands before `/` or white space, or the name in `Mozilla/5.0 (compatible; NAME/...)`.
    """
    _, product = names(strip_browser_prefix(agent))
    return "" if ascii_lower(product) == PLACEHOLDER else product


def match_names(agent: str, agent_match: AgentMatch) -> tuple[str, str]:
    """Return the two names by which our agent matches a group, as the dialect compares names.

    Google's parser cuts what a file says to letters, `-` and `_`, but not what it is asked:
    `MJ12bot` matches no group there.
    """
    name, product = names(agent)
    if agent_match == "exact":
        return agent.strip(), product
    return (name if agent_match in ("product_token", "substring") else product), product


def match_name_octets(agent: str, agent_match: AgentMatch) -> tuple[bytes, bytes]:
    """`match_names` for an agent string as it is sent, in lower case."""
    one, other = match_names(ascii_lower(strip_browser_prefix(agent)), agent_match)
    return one.encode(), other.encode()


def names(agent: str) -> tuple[str, str]:
    """Split an agent string into its name, which stands before `/`, and the first word of that."""
    name = agent.split("/", 1)[0].strip()
    return name, name.split()[0].rstrip(";,") if name.split() else ""


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


KEYS: dict[str, Callable[[str], str]] = {"product_token": token, "letters": letters, "exact": lambda value: value}
