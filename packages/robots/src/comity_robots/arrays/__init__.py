"""Verdicts over columns, by a C compiler. Where it was not there, who asks judges row by row."""
