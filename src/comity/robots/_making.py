"""From the rules of an agent to its Matcher: ranked, sorted, linked, filed.

The interpreted form keeps Python's own tables. The compiled one works on the octets of the file themselves, so that
making a matcher costs about as much as reading the file did: a pattern becomes an object of its own only where it has
to be normalised. What a rank is made of stands in rules.py.
"""

from __future__ import annotations

from array import array

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._match import Matcher, Tables
from comity.robots._path import FORMS
from comity.robots._path import LOOKS as _LOOKS
from comity.robots.dialects import Dialect
from comity.robots.rules import comparable, ranked

# How rules are ranked; see `precedence` of Dialect.
_LONGEST = cython.declare(cython.int, 0)
_ALLOW_FIRST = cython.declare(cython.int, 2)
_DISALLOW_FIRST = cython.declare(cython.int, 3)
_ORDERS = {"longest": 0, "first": 1, "allow_first": 2, "disallow_first": 3}


def matcher_of(body: bytes, index: array[int], numbers: array[int], dialect: Dialect) -> Matcher:
    """The matcher of an agent.

    Args:
        index: of the records of `body`.
        numbers: which of them are the agent's Allow and Disallow records, in file order.
    """
    if cython.compiled:
        made = _blank(FORMS[dialect.path_form], dialect.semicolon_path, dialect.robots_txt_allowed)
        _pack_records(
            made,
            body,
            index,
            numbers,
            dialect,
            _ORDERS[dialect.precedence],
            dialect.tie == "allow",
            dialect.wildcards,
            dialect.index_html,
        )
        return made
    return matcher(
        ranked(body, [(number, index[number]) for number in numbers], dialect),
        FORMS[dialect.path_form],
        dialect.semicolon_path,
        dialect.wildcards,
        dialect.robots_txt_allowed,
    )


def matcher(ranks: dict[bytes, int], form: int, semicolon: bool, wildcards: bool, robots_txt_allowed: bool) -> Matcher:
    """A matcher of patterns that have their ranks.

    Args:
        ranks: normalised pattern -> rank of the best rule that has it.
        form: how paths are normalised, one of FORMS.
        wildcards: whether `*` and a final `$` are special.
        robots_txt_allowed: whether `/robots.txt` is allowed whatever the rules say.
    """
    made = _blank(form, semicolon, robots_txt_allowed)
    if cython.compiled:
        _pack_ranks(made, ranks, wildcards)
    else:
        made._tables = Tables(ranks, wildcards)
    return made


@cython.cfunc
def _blank(form: cython.int, semicolon: cython.bint, robots_txt_allowed: cython.bint) -> Matcher:
    made: Matcher = Matcher()
    made._form = form
    made._semicolon = semicolon
    made._robots_txt_allowed = robots_txt_allowed
    return made


# The compiled form.


@cython.cfunc
def _pack_ranks(made: Matcher, ranks: dict, wildcards: cython.bint) -> cython.int:
    found: Patterns = room_for(len(ranks))
    count: cython.Py_ssize_t = 0
    pattern: bytes
    try:
        for pattern, rank in ranks.items():
            found[count].text = cython.cast(cython.p_uchar, cython.cast(cython.p_char, pattern))
            found[count].size = len(pattern)
            found[count].rank = rank
            count += 1
        pack(made, found, count, wildcards)
    finally:
        free(found)
    return 0


@cython.cfunc
def _pack_records(
    made: Matcher,
    body: bytes,
    index: object,
    numbers: object,
    dialect: object,
    order: cython.int,
    allow_wins: cython.bint,
    wildcards: cython.bint,
    index_html: cython.bint,
) -> cython.int:
    """Rank the rules of an agent, as `ranked` in rules.py does, and pack them."""
    form: cython.int = made._form
    octets: cython.p_uchar = cython.cast(cython.p_uchar, cython.cast(cython.p_char, body))
    looks: cython.p_uchar = cython.cast(cython.p_uchar, cython.cast(bytes, _LOOKS))
    entries: cython.const[cython.ulonglong][:] = index
    records: cython.const[cython.uint][:] = numbers
    total: cython.Py_ssize_t = len(numbers)
    found: Patterns = room_for(2 * total)
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    entry: cython.ulonglong
    text: cython.p_uchar
    char: cython.uchar
    allow: cython.bint
    made_up: list[bytes] = []  # patterns that do not stand in the file as they are; kept until they are packed
    pattern: bytes
    try:
        for i in range(total):
            entry = entries[records[i]]
            text = octets + cython.cast(cython.Py_ssize_t, entry >> 32)
            size = cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
            allow = (entry & 0xFF) == 2
            for at in range(size):
                char = text[at]
                if looks[char] and not (wildcards and (char == 42 or (char == 36 and at + 1 == size))):
                    if form == 0:
                        pattern = comparable(text[:size], dialect)
                        size = len(pattern)
                    else:  # as `comparable`, without its cost
                        pattern = PyBytes_FromStringAndSize(cython.NULL, 3 * size)
                        size = normalise(
                            text,
                            size,
                            form,
                            wildcards,
                            cython.cast(cython.p_uchar, cython.cast(cython.p_char, pattern)),
                        )
                    made_up.append(pattern)
                    text = cython.cast(cython.p_uchar, cython.cast(cython.p_char, pattern))
                    break
            found[count].text = text
            found[count].size = size
            found[count].rank = _rank(records[i], size, allow, order, allow_wins)
            count += 1
            if allow and index_html:
                at = size - 1
                while at >= 0 and text[at] != 47:
                    at -= 1
                if (
                    at >= 0
                    and size - at >= 10
                    and memcmp(text + at, cython.cast(cython.p_char, b"/index.htm"), 10) == 0
                ):
                    pattern = text[: at + 1] + b"$"
                    made_up.append(pattern)
                    found[count].text = cython.cast(cython.p_uchar, cython.cast(cython.p_char, pattern))
                    found[count].size = at + 2
                    found[count].rank = _rank(records[i], at + 2, allow, order, allow_wins)
                    count += 1
        pack(made, found, count, wildcards)
    finally:
        free(found)
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def _rank(
    number: cython.ulonglong, size: cython.Py_ssize_t, allow: cython.bint, order: cython.int, allow_wins: cython.bint
) -> cython.ulonglong:
    """As `_rank` in rules.py."""
    yes: cython.ulonglong = 1 if allow else 0
    weight: cython.ulonglong = 0
    most: cython.ulonglong = 0xFFFFFFFF
    if order == _LONGEST:
        weight = cython.cast(cython.ulonglong, size) << 34
        if allow_wins:
            weight |= yes << 33
    elif order == _ALLOW_FIRST:
        weight = yes << 33
    elif order == _DISALLOW_FIRST:
        weight = (1 - yes) << 33
    return weight | (most - number) << 1 | (yes if size else 1)
