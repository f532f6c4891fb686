from array import array
from collections.abc import Callable

from comity.robots.dialects import Dialect

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
