"""The browser: one headless Chromium, started on first need and after a crash. Every host name and address is mapped to
nothing and the proxy does not exist, so what is not handed to it does not arrive."""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity.errors import InvalidSetting, RenderingFailed
from comity_pages._extras import need

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
NOWHERE: Final = (
    "--host-resolver-rules=MAP * ~NOTFOUND",  # numeric addresses too
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",  # Chromium goes to loopback past any proxy unless told otherwise
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # STUN and peers are UDP, which knows no proxy
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name in older versions
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
)
UNWANTED: Final = ("--disable-ipc-flooding-protection", "--disable-popup-blocking")
"""Playwright's defaults that would take from a browser what it has against hostile pages."""
MAX_PROCESS_BYTES: Final = 2 * 1024**3  # bytes that one process of the browser may hold
MAX_HEAP_MIB: Final = 1024  # MiB of them for a page's scripts
MAX_START_SECONDS: Final = 60.0  # seconds
MAX_END_SECONDS: Final = 5.0
POLL_SECONDS: Final = 0.1


class Browser:
    """A Chromium: the program at `path`, or one that is found. MissingExtra: Playwright is not installed.
    InvalidSetting: there is no such program."""

    def __init__(self, path: str | None) -> None:
        self._api: Any = need("playwright.async_api", "playwright", "rendering pages")
        self._path = path
        if path is not None and shutil.which(path) is None:
            raise InvalidSetting(f"render_browser: {path!r} is not a program", hint="give the path of a Chromium")
        self._starting = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._browser: Chromium | None = None
        self._process = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def alive(self) -> bool:
        """Whether the browser runs."""
        return self._browser is not None and self._browser.is_connected()

    async def context(self, agent: str) -> "BrowserContext":
        """A profile of its own, empty, that is to be closed; the browser is started if it does not run, else
        RenderingFailed."""
        async with self._starting:
            if not self.alive:
                await self._close()
                try:
                    async with asyncio.timeout(MAX_START_SECONDS):
                        await self._start()
                except (self._api.Error, OSError, TimeoutError) as error:
                    await self._close()
                    first = (str(error) or f"no answer in {MAX_START_SECONDS:g} s").strip().splitlines()
                    sandbox = any("sandbox" in line for line in first)
                    raise RenderingFailed(
                        f"the browser cannot be started: {first[0]}",
                        hint="it cannot set up its sandbox: allow user namespaces"
                        if sandbox
                        else "check that it starts on its own",
                    ) from error
            assert self._browser is not None
            browser = self._browser
        return await browser.new_context(user_agent=agent, service_workers="block", accept_downloads=False)

    async def verify(self) -> None:
        """End the browser where it gives no answer: its driver may be gone, which it does not say."""
        if self._browser is not None:
            try:
                async with asyncio.timeout(MAX_END_SECONDS):
                    await (await self._browser.new_context()).close()
            except Exception:
                await self.close()

    async def close(self) -> None:
        """End the browser and all its processes."""
        async with self._starting:
            await self._close()

    async def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="comity-", ignore_cleanup_errors=True)
        manager = self._api.async_playwright()
        with _temporary(self._folder.name):
            self._playwright = await manager.start()
        _excuse(manager)
        path = self._found(self._playwright.chromium.executable_path)
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        self._browser = await self._playwright.chromium.launch(
            executable_path=_limited(path, Path(self._folder.name)),
            args=[*NOWHERE, f"--js-flags=--max-old-space-size={MAX_HEAP_MIB}"],
            ignore_default_args=list(UNWANTED),
            env=dict(os.environ),  # not the driver's: the path of a socket in our folder might be too long
            chromium_sandbox=not is_root,  # which Chromium refuses to work in for root
            handle_sigint=False,  # the crawl finishes what is under way
            handle_sigterm=False,
            handle_sighup=False,
        )
        session = await self._browser.new_browser_cdp_session()
        processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        self._process = next(each["id"] for each in processes if each["type"] == "browser")
        await session.detach()

    async def _close(self) -> None:
        browser, self._browser = self._browser, None
        playwright, self._playwright = self._playwright, None
        if browser is not None:
            try:
                await asyncio.wait_for(browser.close(), MAX_END_SECONDS)
            except Exception:  # it is too busy for that, with a page that floods it
                with suppress(OSError):
                    os.kill(self._process, getattr(signal, "SIGKILL", signal.SIGTERM))
        if playwright is not None:  # its driver ends what is left
            with suppress(Exception):
                await asyncio.wait_for(playwright.stop(), MAX_END_SECONDS)
        folder, self._folder = self._folder, None
        if folder is not None:
            for _ in range(
                int(MAX_END_SECONDS / POLL_SECONDS)
            ):  # processes that are about to end may still write there
                folder.cleanup()
                if not Path(folder.name).exists():
                    break
                await asyncio.sleep(POLL_SECONDS)

    def _found(self, own: str) -> str:
        path = self._path or next((name for name in NAMES if shutil.which(name)), own)
        found = shutil.which(path)
        if found is None:
            raise RenderingFailed(
                "no Chromium is installed",
                hint="apt-get install chromium, or playwright install chromium, or name it with render_browser",
            )
        return found


@contextmanager
def _temporary(folder: str) -> Iterator[None]:
    """What is started in the block has its temporary files in a folder of ours: a driver that is killed cannot remove
    them.
    """
    names = ("TMPDIR", "TEMP", "TMP")  # the first is POSIX's, the others are Windows'
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, folder))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(before)


def _excuse(manager: Any) -> None:
    """Have asyncio not complain of an error that Playwright tells nobody of: that its driver is gone. We notice it."""
    client = getattr(manager, "_client", None) or getattr(manager, "_connection", None)
    lost = getattr(getattr(client, "_transport", None), "on_error_future", None)
    if isinstance(lost, asyncio.Future):
        lost.add_done_callback(lambda future: future.cancelled() or future.exception())


def _limited(path: str, folder: Path) -> str:
    """A program in a folder that starts the browser with bounded memory, where the system can do that."""
    if os.name != "posix":
        return path
    script = folder / "chromium"
    script.write_text(f'#!/bin/sh\nulimit -d {MAX_PROCESS_BYTES // 1024} 2>/dev/null\nexec {shlex.quote(path)} "$@"\n')
    script.chmod(0o700)
    return str(script) if os.access(script, os.X_OK) else path  # nothing runs from some temporary folders
