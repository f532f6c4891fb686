"""Verdicts over columns, as a C compiler takes them. Where they were not built, `plain.py` judges row by row."""
