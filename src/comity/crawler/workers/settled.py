"""What holds for the run of a crawl of several shards that begins: what is given, and what it was begun with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from comity import urls
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.run.checkpoint import Begun, settings_in_force, settings_to_dict
from comity.crawler.sharding.shards import CrawlManifest, checked, placed_by
from comity.crawler.sinks.runner import DEFAULT
from comity.errors import InvalidSetting, StorageError
from comity.policy import Policy
from comity.policy.policy import policy_to_dict


@dataclass(slots=True)
class Settled:
    """What holds for the run of a crawl of several shards that begins."""

    manifest: CrawlManifest
    policy: Policy
    settings: CrawlSettings


def settled(
    before: CrawlManifest | None,
    seeds: Iterable[str],
    *,
    shards: int | None,
    fallback: int,
    policy: Policy | None,
    settings: CrawlSettings | Mapping[str, Any] | None,
    sink: str | None,
    expander: str | None,
    refresh: bool,
) -> Settled:
    """What holds for a crawl of several shards in the run that begins.

    Args:
        before: what held for it so far; None where it is new.
        fallback: how many shards a new one has where nobody says it.
        Others as of ShardedCrawl.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: it is written in another format.
    """
    begun = Begun() if before is None else Begun.of(before)
    policy = policy or begun.policy or Policy()
    its = settings_in_force(settings, begun.settings, refresh=refresh)
    if its.render:
        raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
    by = placed_by(policy.pace_by)
    manifest = before or CrawlManifest(checked("shards", shards or fallback, least=2), by, sink=sink or DEFAULT)
    if shards is not None and shards != manifest.shards:
        raise InvalidSetting(f"shards: the crawl was begun with {manifest.shards}, which cannot be changed")
    if sink is not None and sink != manifest.sink:
        raise StorageError(
            f"the crawl is written as {manifest.sink}, not as {sink}",
            hint=f"continue with {manifest.sink}, or choose another folder",
        )
    if by != manifest.by:
        raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
    given = [urls.normalise(seed) for seed in seeds]
    manifest.seeds = list(dict.fromkeys((*manifest.seeds, *given)))
    manifest.expander = expander or manifest.expander
    manifest.policy, manifest.settings = policy_to_dict(policy), settings_to_dict(its)
    return Settled(manifest, policy, its)
