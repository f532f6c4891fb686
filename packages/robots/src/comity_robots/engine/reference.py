"""What a robots.txt means, in the simplest Python that is right: records, groups, paths, patterns, ranks, the verdict.

It documents the rules; the fast form is tested against it; and it runs where no compiler was. What
the two share are tables of octets and the words of errors, which stand here.

1. A file is read into records (`scan`), one packed number each: its entry in the index.
2. Its groups are runs of `User-agent` lines with what is meant for them (`runs`); `applying` finds an agent's.
3. A rule's pattern and a URL's path are brought into one form (`comparable`, `path_of`).
4. A rule has a rank (`ranked`); of the rules whose pattern matches the path (`matches`) the highest rank decides.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final, Literal, NamedTuple

from comity_robots.agents import AgentMatch, Chooser, GroupChoice
from comity_robots.directives import ALLOW, LABELS, PREFIXES, SITEMAP, USER_AGENT
from comity_robots.errors import InvalidSetting, InvalidURL, truncate, without_userinfo
from comity_robots.fields import check, setting, size

MAX_MATCHERS_KEPT: Final = 128  # agents, and sets of groups, whose matchers a file keeps
MAX_URL_CHARACTERS_SHOWN: Final = 100  # in an error
_SPACE: Final = b" \t\x0b\x0c\r\n"
_MAX_VALUE_BYTES: Final = 0xFFFFFF
_MAX_POSITION: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How robots.txt is read. What is not said is as RFC 9309 has it.

    Attributes:
        agent_match: how a `User-agent` value is compared with us. `product_token`: whole token, without a version
            (RFC 9309, 2.2.1); `letters`: its leading letters, `-` and `_` (Google); `exact`: it is our product token
            or our whole agent string, without what browsers send before a name; `substring`: it occurs in our name
            without version (the drafts of 1994 and 1996); `bidirectional_substring`: exact, else either occurs in the
            other; `glob`: it occurs in our agent string, `*` is any run, so `*` is a group like any other.
        group_choice: which of the matching groups count.
        applebot_as_googlebot: whether Applebot follows the groups of Googlebot where none names it
            (support.apple.com/119829).
        default_delay: whether a Crawl-delay of `*` counts where the groups that name us have none (Bing, by a program
            manager's word on "all the default directives will be ignored (except Crawl-Delay)").
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
    applebot_as_googlebot: bool = False
    default_delay: bool = False
    precedence: Literal["longest", "first", "allow_first", "disallow_first"] = "longest"
    tie: Literal["allow", "first_in_file"] = "allow"
    path_form: Literal["rfc9309", "google", "gem", "none"] = "rfc9309"
    wildcards: bool = True
    typos: bool = False
    index_html: bool = False
    semicolon_path: bool = False
    nul_ends_line: bool = False
    longest_line: int = setting(0, least=0)
    robots_txt_allowed: bool = True
    max_bytes: int = size(500 * 1024, least=0)

    def __post_init__(self) -> None:
        try:
            check(self)
        except InvalidSetting as error:
            raise InvalidSetting(f"dialect: {error}") from None

    def __str__(self) -> str:
        """As text that `dialect` reads: in what it differs from RFC 9309."""
        changed = [each.name for each in fields(self)[1:] if getattr(self, each.name) != each.default]
        return " ".join(["rfc9309", *(f"{name}={getattr(self, name)}".lower() for name in changed)])


class Entry(NamedTuple):
    """A record as it stands in the file.

    Attributes:
        number: its place among the records of the file, from 0.
        directive: the number of its directive.
        octets: its value as written.
        start: where these begin in the file.
    """

    number: int
    directive: int
    octets: bytes
    start: int

    @property
    def value(self) -> str:
        return self.octets.decode("utf-8", "replace")


class Run(NamedTuple):
    """`User-agent` lines that stand together, with the records that are meant for them.

    Attributes:
        agents: their values, as written.
        numbers: of the records among those of the file; the first is a `User-agent` line.
    """

    agents: tuple[str, ...]
    numbers: range


def entries(body: bytes, index: "array[int]", numbers: Iterable[int], wanted: int = ~0) -> Iterator[Entry]:
    """The records with these numbers, of the directives that are wanted, as bits such as RULES.

    The index packs each into one number: where its value starts (32 bits), how many octets it has (24 bits; of a longer
    one the first 16 MiB count), its directive's number (8 bits).
    """
    for number in numbers:
        packed = index[number]
        if wanted >> (packed & 0xFF) & 1:
            yield Entry(number, packed & 0xFF, _octets_of(body, packed), packed >> 32)


def _octets_of(body: bytes, packed: int) -> bytes:
    start = packed >> 32
    return body[start : start + (packed >> 8 & _MAX_VALUE_BYTES)]


def scan(body: bytes, start: int, stop: int, dialect: Dialect) -> "array[int]":
    """The index of `body[start:stop]`: an entry for each line that is a record, in order (RFC 9309, 2.2)."""
    typos, longest_line = dialect.typos, dialect.longest_line
    found = array("Q")
    position = start
    for line in body[start:stop].splitlines(keepends=True):
        here = position
        position += len(line)
        if longest_line and len(line) > longest_line:
            line = line.rstrip(b"\r\n")[:longest_line]
        if dialect.nul_ends_line:
            line = line.partition(b"\0")[0]
        line = line.partition(b"#")[0].rstrip(_SPACE)
        label, colon, value = line.partition(b":")
        label = label.strip(_SPACE)
        if not colon and typos:  # exactly two words will do
            place = next((place for place in range(len(label)) if label[place] in b" \t"), None)
            if place is None:
                continue
            value = label[place:].lstrip(b" \t")
            label = b"" if b" " in value or b"\t" in value else label[:place]
        elif not colon:
            continue
        label = label.lower()
        directive = LABELS.get(label, 0)
        if typos and not 0 < directive <= SITEMAP:
            directive = next((number for prefix, number in PREFIXES if label.startswith(prefix)), directive)
        if directive:
            value = value.lstrip(_SPACE)
            start = here + len(line) - len(value)
            found.append(start << 32 | min(len(value), _MAX_VALUE_BYTES) << 8 | directive)
    return found


# Groups


def is_merged(dialect: Dialect) -> bool:
    """Whether names are compared as a whole and all groups of an agent count: its groups are found in one pass."""
    by_name = dialect.agent_match in ("product_token", "letters") and not dialect.applebot_as_googlebot
    return by_name and dialect.group_choice == "merge_matching"


def runs(body: bytes, index: "array[int]", ends: int, begin: int = 0) -> Iterator[Run]:
    """The runs of `User-agent` lines from a record on, each with the records up to the next one.

    Args:
        ends: directives that end a run, as bits: RULES, PREFERENCES or RECORDS.
    """
    agents: list[str] = []
    start, ended = begin, True
    for number, packed in enumerate(index[begin:], begin):
        if packed & 0xFF == USER_AGENT:
            if ended:
                if agents:
                    yield Run(tuple(agents), range(start, number))
                start, agents, ended = number, [], False
            agents.append(_octets_of(body, packed).decode("utf-8", "replace"))
        elif ends >> (packed & 0xFF) & 1:
            ended = True
    if agents:
        yield Run(tuple(agents), range(start, len(index)))


def applying(
    body: bytes, index: "array[int]", agent: str, dialect: Dialect, ends: int, wanted: int
) -> "tuple[tuple[int, ...], array[int]]":
    """Where the groups that apply to an agent begin in the index, and the numbers of records in them.

    A `User-agent` line anywhere makes the agent named, so that what stands under `*` is not meant for it (RFC 9309,
    2.2.1).

    Args:
        ends: as for `runs`.
        wanted: directives that are asked for, as bits.
    """
    groups = list(runs(body, index, ends))
    agents = [run.agents for run in groups]
    chooser = Chooser(agents, dialect.agent_match, dialect.group_choice, dialect.applebot_as_googlebot)
    return records_in(index, [groups[number] for number in chooser.choose(agent)], wanted)


def records_in(index: "array[int]", groups: list[Run], wanted: int) -> "tuple[tuple[int, ...], array[int]]":
    """Where groups begin in the index, and the numbers of records in them; the rest as for `applying`."""
    numbers = (number for run in groups for number in run.numbers if wanted >> (index[number] & 0xFF) & 1)
    return tuple(run.numbers.start for run in groups), array("I", numbers)


# Paths and patterns in the form in which they are compared (RFC 9309, 2.2.2 and 2.2.3)

# See path_form of Dialect; Google's changes patterns only.
FORMS: Final = {"none": 0, "google": 0, "rfc9309": 1, "gem": 2}
_SCHEME: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.")  # RFC 3986, 3.1
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# No URL may hold white space, control characters or any of "<>\^`{|} (RFC 3986, 2), so those are compared encoded, as
# browsers send them.
_ILLEGAL: Final = frozenset(b'"<>\\^`{|}\x7f') | frozenset(range(33))
# What becomes of an octet of a path: 0 it stays, 1 it needs a closer look, 2 it ends the path.
LOOKS: Final = bytes(2 if octet == 35 else octet in _ILLEGAL or octet in b"%*$" or octet > 127 for octet in range(256))
PLAIN: Final = bytes(octet for octet in range(128) if LOOKS[octet] == 0)
# By octet, by form: whether it is decoded where it stands encoded; and encoded where it stands as it is.
DECODED: Final = (
    bytes(256),
    bytes(octet in _UNRESERVED for octet in range(256)),
    bytes(octet not in b"/?&=*$%#" for octet in range(256)),
)
ENCODED: Final = (bytes(256), bytes(octet > 127 or octet in _ILLEGAL for octet in range(256)), bytes(256))
IN_SCHEME: Final = bytes(octet in _SCHEME for octet in range(256))
# As octets: where the fast form is built, nobody needs them compiled.
_NOT_PLAIN: Final = rb"%([0-9A-Fa-f]{2})|[^" + re.escape(PLAIN) + rb"]"
_NOT_ASCII: Final = rb"%([0-9A-Fa-f]{2})|[\x80-\xff]"


def normalised(octets: bytes, form: int, pattern: bool) -> bytes:
    """Octets in the form in which patterns and paths are compared.

    Args:
        form: one of FORMS.
        pattern: a pattern, in which `*` and a final `$` keep their meaning; in a path both are ordinary characters
            and are encoded, which is how RFC 9309, 2.2.3 lets a pattern name them.
    """
    if form == 0 or not octets.translate(None, PLAIN):
        return octets

    def in_form(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            char = int(found[1], 16)
            keep = DECODED[form][char]
        else:
            char = found[0][0]
            keep = not ENCODED[form][char]
            if char == 0x2A or (char == 0x24 and not (pattern and found.end() == len(octets))):
                keep = pattern and char == 0x2A
        return bytes((char,)) if keep else b"%%%02X" % char

    return re.sub(_NOT_PLAIN, in_form, octets)


def comparable(pattern: bytes, dialect: Dialect) -> bytes:
    """A pattern in the form in which it is compared."""
    special = pattern.translate(None, PLAIN)
    if not special or dialect.path_form == "none" or (dialect.wildcards and special == b"*" * len(special)):
        return pattern
    if dialect.path_form == "google":
        return _google(pattern)
    return normalised(pattern, FORMS[dialect.path_form], dialect.wildcards)


def _google(pattern: bytes) -> bytes:
    """Hexadecimal digits of escapes in upper case, octets above 127 escaped, nothing decoded."""
    return re.sub(_NOT_ASCII, lambda found: found[0].upper() if found[1] else b"%%%02X" % found[0][0], pattern)


def path_of(url: object, form: int, semicolon: bool) -> bytes:
    """Path and query of a URL, or of a bare path, in the form in which it is compared; `/` where there is none.

    Scheme, authority and fragment are left out. Empty where `url` is neither: not text, or text that begins with
    neither a scheme and `://` nor with `/` or `?`, or whose host opens a bracket and does not close it.

    Args:
        form: one of FORMS.
        semicolon: as Google's parser cuts it: `;` begins a path too, and no text at all stands for `/`.
    """
    if not isinstance(url, str):
        return b""
    text = url.encode("utf-8", "surrogatepass").partition(b"#")[0]
    starts = b"/?;" if semicolon else b"/?"
    begin = 2 if text.startswith(b"//") else 0
    at = _first_of(text, starts, begin)
    if at > begin and text[at - 1 : at + 2] == b"://":
        if not all(IN_SCHEME[octet] for octet in text[begin : at - 1]):
            return b""
        begin = at + 2
        at = _first_of(text, starts, begin)
    elif begin == 0 and at != 0:
        return b"/" if semicolon and not text else b""
    authority = text[begin:at] if at >= 0 else text[begin:]
    if authority.rfind(b"[") > authority.rfind(b"]"):
        return b""
    path = text[at:] if at >= 0 else b"/"
    return normalised(path if path[0] == 0x2F else b"/" + path, form, False)


def _first_of(text: bytes, octets: bytes, begin: int) -> int:
    return next((place for place in range(begin, len(text)) if text[place] in octets), -1)


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether a pattern matches a path from its beginning: `*` is any run of octets, a final `$` the end.

    Each run between asterisks is looked for leftmost, once; that suffices, because a run found further left leaves
    more room for the rest.
    """
    anchored = pattern.endswith(b"$")
    first, *runs = (pattern[:-1] if anchored else pattern).split(b"*")
    if not path.startswith(first):
        return False
    position = len(first)
    if not runs:
        return not anchored or position == len(path)
    for run in runs[:-1]:
        position = path.find(run, position)
        if position < 0:
            return False
        position += len(run)
    if anchored:
        return len(path) - len(runs[-1]) >= position and path.endswith(runs[-1])
    return path.find(runs[-1], position) >= 0


# Ranks. A rank is one number, the higher the stronger: what comes first in `precedence`, then `tie`, then the position
# in the file (the earlier the stronger), then one bit that says whether the rule allows.


def ranked(rules: Iterable[Entry], dialect: Dialect) -> dict[bytes, int]:
    """Comparable pattern -> rank of the strongest rule that has it."""
    ranks: dict[bytes, int] = {}
    for rule in rules:
        for pattern, rank in claims(rule, dialect):
            ranks[pattern] = max(rank, ranks.get(pattern, 0))
    return ranks


def claims(rule: Entry, dialect: Dialect) -> list[tuple[bytes, int]]:
    """The comparable patterns of a rule, each with its rank; a second one is the folder of an index.html."""
    allow = rule.directive == ALLOW
    patterns = [comparable(rule.octets, dialect)]
    if allow and dialect.index_html:
        folder, slash, name = patterns[0].rpartition(b"/")
        if slash and name.startswith(b"index.htm"):
            patterns.append(folder + b"/$")
    return [(pattern, _rank(rule.number, pattern, allow, dialect)) for pattern in patterns]


def position_of(rank: int) -> int:
    """The number of the record that a rank was given to."""
    return _MAX_POSITION - (rank >> 1 & _MAX_POSITION)


def allows(rank: int) -> bool:
    """Whether the rule with this rank allows; without any, 0, everything is allowed (RFC 9309, 2.2.2)."""
    return bool(rank & 1) or rank == 0


def _rank(number: int, pattern: bytes, allow: bool, dialect: Dialect) -> int:
    base = (_MAX_POSITION - number) << 1 | (allow or not pattern)  # an empty pattern forbids nothing
    match dialect.precedence:
        case "longest":
            return len(pattern) << 34 | (allow and dialect.tie == "allow") << 33 | base
        case "first":
            return base
        case "allow_first":
            return allow << 33 | base
        case "disallow_first":
            return (not allow) << 33 | base


# The verdict

ROBOTS_TXT: Final = b"/robots.txt"


def is_exempt(path: bytes, robots_txt_allowed: bool) -> bool:
    """Whether a path leads to the robots.txt itself, which may always be fetched (RFC 9309, 2.2.2)."""
    return robots_txt_allowed and path == ROBOTS_TXT


class Matcher:
    """The rules of an agent: comparable patterns, each with the rank of the strongest rule that has it."""

    def __init__(self, ranks: dict[bytes, int], dialect: Dialect) -> None:
        self._dialect = dialect
        wild = {each for each in ranks if dialect.wildcards and (b"*" in each or each.endswith(b"$"))}
        self._prefixes = {each: rank for each, rank in ranks.items() if each not in wild}
        self._sizes = sorted(set(map(len, self._prefixes)))
        ordered = sorted(((ranks[each], each) for each in wild), reverse=True)
        self._wild = [(rank, each.partition(b"*")[0].removesuffix(b"$"), each) for rank, each in ordered]

    def best(self, path: bytes) -> int:
        """The highest rank of the patterns that match a path; 0 where none does."""
        best = max((self._prefixes.get(path[:size], 0) for size in self._sizes), default=0)
        for rank, head, pattern in self._wild:  # the strongest first
            if rank <= best:
                break
            if path.startswith(head) and matches(pattern, path):
                return rank
        return best

    def allows(self, path: bytes) -> bool:
        """Whether the strongest rule that matches a path allows it."""
        return is_exempt(path, self._dialect.robots_txt_allowed) or allows(self.best(path))

    def answer(self, url: str, agent: str) -> bool:
        """`allows` for a URL."""
        path = path_of(url, FORMS[self._dialect.path_form], self._dialect.semicolon_path)
        if not path:
            raise unanswerable(url, agent)
        return self.allows(path)


matcher = Matcher


def matcher_of(body: bytes, index: "array[int]", numbers: "array[int]", dialect: Dialect) -> Matcher:
    """The matcher of an agent.

    Args:
        index: of the records of `body`.
        numbers: which of them are the agent's rules, in file order.
    """
    return Matcher(ranked(entries(body, index, numbers), dialect), dialect)


class Matchers:
    """The part of a parsed file that is asked most: a matcher for each agent that was asked about, and the question."""

    _index: "array[int]"

    def __init__(self, body: bytes, dialect: Dialect) -> None:
        self.body, self.dialect = body, dialect
        self._matchers: dict[object, Matcher | None] = {}

    def allowed(self, url: str, agent: str) -> bool:
        """Whether `agent` may fetch `url`.

        Args:
            url: absolute, or a path with its query.
            agent: product token or whole User-Agent header.

        Raises:
            InvalidURL: `url` is neither a URL nor a path; the two may have been swapped.
            TypeError: one of the two is not text.
        """
        if not isinstance(agent, str):
            raise unanswerable(url, agent)
        return (self._matchers.get(agent) or self._matcher_for(agent)).answer(url, agent)

    def allowed_many(self, urls: Iterable[str], agent: str) -> list[bool]:
        """`allowed` for many URLs."""
        if isinstance(urls, str | bytes):
            raise TypeError("urls: several URLs are expected, not one text")
        if not isinstance(agent, str):
            raise unanswerable("/", agent)
        matcher = self._matchers.get(agent) or self._matcher_for(agent)
        return [matcher.answer(url, agent) for url in urls]

    def _keep(self, key: object, matcher: Matcher | None) -> None:
        if len(self._matchers) >= MAX_MATCHERS_KEPT:
            self._matchers.clear()
        self._matchers[key] = matcher

    def _matcher_for(self, agent: str) -> Matcher:
        raise NotImplementedError


def unanswerable(url: object, agent: object) -> Exception:
    """The error to raise where `url` is neither a URL nor a path, or where one of the two is not text."""
    for name, value, what in (("url", url, "a URL or a path"), ("agent", agent, "a product token or User-Agent")):
        if not isinstance(value, str):
            return TypeError(f"{name}: {what} is text (str), not {type(value).__name__}")
    assert isinstance(url, str)
    assert isinstance(agent, str)
    shown = repr(truncate(url, MAX_URL_CHARACTERS_SHOWN))
    if agent.startswith("/") or "://" in agent.split(" ", 1)[0]:
        hint = "the agent looks like one: the URL comes first, then the agent"
    else:
        hint = "write it whole, such as https://example.com/page, or as a path that begins with '/'"
    return InvalidURL(
        without_userinfo(f"url: {shown} is neither a URL nor a path"), url=without_userinfo(url), hint=hint
    )
