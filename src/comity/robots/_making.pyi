from array import array

from comity.robots._match import Matcher
from comity.robots.dialects import Dialect

def matcher_of(body: bytes, index: array[int], numbers: array[int], dialect: Dialect) -> Matcher: ...
def matcher(
    ranks: dict[bytes, int], form: int, semicolon: bool, wildcards: bool, robots_txt_allowed: bool
) -> Matcher: ...
