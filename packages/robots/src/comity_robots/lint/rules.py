"""Findings that groups and rules show only together."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Final
from urllib.parse import quote

from comity_robots import directives
from comity_robots.agents import NOBODY, ascii_lower, token
from comity_robots.dialects import DIALECTS
from comity_robots.engine.reference import Entry, allows, is_exempt
from comity_robots.errors import InvalidURL
from comity_robots.lines import Line
from comity_robots.lint.findings import CODES, Finding
from comity_robots.lint.lines import PREFERENCES
from comity_robots.lint.removable import Rules
from comity_robots.octets import LineNumbers
from comity_robots.parsed import Parsed
from comity_robots.reasons import quoted
from comity_robots.usage.policy_tokens import is_policy_token
from comity_robots.values import Group, Rule

_IGNORES_DELAY = {"applebot", "googlebot", "googlebot-image", "googlebot-news", "googlebot-video", "google-extended"}
_RENDER: Final = {"*", "googlebot", "bingbot", "applebot", "yandex", "yandexbot", "baiduspider", "duckduckbot"}
_FOLDER: Final = re.compile(
    r"/(?:css|js|javascripts?|scripts?|styles?|stylesheets?|images?|img|imgs|assets|static|fonts?|wp-includes|_next)/?[*]*",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(r".*\.(?:css|m?js|woff2?)(?:[?*]*|\$)", re.IGNORECASE)
# One image is as often a counter as a picture: only all of a kind are needed to show pages.
_IMAGES: Final = re.compile(r".*[*]\.(?:png|jpe?g|gif|svg|webp)(?:[?*]*|\$)", re.IGNORECASE)
_DRUPAL: Final = frozenset(("/profiles/", "/scripts/"))
"""Folders that Drupal's own robots.txt closes; its scripts folder holds commands, and no page needs it."""
# Search engines, and how each reads the rules for its own crawler.
_READERS: Final = (("Google", "google", "Googlebot"), ("Bing", "bing", "bingbot"))
MAX_RULES_COMPARED: Final = 200  # rules for everybody that named groups are compared with
MAX_QUESTIONS: Final = 200_000
"""Questions times wildcard rules that one kind of finding is worth; beyond them it is not looked for."""
CODES.update(
    {
        "allow-without-disallow": ("info", "an Allow that has no Disallow to override"),
        "blocked-with-next-group": ("error", "a crawler without rules shares the `Disallow: /` of the group below"),
        "blocks-resources": ("warning", "a rule that keeps search engines from CSS, scripts or images of pages"),
        "conflicting-rules": ("error", "Allow and Disallow with the same pattern for one agent: only one can win"),
        "crawl-delay-ignored": ("info", "a Crawl-delay for a crawler that ignores it"),
        "crawl-delay-repeated": ("warning", "several Crawl-delays for one crawler: each reads another one"),
        "duplicate-group": ("warning", "an agent named in more than one group: not all parsers merge them"),
        "group-opens": ("info", "a group of its own that allows what the rules for everybody disallow"),
        "preference-for-blocked": ("warning", "a preference for crawlers that may fetch nothing"),
        "preference-not-for-named": ("warning", "a preference that does not hold for crawlers with groups"),
        "preferences-contradict": ("warning", "two statements about one use that say the opposite"),
        "duplicate-rule": ("warning", "the same rule twice for one agent"),
        "everything-disallowed": ("info", "everybody, or everybody who is not named, is disallowed everywhere"),
        "group-without-rules": ("info", "a group without rules allows everything"),
        "groups-run-together": ("warning", "User-agent lines without rules share the rules of the group below"),
        "read-otherwise": ("warning", "Google or Bing reads the rules otherwise"),
        "redundant-rule": ("info", "a rule that another rule makes unnecessary"),
        "sitemap-disallowed": ("warning", "a Sitemap that the rules disallow: crawlers may not fetch it"),
        "sitemap-repeated": ("info", "the same Sitemap twice"),
        "unreachable-rule": ("warning", "a rule that never decides: others always win"),
        "usage-ends-group": ("warning", "a preference between User-agent lines: it ends the group for uses only"),
    }
)


def about_rules(robots: Parsed, rules: Rules, lines: tuple[Line, ...]) -> Iterator[Finding]:
    """Findings about groups, and about rules that meet others."""
    seen: dict[str, int] = {}
    for group in rules.groups:
        yield from _about_group(robots, group, lines, seen)
        yield from _about_run(group, lines)
    names = _Names(rules.groups)
    yield from _about_merged(robots, names.groups)
    yield from _about_blocking(names)
    yield from _about_opened(robots, names)
    yield from _about_preferences(robots, names)
    yield from _about_delays(robots, rules)
    yield from _about_sitemaps(robots, rules, lines)
    yield from _about_resources(rules)
    yield from _about_readers(robots)
    for code, rule, because, needed in rules.removable():
        if needed and code == "allow-without-disallow":
            continue  # `Allow: /` under a name says as well as `Disallow:` that all is allowed
        if code == "conflicting-rules":  # which of the two is meant a person decides
            yield Finding(rule.line, code, _reason(code, because), "remove the one that is not meant")
            continue
        # What a dialect of the first match says nothing new by, may be the longest match of others.
        unsafe = needed or code == "unreachable-rule" or robots.dialect.precedence != "longest"
        hint = "write 'Disallow:' instead, which keeps the group" if needed else "remove it"
        instead, changes = "Disallow:" if needed else "", unsafe or not rules.is_safe(rule, because)
        yield Finding(rule.line, code, _reason(code, because), hint, instead, changes)


def _reason(code: str, because: Rule | None) -> str:
    if because is None:
        return "it overrides no Disallow"
    where = f"line {because.line} ({quoted(because.text)})"
    return {
        "duplicate-rule": f"{where} says the same",
        "conflicting-rules": f"{where} says the opposite, and wins",
        "redundant-rule": f"{where} covers it",
    }.get(code, f"{where} and others decide about all its paths")


def _about_group(robots: Parsed, group: Group, lines: tuple[Line, ...], seen: dict[str, int]) -> Iterator[Finding]:
    named: dict[str, int] = {}
    for line in lines[group.line - 1 : group.last_line]:
        if line.kind == "user-agent":
            named.setdefault(ascii_lower(token(line.value)), line.number)
    for agent, number in named.items():
        if agent in seen:
            message = f"{agent!r} is named in line {seen[agent]} too"
            hint = f"put the rules for {agent!r} into one group of its own"
            changes = robots.dialect.group_choice != "merge_matching" or robots.dialect.precedence != "longest"
            yield Finding(number, "duplicate-group", message, hint, changes=changes)
        else:
            seen[agent] = number
    if not group.rules:
        hint = "write 'Disallow:' below it if that is meant"
        yield Finding(group.line, "group-without-rules", "no rule follows", hint)


class _Names:
    """The groups of each name, as they are merged (RFC 9309, 2.2.1), and what they come to."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups: dict[str, list[Group]] = {}
        self._blocked: dict[str, bool] = {}
        self._limits: dict[int, bool] = {}
        self._facts: dict[int, tuple[bool, bool]] = {}  # whether a group forbids all; whether it allows something
        for group in groups:
            self._facts[group.line] = _closes(group), _opens(group)
            self._limits[group.line] = any(rule.pattern and not rule.allow for rule in group.rules)
            for name in dict.fromkeys(ascii_lower(token(agent)) for agent in group.agents):
                if not is_policy_token(name):
                    self.groups.setdefault(name, []).append(group)

    def blocked(self, name: str) -> bool:
        if name not in self._blocked:
            facts = [self._facts[group.line] for group in self.groups.get(name, ())]
            self._blocked[name] = any(closes for closes, _ in facts) and not any(opens for _, opens in facts)
        return self._blocked[name]

    def has_limits(self, name: str) -> bool:
        return any(self._limits[group.line] for group in self.groups.get(name, ()))


def _closes(group: Group) -> bool:
    return any(rule.pattern in ("/", "*", "/*") and not rule.allow for rule in group.rules)


def _opens(group: Group) -> bool:
    return any(rule.allow and rule.pattern.startswith(("/", "*")) for rule in group.rules)


def _about_merged(robots: Parsed, by_name: dict[str, list[Group]]) -> Iterator[Finding]:
    """Rules that meet the same or the opposite in another group of an agent, where a dialect merges them."""
    if robots.dialect.group_choice != "merge_matching":
        return
    left = MAX_QUESTIONS
    told: set[int] = set()
    agents = {group.line: group.agents for groups in by_name.values() for group in groups}
    folds = cache(lambda line: frozenset(map(ascii_lower, agents[line])))
    within = cache(lambda line, other: folds(line) <= folds(other))  # whether all of a group belong to another too
    for name, groups in by_name.items():
        if len(groups) < 2:
            continue
        first: dict[str, dict[bool, tuple[Group, Rule]]] = {}
        for group in groups:
            left -= len(group.rules)
            if left < 0:
                return
            for rule in group.rules:
                if not rule.pattern or rule.line in told:
                    continue
                alike = first.setdefault(rule.pattern, {})
                home, other = alike.get(not rule.allow, (group, rule))
                if home is not group:
                    # The one that loses, by RFC 9309, 2.2.2
                    loser, winner = (other, rule) if rule.allow else (rule, other)
                    told.add(loser.line)
                    message = f"line {winner.line} ({quoted(winner.text)}) says the opposite to {name!r}, and wins"
                    yield Finding(loser.line, "conflicting-rules", message, "remove the one that is not meant")
                home, other = alike.setdefault(rule.allow, (group, rule))
                if home is group:
                    continue
                left -= len(group.agents) // 64
                if within(group.line, home.line):
                    told.add(rule.line)
                    message = f"line {other.line} ({quoted(other.text)}) says the same to {name!r}"
                    yield Finding(rule.line, "duplicate-rule", message, "put both groups together", changes=True)


def _about_run(group: Group, lines: tuple[Line, ...]) -> Iterator[Finding]:
    """User-agent lines that share the rules of others because nothing that ends a group stands between.

    Only Allow and Disallow end a group (RFC 9309, 2.2.4): a blank line or a Crawl-delay does not.
    """
    if not any(rule.pattern for rule in group.rules):
        return
    sections: list[list[Line]] = [[]]
    between: list[list[Line]] = []  # what stands below each section but the last
    gap: list[Line] = []
    for line in lines[group.line - 1 : group.rules[0].line - 1]:
        if line.kind != "user-agent":
            gap.append(line)
            continue
        if gap and sections[-1]:
            between.append(gap)
            sections.append([])
        gap = []
        sections[-1].append(line)
    below = {ascii_lower(token(line.value)) for line in sections[-1]}
    last = sections[-1][0]
    rule = next(rule for rule in group.rules if rule.pattern)
    blocked = _closes(group) and not _opens(group)
    for section, gap in zip(sections, between, strict=False):
        told = [line for line in gap if line.kind not in ("blank", "comment", "unknown")]
        if any(line.kind in PREFERENCES for line in told):
            message = f"crawlers that know {told[0].kind} see two groups here, all others one"
            hint = f"write an Allow or Disallow for {section[0].value!r} above line {last.number}"
            yield Finding(section[0].number, "usage-ends-group", message, hint, changes=True)
        if {ascii_lower(token(line.value)) for line in section} <= below or (
            not told and all(line.kind == "comment" for line in gap)
        ):
            continue
        names = ", ".join(line.value for line in section[:3]) + ("..." if len(section) > 3 else "")
        what = f"only {told[0].kind.capitalize()} stands" if told else "only a blank line stands"
        message = f"{names} shares the rules of line {last.number} ({quoted(rule.text)}): {what} between"
        hint = f"write a rule of its own below line {section[-1].number}, such as 'Disallow:' for no limits"
        code = "blocked-with-next-group" if blocked and told else "groups-run-together"
        yield Finding(section[0].number, code, message, hint, changes=True)


def _about_blocking(names: _Names) -> Iterator[Finding]:
    """Whether no crawler may fetch anything, or only those that are named."""
    if not names.blocked("*"):
        return
    everybodys = names.groups["*"]
    line = next(rule.line for group in everybodys for rule in group.rules if rule.pattern in ("/", "*", "/*"))
    free = sum(not names.blocked(name) for name in names.groups if name != "*")
    named = "one crawler" if free == 1 else f"the {free} crawlers"
    message = f"everybody but {named} that other groups name may fetch nothing" if free else "nobody may fetch anything"
    yield Finding(line, "everything-disallowed", message, "is that meant?")


def _about_opened(robots: Parsed, names: _Names) -> Iterator[Finding]:
    """Named groups that have rules of their own, but not all that everybody else is told."""
    everybodys = [rule for group in names.groups.get("*", []) for rule in group.rules]
    closed = [rule for rule in everybodys if not rule.allow and rule.pattern.startswith("/")]
    if not closed or names.blocked("*"):
        return
    closed = closed[:MAX_RULES_COMPARED]
    paths = [_path_of(rule.pattern) for rule in closed]
    shut = robots.allowed_many(paths, NOBODY)
    told: dict[int, list[str]] = {}
    lines: dict[int, Rule] = {}
    left = MAX_QUESTIONS
    for name, groups in names.groups.items():
        if name == "*" or not names.has_limits(name) or names.blocked(name):
            continue  # who has no Disallow is meant to have no limits
        own = sum(len(group.rules) for group in groups)
        left -= own + len(paths) * (1 + own // 64)
        if left < 0:
            return
        open_to = robots.allowed_many(paths, name)
        opened = next((rule for rule, one, other in zip(closed, open_to, shut, strict=True) if one and not other), None)
        if opened is not None:
            line = groups[0].line
            told.setdefault(line, []).append(name)
            lines[line] = opened
    for line, opened_to in told.items():
        where = f"line {lines[line].line} ({quoted(lines[line].text)})"
        message = f"{_named(opened_to)} may fetch what {where} disallows for everybody else"
        hint = "repeat the rules of '*' here if they are meant for it too"
        yield Finding(line, "group-opens", message, hint, changes=True)


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _about_preferences(robots: Parsed, named: _Names) -> Iterator[Finding]:
    """Preferences that hold for others than they seem to, and such as contradict each other."""
    numbers = LineNumbers(robots.body)
    stating: set[str] = set()
    everybodys: list[tuple[int, str]] = []
    runs = [
        (
            [ascii_lower(token(agent)) for agent in run.agents if not is_policy_token(agent)],
            list(robots.entries(run.numbers, directives.STATED)),
        )
        for run in robots.runs(directives.PREFERENCES)
    ]
    free = {entry.value for names, said in runs for entry in said if "*" in names or not all(map(named.blocked, names))}
    for names, said in runs:
        if not said:
            continue
        lines = [(numbers.of(entry.start), entry) for entry in said]
        stating.update(names)
        yield from _contradictions(lines)
        if "*" in names:
            everybodys += [(line, directives.NAMES[entry.directive]) for line, entry in lines]
        elif names and all(map(named.blocked, names)) and any(entry.value not in free for entry in said):
            kind = directives.NAMES[said[0].directive]
            message = f"this {kind} is meant for {_named(names)} alone, which may fetch nothing"
            hint = "put it below the User-agent line it is meant for"
            yield Finding(lines[0][0], "preference-for-blocked", message, hint, changes=True)
    if everybodys:
        line, kind = everybodys[0]
        missed = [name for name in named.groups if name and name not in stating and not named.blocked(name)]
        if missed:
            message = f"this {kind} does not hold for {_named(missed)}: a group of its own stands in the place of '*'"
            yield Finding(line, "preference-not-for-named", message, "repeat it in their groups", changes=True)


def _contradictions(lines: Sequence[tuple[int, Entry]]) -> Iterator[Finding]:
    from comity_robots import paths
    from comity_robots.robots_usage import STATING

    first: dict[tuple[str | None, str], tuple[str, int]] = {}
    for line, entry in lines:
        path, text = paths.split(entry.value)
        for purpose, value, _ in STATING[entry.directive].stated(text):
            if value not in ("allowed", "disallowed"):
                continue
            other, where = first.setdefault((path, purpose), (value, line))
            if other != value:
                message = f"line {where} says the opposite about {purpose}"
                yield Finding(line, "preferences-contradict", message, "remove the one that is not meant", changes=True)


def _about_delays(robots: Parsed, rules: Rules) -> Iterator[Finding]:
    for _, same in groupby(robots.records("crawl-delay"), key=lambda record: id(record.agents)):
        records = list(same)
        names = [agent for agent in records[0].agents if ascii_lower(token(agent)) in _IGNORES_DELAY]
        hint = "remove it"
        if names and names[0].lower().startswith("google"):
            hint += "; it slows down where a site answers slowly, or with 429 or 503"
        for record in records if names else ():
            yield Finding(record.line, "crawl-delay-ignored", f"{names[0]} ignores Crawl-delay", hint)
        for record in records[1:]:
            message = f"line {records[0].line} has a Crawl-delay for the same crawlers"
            hint, instead = "keep one: some read the first, some the last, some the longest", None
            if record.value == records[0].value:
                hint, instead = "remove it", ""
            yield Finding(record.line, "crawl-delay-repeated", message, hint, instead, not rules.read_alike)


def _about_sitemaps(robots: Parsed, rules: Rules, lines: Sequence[Line]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for record in robots.records("sitemap"):
        if not record.value:
            continue
        if record.value in first:
            message = f"line {first[record.value]} names the same Sitemap"
            # Below User-agent lines it ends what a Crawl-delay is meant for.
            above = next((line for line in lines[record.line - 2 :: -1] if line.kind not in ("blank", "comment")), None)
            changes = not rules.read_alike or (above is not None and above.kind == "user-agent")
            yield Finding(record.line, "sitemap-repeated", message, "remove it", "", changes)
        else:
            first[record.value] = record.line
    if len(first) * robots.body.count(b"*") > MAX_QUESTIONS:
        return
    for url, line in first.items():
        if not _may_be_fetched(robots, url):
            message = "the rules disallow it, if it is on this host"
            yield Finding(line, "sitemap-disallowed", message, "allow its path", changes=True)


def _may_be_fetched(robots: Parsed, url: str) -> bool:
    try:
        return not url.lower().startswith(("http://", "https://")) or any(
            robots.allowed(url, agent) for agent in (NOBODY, "Googlebot", "bingbot")
        )
    except InvalidURL:
        return True


def _about_resources(rules: Rules) -> Iterator[Finding]:
    """What pages need to be rendered, for crawlers that render them."""
    left = MAX_QUESTIONS
    for number, group in enumerate(rules.groups):
        agents = [agent for agent in group.agents if ascii_lower(token(agent)) in _RENDER]
        drupal = {rule.pattern for rule in group.rules} >= _DRUPAL
        found = [
            rule
            for rule in (group.rules if agents else ())
            if not rule.allow and _is_resource(rule.pattern) and not (drupal and rule.pattern == "/scripts/")
        ]
        if not found:
            continue
        left -= len(found) * rules.wild(number)
        if left < 0:
            continue
        strongest = rules.strongest(number)
        for rule in found:
            path = rule.pattern.rstrip("*$").replace("*", "x")
            if _FOLDER.search(path + "/"):
                path = f"{path.rstrip('/')}/x.{'css' if 'css' in path.lower() or 'style' in path.lower() else 'js'}"
            rank = strongest.best((path if path.startswith("/") else f"/{path}").encode("utf-8", "replace"))
            if not allows(rank):
                who = "search engines" if "*" in agents else agents[0]
                hint = "allow it if pages need it to be shown"
                yield Finding(rule.line, "blocks-resources", f"{who} may not fetch {quoted(rule.pattern)}", hint)


def _is_resource(pattern: str) -> bool:
    return bool(_FOLDER.fullmatch(pattern) or _ENDING.fullmatch(pattern) or _IMAGES.fullmatch(pattern))


def _about_readers(robots: Parsed) -> Iterator[Finding]:
    """Who reads the rules otherwise than the dialect of the file: each search engine for its own crawler."""
    for engine, dialect, agent in _READERS:
        if dialect == robots.dialect.name:
            continue
        other = Parsed(robots.body, DIALECTS[dialect], robots.max_bytes)
        patterns = dict.fromkeys(pattern for each in (robots, other) for pattern in _patterns_for(each, agent))
        if len(patterns) * robots.body.count(b"*") > MAX_QUESTIONS:
            continue
        paths = [path for path in dict.fromkeys(map(_path_of, patterns)) if not is_exempt(path.encode(), True)]
        before, after = robots.allowed_many(paths, agent), other.allowed_many(paths, agent)
        differing = [place for place, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]
        if differing:
            path, allowed = paths[differing[0]], after[differing[0]]
            line = other.deciding_line(path, agent) or robots.deciding_line(path, agent)
            more = f" and {len(differing) - 1} more paths" if len(differing) > 1 else ""
            verdict = f"{agent} may{'' if allowed else ' not'} fetch {quoted(path)}{more}"
            hint = f"compare: comity explain --dialect {dialect}"
            yield Finding(line or 1, "read-otherwise", f"{engine} reads this otherwise: {verdict}", hint)


def _path_of(pattern: str) -> str:
    """A path that a pattern matches, as crawlers send it."""
    path = re.sub(r"[^!-~]", lambda found: quote(found[0], errors="replace"), pattern.replace("*", "").rstrip("$"))
    return "/" + path.lstrip("/")


def _patterns_for(robots: Parsed, agent: str) -> Iterator[str]:
    return (entry.value for entry in robots.entries(robots.applying(agent)[1]))
