"""An output that somebody has damaged: who asks about the crawl is told of the rest, and a proof names the record."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ALLOW, comity
from examples import first_of
from sites import Site


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site]]:
    """A crawl in `out`, and its site."""
    folder = tmp_path_factory.mktemp("crawl")
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nDisallow: /private\n", content_type="text/plain")
        site.link("/", "/a", "/private", "/gone", "/old")
        site.link("/a")
        site.set("/old", status=301, headers={"Location": "/a"})
        comity("crawl", site.url("/"), "-o", str(folder / "out"), "--delay", "0", *ALLOW, "--quiet")
        yield folder, site


@pytest.mark.parametrize(
    ("channel", "field", "value"),
    first_of(
        ("pages", "status", "ok"),
        ("pages", "url", "http://[::1"),
        ("pages", "content_type", 5),
        ("pages", "decision", {"line": "first"}),
        ("refusals", "why", None),
        ("refusals", "refresh", 10**30),
        ("failures", "url", ["http://a.example/"]),
        ("redirects", "refresh", []),
        now=2,
    ),
)
def test_a_damaged_record_ends_no_command_and_a_proof_names_its_field(
    crawled: tuple[Path, Site], tmp_path: Path, channel: str, field: str, value: object
) -> None:
    folder, site = crawled
    shutil.copytree(folder / "out", tmp_path, dirs_exist_ok=True)
    path = tmp_path / f"{channel}.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    damaged = json.dumps({**json.loads(first), field: value})
    path.write_text("".join(f"{line}\n" for line in (damaged, *others)), encoding="utf-8")
    for words in (
        ["pages", str(tmp_path), "--markdown"],
        ["changes", str(tmp_path)],
        ["report", str(tmp_path), "--broken-links"],
        ["report", str(tmp_path), "-o", str(tmp_path / "report.html")],
        *(["why", str(tmp_path), site.url(target)] for target in ("/", "/a", "/private", "/gone", "/old", "/never")),
    ):
        answer = comity(*words)
        assert "Traceback" not in answer.stderr, words
        assert answer.returncode in (0, 2, 66), words
    proof = comity("prove", str(tmp_path))
    assert f"{channel}.jsonl, record 1: its field '{field}' is missing or damaged" in proof.stdout
