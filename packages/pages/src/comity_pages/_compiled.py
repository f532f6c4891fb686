"""Which modules Cython compiles. The build reads this; nothing else lists them."""

MODULES: tuple[str, ...] = (
    "_utf8",
    "urls",
    "signals._tags",
    "signals._reader",
    "content._forest",
    "content.blocks",
    "html.bounds",
    "content.features",
    "markdown.markdown",
    "html.sheets",
    "html.tree",
)
