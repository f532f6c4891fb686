"""The blocking client as programs use it: threads, forks, closing, and what is read too late."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sites import HANGS, Site, endless

import comity
from comity import AsyncClient, Client, ClientSettings, ComityError, Policy
from comity.net.session import ClientClosed

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


def _run(script: str, site: Site) -> str:
    """What a program prints in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), site.url("/a")],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    return ended.stdout + ended.stderr


def test_threads_that_call_while_the_block_is_left_all_come_to_an_end(site: Site) -> None:
    site.set("/a", "here")
    for _ in range(5):
        threads = ThreadPoolExecutor(32)
        with Client(QUICK) as client:
            calls = [threads.submit(client.get, site.url("/a")) for _ in range(400)]
            calls[0].result(60)
        ended, hanging = wait(calls, 60)
        threads.shutdown(wait=False, cancel_futures=True)
        assert not hanging
        errors = {str(call.exception()) for call in ended} - {"None"}
        assert errors <= {"the client was closed during the call", str(ClientClosed())}


def test_a_client_needs_no_block_and_is_closed_by_hand(site: Site) -> None:
    site.set("/a", "here")
    client = Client(QUICK)
    assert client.get(site.url("/a")).text == "here"
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.get(site.url("/a"))
    with pytest.raises(ComityError, match="closed"):
        client.get(site.url("/a"))
    with pytest.raises(ComityError, match="closed"):
        next(client.get_many([site.url("/a")]))

    async def use() -> None:
        client = AsyncClient(QUICK)
        assert (await client.get(site.url("/a"))).text == "here"
        await client.close()
        with pytest.raises(RuntimeError, match="closed"):
            await client.get(site.url("/a"))

    asyncio.run(use())


def test_threads_that_close_a_client_at_the_same_time_all_find_it_closed(site: Site) -> None:
    for _ in range(10):
        client = Client(QUICK)
        client.check(site.url("/a"))
        with ThreadPoolExecutor(4) as threads:
            for each in [threads.submit(client.close) for _ in range(4)]:
                each.result(60)


def test_a_client_that_is_forgotten_leaves_no_thread_behind(site: Site) -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "comity"}
    client = Client(QUICK)
    client.check(site.url("/a"))
    (thread,) = {thread for thread in threading.enumerate() if thread.name == "comity"} - before
    del client
    gc.collect()
    thread.join(HANGS)
    assert not thread.is_alive()


def test_a_closed_client_answers_nothing_from_memory_and_forgets_nothing_in_silence(site: Site) -> None:
    with Client(QUICK) as client:
        assert client.is_allowed(site.url("/a"))
    for call in (client.check, client.is_allowed, client.head, client.get):
        with pytest.raises(RuntimeError, match="closed"):
            call(site.url("/a"))
    with pytest.raises(RuntimeError, match="closed"):
        client.clear_cache()
    with pytest.raises(RuntimeError, match="closed"), client.stream(site.url("/a")):
        pass
    with pytest.raises(RuntimeError, match="closed"):
        list(client.get_many([site.url("/a")]))
    assert len(client.inspect()) == 1, "what was learned can still be read"

    async def use() -> None:
        async with AsyncClient(QUICK) as client:
            assert await client.is_allowed(site.url("/a"))
        with pytest.raises(RuntimeError, match="closed"):
            await client.check(site.url("/a"))
        with pytest.raises(RuntimeError, match="closed"):
            client.clear_cache()

    asyncio.run(use())


@pytest.mark.parametrize("size", [3, 300_000])
def test_a_stream_is_read_once_and_inside_its_block(site: Site, size: int) -> None:
    site.set("/a", b"x" * size)
    with Client(QUICK) as client:
        with client.stream(site.url("/a")) as response:
            begun = response.chunks()
            next(begun)
            with pytest.raises(RuntimeError, match="once"):
                next(response.chunks())
        with pytest.raises(RuntimeError, match="inside"):
            list(begun)
        with client.stream(site.url("/a")) as response:
            pass
        with pytest.raises(RuntimeError, match="inside"):
            list(response.chunks())
    with pytest.raises(RuntimeError, match="closed"):
        list(response.chunks())

    async def use() -> None:
        async with AsyncClient(QUICK) as client:
            async with client.stream(site.url("/a")) as response:
                begun = response.chunks()
                await anext(begun)
                with pytest.raises(RuntimeError, match="once"):
                    await anext(response.chunks())
            with pytest.raises(RuntimeError, match="inside"):
                await anext(begun)
            async with client.stream(site.url("/a")) as response:
                pass
            with pytest.raises(RuntimeError, match="inside"):
                await anext(response.chunks())

    asyncio.run(use())


def test_a_stream_tells_what_a_response_tells(site: Site) -> None:
    site.set("/old", status=302, headers={"Location": "/a"})
    site.set("/a", "gone", status=410)
    with Client(QUICK) as client, client.stream(site.url("/old")) as response:
        assert (response.status, response.status_code, response.ok) == (410, 410, False)
        assert (response.url, response.redirects) == (site.url("/a"), (site.url("/old"),))
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.head.status == 410
        assert [hop.status for hop in response.history] == [302]
        with pytest.raises(comity.BadStatus):
            response.raise_for_status()


def test_a_client_closed_inside_its_stream_ends_that_and_nothing_hangs(site: Site) -> None:
    site.set("/a", endless(b"begun"))
    client = Client(QUICK)
    with client.stream(site.url("/a")) as response:
        parts = response.chunks()
        assert next(parts) == b"begun"
        client.close()
        with pytest.raises(RuntimeError, match="closed"):
            next(parts)


needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


@needs_fork
def test_a_forked_process_is_told_to_open_a_client_of_its_own(site: Site) -> None:
    site.set("/a", "here")
    printed = _run(
        """
        import os, sys, comity
        policy = comity.Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
        url = sys.argv[1]
        unused = comity.Client(policy)
        with comity.Client(policy) as client:
            client.get(url)
            if os.fork() == 0:
                for call in (client.get, client.check, client.head):
                    try:
                        print(call(url))
                    except RuntimeError as error:
                        print("fork" in str(error))
                try:
                    with client:
                        pass
                except RuntimeError as error:
                    print("fork" in str(error))
                with unused:
                    print(unused.get(url).text)
                client.close()
                with client:  # opened anew
                    print(client.get(url).text)
                print("child")
            else:
                os.wait()
                print(client.get(url).text)
                print("parent")
        """,
        site,
    )
    assert printed.split() == ["True"] * 4 + ["here", "here", "child", "here", "parent"]


@needs_fork
def test_a_forked_process_that_ends_takes_nothing_from_its_parent(site: Site) -> None:
    """It has copies of the parent's open connections, which may not be taken off the kernel's list there."""
    site.set("/a", "here")
    printed = _run(
        """
        import gc, os, sys, comity
        policy = comity.Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
        client = comity.Client(policy, comity.ClientSettings(timeout=60))
        client.get(sys.argv[1])
        if os.fork() == 0:
            del client
            gc.collect()
            sys.exit()
        os.wait()
        print(client.get(sys.argv[1]).text)
        """,
        site,
    )
    assert printed.split() == ["here"]


@needs_fork
def test_a_pool_of_forked_processes_each_opens_its_own_client(site: Site) -> None:
    site.set("/a", "here")
    printed = _run(
        """
        import multiprocessing, sys, comity
        policy = comity.Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
        client = comity.Client(policy)
        def get(url):
            return client.get(url)
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(*(response.text for response in pool.map(get, [sys.argv[1]] * 4)))
        """,
        site,
    )
    assert printed.split() == ["here"] * 4


def test_plain_delay_is_the_least_time_between_two_requests_to_a_host(site: Site) -> None:
    assert Client(delay=2.5).policy.min_interval == 2.5
    assert AsyncClient(QUICK, delay=3).policy == QUICK.with_changes(min_interval=3)
    assert Client(QUICK).policy.min_interval == 0
    with pytest.raises(comity.InvalidSetting, match="min_interval"):
        Client(delay=-1)


def test_retrieve_shows_its_arguments_to_who_asks_for_help() -> None:
    import inspect

    for each in (Client.retrieve, AsyncClient.retrieve):
        assert list(inspect.signature(each).parameters)[1:] == ["url", "strategy", "fetcher", "extractor", "chooser"]
        assert inspect.signature(each).return_annotation == "Retrieved"


def test_settings_of_a_client_are_what_it_was_given() -> None:
    assert Client(QUICK, settings := ClientSettings(timeout=3)).settings is settings
