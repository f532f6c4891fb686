"""A crawl that comes back: `comity crawl -c crawl.toml` as it stands in a timer."""

import configparser
import json
import logging
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import comity
from sites import Site

from comity.cli.logs import logging_to
from comity.configuration import load
from comity.errors import InvalidSetting

SHOWN = ("new", "changed", "gone", "unchanged", "pages")


@pytest.fixture
def file(site: Site, tmp_path: Path) -> Path:
    site.link("/", "/a", "/b")
    site.set("/a", "one", headers={"ETag": '"1"'})
    site.set("/b", "two")
    written = tmp_path / "crawl.toml"
    written.write_text(
        f'seeds = ["{site.url("/")}"]\noutput = "out"\nlog = "crawl.log"\nformat = "jsonl.gz"\n'
        'allow_addresses = "127.0.0.0/8"\nmin_interval = 0.001\nok_if_some_failed = true\n'
    )
    return written


def run(file: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return comity("crawl", "-c", file.name, *words, cwd=file.parent)


def counts(answer: "subprocess.CompletedProcess[str]") -> list[int]:
    return [json.loads(answer.stdout)[name] for name in SHOWN]


def test_one_command_begins_resumes_and_refreshes_whichever_is_due(file: Path, site: Site) -> None:
    full = run(file, "--min-free-disk", "900TB")
    assert (full.returncode, "less than min_free_disk" in full.stderr) == (74, True)
    assert "crawl.toml: beginning the crawl in out" in full.stderr
    first = run(file, "--json")
    assert "crawl.toml: resuming the crawl in out" in first.stderr
    assert (first.returncode, counts(first)) == (0, [0, 0, 0, 0, 3])
    site.set("/b", "three")
    again = run(file, "--json")
    assert "crawl.toml: refreshing out" in again.stderr
    assert (again.returncode, counts(again)) == (0, [0, 1, 0, 2, 1])
    assert (file.parent / "out" / "pages.jsonl.gz").exists()
    assert "kept" in (file.parent / "crawl.log").read_text() or (file.parent / "crawl.log").stat().st_size


def test_a_crawl_that_reached_nothing_is_gone_on_with(file: Path, site: Site) -> None:
    site.set("/robots.txt", "x", status=503)
    assert run(file, "--quiet").returncode == 3
    told = run(file, "--json")  # which knows that it was unreachable a moment ago
    assert (told.returncode, "resuming the crawl in out" in told.stderr) == (3, True)


def test_what_the_file_says_later_counts_and_what_is_typed_wins(file: Path, site: Site) -> None:
    text = file.read_text()
    file.write_text(f"{text}max_pages = 1\n")
    assert counts(run(file, "--json", "--metrics", "0"))[-1] == 1
    file.write_text(f'{text}max_pages = "none"\n')
    assert run(file, "--json", "--resume").returncode == 0
    assert counts(run(file, "--json"))[3] == 3
    other = run(file, "--json", "-o", "other")
    assert "beginning the crawl in other" in other.stderr
    assert counts(other)[-1] == 3


def test_a_file_that_nobody_named_says_nothing_of_a_crawl(file: Path, site: Site) -> None:
    file.rename(file.with_name("comity.toml"))
    told = comity("crawl", site.url("/"), cwd=file.parent)
    assert (told.returncode, told.stdout) == (64, "")
    assert "comity.toml in this folder, which nobody named, sets seeds" in told.stderr
    assert not site.seen


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("output = 3", "output: 3 is not text"),
        ("workers = 0", "workers: 0 is not a whole number of at least 1"),
        ('seeds = ["a", 1]', "seeds"),
        ('sink = "evil:Sink"', "'sink' is not a setting"),
        ('store = "postgresql://db"', "'store' is not a setting"),
        ('min_free_disk = "much"', "min_free_disk: 'much' is not a whole number of bytes"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_name(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(line)
    with pytest.raises(InvalidSetting, match=re.escape(words)) as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_the_file_in_the_documentation_is_one(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "docs" / "running.md").read_text(encoding="utf-8")
    file = tmp_path / "crawl.toml"
    file.write_text(text.partition("```toml\n")[2].partition("```")[0])
    loaded = load(file)
    assert loaded.job is not None
    assert (loaded.job.output, len(loaded.job.seeds)) == ("weekly", 2)
    assert loaded.crawl.min_free_disk == 5_000_000_000


def test_a_format_that_there_is_not_is_refused(file: Path) -> None:
    file.write_text(file.read_text().replace("jsonl.gz", "jsn"))
    told = run(file)
    assert (told.returncode, "format: 'jsn' is not one of jsonl" in told.stderr) == (64, True)


def test_the_units_are_what_systemd_takes_and_run_the_file(file: Path, tmp_path: Path) -> None:
    file = file.rename(file.with_name('week%ly "50".toml'))
    told = run(file, "--print-systemd")
    assert (told.returncode, told.stderr) == (0, "")
    units: dict[str, str] = {}
    for part in re.split(r"^# /etc/systemd/system/", told.stdout, flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        units[name] = text
    assert list(units) == ["comity-week-ly-50.service", "comity-week-ly-50.timer", "comity-failed@.service"]
    parsed = {}
    for name, text in units.items():
        (tmp_path / name).write_text(text)
        parsed[name] = configparser.RawConfigParser()
        parsed[name].read_string(text)
    service = parsed["comity-week-ly-50.service"]
    assert service["Unit"]["OnFailure"] == "comity-failed@%n.service"
    assert service["Service"]["ExecStart"].endswith('/week%%ly \\"50\\".toml" --quiet')
    assert parsed["comity-week-ly-50.timer"]["Timer"]["Persistent"] == "yes"
    if (verify := shutil.which("systemd-analyze")) is not None:
        made = subprocess.run(
            [verify, "verify", *(str(tmp_path / name) for name in units)], capture_output=True, text=True, check=False
        )
        assert (made.returncode, made.stderr) == (0, "")


def test_units_need_a_file_that_says_the_whole_crawl(tmp_path: Path) -> None:
    told = comity("crawl", "https://example.com/", "--print-systemd", cwd=tmp_path)
    assert (told.returncode, "needs a settings file that says the whole crawl" in told.stderr) == (64, True)


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "crawl.log"
    with logging_to(log, None, level=logging.INFO):
        logging.getLogger("comity.crawl").info("before")
        log.rename(tmp_path / "crawl.log.1")
        logging.getLogger("comity.crawl").info("after")
    assert "before" in (tmp_path / "crawl.log.1").read_text()
    assert log.read_text().endswith("after\n")
