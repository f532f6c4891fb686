from collections.abc import Iterable
from typing import Any

FEW: int

class Tables:
    def __init__(self, ranks: dict[bytes, int], wildcards: bool) -> None: ...

class Matcher:
    def allows(self, path: bytes) -> bool: ...
    def best(self, path: bytes) -> int: ...

class Asked:
    _matchers: dict[Any, Matcher | None]  # None: asked about once, no matcher made yet
    def __init__(self) -> None: ...
    def allowed(self, url: str, agent: str) -> bool:
        """Whether `agent` may fetch `url` (an absolute URL, or a path with its query)."""
    def allowed_many(self, urls: Iterable[str], agent: str) -> list[bool]:
        """`allowed` for many URLs."""
    def _first_asked(self, url: str, agent: str) -> bool: ...
    def _matcher_for(self, agent: str) -> Matcher: ...
