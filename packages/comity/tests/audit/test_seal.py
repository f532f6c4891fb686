"""A crawl is sealed by the key of an identity, with the time by an authority; what is changed after that shows."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from commands import ALLOW, comity, no_room_beyond
from sites import Site

from comity.identity import Identity, create, rotate
from comity.signatures.folder import KEYS_FOLDER, load

NOW = 1_700_000_000.0
SAID = Identity(name="ExampleBot", page="https://bot.test/bot/", contact="bot@bot.test", purpose="search")
TSA = """
[tsa]
default_tsa = this
[this]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
"""


@pytest.fixture
def crawled(tmp_path: Path, site: Site) -> Path:
    """A folder with a crawl `out` and an identity `id`."""
    create(tmp_path / "id", SAID, NOW)
    site.link("/", "/a", "/b")
    done = comity("crawl", site.url("/"), "-o", "out", "--delay", "0", *ALLOW, cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    return tmp_path


class Authority:
    """A time-stamp authority: `openssl ts` behind a real server."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        folder.mkdir()
        (folder / "tsa.cnf").write_text(TSA)
        (folder / "serial").write_text("01\n")
        (folder / "leaf.ext").write_text("extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n")
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
                     "-subj", "/CN=Root", "-days", "9999")  # fmt: skip
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "csr", "-subj", "/CN=Clock")
        self.openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-out", "leaf.pem", "-days", "9999", "-extfile", "leaf.ext")  # fmt: skip
        site.set("/stamp", self._answer)

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    async def _answer(self, request: web.Request) -> web.Response:
        assert request.content_type == "application/timestamp-query"
        (self.folder / "query").write_bytes(await request.read())
        self.openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-signer", "leaf.pem",
                     "-inkey", "key", "-out", "reply")  # fmt: skip
        return web.Response(
            body=(self.folder / "reply").read_bytes(), headers={"Content-Type": "application/timestamp-reply"}
        )

    @property
    def url(self) -> str:
        return self.site.url("/stamp")


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    pytest.importorskip("rfc3161_client")
    with Site("127.0.0.2") as site:
        yield Authority(tmp_path / "tsa", site)


def sealed(folder: Path, *more: str) -> dict[str, str]:
    done = comity("seal", "out", "--identity", "id", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads((folder / "out" / "seal.json").read_text())
    return found


def test_a_sealed_crawl_is_proved_to_be_as_it_was_sealed(crawled: Path) -> None:
    found = sealed(crawled)
    keyid = load(crawled / "id").keys[0].public().thumbprint
    told = comity("prove", "out", "--sealed-by", keyid, cwd=crawled)
    assert told.returncode == 0, told.stdout
    assert f"by the key {keyid}, which claims to be of https://bot.test" in told.stdout
    assert found["hash"] in told.stdout
    private = json.loads(next((crawled / "id" / KEYS_FOLDER).iterdir()).read_text())["d"]
    assert private not in (crawled / "out" / "seal.json").read_text()


def _with(name: str, value: object) -> Callable[[Path], None]:
    def change(out: Path) -> None:
        found = json.loads((out / "seal.json").read_text())
        assert name in found
        (out / "seal.json").write_text(json.dumps(found | {name: value}))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with("hash", "0" * 64), "its signature does not hold"),
        (_with("at", 1), "its signature does not hold"),
        (_with("agent", "https://other.test"), "its signature does not hold"),
        (_with("x", "A" * 43), "its signature does not hold"),
        (_with("signature", "AAAA"), "its signature does not hold"),
        (_with("x", "+"), "damaged"),
        (_with("agent", 7), "damaged"),
        (lambda out: (out / "seal.json").write_text("{"), "damaged"),
        (lambda out: (out / "seal.json").unlink(), "it is missing"),
    ],
    ids="hash at agent key signature no-key no-text no-json removed".split(),
)
def test_a_seal_in_which_one_thing_is_changed_is_a_finding(
    crawled: Path, change: Callable[[Path], None], said: str
) -> None:
    sealed(crawled)
    keyid = load(crawled / "id").keys[0].public().thumbprint
    change(crawled / "out")
    told = comity("prove", "out", "--sealed-by", keyid, cwd=crawled)
    assert told.returncode == 1
    assert f"seal.json: {said}" in told.stdout or said in told.stdout


def test_a_seal_by_another_key_is_told_from_the_one_that_was_noted(crawled: Path) -> None:
    noted = load(crawled / "id").keys[0].public().thumbprint
    create(crawled / "other", SAID, NOW)
    sealed(crawled, "--identity", "other")
    assert comity("prove", "out", cwd=crawled).returncode == 0
    told = comity("prove", "out", "--sealed-by", noted, cwd=crawled)
    assert told.returncode == 1
    assert f"not by {noted}" in told.stdout


def test_a_crawl_that_went_on_is_to_be_sealed_again(crawled: Path, site: Site) -> None:
    found = sealed(crawled)
    resumed = comity("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW, cwd=crawled)
    assert resumed.returncode in (0, 2), resumed.stderr
    assert f"it was made when the last hash was {found['hash']}" in comity("prove", "out", cwd=crawled).stdout
    sealed(crawled)
    assert comity("prove", "out", cwd=crawled).returncode == 0


def test_a_crawl_that_is_not_proved_is_not_sealed(crawled: Path) -> None:
    ledger = crawled / "out" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"GET"', '"PUT"', 1))
    done = comity("seal", "out", "--identity", "id", cwd=crawled)
    assert done.returncode == 1
    assert "not sealed: the crawl is not proved" in done.stderr
    assert not (crawled / "out" / "seal.json").exists()
    assert comity("seal", "out", cwd=crawled).returncode == 64


def test_an_authority_stamps_a_seal_with_the_time(crawled: Path, authority: Authority) -> None:
    sealed(crawled, "--authority", authority.url, *ALLOW)
    unchecked = comity("prove", "out", cwd=crawled)
    assert unchecked.returncode == 0
    assert "by whom was not checked" in unchecked.stdout
    checked = comity("prove", "out", "--authority", "tsa/ca.pem", cwd=crawled)
    assert checked.returncode == 0, checked.stdout
    assert "by an authority of tsa/ca.pem" in checked.stdout
    authority.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k", "-out", "other.pem",
                      "-subj", "/CN=Root", "-days", "9999")  # fmt: skip
    told = comity("prove", "out", "--authority", "tsa/other.pem", cwd=crawled)
    assert told.returncode == 1
    assert "its time stamp does not hold" in told.stdout
    assert comity("prove", "out", "--authority", "out/ledger.jsonl", cwd=crawled).returncode == 66


def test_a_time_stamp_of_another_seal_does_not_count(crawled: Path, authority: Authority) -> None:
    first = sealed(crawled, "--authority", authority.url, *ALLOW)
    rotate(crawled / "id", NOW)
    second = sealed(crawled)
    _with("timestamp", first["timestamp"])(crawled / "out")
    assert first["signature"] != second["signature"]
    told = comity("prove", "out", "--authority", "tsa/ca.pem", cwd=crawled)
    assert told.returncode == 1
    assert "its time stamp is for something else" in told.stdout


@pytest.mark.parametrize(("status", "body"), [(500, b""), (200, b""), (200, b"no"), (302, b"")])
def test_an_authority_that_gives_no_stamp_leaves_no_seal(crawled: Path, site: Site, status: int, body: bytes) -> None:
    pytest.importorskip("rfc3161_client")
    site.set("/stamp", body, status=status, headers={"Location": "/other"})
    done = comity("seal", "out", "--identity", "id", "--authority", site.url("/stamp"), *ALLOW, cwd=crawled)
    assert done.returncode == 3, done.stderr
    assert not (crawled / "out" / "seal.json").exists()


def test_a_full_disk_leaves_the_earlier_seal_and_names_the_file(crawled: Path) -> None:
    sealed(crawled)
    before = (crawled / "out" / "seal.json").read_bytes()
    with no_room_beyond(10):
        refused = comity("seal", "out", "--identity", "id", cwd=crawled)
    assert refused.returncode == 74, refused
    assert f"no room left for {Path('out', 'seal.json')}" in refused.stderr
    assert (crawled / "out" / "seal.json").read_bytes() == before
    assert not (crawled / "out" / "seal.json.new").exists()
    assert comity("prove", "out", cwd=crawled).returncode == 0


def test_a_seal_that_is_cut_short_is_a_finding_wherever_it_ends(crawled: Path) -> None:
    sealed(crawled)
    path = crawled / "out" / "seal.json"
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 40):
        path.write_bytes(whole[:length])
        told = comity("prove", "out", cwd=crawled)
        assert told.returncode == 1, length
        assert "seal.json: it cannot be read, or is damaged" in told.stdout
