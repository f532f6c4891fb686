"""Settings come from arguments, then variables, then comity.toml, then a preset, and say where they came from."""

import dataclasses
import inspect
import json
import os
import re
import runpy
import subprocess
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Literal, get_origin

import commands
import pytest

from comity import CrawlSettings, InvalidSetting, Policy
from comity.configuration import NAMING, PREFIX, every_setting, load, settings_classes
from comity.crawler.run.checkpoint import settings_in_force
from comity.policy.presets import PRESETS
from comity_robots import DIALECTS, Dialect
from comity_robots.fields import WrongType, field_docs, settings_of, typed

DOCUMENT = Path(__file__).parents[3] / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, and no variables of ours."""
    monkeypatch.chdir(tmp_path)
    for name in ("COMITY_AGENT", "COMITY_MODE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_arguments_win_over_variables_over_the_file_over_the_preset_over_the_defaults(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "comity.toml").write_text('preset = "google"\nagent = "File/1"\nmin_interval = 2\nmax_pages = 7\n')
    monkeypatch.setenv("COMITY_AGENT", "Variable/1")
    monkeypatch.setenv("COMITY_MIN_INTERVAL", "3")
    loaded = load(Path("comity.toml"), min_interval=4.0)
    assert loaded.policy.min_interval == 4.0
    assert loaded.policy.agent == "Variable/1"
    assert loaded.crawl.max_pages == 7
    assert loaded.policy.dialect == "google"
    assert loaded.policy.mode == "respect"
    origins = {name: loaded.settings[name].origin for name in ("min_interval", "agent", "max_pages", "dialect", "mode")}
    assert origins == {
        "min_interval": "argument",
        "agent": "COMITY_AGENT",
        "max_pages": "comity.toml",
        "dialect": "preset google",
        "mode": "default",
    }


# covers: F24, R4
@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("COMITY_MODE", "ignore", "mode", "ignore"),
        ("COMITY_CACHE_LIFE", "3600", "cache_life", 3600.0),
        ("COMITY_CACHE_LIFE", "inf", "cache_life", float("inf")),
        ("COMITY_CACHE_LIFE", "none", "cache_life", None),
        ("COMITY_AGENT", "MyBot/1.0 (+https://example.org/bot)", "agent", "MyBot/1.0 (+https://example.org/bot)"),
        ("COMITY_ROBOTS_REDIRECTS", "3", "robots_redirects", 3),
        ("COMITY_TIMEOUT", "10", "timeout", 10.0),
        ("COMITY_URL_CHARSET", "iso-8859-1", "url_charset", "iso-8859-1"),
        ("COMITY_ROBOTS_CHARSET", "declared", "robots_charset", "declared"),
        ("COMITY_ALLOW_ADDRESSES", "127.0.0.0/8, 10.0.0.0/8", "allow_addresses", ("127.0.0.0/8", "10.0.0.0/8")),
        ("COMITY_HONOUR", "", "honour", ()),
        ("COMITY_HEADERS", '{"From": "me@example.org"}', "headers", {"From": "me@example.org"}),
        ("COMITY_VERIFY_TLS", "false", "verify_tls", False),
    ],
)
def test_a_variable_sets_its_field(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, field: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    loaded = load()
    holder = next(each for each in (loaded.policy, loaded.client, loaded.crawl) if hasattr(each, field))
    assert getattr(holder, field) == value
    assert loaded.settings[field].origin == variable


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("COMITY_MODE", "obey", "COMITY_MODE: mode: 'obey' is not one of respect, report_only, ignore"),
        ("COMITY_MIN_INTERVAL", "soon", "COMITY_MIN_INTERVAL: .*'soon'.* number"),
        ("COMITY_MIN_INTERVAL", "-1", "COMITY_MIN_INTERVAL: min_interval: -1 is not a number of seconds"),
        ("COMITY_PRESET", "altavista", "COMITY_PRESET: .*'altavista' is not one of rfc9309, google"),
        ("COMITY_MAX_PAGES", "0", "COMITY_MAX_PAGES: max_pages: 0 is not a whole number of at least 1"),
        ("COMITY_ALLOW_ADDRESSES", "localhost", "COMITY_ALLOW_ADDRESSES: .*'localhost' is not an address"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, text: str, message: str) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(InvalidSetting, match=message):
        load()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent = x", "comity.toml is not TOML: .*line 1"),
        ("agnet = 'x'", "comity.toml: 'agnet' is not a setting"),
        ("max_depth = 'deep'", "comity.toml: max_depth: 'deep'"),
        ("mode = 'obey'", "comity.toml: mode: 'obey'"),
        ("resolve = ['a.test']", r"toml: resolve: this is not a table \(write for example resolve = {"),
        ("[resolve]\n'a' = '1.2.3.4'\n'b' = ['::1']", r"toml: resolve: 'b': this is not text \(write"),
        (
            "[auth]\n'https://a.test' = 'user:secret'",
            "toml: auth: 'https://a.test': this is not a list of 2 (?!.*secret)",
        ),
    ],
)
def test_a_wrong_file_is_named(nowhere: Path, text: str, message: str) -> None:
    (nowhere / "comity.toml").write_text(text)
    with pytest.raises(InvalidSetting, match=message):
        load(Path("comity.toml"))


@pytest.mark.parametrize(
    "line",
    [
        "min_interval = 0.5",
        "mode = 'ignore'",
        "mode = 'report_only'",
        "on_unreachable = 'allow'",
        "honour = []",
        "allow_addresses = ['0.0.0.0/0']",
        "allow_hosts = ['intranet.example']",
        "agent = 'Googlebot'",
        "dialect = 'google'",
        "preset = 'google'",
        "verify_tls = false",
        "ca_file = 'ca.pem'",
        "proxy = 'http://proxy.example'",
        "headers = {'X-A' = 'b'}",
        "resolve = {'a.example' = '127.0.0.1'}",
        "auth = {'https://a.example' = ['a', 'b']}",
        "identity = 'bot'",
        "cache = '/etc/passwd'",
        "timeout = 60",
        "max_retries = 5",
        "max_body = '50MB'",
        "concurrency = 64",
        "scope = 'any'",
        "traps = false",
        "follow_nofollow = true",
        "longest_wait = 'none'",
        "render = true",
        "render_browser = './chromium'",
        "webhook = 'https://a.example/'",
        "telemetry = true",
    ],
)
def test_a_file_that_nobody_named_allows_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    (nowhere / "comity.toml").write_text(f"max_pages = 7\n{line}\n")
    name = line.partition(" ")[0]
    with pytest.raises(InvalidSetting, match=rf"nobody named, sets {name}: .*--config comity.toml, or COMITY_CONFIG="):
        load()
    assert load(unnamed=False).crawl.max_pages is None
    for pass_by in ("ca_file", "cache", "preset"):  # what a named one is asked for, and is not there
        if name == pass_by:
            return
    assert load(Path("comity.toml")).settings[name].origin == "comity.toml"
    monkeypatch.setenv("COMITY_CONFIG", "comity.toml")
    assert load().settings[name].origin == "comity.toml"
    assert load().unnamed == ()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("min_interval = 5", 5),
        ("delay = 5", 5),
        ("honour = ['crawl-delay', 'request-rate', 'visit-time']", ("crawl-delay", "request-rate", "visit-time")),
        ("on_unavailable = 'disallow_401_403'", "disallow_401_403"),
        ("use = 'full'", "full"),
        ("allow_addresses = []", ()),
        ("verify_tls = true", True),
        ("timeout = '10s'", 10),
        ("max_pages = 7", 7),
        ("scope = 'prefix'", "prefix"),
        ("exclude = ['/private']", ("/private",)),
        ("link_graph = true", True),
        ("agent = 'comity/0.1'", "comity/0.1"),
    ],
)
def test_a_file_that_nobody_named_makes_settings_stricter(nowhere: Path, line: str, value: object) -> None:
    (nowhere / "comity.toml").write_text(f"{line}\n")
    name = {"delay": "min_interval"}.get(line.partition(" ")[0], line.partition(" ")[0])
    loaded = load()
    assert (loaded.settings[name].value, loaded.unnamed) == (value, (name,))
    told = comity("settings")
    assert told.returncode == 0
    assert told.stderr.startswith(f"comity: comity.toml sets {name} = ")


def test_what_the_operator_says_wins_over_a_file_that_nobody_named(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "comity.toml").write_text("mode = 'ignore'\nmin_interval = 5\n")
    monkeypatch.setenv("COMITY_MODE", "report_only")
    loaded = load(min_interval=0.1)
    assert (loaded.policy.mode, loaded.policy.min_interval, loaded.unnamed) == ("report_only", 0.1, ())


def test_of_each_setting_it_is_said_what_makes_it_stricter_or_it_is_for_the_operator_alone() -> None:
    alone = {name for name, each in every_setting().items() if not each.stricter}
    assert alone == {
        *("agent", "product_token", "preset", "dialect", "robots_charset", "url_charset", "robots_redirects"),
        *("cache_life", "max_robots_body", "ca_file", "proxy", "headers", "params", "auth", "licences", "resolve"),
        *("nameservers", "cache", "cache_pages", "identity", "sign", "follow_nofollow", "render", "render_auto"),
        *("origin_headers", "render_browser", "webhook", "telemetry"),
    }


@pytest.mark.skipif(os.name != "posix", reason="there are no such files elsewhere")
def test_what_lies_in_the_folder_in_the_place_of_a_file_of_settings_is_not_waited_for(nowhere: Path) -> None:
    os.mkfifo(nowhere / "comity.toml")
    with pytest.raises(InvalidSetting, match="cannot be read: it is not a regular file"):
        load()
    (nowhere / "comity.toml").unlink()
    (nowhere / "comity.toml").symlink_to("/dev/zero")
    with pytest.raises(InvalidSetting, match="cannot be read: it is not a regular file"):
        load()
    (nowhere / "comity.toml").unlink()
    (nowhere / "comity.toml").write_text("include = " + "[" * 100_000)
    with pytest.raises(InvalidSetting, match="nested too deeply"):
        load()


def test_a_file_that_was_asked_for_must_be_there(nowhere: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"mine\.toml cannot be read: No such file"):
        load(nowhere / "mine.toml")


def test_no_setting_has_two_meanings() -> None:
    names = [field.name for kind in settings_classes() for field in dataclasses.fields(kind)]
    assert len(names) == len(set(names))


def comity(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return commands.comity(*arguments, environment={"PATH": "", **environment})


def test_the_command_shows_every_setting_and_where_it_came_from(nowhere: Path) -> None:
    (nowhere / "comity.toml").write_text("min_interval = 5\n")
    told: dict[str, Any] = json.loads(
        comity("settings", "--json", "--preset", "yoink", COMITY_AGENT="Bot/2", COMITY_AGNET="Bot/3").stdout
    )
    assert set(told) == set(every_setting())
    assert told["agent"] == {"value": "Bot/2", "origin": "COMITY_AGENT", "variable": "COMITY_AGENT"}
    assert told["min_interval"]["origin"] == "comity.toml"
    assert told["dialect"] == {"value": "yoink", "origin": "preset yoink", "variable": "COMITY_DIALECT"}
    plain = comity("settings", COMITY_AGNET="Bot/3")
    assert re.search(r"^min_interval +5 +comity\.toml$", plain.stdout, re.MULTILINE)
    assert plain.stderr == (
        "comity: comity.toml sets min_interval = 5\n"
        "comity: COMITY_AGNET is not a setting and is ignored; did you mean agent?\n"
    )
    assert plain.returncode == 0


def test_a_wrong_setting_is_one_line_and_an_exit_code(nowhere: Path) -> None:
    ran = comity("settings", COMITY_CONCURRENCY="many")
    assert ran.returncode == 64
    assert ran.stderr.count("\n") == 1
    assert "COMITY_CONCURRENCY: concurrency: 'many'" in ran.stderr


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_policy_and_can_be_changed(name: str) -> None:
    policy = Policy.preset(name, min_interval=9.0)
    assert policy.min_interval == 9.0
    assert policy.dialect == name


def test_every_dialect_has_a_preset() -> None:
    assert set(PRESETS) == set(DIALECTS)
    assert Policy.preset("rfc9309") == Policy()


# covers: L4, F24, Y7
def test_presets_keep_what_their_systems_did() -> None:
    ladon, f9, gem, yoink = (Policy.preset(name) for name in ("ladon", "f9", "robotstxt", "yoink"))
    assert (ladon.mode, ladon.robots_fetch_counts, ladon.cache_life) == ("ignore", False, float("inf"))
    assert Policy.preset("ladon", mode="respect").on_unreachable == "allow"
    assert ladon.failure_life == float("inf")
    assert (f9.mode, f9.cache_life, f9.failure_life, f9.on_unreachable) == ("respect", 3600, 3600, "allow")
    assert load(preset="f9").client.robots_timeout == 10.0
    assert (gem.on_unavailable, gem.on_unreachable, gem.robots_redirects) == ("disallow_401_403", "allow", 5)
    assert (yoink.mode, yoink.cache_life) == ("respect", 3600)


def test_a_preset_or_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidSetting, match="preset: 'altavista' is not one of rfc9309"):
        Policy.preset("altavista")
    with pytest.raises(InvalidSetting, match="agnet: a policy has no such field"):
        Policy.preset("google", agnet="x")


def test_the_document_has_the_tables_of_the_classes_and_every_preset() -> None:
    script = runpy.run_path(str(DOCUMENT.with_name("settings_tables.py")))
    text = DOCUMENT.read_text("utf-8")
    assert text == script["tables"](text), "run: python docs/settings_tables.py"
    tools = script["AGENTS"].read_text("utf-8")
    assert tools == script["arguments"](tools), "run: python docs/settings_tables.py"
    assert all(f"\n| `{name}`" in text for name in every_setting() if name != "preset")
    assert all(f"`{name}`" in text for name in PRESETS)
    named = {PREFIX + name.upper() for name in every_setting()} | {NAMING}
    assert set(re.findall(rf"`({PREFIX}[A-Z_]+)`", text)) <= named


def test_help_has_the_words_the_default_and_the_unit_of_a_setting() -> None:
    told = " ".join(comity("crawl", "--help").stdout.split())
    for words in (
        "--max-bytes SIZE Stop after this many bytes of pages; 'none' for no limit.",
        "--delay TIME Seconds between requests to a host; a longer delay in its robots.txt wins. [1]",
        "--concurrency N Concurrent requests, over all hosts. [16]",
        "-A, --agent AGENT The User-Agent header, such as MyBot/1.0 (+https://example.org/bot). [comity/0.1]",
    ):
        assert words in told


def test_the_command_takes_sizes_and_times_as_people_write_them() -> None:
    ran = comity("crawl", "http://127.0.0.1:9/", "--max-bytes", "50XB")
    assert (ran.returncode, ran.stderr.count("\n")) == (64, 1)
    assert "--max-bytes (max_bytes): '50XB' is not a whole number of bytes of at least 1 (write for exam" in ran.stderr


@pytest.mark.parametrize("variable", ["HEADERS", "PURPOSES", "HONOUR", "ALLOW_ADDRESSES", "RESOLVE", "AUTH"])
def test_nothing_is_written_none_everywhere(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(PREFIX + variable, "none")
    assert not load().settings[variable.lower()].value


@pytest.mark.parametrize("text", ["{bad", "x=y", "[1]", "3"])
def test_a_mapping_that_is_no_json_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("COMITY_HEADERS", text)
    with pytest.raises(InvalidSetting, match="COMITY_HEADERS: headers"):
        load()


def test_only_the_exact_name_of_a_variable_counts(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("comity_mode", "ignore")
    monkeypatch.setenv("COMITY_AGENT", "MyBot/1")
    assert load().policy.mode == "respect"
    (nowhere / "comity.toml").write_text("MODE = 'ignore'")
    with pytest.raises(InvalidSetting, match="'MODE' is not a setting"):
        load()


def test_what_is_shown_is_what_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_ALLOW_ADDRESSES", "10.1.2.3/8")
    monkeypatch.setenv("COMITY_PURPOSES", "train-ai,search")
    settings = load().settings
    assert settings["allow_addresses"].value == ("10.0.0.0/8",)
    assert settings["purposes"].value == ("search", "train-ai")


def test_delay_is_another_name_of_the_least_interval(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / "comity.toml").write_text("delay = 3\n")
    setting = load().settings["min_interval"]
    assert (setting.value, setting.origin) == (3.0, "comity.toml")
    monkeypatch.setenv("COMITY_DELAY", "4")
    loaded = load()
    setting = loaded.settings["min_interval"]
    assert (setting.value, setting.origin, loaded.unknown) == (4.0, "COMITY_DELAY", ())
    assert load(delay=5).policy.min_interval == 5
    monkeypatch.setenv("COMITY_DELAY", "x")
    with pytest.raises(InvalidSetting, match="COMITY_DELAY: min_interval"):
        load()
    monkeypatch.delenv("COMITY_DELAY")
    (nowhere / "comity.toml").write_text("delay = 3\nmin_interval = 4\n")
    with pytest.raises(InvalidSetting, match="two names of one setting"):
        load()


def test_no_password_is_shown(nowhere: Path) -> None:
    (nowhere / "comity.toml").write_text(
        'auth = {"https://example.com" = ["me", "secret"]}\nproxy = "http://me:secret@p/secret@proxy.test:3128"\n'
        '[headers]\n"X-Api" = "secret"\n[params]\nkey = "secret"\n'
    )
    for form in ((), ("--json",)):
        shown = comity("settings", "--config", "comity.toml", *form).stdout
        for name in ("example.com", "proxy.test:3128", "X-Api", "key"):
            assert name in shown
        assert "secret" not in shown


@pytest.mark.parametrize(
    "proxy", ["me:secret@proxy.test:3128", "ftp://me:secret@proxy.test", "http://me:secret@:99999"]
)
def test_no_password_is_shown_in_what_is_wrong_with_a_proxy(proxy: str) -> None:
    with pytest.raises(InvalidSetting, match=r"proxy: .*\*\*\*@(?!.*secret)") as caught:
        load(proxy=proxy)
    assert "secret" not in repr(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"headers": "x"}, {"headers": 3}, {"preset": ["x"]}, {"auth": {"https://e": 1}}, {"max_ratio": "x"}]
)
def test_a_wrong_type_is_a_clear_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        load(**wrong)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("50MB", "max_bytes", 50_000_000),
        ("50 mb", "max_bytes", 50_000_000),
        ("50M", "max_bytes", 50_000_000),
        ("1.5GB", "max_bytes", 1_500_000_000),
        ("64MiB", "max_bytes", 64 * 1024 * 1024),
        ("700", "max_bytes", 700),
        ("10m", "max_seconds", 600),
        ("1h30m", "max_seconds", 5_400),
        ("1.5 h", "max_seconds", 5_400),
        ("250ms", "min_interval", 0.25),
        ("30d", "stale_life", 30 * 86_400),
        ("90", "timeout", 90),
        ("none", "max_bytes", None),
    ],
)
def test_sizes_and_times_are_read_as_people_write_them(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, text: str, field: str, value: float | None
) -> None:
    assert load(**{field: text}).settings[field].value == value
    (nowhere / "comity.toml").write_text(f'{field} = "{text}"\n')
    assert load(Path("comity.toml")).settings[field].value == value
    (nowhere / "comity.toml").unlink()
    monkeypatch.setenv(PREFIX + field.upper(), text)
    loaded = load().settings[field]
    assert (loaded.value, loaded.origin) == (value, PREFIX + field.upper())
    assert every_setting()[field].read(every_setting()[field].written(value)) == value


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("max_bytes", "50XB", r"max_bytes: '50XB' is not a whole number of bytes of at least 1 \(write .*50MB\)"),
        ("max_bytes", "MB", "max_bytes: 'MB' is not"),
        ("max_bytes", "0.5B", "max_bytes: 0.5 is not a whole number"),
        ("max_bytes", "1MB 2", "max_bytes: '1MB 2' is not"),
        ("max_seconds", "10 minutes ago", r"max_seconds: '10 minutes ago' is not .*\(write .*10m"),
        ("max_seconds", "0s", "max_seconds: 0 is not a number of seconds above zero"),
        ("max_seconds", "nan", "max_seconds: nan is not"),
        ("max_pages", "10m", "max_pages: '10m' is not a whole number of at least 1$"),
        ("max_pages", "2.5", "max_pages: 2.5 is not a whole number"),
        ("min_interval", "1e13", "min_interval: 10000000000000.0 is not"),
    ],
)
def test_what_is_neither_a_size_nor_a_time_is_named(field: str, text: str, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        load(**{field: text})


@pytest.mark.parametrize("kind", settings_classes())
def test_every_setting_is_checked_against_its_type(kind: type) -> None:
    for name, field in settings_of(kind).items():
        wrong: list[Any] = [object()]
        if field.hint is not str and get_origin(field.hint) is not tuple:
            wrong.append("\0")
        if not field.optional:
            wrong.append(None)
        if field.hint is not bool:
            wrong.append(True)
        for value in wrong:
            with pytest.raises(InvalidSetting, match=f"^{name}: "):
                kind(**{name: value})


@pytest.mark.parametrize("kind", settings_classes())
def test_every_setting_has_its_words_in_the_docstring_and_its_plain_type_in_the_signature(kind: type) -> None:
    assert list(field_docs(kind)) == list(settings_of(kind))
    for name, parameter in inspect.signature(kind).parameters.items():
        assert parameter.kind is parameter.KEYWORD_ONLY or parameter.name == "agent"
        assert parameter.annotation == kind.__annotations__[name]
        default = settings_of(kind)[name].default
        assert parameter.default == default or default == {}


def test_one_text_is_a_list_of_one(nowhere: Path) -> None:
    begun = {"exclude": ("/old",)}
    for given in ("/blog", ["/blog"], ("/blog",)):
        assert settings_in_force({"exclude": given}, begun).exclude == ("/old", "/blog")
    for text in ("'/blog'", "['/blog']"):
        (nowhere / "comity.toml").write_text(f"include = {text}\n")
        assert load().crawl.include == ("/blog",)
    assert CrawlSettings(include="/blog").include == ("/blog",)  # type: ignore[arg-type]
    assert Policy(allow_hosts="intranet.example").allow_hosts == ("intranet.example",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        ([1, 2], tuple[int, ...], (1, 2)),
        (None, float | None, None),
        (3, float, 3),
        ({"a": ["b", "c"]}, Mapping[str, tuple[str, str]], {"a": ("b", "c")}),
        ("x", Literal["x", "y"], "x"),
    ],
)
def test_a_value_is_brought_to_an_annotated_type(value: Any, hint: Any, expected: object) -> None:
    assert typed(value, hint) == expected


@pytest.mark.parametrize(
    ("value", "hint", "why"),
    [
        (True, int, "a whole number"),
        (1, bool, "true or false"),
        (1.0, int, "a whole number"),
        ("z", Literal["x", "y"], "not one of x, y"),
        (["x"], Literal["x", "y"], "not one of x, y"),
        ([1, "2"], tuple[int, ...], "a whole number"),
        ({1: "a"}, Mapping[str, str], "text"),
        ("ab", tuple[str, str], "a list of 2"),
    ],
)
def test_a_value_of_another_type_is_refused(value: Any, hint: Any, why: str) -> None:
    with pytest.raises(WrongType, match=why):
        typed(value, hint)


@pytest.mark.parametrize("kind", [*settings_classes(), Dialect])
def test_every_default_is_allowed_and_in_its_normal_form(kind: type) -> None:
    for field in settings_of(kind).values():
        assert field.default is MISSING or field.checked(field.default) == field.default
