"""What a site says about how its content may be used: AIPREF, Content Signals, TDMRep, RSL, noai. Pure.

Each reader gives a Usage for one URL; `merge` unites them, and `preference` answers for one purpose. It never decides
whether a URL may be fetched, and never fetches a licence or a policy.
"""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
    from comity_pages.signals.page_usage import from_answer, from_directives, from_headers, from_metas, from_page
    from comity_pages.signals.rsl import from_links
    from comity_pages.signals.rsl_licence import RslLicence, from_rsl
    from comity_pages.signals.tdmrep import Tdmrep, from_tdmrep
    from comity_robots.robots_usage import RobotsUsage, UsageLine, for_agent, from_robots
    from comity_robots.usage.statements import (
        PURPOSES,
        USES,
        Licence,
        Preference,
        Statement,
        Usage,
        Use,
        combine,
        merge,
    )

__all__ = [
    "PURPOSES",
    "USES",
    "Licence",
    "Preference",
    "RobotsUsage",
    "RslLicence",
    "Statement",
    "Tdmrep",
    "Usage",
    "UsageLine",
    "Use",
    "combine",
    "for_agent",
    "from_answer",
    "from_directives",
    "from_headers",
    "from_links",
    "from_metas",
    "from_page",
    "from_robots",
    "from_rsl",
    "from_tdmrep",
    "merge",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "comity_robots.usage.statements": "PURPOSES USES Licence Preference Statement Usage Use combine merge",
        "comity_robots.robots_usage": "UsageLine RobotsUsage for_agent from_robots",
        "comity_pages.signals.rsl_licence": "RslLicence from_rsl",
        "comity_pages.signals.tdmrep": "Tdmrep from_tdmrep",
        "comity_pages.signals.page_usage": "from_answer from_directives from_headers from_metas from_page",
        "comity_pages.signals.rsl": "from_links",
    },
)
