"""What refreshes found changed: the content, or only what stands around it."""

import json
from pathlib import Path

from commands import ALLOW, comity
from sites import Site


def page(words: str, menu: str) -> str:
    story = "The keeper of the lamps goes round each evening and fills them with oil. " * 3
    return f"<title>Lamps</title><nav>{menu}</nav><main><h1>Lamps</h1><p>{story}</p><p>{words}</p></main>"


def test_a_refresh_that_changed_content_is_told_from_one_that_changed_the_shell(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b", "/c", "/d")
    site.set("/d", b"\x78\x9c\x01\x00" * 9, content_type="application/octet-stream")
    for path in ("/a", "/b", "/c"):
        site.set(path, page("Oil burns slowly, and it burns long.", "Home"))
    words = ("-o", "out", "--delay", "0", *ALLOW)
    assert comity("crawl", site.url("/"), *words, cwd=tmp_path).returncode == 0
    first = comity("changes", "out", cwd=tmp_path)
    assert (first.returncode, first.stdout) == (66, "")
    assert "out has no refresh, so nothing is compared" in first.stderr
    site.set("/a", page("Oil burns slowly, all through the night.", "Home"))
    site.set("/b", page("Oil burns slowly, and it burns long.", "Home and garden"))
    site.set("/d", b"\x78\x9c\x02\x00" * 9, content_type="application/octet-stream")
    assert comity("crawl", "--refresh", *words, cwd=tmp_path).returncode == 0
    told = comity("changes", "out", cwd=tmp_path).stdout
    assert f"{site.url('/a')}  content changed (refresh 1)" in told
    assert "-Oil burns slowly, and it burns long.\n+Oil burns slowly, all through the night." in told
    assert f"{site.url('/b')}  only the shell changed (refresh 1)" in told
    assert f"{site.url('/d')}  content changed (refresh 1)" in told
    assert site.url("/c") not in told
    found = {
        each["url"]: each
        for each in map(json.loads, comity("changes", "out", "--json", cwd=tmp_path).stdout.splitlines())
    }
    changed, shell = found[site.url("/a")], found[site.url("/b")]
    assert changed["content_sha256"] != changed["previous_content_sha256"]
    assert shell["content_sha256"] == shell["previous_content_sha256"]


def test_a_page_that_is_back_is_new_and_not_changed(site: Site, tmp_path: Path) -> None:
    words = ("-o", "out", "--delay", "0", *ALLOW)
    site.link("/", "/a")
    site.set("/a", page("Oil burns slowly, and it burns long.", "Home"))
    assert comity("crawl", site.url("/"), *words, cwd=tmp_path).returncode == 0
    for state in ("Oil burns slowly, all through the night.", None, "Gas burns fast, and it hisses."):
        status = 200 if state is not None else 410
        site.set("/a", page(state or "", "Home"), status=status)
        comity("crawl", "--refresh", *words, cwd=tmp_path)
    told = comity("changes", "out", cwd=tmp_path).stdout
    assert f"{site.url('/a')}  content changed (refresh 1)" in told
    assert "refresh 3" not in told
