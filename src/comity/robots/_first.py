"""The first question of an agent, answered in one pass over the index; and which rules are an agent's.

Many files are asked once and never again; for them a Matcher would cost more than it saves. This pass reads groups and
rules as the index has them, for dialects whose settings allow it (see `suits`); every other question takes the general
way. It decides exactly as agents.py, rules.py and _match.py do together.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from comity.robots._path import LOOKS as _LOOKS
from comity.robots.dialects import Dialect

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython


def chooses(dialect: Dialect) -> bool:
    """Whether the rules of an agent can be found in one pass."""
    return (
        cython.compiled
        and dialect.agent_match in ("product_token", "letters")
        and dialect.group_choice == "merge_matching"
    )


def suits(dialect: Dialect) -> bool:
    """Whether the first question can be answered in one pass."""
    return chooses(dialect) and dialect.precedence == "longest" and dialect.tie == "allow" and dialect.wildcards


def first(
    body: bytes,
    index: array[int],
    path: bytes,
    names: tuple[bytes, bytes],
    letters: cython.bint,
    index_html: cython.bint,
    comparable: Callable[[bytes], bytes],
) -> bool:
    """Whether the strongest rule for an agent allows a path.

    Args:
        index: of the records of `body`.
        names: what a `User-agent` value is compared with, in lower case; equal where there is but one.
        letters: values are compared by their leading letters, `-` and `_`, instead of as a whole without version.
        comparable: a pattern in the form in which it is compared, for those that are not in it already.
    """
    text: cython.p_const_char = body
    target: cython.p_const_char = path
    length: cython.Py_ssize_t = len(path)
    entries: cython.const[cython.ulonglong][:] = index
    total: cython.Py_ssize_t = len(index)
    number: cython.Py_ssize_t
    entry: cython.ulonglong
    kind: cython.int
    ours: cython.bint = False
    everybodys: cython.bint = False
    named: cython.bint = False
    after_rule: cython.bint = True
    start: cython.p_const_char
    size: cython.Py_ssize_t
    weight: cython.Py_ssize_t
    own: cython.Py_ssize_t = -1  # 2 x octets of the strongest rule of our groups, plus 1 where it allows
    common: cython.Py_ssize_t = -1
    one: bytes = names[0]
    other: bytes = names[1]
    for number in range(total):
        entry = entries[number]
        kind = cython.cast(cython.int, entry & 0xFF)
        start = text + cython.cast(cython.Py_ssize_t, entry >> 32)
        size = cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
        if kind == 1:
            if after_rule:
                ours = everybodys = after_rule = False
            if _is_star(start, size, letters):
                everybodys = True
            elif _is_ours(start, size, letters, one, other):
                ours = named = True
        elif kind <= 3:
            after_rule = True
            if not ours and (named or not everybodys):
                continue
            weight = _weight(start, size, kind == 2, target, length, index_html, comparable)
            if ours:
                own = max(own, weight)
            else:
                common = max(common, weight)
    weight = own if named else common
    return weight < 2 or weight & 1 == 1


def chosen(
    body: bytes,
    index: array[int],
    names: tuple[bytes, bytes],
    letters: cython.bint,
    ends: cython.uint,
    wanted: cython.uint,
) -> tuple[tuple[int, ...], array[int]]:
    """Where the groups that apply to an agent begin in the index, and the numbers of records in them.

    For dialects that compare names so and merge all groups that match.

    Args:
        names, letters: as for `first`.
        ends, wanted: kinds of record that end a run of `User-agent` lines, and those that are asked for, as bits.
    """
    text: cython.p_const_char = body
    entries: cython.const[cython.ulonglong][:] = index
    total: cython.Py_ssize_t = len(index)
    room: cython.p_uint = cython.cast(cython.p_uint, malloc(8 * total + 8))
    groups: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t
    i: cython.Py_ssize_t
    one: bytes = names[0]
    other: bytes = names[1]
    starts: list[int] = []
    numbers = array("I")
    if room == cython.NULL:
        raise MemoryError
    try:
        count = choose_into(
            text,
            cython.address(entries[0]) if total else cython.NULL,
            total,
            letters,
            one,
            len(one),
            other,
            len(other),
            ends,
            wanted,
            room,
            room + total,
            cython.address(groups),
        )
        for i in range(groups):
            starts.append(room[total + i])  # noqa: PERF401 (a comprehension has no C variables)
        if count:
            numbers.frombytes(cython.cast(cython.p_char, room)[: 4 * count])
    finally:
        free(room)
    return tuple(starts), numbers


def choose_into(text, entries, total, letters, one, one_size, other, other_size, ends, wanted, found, starts, groups):
    """`chosen`, compiled (types: see the .pxd): how many records there are.

    A `User-agent` line anywhere makes the agent named, so that what stands under `*` is not meant for it.

    Args:
        found, starts: room for `total` numbers each: of the records, and where groups begin.
        groups: set to the number of groups.
    """
    number: cython.Py_ssize_t
    entry: cython.ulonglong
    kind: cython.uint
    ours: cython.bint = False
    everybodys: cython.bint = False
    named: cython.bint = False
    ended: cython.bint = True
    start: cython.p_const_char
    size: cython.Py_ssize_t
    group: cython.Py_ssize_t = 0  # where it begins
    count: cython.Py_ssize_t = 0
    groups[0] = 0
    for number in range(total):
        entry = entries[number]
        kind = cython.cast(cython.uint, 1) << cython.cast(cython.uint, entry & 0xFF)
        if kind == 2:  # User-agent
            start = text + cython.cast(cython.Py_ssize_t, entry >> 32)
            size = cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
            if ended:
                ours = everybodys = ended = False
                group = number
            if _is_star(start, size, letters):
                if not everybodys and not ours and not named:
                    starts[groups[0]] = group
                    groups[0] += 1
                everybodys = True
            elif not ours and is_called(start, size, letters, one, one_size, other, other_size):
                if not named:  # what was found for everybody does not count
                    groups[0] = 0
                    count = 0
                ours = named = True
                starts[groups[0]] = group
                groups[0] += 1
            continue
        if kind & ends:
            ended = True
        if kind & wanted and (ours or (everybodys and not named)):
            found[count] = number
            count += 1
    return count


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_star(value: cython.p_const_char, size: cython.Py_ssize_t, letters: cython.bint) -> cython.bint:
    return size > 0 and value[0] == 42 and (size == 1 or (letters and _is_blank(value[1])))


@cython.cfunc
@cython.inline
def _is_ours(
    value: cython.p_const_char, size: cython.Py_ssize_t, letters: cython.bint, one: bytes, other: bytes
) -> cython.bint:
    return is_called(value, size, letters, one, len(one), other, len(other))


def is_called(value, size, letters, one, one_size, other, other_size):  # types: see the .pxd
    """Whether a `User-agent` value is one of an agent's two names, which are in lower case."""
    size = _letters(value, size) if letters else _token(value, size)
    return _equals(value, size, one, one_size) or _equals(value, size, other, other_size)


@cython.cfunc
@cython.exceptval(-2)
def _weight(
    pattern: cython.p_const_char,
    size: cython.Py_ssize_t,
    allow: cython.bint,
    path: cython.p_const_char,
    length: cython.Py_ssize_t,
    index_html: cython.bint,
    comparable: object,
) -> cython.Py_ssize_t:
    """Twice the octets of a rule's pattern, plus one where it allows; -1 where it does not match."""
    i: cython.Py_ssize_t
    char: cython.uchar
    plain: cython.bint = True
    looks: cython.p_const_char = cython.cast(bytes, _LOOKS)
    for i in range(size):
        char = cython.cast(cython.uchar, pattern[i])
        if looks[char] and char != 42 and not (char == 36 and i + 1 == size):
            normal: bytes = comparable(pattern[:size])
            return _weight_of(normal, len(normal), allow, path, length, index_html)
        if char == 42 or char == 36:
            plain = False
        elif plain and (i >= length or char != cython.cast(cython.uchar, path[i])):
            # No match, whatever follows; but `Allow: /dir/index.html` may still speak for /dir/.
            if not (allow and index_html):
                return -1
            break
    return _weight_of(pattern, size, allow, path, length, index_html)


@cython.cfunc
@cython.exceptval(check=False)
def _weight_of(
    pattern: cython.p_const_char,
    size: cython.Py_ssize_t,
    allow: cython.bint,
    path: cython.p_const_char,
    length: cython.Py_ssize_t,
    index_html: cython.bint,
) -> cython.Py_ssize_t:
    slash: cython.Py_ssize_t
    if matches_octets(pattern, size, path, length):
        return 2 * size + allow
    if allow and index_html:
        slash = size - 1
        while slash >= 0 and pattern[slash] != 47:
            slash -= 1
        if (
            slash >= 0
            and size - slash >= 10
            and memcmp(pattern + slash, cython.cast(cython.p_char, b"/index.htm"), 10) == 0
        ) and _directory_matches(pattern, slash + 1, path, length):
            return 2 * (slash + 2) + 1
    return -1


@cython.cfunc
@cython.exceptval(check=False)
def _directory_matches(
    pattern: cython.p_const_char, size: cython.Py_ssize_t, path: cython.p_const_char, length: cython.Py_ssize_t
) -> cython.bint:
    """Whether the pattern's directory, anchored at its end, matches the path."""
    star: cython.bint = memchr(pattern, 42, size) != cython.NULL
    if not star:
        return size == length and memcmp(pattern, path, size) == 0
    anchored: bytes = pattern[:size] + b"$"
    return matches_octets(anchored, size + 1, path, length)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_blank(char: cython.char) -> cython.bint:
    return char == 32 or (9 <= char <= 13)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(char: cython.char) -> cython.char:
    return char + 32 if 65 <= char <= 90 else char


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _letters(text: cython.p_const_char, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many leading letters, `-` and `_` there are."""
    i: cython.Py_ssize_t = 0
    char: cython.char
    while i < size:
        char = _lower(text[i])
        if not (97 <= char <= 122 or char == 45 or char == 95):
            break
        i += 1
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _token(text: cython.p_const_char, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many octets a value has without its version; see `token` in agents.py."""
    slash: cython.p_const_char = cython.cast(cython.p_const_char, memchr(text, 47, size))
    last: cython.Py_ssize_t
    if slash != cython.NULL:
        size = slash - text
    while size and _is_blank(text[size - 1]):
        size -= 1
    last = size
    while last and text[last - 1] != 32:
        last -= 1
    if last > 1 and last < size and 48 <= text[last] <= 57:
        last -= 1
        while last and _is_blank(text[last - 1]):
            last -= 1
        if last:
            return last
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _equals(
    text: cython.p_const_char, size: cython.Py_ssize_t, name: cython.p_const_char, length: cython.Py_ssize_t
) -> cython.bint:
    i: cython.Py_ssize_t
    if size != length or size == 0:
        return False
    for i in range(size):  # noqa: SIM110 (a generator would be slow here)
        if _lower(text[i]) != name[i]:
            return False
    return True
