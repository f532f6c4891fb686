"""What a site says about how its content may be used: AIPREF, Content Signals, TDMRep, RSL, noai. Pure.

Each reader gives a Usage for one URL; `merge` unites them, and `allows` answers for one purpose. It never decides
whether a URL may be fetched, and never fetches a licence or a policy.
"""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
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

__getattr__ = late(
    __name__,
    {
        "PURPOSES": "comity.signals.usage.statements",
        "Licence": "comity.signals.usage.statements",
        "Preference": "comity.signals.usage.statements",
        "Record": "comity.signals.usage.robots_txt",
        "RobotsUsage": "comity.signals.usage.robots_txt",
        "RslLicence": "comity.signals.usage.rsl_licence",
        "Statement": "comity.signals.usage.statements",
        "Tdmrep": "comity.signals.usage.tdmrep",
        "Usage": "comity.signals.usage.statements",
        "combine": "comity.signals.usage.statements",
        "for_agent": "comity.signals.usage.robots_txt",
        "from_directives": "comity.signals.usage.page",
        "from_headers": "comity.signals.usage.page",
        "from_links": "comity.signals.usage.rsl",
        "from_metas": "comity.signals.usage.page",
        "from_robots": "comity.signals.usage.robots_txt",
        "from_rsl": "comity.signals.usage.rsl_licence",
        "from_tdmrep": "comity.signals.usage.tdmrep",
        "merge": "comity.signals.usage.statements",
    },
)
