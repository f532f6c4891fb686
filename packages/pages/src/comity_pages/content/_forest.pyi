from array import array
from collections.abc import Sequence

class Forest:
    width: int
    def __init__(
        self, width: int, roots: Sequence[int], features: Sequence[int], values: Sequence[float], others: Sequence[int]
    ) -> None: ...
    def chances(self, rows: array[float]) -> list[float]: ...
