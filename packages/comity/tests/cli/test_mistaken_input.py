"""An input that is not what it was taken for, or an option without effect, is said; nothing is answered in silence."""

import gzip
import json
import re
import shutil
import socket
from pathlib import Path

import pytest
from commands import ALLOW, comity, complaint, stderr
from sites import Site

from comity.bulk import sources, verdicts
from comity.bulk.engines import arrow
from comity.errors import InvalidSetting

ROBOTS = "User-agent: GPTBot\nDisallow: /x\n"


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--port", "{}"),
        ("mcp", "--http", "127.0.0.1:{}"),
        ("crawl", "http://127.0.0.1:9/", "-o", "out", "--metrics", "{}"),
        ("crawl", "http://127.0.0.1:9/", "-o", "out", "--dashboard", "{}"),
    ],
)
def test_a_port_in_use_has_the_same_exit_code_everywhere(words: tuple[str, ...], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = comity(*(word.format(port) for word in words), cwd=tmp_path)
    assert answer.returncode == 64
    assert f"{port} cannot be listened on" in complaint(answer)
    assert "choose another port" in complaint(answer)
    assert list(tmp_path.iterdir()) == []


def test_an_audit_applies_one_robots_txt_to_every_host_and_says_so(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "u.txt").write_text("https://a.example/x\nhttp://b.example:81/x\nhttps://b.example/y\nno URL\n")
    (tmp_path / "robots.txt").write_text(ROBOTS)
    words = ("audit", "u.txt", "--robots", "robots.txt", "--agents", "GPTBot", "-o", "o.parquet")
    done = comity(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "o.parquet")["may_fetch"].to_pylist() == [False, False, True, None]
    assert "robots.txt stands for every host" in done.stderr
    assert "hosts without a robots.txt" not in done.stdout
    old = sources.robots(str(tmp_path / "robots.txt"), origins=lambda: ["https://a.example"])
    (tmp_path / "robots.txt").write_text(ROBOTS.replace("/x", "/y"))
    new = sources.robots(str(tmp_path / "robots.txt"), origins=lambda: ["https://a.example"])
    assert sources.digest(old) != sources.digest(new), "parts judged by the one are none of the other"


@pytest.mark.parametrize("name", ["robots.txt", "a.example.txt"])
def test_a_program_has_to_say_whose_one_robots_txt_is(name: str, tmp_path: Path) -> None:
    """It stands for the host that its folder, or it, happens to be named after as little as for every host."""
    pa = pytest.importorskip("pyarrow")
    (tmp_path / name).write_text(ROBOTS)
    with pytest.raises(InvalidSetting, match=rf"{name} is one robots.txt, and does not say of which host.*'origin'"):
        verdicts(["https://a.example/x"], tmp_path / name, "GPTBot")
    with pytest.raises(InvalidSetting, match="does not say of which host"):
        arrow("url", str(tmp_path / name), "GPTBot")(pa.table({"url": ["https://a.example/x"]}))


@pytest.mark.parametrize(
    "agents",
    [
        ("--agents", "GPTBot, Other (a, b; c),Third"),
        ("--agent", "GPTBot", "-A", "Other (a, b; c)", "--agents", "Third"),
    ],
)
def test_agents_are_named_alike_wherever_several_may_be(agents: tuple[str, ...], tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "u.txt").write_text("https://a.example/x\n")
    (tmp_path / "robots.txt").write_text(ROBOTS)
    names = ["GPTBot", "Other (a, b; c)", "Third"]
    assert comity("audit", "u.txt", "--robots", "robots.txt", *agents, "-o", "o.parquet", cwd=tmp_path).returncode == 0
    assert pq.read_table(tmp_path / "o.parquet")["agent"].to_pylist() == names
    rows = comity("check", "/x", "--robots", "robots.txt", "--json", *agents, cwd=tmp_path).stdout.splitlines()
    assert [json.loads(row)["agent"] for row in rows] == names
    for command in (("check", "/x"), ("audit", "u.txt", "-o", "p.parquet")):
        empty = comity(*command, "--robots", "robots.txt", "--agents", "", cwd=tmp_path)
        assert empty.returncode == 64, command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "x.parquet"), "--output is about answers for URLs"),
        (("--column", "link"), "--column is about"),
        (("--engine", "ray"), "--engine is about"),
        (("--changes", "-o", "x.csv"), "--output is about"),
        (("u.txt", "--changes"), "--changes compares the captures in --robots: leave out URLS"),
        (("--changes", "--report", "r.html"), "--report has no effect with --changes"),
    ],
)
def test_an_option_of_an_audit_that_would_have_no_effect_is_an_error(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.example.txt").write_text(ROBOTS)
    done = comity("audit", "--robots", "a.example.txt", *words, cwd=tmp_path)
    assert done.returncode == 64
    assert said in complaint(done)


SITEMAP = (
    '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    "<url><loc>https://a.example/x</loc></url><url><loc> https://a.example/y?a&amp;b </loc></url></urlset>"
)


@pytest.mark.parametrize("packed", [False, True])
def test_a_sitemap_among_the_files_of_urls_is_read_as_one(packed: bool, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pages = ["https://a.example/x", "https://a.example/y?a&b"]
    (tmp_path / "s.xml").write_bytes(gzip.compress(SITEMAP.encode()) if packed else SITEMAP.encode())
    (tmp_path / "robots.txt").write_text(ROBOTS)
    rows = comity("check", "--urls", "s.xml", "--robots", "robots.txt", "--json", "-A", "GPTBot", cwd=tmp_path)
    assert [json.loads(row)["url"] for row in rows.stdout.splitlines()] == pages
    assert rows.returncode == 2
    words = ("audit", "s.xml", "--robots", "robots.txt", "--agents", "GPTBot", "-o", "o.parquet")
    assert comity(*words, cwd=tmp_path).returncode == 0
    table = pq.read_table(tmp_path / "o.parquet")
    assert table["url"].to_pylist() == pages
    assert table["may_fetch"].to_pylist() == [False, True]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b"<sitemapindex><sitemap><loc>https://a.example/s1.xml</loc></sitemap></sitemapindex>",
            "lists sitemaps, and no page (name one of them, such as https://a.example/s1.xml)",
        ),
        (b"<!doctype html><title>a</title>", "an HTML page, not a sitemap"),
        (b"PK\x03\x04\0\0", "is no list of URLs"),
        (gzip.compress(b"url,n\nhttps://a.example/x,1\n")[:-9], "cannot be read as a sitemap"),
    ],
)
def test_a_file_that_is_no_list_of_urls_is_told_from_one(body: bytes, said: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "list").write_bytes(body)
    (tmp_path / "robots.txt").write_text(ROBOTS)
    for words in (("check", "--urls", "list"), ("audit", "list", "--agents", "GPTBot", "-o", "o.csv")):
        done = comity(*words, "--robots", "robots.txt", cwd=tmp_path)
        assert done.returncode == 66, done.stderr
        assert said in stderr(done)


def test_an_entry_of_a_sitemap_without_a_url_is_said(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(SITEMAP.replace("https://a.example/x", ""))
    (tmp_path / "robots.txt").write_text(ROBOTS)
    done = comity("check", "--urls", "s.xml", "--robots", "robots.txt", cwd=tmp_path)
    assert done.returncode == 64
    assert done.stdout.startswith("allowed      https://a.example/y?a&b")
    assert "comity: " in done.stderr


def test_a_diff_for_an_agent_tells_what_changes_for_it_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("User-agent: A\nDisallow: /a\n\nUser-agent: *\nDisallow: /x\n")
    (tmp_path / "new").write_text("User-agent: A\nDisallow: /a\n\nUser-agent: *\nDisallow: /y\nCrawl-delay: 2\n")
    assert comity("diff", "old", "new", "--agent", "A/2.0 (+https://a.example)", cwd=tmp_path).returncode == 0
    other = comity("diff", "old", "new", "--agent", "Other", cwd=tmp_path)
    assert other.returncode == 2
    assert {re.findall(r"^(?:(?:dis)?allowed +)?(\S+?):? ", line)[0] for line in other.stdout.splitlines()} == {"Other"}
    assert "Other may no longer fetch /y" in other.stdout
    assert "Other: Crawl-delay none -> 2 s" in other.stdout
    assert "* may now fetch /x" in comity("diff", "old", "new", cwd=tmp_path).stdout


def test_inspect_reads_a_robots_txt_that_lies_there(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(
        "User-agent: A\nUser-agent: B\nDisallow: /x\nContent-Usage: train-ai=n\nSitemap: https://a.example/s.xml\n"
        "License: https://a.example/l.xml\n"
    )
    unsaid = ": not stated here, but a licence may say it: robots.txt line 6 names https://a.example/l.xml"
    done = comity("inspect", "robots.txt", "--agent", "A/1.0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "robots.txt",
        "  robots.txt  read",
        "  groups      1; ours: A, B",
        "  rules       1",
        "  agents      A, B",
        "  sitemap     https://a.example/s.xml",
        "  licence     https://a.example/l.xml",
        *(f"  usage       {each}{unsaid}" for each in ("search", "ai-input")),
        "  usage       train-ai is disallowed: robots.txt line 4 says 'train-ai=n'",
        f"  usage       use{unsaid}",
    ]
    (found,) = json.loads(comity("inspect", "robots.txt", "--json", cwd=tmp_path).stdout)
    assert (found["origin"], found["robots"]["our_group"]) == ("robots.txt", None)
    assert found["robots"]["licences"] == ["https://a.example/l.xml"]
    assert list(found["usage"]) == ["search", "ai-input", "train-ai", "use"]
    (tmp_path / "plain").write_text("User-agent: *\nDisallow: /x\n")
    assert "train-ai: robots.txt says nothing about it" in comity("inspect", "plain", cwd=tmp_path).stdout
    mixed = comity("inspect", "robots.txt", "https://a.example/", cwd=tmp_path)
    assert mixed.returncode == 64
    assert "name either URLs or files" in mixed.stderr


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        pytest.param("", (), id="one"),
        pytest.param("", ("--workers", "2"), id="workers", marks=pytest.mark.long),
        pytest.param('mode = "ignore"', (), id="ignore"),
    ],
)
def test_a_crawl_of_addresses_that_are_not_allowed_takes_no_folder(
    settings: str, more: tuple[str, ...], site: Site, tmp_path: Path
) -> None:
    site.link("/")
    (tmp_path / "comity.toml").write_text(settings)
    words = ["crawl", site.url("/"), site.url("/b"), "-o", "out", "--config", "comity.toml", *more]
    done = comity(*words, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "nothing was fetched" in done.stderr
    assert "--allow-address 127.0.0.0/8" in done.stderr
    assert "out is as it was before" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["comity.toml"]
    assert site.seen == []
    if not settings and not more:
        (tmp_path / "out").mkdir()
        assert comity(*words, "--log", "out/log", cwd=tmp_path).returncode == 3
        assert {each.name for each in (tmp_path / "out").iterdir()} > {"log"}, "a log of the user's is not removed"
        shutil.rmtree(tmp_path / "out")
    assert comity(*words, "--max-pages", "1", *ALLOW, cwd=tmp_path).returncode in (0, 2)
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lint", "robots.txt", "--format", "github", "--json"), "--json has no effect with --format github"),
        (("test", "expected", "--format", "github", "--json"), "--json has no effect with --format github"),
        (("fetch", "https://a.example/", "--max-tokens", "64"), "--max-tokens goes with --with chunks"),
        (("fetch", "https://a.example/", "--schema", "s", "--content", "all"), "--content has no effect on"),
        (("report", "out", "--broken-links", "-o", "r.html"), "--output names the report"),
    ],
)
def test_an_option_that_would_have_no_effect_is_an_error(words: tuple[str, ...], said: str) -> None:
    done = comity(*words)
    assert done.returncode == 64
    assert said in complaint(done)


@pytest.mark.parametrize("agent", ["Bing", "bingbott", "bingbot/2.0", "MyBot", "Othr-Crawler"])
def test_an_agent_that_is_nobodys_name_is_told_whose_it_may_be(agent: str, tmp_path: Path) -> None:
    """The verdict stays what the file says."""
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: bingbot\nDisallow: /a\n\nUser-agent: Other-Crawler\nDisallow: /a\n")
    meant = {"Bing": "bingbot", "bingbott": "bingbot", "Othr-Crawler": "Other-Crawler"}.get(agent)
    said = f"comity: no group or known crawler is called {agent}; did you mean {meant}?" if meant else ""
    for command in ("check", "explain"):
        done = comity(command, "--robots", str(robots), "--agent", agent, "/a", "/b")
        assert done.stderr.strip() == said
        assert done.returncode == (2 if agent == "bingbot/2.0" else 0)
    audited = comity("audit", "--robots", str(tmp_path), "--agent", agent)
    assert (said in audited.stderr and bool(said)) == (agent in ("Bing", "bingbott"))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("crawl -c no-format.toml", 64, "no-format.toml: format: 'jsn' is not one of jsonl"),
        (
            "crawl -c no-seeds.toml",
            64,
            'no-seeds.toml names no URL (write for example seeds = ["https://example.com/"])',
        ),
        ("crawl http://127.0.0.1:9/ -o s3://bucket/x", 64, "s3://bucket/x is a URL, and a file or folder is wanted"),
        ("pages . http://127.0.0.1:9/", 64, "http://127.0.0.1:9/ is a URL, and a file or folder is wanted"),
        ("fetch page.html", 64, "page.html is a file, and a URL is wanted"),
        ("fetch no&url", 64, "'no url' is not a URL (write for example https://example.com/)"),
        ("audit robots.txt --robots robots.txt -A GPTBot -o o.csv", 66, "none of the 2 rows of robots.txt is a URL"),
        ("audit u.csv --robots robots.txt -A GPTBot -o u.csv", 64, "u.csv is one of the files that are read"),
        ("audit u.csv --robots robots.txt -A GPTBot -o o.csv --all", 64, "--all is about --robots without URLS"),
        ("audit u.csv --robots robots.txt -A GPTBot -o o.csv --at 2026-05-01", 64, "does not say when any"),
        ("check --urls empty --robots robots.txt", 66, "empty holds no URL (write one on each line)"),
        (
            "crawl http://127.0.0.1:9/ -o out --render --render-auto",
            64,
            "--render and --render-auto exclude each other",
        ),
        ("crawl -c whole.toml --max-pages 1 --print-systemd", 64, "--max-pages is not in the units"),
        ("diff robots.txt robots.txt --agent GTPBot", 0, "did you mean GPTBot?"),
        ("diff robots.txt page.html", 2, "page.html is not a robots.txt: it has no known line"),
    ],
)
def test_what_was_not_meant_is_said_in_one_line(words: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS)
    (tmp_path / "page.html").write_text("<html><body>No rules")
    (tmp_path / "u.csv").write_text("url\nhttps://a.example/x\n")
    (tmp_path / "empty").touch()
    (tmp_path / "no-format.toml").write_text('seeds = ["http://127.0.0.1:9/"]\noutput = "out"\nformat = "jsn"\n')
    (tmp_path / "whole.toml").write_text('seeds = ["http://127.0.0.1:9/"]\noutput = "out"\n')
    (tmp_path / "no-seeds.toml").write_text('output = "out"\n')
    answer = comity(*(word.replace("&", " ") for word in words.split()), cwd=tmp_path)
    assert answer.returncode == code, answer.stderr
    assert said in answer.stderr
    assert "beginning" not in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("write", "--block-agent", "Bing"),
        ("write", "--from", "robots.txt", "--allow-agent", "Bing", "--block-agent", "GPTBot"),
        ("test", "expected"),
        ("inspect", "robots.txt", "--agent", "Bing"),
    ],
)
def test_whoever_names_an_agent_that_nobody_is_hears_it_once(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: bingbot\nDisallow: /a\n")
    (tmp_path / "expected").write_text("Bing yes /a\nBing yes /b\nGPTBot yes /a\nMyBot yes /a\n* yes /a\n")
    done = comity(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "is called" in line]
    assert notes == ["comity: no group or known crawler is called Bing; did you mean bingbot?"]
