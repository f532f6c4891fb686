"""What a crawl covers: by host, domain or path prefix, by patterns, by depth; and why.

Values in, values out: it never asks a site and never fetches the list of public suffixes (a copy comes with
publicsuffixlist). Whether robots.txt allows a URL is not its question.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Self

from comity.domains import registrable
from comity.errors import InvalidSetting
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.engine import Matcher, matcher, normalised, path_of
from comity_robots.engine.reference import FORMS
from comity_robots.paths import RFC9309

Breadth = Literal["host", "domain", "prefix", "any"]
BREADTHS: tuple[Breadth, ...] = ("host", "domain", "prefix", "any")
_FORM = FORMS[RFC9309.path_form]


SCOPE: Final = "scope"  # the fact that has what a crawl covered when its last run began
GROWN: Final = "scope grown "
"""How the names of facts begin, followed by a number, that have what changed since: all of it written anew whenever a
seed redirects would be quadratic."""
_CHANGES: Final = {"new": True, "lost": False}


@dataclass(frozen=True, slots=True)
class ScopeVerdict:
    """Whether a URL is in scope, and one sentence that says why."""

    inside: bool
    why: str


@dataclass(slots=True, kw_only=True)
class Scope:
    """What a crawl covers. It grows in place: a crawl may be given any number of URLs, each of which redirects.

    Attributes:
        by: how far it reaches from the URLs given: `host`, `domain` (the registrable domain by the public suffix
            list, with all its hosts), `prefix` (the directory of the given URL, by http and https) or `any`.
        given: the URLs, in normal form, that it lies around; `add`, `widen` and `move` change them.
        include: patterns of which a URL must match one, where there are any.
        exclude: patterns of which it may match none. Exclusion is stronger.
        max_depth: links from a given URL at most; None for no limit.

    A pattern is written as in robots.txt: a path and query that a URL's must begin with, `*` for any run of characters,
    `$` for the end. One that begins with `http` is compared with the whole URL.

    Raises:
        InvalidSetting: a field has a value that is not allowed.
    """

    by: Breadth = "host"
    given: Set[str] = frozenset()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int | None = None
    _given: set[str] = field(init=False, repr=False, compare=False)
    _anchors: Counter[str] = field(init=False, repr=False, compare=False)  # and of how many URLs given each is
    _authorities: Counter[str] = field(init=False, repr=False, compare=False)  # where it goes by prefix, and the URLs
    _by_path: dict[str, set[str]] = field(init=False, repr=False, compare=False)
    _changes: dict[str, bool] = field(init=False, repr=False, compare=False)
    _include: "_Patterns" = field(init=False, repr=False, compare=False)
    _exclude: "_Patterns" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self.by, self.include, self.exclude)
        given, self._given = self.given, set()
        self.given = self._given
        self._anchors, self._authorities, self._by_path, self._changes = Counter(), Counter(), {}, {}
        self._include, self._exclude = _Patterns(self.include), _Patterns(self.exclude)
        self.add(*given)
        self._changes.clear()

    def judge(self, url: str, *, depth: int = 0) -> ScopeVerdict:
        """Whether a URL in normal form is in scope."""
        if self.max_depth is not None and depth > self.max_depth:
            return ScopeVerdict(False, f"it is {depth} links from the start; the limit is {self.max_depth}")
        if (place := self._place(url)) is None:
            return ScopeVerdict(False, self._elsewhere(url))
        if (pattern := self._exclude.match(url)) is not None:
            return ScopeVerdict(False, f"the pattern {pattern} excludes it")
        if not self.include:
            return ScopeVerdict(True, f"it is {place}")
        if (pattern := self._include.match(url)) is not None:
            return ScopeVerdict(True, f"it is {place} and the pattern {pattern} includes it")
        return ScopeVerdict(False, "no pattern includes it")

    def holds(self, url: str, *, depth: int = 0) -> bool:
        """Whether a URL in normal form is in scope; `judge` without the sentence, for the many."""
        if self.max_depth is not None and depth > self.max_depth:
            return False
        if (urls.host(url) not in self._anchors) if self.by == "host" else (self._place(url) is None):
            return False
        if self.exclude and self._exclude.match(url) is not None:
            return False
        return not self.include or self._include.match(url) is not None

    def excludes(self, url: str) -> bool:
        """Whether a pattern excludes a URL, wherever it lies."""
        return self._exclude.match(url) is not None

    def reaches(self, url: str) -> bool:
        """Whether a document that only names URLs (a sitemap, a feed) may be read: on any host of the scope."""
        if self.by == "prefix":
            return _rest(urls.origin(url)) in self._authorities
        return self._place(url) is not None

    def covers(self, url: str, *, depth: int, lists: bool) -> bool:
        """Whether a URL is in scope; `lists`: what only names URLs may be anywhere on a host of the scope."""
        return self.reaches(url) if lists else self.holds(url, depth=depth)

    def around(self, *given: str) -> Self:
        """A scope that covers these URLs too."""
        return replace(self, given={*self.given, *given})

    def add(self, *given: str) -> bool:
        """Cover these URLs too; whether they are new."""
        new = [url for url in dict.fromkeys(given) if url not in self._given]
        for url in new:
            self._keep(url, True)
        return bool(new)

    def widen(self, given: Iterable[str]) -> bool:
        """The same; of those that lie in the same place it remembers one."""
        before = len(self._given)
        for url in given:
            if _anchor(self.by, url) not in self._anchors:
                self.add(url)
        return len(self._given) > before

    def move(self, origin: str, target: str) -> bool:
        """Follow a redirect of a given URL, example.com to www.example.com, for instance; whether that changes it.

        By prefix, a redirect may lead deeper but never widens the scope to a directory above the one that was given.
        Where it shows that the URL given named a directory (`/manual/en` leads to `/manual/en/`), that is the prefix.
        """
        if self.by == "prefix":
            path = Url(origin).path_and_query.partition("?")[0]
            if not path.endswith("/") and Url(target).path_and_query.startswith(f"{path}/"):
                named = _without_query(origin)
                before = tuple(self._by_path.get(named, ()))
                for url in before:
                    self._keep(url, False)
                return self.add(*(urls.origin(url) + path + "/" for url in (origin, target))) or bool(before)
        if self.by == "prefix" and _anchor("prefix", target).count("/") < _anchor("prefix", origin).count("/"):
            target = urls.origin(target) + Url(origin).path_and_query
        return self.widen((target,))

    def take_changes(self) -> dict[str, list[str]]:
        """What was given, and what is given no more, since the last call; empty where nothing is."""
        changes, self._changes = self._changes, {}
        found = {name: [url for url, is_new in changes.items() if is_new is new] for name, new in _CHANGES.items()}
        return found if changes else {}

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; `from_dict` reads it again."""
        patterns = {"include": list(self.include), "exclude": list(self.exclude)}
        return {"by": self.by, "given": sorted(self.given), **patterns}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], *, max_depth: int | None = None) -> Self:
        patterns = {name: tuple(value[name]) for name in ("include", "exclude")}
        return cls(by=value["by"], given=frozenset(value["given"]), max_depth=max_depth, **patterns)

    def _keep(self, url: str, is_given: bool) -> None:
        """Have a URL among those given, or no more."""
        (self._given.add if is_given else self._given.discard)(url)
        self._changes[url] = is_given
        anchor = _anchor(self.by, url)
        counted = [(self._anchors, anchor)]
        if self.by == "prefix":
            counted.append((self._authorities, anchor.partition("/")[0]))
            there = self._by_path.setdefault(_without_query(url), set())
            (there.add if is_given else there.discard)(url)
        for counts, name in counted:
            counts[name] += 1 if is_given else -1
            if not counts[name]:
                del counts[name]

    def _place(self, url: str) -> str | None:
        """Which anchor covers a URL, in words; None where none does."""
        if self.by == "any":
            return "on the web"
        if self.by != "prefix":
            place = _anchor(self.by, url)
            return f"on {place}" if place in self._anchors else None
        rest = _without_query(url)
        end = rest.find("/")
        while end >= 0 and rest[: end + 1] not in self._anchors:
            end = rest.find("/", end + 1)
        return f"below {rest[: end + 1]}" if end >= 0 else None

    def _elsewhere(self, url: str) -> str:
        anchors = sorted(self._anchors)
        named = ", ".join(anchors[:3]) + (f" and {len(anchors) - 3} more" if len(anchors) > 3 else "")
        where = "below" if self.by == "prefix" else "on"
        return f"it is not {where} {named}" if anchors else "the scope is empty"


def stored_scope(load_state: Callable[[str], Any], load_states: Callable[[str], Mapping[str, Any]]) -> Any:
    """The scope as the runs before remember it, as `Scope.to_dict` gives it; None where they do not."""
    stored = load_state(SCOPE)
    if stored is None:
        return None
    given = dict.fromkeys(stored["given"])
    for _, changes in sorted(load_states(GROWN).items(), key=lambda each: int(each[0].removeprefix(GROWN))):
        for url in changes["lost"]:
            given.pop(url, None)
        given |= dict.fromkeys(changes["new"])
    return stored | {"given": list(given)}


def check(by: object, include: Sequence[str], exclude: Sequence[str]) -> None:
    """Raises InvalidSetting where a scope of these cannot be made."""
    if by not in BREADTHS:
        raise InvalidSetting(f"scope: {by!r} is not one of {', '.join(BREADTHS)}")
    for name, patterns in (("include", include), ("exclude", exclude)):
        if not isinstance(patterns, tuple):
            raise InvalidSetting(f"{name}: {patterns!r} is not a tuple of patterns")
        for pattern in patterns:
            if not isinstance(pattern, str) or not pattern.startswith(("/", "*", "http://", "https://")):
                raise InvalidSetting(
                    f"{name}: {pattern!r} is not a pattern: write /, * or, for whole URLs, http at its start"
                )


def _anchor(by: Breadth, url: str) -> str:
    match by:
        case "host":
            return urls.host(url)
        case "domain":
            return registrable(urls.host(url))
        case "prefix":
            rest = _without_query(url)
            return rest[: rest.rindex("/") + 1]
        case "any":
            return "*"


def _rest(url: str) -> str:
    """What follows the scheme."""
    return url[url.index("//") + 2 :]


def _without_query(url: str) -> str:
    """The same, as far as it is a path."""
    return _rest(url).partition("?")[0]


class _Patterns:
    """Patterns as robots.txt knows them, asked all at once: the cost follows the URL's length, not their number."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        self._whole = self._matcher(http=True)
        self._paths = self._matcher(http=False)

    def match(self, url: str) -> str | None:
        """The first pattern written that matches a URL."""
        rank = 0
        if self._paths is not None:
            rank = self._paths.best(path_of(url, _FORM, False))
        if self._whole is not None:
            octets = url.encode("utf-8", "surrogatepass")
            rank = max(rank, self._whole.best(normalised(octets, _FORM, False)))
        return self._patterns[-rank] if rank else None

    def _matcher(self, *, http: bool) -> Matcher | None:
        ranks: dict[bytes, int] = {}
        for number, pattern in enumerate(reversed(self._patterns), 1):
            if pattern.startswith("http") is http:
                ranks[normalised(pattern.encode("utf-8", "surrogatepass"), _FORM, True)] = number
        return matcher(ranks, RFC9309) if ranks else None
