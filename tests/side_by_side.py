"""Test files shared out to processes (`--processes 6`): each takes the next file once it has done one.

A process imports the files that it takes and no others. Those of pytest-xdist import all of them before they begin, and
each takes as long for that as for hundreds of tests.
"""

import gc
import os
import signal
import time
import traceback
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

import pytest

Node = pytest.Item | pytest.Collector
NUMBER: Final = 4  # octets of a file's number in the queue
VARIABLE: Final = "TESTS_SIDE_BY_SIDE"
"""Is in the environment of each of the processes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=0, help="how many processes share the test files")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> bool | None:
    """Each process collects what it takes."""
    return True if session.config.getoption("--processes") else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("--processes")
    if not count:
        return None
    files = shared_out(session)
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # one for all, made here
    queue, writing = os.pipe()
    for number in range(len(files)):
        os.write(writing, number.to_bytes(NUMBER, "big"))
    os.close(writing)
    processes = [Process(session, files, queue, number) for number in range(min(count, len(files)))]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the others end with this one
    try:
        while running := {each.said: each for each in processes if not each.ended}:
            for ready in wait(list(running)):
                process = running[ready]  # type: ignore[index]
                process.hear()
                if process.ended and process.test is not None:  # it died
                    processes.append(Process(session, files, queue, len(processes)))
                if session.shouldfail or session.shouldstop:
                    raise session.Failed(session.shouldfail or session.shouldstop)
    finally:
        left = [each for each in processes if not each.ended]
        for each in left:
            each.send(signal.SIGTERM)
        until = time.monotonic() + 10
        while (left := [each for each in left if not each.is_over()]) and time.monotonic() < until:
            time.sleep(0.05)
        for each in left:  # what hangs is not waited for
            each.send(signal.SIGKILL)
    return True


def shared_out(session: pytest.Session) -> list[list[Node]]:
    """What is to be run, file by file, none of them imported yet: first what lasts long; the rest runs beside it."""
    words: list[str] = []
    for word in session.config.args:  # a folder is not entered any more once this is collected
        words += [str(file) for file in sorted(Path(word).rglob("test_*.py"))] if Path(word).is_dir() else [word]
    option = session.config.option
    chosen = option.keyword, option.markexpr
    option.keyword = option.markexpr = ""  # which are about tests
    files: dict[Path, list[Node]] = {}
    for node in session.perform_collect(words, genitems=False):
        files.setdefault(node.path, []).append(node)
    option.keyword, option.markexpr = chosen

    def length(file: Path) -> tuple[bool, bool, int]:
        text = file.read_text("utf-8")
        return "mark.waits" not in text, "mark.long" not in text, -len(text)

    return [files[file] for file in sorted(files, key=length)]


class Process:
    """One of those that share the files, as the first process has it.

    Attributes:
        said: where its reports come from.
        ended: it says no more.
        test: the name and place of the test that it runs, if any.
    """

    def __init__(self, session: pytest.Session, files: list[list[Node]], queue: int, number: int) -> None:
        self.said, telling = Pipe(duplex=False)
        self.ended = False
        self._session = session
        self.test: tuple[str, Any] | None = None
        self._id = os.fork()
        if not self._id:
            self.said.close()
            work(session, files, queue, telling, number)
        telling.close()

    def hear(self) -> None:
        config = self._session.config
        try:
            kind, value = self.said.recv()
        except EOFError:
            self._gone()
            return
        if kind == "begun":
            self.test = value
            self._session.testscollected += 1
        elif kind == "done":
            self.test = None
        else:
            report = config.hook.pytest_report_from_serializable(config=config, data=value)
            (config.hook.pytest_collectreport if kind == "collected" else config.hook.pytest_runtest_logreport)(
                report=report
            )

    def _gone(self) -> None:
        self.ended = True
        self.said.close()
        _, status = os.waitpid(self._id, 0)
        code = os.waitstatus_to_exitcode(status)
        if code or self.test:
            name, location = self.test or ("between two tests", ("", None, ""))
            what = f"the process that ran it ended ({code}), and the rest of its file was not run"
            report = pytest.TestReport(name, location, {}, "failed", what, "call")
            self._session.config.hook.pytest_runtest_logreport(report=report)

    def send(self, number: int) -> None:
        os.kill(self._id, number)

    def is_over(self) -> bool:
        return os.waitpid(self._id, os.WNOHANG) != (0, 0)


class Told:
    """Tells the first process what comes of each test."""

    def __init__(self, config: pytest.Config, telling: Connection) -> None:
        self._config = config
        self._telling = telling

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._telling.send(("begun", (nodeid, location)))

    def pytest_runtest_logfinish(self) -> None:
        self._telling.send(("done", None))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send("reported", report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self._send("collected", report)

    def _send(self, kind: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._telling.send((kind, data))


def work(session: pytest.Session, files: list[list[Node]], queue: int, telling: Connection, number: int) -> None:
    """What each process does; it ends here."""
    config = session.config
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        gc.freeze()  # what is here already stays: the search for cycles, a twentieth of all time, need not pass it
        gc.set_threshold(20_000, 20, 100)
        os.environ[VARIABLE] = str(number)
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()  # which shares its files with the other processes
        capture.start_global_capturing()
        capture.suspend_global_capture()
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"process-{number}"
        factory._basetemp.mkdir(mode=0o700)
        config.pluginmanager.unregister(config.pluginmanager.getplugin("terminalreporter"))
        config.pluginmanager.register(Told(config, telling))
        while taken := os.read(queue, NUMBER):
            tests = collected(session, files[int.from_bytes(taken, "big")])
            for test, following in zip(tests, [*tests[1:], session], strict=False):  # what is of the session stays
                config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        session._setupstate.teardown_exact(None)
        code = 0
    except (KeyboardInterrupt, BrokenPipeError):  # the first process wants no more
        session._setupstate.teardown_exact(None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def collected(session: pytest.Session, file: list[Node]) -> list[pytest.Item]:
    items = [item for node in file for item in session.genitems(node)]
    session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
    return items
