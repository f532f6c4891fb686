# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers of rows to the buffers of Arrow columns, in one pass. Compiled only."""



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
        out: the columns by their names, as `Columns` has them.
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
    cdef const short* own
    cdef int cites
    cdef double seconds
    cdef unsigned int bit
    cdef Py_ssize_t count = rows, apart = 1
    cdef const unsigned short* code = &codes[0]
    cdef int* rule = &cited[0]
    cdef const int* capture = &located[0]
    cdef const short* word = &words[0, 0]
    cdef const int* number = NULL
    cdef Numbers line = <Numbers>&lines[0]
    cdef const double* delay = NULL
    cdef Columns into = Columns(&verdict[0], &recommendation[0], &reason[0], &may_fetch[0], &decided_bits[0],
                                &line_numbers[0], &cites_bits[0], &seconds_of[0], &delayed_bits[0])
    if numbers is not None:
        number = &numbers[0]
    if delays is not None:
        delay = &delays[0]
        apart = delays.strides[0] // 8
    cdef unsigned int yes = 0, decided = 0, ruled = 0, delayed = 0
    with nogil:
        for row in range(count):
            if row + 32 < count:  # tables are large, and rows ask for any place of them
                if rule[row + 32] >= 0 and number != NULL:
                    prefetch(number + rule[row + 32])
                if delay != NULL and capture[row + 32] >= 0:
                    prefetch(delay + capture[row + 32] * apart)
                cites = rule[row + 16]
                if cites >= 0:
                    prefetch(line + (number[cites] if number != NULL else cites))
            own = word + 4 * code[row]
            into.verdict[row] = <signed char>own[0]
            into.recommendation[row] = <signed char>own[1]
            into.reason[row] = own[2]
            bit = <unsigned int>1 << (row & 7)
            if own[3] >= 0:
                decided |= bit
                if own[3]:
                    yes |= bit
            cites = rule[row]
            into.line[row] = rule[row] = 0
            if cites >= 0:
                if number != NULL:
                    cites = number[cites]
                rule[row] = cites
                into.line[row] = <int>line[cites]
                ruled |= bit
            if delay != NULL:
                seconds = delay[capture[row] * apart] if capture[row] >= 0 else 0
                into.delay[row] = seconds
                if capture[row] >= 0 and seconds == seconds:
                    delayed |= bit
            if row & 7 == 7 or row + 1 == count:
                into.may_fetch[row >> 3] = <unsigned char>yes
                into.decided[row >> 3] = <unsigned char>decided
                into.cites[row >> 3] = <unsigned char>ruled
                if delay != NULL:
                    into.delays[row >> 3] = <unsigned char>delayed
                yes = decided = ruled = delayed = 0
