"""The compiled modules below columns refuse what does not fit together, whatever order it comes in."""

import pytest

from comity_robots import DIALECTS

np = pytest.importorskip("numpy")
origins = pytest.importorskip("comity_robots.arrays.origins")
programs = pytest.importorskip("comity_robots.arrays.programs")
rows = pytest.importorskip("comity_robots.arrays.rows")
citing = pytest.importorskip("comity_robots.arrays.citing")

TEXT = b"User-agent: *\nDisallow: /x\n"
URLS = b"https://a.com/xhttps://a.com/y"


def _offsets(*ends: int) -> "np.ndarray":
    return np.array([0, *ends], np.int64)


def _octets(text: bytes) -> "np.ndarray":
    return np.frombuffer(text, np.uint8)


def _one(number: int) -> "np.ndarray":
    return np.array([number], np.int64)


def test_origins_whose_offsets_lead_beyond_their_octets_are_refused() -> None:
    with pytest.raises(ValueError, match="offsets"):
        origins.Origins(_octets(b"https://a.com"), _offsets(99))


def test_columns_of_another_length_or_type_are_refused() -> None:
    known = origins.Origins(_octets(b"https://a.com"), _offsets(13))
    found, asked = np.zeros(2, np.int32), np.zeros(1, np.uint32)
    chunk = _octets(URLS), _offsets(15, 30)
    known.locate(*chunk, _offsets(1), _one(0), None, found, asked)
    assert (found.tolist(), asked.tolist()) == ([0, 0], [2])
    with pytest.raises(ValueError, match="differ in length"):
        known.locate(*chunk, _offsets(1), _one(0), None, found[:1], asked)
    with pytest.raises(ValueError, match="differ in length"):
        known.locate(*chunk, _offsets(1), _one(0), np.zeros(3, np.int64), found, asked)
    with pytest.raises(ValueError, match="mismatch"):
        known.locate(*chunk, _offsets(1), _one(0), None, asked, found)


@pytest.mark.parametrize(("start", "size"), [(-1, 5), (0, 99), (20, 20)])
def test_a_text_that_does_not_lie_in_its_buffer_is_refused(start: int, size: int) -> None:
    with pytest.raises(ValueError, match="does not lie"):
        programs.ProgramTable([_octets(TEXT)], _one(0), _one(start), _one(size), _one(0), 1)


def test_rows_and_rules_that_a_table_does_not_have_are_refused() -> None:
    dialect = DIALECTS["rfc9309"]
    table = programs.ProgramTable([_octets(TEXT)], _one(0), _one(0), _one(len(TEXT)), _one(0), 1)
    builder = programs.Builder([(b"mybot", b"mybot")], dialect)
    tables = np.full((1, 1), np.nan), np.zeros(1, np.uint8), np.ones(1, np.uint32), np.ones(1, np.uint32)
    with pytest.raises(ValueError, match="capture 7"):
        builder.make(table, _one(7), *tables, 0)
    with pytest.raises(ValueError, match="differ in length"):
        builder.make(table, _one(0), tables[0], np.zeros(2, np.uint8), *tables[2:], 0)
    builder.make(table, _one(0), *tables, 0)
    table.number([builder])
    judge = rows.RowJudge(1, dialect, (1, 2, 3, 4, 5, 6), (0,) * 6)
    codes, cited, used = np.zeros((1, 2), np.uint16), np.zeros((1, 2), np.int32), np.zeros(1, np.uint8)
    chunk, starts = (_octets(URLS), _offsets(15, 30)), np.array([13], np.uint32)
    judge.ask(table, *chunk, np.zeros(2, np.int32), starts, codes, cited, 0, used, False)
    assert (codes.tolist(), cited.tolist(), used.tolist()) == ([[3, 4]], [[0, -1]], [1])
    with pytest.raises(ValueError, match="no capture"):
        judge.ask(table, *chunk, np.full(2, 9, np.int32), starts, codes, cited, 0, used, False)
    with pytest.raises(ValueError, match="differ in length"):
        judge.ask(table, *chunk, np.zeros(2, np.int32), starts, codes, cited, 1, used, False)
    assert citing.cite(_one(0), table)[0] == b"Disallow: /x"
    with pytest.raises(ValueError, match="rule 1"):
        citing.cite(_one(1), table)
