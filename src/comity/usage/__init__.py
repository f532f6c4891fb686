"""The vocabulary of uses, and how a site's statements about them combine to one answer. Pure.

Here is what AIPREF, Content Signals and the others have in common. Where they are read from is known above:
`comity.robots.usage` for robots.txt, `comity.signals.usage` for headers, pages and files.
"""

from comity.usage.statements import PURPOSES, Licence, Preference, Statement, Usage, combine, merge

__all__ = ["PURPOSES", "Licence", "Preference", "Statement", "Usage", "combine", "merge"]
