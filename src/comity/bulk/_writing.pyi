COMPILED: bool

def write(
    rows: int,
    codes: int,
    cited: int,
    located: int,
    words: int,
    numbers: int,
    lines: int,
    delays: int,
    step: int,
    out: int,
) -> None: ...
