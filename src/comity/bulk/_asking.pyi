from typing import Any

class Asking:
    def __init__(self, agents: int, dialect: Any, meanings: tuple[int, ...], specials: tuple[int, ...]) -> None: ...
    def ask(
        self,
        data: int,
        offsets: int,
        rows: int,
        located: int,
        entries: int,
        starts: int,
        codes: int,
        cited: int,
        stride: int,
        used: int,
        normal: bool,
    ) -> None: ...
