"""Who may come, by switches: an edit means what was asked and leaves everybody else as they were."""

import pytest

from comity_robots import Wishes, access, block, block_path, diff, expectations, let_in, names_for, parse, written
from comity_robots.errors import InvalidSetting
from comity_robots.switches import expected

TRAINING = names_for("AI training")
FILE = (
    "# ours\nUser-agent: GPTBot\nUser-agent: MyBot\nCrawl-delay: 2\nDisallow: /x\n\n"
    "User-agent: CCBot\nAllow: /a\nDisallow: /b\n\nUser-agent: *\nDisallow: /checkout\n"
)


def test_a_new_file_says_what_was_wished_for_each_purpose_and_holds_its_own_tests() -> None:
    wishes = Wishes(
        purposes={"search": True, "AI training": False},
        agents={"CCBot": True},
        block=["/checkout"],
        sitemaps=["https://example.com/s.xml"],
    )
    robots = written(wishes)
    assert "# May not fetch the site: AI training\n" in str(robots)
    assert "Content-Usage: search=y, train-ai=n\nContent-Signal: search=yes, ai-train=no\n" in str(robots)
    assert robots.sitemaps == ("https://example.com/s.xml",)
    wanted = list(expectations.read(expected(wishes, robots)))
    assert {each.agent for each in wanted} >= {"GPTBot", "CCBot", "Googlebot", "*"}
    assert all(each.answer(robots, f"https://a{each.path}")[0] is each.allowed for each in wanted)
    assert written(wishes, robots) == robots  # nothing is left to change


@pytest.mark.parametrize("edit", [block, let_in])
@pytest.mark.parametrize(
    "text", [FILE, "", "User-agent: *\nDisallow: /\n", FILE.replace("\n", "\r\n"), "User-agent: *"]
)
def test_a_switch_changes_the_agents_that_it_names_and_nobody_else(text: str, edit) -> None:  # type: ignore[no-untyped-def]
    before = parse(text)
    after = edit(before, TRAINING)
    assert {access(after, each)[0] == "blocked" for each in TRAINING} == {edit is block}
    found = diff(before, after)
    assert {each.agent for each in found.changes} | {*found.delays} <= {*TRAINING}


def test_a_switch_edits_the_fewest_lines() -> None:
    robots = parse("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n")
    assert str(let_in(robots, ["CCBot"])) == "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n"
    assert str(block(robots, ["ClaudeBot"])).splitlines()[:4] == [
        "User-agent: GPTBot", "User-agent: CCBot", "User-agent: ClaudeBot", "Disallow: /",
    ]  # fmt: skip
    assert block(robots, ["GPTBot"]) == robots


def test_who_is_let_in_keeps_its_pace_and_is_told_what_all_are() -> None:
    shared = "User-agent: bingbot\nCrawl-delay: 5\nUser-agent: AhrefsBot\nDisallow: /\n"
    after = let_in(parse(f"User-agent: *\nDisallow: /x\n\n{shared}"), ["bingbot"])
    assert [after.allowed(path, "bingbot") for path in ("/", "/x")] == [True, False]
    assert (after.crawl_delay("bingbot"), after.allowed("/", "AhrefsBot")) == (5, False)
    typed = let_in(parse(f"User-agent: *\nDisallow: /x\n\n{shared}"), ["Bingbot"])
    assert "# May fetch the site: search\nUser-agent: Bingbot\n" in str(typed), "a name is one however it is written"


def test_what_a_draft_names_is_changed_where_a_file_states_it_and_is_added_nowhere() -> None:
    stated = "User-agent: *\nContent-Usage: ai-use=y, search=y\nAllow: /\n"
    no = Wishes(purposes={"AI search": False, "AI training": False})
    changed = written(no, parse(stated))
    assert {each.value for each in changed.records("content-usage")} == {"ai-use=n, search=y, train-ai=n"}
    assert [changed.usage("/", "MyBot").preference(each) for each in ("ai-input", "search")] == [
        "disallowed",
        "allowed",
    ]
    assert changed.lint() == ()
    assert "ai-use" not in str(written(no, parse("User-agent: *\nAllow: /\n")))


def test_a_wish_about_pace_does_not_go_to_another_agent_when_the_one_it_was_meant_for_leaves() -> None:
    robots = parse("User-agent: MyBot\nCrawl-delay: 5\n\nUser-agent: GPTBot\nCrawl-delay: 9\nDisallow: /x\n")
    after = block(robots, ["GPTBot"])
    assert [after.crawl_delay(agent) for agent in ("MyBot", "GPTBot")] == [5, 9]


def test_access_names_the_line_that_says_so() -> None:
    robots = parse(FILE)
    assert access(robots, "CCBot") == ("partly", 9)
    assert access(block(robots, ["CCBot"]), "CCBot") == ("blocked", 9)
    assert access(parse(""), "CCBot") == ("allowed", 0)


def test_a_path_is_blocked_for_every_group_that_may_fetch_it() -> None:
    robots = block_path(parse(FILE), "/cart")
    assert [robots.allowed("https://a/cart", agent) for agent in ("GPTBot", "CCBot", "Other")] == [False] * 3
    assert block_path(robots, "/cart") == robots


def test_what_would_be_larger_than_what_is_read_is_refused() -> None:
    robots = parse("User-agent: *\n" + f"Disallow: /{'a' * 488}\n" * 1_023)
    with pytest.raises(InvalidSetting, match="are read"):
        block(robots, TRAINING)
