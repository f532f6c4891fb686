"""Dialects as data: how a robots.txt is read, as one frozen value with orthogonal settings.

The engine has no branch for any dialect by name; adding a dialect is adding a value to the table at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from comity.errors import InvalidSetting
from comity.fields import check, setting, settings_of, size

AgentMatch = Literal["product_token", "letters", "exact", "substring", "bidirectional_substring", "glob"]
GroupChoice = Literal["merge_matching", "first_matching", "most_specific"]
Precedence = Literal["longest", "first", "allow_first", "disallow_first"]
Tie = Literal["allow", "first_in_file"]
PathForm = Literal["rfc9309", "google", "gem", "none"]

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How robots.txt is read. What is not said is as RFC 9309 has it.

    Attributes:
        agent_match: how a `User-agent` value is compared with us. `product_token`: whole token, without a version
            (RFC 9309, 2.2.1); `letters`: its leading letters, `-` and `_` (Google); `exact`; `substring`: it occurs in
            our name without version (the drafts of 1994 and 1996); `bidirectional_substring`: exact, else either
            occurs in the other; `glob`: it occurs in our agent string, `*` is any run, so `*` is a group like any
            other.
        group_choice: which of the matching groups count.
        precedence: which of the matching rules decides; `longest` counts octets of the normalised pattern.
        tie: which of equally ranked rules decides.
        path_form: how patterns and paths are made comparable. `rfc9309`: percent-encoded unreserved characters are
            decoded, others upper-cased, non-ASCII encoded (2.2.2), on both sides; `google`: in patterns only, nothing
            decoded; `gem`: everything decoded but `/ ? & =`; `none`.
        wildcards: whether `*` and a final `$` are special (RFC 9309, 2.2.3).
        typos: whether labels match by prefix, common misspellings count and a missing colon is forgiven (Google).
        index_html: whether `Allow: /dir/index.htm[l]` also allows `/dir/` (Google).
        semicolon_path: whether `;` begins the path of a URL, as `/` and `?` do (Google's parser).
        nul_ends_line: whether a line ends at a NUL byte, as a C string does.
        longest_line: octets of a line that count; 0 for all.
        robots_txt_allowed: whether `/robots.txt` itself is always allowed (RFC 9309, 2.2.2).
        max_bytes: octets of the file that are parsed (RFC 9309, 2.5: at least 500 KiB).
    """

    name: str
    agent_match: AgentMatch = "product_token"
    group_choice: GroupChoice = "merge_matching"
    precedence: Precedence = "longest"
    tie: Tie = "allow"
    path_form: PathForm = "rfc9309"
    wildcards: bool = True
    typos: bool = False
    index_html: bool = False
    semicolon_path: bool = False
    nul_ends_line: bool = False
    longest_line: int = setting(0, least=0)
    robots_txt_allowed: bool = True
    max_bytes: int = size(500 * KIB, least=0)

    def __post_init__(self) -> None:
        try:
            check(self)
        except InvalidSetting as error:
            raise InvalidSetting(f"dialect: {error}") from None

    def __str__(self) -> str:
        """As text that `dialect` reads: the name, or in what it differs from RFC 9309."""
        if DIALECTS.get(self.name) == self:
            return self.name
        usual = DIALECTS["rfc9309"]
        changed = [name for name in _SETTINGS if name != "name" and getattr(self, name) != getattr(usual, name)]
        return " ".join([usual.name, *(f"{name}={getattr(self, name)}".lower() for name in changed)])


_SETTINGS: Final = settings_of(Dialect)
_TABLE = (
    Dialect(name="rfc9309"),
    Dialect(
        name="google",
        agent_match="letters",
        path_form="google",
        typos=True,
        index_html=True,
        semicolon_path=True,
        nul_ends_line=True,
        longest_line=2083 * 8 - 1,
        robots_txt_allowed=False,
    ),
    Dialect(name="bing", group_choice="most_specific"),
    Dialect(name="yandex", agent_match="substring", group_choice="most_specific"),
    Dialect(
        name="draft1996",
        agent_match="substring",
        group_choice="first_matching",
        precedence="first",
        wildcards=False,
    ),
    Dialect(name="ladon", agent_match="substring", group_choice="first_matching", precedence="first", wildcards=False),
    Dialect(name="webcanon"),
    Dialect(
        name="robotstxt",
        agent_match="glob",
        group_choice="first_matching",
        precedence="first",
        path_form="gem",
        robots_txt_allowed=False,
    ),
    Dialect(name="f9", agent_match="exact"),
    Dialect(
        name="yoink",
        agent_match="bidirectional_substring",
        group_choice="first_matching",
        tie="first_in_file",
        path_form="none",
        robots_txt_allowed=False,
    ),
)
DIALECTS: dict[str, Dialect] = {value.name: value for value in _TABLE}


def dialect(value: str | Dialect | Mapping[str, Any]) -> Dialect:
    """A dialect by name, or by name with what it differs in, as text (`rfc9309 precedence=allow_first`) or by fields.

    A Dialect is given back as it is.

    Raises:
        InvalidSetting: no dialect has this name, or no setting of one this value.
    """
    if isinstance(value, Dialect):
        return value
    if isinstance(value, str):
        return DIALECTS.get(value) or _of_text(value)
    if not isinstance(value, Mapping):
        raise TypeError(f"dialect: expected a name or a Dialect, not {type(value).__name__}")
    return _changed(Dialect(name=value.get("name", "own")), {**value})


@lru_cache(64)
def _of_text(text: str) -> Dialect:
    name, *words = text.replace(",", " ").split() or [""]
    if name not in DIALECTS:
        raise InvalidSetting(f"dialect: {name!r} is not one of {', '.join(DIALECTS)}")
    changes: dict[str, Any] = {}
    for word in words:
        field, _, value = word.partition("=")
        changes[field] = _SETTINGS[field].read(value) if field in _SETTINGS else value
    return _changed(DIALECTS[name], {**changes, "name": " ".join([name, *words])})


def _changed(base: Dialect, changes: dict[str, Any]) -> Dialect:
    if unknown := next((name for name in changes if name not in _SETTINGS), None):
        raise InvalidSetting(f"dialect: {unknown!r} is not one of {', '.join(_SETTINGS)}")
    return replace(base, **changes)
