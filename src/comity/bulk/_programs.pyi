from typing import Any

HAS_USAGE: int
UNREADABLE_DELAY: int

class Maker:
    octets: int
    made: int
    def __init__(self, names: list[tuple[bytes, bytes]], letters: bool, dialect: Any) -> None: ...
    def make(
        self,
        captures: int,
        wanted: int,
        count: int,
        entries: int,
        delays: int,
        flags: int,
        asked: int,
        limits: int,
        unparsable: int,
    ) -> None: ...
    def numbered(self, base: int, addresses: int, firsts: int) -> int: ...
