"""What a site says about how its content may be used: AIPREF, Content Signals, TDMRep, RSL, noai. Pure.

Each reader gives a Usage for one URL; `merge` unites them, and `allows` answers for one purpose. It never decides
whether a URL may be fetched, and never fetches a licence or a policy.
"""

from comity.signals.usage.page import from_directives, from_headers, from_metas
from comity.signals.usage.robots_txt import Record, RobotsUsage, for_agent, from_robots
from comity.signals.usage.rsl import from_links
from comity.signals.usage.rsl_licence import RslLicence, from_rsl
from comity.signals.usage.statements import PURPOSES, Licence, Preference, Statement, Usage, combine, merge
from comity.signals.usage.tdmrep import Tdmrep, from_tdmrep

__all__ = [
    "PURPOSES",
    "Licence",
    "Preference",
    "Record",
    "RobotsUsage",
    "RslLicence",
    "Statement",
    "Tdmrep",
    "Usage",
    "combine",
    "for_agent",
    "from_directives",
    "from_headers",
    "from_links",
    "from_metas",
    "from_robots",
    "from_rsl",
    "from_tdmrep",
    "merge",
]
