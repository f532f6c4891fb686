"""What a site says about how its content may be used: AIPREF, Content Signals, TDMRep, RSL, noai. Pure.

usage = merge(from_robots(url, content_usage=records), from_tdmrep(file, url), from_headers(headers))
usage.allows("train-ai")    # "allowed", "disallowed" or "unknown"
"""

from comity.signals.usage.page import from_directives, from_headers, from_metas
from comity.signals.usage.robots_txt import Record, from_robots
from comity.signals.usage.rsl import from_links
from comity.signals.usage.statements import PURPOSES, Licence, Preference, Statement, Usage, combine, merge
from comity.signals.usage.tdmrep import Tdmrep, from_tdmrep

__all__ = [
    "PURPOSES",
    "Licence",
    "Preference",
    "Record",
    "Statement",
    "Tdmrep",
    "Usage",
    "combine",
    "from_directives",
    "from_headers",
    "from_links",
    "from_metas",
    "from_robots",
    "from_tdmrep",
    "merge",
]
