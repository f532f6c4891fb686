"""What a site wrote is read in processes that can be ended."""

import asyncio
import pickle
import time
from contextlib import suppress
from pathlib import Path, PurePosixPath

import holding
import pytest

from comity.errors import ExtractionFailed
from comity_pages import reader_processes
from comity_pages.documents import read_body
from comity_pages.reader_processes import ReaderProcesses, read_alone


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(holding.__file__).parent))


def test_a_page_read_in_a_process_is_what_it_is_here() -> None:
    page = (
        b"<title>Lamps</title><h1>Lamps</h1><p>How to keep them alight, in words.",
        "https://a.example/",
        "text/html",
    )
    assert asyncio.run(ReaderProcesses().read(read_body, *page, content="all")) == read_body(*page, content="all")


def test_a_reading_that_holds_the_interpreter_is_given_up_and_the_next_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def asked() -> None:
        readers = ReaderProcesses()
        with monkeypatch.context() as impatient:
            impatient.setattr(reader_processes, "MAX_SECONDS", 1)
            with pytest.raises(ExtractionFailed, match="could not be read in 1 s"):
                await readers.read(holding.hold)
        assert await readers.read(len, "another") == 7

    asyncio.run(asked())


def test_others_are_answered_while_one_is_read_and_who_asks_no_longer_holds_no_process() -> None:
    async def asked() -> None:
        readers = ReaderProcesses()
        for _ in range(reader_processes.MAX_PROCESSES + 1):
            held = asyncio.ensure_future(readers.read(holding.hold))
            assert await readers.read(len, "a text") == 6
            assert not held.done()
            held.cancel()
            with suppress(asyncio.CancelledError):
                await held

    asyncio.run(asked())


def test_a_process_of_its_own_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_processes, "MAX_SECONDS", 1)
    with pytest.raises(ExtractionFailed, match="could not be read in 1 s"):
        read_alone(holding.hold)


def test_an_error_of_a_reading_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ReaderProcesses().read(divmod, 1, 0))


@pytest.mark.parametrize("value", [time.sleep, PurePosixPath("/"), ReaderProcesses])
def test_an_answer_runs_no_code(value: object) -> None:
    process = reader_processes._Process()
    try:
        with pytest.raises(ExtractionFailed, match="broke the process"):
            process.answer(pickle.dumps((True, value)))
    finally:
        process.end()
