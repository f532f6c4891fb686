"""A dialect of one's own, or a named one with one setting changed, wherever a dialect can be chosen."""

import asyncio
import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from sites import Site

from comity import Client, Crawler, InvalidSetting, Policy, load_settings, parse
from comity.audit.prove import prove
from comity.crawler.storage.open_crawl import open_crawl
from comity_robots import DIALECTS, Dialect

LOOPBACK = ("127.0.0.0/8",)
BODY = "User-agent: *\nDisallow: /shop/secret\nAllow: /shop\n"  # every reading but `allow_first` forbids /shop/secret
WAYS: dict[str, Any] = {
    "text": "rfc9309 precedence=allow_first",
    "fields": {"precedence": "allow_first"},
    "Dialect": Dialect(name="ours", precedence="allow_first"),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


# covers: R10
def test_the_client_reads_by_it(way: Any, site: Site) -> None:
    site.set("/robots.txt", BODY)
    with Client(Policy(dialect=way, min_interval=0, allow_addresses=LOOPBACK)) as client:
        assert client.is_allowed(site.url("/shop/secret"))
    with Client(Policy(min_interval=0, allow_addresses=LOOPBACK)) as client:
        assert not client.is_allowed(site.url("/shop/secret"))


def test_a_crawl_reads_by_it_goes_on_with_it_and_is_proved_by_it(way: Any, site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", BODY + "Disallow: /none\n")
    site.link("/", "/shop/secret", "/none")
    policy = Policy(dialect=way, min_interval=0, allow_addresses=LOOPBACK)
    asyncio.run(Crawler(site.url(), tmp_path, policy=policy).run())
    assert "/shop/secret" in site.paths()
    assert "/none" not in site.paths()
    assert prove(tmp_path).holds
    assert open_crawl(tmp_path).config().policy == policy


@pytest.mark.parametrize("setting", [each.name for each in fields(Dialect) if each.name != "name"])
def test_any_setting_can_be_changed_by_itself(setting: str) -> None:
    for other in DIALECTS.values():
        text = f"rfc9309, {setting}={str(getattr(other, setting)).lower()}"
        robots = parse(BODY, Policy(dialect=text).dialect)
        expected = {**asdict(DIALECTS["rfc9309"]), setting: getattr(other, setting)}
        assert {**asdict(robots.dialect), "name": "rfc9309"} == expected


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_written_as_text_that_reads_the_same(name: str) -> None:
    again = parse("", str(replace(DIALECTS[name], name="ours"))).dialect
    assert replace(again, name=name) == DIALECTS[name]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("rfc9309 precedence=shortest", "precedence: 'shortest'"),
        ("rfc9309 presedence=longest", "'presedence' is not one of"),
        ("rfc9309 typos=perhaps", "typos: 'perhaps' is not true or false"),
        ("rfc9309 max_bytes=-1", "max_bytes"),
        ("altavista", "'altavista' is not one of"),
        ("", "'' is not one of"),
        ({"tie": "both"}, "tie: 'both'"),
        ({"ties": "allow"}, "'ties' is not one of"),
        (3, "3 is neither a name nor a Dialect"),
    ],
)
def test_what_is_no_dialect_is_refused_by_name(wrong: Any, said: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^dialect: ") as caught:
        Policy(dialect=wrong)
    assert said in str(caught.value)


def test_the_command_reads_by_it(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", BODY)
    changed = ("--dialect", "rfc9309 precedence=allow_first")
    assert comity("check", site.url("/shop/secret"), *changed, *ALLOW).returncode == 0
    assert comity("check", site.url("/shop/secret"), *ALLOW).returncode == 2
    (tmp_path / "comity.toml").write_text('[dialect]\nname = "ours"\nprecedence = "allow_first"\n')
    named = ("--config", "comity.toml")
    assert comity("check", site.url("/shop/secret"), *ALLOW, *named, cwd=tmp_path).returncode == 0
    shown = json.loads(comity("settings", "--json", *named, cwd=tmp_path).stdout)["dialect"]
    assert shown["value"] == "rfc9309 precedence=allow_first"


def test_the_environment_may_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_DIALECT", "google robots_txt_allowed=true")
    dialect = parse(b"", load_settings().policy.dialect).dialect
    assert (dialect.agent_match, dialect.robots_txt_allowed) == ("letters", True)
    monkeypatch.setenv("COMITY_DIALECT", "google tie=q")
    with pytest.raises(InvalidSetting, match="COMITY_DIALECT: dialect: tie: 'q'"):
        load_settings()
