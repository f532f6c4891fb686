"""TDMRep: a site's reservation of text and data mining, in `/.well-known/tdmrep.json`, headers or metas.

`1` reserves the rights (EU directive 2019/790, article 4), so training is disallowed without a licence; `0` does not.
It says nothing about search, which the protocol leaves alone on purpose. Source: the W3C community group's TDMRep.
"""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from comity_pages import urls
from comity_robots import paths
from comity_robots.usage.statements import MAX_URL, Licence, Origin, Preference, Statement, Usage, located, shown

MAX_BYTES: Final = 1_048_576  # octets; a larger file is not read
MAX_RULES: Final = 10_000  # rules kept of one file

PATH: Final = "/.well-known/tdmrep.json"
RESERVATION: Final = "tdm-reservation"
POLICY: Final = "tdm-policy"


@dataclass(frozen=True, slots=True)
class TdmRule:
    """One object of the file. `reservation` is None where the file gives neither 0 nor 1; `number` counts from 1."""

    number: int
    location: str
    pattern: paths.Pattern
    reservation: int | None
    policy: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Tdmrep:
    """The file as read: its usable rules in order, and what was wrong with the rest, one sentence each."""

    rules: tuple[TdmRule, ...] = ()
    problems: tuple[str, ...] = ()

    def rule_for(self, url: str) -> TdmRule | None:
        """The first rule in the file whose location covers the URL: TDMRep calls that the most specific one."""
        path = paths.target(url)
        return next((rule for rule in self.rules if rule.pattern.covers(path)), None)


def parse(body: bytes) -> Tdmrep:
    """Read `tdmrep.json`. Never raises: what cannot be read becomes a problem, the rest is used."""
    if len(body) > MAX_BYTES:
        return Tdmrep(problems=(f"The file is larger than {MAX_BYTES} bytes and is not read.",))
    try:
        document = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        return Tdmrep(problems=(f"The file is not JSON: {str(error)[:200]}.",))
    if isinstance(document, dict) and "location" in document:
        document = [document]  # one rule without its brackets: an error, but its meaning is in no doubt
    if not isinstance(document, list):
        return Tdmrep(problems=("The file is not a list of rules.",))
    rules: list[TdmRule] = []
    problems: list[str] = []
    for number, entry in enumerate(document[:MAX_RULES], 1):
        rule = _rule(number, entry)
        if rule is None:
            problems.append(f"Rule {number} has no location and is skipped.")
            continue
        if rule.reservation is None:
            problems.append(f"Rule {number} gives no tdm-reservation of 0 or 1.")
        rules.append(rule)
    if len(document) > MAX_RULES:
        problems.append(f"Only the first {MAX_RULES} rules are read.")
    return Tdmrep(tuple(rules), tuple(problems))


def from_tdmrep(tdmrep: Tdmrep, url: str) -> Usage:
    """What the file states about one URL; nothing where no location covers it.

    A relative policy is resolved against the file's own URL (RFC 3986, 5.1), on the origin of `url` where it has one.
    """
    rule = tdmrep.rule_for(url)
    if rule is None:
        return Usage()
    policies: tuple[Licence, ...] = ()
    if rule.policy:
        policies = (_policy(rule.policy, urls.join(url, PATH), "tdmrep.json", rule.number),)
    return Usage(
        (_statement(rule.reservation, rule.text, "tdmrep.json", RESERVATION, rule.number, rule.location),), policies
    )


def from_value(name: str, value: str, origin: Origin, url: str | None = None) -> Usage:
    """What one `tdm-reservation` or `tdm-policy` header or meta states; the name in lower case.

    Args:
        url: the page's URL, or its base in a meta's case, against which a relative policy is resolved.
    """
    text = value.strip()
    if name == POLICY:
        return Usage(licences=(_policy(text, url, origin),) if text else ())
    return Usage((_statement(_reservation(text), text, origin, RESERVATION, None, None),))


def _policy(reference: str, base: str | None, origin: Origin, line: int | None = None) -> Licence:
    url, note = located(reference, None if base is None else partial(urls.join, base))
    return Licence(url, "tdmrep", origin, POLICY, line, note=note)


def _rule(number: int, entry: Any) -> TdmRule | None:
    if not isinstance(entry, dict):
        return None
    location = entry.get("location")
    if not isinstance(location, str) or not location:
        return None
    policy = entry.get(POLICY)
    return TdmRule(
        number,
        location,
        paths.pattern(location),
        _reservation(entry.get(RESERVATION)),
        policy[:MAX_URL] if isinstance(policy, str) and policy.strip() else None,
        shown(f"{location}: {RESERVATION} {entry.get(RESERVATION)!r}"),
    )


def _reservation(value: Any) -> int | None:
    """0 or 1; every other value is a protocol error and counts as unset."""
    if value in ("0", "1") or (value in (0, 1) and not isinstance(value, bool)):
        return int(value)
    return None


def _statement(
    reservation: int | None, text: str, origin: Origin, name: str, line: int | None, path: str | None
) -> Statement:
    value: Preference = "unknown" if reservation is None else ("disallowed" if reservation else "allowed")
    note = "neither 0 nor 1" if reservation is None else ""
    return Statement("train-ai", value, "tdmrep", origin, name, shown(text), line, path, note=note)
