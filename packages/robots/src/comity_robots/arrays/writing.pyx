# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers of rows to the buffers of Arrow columns, in one pass. Compiled only."""



def write(rows, codes, cited, located, words, numbers, lines, delays, step, out):
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
    cdef Py_ssize_t row
    cdef short* own
    cdef int cites
    cdef double seconds
    cdef unsigned int bit
    cdef Py_ssize_t count = rows, apart = step
    cdef unsigned short* code = <unsigned short*><size_t>codes
    cdef int* rule = <int*><size_t>cited
    cdef int* capture = <int*><size_t>located
    cdef short* word = <short*><size_t>words
    cdef int* number = <int*><size_t>numbers
    cdef Numbers line = <Numbers><size_t>lines
    cdef double* delay = <double*><size_t>delays
    cdef Columns into = (<Columns*><size_t>out)[0]
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
