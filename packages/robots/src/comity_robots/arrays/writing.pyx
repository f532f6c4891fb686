# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers of rows to the buffers of Arrow columns, in one pass. Compiled only."""

from comity_robots.arrays.origins cimport prefetch


def write(const unsigned short[::1] codes, int[::1] cited, const int[::1] located, const short[:, ::1] words,
          const int[::1] numbers, const long long[::1] lines, const double[:] delays, dict out):
    """Write the columns of one agent.

    Args:
        codes, cited, located: by row, the outcome, the rule and the capture; the rules' numbers become those of
            `numbers`.
        words: by outcome, four numbers: places of verdict, recommendation and reason among their words, and 1 where it
            may be fetched, 0 where not, -1 where nothing is decided.
        numbers: by rule, its number among those that are cited; None where they have it already.
        lines: by rule that is cited, its line.
        delays: by capture, its Crawl-delay; None where none has any.
        out: the columns by their names: verdict, recommendation, reason, may_fetch, decided, line, cites, delay, delays.
    """
    cdef signed char[::1] verdict = out["verdict"], recommendation = out["recommendation"]
    cdef short[::1] reason = out["reason"]
    cdef unsigned char[::1] may_fetch = out["may_fetch"], decided_bits = out["decided"], cites_bits = out["cites"]
    cdef unsigned char[::1] delayed_bits = out["delays"]
    cdef int[::1] line_numbers = out["line"]
    cdef double[::1] seconds_of = out["delay"]
    cdef Py_ssize_t rows = len(codes), octets = (rows + 7) // 8
    if not (len(cited) == len(located) == len(verdict) == len(recommendation) == len(reason) == len(line_numbers) == rows
            and len(may_fetch) == len(decided_bits) == len(cites_bits) == octets and words.shape[1] == 4
            and (delays is None or (len(seconds_of) == rows and len(delayed_bits) == octets))):
        raise ValueError("columns of one agent differ in length")
    cdef Py_ssize_t row
    cdef int cites
    cdef double seconds
    cdef unsigned int bit, yes = 0, decided = 0, ruled = 0, delayed = 0
    cdef bint numbered = numbers is not None, delaying = delays is not None
    with nogil:
        for row in range(rows):
            if row + 32 < rows:  # tables are large, and rows ask for any place of them
                if cited[row + 32] >= 0 and numbered:
                    prefetch(&numbers[cited[row + 32]])
                if delaying and located[row + 32] >= 0:
                    prefetch(&delays[located[row + 32]])
                cites = cited[row + 16]
                if cites >= 0:
                    prefetch(&lines[numbers[cites] if numbered else cites])
            verdict[row] = <signed char>words[codes[row], 0]
            recommendation[row] = <signed char>words[codes[row], 1]
            reason[row] = words[codes[row], 2]
            bit = <unsigned int>1 << (row & 7)
            if words[codes[row], 3] >= 0:
                decided |= bit
                if words[codes[row], 3]:
                    yes |= bit
            cites = cited[row]
            line_numbers[row] = cited[row] = 0
            if cites >= 0:
                if numbered:
                    cites = numbers[cites]
                cited[row] = cites
                line_numbers[row] = <int>lines[cites]
                ruled |= bit
            if delaying:
                seconds = delays[located[row]] if located[row] >= 0 else 0
                seconds_of[row] = seconds
                if located[row] >= 0 and seconds == seconds:
                    delayed |= bit
            if row & 7 == 7 or row + 1 == rows:
                may_fetch[row >> 3] = <unsigned char>yes
                decided_bits[row >> 3] = <unsigned char>decided
                cites_bits[row >> 3] = <unsigned char>ruled
                if delaying:
                    delayed_bits[row >> 3] = <unsigned char>delayed
                yes = decided = ruled = delayed = 0
