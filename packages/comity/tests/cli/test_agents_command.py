"""`comity agents`: the table of well-known agents, listed and refreshed from a file."""

import json
import os
from pathlib import Path

from commands import comity

from comity_robots.agent_table import use_agents

ROW = "name,operator,purpose,source,read\nNewsBot,Example,AI search,https://example.org/bot,2026-11-28\n"


def test_agents_are_listed_by_purpose_with_their_sources() -> None:
    done = comity("agents", "--purpose", "AI training", "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found["GPTBot"]["operator"] == "OpenAI"
    assert "Googlebot" not in found
    assert "https://commoncrawl.org/ccbot" in comity("agents").stdout


def test_a_table_is_refreshed_from_a_file_and_then_used(tmp_path: Path) -> None:
    given, written = tmp_path / "given.csv", tmp_path / "agents.csv"
    given.write_text(ROW)
    done = comity("agents", "--refresh", str(given), "-o", str(written))
    assert "1 new, 0 changed" in done.stderr
    assert f"COMITY_AGENTS={written}" in done.stderr
    table = {**os.environ, "COMITY_AGENTS": str(written)}
    assert "NewsBot" in comity("agents", "--purpose", "AI search", environment=table).stdout
    use_agents(None)  # this process goes on
    gone = comity("agents", environment={**table, "COMITY_AGENTS": str(tmp_path / "nothing")})
    assert (gone.returncode, "cannot be read" in gone.stderr) == (66, True)


def test_what_is_no_table_changes_nothing(tmp_path: Path) -> None:
    given, written = tmp_path / "given.csv", tmp_path / "agents.csv"
    given.write_text(ROW.replace("AI search", "fun"))
    done = comity("agents", "--refresh", str(given), "-o", str(written))
    assert done.returncode == 66
    assert "line 2: NewsBot: purpose" in done.stderr
    assert not written.exists()
    assert comity("agents", "--refresh", str(given)).returncode == 64
