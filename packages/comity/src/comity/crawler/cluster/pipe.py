"""A worker that is a process of this machine, as it sees itself: it is told its job, and all else, through a pipe in
the place of standard input, and says what it has to say through another.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any

from comity.crawler.cluster.jobs import Job, WorkerMessage, pack, read_message
from comity.crawler.cluster.member import worker_of
from comity.errors import ComityError, system_failed


class Pipe:
    """This process's end of the pipes to the one above, in the place of standard input and output. Nothing waits for
    the process above: it may be stopped, and its worker goes on. A thread says what there is; of snapshots that were
    not heard yet the newest takes the place of older ones."""

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)  # what a plug-in prints must not be taken for a word
        self._unsent: dict[object, bytes] = {}  # by what it takes the place of
        self._changed = threading.Condition()
        threading.Thread(target=self._write, name="comity-pipe", daemon=True).start()

    def job(self) -> Job:
        job: Job = read_message(self._in)
        return job

    def send(self, *message: Any) -> None:
        key = message[0] if message[0] == "snapshots" else object()  # what comes later makes the earlier one needless
        with self._changed:
            self._unsent.pop(key, None)
            self._unsent[key] = pack(message)
            self._changed.notify_all()

    def close(self) -> None:
        """Come back once all is said."""
        with self._changed:
            while self._unsent:
                self._changed.wait()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._unsent:
                    self._changed.wait()
                messages = list(self._unsent.items())
            for key, said in messages:
                data = said
                try:
                    while data:
                        data = data[self._out.write(data) :]
                except OSError:
                    os._exit(1)
                with self._changed:
                    if self._unsent.get(key) is said:
                        del self._unsent[key]
                    self._changed.notify_all()

    def listen(self, on_message: Callable[[WorkerMessage], None]) -> None:
        """Have each message taken up on the loop that runs."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            while True:
                try:
                    message = read_message(self._in)
                except (EOFError, OSError):
                    os._exit(1)  # whoever has our shards next finds them as after a crash
                try:
                    loop.call_soon_threadsafe(on_message, message)
                except RuntimeError:  # the loop has ended
                    return

        threading.Thread(target=read, daemon=True).start()


def serve(pipe: Pipe, job: Job, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> int:
    """Do a job to its end; gives the exit code of this process."""
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(worker_of(job, pipe.send).run(pipe.listen))
    except ComityError as error:
        pipe.send("failed", error)
        return 2
    except Exception as error:
        if (failed := system_failed(error)) is None:
            raise
        pipe.send("failed", failed)
        return 2
    finally:
        pipe.close()
    return 0
