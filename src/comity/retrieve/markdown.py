"""markdownify, with a deadline and with elements that are left out. Imported late: it needs `comity[retrieve]`."""

import re
import time
from importlib.util import find_spec

from bs4 import BeautifulSoup, Tag
from markdownify import ATX, MarkdownConverter

from comity import urls
from comity.errors import ExtractionFailed

if find_spec("lxml") is None:  # what Beautiful Soup builds the tree with
    raise ImportError("lxml", name="lxml")

_LONGEST_REFERENCE = 8192
_WIDEST_SPAN = 20
_BLANK_LINES = re.compile(r"\n{4,}")
_XML = re.compile(r"<\?xml", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9+#]{1,20}")


def tree(html: str) -> BeautifulSoup:
    """The page as a tree."""
    # Beautiful Soup warns the program's users of what it takes for a file name or for XML.
    html = _XML.sub("<?", html)
    if "<" not in html:
        html = f"<body>{html}"
    return BeautifulSoup(html.encode("utf-8", "replace"), "lxml", from_encoding="utf-8")


def converted(content: Tag, base: urls.Base, *, without: set[int], deadline: float) -> str:
    """Markdown of an element.

    Args:
        without: ids of elements that are left out.
        deadline: when work stops, by this thread's processor time: a busy machine makes no page hostile.

    Raises:
        ExtractionFailed: the deadline has passed.
    """
    _prepare(content, base)
    text = str(_Converter(without, deadline, base.url).convert_soup(content))
    text = _BLANK_LINES.sub("\n\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")
    return text + "\n" if text else ""


class _Converter(MarkdownConverter):
    def __init__(self, without: set[int], deadline: float, url: str) -> None:
        super().__init__(heading_style=ATX, bullets="-", code_language_callback=_language)
        self._without = without
        self._deadline = deadline
        self._url = url
        self._numbers: dict[int, int] = {}  # of the last item, by the id of its list

    def process_tag(self, node: Tag, parent_tags: set[str] | None = None) -> str:
        if id(node) in self._without or (node.name == "img" and "src" not in node.attrs):
            return ""
        if time.thread_time() > self._deadline:
            raise ExtractionFailed(f"{self._url} could not be turned into Markdown in time", url=self._url)
        return str(super().process_tag(node, parent_tags))  # type: ignore[misc]

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """markdownify counts an item's elder siblings each time: quadratic for one long list."""
        parent = el.parent
        if parent is None or parent.name != "ol":
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        number = self._numbers.get(id(parent), int(str(parent.attrs.get("start", 1))) - 1) + 1
        self._numbers[id(parent)] = number
        bullet = f"{number}. "
        first, *others = (text or "").strip().split("\n")
        indented = (" " * len(bullet) + line if line else "" for line in others)
        return "\n".join((bullet + first, *indented)) + "\n"


def _prepare(content: Tag, base: urls.Base) -> None:
    """Links and images get absolute http or https URLs, or none: `javascript:` and `data:` are no place to go to.

    Numbers that the page states are kept within reason.
    """
    for tag in content.find_all(("a", "img", "ol", "td", "th")):
        attributes = tag.attrs
        for name in ("href", "src"):
            if name in attributes:
                reference = str(attributes.pop(name))
                target = base.join(reference) if len(reference) <= _LONGEST_REFERENCE else None
                if target is not None:
                    _, mark, fragment = reference.partition("#")  # the join leaves it out; people cite by it
                    attributes[name] = f"{target}{mark}{fragment}".translate(_IN_MARKDOWN)
        for name, most in (("start", 10**9), ("colspan", _WIDEST_SPAN)):
            if name in attributes:
                number = str(attributes[name]).strip()
                if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number) <= most):
                    del attributes[name]


# What would end a link's destination, percent-encoded.
_IN_MARKDOWN = {ord(char): f"%{ord(char):02X}" for char in " ()<>\n\r\t"}


def _language(pre: Tag) -> str:
    """`python` for a `pre`, or the `code` in it, of class `language-python`, and for `highlight-python` around it."""
    around = pre.parent
    for tag in (pre, pre.find("code", recursive=False), around, around.parent if around is not None else None):
        if not isinstance(tag, Tag):
            continue
        names = tag.attrs.get("class", "")
        for name in names.split() if isinstance(names, str) else names:
            kind, _, language = name.partition("-")
            if kind in ("language", "lang", "highlight") and _LANGUAGE.fullmatch(language):
                return "" if language in ("default", "none", "notranslate") else language
    return ""
