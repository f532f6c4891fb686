"""Pages kept from earlier in the cache that processes share: which may be, and what a confirmed one gives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from comity import urls
from comity.gate import Go
from comity.net.response import Response
from comity.net.settings import ClientSettings

if TYPE_CHECKING:
    from comity.net.cache import Cache, Page


def may_be_kept(settings: ClientSettings, method: str, url: str, headers: Mapping[str, str]) -> bool:
    """Whether the answer to such a request may be shared: what is meant for one caller may not."""
    personal = headers or urls.origin(url) in settings.auth
    return settings.cache_pages and method == "GET" and not personal


def keep(cache: "Cache", response: Response, cached: "Page | None") -> Response:
    """The response, remembered for the next time; the page kept from earlier where the server confirmed it."""
    from comity.net.cache import Page

    if response.status == 304 and cached is not None:
        page = cached.renewed(response.headers, response.fetched_at)
        if page.may_be_kept:
            cache.keep_page(page)
        else:
            cache.forget_page(page.url)
        return replace(
            response,
            status=page.status,
            headers=page.header_map(),
            body=page.body,
            from_cache=True,
            reason="",
            http_version="1.1",
            request_headers={},
        )
    fresh = Page.from_response(response.url, response.status, response.all_headers, response.body, response.fetched_at)
    if fresh is not None:
        cache.keep_page(fresh)
    elif cached is not None and response.status == 200:  # what is kept is not what is served now
        cache.forget_page(response.url)
    return response


def from_cache(page: "Page", go: Go, redirects: tuple[str, ...]) -> Response:
    """The response that a page gives that is still fresh."""
    return Response(
        url=page.url,
        status=page.status,
        headers=page.header_map(),
        go=go,
        fetched_at=page.fetched_at,
        redirects=redirects,
        body=page.body,
        elapsed=0.0,
        from_cache=True,
    )
