"""The vocabulary of uses, and how a site's statements about them combine to one answer. Pure.

Here is what AIPREF, Content Signals and the others have in common. Where they are read from is known above:
`comity_robots.robots_usage` for robots.txt, `comity_pages.signals.usage` for headers, pages and files.
"""

from comity_robots.usage.statements import PURPOSES, USES, Licence, Preference, Statement, Usage, Use, combine, merge

__all__ = ["PURPOSES", "USES", "Licence", "Preference", "Statement", "Usage", "Use", "combine", "merge"]
