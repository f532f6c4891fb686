"""Findings about the names in User-agent lines: names that no crawler has, and which crawler is meant."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from comity_robots.agent_table import AgentTable, known_agent, table
from comity_robots.agents import PLACEHOLDER, TOKEN, ascii_lower, strip_browser_prefix
from comity_robots.lines import Line
from comity_robots.lint.findings import CODES, Finding
from comity_robots.usage import policy_tokens

# The names that crawlers go by, and what people call their operators or products, without marks.
_CALLED: Final = (
    ("GPTBot (training), OAI-SearchBot (search) or ChatGPT-User (fetches for a user)", "chatgpt gpt openai"),
    ("ClaudeBot (training), Claude-SearchBot (search) or Claude-User (fetches for a user)", "claude anthropic"),
    ("PerplexityBot (search) or Perplexity-User (fetches for a user)", "perplexity"),
    ("DuckDuckBot (search) or DuckAssistBot (answers)", "duckduckgo"),
    ("Meta-ExternalAgent (training) or facebookexternalhit (link previews)", "facebook meta metaai instagram"),
    ("archive.org_bot", "archiveorg internetarchive wayback waybackmachine"),
    ("DotBot or rogerbot", "moz seomoz"),
    ("bingbot", "bing copilot microsoft msn"),
    ("Bytespider", "bytedance"), ("TikTokSpider", "tiktok"),
    ("Google-Extended", "gemini bard"),
    ("MJ12bot", "majestic majesticseo majestic12"),
    ("Applebot", "siri"), ("BLEXBot", "webmeup"), ("CCBot", "commoncrawl"), ("cohere-ai", "cohere"),
    ("DeepSeekBot", "deepseek"), ("MistralAI-User", "mistral"), ("PetalBot", "huawei"), ("Slurp", "yahoo"),
    ("Yeti", "naver"),
)  # fmt: skip
_MANY_THINGS: Final = ("byte", "diff", "roger", "liner", "qualified", "senti")  # as are "you", "dot", "exa"
_LONG_ENOUGH: Final = 6  # letters of a name in which one slip is told from another name
_LONGER: Final = 9  # where a letter is replaced: msrbot and msnbot are two crawlers
_SEPARATORS: Final = re.compile(r"(?:(?<!\s)\s++)?+[,;|]\s*+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._!-]*")
_AT_FRONT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._!' -]*")
CODES.update(
    {
        "agent-policy-token": ("info", "a policy token in a User-agent line, which comity does not read yet"),
        "agent-list": ("error", "several names in one User-agent line: crawlers read one name"),
        "agent-unknown": ("warning", "a User-agent value that is no crawler's documented name"),
        "agent-with-space": ("warning", "a User-agent value with white space: Google reads its first word"),
        "agent-with-version": ("info", "a User-agent value with a version: crawlers compare the name only"),
        "agent-with-wildcard": ("warning", "`*` within a User-agent value: names have no wildcards (RFC 9309, 2.2.1)"),
        "empty-agent": ("error", "a User-agent line without a value"),
    }
)


@cache
def _names(known: AgentTable) -> tuple[dict[str, str], dict[str, str]]:
    """Names of a table by themselves in lower case, and by what is written for them."""
    named = {ascii_lower(each.name): each.name for each in known.agents}
    meant = {word: name for name, words in _CALLED for word in words.split()}
    for lower, name in named.items():  # written otherwise, or without its end: "semrush" for SemrushBot
        key = re.sub("[-_.]", "", lower)
        for word in (key, re.sub("(?:bot|spider)$", "", key)):
            if len(word) > 3 and word not in _MANY_THINGS:
                meant.setdefault(word, name)
    return named, meant


def _is_known(name: str) -> bool:
    return known_agent(name) is not None


def about_name(line: Line) -> Finding | None:
    """The finding about a User-agent line, if there is one: the first that explains most."""
    number, value = line.number, line.value
    if policy_tokens.is_policy_token(value):
        message = f"{value!r} is a policy token ({policy_tokens.DRAFT}): comity does not read it yet"
        hint = "keep it for those who do; Content-Usage says the same to those who do not"
        return Finding(number, "agent-policy-token", message, hint)
    if not value:
        return _written(number, "empty-agent", "User-agent without a value", "*")
    if value == "*":
        return None
    parts = [part for part in _SEPARATORS.split(value) if part]
    words = value.split()
    if len(parts) > 1 and all(
        _NAME.fullmatch(part) or part == "*" or policy_tokens.is_policy_token(part) for part in parts
    ):
        return _list(number, value, parts)
    if len(words) > 1 and all(map(_is_known, words)):
        return _list(number, value, words)
    own = strip_browser_prefix(value)
    if own != value or ascii_lower(value.partition("/")[0].strip()) == PLACEHOLDER:
        if not own or ascii_lower(own) == PLACEHOLDER or ascii_lower(own.partition("/")[0]) == PLACEHOLDER:
            message = f"{value!r} names no crawler: browsers and many crawlers call themselves Mozilla"
            return Finding(number, "agent-unknown", message, "write the crawler's own name", changes=True)
        return _written(number, "agent-with-version", f"{value!r} is a whole User-Agent header", own)
    if "*" in value:
        bare = value.strip("* ")
        message = f"{value!r}: names have no wildcards, only '*' alone means everybody"
        if re.fullmatch(TOKEN, bare) and "*" not in bare:
            return _written(number, "agent-with-wildcard", message, bare)
        return Finding(number, "agent-with-wildcard", message, "write whole names, one per line", changes=True)
    meant = _called(value)
    if meant is not None and not _is_known(value):
        message = f"{value!r} is not the name that a crawler documents"
        if " " in meant:
            return Finding(number, "agent-unknown", message, f"write {meant}", changes=True)
        return _written(number, "agent-unknown", message, meant)
    if "/" in value or "(" in value:
        return _with_version(number, value)
    if (" " in value or "\t" in value) and not _is_known(value):
        message = f"{value!r} holds white space: Google reads {_google(value)!r}"
        return Finding(number, "agent-with-space", message, "write the product token that its operator documents")
    return _unknown(number, value)


def _with_version(number: int, value: str) -> Finding:
    front = _AT_FRONT.match(value)
    name = front[0].strip(" -") if front is not None else ""
    message = f"{value!r} holds a version or a comment"
    rest = value[front.end() :] if front is not None else ""
    if not name or rest[:1] == ":" or (rest[:1] == "(" and front is not None and front[0][-1:] != " "):
        # a URL, or a name that goes on in brackets
        hint = "write the crawler's own name"
        return Finding(number, "agent-unknown", f"{value!r} is not the name of a crawler", hint, changes=True)
    return _written(number, "agent-with-version", message, name)


def _unknown(number: int, value: str) -> Finding | None:
    meant = None if _is_known(value) or len(value) > 40 else _misspelt(ascii_lower(value))
    return None if meant is None else _written(number, "agent-unknown", f"{value!r} looks like {meant}", meant)


def meant_name(name: str, named: Iterable[str] = ()) -> str | None:
    """The crawler that a name is meant for, one slip away or called so by people; None where it is somebody's own.

    Args:
        named: the User-agent values of a file; whoever these name is somebody.
    """
    lower, groups = ascii_lower(name), {ascii_lower(each): each for each in named}
    if not name or _is_known(name) or lower in groups:
        return None
    slips = (each for key, each in groups.items() if len(lower) >= _LONG_ENOUGH and one_slip(lower, key))
    return next(slips, None) or _called(name) or _misspelt(lower)


def _called(value: str) -> str | None:
    """The crawler that people call so, or write so."""
    return _names(table())[1].get(re.sub(r"[-_.()!\s]", "", ascii_lower(value)))


def _misspelt(name: str) -> str | None:
    """The known name that is one slip away; the first letter is hardly ever the wrong one."""
    if len(name) < _LONG_ENOUGH:
        return None
    slips = _slips(table())
    for variant in (name, *_without_one(name)):
        for known in slips.get(variant, ()):
            replaced = len(name) == len(known) and sorted(name) != sorted(known)
            if known[0] == name[0] and one_slip(name, known) and not (replaced and len(name) < _LONGER):
                return _names(table())[0][known]
    return None


@cache
def _slips(known: AgentTable) -> dict[str, list[str]]:
    """Each known name under itself and under itself without one letter."""
    found: dict[str, list[str]] = {}
    for name in _names(known)[0]:
        if len(name) >= _LONG_ENOUGH:
            for variant in {name, *_without_one(name)}:
                found.setdefault(variant, []).append(name)
    return found


def _without_one(name: str) -> list[str]:
    return [name[:place] + name[place + 1 :] for place in range(len(name))]


def one_slip(one: str, other: str) -> bool:
    """Whether one insertion, omission, replacement or swap of neighbours makes the two equal."""
    if abs(len(one) - len(other)) > 1:
        return False
    i = 0
    while i < min(len(one), len(other)) and one[i] == other[i]:
        i += 1
    a, b = one[i:], other[i:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[1::-1] == b[:2] and a[2:] == b[2:])


def _google(value: str) -> str:
    found = re.match(r"[A-Za-z_-]*", value)
    return found[0] if found is not None else ""


def _list(number: int, value: str, names: list[str]) -> Finding:
    lines = [f"User-agent: {name}" for name in dict.fromkeys(names)]
    message = f"{value!r} is one name to most crawlers; Google reads {_google(value)!r}"
    hint = f"write one name per line: {'; '.join(lines)}"
    return Finding(number, "agent-list", message, hint, "\n".join(lines), changes=True)


def _written(number: int, code: str, message: str, name: str) -> Finding:
    written = f"User-agent: {name}"
    return Finding(number, code, message, written, written, changes=True)
