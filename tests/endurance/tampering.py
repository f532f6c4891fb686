"""What becomes of those who tamper with a crawl's evidence: each way of doing so, and what `comity prove` says to it.

Run by `make test-tampering`. The real command crawls the demo site; each line tampers with a copy of its folder and has
the real command prove it. A forger with patience makes the whole chain anew, the seal and the frontier's mark with it.
Exit code 1: something was not found, or no record was named.
"""

import base64
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]
OPEN = b"User-agent: *\nAllow: /\n"
COMITY = [sys.executable, "-m", "comity"]


class Evidence:
    """A copy of a crawl's folder in a forger's hands."""

    def __init__(self, folder: Path, other: Path) -> None:
        self.folder = folder
        self.other = other  # the folder of another crawl
        self.ledger = self.read("ledger")

    def read(self, name: str) -> list[Record]:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text("utf-8").splitlines()]

    def write(self, name: str, records: list[Record]) -> None:
        text = "".join((_spelt(record) if name == "ledger" else json.dumps(record)) + "\n" for record in records)
        (self.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")

    def one(self, start: int = 0, **wanted: Any) -> int:
        """The place of the first record with these values; a `url` is the end of one."""
        end = wanted.pop("url", "")
        return next(
            place
            for place, record in enumerate(self.ledger)
            if place >= start
            and all(record.get(name) == value for name, value in wanted.items())
            and record.get("url", "").endswith(end)
        )

    def chain_again(self, *, frontier: bool = True) -> None:
        """Every number, link, hash and seal made anew, and the frontier's mark."""
        before = "0" * 64
        for number, record in enumerate(self.ledger, 1):
            record |= {"n": number, "prev": before}
            if record["kind"] == "seal":
                record |= {"count": number - 1, "final": before}
            said = {name: value for name, value in record.items() if name != "hash"}
            before = hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
            record["hash"] = before
        if frontier:
            mark = json.dumps({"count": len(self.ledger), "hash": before})
            with sqlite3.connect(self.folder / "frontier.sqlite") as database:
                database.execute("UPDATE fact SET value = ? WHERE key = 'ledger'", (mark,))
            database.close()


def _spelt(record: Record) -> str:
    """A line as the ledger has it: sorted keys, no spaces, the hash last."""
    said = {name: record[name] for name in sorted(record) if name != "hash"}
    return json.dumps({**said, "hash": record["hash"]}, separators=(",", ":"))


def record_removed(evidence: Evidence) -> None:
    del evidence.ledger[evidence.one(kind="request", url="/shelf/3")]


def records_swapped(evidence: Evidence) -> None:
    place = evidence.one(kind="request", url="/shelf/3")
    evidence.ledger[place : place + 2] = reversed(evidence.ledger[place : place + 2])


def record_inserted(evidence: Evidence) -> None:
    place = evidence.one(kind="refusal", url="/vault/gold")
    evidence.ledger.insert(place, dict(evidence.ledger[place]))


def records_cut_off(evidence: Evidence) -> None:
    del evidence.ledger[-5:]


def cut_and_sealed(evidence: Evidence) -> None:
    del evidence.ledger[-5:-1]
    evidence.chain_again(frontier=False)


def made_polite(evidence: Evidence) -> None:
    record = evidence.ledger[evidence.one(kind="request", url="/shelf/3")]
    for name in ("sent", "head", "end"):
        record[name] += 0.2
    record["kept"] += 0.2
    evidence.chain_again()


def made_allowed(evidence: Evidence) -> None:
    place = evidence.one(kind="refusal", url="/vault/gold")
    page = evidence.ledger[evidence.one(kind="request", url="/shelf/2")]
    url = evidence.ledger[place]["url"]
    evidence.ledger[place] |= {"verdict": "allowed_implicit", "line": None, "rule": None}
    evidence.ledger[evidence.one(kind="request", url="/shelf/2")] = {**page, "url": url}
    evidence.chain_again()
    pages = evidence.read("pages")
    for record in pages:
        if record["url"] == page["url"]:
            record["url"] = url
    evidence.write("pages", pages)


def request_removed(evidence: Evidence) -> None:
    del evidence.ledger[evidence.one(kind="request", url="/vault/open-day")]
    evidence.chain_again()


def robots_replaced(evidence: Evidence) -> None:
    place = evidence.one(kind="refusal", url="/vault/gold")
    robots = evidence.ledger[evidence.one(kind="robots", robots_sha256=evidence.ledger[place]["robots_sha256"])]
    robots["body_base64"] = base64.b64encode(OPEN).decode()
    evidence.chain_again()


def robots_replaced_with_its_story(evidence: Evidence) -> None:
    """Hash, request, output and every citation say the same."""
    old = evidence.ledger[evidence.one(kind="refusal", url="/vault/gold")]["robots_sha256"]
    new, body = hashlib.sha256(OPEN).hexdigest(), base64.b64encode(OPEN).decode()
    for record in evidence.ledger:
        if record.get("robots_sha256") == old:
            record["robots_sha256"] = new
            if record["kind"] == "robots":
                record["body_base64"] = body
        if record.get("sha256") == old:
            record |= {"sha256": new, "bytes": len(OPEN)}
    evidence.chain_again()
    robots = evidence.read("robots")
    for record in robots:
        if record["sha256"] == old:
            record |= {"sha256": new, "body_base64": body}
    evidence.write("robots", robots)


def rule_changed(evidence: Evidence) -> None:
    record = evidence.ledger[evidence.one(kind="refusal", url="/vault/gold")]
    record |= {"line": record["line"] + 1}
    evidence.chain_again()


def interval_changed(evidence: Evidence) -> None:
    evidence.ledger[evidence.one(kind="request", url="/shelf/3")]["interval"] = 0.1
    evidence.chain_again()


def policy_changed(evidence: Evidence) -> None:
    evidence.ledger[0]["policy"]["min_interval"] = 0.01
    evidence.chain_again()


def page_changed(evidence: Evidence) -> None:
    pages = evidence.read("pages")
    page = next(record for record in pages if record["url"].endswith("/shelf/3"))
    page["body"] = page["body"].replace("<p>", "<p>As we always said: ", 1)
    evidence.write("pages", pages)


def page_and_hash_changed(evidence: Evidence) -> None:
    pages = evidence.read("pages")
    page = next(record for record in pages if record["url"].endswith("/shelf/3"))
    page["body"] = page["body"].replace("<p>", "<p>As we always said: ", 1)
    page["sha256"] = hashlib.sha256(page["body"].encode()).hexdigest()
    evidence.write("pages", pages)


def page_added(evidence: Evidence) -> None:
    pages = evidence.read("pages")
    evidence.write("pages", [*pages, {**pages[-1], "url": pages[-1]["url"] + "-2"}])


def other_ledger(evidence: Evidence) -> None:
    shutil.copy(evidence.other / "ledger.jsonl", evidence.folder)


def other_ledger_and_frontier(evidence: Evidence) -> None:
    other_ledger(evidence)
    for path in evidence.other.glob("frontier.sqlite*"):
        shutil.copy(path, evidence.folder)


def key_given_twice(evidence: Evidence) -> None:
    """No hash is another for it: the last of two values counts, and others read the first."""
    lines = (evidence.folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    place = evidence.one(kind="request", url="/shelf/3")
    lines[place] = lines[place].replace(b"{", b'{"url":"http://x/never",', 1)
    (evidence.folder / "ledger.jsonl").write_bytes(b"".join(lines))


def mark_in_front(evidence: Evidence) -> None:
    path = evidence.folder / "ledger.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def posted(evidence: Evidence) -> None:
    evidence.ledger[evidence.one(kind="request", url="/shelf/3")]["method"] = "POST"
    evidence.chain_again()


def page_removed(evidence: Evidence) -> None:
    evidence.write("pages", [page for page in evidence.read("pages") if not page["url"].endswith("/shelf/3")])


def pages_emptied(evidence: Evidence) -> None:
    evidence.write("pages", [])


def pages_removed(evidence: Evidence) -> None:
    (evidence.folder / "pages.jsonl").unlink()


def failures_emptied(evidence: Evidence) -> None:
    evidence.write("failures", [])


def robots_emptied(evidence: Evidence) -> None:
    evidence.write("robots", [])


def robots_status_changed(evidence: Evidence) -> None:
    first, *rest = evidence.read("robots")
    evidence.write("robots", [{**first, "status": 418}, *rest])


def decision_changed(evidence: Evidence) -> None:
    pages = evidence.read("pages")
    page = next(record for record in pages if record["url"].endswith("/shelf/3"))
    page["decision"]["verdict"] = "disallowed_explicit"
    evidence.write("pages", pages)


def redirect_changed(evidence: Evidence) -> None:
    first, *rest = evidence.read("redirects")
    evidence.write("redirects", [{**first, "to": "http://elsewhere.example/"}, *rest])


def sink_renamed(evidence: Evidence) -> None:
    with sqlite3.connect(evidence.folder / "frontier.sqlite") as database:
        database.execute("UPDATE fact SET value = ? WHERE key = 'sink'", (json.dumps({"name": "some:Sink"}),))
    database.close()


def dropped_everywhere(evidence: Evidence) -> None:
    place = evidence.one(kind="request", url="/shelf/6")
    url = evidence.ledger[place]["url"]
    del evidence.ledger[place]
    for record in evidence.ledger[place:]:
        if record["kind"] == "request" and record["pace"] == "library.demo.localhost" and record["kept"] is not None:
            last = max(other["head"] for other in evidence.ledger if _before(other, record))
            record["kept"] = round(record["sent"] - last, 6)
            break
    evidence.ledger[-1]["written"]["pages"] -= 1
    evidence.chain_again()
    evidence.write("pages", [record for record in evidence.read("pages") if record["url"] != url])


def _before(other: Record, record: Record) -> bool:
    return other["kind"] == "request" and other["pace"] == record["pace"] and (other["head"] or 0) <= record["sent"]


Tampering = Callable[[Evidence], None]
IN_PLACE: tuple[tuple[str, Tampering], ...] = (
    ("a request removed", record_removed),
    ("two records swapped", records_swapped),
    ("a record inserted", record_inserted),
    ("the last five records cut off", records_cut_off),
    ("a key given twice, the hash as it was", key_given_twice),
    ("a byte order mark before it, the hash as it was", mark_in_front),
)
CHAIN_ANEW: tuple[tuple[str, Tampering], ...] = (
    ("the same, sealed anew", cut_and_sealed),
    ("a request made out to be sent later", made_polite),
    ("a refused URL fetched and called allowed", made_allowed),
    ("a request removed, its page kept", request_removed),
    ("a robots.txt replaced", robots_replaced),
    ("a robots.txt replaced, with its whole story", robots_replaced_with_its_story),
    ("another line named as the rule", rule_changed),
    ("a smaller interval said to be demanded", interval_changed),
    ("a laxer policy put in", policy_changed),
    ("a request said to be a POST", posted),
)
BESIDE: tuple[tuple[str, Tampering], ...] = (
    ("a page's text changed", page_changed),
    ("a page's text and hash changed", page_and_hash_changed),
    ("a page added", page_added),
    ("a page removed", page_removed),
    ("all pages removed", pages_emptied),
    ("the pages' file removed", pages_removed),
    ("all failures removed", failures_emptied),
    ("all robots.txt files removed", robots_emptied),
    ("the status of a robots.txt changed", robots_status_changed),
    ("a page's decision changed", decision_changed),
    ("a redirect led elsewhere", redirect_changed),
    ("another name for what wrote the output", sink_renamed),
    ("another crawl's ledger put in its place", other_ledger),
    ("another crawl's ledger and frontier", other_ledger_and_frontier),
)
AS_IT_IS = (key_given_twice, mark_in_front, other_ledger, other_ledger_and_frontier)  # they write the ledger themselves
WHOLE = (
    pages_emptied,
    page_removed,
    pages_removed,
    failures_emptied,
    robots_emptied,
    sink_renamed,
)  # no record to name


def prove(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code of the command and the first line that it says of what it found."""
    command = [*COMITY, "prove", str(folder), *words]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (said.stdout + said.stderr).splitlines()
    return said.returncode, lines[said.returncode].strip()


def main() -> int:
    defects = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for name, more in (("crawl", ()), ("other", ("--max-pages", "2"))):
            command = [*COMITY, "crawl", "--demo", "--delay", "0.05", "-o", str(root / name), "--json", *more]
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        code, said = prove(root / "crawl")
        noted = json.loads((root / "crawl" / "ledger.jsonl").read_text("utf-8").splitlines()[-1])["hash"]
        print(f"untouched: exit {code}, {said}")
        defects += code != 0

        def tamper(what: str, do: Tampering, *words: str, found: bool = True) -> None:
            nonlocal defects
            shutil.rmtree(root / "copy", ignore_errors=True)
            evidence = Evidence(Path(shutil.copytree(root / "crawl", root / "copy")), root / "other")
            do(evidence)
            if do not in AS_IT_IS:
                evidence.write("ledger", evidence.ledger)
            code, said = prove(evidence.folder, *words)
            wrong = (code != 1 or (", record " not in said and do not in WHOLE)) if found else code != 0
            defects += wrong
            print(f"  {what:46} exit {code}  {said}{'  <-- WRONG' if wrong else ''}")

        print("\nin the ledger, no hash made anew")
        for what, do in IN_PLACE:
            tamper(what, do)
        print("\nin the ledger, the whole chain made anew")
        for what, do in CHAIN_ANEW:
            tamper(what, do)
        print("\nbeside it")
        for what, do in BESIDE:
            tamper(what, do)
        print("\nnothing in the folder can tell: only the last hash noted elsewhere")
        tamper("a request and its page dropped everywhere", dropped_everywhere, found=False)
        tamper("the same, with --hash as noted before", dropped_everywhere, "--hash", noted)
    print(f"\nnot found or not named: {defects}")
    return int(defects > 0)


if __name__ == "__main__":
    sys.exit(main())
