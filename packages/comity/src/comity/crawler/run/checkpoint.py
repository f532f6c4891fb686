"""What goes from one run of a crawl to the next: policy and settings.

A later run keeps to the policy and the settings that the crawl was begun with, unless it is told otherwise; where scope
or policy change, what the old ones decided about the queue is decided again. What a machine can bear (requests at once,
the browser) is no part of that: each run says it for itself. Nor are rights: a folder may be anybody's, so what allows
more than holds without it, or runs code, is given again for each run (`rights_in`).
"""

import dataclasses
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.scope import stored_scope
from comity.crawler.finding.sitemap_names import leads_into, naming
from comity.crawler.observe.stats import UNREACHABLE
from comity.crawler.output.plugins import is_code
from comity.crawler.storage.manifest import run_in
from comity.crawler.storage.stored_config import (
    DEFAULTS,
    OF_THE_RUN,
    POLICY,
    SETTINGS,
    StoredConfig,
    from_json,
    settings_to_dict,
)
from comity.errors import InvalidSetting, check_type, place_of
from comity.frontier.refilter import Judged
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import EntryKind, Run, Superseded
from comity.net.client_settings import ClientSettings
from comity.policy import Policy
from comity.policy.policy import policy_to_dict
from comity_robots.fields import settings_of

AGENT_FIELDS: Final = frozenset(("agent", "product_token"))  # of a policy: they say who asks, and allow nothing
_PACE_FIELDS: Final = frozenset(
    ("min_interval", "pace_by", "adaptive", "backoff", "max_backoff", "max_retry_after", "robots_fetch_counts")
) | {"breaker_failures", "breaker_recovery", "purposes"}


def decides_otherwise(policy: Policy, before: Mapping[str, Any] | None) -> bool:
    """Whether a policy may decide otherwise than the one of the run before, as `policy_to_dict` gave it. What only sets
    the pace decides nothing."""
    now = policy_to_dict(policy)
    then = {} if before is None else {name: from_json(value) for name, value in before.items()}
    return before is not None and any(from_json(now[name]) != then.get(name) for name in now.keys() - _PACE_FIELDS)


RUN_FACT: Final = "run"  # the fact that says which run of which crawl was the last to begin


def run_of(before: Sequence[Any] | None, wanted: Run | None, folder: Path) -> Run:
    """The run that begins, where `before` is the one before, as it is remembered. `wanted`: one of several shards is
    told which; one of a crawl by itself is the next.

    Raises:
        Superseded: a later one has begun already, or the folder is another crawl's.
    """
    last = None if before is None else Run(*before)
    if wanted is None:
        return Run(secrets.token_hex(8), 1) if last is None else Run(last.crawl, last.number + 1)
    for begun in (last, run_in(folder.parent)):
        if begun is not None and begun.crawl != wanted.crawl:
            raise Superseded(f"{folder} is a shard of another crawl", hint="put back the one that was there")
        if begun is not None and begun.number > wanted.number:
            raise Superseded(
                f"run {begun.number} of the crawl in {folder.parent} has begun, and this is run {wanted.number}: "
                "it takes and writes nothing more"
            )
    return wanted


SCOPE_SETTINGS: Final = ("scope", "include", "exclude", "max_depth")
"""Settings that say which URLs belong to the crawl: when one changes, what waits is judged again."""


class RightsNotGiven(InvalidSetting):
    """A crawl was begun with rights that whoever goes on with it has not given again.

    Attributes:
        rights: settings and plug-ins, by name.
    """

    def __init__(self, where: object, rights: Mapping[str, Any], words: str, hint: str) -> None:
        super().__init__(f"the crawl in {where} was begun with {words}, which no folder can allow by itself", hint=hint)
        self.rights = rights


def rights_in(begun: StoredConfig, policy: Policy, settings: CrawlSettings, given: Collection[str]) -> dict[str, Any]:
    """What a crawl was begun with that allows more than policy and settings do, or runs code; settings and plug-ins by
    name. `given`: those that are given now, so that they do not come from there."""
    found: dict[str, Any] = {}
    for name, each in settings_of(Policy).items() if begun.policy is not None else ():
        value = getattr(begun.policy, name)
        if name not in AGENT_FIELDS and name not in given and each.grants(value, getattr(policy, name)):
            found[name] = value
    for name, value in begun.settings.items():  # limits and scope are what the crawl is
        each = settings_of(CrawlSettings)[name]
        if not each.stricter and name not in given and each.grants(value, getattr(settings, name)):
            found[name] = value
    return found | {kind: name for kind, name in begun.plugins.items() if kind not in given and is_code(name)}


def check_rights(
    begun: StoredConfig,
    where: object,
    policy: Policy | None,
    settings: CrawlSettings | Mapping[str, Any] | None,
    plugins: Mapping[str, object],
) -> None:
    """See that a crawl that goes on has no rights but those given: to a program, which gives a policy as a whole. A
    RightsNotGiven says which."""
    now = dict(settings) if isinstance(settings, Mapping) else stated_settings(settings)
    given = [*now, *(kind for kind, plugin in plugins.items() if plugin is not None)]
    if policy is not None:
        given += settings_of(Policy)
    if not (rights := rights_in(begun, Policy(), CrawlSettings(), given)):
        return
    again = [f"{name}={value!r}" for name, value in rights.items() if name in plugins]
    if settings_of(Policy).keys() & rights and begun.policy is not None:
        stated = [
            f"{name}={value!r}"
            for name, each in settings_of(Policy).items()
            if (value := getattr(begun.policy, name)) != each.default
        ]
        again.append(f"policy=Policy({', '.join(stated)})")
    if changes := {name: value for name, value in rights.items() if name in settings_of(CrawlSettings)}:
        again.append(f"settings={changes!r}")
    words = ", ".join(f"{name}={value!r}" for name, value in rights.items())
    raise RightsNotGiven(where, rights, words, f"if you want that, give {', '.join(again)} again")


def check_names(others: Iterable[str]) -> None:
    """Raises TypeError for arguments that a crawl does not take; it says to which argument each belongs."""
    for name in others:
        where = place_of(name, settings=CrawlSettings, policy=Policy, client_settings=ClientSettings)
        if name in ("source", "expander", "sink"):
            where = f"write Crawler(..., plugins={{{name!r}: ...}})"
        elif name in ("on_page", "on_record", "on_begin", "pace_with"):
            where = f"write Crawler(...).run({name}=...)"
        raise TypeError(f"{name} is no argument of a crawl: {where}")


def stated_settings(settings: CrawlSettings | None) -> dict[str, Any]:
    """What settings say that is not the default anyway."""
    values = {} if settings is None else dataclasses.asdict(settings)
    return {name: value for name, value in values.items() if value != DEFAULTS[name]}


def resolved(
    begun: StoredConfig,
    where: object,
    policy: Policy | None,
    settings: CrawlSettings | Mapping[str, Any] | None,
    plugins: Mapping[str, object] | None,
    *,
    refresh: bool,
) -> tuple[Policy, CrawlSettings]:
    """Policy and settings of a run, from what is given and what the crawl was begun with; see `settings_in_force`.

    Args:
        plugins: those given, by kind; None where whoever began the run has checked its rights.

    Raises:
        InvalidSetting: one is of a wrong type, or not allowed, or a right that is to be given again.
    """
    check_type("policy", policy, Policy)
    if not isinstance(settings, Mapping):
        check_type("settings", settings, CrawlSettings)
    if plugins is not None:
        check_rights(begun, where, policy, settings, plugins)
    return policy or begun.policy or Policy(), settings_in_force(settings, begun.settings, refresh=refresh)


def settings_in_force(
    given: CrawlSettings | Mapping[str, Any] | None, begun: Mapping[str, Any], *, refresh: bool = False
) -> CrawlSettings:
    """The settings of a run, field by field: what is given, else what the crawl was begun with, else the default.

    Patterns that exclude add to those of the beginning, so that nothing is let in by keeping more out; an empty
    `exclude` that is given lifts them.

    Args:
        given: a mapping of the settings that are given; of a CrawlSettings, those that differ from the default.
        refresh: whether this run begins a refresh, which says for itself whether it trusts `lastmod`.

    Raises:
        InvalidSetting: a setting is not allowed, or there is none of that name.
    """
    now = dict(given) if isinstance(given, Mapping) else stated_settings(given)
    for name in now:
        if name not in DEFAULTS:
            where = place_of(name, policy=Policy, client_settings=ClientSettings)
            raise InvalidSetting(f"{name}: not a setting of a crawl", hint=f"{where}; see CrawlSettings")
    before = dict(begun)
    if refresh:
        before.pop("trust_lastmod", None)
    if more := settings_of(CrawlSettings)["exclude"].checked(now.get("exclude", ())):
        now["exclude"] = tuple(dict.fromkeys((*before.get("exclude", ()), *more)))
    return CrawlSettings(**{**before, **now})


def changed_settings(settings: CrawlSettings) -> dict[str, Any]:
    """What is remembered and is not the default: what a person should know of a crawl that goes on."""
    return {name: value for name, value in stated_settings(settings).items() if name not in OF_THE_RUN}


def refilter(frontier: DurableFrontier, settings: CrawlSettings, policy: Policy, seeds: Sequence[str]) -> None:
    """Judge the queue by settings and policy of the run that begins, and remember these, in one transaction. `seeds`:
    URLs given that no run before was given."""
    load_state, load_states = frontier.load_state, frontier.load_states
    kept = settings_to_dict(settings)
    before, scope = load_state(SETTINGS, {}), stored_scope(load_state, load_states)
    covers = None
    if scope is not None and any(before.get(name) != _as_json(kept[name]) for name in SCOPE_SETTINGS):
        covers = settings.scope_around(seeds, scope)
    otherwise = decides_otherwise(policy, load_state(POLICY))
    usage = otherwise or before.get("only_if", []) != _as_json(kept["only_if"])

    def inside(url: str, depth: int, kind: EntryKind) -> bool:
        assert covers is not None
        if kind is EntryKind.REQUISITE:
            return True
        lists = kind is EntryKind.SITEMAP  # what was given is crawled whatever the patterns say
        if (depth == 0 and not lists) or covers.covers(url, depth=depth, lists=lists):
            return True
        return lists and leads_into(covers, naming(load_state, url))

    def save(by_policy: Judged, by_scope: Judged) -> dict[str, Any]:
        state: dict[str, Any] = {SETTINGS: kept, POLICY: policy_to_dict(policy)}
        if otherwise:
            state |= dict.fromkeys(load_states(UNREACHABLE))
        stats = load_state("stats")
        if stats is not None:
            stats["outside"] = max(stats["outside"] + by_scope.left - by_scope.back, 0)
            stats["refused"] = max(stats["refused"] - by_policy.refused, 0)
            stats["failed"] = max(stats["failed"] - by_policy.failed, 0)
            state["stats"] = stats | ({"postponed": 0} if otherwise else {})
        return state

    frontier.refilter(inside if covers is not None else None, policy=otherwise, usage=usage, save=save)


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
