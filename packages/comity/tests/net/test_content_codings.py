"""Content codings: what servers send under each name, in parts of any size, comes out as it went in."""

import gzip
import random
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import Site

import comity
from comity import Client, Policy
from comity.net import decoding
from comity.net.decoding import decoder_for

URL = "http://example.test/"
ROOM = 10**8
FAST = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


@pytest.fixture(scope="module", autouse=True, params=["isal.isal_zlib", "zlib", "deflate"])
def library(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each of the three that may inflate; libdeflate with zlib for what is not whole."""
    module = pytest.importorskip(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_inflating", zlib if request.param == "deflate" else module)
        patch.setattr(decoding, "_at_once", module if request.param == "deflate" else None)
        yield


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def two_members(body: bytes) -> bytes:
    return gzip.compress(body[: len(body) // 2]) + gzip.compress(body[len(body) // 2 :])


def wrapped(body: bytes) -> bytes:
    return gzip.compress(zlib.compress(gzip.compress(gzip.compress(body))))


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip of two members": ("gzip", two_members),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "gzip twice": ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
    "gzip in deflate": ("gzip, deflate", lambda body: zlib.compress(gzip.compress(body))),
    "five": ("deflate, identity, gzip, x-gzip, deflate, gzip", lambda body: wrapped(raw_deflate(body))),
}


def decoded(coding: str, packed: bytes, size: int) -> bytes:
    decoder = decoder_for([coding], URL, 10_000.0)
    assert decoder is not None
    parts = []
    for at in range(0, len(packed), size):
        parts += decoder.feed(packed[at : at + size], ROOM, last=at + size >= len(packed))
    decoder.close()
    return b"".join(parts)


@pytest.mark.parametrize("how", PACKED)
@given(body=st.binary(max_size=300) | st.integers(0, 400).map(lambda size: b"a" * size), size=st.integers(1, 400))
def test_every_body_comes_out_as_it_went_in_whatever_its_parts(how: str, body: bytes, size: int) -> None:
    coding, pack = PACKED[how]
    assert decoded(coding, pack(body), size) == body


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("length", [262_143, 262_144, 262_145, 262_244, 3 * 262_144 + 100])
def test_a_body_is_whole_where_the_last_octets_wait_inside_the_decoder(how: str, length: int) -> None:
    coding, pack = PACKED[how]
    body = (b"0123456789abcdef" * (length // 16 + 1))[:length]
    assert decoded(coding, pack(body), 1 << 20) == body


@pytest.mark.parametrize("length", [1, 5_000, 600_000])
def test_two_members_that_are_the_same_are_two(length: int) -> None:
    body = (b"0123456789abcdef" * (length // 16 + 1))[:length]
    assert decoded("gzip", gzip.compress(body) * 2, 1 << 20) == body * 2


@pytest.mark.parametrize("padding", [bytes(1), bytes(512), bytes(4) + (12).to_bytes(4, "little"), b"\x1f\x00" * 8])
def test_padding_after_a_member_is_left_out(padding: bytes) -> None:
    assert decoded("gzip", gzip.compress(b"hello, world") + padding, 1 << 20) == b"hello, world"


@pytest.mark.parametrize("claim", [0, 1, 11, 13, 400_000, 2**32 - 1])
def test_a_size_that_is_not_true_is_damage_and_not_what_is_written(claim: int) -> None:
    packed = gzip.compress(b"hello, world")[:-4] + claim.to_bytes(4, "little")
    with pytest.raises(comity.FetchError, match="damaged"):
        decoded("gzip", packed, 1 << 20)


def test_a_sum_that_is_wrong_is_damage() -> None:
    packed = bytearray(gzip.compress(b"hello, world"))
    packed[-8] ^= 1
    with pytest.raises(comity.FetchError, match="damaged"):
        decoded("gzip", bytes(packed), 1 << 20)


def test_a_whole_body_gives_no_more_than_there_is_room_for() -> None:
    decoder = decoder_for(["gzip"], URL, 10_000.0)
    assert decoder is not None
    assert b"".join(decoder.feed(gzip.compress(b"a" * 5_000), 100, last=True)) == b"a" * 101


@pytest.mark.parametrize("size", [20, 40_000, 400_000])
@pytest.mark.parametrize("member", [b"", b"x"])
def test_a_body_of_members_that_hold_next_to_nothing_is_given_up_and_few_of_them_are_not(
    member: bytes, size: int
) -> None:
    few = gzip.compress(member) * 200
    assert decoded("gzip", few + gzip.compress(b"page"), size) == member * 200 + b"page"
    with pytest.raises(comity.TooLarge, match="too many gzip members"):
        decoded("gzip", gzip.compress(member) * 20_000, size)


def test_codings_in_codings_are_bounded_by_what_was_received() -> None:
    inner = gzip.compress(bytes(50_000_000))
    for body in (inner, gzip.compress(bytes(5_000)) * 20_000, bytes(50_000_000)):
        decoder = decoder_for(["gzip, gzip"], URL, 100.0)
        assert decoder is not None
        with pytest.raises((comity.TooLarge, comity.FetchError)):
            list(decoder.feed(gzip.compress(body), ROOM))
        assert decoder._decoded <= 2_000_000
    decoder = decoder_for(["gzip", "gzip"], URL, 1e9)
    assert decoder is not None
    assert sum(map(len, decoder.feed(gzip.compress(inner), 1_000))) == 1_001
    decoder = decoder_for(["gzip, gzip"], URL, 1e9)
    assert decoder is not None
    padded = gzip.compress(gzip.compress(b"page") + bytes(5_000_000))
    with pytest.raises(comity.TooLarge, match="larger than the limit"):
        sum(len(part) for at in range(0, len(padded), 500) for part in decoder.feed(padded[at : at + 500], 1_000))


def test_a_body_of_more_codings_than_five_is_not_read() -> None:
    with pytest.raises(comity.UnwantedType, match="which was not requested"):
        decoder_for(["gzip"] * 6, URL, 100.0)


def test_a_body_of_many_small_records_each_a_member_of_its_own_is_read() -> None:
    record = random.Random(0).randbytes(300)  # as large packed as a record of a web archive
    assert decoded("gzip", gzip.compress(record) * 2_000, 1 << 16) == record * 2_000


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_follows_the_end_of_a_body_is_not_read_for_ever(coding: str) -> None:
    decoder = decoder_for([coding], URL, 100.0)
    assert decoder is not None
    body = {"gzip": gzip.compress, "deflate": zlib.compress}[coding](b"page")
    assert b"".join(decoder.feed(body, 10_000)) == b"page"
    for _ in range(10):
        assert not list(decoder.feed(bytes(100_000), 10_000 - 4))
    with pytest.raises(comity.TooLarge, match="larger than the limit"):
        list(decoder.feed(bytes(100_000), 10_000 - 4))


def test_of_a_body_in_one_part_that_is_over_the_limit_the_start_is_read_all_the_same() -> None:
    decoder = decoder_for(["gzip"], URL, 100.0)
    assert decoder is not None
    body = random.Random(1).randbytes(3_000_000)
    assert next(decoder.feed(gzip.compress(body), 10_000)) == body[:10_001]


def test_what_ends_too_soon_is_told() -> None:
    for coding, pack in PACKED.values():
        packed = pack(b"hello, world")
        for cut in (1, 2, len(packed) - 1):
            for size in (7, len(packed)):
                with pytest.raises(comity.FetchError, match="ends too soon"):
                    decoded(coding, packed[:cut], size)


@pytest.mark.parametrize("word", ["none", "utf-8", "UTF-8", "binary", "text/html", "", "identity, none"])
def test_a_word_that_names_no_coding_changes_nothing(site: Site, word: str) -> None:  # covers: L10
    for path, body in (("/robots.txt", "User-agent: *\nDisallow: /no\n"), ("/page", "hello")):
        site.set(path, body, headers={"Content-Encoding": word})
    with Client(FAST) as client:
        assert client.get(site.url("/page")).body == b"hello"
        with pytest.raises(comity.RobotsDisallowed, match="line 2"):
            client.get(site.url("/no"))
    assert site.paths() == ["/robots.txt", "/page"]


def test_a_body_that_two_servers_packed_is_read(site: Site) -> None:
    packed = gzip.compress(gzip.compress(b"User-agent: *\nDisallow: /no\n"))
    for path in ("/robots.txt", "/page"):
        site.set(path, packed, headers={"Content-Encoding": "gzip, gzip"})
    with Client(FAST) as client:
        assert client.get(site.url("/page")).body.startswith(b"User-agent")
        with pytest.raises(comity.RobotsDisallowed, match="line 2"):
            client.get(site.url("/no"))


def test_a_coding_counts_beside_a_word_that_names_none(site: Site) -> None:
    site.set("/page", gzip.compress(b"hello"), headers={"Content-Encoding": "utf-8, gzip"})
    with Client(FAST) as client:
        assert client.get(site.url("/page")).body == b"hello"


def test_a_coding_that_was_not_asked_for_is_an_answer_and_not_asked_for_again(site: Site) -> None:
    site.set("/page", b"\x0b\x02\x80hello\x03", headers={"Content-Encoding": "br"})
    with Client(FAST) as client, pytest.raises(comity.UnwantedType, match="'br', which was not requested"):
        client.get(site.url("/page"))
    assert site.paths() == ["/robots.txt", "/page"]
