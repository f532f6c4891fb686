"""Reads what a site wrote in a process of its own, which is ended where it takes too long.

A thread cannot be given up: what holds the interpreter, as a regular expression does, holds every thread and every
signal of its process. So a server reads here, and answers others meanwhile. docs/decisions/0042-patterns.md says what
is read here and what the bounds are.
"""

import asyncio
import io
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import is_dataclass
from threading import Timer
from typing import IO, Any, Final, TypeVar

from comity_pages.errors import ExtractionFailed

MAX_SECONDS: Final = 30  # of one reading, by the clock
MAX_MEMORY_BYTES: Final = 1536 * 1024 * 1024
"""Of address space that a process may have, where the system knows such a bound."""
MAX_PROCESSES: Final = 4  # readings of one server at a time; further ones wait for their turn
_MAX_ANSWER_BYTES: Final = 512 * 1024 * 1024
_HEAD: Final = 8  # octets before a message that say how long it is
_TYPES: Final = ("collections.Counter", "datetime.date", "datetime.datetime", "datetime.timedelta", "datetime.timezone")
_Result = TypeVar("_Result")


class ReaderProcesses:
    """The processes of one server. They begin when they are needed, and end with this object or this process."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MAX_PROCESSES)
        self._threads = ThreadPoolExecutor(MAX_PROCESSES, "comity-reading")  # has none until something is asked
        self._idle: list[_Process] = []
        self.close = weakref.finalize(self, _end, self._idle)

    async def read(self, function: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
        """What a function of a module gives, called in another process with arguments that can be pickled. It gives
        plain values, or values of comity.

        Raises:
            ExtractionFailed: it took more than the bounds.
        """
        question = pickle.dumps((function, arguments, named), pickle.HIGHEST_PROTOCOL)
        async with self._room:
            while self._idle and not self._idle[-1].is_alive:
                self._idle.pop().end()
            process = self._idle.pop() if self._idle else _Process()
            said = None
            try:
                said = await asyncio.get_running_loop().run_in_executor(self._threads, process.ask, question)
            finally:
                if said is None:  # it was ended, or who asked is gone
                    process.end()
                else:
                    self._idle.append(process)
        return process.answer(said)  # type: ignore[no-any-return]


def read_alone(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """As `ReaderProcesses.read`, in a process that reads nothing else: what it reads may break it."""
    process = _Process()
    try:
        return process.answer(process.ask(pickle.dumps((function, arguments, {}))))  # type: ignore[no-any-return]
    finally:
        process.end()


class _Process:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._late = False

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: bytes) -> bytes | None:
        """The answer to a question, both pickled; None where the process ended before it gave one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = Timer(MAX_SECONDS, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # it is ended already
                _send(self._process.stdin, question)
            return _message(self._process.stdout)
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._late = True
        self._process.kill()

    def answer(self, said: bytes | None) -> Any:
        """Raises ExtractionFailed: there is none. ComityError: the function raised it."""
        if said is None:
            why = f"could not be read in {MAX_SECONDS} s" if self._late else "ended the process that read it"
            raise ExtractionFailed(f"what the site wrote {why}")
        try:
            is_answer, value = _Unpickler(io.BytesIO(said)).load()
        except Exception as error:  # whatever a broken process says
            raise ExtractionFailed(f"what the site wrote broke the process that read it ({error})") from None
        if is_answer:
            return value
        raise value

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # it holds what the process did not take
                pipe.close()


def _end(processes: list[_Process]) -> None:
    for each in processes:
        each.end()


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(_HEAD, "big"))
    pipe.write(message)
    pipe.flush()


def _message(pipe: IO[bytes]) -> bytes | None:
    size = int.from_bytes(pipe.read(_HEAD), "big")
    message = pipe.read(size) if 0 < size <= _MAX_ANSWER_BYTES else b""
    return message if message and len(message) == size else None


class _Unpickler(pickle.Unpickler):
    """Takes values of comity, and nothing that runs code: a site may have broken the process that answers."""

    def find_class(self, module: str, name: str) -> Any:
        found = getattr(sys.modules.get(module), name, None)
        if f"{module}.{name}" in (*_TYPES, "comity_robots.errors._remade"):
            return found
        if isinstance(found, type):
            ours = found.__module__.partition(".")[0] in ("comity", "comity_pages", "comity_robots")
            value = is_dataclass(found) or issubclass(found, tuple | str | Exception)
            if (ours and value) or (module == "builtins" and issubclass(found, Exception)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value of an answer")


def _bound_memory() -> None:
    with suppress(ImportError, ValueError, OSError):  # another system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def _bound_time() -> None:
    """End this process also where the one that asked is gone and cannot end it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + MAX_SECONDS + 1, most))


def _answer_to(question: bytes) -> bytes:
    try:
        function, arguments, named = pickle.loads(question)
        return pickle.dumps((True, function(*arguments, **named)), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        error: Exception = ExtractionFailed(f"what the site wrote takes more than {MAX_MEMORY_BYTES:,} bytes of memory")
    except Exception as raised:
        error = raised
    try:
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
    except Exception:  # an error that cannot be pickled
        return pickle.dumps((False, RuntimeError(repr(error))), pickle.HIGHEST_PROTOCOL)


def _main() -> None:
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is no answer
    _bound_memory()
    while (question := _message(questions)) is not None:
        _bound_time()
        _send(answers, _answer_to(question))


if __name__ == "__main__":
    _main()
