"""Which modules Cython compiles. The build reads this; nothing else lists them."""

MODULES: tuple[str, ...] = (
    "plain_urls",
    "engine.records",
    "engine.paths",
    "engine.matcher",
    "arrays.origins",
    "arrays.rules",
    "arrays.programs",
    "arrays.citing",
    "arrays.rows",
    "arrays.writing",
)
