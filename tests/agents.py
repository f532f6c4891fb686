"""Clients of the tool server, as agents have them: the SDK's own, in this process, over HTTP and over a pipe.

The SDK is imported by the tests that need it: each process that takes part in a run collects this module.
"""

import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sites import HANGS

from comity import ClientSettings, Policy
from comity._serving import listen
from comity.mcp import serving
from comity.mcp.crawls import CrawlLimits
from comity.mcp.service import Service

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.exceptions import MCPError

LOOPBACK = "127.0.0.1/32"
_READERS: list[Any] = []  # processes that read for one service after the other: a start takes half a second
META = "io.modelcontextprotocol/"


def service(folder: Path | None = None, limits: CrawlLimits | None = None, **policy: Any) -> Service:
    """A service that may reach the test sites; no waiting unless asked for."""
    chosen = {"agent": "MyBot/1.0", "min_interval": 0, "allow_addresses": (LOOPBACK,), **policy}
    made = Service(Policy(**chosen), ClientSettings(jitter=False, timeout=HANGS), limits or CrawlLimits(), folder)
    made.readers._idle = _READERS
    return made


def client_of(server: Any, **options: Any) -> "Client":
    """The SDK's client, not yet connected."""
    from mcp import Client

    return Client(server, **options)


def refused(match: str | None = None) -> "pytest.RaisesExc[MCPError]":
    """Expects that the server answers with an error of the protocol."""
    from mcp.shared.exceptions import MCPError

    return pytest.raises(MCPError, match=match)


@asynccontextmanager
async def agent(served: Service, **options: Any) -> "AsyncIterator[Client]":
    """A client of a server in this process."""
    from comity.mcp.server import build

    async with served, client_of(build(served), **options) as connected:
        yield connected


def over_a_pipe(*words: str, cwd: Path | None = None) -> Any:
    """The transport to a process of `comity mcp`."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = ["-m", "comity", "mcp", "--allow-address", LOOPBACK, "-A", "MyBot/1.0", *words]
    variables = {"COMITY_MIN_INTERVAL": "0"}
    return stdio_client(StdioServerParameters(command=sys.executable, args=command, env=variables, cwd=cwd))


@contextmanager
def over_http(served: Service, **options: Any) -> Iterator[str]:
    """The URL of a server on loopback. Its thread ends with the tests."""
    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    given = {"host": "127.0.0.1", **options}
    threading.Thread(target=serving.over_http, args=(served, listening), kwargs=given, daemon=True).start()
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        try:
            httpx.get(url, timeout=HANGS)
            break
        except httpx.TransportError:
            time.sleep(0.02)
    yield url


def posted(url: str, method: str, params: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
    """One request by protocol 2026-07-28, as it goes over the wire; `capabilities` among the parameters are ours."""
    params = dict(params or {})
    capabilities = params.pop("capabilities", {})
    name = params.get("name") or params.get("uri") or params.get("taskId")
    meta = {
        f"{META}protocolVersion": "2026-07-28",
        f"{META}clientCapabilities": capabilities,
        f"{META}clientInfo": {"name": "a-test", "version": "1"},
    }
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        **({"Mcp-Name": name} if name else {}),
        **headers,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return httpx.post(url, content=json.dumps(body), headers=sent, timeout=HANGS)
