"""Pages as they are after their scripts ran: a browser that has no network, and the crawl's client that has.

Nothing here is imported unless a crawl renders; the browser's library is imported when the crawl starts.
"""

from comity.crawler.rendering.rendered import Rendered
from comity.crawler.rendering.renderer import Renderer

__all__ = ["Rendered", "Renderer"]
