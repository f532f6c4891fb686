"""Typed records from a page by CSS selectors (selectolax's): a schema says where each field stands and what it is.

    {"items": "li.lamp", "fields": {"name": "h2", "price": {"css": ".price", "type": "number"},
     "image": {"css": "img", "attribute": "src", "type": "url", "optional": true}, "tags": {"css": "i", "list": true}}}

`items` selects the elements that a record each is made of; without it there is one record a page. A field is a
selector, or a mapping with `css` (empty: the item), `attribute` (without: its text), `type`, `list` and `optional`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from comity_pages import urls
from comity_pages.errors import InvalidSetting
from comity_pages.html.bounds import limit_markup
from comity_pages.metadata.days import day_of, says_days_first

_NUMBER: Final = re.compile(
    r"((?<!\w)[-+−])?(?:(\d{1,3}(?:[\s'’]\d{3})+)(?!\d)(?:[.,](\d+))?|(\d+(?:[.,]\d+)*|(?<!\w)\.\d+))"
)
"""A sign; a number in groups with spaces, and its decimals; any other number."""
_GROUPED_DIGITS: Final = re.compile(r"\d*|\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")
_UNRENDERED_ELEMENTS: Final = frozenset(("script", "style", "template"))
_INLINE_ELEMENTS: Final = frozenset(
    "-comment a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub time tt u"
    " var wbr".split()
)
"""Elements that divide no word. `sup` does: in `$12<sup>99</sup>` it is no more of the same number."""
MAX_ITEMS: Final = 10_000  # records of a page
_MAX_INTEGER_CHARS: Final = 20  # characters of what a column of integers can hold, with a sign
_KEYS: Final = frozenset(("css", "attribute", "type", "list", "optional"))


@dataclass(frozen=True, slots=True)
class SelectedRecords:
    """What a schema found on a page.

    Attributes:
        records: one for each item that fits.
        misfit: why the page, or the first item that was left out, does not fit; None where all does.
    """

    records: tuple[dict[str, Any], ...]
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    css: str
    attribute: str | None
    type: str
    list: bool
    optional: bool


class _Page(NamedTuple):
    """What a value is read by: the URL that links start from, and whether 3/4/2024 is a day of April."""

    base: str
    day_first: bool | None


class Schema:
    """A schema, as a mapping or as JSON.

    Attributes:
        text: as JSON.
        types: of each field, `list` where it has several values.

    Raises:
        InvalidSetting: it is no schema; the message names the field.
    """

    def __init__(self, given: Mapping[str, Any] | str) -> None:
        try:
            stated: Any = json.loads(given) if isinstance(given, str) else given
            self.text = json.dumps(stated, separators=(",", ":"), ensure_ascii=False)
            self._items = str(stated.get("items") or "")
            fields = dict(stated["fields"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidSetting("schema: it needs fields", hint='for example {"fields": {"title": "h1"}}') from None
        if not fields or (unknown := set(stated) - {"items", "fields"}):
            raise InvalidSetting(
                f"schema: {'it has no fields' if not fields else f'{sorted(unknown)[0]!r} is unknown'}"
            )
        self._fields = tuple(self._field(name, each) for name, each in fields.items())
        self.types = {each.name: "list" if each.list and each.type != "boolean" else each.type for each in self._fields}
        self._check("items", self._items)

    def _field(self, name: str, given: Any) -> _Field:
        stated = {"css": given} if isinstance(given, str) else given
        if not isinstance(stated, Mapping) or (unknown := set(stated) - _KEYS):
            what = "neither a selector nor a mapping" if not isinstance(stated, Mapping) else f"{sorted(unknown)[0]!r}"
            raise InvalidSetting(
                f"schema: {name}: {what} is not understood", hint=f"it may have {', '.join(sorted(_KEYS))}"
            )
        kind = stated.get("type", "text")
        if not isinstance(kind, str) or kind not in TYPES:
            raise InvalidSetting(f"schema: {name}: type {kind!r} is not one of {', '.join(TYPES)}")
        css, attribute = stated.get("css", ""), stated.get("attribute")
        if not isinstance(attribute, str | None):
            raise InvalidSetting(f"schema: {name}: attribute {attribute!r} is not a name")
        for key in ("list", "optional"):
            if not isinstance(stated.get(key, False), bool):
                raise InvalidSetting(f"schema: {name}: {key} is {stated[key]!r} and not true or false")
        self._check(name, css)
        return _Field(name, css, attribute, kind, bool(stated.get("list")), bool(stated.get("optional")))

    @staticmethod
    def _check(name: str, css: Any) -> None:
        try:
            if css != "":
                LexborHTMLParser("<p>").css(css)
        except Exception as error:
            raise InvalidSetting(f"schema: {name}: {css!r} is not a CSS selector ({error})") from None

    def read(self, html: str, url: str) -> SelectedRecords:
        """The records of a page served at `url`, against which links are resolved.

        Raises:
            ExtractionFailed: the page is built to exhaust a parser.
        """
        tree = LexborHTMLParser(limit_markup(html, url)[0])
        base = tree.css_first("base[href]")
        start = urls.join(url, base.attributes.get("href") or "") if base is not None else None
        top = tree.root
        locale = tree.css_first('meta[property="og:locale"]')
        languages = [top.attributes.get("lang") or top.attributes.get("xml:lang")] if top is not None else []
        languages += [locale.attributes.get("content")] if locale is not None else []
        page = _Page(start or url, says_days_first(url, *languages))
        found = tree.css(self._items) if self._items else [top] if top is not None else []
        records, misfit = [], None if found else f"nothing matches {self._items!r}"
        if len(found) > MAX_ITEMS:
            misfit = f"{len(found):,} elements match {self._items!r}; the first {MAX_ITEMS:,} are read"
        for item in found[:MAX_ITEMS]:
            record, lacks = self._record(item, page)
            if lacks is None:
                records.append(record)
            else:
                misfit = misfit or lacks
        return SelectedRecords(tuple(records), misfit)

    def _record(self, item: Any, page: _Page) -> tuple[dict[str, Any], str | None]:
        record: dict[str, Any] = {}
        for field in self._fields:
            nodes = item.css(field.css) if field.css else [item]
            texts = [_text(node, field.attribute) for node in nodes]
            if field.type == "boolean":
                record[field.name] = any(
                    field.attribute is None or field.attribute in each.attributes for each in nodes
                )
                continue
            values = [value for each in texts if each and (value := TYPES[field.type](each, page)) is not None]
            record[field.name] = values if field.list else values[0] if values else None
            if not values and not field.optional:
                if not nodes:
                    return record, f"{field.name}: nothing matches {field.css!r}"
                text = texts[0] or ""
                why = f"is not of type {field.type}"
                if field.type == "date" and day_of(text, day_first=True):
                    why = "begins with a day or a month, and the page states no language to tell them apart"
                return record, f"{field.name}: {text[:60]!r} {why}"
        return record, None


def _text(node: Any, attribute: str | None) -> str | None:
    if attribute is not None:
        stated: str | None = node.attributes.get(attribute)
        return stated
    parts: list[str] = []
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            parts.append(each)
        elif each.tag == "-text":
            parts.append(each.text_content or "")
        elif each.tag not in _UNRENDERED_ELEMENTS:
            edge = "" if each.tag in _INLINE_ELEMENTS else " "
            todo += [edge, *reversed(list(each.iter(include_text=True))), edge]
    return " ".join("".join(parts).split())


def _decimal(text: str) -> tuple[str, str] | None:
    """The first number, as its whole part with a sign and its decimals, as `1,299.50`, `1.299,50` and `1 299,5`; None
    of `1.2.3`. One separator before three figures groups."""
    match = _NUMBER.search(text)
    if match is None:
        return None
    sign, whole, decimals, other = match.groups()
    if other is not None:
        last = max(other.rfind("."), other.rfind(","))
        whole, decimals = (other[:last], other[last + 1 :]) if last >= 0 else (other, "")
        mark = other[last]
        if mark in whole or (len(decimals) == 3 and whole.isdigit() and whole.strip("0")):
            whole, decimals = other, ""
        if _GROUPED_DIGITS.fullmatch(whole) is None:
            return None
    return ("-" if sign in ("-", "−") else "") + (re.sub(r"\D", "", whole) or "0"), decimals or ""


def _number(text: str, _: _Page) -> float | None:
    found = _decimal(text)
    number = float(".".join(found)) if found is not None else math.inf
    return number if math.isfinite(number) else None  # JSON has no infinity


def _integer(text: str, _: _Page) -> int | None:
    whole, decimals = _decimal(text) or ("", "")
    if not whole or decimals.strip("0") or len(whole) > _MAX_INTEGER_CHARS:
        return None
    return int(whole) if -(2**63) <= int(whole) < 2**63 else None


def _date(text: str, page: _Page) -> str | None:
    found = day_of(text, day_first=page.day_first) or text.strip()[:10]
    try:
        return date.fromisoformat(found).isoformat()
    except ValueError:
        return None


TYPES: Final[dict[str, Callable[[str, _Page], Any]]] = {
    "text": lambda text, _: text,
    "number": _number,
    "integer": _integer,
    "boolean": lambda _, __: True,
    "date": _date,
    "url": lambda text, page: urls.join(page.base, text),
}
"""What a field may be, and how it is read of a text: `boolean` says whether there is such an element or attribute."""
