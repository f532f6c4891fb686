"""The examples of docs/agents.md do what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import comity
from sites import HANGS, Site

ROOT = Path(__file__).parents[3]
PAGE = (
    '<!doctype html><title>The lamp</title><link rel="license" type="application/rsl+xml" href="/licence.xml">'
    "<main><h1>The lamp</h1><p>It burns at night, and every night it burns for those at sea.</p>"
    "<h2>The keeper</h2><p>He lives alone, but for a cat, and he has never missed a night in all his years.</p></main>"
)


def example(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {"COMITY_ALLOW_ADDRESSES": "127.0.0.1/32", "COMITY_MIN_INTERVAL": "0"}
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        env={**os.environ, **settings},
    )


@pytest.mark.long
def test_the_sdk_s_client_reads_a_page_and_is_told_of_a_refusal(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /vault\n")
    site.set("/lamp", PAGE)
    answer = example("agent_client.py", site.url("/lamp"))
    assert answer.stdout.startswith("may fetch: True (line None)\n# The lamp\n\nIt burns"), answer.stderr
    assert "robots_disallowed" in example("agent_client.py", site.url("/vault")).stdout


def test_chunks_keep_licence_and_source_and_leave_out_what_is_not_for_models(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nContent-Usage: /private/ train-ai=n\nContent-Signal: /no/ ai-input=no\n")
    site.set("/lamp", PAGE)
    site.set("/no/lamp", PAGE)
    answer = example("retrieval_chunks.py", site.url("/lamp"), site.url("/gone"), site.url("/no/lamp"))
    first, second = (json.loads(line) for line in answer.stdout.splitlines())
    assert (first["path"][-1], second["path"][-1]) == ("The lamp", "The keeper")
    assert first["url"].startswith(site.url("/lamp#:~:text="))
    assert first["licences"] == [site.url("/licence.xml")]
    assert "404" in answer.stderr
    assert f"left out: {site.url('/no/lamp')}" in answer.stderr


def test_comity_fetch_in_a_shell(site: Site) -> None:
    text = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n\$ comity fetch (.*?)```", text, re.DOTALL)
    assert block.startswith("https://example.com/lamp --json | jq")
    site.set("/lamp", PAGE)
    values = json.loads(
        comity("fetch", site.url("/lamp"), "--json", "--allow-address", "127.0.0.1/32", "--preset", "rfc9309").stdout
    )
    for name in re.findall(r"\.(\w+)", block.partition("jq")[2].partition("\n")[0]):
        assert values[name], name
