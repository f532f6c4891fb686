"""Sitemaps, read as a stream: which URLs a site says exist, and how fresh they are.

Bytes in, entries out, in constant memory. It decides nothing: a sitemap grants no permission, and every URL found
here still has to be normalised, checked against robots.txt and against the address guard.
"""

from comity_pages.signals.sitemaps.dates import Precision as Precision
from comity_pages.signals.sitemaps.entries import Image as Image
from comity_pages.signals.sitemaps.entries import Limits as Limits
from comity_pages.signals.sitemaps.entries import News as News
from comity_pages.signals.sitemaps.entries import Position as Position
from comity_pages.signals.sitemaps.entries import SitemapAlternate as SitemapAlternate
from comity_pages.signals.sitemaps.entries import SitemapEntry as SitemapEntry
from comity_pages.signals.sitemaps.entries import SitemapKind as SitemapKind
from comity_pages.signals.sitemaps.entries import SitemapRef as SitemapRef
from comity_pages.signals.sitemaps.entries import SitemapUrl as SitemapUrl
from comity_pages.signals.sitemaps.entries import Video as Video
from comity_pages.signals.sitemaps.entries import in_scope as in_scope
from comity_pages.signals.sitemaps.entries import may_be_sitemap as may_be_sitemap
from comity_pages.signals.sitemaps.reader import SitemapReader as SitemapReader
from comity_pages.signals.sitemaps.reader import read as read
