"""An expander: makes a record of each article, and follows only what leads to articles."""

from selectolax.lexbor import LexborHTMLParser

from comity.crawler import Expanded
from comity.net import Response


class Articles:
    """Records have `title`, `author` and `words`."""

    def expand(self, response: Response) -> Expanded:
        tree = LexborHTMLParser(response.body)
        records = []
        for article in tree.css("article"):
            heading = article.css_first("h1, h2")
            author = article.css_first("[rel=author], .author")
            records.append(
                {
                    "title": heading.text(strip=True) if heading else None,
                    "author": author.text(strip=True) if author else None,
                    "words": len(article.text(separator=" ").split()),
                }
            )
        links = tree.css("article a[href], nav a[href], a[rel=next]")
        return Expanded(records, [link.attributes["href"] or "" for link in links])
