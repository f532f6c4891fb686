"""The command as a person meets it: its answers, its exit codes, and one clear line where something is wrong."""

import csv
import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from commands import ALLOW, comity, complaint, no_room_beyond, process
from examples import first_of
from sites import HANGS, Site


@pytest.mark.both_forms
def test_the_version_says_which_form_runs() -> None:
    answer = process("--version")
    assert answer.returncode == 0
    form = "interpreted" if os.environ.get("COMITY_NO_EXTENSIONS") else "compiled"
    if os.environ.get("COMITY_REQUIRE_EXTENSIONS") or form == "interpreted":
        assert form in answer.stdout
    assert answer.stdout.startswith("comity 0.")


@pytest.mark.both_forms
def test_check_answers_with_its_exit_code(site: Site) -> None:
    site.set("/robots.txt", "User-agent: MyBot\nDisallow: /no\n")
    allowed, refused = site.url("/yes"), site.url("/no")
    assert comity("check", allowed, "--agent", "MyBot/1.0", *ALLOW).returncode == 0
    answer = process("check", allowed, refused, "--agent", "MyBot/1.0", *ALLOW)
    assert answer.returncode == 2
    first, second = answer.stdout.splitlines()
    assert first.startswith("allowed")
    assert second.startswith("disallowed")
    assert "line 2" in second
    assert comity("check", refused, "--agent", "OtherBot", *ALLOW).returncode == 0


@pytest.mark.both_forms
def test_check_reads_a_robots_txt_from_a_file_without_any_request(tmp_path: Path) -> None:
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /private/\n")
    answer = comity("check", "https://example.com/private/x", "--robots", str(robots), "--json")
    assert answer.returncode == 2
    row = json.loads(answer.stdout)
    assert row["answer"] == "disallowed"
    assert row["decision"]["verdict"] == "disallowed_explicit"
    assert (row["decision"]["line"], row["decision"]["rule"]) == (2, "Disallow: /private/")


def test_check_reads_a_list_and_writes_lines_or_a_table_with_an_answer_for_each(tmp_path: Path) -> None:
    robots = "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /private/\nAllow: /\n"
    (tmp_path / "robots.txt").write_text(robots)
    listed = "# mine\nhttps://example.com/a\n\n=1+1\nhttps://example.com/private/x\n"
    (tmp_path / "list").write_text(listed)
    words = ("check", "--urls", "list", "--robots", "robots.txt", "--purpose", "train-ai")
    lines = comity(*words, "--json", cwd=tmp_path)
    assert lines.returncode == 64
    rows = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [row["answer"] for row in rows] == ["allowed", "error", "disallowed"]
    assert len({tuple(row) for row in rows}) == 1, "the keys are always the same"
    assert rows[0]["usage"]["train-ai"]["preference"] == "disallowed"
    table = comity(*words, "--csv", "--exit-zero", cwd=tmp_path)
    assert table.returncode == 0
    assert table.stderr == ""
    read = list(csv.DictReader(table.stdout.splitlines()))
    assert [row["answer"] for row in read] == ["allowed", "error", "disallowed"]
    assert read[1]["url"] == "'=1+1", "no spreadsheet takes it for a formula"
    assert (read[2]["line"], read[2]["rule"]) == ("3", "Disallow: /private/")
    assert read[0]["train-ai"] == "disallowed"
    piped = asked(["check", "--urls", "-", "--robots", str(tmp_path / "robots.txt")], "https://example.com/a\n")
    assert piped.stdout.startswith("allowed      https://example.com/a")
    for wrong in (("--csv", "--json"), ("--robots", "-", "--urls", "-")):
        assert comity("check", "https://example.com/", *wrong).returncode == 64
    assert "no URL given" in complaint(comity("check"))


def test_check_answers_for_each_agent_and_its_exit_code_is_that_of_the_worst(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: GPTBot\nDisallow: /\n\nUser-agent: Googlebot\nDisallow: /b\n")
    words = (
        "https://example.com/a",
        "https://example.com/b",
        "--robots",
        "robots.txt",
        "-A",
        "GPTBot",
        "-A",
        "Googlebot",
    )
    answer = comity("check", *words, cwd=tmp_path)
    assert answer.returncode == 2
    assert [line.split()[:3] for line in answer.stdout.splitlines()] == [
        ["disallowed", "GPTBot", "https://example.com/a"],
        ["allowed", "Googlebot", "https://example.com/a"],
        ["disallowed", "GPTBot", "https://example.com/b"],
        ["disallowed", "Googlebot", "https://example.com/b"],
    ]
    matrix = [("GPTBot", "disallowed"), ("Googlebot", "allowed"), ("GPTBot", "disallowed"), ("Googlebot", "disallowed")]
    rows = [json.loads(line) for line in comity("check", *words, "--json", cwd=tmp_path).stdout.splitlines()]
    assert [(row["agent"], row["answer"]) for row in rows] == matrix
    table = csv.DictReader(comity("check", *words, "--csv", cwd=tmp_path).stdout.splitlines())
    assert [(row["agent"], row["answer"]) for row in table] == matrix
    explained = comity("explain", *words, cwd=tmp_path)
    assert explained.returncode == 2
    assert explained.stdout.count("disallowed for GPTBot") == 2
    assert explained.stdout.count("  allowed for Googlebot") == 1


def test_several_agents_cost_a_site_one_request(site: Site) -> None:
    site.set("/robots.txt", "User-agent: B\nDisallow: /\n")
    answer = comity("check", site.url("/x"), "-A", "A/1.0", "-A", "B/1.0", *ALLOW)
    assert answer.returncode == 2
    assert [line.split()[:2] for line in answer.stdout.splitlines()] == [["allowed", "A/1.0"], ["disallowed", "B/1.0"]]
    assert site.paths() == ["/robots.txt"]


@pytest.mark.parametrize("command", ["fetch", "inspect", "crawl", "mcp"])
def test_a_second_agent_is_refused_where_only_one_can_ask(command: str) -> None:
    url = () if command == "mcp" else ("https://example.com/",)
    answer = comity(command, *url, "-A", "GPTBot", "-A", "Googlebot")
    assert answer.returncode == 64
    assert "--agent" in complaint(answer)
    assert "2 times" in complaint(answer)


def test_a_second_robots_txt_is_refused() -> None:
    answer = comity("check", "https://example.com/", "--robots", "a.txt", "--robots", "b.txt")
    assert answer.returncode == 64
    assert "--robots" in complaint(answer)


def asked(words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    """The command with something on standard input."""
    return process(*words, said=text)


def test_check_reads_a_robots_txt_from_standard_input() -> None:
    for command in ("check", "explain"):
        text = "User-agent: *\nDisallow: /private/\n"
        answer = asked([command, "https://example.com/private/x", "--robots", "-"], text)
        assert answer.returncode == 2, answer.stderr
        assert "line 2" in answer.stdout


@pytest.mark.parametrize("name", ["train-ai", "ai-train"])
def test_check_says_what_the_site_states_about_a_purpose(name: str) -> None:
    text = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"
    answer = asked(
        ["check", "https://example.com/x", "--robots", "-", "--purpose", name, "--purpose", "ai-input"], text
    )
    assert answer.returncode == 0
    verdict, *stated = answer.stdout.splitlines()
    assert verdict.startswith("allowed ")
    assert [line.strip() for line in stated] == [
        "ai-input: robots.txt says nothing about it; no page was read",
        "train-ai is disallowed: robots.txt line 2 says 'search=yes, ai-train=no'",
    ]


def test_one_word_that_is_no_url_does_not_keep_the_others_from_being_judged(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /no\n")
    words = ("https://example.com/no", "example.com", "https://example.com/yes", "--robots", "robots.txt")
    answer = comity("check", *words, cwd=tmp_path)
    assert answer.returncode == 64
    assert [line.split()[:2] for line in answer.stdout.splitlines()] == [
        ["disallowed", "https://example.com/no"],
        ["allowed", "https://example.com/yes"],
    ]
    assert "'example.com'" in complaint(answer)
    rows = [json.loads(line) for line in comity("check", *words, "--json", cwd=tmp_path).stdout.splitlines()]
    assert [row["answer"] for row in rows] == ["disallowed", "error", "allowed"]
    assert "decides   line 2" in comity("explain", *words, cwd=tmp_path).stdout


@pytest.mark.parametrize(("setting", "value"), [("USE", "full"), ("MAX_CRAWL_DELAY", "1")])
def test_a_line_that_allows_what_our_own_policy_refuses_does_not_decide(
    setting: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"COMITY_{setting}", value)
    text = "User-agent: *\nAllow: /\nDisallow: /no\nContent-Signal: use=reference\nCrawl-delay: 9\n"
    (tmp_path / "robots.txt").write_text(text)
    answer = comity("explain", "/a", "/no", "--robots", "robots.txt", cwd=tmp_path)
    assert answer.returncode == 2
    assert "matches   line 2: Allow: /" in answer.stdout
    assert "decides   line 3: Disallow: /no" in answer.stdout
    assert "decides   line 2" not in answer.stdout


def test_a_host_that_does_not_answer_is_not_said_to_disallow() -> None:
    answer = comity("check", "http://127.0.0.1:9/", *ALLOW)
    assert answer.returncode == 3
    assert answer.stdout.startswith("unreachable  http://127.0.0.1:9/  ")
    assert "unreachable for" in comity("explain", "http://127.0.0.1:9/", *ALLOW).stdout


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EPIPE, errno.EMFILE])
def test_an_error_of_the_system_is_blamed_on_standard_output_only_where_that_fails(number: int) -> None:
    with mock.patch("comity.cli.commands.settings.loaded", side_effect=OSError(number, os.strerror(number))):
        answer = comity("settings")
    assert answer.returncode == 1
    assert complaint(answer) == f"comity: the system refused something: {os.strerror(number)}"


def test_a_demo_that_cannot_be_served_says_so(tmp_path: Path) -> None:
    refused = OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
    with mock.patch("comity.demo.server.DemoSite.open", side_effect=refused):
        answer = comity("crawl", "--demo", cwd=tmp_path)
    assert answer.returncode == 1
    assert "its web site cannot be served on this machine" in complaint(answer)


def test_explain_names_no_line_where_robots_txt_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /\n")
    words = ("explain", "https://example.com/x", "--robots", "robots.txt", "--preset", "ladon")
    answer = comity(*words, cwd=tmp_path)
    assert answer.returncode == 0
    assert "the policy's mode is ignore" in answer.stdout
    assert "decides" not in answer.stdout
    assert json.loads(comity(*words, "--json", cwd=tmp_path).stdout)[0]["overridden"] == []


def test_inspect_shows_pace_and_hours(site: Site) -> None:
    lines = ("Crawl-delay: 3600", "Request-rate: 1/15m 0600-0845", "Visit-time: 0000-2359", "Disallow: /x")
    site.set("/robots.txt", "\n".join(("User-agent: *", *lines)))
    answer = comity("inspect", site.url("/"), "--json", *ALLOW)
    (found,) = json.loads(answer.stdout)
    assert (found["robots"]["request_rate"], found["robots"]["visit_time"]) == (["1/15m 0600-0845"], ["0000-2359"])


def test_a_url_where_a_file_belongs_says_so(tmp_path: Path) -> None:
    answer = comity("check", "https://example.com/", "--robots", "https://example.com/robots.txt", cwd=tmp_path)
    assert answer.returncode == 66
    assert "https://example.com/robots.txt is a URL" in complaint(answer)
    assert "curl" in complaint(answer)


def test_what_would_be_no_better_later_is_not_to_be_tried_later(tmp_path: Path, site: Site) -> None:
    site.set("/large", "<p>" + "x" * 60_000)
    (tmp_path / "comity.toml").write_text('max_body = 1000\nallow_addresses = ["127.0.0.0/8"]\n')
    assert comity("fetch", site.url("/large"), "--config", "comity.toml", cwd=tmp_path).returncode == 1
    (tmp_path / "comity.toml").write_text('ca_file = "/nowhere.pem"\nallow_addresses = ["127.0.0.0/8"]\n')
    answer = comity("fetch", site.url("/"), "--config", "comity.toml", cwd=tmp_path)
    assert answer.returncode == 64
    assert "/nowhere.pem" in complaint(answer)


def test_a_refused_refresh_does_not_say_that_it_goes_on(tmp_path: Path, site: Site) -> None:
    site.link("/")
    assert crawled(tmp_path, site.url("/"), "--agent", "Mine/1.0").returncode == 0
    refused = crawled(tmp_path, "--refresh", "--format", "warc")
    assert refused.returncode == 73
    assert "holds a crawl written as jsonl" in complaint(refused)
    assert "resuming with the earlier settings: Mine/1.0" in crawled(tmp_path, "--refresh").stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("crawl_delay = 3", "it is called min_interval"),
        ('allow_address = ["127.0.0.0/8"]', "it is called allow_addresses"),
        ('user_agent = "x"', "it is called agent"),
        ("max-pages = 3", "it is called max_pages"),
        ("max_redirets = 3", "did you mean max_redirects?"),
        ('sink = "a:B"', "named on the command line: --sink MODULE:NAME"),
    ],
)
def test_a_setting_by_another_name_says_what_it_is_called(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "comity.toml").write_text(line + "\n")
    answer = comity("settings", cwd=tmp_path)
    assert answer.returncode == 64
    assert said in complaint(answer)


@pytest.mark.both_forms
def test_explain_names_the_rule_and_what_it_beat(tmp_path: Path) -> None:
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /shop/\nAllow: /shop/public\n")
    answer = comity("explain", "https://example.com/shop/public/1", "--robots", str(robots))
    assert answer.returncode == 0
    assert "decides   line 3: Allow: /shop/public" in answer.stdout
    assert "overrides line 2: Disallow: /shop/" in answer.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("crawl", "example.com"), 64, "https://example.com"),
        (("crawl", "ftp://example.com/"), 64, "ftp"),
        (("crawl",), 64, "no URL"),
        (("crawl", "http://127.0.0.1:9/", "--max-pages", "0"), 64, "max_pages"),
        (("crawl", "http://127.0.0.1:9/", "--delay", "-3"), 64, "min_interval"),
        (("crawl", "http://127.0.0.1:9/", "--allow-address", "here"), 64, "here"),
        (("crawl", "--resume"), 64, "-o DIR"),
        (("crawl", "http://127.0.0.1:9/", "--speed", "9"), 64, "--speed"),
        (("check", "http://"), 64, "http://"),
        (("check", "https://example.com/", "--dialect", "altavista"), 64, "altavista"),
        (("check", "https://example.com/", "--robots", "/nowhere/robots.txt"), 66, "/nowhere/robots.txt"),
        (("check", "http://127.0.0.1:9/", *ALLOW), 3, ""),
        (("nonsense",), 64, "nonsense"),
    ],
)
def test_a_mistake_gives_one_clear_line_and_its_exit_code(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    answer = comity(*words, cwd=tmp_path)
    assert answer.returncode == code, answer.stderr
    if code != 3:
        assert said in complaint(answer)
    assert "Traceback" not in answer.stderr + answer.stdout
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_host_that_does_not_answer_says_so(tmp_path: Path) -> None:
    answer = comity("crawl", "http://127.0.0.1:9/", "-o", str(tmp_path / "out"), *ALLOW)
    assert answer.returncode == 3
    assert "127.0.0.1:9" in complaint(answer)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, site: Site) -> None:
    (tmp_path / "file").write_text("")
    answer = comity("crawl", site.url("/"), "-o", str(tmp_path / "file" / "out"), *ALLOW)
    assert answer.returncode == 73
    assert "out" in complaint(answer)
    if Path("/proc/version").exists():
        answer = comity("crawl", site.url("/"), "-o", "/proc/out", *ALLOW)
        assert answer.returncode == 73
        assert "/proc/out" in complaint(answer)


@pytest.mark.skipif(os.name == "nt", reason="POSIX limits")
def test_a_full_disk_says_so_and_loses_nothing(tmp_path: Path, site: Site) -> None:
    site.link("/", *(f"/{number}" for number in range(30)))
    for number in range(30):
        site.set(f"/{number}", f"<title>{number}</title>" + "x" * 40_000)
    words = ["crawl", "-o", str(tmp_path / "out"), "--delay", "0.01", *ALLOW]
    with no_room_beyond(600 * 1024):
        full = comity(*words, site.url("/"))
    assert full.returncode == 74, full.stderr
    assert "no room" in complaint(full)
    resumed = comity(*words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    pages = [json.loads(line)["url"] for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert sorted(pages) == sorted({site.url("/")} | {site.url(f"/{number}") for number in range(30)})


def test_the_summary_says_what_was_done_and_where_it_lies(tmp_path: Path, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/no", "/gone")
    site.link("/a")
    words = ("crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.01", *ALLOW)
    answer = comity(*words)
    assert answer.returncode == 2, "a page failed"
    for words_expected in ("pages", "refused", "failed", "time spent on delays", "pages.jsonl"):
        assert words_expected in answer.stdout
    again = comity(*words)
    assert again.returncode == 73
    assert "--resume" in complaint(again)
    as_json = comity(*words, "--resume", "--json")
    assert json.loads(as_json.stdout) | {"pages": 2, "refused": 1, "failed": 1} == json.loads(as_json.stdout)


def test_the_summary_asks_for_a_name_where_the_agent_is_the_anonymous_default(tmp_path: Path, site: Site) -> None:
    site.link("/")
    default = comity("crawl", site.url("/"), "-o", str(tmp_path / "a"), *ALLOW)
    assert re.search(r"User-Agent +comity/\S+ \(default; set yours with --agent\)", default.stdout)
    named = comity("crawl", site.url("/"), "-o", str(tmp_path / "b"), "--agent", "ShopBot/1.0", *ALLOW)
    assert "default; set yours" not in named.stdout


def test_ctrl_c_stops_gently_and_says_how_to_go_on(tmp_path: Path, site: Site) -> None:
    site.link("/", *(f"/{number}" for number in range(50)))
    for number in range(50):
        site.link(f"/{number}")
    words = ["crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.05", *ALLOW]
    process = subprocess.Popen(
        [sys.executable, "-m", "comity", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + HANGS
    while len(site.seen) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    summary, said = process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert "so the exit code is 130" in summary
    assert "--resume" in said
    assert "Traceback" not in said
    assert comity(*words, "--resume").returncode == 0
    pages = [json.loads(line)["url"] for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert len(pages) == len(set(pages)) == 51


def test_a_crawl_goes_on_with_the_policy_it_was_begun_with(site: Site, tmp_path: Path) -> None:
    site.link("/", "/1", "/2", "/3")
    for number in (1, 2, 3):
        site.link(f"/{number}")
    words = ["--allow-address", "127.0.0.0/8", "-o", str(tmp_path / "out")]
    begun = comity("crawl", site.url("/"), "--agent", "OtherBot/2.0", "--delay", "0.2", "--max-pages", "1", *words)
    assert begun.returncode == 0, begun.stderr
    resumed = comity("crawl", "--resume", "--max-pages", "none", "--delay", "0.2", *words)
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming with the earlier settings: OtherBot/2.0, 0.2 s between requests" in resumed.stderr
    assert {seen.headers["User-Agent"] for seen in site.seen} == {"OtherBot/2.0"}
    assert min(site.intervals()) >= 0.2
    told = comity("crawl", "--refresh", "--delay", "0.2", "--agent", "NewBot/1.0", *words)
    assert told.returncode == 0, told.stderr
    assert site.seen[-1].headers["User-Agent"] == "NewBot/1.0"


def crawled(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A crawl of a site on loopback into a folder."""
    return comity("crawl", "-o", str(folder / "out"), "--delay", "0.01", *ALLOW, *words)


def test_a_page_that_is_not_there_has_failed_and_need_not_be_tried_later(tmp_path: Path, site: Site) -> None:
    answer = crawled(tmp_path, site.url("/gone"))
    assert answer.returncode == 2
    assert "no page was kept: HTTP status 404" in complaint(answer)


def test_a_page_whose_expander_raises_has_failed(tmp_path: Path, site: Site) -> None:
    site.link("/")
    (tmp_path / "broken.py").write_text(
        "class Broken:\n    def expand(self, page):\n        raise ValueError('a bug')\n"
    )
    words = ("crawl", site.url("/"), "-o", "out", "--expander", "broken:Broken", *ALLOW)
    answer = comity(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "no page was kept" in complaint(answer)


def test_a_refresh_that_finds_pages_unchanged_has_reached_something(tmp_path: Path, site: Site) -> None:
    site.set("/", "the same", headers={"ETag": '"1"'})
    with Site() as other:
        other.link("/")
        assert crawled(tmp_path, site.url("/"), other.url("/")).returncode == 0
    answer = crawled(tmp_path, "--refresh")
    assert answer.returncode == 0, answer.stderr
    assert "waiting for robots.txt, which is unreachable: 1; try again later" in complaint(answer)


def test_a_site_that_forbids_its_only_url_says_which_rule_did(tmp_path: Path, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    answer = crawled(tmp_path, site.url("/no"))
    assert answer.returncode == 0
    assert "Disallow: /no" in complaint(answer)


def test_a_site_that_only_fails_is_to_be_tried_later(tmp_path: Path, site: Site) -> None:
    site.set("/robots.txt", status=503)
    answer = crawled(tmp_path, site.url("/"))
    assert answer.returncode == 3
    assert "503" in complaint(answer)


def test_a_report_that_cannot_be_written_is_told_before_the_crawl(tmp_path: Path, site: Site) -> None:
    site.link("/")
    answer = crawled(tmp_path, site.url("/"), "--report", str(tmp_path / "nowhere" / "r.html"))
    assert answer.returncode == 73
    assert "r.html" in complaint(answer)
    assert site.seen == []
    for report in (tmp_path / "r.html", tmp_path / "out" / "r.html"):
        answer = crawled(tmp_path, site.url("/"), "--report", str(report), *(["--resume"] if site.seen else []))
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.splitlines()[-1].split() == ["report", "in", str(report)]
        assert report.exists()


def test_the_summary_counts_what_was_left_out(tmp_path: Path, site: Site) -> None:
    site.link("/", "/a", "/b", "/c", "http://elsewhere.example/", "/skip/1", "/skip/2")
    for path in ("/a", "/b", "/c"):
        site.link(path)
    limited = crawled(tmp_path, site.url("/"), "--max-pages-per-host", "2", "--exclude", "/skip/", "--json")
    summary = json.loads(limited.stdout)
    assert (summary["pages"], summary["left"], summary["outside"]) == (2, 3, 3), "a sitemap waits too"
    again = crawled(tmp_path, "--resume", "--max-pages-per-host", "3", "--exclude", "/skip/")
    assert [line.split()[:3] for line in again.stdout.splitlines() if line.startswith("queued")] == [
        ["queued", "2", "continue:"]
    ], "a page, and the sitemap, which is not requested while enough pages wait"
    assert "out of scope" in again.stdout
    whole = crawled(tmp_path, "--resume", "--max-pages-per-host", "none")
    assert "queued" not in whole.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("crawl", "--demo", "http://127.0.0.1:9/"), "with a URL"),
        (("crawl", "--demo", "--resume", "-o", "out"), "--resume"),
        (("crawl", "--speed"), "(try: comity crawl --help)"),
        (("crawl", "--resume", "--refresh"), "(try: comity crawl --help)"),
        (("--speed",), "(try: comity --help)"),
        (("nonsense",), "(try: comity --help)"),
    ],
)
def test_a_wrong_use_names_the_right_help(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    answer = comity(*words, cwd=tmp_path)
    assert answer.returncode == 64
    assert said in complaint(answer)


def test_a_process_of_its_own_answers_a_mistake_alike(tmp_path: Path) -> None:
    for words in (("crawl", "--speed"), ("check", "http://")):
        here, there = comity(*words, cwd=tmp_path), process(*words, cwd=tmp_path)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


def test_a_folder_that_holds_a_crawl_is_told_from_a_missing_url(tmp_path: Path, site: Site) -> None:
    site.link("/", "/a")
    limited = crawled(tmp_path, site.url("/"), "--max-pages", "1")
    assert "the limit of 1 page is reached" in limited.stdout
    answer = crawled(tmp_path)
    assert answer.returncode == 73
    for word in ("contains a crawl", "--resume", "--refresh"):
        assert word in complaint(answer)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--delay", "-1"), "--delay (min_interval): -1 is"),
        (("--max-pages", "0"), "--max-pages (max_pages): 0"),
        (("--allow-address", "here"), "--allow-address (allow_addresses): 'here'"),
        (("--agent", ""), "--agent: "),
    ],
)
def test_a_wrong_value_names_the_option_that_was_typed(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    answer = comity("crawl", "http://127.0.0.1:9/", *words, cwd=tmp_path)
    assert answer.returncode == 64
    assert said in complaint(answer)


def test_https_where_the_server_speaks_http_says_so(tmp_path: Path, site: Site) -> None:
    answer = crawled(tmp_path, site.url("/").replace("http:", "https:"))
    assert answer.returncode == 3
    assert "does not speak TLS" in complaint(answer) or "before TLS was agreed on" in complaint(answer)


def test_urls_may_come_from_a_file_and_wrong_lines_are_named(tmp_path: Path, site: Site) -> None:
    site.link("/a")
    site.link("/b")
    listed = tmp_path / "urls.txt"
    listed.write_text(f"# mine\n\n{site.url('/a')}\r\n  {site.url('/b')}\n", encoding="utf-8-sig")
    answer = crawled(tmp_path, "--urls", str(listed), "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["pages"] == 2
    listed.write_text("# mine\nexample.com\nhttps://example.com/\nftp://example.com/\n")
    answer = comity("crawl", "--urls", str(listed), cwd=tmp_path)
    assert answer.returncode == 64
    for said in ("urls.txt: line 2: ", "; line 4: "):
        assert said in complaint(answer)
    answer = comity("crawl", "--urls", "nowhere.txt", cwd=tmp_path)
    assert answer.returncode == 66
    assert "nowhere.txt cannot be read" in complaint(answer)


def test_urls_may_come_from_standard_input(tmp_path: Path, site: Site) -> None:
    site.link("/a")
    words = ("crawl", "--urls", "-", "-o", str(tmp_path / "out"), "--json", *ALLOW)
    answer = process(*words, said=site.url("/a"))
    assert json.loads(answer.stdout)["pages"] == 1


def test_a_crawl_that_must_wait_for_too_long_ends_and_says_how_to_go_on(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 99999999999999999999999\n")
    answer = comity("crawl", site.url(), "-o", str(tmp_path / "out"), *ALLOW)
    assert answer.returncode == 3
    assert "127.0.0.1 must rest for another over a thousand years" in complaint(answer)
    assert complaint(answer).endswith("--resume --allow-address 127.0.0.0/8")
    assert site.paths() == ["/robots.txt"]


@pytest.mark.parametrize("workers", first_of("1", "2"))
def test_a_crawl_killed_in_its_first_moment_is_begun_anew(site: Site, tmp_path: Path, workers: str) -> None:
    site.link("/", "/a")
    site.set("/a", "a")
    folder = tmp_path / "out"
    words = ("crawl", "-o", str(folder), "--workers", workers, "--delay", "0", "-q", "--json", *ALLOW)
    if workers == "1":
        folder.mkdir()
        (folder / "frontier.sqlite").touch()
        again = comity(*words, site.url("/"))
    else:
        comity(*words, site.url("/"))
        for part in folder.glob("shard-*"):
            shutil.rmtree(part)
            part.mkdir()
            (part / "frontier.sqlite").touch()
        crawl = json.loads((folder / "crawl.json").read_text("utf-8"))  # it was not told of records, nor of an end
        (folder / "crawl.json").write_text(json.dumps(crawl | {"ended": None, "records": []}), "utf-8")
        again = comity(*words, "--resume")
    assert again.returncode == 0, again
    assert json.loads(again.stdout)["pages"] == 2


@pytest.mark.skipif(os.name == "nt", reason="there is no shell that closes a stream")
@pytest.mark.parametrize("words", ["settings >&- <&-", "check http://127.0.0.1/ --robots /dev/null >&- 2>&-"])
def test_a_standard_stream_that_is_closed_is_one_that_nobody_reads(words: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m comity {words}"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=HANGS, check=False)
    assert answer.returncode == 0, answer
    assert "Traceback" not in answer.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no shell that closes a stream")
@pytest.mark.parametrize("words", first_of("check /private --robots -", "mcp", now=1))
def test_a_standard_input_that_is_closed_is_no_empty_one(words: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m comity {words} <&-"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=HANGS, check=False)
    assert (answer.returncode, answer.stdout) == (66, "")
    assert re.fullmatch(r"comity: standard input.* cannot be read: .*\n", answer.stderr)


def test_a_letter_that_the_locale_lacks_is_written_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /日\n", "utf-8")
    answer = process(
        *("explain", "http://a.example/%E6%97%A5", "--robots", str(tmp_path / "robots.txt")),
        variables={"PYTHONIOENCODING": "latin-1"},
    )
    assert answer.returncode == 2, answer
    assert "'Disallow: /\\u65e5'" in answer.stdout


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    for words in (("diff", "-", "-"), ("lint", "-", "-"), ("test", "-", "--robots", "-")):
        answer = comity(*words)
        assert answer.returncode == 64
        assert complaint(answer) == "comity: standard input ('-') can be read only once (name the other file)"


def test_the_demo_site_says_why_it_cannot_be_served() -> None:
    for word in ("abc", "99999"):
        command = [sys.executable, "-m", "comity.demo", word]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
        assert answer.returncode != 0
        assert word in answer.stderr
        assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    "words",
    [("crawl", "--demo", "-o", ""), ("prove", ""), ("why", "", "http://a.example/"), ("serve", ""), ("inspect", "")],
)
def test_an_empty_word_is_not_the_folder_the_command_runs_in(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = comity(*words, cwd=tmp_path)
    assert answer.returncode == 64
    assert "an empty text" in answer.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("prove", "postgresql://me:s3cret@h.example/x?crawl=a"),
        ("worker", "postgresql://me:s3cret@h.example/x?crawl=a"),
        ("changes", "out", "http://me:s3cret@h.example/"),
        ("test", "http://me:s3cret@h.example/robots.txt"),
        ("fetch", "ftp://me:s3cret@h.example/"),
    ],
)
def test_no_complaint_shows_a_password_of_a_url(words: tuple[str, ...], tmp_path: Path) -> None:
    said = complaint(comity(*words, cwd=tmp_path))
    assert "s3cret" not in said
    assert "***@h.example" in said


def test_check_and_explain_say_that_a_robots_txt_was_cut(site: Site, tmp_path: Path) -> None:  # RFC 9309, 2.5
    long = "User-agent: *\n" + "Disallow: /x\n" * 50_000
    site.set("/robots.txt", long + "Disallow: /late\n")
    said = f"of {len(long) + 16:,} bytes, only the first 512,000 were read (RFC 9309, 2.5)"
    answer = comity("check", site.url("/late"), site.url("/later"), *ALLOW)
    assert complaint(answer) == f"comity: {site.url('/robots.txt')}: {said}"
    assert comity("check", site.url("/late"), "--json", *ALLOW).stderr.count(said) == 1
    assert f"  read      {said}\n" in comity("explain", site.url("/late"), *ALLOW).stdout
    assert json.loads(comity("explain", site.url("/late"), "--json", *ALLOW).stdout)[0]["cut"] == said
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /late\n")
    whole = comity("explain", "/late", "--robots", "robots.txt", "--json", cwd=tmp_path)
    assert json.loads(whole.stdout)[0]["cut"] is None


def test_explain_shows_a_byte_that_is_not_utf_8_in_one_form(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /raw%EF%BF%BD\n")
    answer = comity("explain", "/raw\udcff", "--robots", "robots.txt", cwd=tmp_path)
    assert "disallows /raw%EF%BF%BD\n" in answer.stdout
    assert "  compared  /raw%EF%BF%BD\n" in answer.stdout
