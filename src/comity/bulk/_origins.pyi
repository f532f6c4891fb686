class Origins:
    def __init__(self, data: int, offsets: int, count: int) -> None: ...
    def locate(
        self,
        data: int,
        offsets: int,
        count: int,
        firsts: int,
        times: int,
        at: int,
        at_step: int,
        found: int,
        asked: int,
    ) -> None: ...
