# cython: boundscheck=False, wraparound=False, cdivision=True
"""Numbers of rows to the buffers of Arrow columns, in one pass. Compiled only."""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython


COMPILED = cython.compiled


def write(
    rows: int,
    codes: int,
    cited: int,
    located: int,
    words: int,
    numbers: int,
    lines: int,
    delays: int,
    step: int,
    out: int,
) -> None:
    """Write the columns of one agent.

    Args:
        codes, cited, located: addresses, by row, of the outcome (16 bits), and of the rule and the capture (32 bits);
            the rules' numbers become those of `numbers`.
        words: address, by outcome, of four 16-bit numbers: places of verdict, recommendation and reason among their
            words, and 1 where it may be fetched, 0 where not, -1 where nothing is decided.
        numbers: address, by rule, of its number among those that are cited, 32 bits; 0 where they have it already.
        lines: address, by rule that is cited, of its line (64 bits).
        delays: address, by capture, of its Crawl-delay, `step` floats from one to the next; 0 where none has any.
        out: address of the addresses of Columns.
    """
    count: cython.Py_ssize_t = rows
    apart: cython.Py_ssize_t = step
    code: cython.p_ushort = cython.cast(cython.p_ushort, cython.cast(cython.size_t, codes))
    rule: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, cited))
    capture: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, located))
    word: cython.p_short = cython.cast(cython.p_short, cython.cast(cython.size_t, words))
    number: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, numbers))
    line: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, lines))
    delay: cython.p_double = cython.cast(cython.p_double, cython.cast(cython.size_t, delays))
    into: Columns = cython.cast(cython.pointer(Columns), cython.cast(cython.size_t, out))[0]
    row: cython.Py_ssize_t
    own: cython.p_short
    cites: cython.int
    seconds: cython.double
    bit: cython.uint
    yes: cython.uint = 0
    decided: cython.uint = 0
    ruled: cython.uint = 0
    delayed: cython.uint = 0
    with cython.nogil:
        for row in range(count):
            if row + 32 < count:  # tables are large, and rows ask for any place of them
                if rule[row + 32] >= 0 and number != cython.NULL:
                    prefetch(number + rule[row + 32])
                if delay != cython.NULL and capture[row + 32] >= 0:
                    prefetch(delay + capture[row + 32] * apart)
                cites = rule[row + 16]
                if cites >= 0:
                    prefetch(line + (number[cites] if number != cython.NULL else cites))
            own = word + 4 * code[row]
            into.verdict[row] = cython.cast(cython.schar, own[0])
            into.recommendation[row] = cython.cast(cython.schar, own[1])
            into.reason[row] = own[2]
            bit = cython.cast(cython.uint, 1) << (row & 7)
            if own[3] >= 0:
                decided |= bit
                if own[3]:
                    yes |= bit
            cites = rule[row]
            into.line[row] = rule[row] = 0
            if cites >= 0:
                if number != cython.NULL:
                    cites = number[cites]
                rule[row] = cites
                into.line[row] = cython.cast(cython.int, line[cites])
                ruled |= bit
            if delay != cython.NULL:
                seconds = delay[capture[row] * apart] if capture[row] >= 0 else 0
                into.delay[row] = seconds
                if capture[row] >= 0 and seconds == seconds:
                    delayed |= bit
            if row & 7 == 7 or row + 1 == count:
                into.may_fetch[row >> 3] = cython.cast(cython.uchar, yes)
                into.decided[row >> 3] = cython.cast(cython.uchar, decided)
                into.cites[row >> 3] = cython.cast(cython.uchar, ruled)
                if delay != cython.NULL:
                    into.delays[row >> 3] = cython.cast(cython.uchar, delayed)
                yes = decided = ruled = delayed = 0
