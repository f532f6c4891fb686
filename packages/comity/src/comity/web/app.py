"""The web application: routes, request validation, and headers that keep a site's text from running as code."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from comity._serving import App, AsgiMessage, Receive, Send, host_of, is_loopback
from comity.client import AsyncClient
from comity.client.sitemaps import listed_urls, sitemap_client
from comity.errors import ComityError
from comity.net import ClientSettings
from comity.policy import Policy
from comity.web import workbench
from comity.web.workbench import QUESTIONS, InvalidQuestion
from comity_pages._extras import need
from comity_pages.reader_processes import ReaderProcesses

MAX_QUESTION_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a request's body."""
MAX_WATCHERS: Final = 32
"""Pages that are told of a crawl as it goes on: each keeps a connection of the process."""
MAX_SITEMAPS: Final = 20  # read for one question
MAX_SITEMAPS_LEFT: Final = 1000  # named in its answer
MAX_QUESTION_SECONDS: Final = 5.0
"""For the first part of a question that is refused."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)


def build(
    policy: Policy,
    settings: ClientSettings,
    *,
    token: str | None = None,
    place: str | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> App:
    """The page, its files and its API.

    Args:
        policy, settings: of the client that fetches a robots.txt for the workbench.
        token: what others than this machine have to show; without it, requests must name loopback.
        place: folder or store of the crawl that the dashboard shows; None: it shows none.
        ending: whether the server ends, and open pages are to be told no more.
    """
    applications = need("starlette.applications", "web", "comity serve")
    routing = need("starlette.routing", "web", "comity serve")
    static = need("starlette.staticfiles", "web", "comity serve")
    compressing = need("starlette.middleware.gzip", "web", "comity serve")
    responses = need("starlette.responses", "web", "comity serve")

    readers = ReaderProcesses()
    reading = asyncio.Semaphore(2)  # of sitemaps: a thread each, which others need too
    sitemaps_by = sitemap_client(policy, settings)  # one: a site keeps its pace from question to question

    def answering(
        question: Callable[..., Any], read: Callable[..., Awaitable[Any]] = asyncio.to_thread
    ) -> Callable[[Any], Awaitable[Any]]:
        async def answer(request: Any) -> Any:
            try:
                given = _arguments(question, await _body(request))
                return responses.JSONResponse(await read(question, **given))  # off the loop: it takes a while
            except (InvalidQuestion, ComityError) as error:
                return responses.JSONResponse({"error": str(error)}, 422)

        return answer

    async def fetch(url: str) -> dict[str, Any]:
        """A site's robots.txt, as the policy's client gets it: address guard, redirects, limits."""
        if not url.strip():
            raise InvalidQuestion("url: name a site, such as https://example.com/")
        async with AsyncClient(policy, settings) as client:
            decision = await client.check(url if "://" in url else f"https://{url}")
            result = next(iter(client.inspect().values()), None)
        if result is None or result.kind == "unreachable":  # None: the policy does not ask robots.txt
            raise InvalidQuestion(decision.why)
        text = result.robots.body.decode("utf-8", "replace")
        return {"url": result.url, "status": result.status, "text": text}

    async def sitemaps(
        text: str, agents: list[str], sitemaps: list[str], site: str = "", dialect: str = "rfc9309"
    ) -> dict[str, Any]:
        """Which of the URLs that sitemaps list an agent may not fetch, by a file. They are got as `fetch` gets one.

        Args:
            site: whose URLs count; the site of the first sitemap if empty.
        """
        workbench.bounded(text, agents, ())
        listing = listed_urls(sitemaps_by, sitemaps, site or next(iter(sitemaps), ""), MAX_SITEMAPS)
        values = []
        async with reading:
            while (each := await asyncio.to_thread(next, listing, None)) is not None:  # one is held at a time
                refused = await readers.read(workbench.refused, text, agents, each.pages, dialect)
                counts = {"urls": len(each.pages), "indexed": each.indexed, "elsewhere": each.elsewhere}
                values.append({"url": each.sitemap, "problem": each.problem, **counts, "refused": refused})
        return {"sitemaps": values, "left": sitemaps[:MAX_SITEMAPS_LEFT]}

    async def known(_: Any) -> Any:
        crawl = None if place is None else place if "://" not in place else "a store"  # whose address has a password
        return responses.JSONResponse(
            {"agents": workbench.known_agents(), "dialects": workbench.DIALECTS, "crawl": crawl}
        )

    async def described(_: Any) -> Any:
        return responses.JSONResponse(openapi())

    from comity.audit.report.page import no_crawl

    async def nothing(_: Any) -> Any:
        return responses.HTMLResponse(no_crawl("No crawl is shown: start comity serve DIR"))

    crawl: list[Any] = [routing.Route("/dashboard.html", nothing)]
    if place is not None:
        from comity.web.dashboard import Dashboard, event

        board = Dashboard(place)

        watching = 0

        async def events(_: Any) -> Any:
            if watching >= MAX_WATCHERS:
                return responses.JSONResponse({"error": f"{MAX_WATCHERS} pages watch this crawl already"}, 503)

            async def stream(scope: AsgiMessage, receive: Receive, send: Send) -> None:
                nonlocal watching
                watching += 1
                try:
                    changes = (event(found) async for found in board.changes(ending))
                    await responses.StreamingResponse(changes, media_type="text/event-stream")(scope, receive, send)
                finally:
                    watching -= 1

            return stream

        async def page(_: Any) -> Any:
            return responses.HTMLResponse(await board.page())

        crawl = [
            routing.Route("/api/crawl/events", events),
            routing.Route("/dashboard.html", page),
            *(
                routing.Route(f"/api/crawl/{each.__name__}", answering(each), methods=["POST"])
                for each in (board.fate, board.urls, board.linking, board.order)
            ),
        ]
    root = Path(str(files(__package__))) / "static"
    routes = [
        *(
            routing.Route(f"/api/{name}", answering(each, readers.read), methods=["POST"])
            for name, each in QUESTIONS.items()
        ),
        *(
            routing.Route(
                f"/api/{each.__name__}", answering(each, lambda question, **given: question(**given)), methods=["POST"]
            )
            for each in (fetch, sitemaps)
        ),
        routing.Route("/api/agents", known),
        routing.Route("/api/openapi.json", described),
        *crawl,
        routing.Mount("/", compressing.GZipMiddleware(static.StaticFiles(directory=root, html=True), compresslevel=6)),
    ]
    app: App = applications.Starlette(routes=routes)
    return guarded(app, token)


def guarded(app: App, token: str | None) -> App:
    """The application for requests that come from our own page, or from no page: no other site's page can ask.

    A page of a site whose name was made to lead here (DNS rebinding) names that site. Without a token it is told apart
    by that; with one it has none to show, for browsers keep ours for the name under which it was given: so a machine
    may be reached by any of its names and addresses.

    Args:
        token: shown as `Authorization: Bearer`, or once as `?token=` and then by a cookie.
    """

    async def checked(scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def sending(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        async def respond(status: int, *fields: tuple[bytes, bytes], body: bytes = b"") -> None:
            await sending({"type": "http.response.start", "status": status, "headers": fields})
            await send({"type": "http.response.body", "body": body})

        if token is not None and (shown := _shown(scope, headers)) is not None:
            headers["authorization"] = f"Bearer {shown}"
        wrong = _refusal(scope, headers, token)
        if wrong is None and b"token=" in scope["query_string"]:  # shown once, then kept by the browser for our pages
            cookie = f"comity={token}; HttpOnly; SameSite=Strict; Path=/".encode()
            await respond(303, (b"location", _path(scope)), (b"set-cookie", cookie))
            return
        if wrong is None:
            await app(scope, receive, sending)
            return
        status, why = wrong
        with suppress(TimeoutError):  # else the connection is reset while the question is still sent
            async with asyncio.timeout(MAX_QUESTION_SECONDS):
                await receive()
        await respond(status, (b"content-type", b"application/json"), body=json.dumps({"error": why}).encode())

    return checked


def _shown(scope: AsgiMessage, headers: Mapping[str, str]) -> str | None:
    """Return the token that a browser presents: in the link that opened the page, then as a cookie."""
    from http.cookies import CookieError, SimpleCookie
    from urllib.parse import parse_qs

    given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    if given:
        return str(given[0])
    try:
        kept: Any = SimpleCookie(headers.get("cookie", "")).get("comity")
    except CookieError:
        return None
    return None if kept is None else str(kept.value)


def _path(scope: AsgiMessage) -> bytes:
    """Return the path of a request as an address on this server, whatever it contains."""
    from urllib.parse import quote

    return f"/{quote(scope['path'].lstrip('/'))}".encode()


def _refusal(scope: AsgiMessage, headers: Mapping[str, str], token: str | None) -> tuple[int, str] | None:
    """Return the status and reason for refusing a request; None if it is allowed."""
    import hmac

    host = headers.get("host", "").lower()
    if token is None and not is_loopback(host_of(host)):
        return 421, "the request names another host"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"{scope['scheme']}://{host}":
        return 403, "the request comes from another site's page"
    if headers.get("sec-fetch-site") not in (None, "same-origin", "none"):
        return 403, "the request comes from another site's page"
    if token is not None:
        shown = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(shown.encode(), token.encode()):
            return 401, "a token is needed: Authorization: Bearer TOKEN, or open the page once with ?token=TOKEN"
    if scope["method"] == "POST" and headers.get("content-type", "").partition(";")[0] != "application/json":
        return 415, "send application/json"
    return None


async def _body(request: Any) -> dict[str, Any]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_QUESTION_BYTES:
            raise InvalidQuestion(f"the question is longer than {MAX_QUESTION_BYTES:,} bytes")
    try:
        given = json.loads(body)
        json.dumps(given, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidQuestion("the question is not a JSON object")
    return given


def _arguments(question: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a question as the function takes them.

    Raises:
        InvalidQuestion: one is missing, unknown or of another type.
    """
    parameters = inspect.signature(question).parameters
    for name in given:
        if name not in parameters:
            raise InvalidQuestion(f"{name[:80]} is not a member of this question")
    for name, each in parameters.items():
        if name not in given:
            if each.default is inspect.Parameter.empty:
                raise InvalidQuestion(f"{name} is missing")
            continue
        value = given[name]
        right = isinstance(value, str) if each.annotation is str else _is_texts(value)
        if not right:
            raise InvalidQuestion(f"{name} is not {'text' if each.annotation is str else 'a list of texts'}")
    return dict(given)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def openapi() -> dict[str, Any]:
    """Return the OpenAPI description of the API, generated from the functions that answer."""
    paths = {}
    for name, question in QUESTIONS.items():
        parameters = inspect.signature(question).parameters
        members = {key: _schema(each.annotation) for key, each in parameters.items()}
        required = [key for key, each in parameters.items() if each.default is inspect.Parameter.empty]
        words = inspect.cleandoc(question.__doc__ or name).partition("\n")[0]
        body = {"type": "object", "properties": members, "required": required, "additionalProperties": False}
        paths[f"/api/{name}"] = {
            "post": {
                "summary": words,
                "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                "responses": {
                    "200": {"description": "the answer"},
                    "422": {"description": "`error` says what to change"},
                },
            }
        }
    return {"openapi": "3.1.0", "info": {"title": "comity", "version": "1"}, "paths": paths}


def _schema(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is not None and get_args(hint) == (str,):
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "string"}
