from array import array
from collections.abc import Callable

from comity.robots.dialects import Dialect

def chooses(dialect: Dialect) -> bool: ...
def suits(dialect: Dialect) -> bool: ...
def first(
    body: bytes,
    index: array[int],
    path: bytes,
    names: tuple[bytes, bytes],
    letters: bool,
    index_html: bool,
    comparable: Callable[[bytes], bytes],
) -> bool: ...
def chosen(
    body: bytes, index: array[int], names: tuple[bytes, bytes], letters: bool, ends: int, wanted: int
) -> tuple[tuple[int, ...], array[int]]: ...
