"""A crawl's frontier in a SQLite file beside its output, with a folder of fingerprints."""
