MAX_SOURCE: int
MAX_HTML: int
MAX_TAGS: int
MAX_ATTRIBUTES: int
MAX_OPEN: int
MAX_FORMATTING: int
MAX_SHAPES: int
MAX_OPTIONS: int

def limit_markup(html: str, url: str) -> tuple[str, bool]: ...
