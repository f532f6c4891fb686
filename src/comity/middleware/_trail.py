"""The redirects of one request that a browser made and Playwright routed.

Playwright routes only a request's first URL, so redirects are followed out here, hop by hop, and the browser is told
where it has arrived. Nothing here sends anything.
"""

import html
import json

import comity
from comity import urls
from comity._extras import missing
from comity.gate.robots_request import REDIRECTS
from comity.middleware._wire import without_empty_query

try:
    from playwright import async_api, sync_api
except ModuleNotFoundError as error:
    raise missing(error, "playwright", __name__) from None

MOST_REDIRECTS = 20  # as browsers have it
# What a page shows but its scripts cannot read: another site's answer may stand in for a redirect to it.
SHOWN = frozenset({"font", "image", "media", "script", "stylesheet"})


class Trail:
    """Ask `url` with `headers`; `leads_on` says of each answer whether another hop follows.

    Attributes:
        document: whether the answer becomes a document, not a part of one.
        arrived: whether the last answer is that of `url`: not so after a form, whose answer the browser fetches itself.

    Raises:
        FetchError: the request cannot be answered out here.
        InvalidURL
    """

    def __init__(self, request: async_api.Request | sync_api.Request, agent: str) -> None:
        self.headers = {**request.headers, "user-agent": agent}
        self.url = self._start = without_empty_query(urls.normalise(request.url))  # as `route.fetch` sends it
        if request.resource_type == "eventsource":
            raise comity.FetchError(f"{self.url} is a stream without an end: it cannot be routed", url=self.url)
        self.arrived = request.method in ("GET", "HEAD")
        self.document = request.is_navigation_request()
        self._shown = request.resource_type in SHOWN
        self._hops = 0

    @property
    def moved(self) -> bool:
        """Whether the browser has to be told that the document is elsewhere."""
        return self.document and (self.url != self._start or (self._hops > 0 and not self.arrived))

    def leads_on(self, answer: async_api.APIResponse | sync_api.APIResponse) -> bool:
        """Whether `url` is to be asked now, after this answer.

        Raises:
            FetchError: the redirect cannot be followed.
        """
        location = answer.headers.get("location")
        if answer.status not in REDIRECTS or not location:
            return False
        target = urls.join(self.url, location)
        self._hops += 1
        if target is None or self._hops > MOST_REDIRECTS:
            raise comity.TooManyRedirects(f"{self.url} redirects to {location!r}: not followed", url=self.url)
        if not self.arrived and not (self.document and answer.status in (301, 302, 303)):
            raise comity.FetchError(f"{self.url} wants a request with a body repeated at {target}", url=self.url)
        if not self.document and not self._shown and urls.origin(target) != urls.origin(self._start):
            raise comity.FetchError(f"{target} is another site's: scripts may not read it", url=target)
        self.url = without_empty_query(target)
        return self.arrived

    def bounce(self) -> str:
        """A document that leads to `url` at once, so that the page has the right address and origin."""
        script = json.dumps(self.url).replace("<", "\\u003c")
        refresh = f'<noscript><meta http-equiv="refresh" content="0;url={html.escape(self.url)}"></noscript>'
        return f"<!doctype html><script>location.replace({script})</script>{refresh}"
