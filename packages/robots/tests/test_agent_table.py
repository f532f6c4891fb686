"""The table of well-known agents: one, dated, with sources, which lint, audits, surveys and the workbench read."""

import json

import pytest

from comity_robots import GroupText, build, known_agents, names_for, parse
from comity_robots.agent_table import PURPOSES, as_csv, asked_agents, known_agent, merged, read_table, use_agents
from comity_robots.errors import InvalidSetting

ROW = "name,operator,purpose,source,read\nNewsBot,Example,AI search,https://example.org/bot,2026-11-28\n"


def test_every_agent_has_an_operator_a_purpose_a_source_and_a_day() -> None:
    assert len(known_agents()) >= 120
    for each in known_agents():
        assert each.operator
        assert each.read >= "2026"
        assert known_agent(each.name.upper()) is each
        # Names go into User-agent lines and out of them as they are.
        robots = parse(f"User-agent: {each.name}\nDisallow: /\n")
        assert (robots.groups[0].agents, robots.lint()) == ((each.name,), ())
    assert {each.purpose for each in known_agents()} == set(PURPOSES)
    assert set(asked_agents()) <= {each.name for each in known_agents()}


def test_the_names_of_a_purpose_make_a_group() -> None:
    robots = build([GroupText(agents=names_for("AI training"), rules=[(False, "/")])])
    assert not robots.allowed("/page", "GPTBot/1.3")
    assert robots.allowed("/page", "OAI-SearchBot/1.3")
    with pytest.raises(InvalidSetting, match="'training' is none"):
        names_for("training")


def test_a_group_is_written_with_preferences_by_aiprefs_categories() -> None:
    robots = build([GroupText(agents=["*"], preferences={"train-ai": False, "ai-use": False, "search": True})])
    assert str(robots) == "User-agent: *\nContent-Usage: train-ai=n, ai-use=n, search=y\nDisallow:\n"
    stated = robots.usage("/a", "MyBot")
    assert [stated.preference(each) for each in ("search", "ai-input", "train-ai")] == [
        "allowed",
        "disallowed",
        "disallowed",
    ]
    with pytest.raises(InvalidSetting, match="'ai-input' is not one of search, train-ai, ai-use"):
        build([GroupText(agents=["*"], preferences={"ai-input": False})])


def test_a_table_is_read_as_it_is_written() -> None:
    assert read_table(as_csv(known_agents())) == known_agents()


def test_another_table_is_used_everywhere() -> None:
    slipped = "User-agent: NewsBott\nDisallow: /\n"
    assert parse(slipped).lint() == ()
    use_agents(merged(known_agents(), read_table(ROW)))
    try:
        assert parse(slipped).lint()[0].suggestion == "User-agent: NewsBot"
        assert "NewsBot" in names_for("AI search")
    finally:
        use_agents(None)
    assert parse(slipped).lint() == ()


def test_the_row_that_was_read_later_stands() -> None:
    newer = read_table(ROW.replace("NewsBot", "gptbot"))
    older = read_table(ROW.replace("NewsBot", "gptbot").replace("2026-11-28", "2020-01-01"))
    by_name = {each.name.lower(): each for each in merged(known_agents(), newer)}
    assert by_name["gptbot"].operator == "Example"
    assert merged(known_agents(), older) == known_agents()


def test_the_list_of_ai_robots_txt_adds_names_and_replaces_none() -> None:
    given = {
        "NewsBot": {"operator": "[Example](https://example.org/bot)", "function": "AI Search Crawlers"},
        "OldBot": {"operator": "Unclear at this time.", "function": "Undocumented AI Agents"},
        "GPTBot": {"operator": "Somebody", "function": "AI Assistants"},
        "NewsBot/1.0": {"operator": "Example", "function": "Trains"},
    }
    found = {each.name: each for each in merged(known_agents(), read_table(json.dumps(given)))}
    assert found["NewsBot"].operator == "Example"
    assert found["NewsBot"].source == "https://example.org/bot"
    assert found["NewsBot"].purpose == "AI search"
    assert (found["OldBot"].operator, found["OldBot"].purpose) == ("unstated", "unstated")
    assert found["GPTBot"].operator == "OpenAI"
    assert "NewsBot/1.0" not in found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column"),
        ("name,operator\nA,B\n", "no column purpose, read, source"),
        (ROW.replace("AI search", "fun"), "line 2: NewsBot: purpose: write one of search"),
        (ROW.replace("https://example.org/bot", "javascript:alert(1)"), "source: write the URL"),
        (ROW.replace("2026-11-28", "yesterday"), "read: write a day"),
        (ROW.replace("2026-11-28", "2026-99-99"), "read: write a day"),
        (ROW.replace("NewsBot", "a#b"), "not a name"),
        (ROW.replace("NewsBot", "a: b"), "not a name"),
        (ROW.replace("Example", "Example, Inc."), "line 2: more values than there are columns"),
        (ROW.replace("Example", "Exa\x1b[31mmple"), "printable"),
        (ROW + ROW.splitlines()[1], "NewsBot is there twice"),
        (ROW.splitlines()[0], "names none"),
        ('{"NewsBot": ', "not JSON"),
        ("x" * (4 * 1024 * 1024 + 1), "at most"),
    ],
)
def test_what_is_no_table_is_refused_with_the_row(text: str, words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        read_table(text)
