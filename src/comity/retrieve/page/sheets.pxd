cdef extern from "Python.h":
    Py_UCS4 char_at "PyUnicode_READ_CHAR"(str text, Py_ssize_t at) nogil
