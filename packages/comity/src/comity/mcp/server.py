"""The tools, resources and prompts on the official SDK: protocol 2026-07-28 and 2025-11-25 from one server.

It translates: arguments checked against their schema, values into results, refusals into errors that a model can
read, a question to a person into the form that the client's protocol has for it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from comity.errors import ComityError
from comity.mcp import prompts, resources
from comity.mcp.answers import Unanswerable, as_text, failure
from comity.mcp.crawls import BeyondLimits, CrawlRequest
from comity.mcp.first_answer import EXTENSION, EXTENSIONS, INSTRUCTIONS, NAME, TITLE
from comity.mcp.service import Service
from comity.mcp.tasks import Tasks, UnknownTask
from comity.mcp.tools import tools
from comity.mcp.tools.crawl import status_of
from comity_pages import _extras

try:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ModuleNotFoundError as error:
    raise _extras.missing(error, "mcp", "comity mcp") from None

Context = ServerRequestContext[Any, Any]
Result = dict[str, Any]

LISTS_LAST: Final = 3_600_000  # milliseconds: what is listed of tools and prompts never changes while a server runs
TASKS: Final = ("tasks/get", "tasks/update", "tasks/cancel")


TOOLS: Final = tuple(tools())
_BY_NAME: Final = {tool.name: tool for tool in TOOLS}
_QUESTION: Final = "beyond_limits"
_AGREE: Final = {
    "type": "object",
    "properties": {"agree": {"type": "boolean", "title": "Go beyond the limits", "default": False}},
    "required": ["agree"],
}


class TaskParams(types.RequestParams):
    """What every method of the extension has: the task's id. Anything else is left to the method."""

    task_id: str


def build(service: Service, tasks: Tasks | None = None) -> "Server[Any]":
    """The server; it works while the service is open.

    Args:
        tasks: shared with whoever adds tools; None for new ones.
    """
    server: Server[Any] = Server(NAME, version=version("comity"), title=TITLE, instructions=INSTRUCTIONS)
    server.extensions = dict(EXTENSIONS)
    # What a client gives back when it is asked was sealed when it asked: for this call, for ten minutes.
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    _Handlers(service, tasks or Tasks()).register(server)
    return server


class _Handlers:
    """What is done for each method."""

    def __init__(self, service: Service, tasks: Tasks) -> None:
        self._service = service
        self._tasks = tasks

    def register(self, server: "Server[Any]") -> None:
        add = server.add_request_handler
        add("tools/list", types.PaginatedRequestParams, self.list_tools)
        add("tools/call", types.CallToolRequestParams, self.call_tool)
        add("resources/list", types.PaginatedRequestParams, self.list_resources)
        add("resources/templates/list", types.PaginatedRequestParams, self.list_templates)
        add("resources/read", types.ReadResourceRequestParams, self.read_resource)
        add("prompts/list", types.PaginatedRequestParams, self.list_prompts)
        add("prompts/get", types.GetPromptRequestParams, self.get_prompt)
        for method in TASKS:
            add(method, TaskParams, self.task)

    # Tools

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams) -> Result:
        return _listed("tools", [tool.listed() for tool in TOOLS])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Result:
        tool = _BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name:.100}")
        try:
            given = tool.read(params.arguments or {})
            if isinstance(given, CrawlRequest):
                return await self._crawl(context, params, given)
            return _result(await tool.handle(self._service, given))
        except (ComityError, Unanswerable) as error:
            return _result(failure(error), failed=True)

    async def _crawl(self, context: Context, params: types.CallToolRequestParams, given: CrawlRequest) -> Result:
        """Begin a crawl, after a person was asked where it goes beyond the limits; as a task for who speaks tasks."""
        crawls = self._service.crawls
        question = crawls.check_limits(given)
        if question is not None:
            asked = await self._asked(context, params, question)
            if isinstance(asked, dict):
                return asked
            if asked is False:
                raise Unanswerable("declined", "The user did not agree.", "Stay within the limits.")
            if asked is None:
                raise BeyondLimits(question)
        crawl = await crawls.start(given, agreed=question is not None)
        if not _speaks_tasks(context):
            return _result(status_of(self._service, crawl))

        async def work() -> Result:
            assert crawl.task is not None
            await crawl.task
            return _result(status_of(self._service, crawl), failed=crawl.state == "failed")

        life = given.max_seconds + self._service.limits.life
        return self._tasks.begin(crawl.handle, work(), lambda: crawls.cancel(crawl), life)

    async def _asked(
        self, context: Context, params: types.CallToolRequestParams, question: str
    ) -> bool | Result | None:
        """Whether a person agreed; None where the client cannot ask; an answer to give first where it must ask."""
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return None
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            reply = await context.session.elicit_form(question, _AGREE, related_request_id=context.request_id)
            return _agreed(reply)
        state = hashlib.sha256(question.encode()).hexdigest()
        replies = params.input_responses or {}
        if params.request_state == state and _QUESTION in replies:
            return _agreed(replies[_QUESTION])
        form = {"mode": "form", "message": question, "requestedSchema": _AGREE}
        return {
            "resultType": "input_required",
            "inputRequests": {_QUESTION: {"method": "elicitation/create", "params": form}},
            "requestState": state,
        }

    # Tasks

    async def task(self, context: Context, params: TaskParams) -> Result:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(code=types.METHOD_NOT_FOUND, message="Method not found", data=context.method)
        if not _speaks_tasks(context):
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="Tasks are for clients that declare the extension.",
                data={"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )
        _check_name(context, params.task_id)
        method = {"tasks/get": self._tasks.get, "tasks/update": self._tasks.update, "tasks/cancel": self._tasks.cancel}
        try:
            return method[context.method](params.task_id)
        except UnknownTask:
            raise MCPError(code=types.INVALID_PARAMS, message="Unknown task", data=params.task_id[:100]) from None

    # Resources

    async def list_resources(self, context: Context, params: types.PaginatedRequestParams) -> Result:
        return {"resultType": "complete", "resources": resources.listed(self._service), **_NOT_KEPT}

    async def list_templates(self, context: Context, params: types.PaginatedRequestParams) -> Result:
        return _listed("resourceTemplates", resources.TEMPLATES)

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Result:
        uri = str(params.uri)
        try:
            return {"resultType": "complete", "contents": await resources.read(self._service, uri), **_NOT_KEPT}
        except resources.NotFound:
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if modern else _RESOURCE_NOT_FOUND
            raise MCPError(code=code, message="Resource not found", data={"uri": uri[:2048]}) from None
        except (ComityError, Unanswerable) as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=failure(error)["error"]["message"]) from None

    # Prompts

    async def list_prompts(self, context: Context, params: types.PaginatedRequestParams) -> Result:
        return _listed("prompts", prompts.PROMPTS)

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Result:
        getter = prompts.GETTERS.get(params.name)
        if getter is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name:.100}")
        arguments = params.arguments or {}
        if "url" not in arguments:
            raise MCPError(code=types.INVALID_PARAMS, message="The prompt needs a url.")
        try:
            return {"resultType": "complete", **await getter(self._service, arguments)}
        except (ComityError, Unanswerable) as error:
            told = failure(error)
            raise MCPError(code=types.INVALID_PARAMS, message=told["error"]["message"], data=told) from None


_RESOURCE_NOT_FOUND: Final = -32002  # until 2025-11-25


_NOT_KEPT: Final = {"ttlMs": 0, "cacheScope": "private"}


def _listed(name: str, entries: Sequence[Any]) -> Result:
    """A list that is the same for everybody, and as long as the server runs."""
    return {"resultType": "complete", name: list(entries), "ttlMs": LISTS_LAST, "cacheScope": "public"}


def _result(values: Mapping[str, Any], *, failed: bool = False) -> Result:
    """Values as a tool's result: structured, and the same as text."""
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": as_text(values)}],
        "structuredContent": dict(values),
        "isError": failed,
    }


def _agreed(reply: Any) -> bool:
    said = reply if isinstance(reply, Mapping) else reply.model_dump()
    return said.get("action") == "accept" and (said.get("content") or {}).get("agree") is True


def _speaks_tasks(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS
        and capabilities is not None
        and EXTENSION in (capabilities.extensions or {})
    )


def _check_name(context: Context, task_id: str) -> None:
    """On HTTP, a task's id stands in the header Mcp-Name too (SEP-2663, "Routing Headers")."""
    if context.request is None:
        return
    named = context.request.headers.get("mcp-name")
    if named != task_id:
        raise MCPError(code=types.HEADER_MISMATCH, message="The header Mcp-Name is not the task's id.")
