"""With what a crawl was begun: its policy, settings and plug-ins, as its folder or store keeps them."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.storage.manifest import CrawlManifest
from comity.errors import StorageError
from comity.frontier.committed import FrontierView
from comity.policy import Policy

POLICY: Final = "policy"
SETTINGS: Final = "settings"
OF_THE_RUN: Final = frozenset(("concurrency", "per_host", "min_free_disk", "render_browser", "render_pages")) | {
    "telemetry",
    "webhook",
}
DEFAULTS: Final = {field.name: field.default for field in dataclasses.fields(CrawlSettings)}


def policy_from_dict(values: Mapping[str, Any]) -> Policy:
    """As `policy_to_dict` gave it; what this version does not know is left out. An InvalidSetting says that a value is
    not allowed."""
    known = {field.name for field in dataclasses.fields(Policy)}
    return Policy(**{name: from_json(value) for name, value in values.items() if name in known})


def from_json(value: Any) -> Any:
    if value == "inf":
        return math.inf
    return tuple(value) if isinstance(value, list) else value


def settings_to_dict(settings: CrawlSettings) -> dict[str, Any]:
    """What is remembered, as JSON can hold it."""
    return {name: value for name, value in dataclasses.asdict(settings).items() if name not in OF_THE_RUN}


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """With what the crawl in a folder was begun.

    Attributes:
        is_there: whether there is one.
        policy: None where there is none, or that of an output that was made by something else.
        settings: as far as this version knows them.
        refresh: the number of the last refresh that it has begun; 0 where it has begun none.
        plugins: their names, by kind.
        manifest: of a crawl of several shards.
    """

    is_there: bool = False
    policy: Policy | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    refresh: int = 0
    plugins: Mapping[str, str] = field(default_factory=dict)
    manifest: CrawlManifest | None = None

    @classmethod
    def from_manifest(cls, manifest: CrawlManifest) -> "StoredConfig":
        """That of a crawl of several shards."""
        plugins = {"sink": manifest.sink, "expander": manifest.expander}
        return cls._kept(manifest.policy, manifest.settings, manifest.refresh, plugins, manifest)

    @classmethod
    def from_frontier(cls, view: FrontierView) -> "StoredConfig":
        """That of a crawl of one part, by its frontier."""
        kept = {name: view.load_state(name) for name in (POLICY, SETTINGS, "refresh", "plugins", "sink")}
        try:
            plugins = {**(kept["plugins"] or {}), "sink": (kept["sink"] or {}).get("name")}
            refresh = (kept["refresh"] or {"number": 0})["number"]
        except (TypeError, AttributeError, KeyError) as error:
            raise _unreadable() from error
        return cls._kept(kept[POLICY], kept[SETTINGS] or {}, refresh, plugins)

    @classmethod
    def _kept(cls, policy: Any, settings: Any, refresh: Any, plugins: Any, manifest: Any = None) -> "StoredConfig":
        try:
            made = None if policy is None else policy_from_dict(policy)
            names = {kind: str(name) for kind, name in plugins.items() if name is not None}
            return cls(True, made, known_settings(settings), int(refresh), names, manifest)
        except (TypeError, AttributeError) as error:
            raise _unreadable() from error


def _unreadable() -> StorageError:
    return StorageError("what the crawl was begun with cannot be read", hint="restore its folder, or begin another")


def known_settings(kept: Mapping[str, Any]) -> dict[str, Any]:
    """What a crawl remembers of its settings, as `settings_to_dict` gave it, as far as this version knows them."""
    known = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    return {name: value for name, value in known.items() if name in DEFAULTS and name not in OF_THE_RUN}
