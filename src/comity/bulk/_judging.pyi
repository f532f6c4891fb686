from typing import Any

COMPILED: bool
NULL: int
UNKNOWN: int
ODD: int
TOO_EARLY: int
BAD: int
HAS_USAGE: int
UNREADABLE_DELAY: int

class Origins:
    def __init__(self, data: int, offsets: int, count: int) -> None: ...
    def locate(
        self, data: int, offsets: int, count: int, captures: int, times: int, at: int, at_step: int, out: int
    ) -> int: ...

def by_capture(captures: int, count: int, begins: int, order: int) -> None: ...

class Judging:
    cited: bytes
    entries: bytes
    def __init__(self, names: list[tuple[bytes, bytes]], letters: bool, dialect: Any) -> None: ...
    def judge(
        self,
        chunks: int,
        begins: int,
        order: int,
        first: int,
        last: int,
        captures: int,
        codes: int,
        cited: int,
        delays: int,
        flags: int,
        rows: int,
        meanings: tuple[int, ...],
    ) -> None: ...
