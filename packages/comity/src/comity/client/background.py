"""An event loop in a background thread, for callers without one: each call is a coroutine that runs there.

Whoever calls gets an answer or an error: closing ends what is under way, and in a forked process, which has the loop
but not its thread, every call says so.
"""

import asyncio
import os
import selectors
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, Final, TypeVar

from comity.net.session import ClientClosed
from comity.net.turns import reset_in_forks

T = TypeVar("T")


class Background:
    """The loop and its thread, which run from now on until `close`.

    Attributes:
        forked: whether this process is a fork of the one that the loop runs in.
    """

    def __init__(self) -> None:
        self.forked = False
        self._process = os.getpid()
        self._closing = False
        self._lock = threading.Lock()  # no call is handed over after `close` has begun
        self._selector: _Selector | None = None
        if sys.platform == "win32":  # which has no fork
            self._loop = asyncio.new_event_loop()
        else:
            self._selector = _Selector()
            self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._serve, name="comity", daemon=True)
        self._thread.start()
        self._ident = self._thread.ident
        _RUNNING.add(self)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine, whose errors are raised here.

        Raises:
            RuntimeError: the loop is closed or was closed meanwhile, this process is a fork, or the caller is what the
                loop is running.
        """
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise ClientClosed("the client was closed during the call") from None
        except BaseException:
            future.cancel()  # the caller was interrupted: leave nothing running
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Return what a coroutine will give, or raise.

        Raises:
            RuntimeError: see `run`.
        """
        try:
            self.check()
            with self._lock:
                self.check()
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise

    def release(self, give_back: Callable[[], Awaitable[object]]) -> None:
        """Give back something that was had from the loop; where that is closed, it was given back with it."""

        async def work() -> None:
            await give_back()

        if not (self.forked or self._closing):
            try:
                self.run(work())
            except RuntimeError:
                if not self._closing:
                    raise

    def check(self) -> None:
        """Check that a call may be made. Errors as for `run`."""
        if self.forked:  # before any lock, which may be held for ever here
            raise RuntimeError(
                f"the client was opened in process {self._process}, of which this one ({os.getpid()}) is a fork: "
                "open a client in each process"
            )
        if threading.get_ident() == self._ident:
            raise RuntimeError("the client was called from its own callback, which would deadlock")
        if self._closing:
            raise ClientClosed

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """End what is under way, run one thing more, and end the thread. A second call waits until that is done."""
        if self.forked:
            last.close()
            return
        with self._lock:
            first, self._closing = not self._closing, True
        if not first:
            last.close()
        elif threading.get_ident() == self._ident:  # the garbage collector's turn may come there
            self._ending = self._loop.create_task(self._end(last))
            self._ending.add_done_callback(lambda _: self._loop.stop())
        else:
            try:
                asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.get_ident() != self._ident:
            self._thread.join()

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
            _RUNNING.discard(self)

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        me = asyncio.current_task()
        while others := [task for task in asyncio.all_tasks() if task is not me]:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        await last
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def _forked(self) -> None:
        """This is a copy of the loop, in a process that has not its thread."""
        self.forked = True
        if self._selector is not None:
            self._selector.shared = True
        self._loop.set_exception_handler(lambda _loop, _context: None)  # what is left open here is not ours to close


class _Selector(selectors.DefaultSelector):
    """A selector that is left alone in a forked process.

    The kernel's list of what is waited for is shared by parent and child. If the child, on its way out, took the
    connections off it that it has copies of, the parent would wait for their answers for ever.
    """

    shared = False

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.get_key(fileobj) if self.shared else super().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.get_key(fileobj) if self.shared else super().modify(fileobj, events, data)


_RUNNING: Final[weakref.WeakSet[Background]] = weakref.WeakSet()


reset_in_forks(_RUNNING)
