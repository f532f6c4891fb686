"""What a robots.txt says: the names of `comity_robots`, where programs that use comity look for them."""

from comity_robots import *  # noqa: F403
from comity_robots import __all__ as __all__
