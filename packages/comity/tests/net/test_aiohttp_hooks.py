"""What of aiohttp is used although it is not documented: each hook by name, so that a version without it is noticed."""

import ast
import asyncio
import inspect
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

import comity.net
from comity.net.connections import Connections, _Protocol

HOOKS = {
    ("TCPConnector", "_conns"): "idle connections are closed where this process has no descriptor left",
    ("TCPConnector", "_create_connection"): "a shortage on our side is waited for; a connection counts as a socket",
    ("TCPConnector", "_factory"): "each connection has a protocol of ours",
    ("TCPConnector", "_close"): "connections are let go of from outside their event loop",
    ("TCPConnector", "_wait_for_available_connection"): "that wait counts for no request's time-out",
    ("ResponseHandler", "_buffer"): "heads of interim answers that nobody reads are thrown away",
    ("ResponseHandler", "_payload"): "a body that ends with its connection is whole only after an orderly end",
    ("ClientSession", "_retry_connection"): "no request is sent a second time without a turn",
}


@pytest.mark.parametrize(("owner", "name"), HOOKS, ids=[".".join(each) for each in HOOKS])
def test_aiohttp_still_has_each_hook(owner: str, name: str) -> None:
    async def look() -> bool:
        loop = asyncio.get_running_loop()
        if owner == "ResponseHandler":
            return hasattr(ResponseHandler(loop), name)
        if owner == "TCPConnector":
            async with aiohttp.TCPConnector() as connector:
                return hasattr(connector, name)
        async with aiohttp.ClientSession() as session:
            return hasattr(session, name)

    assert asyncio.run(look()), HOOKS[owner, name]


@pytest.mark.parametrize("name", ["connect", "_create_connection", "_wait_for_available_connection"])
def test_what_is_overridden_takes_the_same_arguments(name: str) -> None:
    ours, theirs = (
        list(inspect.signature(getattr(kind, name)).parameters) for kind in (Connections, Connections.mro()[1])
    )
    assert ours == theirs


@pytest.mark.parametrize("name", ["connection_made", "data_received", "eof_received", "close", "connection_lost"])
def test_the_protocol_still_hears_of_each_event(name: str) -> None:
    ours, theirs = (list(inspect.signature(getattr(kind, name)).parameters) for kind in (_Protocol, ResponseHandler))
    assert ours == theirs


def test_a_protocol_counts_the_heads_that_wait() -> None:
    async def count() -> int:
        return len(ResponseHandler(asyncio.get_running_loop()))

    assert asyncio.run(count()) == 0
    assert HttpProcessingError(code=400, message="x").message == "x"


def test_no_other_private_part_of_aiohttp_is_used() -> None:
    bases = {"Connections": ("TCPConnector", aiohttp.TCPConnector), "_Protocol": ("ResponseHandler", ResponseHandler)}
    used = set()
    for path in Path(comity.net.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for made in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name in bases):
            owner, base = bases[made.name]
            names = {node.attr for node in ast.walk(made) if isinstance(node, ast.Attribute)}
            defined = {node.name for node in made.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            known = asyncio.run(_private_names(base))
            used |= {(owner, name) for name in (names | defined) & known}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and "_session" in ast.unparse(node.value):
                used.add(("ClientSession" if node.attr == "_retry_connection" else "TCPConnector", node.attr))
    assert used == set(HOOKS)


async def _private_names(base: type) -> set[str]:
    loop = asyncio.get_running_loop()
    made = ResponseHandler(loop) if base is ResponseHandler else aiohttp.TCPConnector()
    names = {name for name in dir(made) if name.startswith("_") and not name.startswith("__")}
    if isinstance(made, aiohttp.TCPConnector):
        await made.close()
    return names
