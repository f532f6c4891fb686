"""What became of a page in the browser, and how that reads beside what was served."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from multidict import CIMultiDict, CIMultiDictProxy

from comity.crawler.page import read_response
from comity.net import Response
from comity.signals import encodings
from comity.signals.links import Link, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """One page after its scripts ran.

    Attributes:
        body: the document in UTF-8; None where the page is kept as it was served.
        url: what references are resolved against: the page's URL, as scripts may have changed it (history.pushState).
        targets: where scripts wanted to go; the browser stayed.
        note: what went wrong, one sentence; None where nothing did.
        parts: how many requests of the page were `fetched`, `reused`, `refused` by a rule, `failed` and `left_out`.
    """

    body: bytes | None
    url: str
    targets: tuple[str, ...] = ()
    note: str | None = None
    parts: Mapping[str, int]

    def shown(self, response: Response) -> Response:
        """The response as if the rendered document had been served."""
        if self.body is None:
            return response
        headers = CIMultiDict(response.all_headers)
        headers["Content-Type"] = f"{response.content_type or 'text/html'}; charset=utf-8"
        return replace(response, body=self.body, headers=CIMultiDictProxy(headers))

    def read(self, response: Response) -> Page | None:
        """What the page says: links and title as rendered, and every meta, also one that a script took away."""
        served = read_response(response)
        page = read_response(replace(self.shown(response), url=self.url)) if self.body is not None else served
        if page is None:
            return served
        known = {link.url for link in page.links}
        more = [Link(target) for target in self.targets]
        metas = page.metas
        if served is not None and served is not page:
            metas = (*metas, *(meta for meta in served.metas if meta not in metas))
            if self.note is not None:  # it may have been cut off before the browser had read it all
                more.extend(served.links)
        links = (*page.links, *(link for link in more if link.url not in known))
        return replace(page, url=response.url, links=links, metas=metas)

    def record(self, response: Response) -> dict[str, Any]:
        """The fields of a page's record that speak of this; `sha256`, `bytes` and `encoding` are those of what was
        served."""
        fields: dict[str, Any] = {"rendered": self.body is not None}
        if self.body is not None:
            fields["rendered_sha256"] = sha256(self.body).hexdigest()
            served = encodings.detect(response.body, response.headers.get("Content-Type"))
            fields["encoding"] = encodings.python_codec(served)
            fields["body"] = self.body.decode("utf-8")
        return fields | {"render_note": self.note, "render_parts": dict(self.parts)}
