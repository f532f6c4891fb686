"""The bytes that a record of the ledger is hashed as are the same whichever library writes them."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity.crawler.output.ledger import canonical
from comity_pages import urls
from comity_pages._utf8 import by_any_writer

VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False, allow_infinity=False))


def by_the_standard_library(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode("ascii")


@given(st.dictionaries(st.text(), VALUES))
@example({"b": 1e-4, "a": math.nextafter(1e-4, 0), "c": -0.0, "d": 5e-324, "e": -3.5, "f": 0.1 + 0.2})
@example({"a": 1e16, "b": math.nextafter(1e16, 0), "c": 1e22, "d": 1795385496.004026, "e": 1e15})
@example({"a": 2**64, "b": 2**63, "c": -(2**63) - 1, "d": True, "e": 2**53 + 1})
@example({"a": "\x7f", "b": "\x00\b\t\n\f\r\x1f", "c": "/\\\"'<>&"})
@example({"a": "\ud800"})
@example({"a": "é", "é": "\u2028", "\U0001f600": "😀"})
@example({"a": {"z": 1, "b": 1e-7}, "c": [1e-7, "\x7f"]})
def test_a_record_is_the_same_octets_whichever_library_writes_it(record: dict[str, Any]) -> None:
    assert canonical(record) == by_the_standard_library(record)


def test_a_url_in_normal_form_is_written_as_quickly_as_any_text() -> None:
    record = {"url": urls.Url("http://a.test/\u00e9"), "status": 200}
    assert by_any_writer(record.values())
    assert canonical(record) == by_the_standard_library(record)


@given(st.floats(min_value=1e-4, max_value=1e16, exclude_max=True))
def test_fractions_are_written_with_the_fewest_digits_that_tell_them_apart(number: float) -> None:
    assert canonical({"at": number}) == b'{"at":%s}' % repr(number).encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"at": number})
