"""What a web page says (links, metas, preferences, metadata) and holds (main content as Markdown, what is hidden).

Octets or text in, values out. Nothing is fetched, run or obeyed, and the work is bounded whatever the page holds.
"""

from typing import TYPE_CHECKING

from comity_pages import _compiled
from comity_robots import _forms
from comity_robots._lazy import lazy_exports

_forms.register(__name__, __path__[0], _compiled.MODULES)

if TYPE_CHECKING:
    from comity_pages.extraction import Content, ExtractedPage
    from comity_pages.extraction import read as extract
    from comity_pages.schemas import Schema
    from comity_pages.signals.links import Page, read_page

__all__ = ["Content", "ExtractedPage", "Page", "Schema", "extract", "read_page"]

__getattr__ = lazy_exports(
    __name__,
    {
        "comity_pages.extraction": "Content ExtractedPage extract=read",
        "comity_pages.schemas": "Schema",
        "comity_pages.signals.links": "Page read_page",
    },
)
