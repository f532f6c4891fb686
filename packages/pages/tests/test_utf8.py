"""UTF-8 as bytes: well-formed or not, and as a JSON string, as Python's own decoder and encoder say."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity_pages._utf8 import is_utf8, json_string

pytestmark = pytest.mark.both_forms

EDGES = [
    0x22,
    0x5C,
    0x0A,
    0x1F,
    0x41,
    0x7F,
    0x80,
    0x8F,
    0x90,
    0x9F,
    0xA0,
    0xBF,
    0xC1,
    0xC2,
    0xE0,
    0xED,
    0xEF,
    0xF0,
    0xF4,
]


@given(st.one_of(st.binary(), st.lists(st.sampled_from([*EDGES, 0xF5, 0xFF]), max_size=24).map(bytes)))
@example(b"\xed\xa0\x80")  # a surrogate
@example(b"\xc0\xaf")  # an overlong form
@example(b"12345678\xf4\x8f\xbf\xbf")
@example("é".encode()[:1])
def test_bytes_are_utf8_if_python_decodes_them(data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        assert not is_utf8(data)
    else:
        assert is_utf8(data)


@given(st.one_of(st.text(), st.text(alphabet='ab"\\/\n\r\t\b\f\x00\x0b\x1f\x7fé日😀')))
def test_a_json_string_is_the_one_that_json_writes(text: str) -> None:
    assert json_string(text.encode()) == json.dumps(text, ensure_ascii=False).encode()


@pytest.mark.parametrize("special", ['"', "\\", "\n", "\x01", "é"])
@pytest.mark.parametrize("size", range(0, 40, 3))
def test_what_is_escaped_may_stand_anywhere(size: int, special: str) -> None:
    for place in range(size + 1):
        text = "x" * place + special + "y" * (size - place)
        assert json_string(text.encode()) == json.dumps(text, ensure_ascii=False).encode()


def test_an_escape_may_follow_the_last_octets_for_which_there_is_room() -> None:
    for quotes in range(48):
        text = '"' * quotes + "x" * 15 + "\x01"
        assert json_string(text.encode()) == json.dumps(text).encode()


@pytest.mark.parametrize("text", ["", '"' * 10, '"' * 100_000, "\x01" * 100_000, "plain " * 100_000, "é\n" * 50_000])
def test_a_json_string_stands_between_what_it_is_given(text: str) -> None:
    made = json_string(text.encode(), b'{"body":', b"}\n")
    assert made == b'{"body":' + json.dumps(text, ensure_ascii=False).encode() + b"}\n"
