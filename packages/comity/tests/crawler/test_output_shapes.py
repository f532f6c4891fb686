"""One thing has one shape in every output, and it is the one that docs/output.md states."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from commands import ALLOW, comity
from examples import first_of
from sites import Site

from comity import ClientSettings, Crawler, Policy, Response
from comity.crawler import Expanded
from comity.crawler.output.columns import COLUMNS, ColumnType
from comity.crawler.output.formats import FORMATS
from comity.crawler.output.sink import CHANNELS
from comity.crawler.storage.export import export
from comity.crawler.storage.open_crawl import open_output

PAGE = (Path(__file__).parents[4] / "docs" / "output.md").read_text(encoding="utf-8")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z")

OF_MARKDOWN = {
    "author",
    "date",
    "language",
    "licences",
    "hidden_text",
    "heading_ids",
    "folded",
    "page_starts",
    "markdown",
    "problem",
    "kind",
    "reason",
    "quality",
    "file_sha256",
}

JsonObject = dict[str, Any]


def tables() -> list[list[list[str]]]:
    """The tables of the page: rows of cells, without heads."""
    found = re.findall(r"^\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()] for table in found]


def documented() -> dict[str, list[tuple[str, str]]]:
    """The fields of each channel with their types, as the page states them."""
    (table,) = (table for table in tables() if table[0][0] == "`pages`")
    return {
        channel.strip("`"): [
            (name or "decision", kind) for name, kind, _ in re.findall(r"`(\w+)` (\w+)|(\*decision\*)", fields)
        ]
        for channel, _, fields in table
    }


def documented_decision() -> list[str]:
    (table,) = (table for table in tables() if table[0][0] == "`verdict`")
    return [name for row in table for name in re.findall(r"`(\w+)`", row[0])]


def test_the_page_names_the_columns_of_every_channel_and_their_types_in_their_order() -> None:
    stated = documented()
    assert list(stated) == list(CHANNELS) == list(COLUMNS)
    decision = documented_decision()
    for channel, columns in COLUMNS.items():
        assert list(columns)[-1] == "more"
        own = [(name, kind) for name, kind in columns.items() if name not in (*decision, "more")]
        said = stated[channel]
        assert [field for field in said if field[0] != "decision"] == own, channel
        assert (("decision", "") in said) == all(name in columns for name in decision), channel
    kinds = {kind for fields in stated.values() for _, kind in fields if kind}
    assert kinds | {"date"} == set(get_args(ColumnType)), "only a schema's fields are dates"


def test_every_field_of_the_outputs_is_explained_or_speaks_for_itself() -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE))
    assert {name for columns in COLUMNS.values() for name in columns} <= explained


class Shop:
    """An expander."""

    def expand(self, response: Response) -> Expanded:
        return Expanded([{"price": 1.5}])


@pytest.fixture
def written(site: Site, tmp_path: Path) -> Path:
    """The output of a crawl and its refresh in which every channel has records."""
    site.set("/robots.txt", "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /no\nAllow: /a\nSitemap: /map.xml\n")
    site.set("/map.xml", "<urlset><url><loc>&")
    site.link("/", "/a", "/no", "/missing", "/moved", "/dot.gif", "/x/x/x/x/x/x", "/latin")
    site.link("/a", "/plain.txt", "/data")
    site.set("/plain.txt", "plain")
    site.set("/data", b"\0\1", content_type="text/x-data")
    site.set("/latin", "<title>Käse</title>".encode("latin-1"), content_type="text/html; charset=latin-1")
    site.set("/moved", "", status=302, headers={"Location": "/a"})
    site.set("/dot.gif", b"GIF89a", content_type="image/gif")
    policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",), purposes=("train-ai",))
    choices = {"link_graph": True, "record_headers": ("etag",)}
    for refresh in (False, True):
        crawler = Crawler(
            () if refresh else [site.url("/")],
            tmp_path,
            policy=policy,
            settings=choices,
            client_settings=ClientSettings(content_types=("text/*",)),
            refresh=refresh,
            plugins={"expander": Shop()},
        )
        asyncio.run(crawler.run())
        site.set("/plain.txt", "other")
    return tmp_path


def lines(folder: Path) -> dict[str, list[JsonObject]]:
    """The records of each channel in JSON Lines."""
    return {
        channel: [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text("utf-8").splitlines()]
        for channel in CHANNELS
        if channel != "requisites"  # of archives alone
    }


def test_json_lines_have_the_keys_that_the_page_names_in_every_record(written: Path) -> None:
    stated = {
        channel: {{"body_bytes": "body_base64"}.get(name, name): kind for name, kind in fields}
        for channel, fields in documented().items()
    }
    for channel, records in lines(written).items():
        assert records, f"no record of {channel}: nothing was looked at"
        for record in records:
            assert set(record) == set(stated[channel]), channel
            if "decision" in record:
                assert list(record["decision"]) == documented_decision()
                assert TIME.fullmatch(record["decision"]["robots_at"])
            for name, kind in stated[channel].items():
                if kind == "time" and record[name] is not None:
                    assert TIME.fullmatch(record[name]), (channel, name)


def test_columns_hold_what_json_lines_hold(written: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'comity[parquet]'")
    outputs = {form: tmp_path_factory.mktemp(form) for form in ("sqlite", "parquet")}
    export(open_output(written), "sqlite", str(outputs["sqlite"] / "crawl.sqlite"))
    export(open_output(written), "parquet", str(outputs["parquet"]))
    with closing(sqlite3.connect(outputs["sqlite"] / "crawl.sqlite")) as db:
        db.row_factory = sqlite3.Row
        for channel, records in lines(written).items():
            rows = [dict(row) for row in db.execute(f"SELECT * FROM {channel} ORDER BY id")]
            table = parquet.read_table(outputs["parquet"] / channel)
            fields = ["price"] if channel == "records" else []
            assert table.schema.names == [*COLUMNS[channel], *fields]
            assert [row.pop("id") for row in rows] == list(range(1, len(records) + 1))
            for record, row, other in zip(records, rows, table.to_pylist(), strict=True):
                assert list(row) == table.schema.names
                for name, kind in COLUMNS[channel].items():
                    held = (record | record.get("decision", {})).get(name)
                    if kind == "time":
                        assert row[name] == held
                        assert (other[name] and f"{other[name]:%Y-%m-%dT%H:%M:%S}") == (held and held[:19])
                    elif kind == "json":
                        assert json.loads(row[name] or "null") == json.loads(other[name] or "null") == held
                    elif kind != "bytes":
                        assert row[name] == other[name] == held, (channel, name)
                assert row["more"] is None, "every field has a column"
    types = {str(parquet.read_schema(outputs["parquet"] / "pages" / "00001.parquet").field("fetched_at").type)}
    assert types == {"timestamp[ms, tz=UTC]"}


@pytest.mark.parametrize("form", first_of(*FORMATS))
def test_a_record_reads_the_same_from_every_format(form: str, site: Site, tmp_path: Path) -> None:
    site.set("/", '<title>x</title><meta name="robots" content="noindex"><a href="/plain.txt">p</a><a href="/no">n</a>')
    site.set("/plain.txt", "plain")
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nContent-Usage: train-ai=n\n")
    words = ("-q", "--delay", "0", "--purpose", "train-ai", "--record-headers", "etag", *ALLOW)
    assert comity("crawl", site.url("/"), "-o", str(tmp_path), "--format", form, *words).returncode == 0
    pages = [json.loads(line) for line in comity("pages", str(tmp_path)).stdout.splitlines()]
    told = comity("why", str(tmp_path), *(site.url(path) for path in ("/", "/plain.txt", "/no")), "--json")
    fates = [json.loads(line)["records"] for line in told.stdout.splitlines()]
    assert [[record["channel"] for record in records] for records in fates] == [["pages"], ["pages"], ["refusals"]]
    stated = {channel: dict(fields) for channel, fields in documented().items()}
    bodies = {"body", "body_bytes"}
    kinds: dict[str, tuple[type, ...]] = {
        "text": (str,),
        "time": (str,),
        "integer": (int,),
        "real": (int, float),
        "boolean": (bool,),
    }
    for channel, record in [*(("pages", page) for page in pages), *((each.pop("channel"), each) for (each,) in fates)]:
        more = {"file", "since", *(OF_MARKDOWN if form == "markdown" else ())}
        assert set(record) - more == set(stated[channel]) - bodies
        for name, kind in stated[channel].items():
            value = record.get(name)
            assert value is None or kind not in kinds or type(value) in kinds[kind], (name, value)
            assert value is None or kind != "time" or TIME.fullmatch(value)
        assert list(record["decision"]) == documented_decision()
    page = pages[0]
    assert (page["title"], page["encoding"], page["noindex"]) == ("x", "utf-8", True)
    assert page["usage"]["train-ai"]["preference"] == "disallowed"
    assert page["headers"] == {"etag": None}


def test_a_decision_is_the_same_object_from_every_command(written: Path, site: Site) -> None:
    kept = {record["url"]: record["decision"] for record in lines(written)["pages"]}
    checked = comity("check", site.url("/a"), site.url("/no"), "--json", *ALLOW)
    asked = {line["url"]: line["decision"] for line in map(json.loads, checked.stdout.splitlines())}
    told = comity("why", str(written), site.url("/a"), "--json")
    pages = comity("pages", str(written))
    decisions = [
        kept[site.url("/a")],
        lines(written)["refusals"][0]["decision"],
        *asked.values(),
        *(record["decision"] for record in json.loads(told.stdout)["records"] if "decision" in record),
        *(json.loads(line)["decision"] for line in pages.stdout.splitlines()),
    ]
    assert {tuple(decision) for decision in decisions} == {tuple(documented_decision())}
    assert all(TIME.fullmatch(decision["robots_at"]) for decision in decisions)
    same = [name for name in documented_decision() if name not in ("robots_at", "delay")]
    assert [asked[site.url("/a")][name] for name in same] == [kept[site.url("/a")][name] for name in same]
