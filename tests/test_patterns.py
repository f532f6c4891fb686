"""Every regular expression of the source takes time in proportion to its text, or its text is cut.

The list is made from the syntax trees, and from it a test for each: a new pattern is on it by itself.
"""

import re
import signal

import pytest
from patterns import ATTACKS, Pattern, found, hangs, superlinear

from comity_pages.content.blocks import WORDS_OF_NAMES
from comity_pages.signals import soft_404

# Local names of the patterns that a function puts together, as they are at their worst.
EXAMPLES = {
    "audit/url_status.py:_names()": {
        "origin": b"https://site\\.example",
        "bare": b"|(?<![\\w/.%~:<-])",
        "path": b"/page",
    },
    "crawler/output/cdxj.py:_SESSION_IN_QUERY": {"session": "cfid=[^&]+&cftoken=[^&]+"},
    "mcp/untrusted.py:found": {"words": ["a", "b", "a", "b", "c"]},
    "comity_pages/content/blocks.py:_NAME_PATTERNS": {"words": "|".join(WORDS_OF_NAMES.values())},
    "comity_pages/markdown/served_markdown.py:end": {"name": "script"},
    "comity_robots/switches.py:found": {"name": "ai-train"},
    "comity_pages/signals/soft_404.py:find_not_found()": {"pattern": "|".join(soft_404._OTHER_WORDS.values())},
}
# What they read is written by the operator or by us, and by no site.
OURS = {
    "cli/app.py:_HEAD": "comity's own source",
    "comity_robots/fields.py:form": "a setting",
    "net/client_settings.py:concealed()": "a proxy's URL in a setting",
}
# Their text is never longer than so many characters, because it is cut somewhere.
CUT = {
    "crawler/output/cdxj.py:_SESSION_IN_PATH": (8192, "a URL: signals/_reader.py, MAX_URL_LENGTH"),
    "crawler/output/cdxj.py:_SESSION_IN_PATH#2": (8192, "as above"),
    "crawler/output/cdxj.py:_SESSION_IN_QUERY": (8192, "as above"),
}
PATTERNS = found(EXAMPLES)


def _of_sites() -> list[Pattern]:
    return [each for each in PATTERNS if each.key not in OURS]


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="a pattern that hangs cannot be given up here")
@pytest.mark.parametrize("pattern", [each for each in _of_sites() if each.key not in CUT], ids=lambda each: each.key)
def test_a_pattern_takes_time_in_proportion_to_its_text(pattern: Pattern) -> None:
    assert superlinear(pattern, ATTACKS) is None


@pytest.mark.long
@pytest.mark.parametrize("pattern", [each for each in _of_sites() if each.key not in CUT], ids=lambda each: each.key)
def test_no_text_of_many_more_takes_longer(pattern: Pattern) -> None:
    assert superlinear(pattern, 4 * ATTACKS) is None


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="a pattern that hangs cannot be given up here")
@pytest.mark.parametrize("pattern", [each for each in PATTERNS if each.key in CUT], ids=lambda each: each.key)
def test_a_pattern_whose_text_is_cut_reads_the_longest_at_once(pattern: Pattern) -> None:
    assert not hangs(pattern, CUT[pattern.key][0], ATTACKS)


def test_what_is_declared_of_a_pattern_is_of_one_that_there_is() -> None:
    assert {*EXAMPLES, *OURS, *CUT} <= {each.key for each in PATTERNS}


@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="a pattern that hangs cannot be given up here")
@pytest.mark.parametrize(
    "text",
    [
        r"(?:\s*[¶§#]+)+$",
        r"author\w*[-_]+\w*(?:role|title)",
        "-.*(?:time|date)|(?:time|date).*-",
        r"(?:www\.|[\w-]+\.[\w-]+\.)[\w.-]*[a-z]{2,}(?=[/*$]|\Z)",
        r"\s*[,;|]\s*",
        r"(?:[a-z]+|[^\W\x00-\x7f])+(?=;)",
        r"\[\s*([\w-]+)[^\]]*\]",
        r"\\\((?P<inline>.+?)\\\)",
        r"[^\s\1]*\1",
    ],
)
def test_a_pattern_that_takes_longer_is_found(text: str) -> None:
    pattern = Pattern("", 0, "", text.replace("\\1", "\1"), re.DOTALL, ("search",))
    assert superlinear(pattern, ATTACKS, seconds=0.25) is not None
