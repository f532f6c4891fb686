"""What becomes of the examples of other systems runs as the page shows, against a site."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from sites import Site

PAGE = (Path(__file__).parents[4] / "docs" / "coming-from.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"This becomes:\n```python\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)
BY_SYSTEM = dict(zip(("Ladon", "F9", "yoink"), EXAMPLES, strict=True))


# covers: L1, L6, F14, F17, Y7, Y8, Y9
@pytest.mark.parametrize("system", BY_SYSTEM)
def test_an_example_of_another_system_becomes_what_the_page_shows(system: str, site: Site) -> None:
    code, shown = BY_SYSTEM[system]
    rules = "Disallow: /private\nCrawl-delay: 0.5\n" + ("" if system == "Ladon" else "Disallow: /*.pdf$\n")
    site.set("/robots.txt", f"User-agent: *\n{rules}")
    site.link("/", "/about", "/private", "/docs/manual.pdf", "/docs/manual.pdf?download=1")
    code = code.replace("https://example.com", site.url(""))
    code, allowed = re.subn(r'(agent="[^"]*")', r'\1, allow_addresses=("127.0.0.0/8",)', code)
    assert allowed == 1
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, system, "exec"), {"__name__": system})
    assert printed.getvalue().replace(site.url(""), "https://example.com") == shown
    assert "/private" not in site.paths()
