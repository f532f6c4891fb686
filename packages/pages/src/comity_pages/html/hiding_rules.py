"""The rules of a page's style elements that hide what they select, by what they select it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from comity_pages.html import css, sheets
from comity_pages.html.css import Effect, Hiding

MAX_SHEET: Final = 256 * 1024  # characters read of a page's style elements
MAX_SELECTORS: Final = 5_000  # selectors of a page's hiding rules that are read

_SELECTOR_PART: Final = re.compile(
    r"([#.][\w-]+)|\[\s*+([\w-]++)(?:\"[^\"]*+\"|'[^']*+'|[^\[\]\"'])*+\]|:(?:is|where)\(|(::?[\w-]+(?:\([^()]*\))?)|[\w-]+|\*|\)|,"
)


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """The last compound of a selector, and those before it, each of which an element around must fit. Of equals there
    is one."""

    name: str
    marks: frozenset[str]
    attributes: frozenset[str]
    around: tuple["Selector", ...] = ()

    def fits(self, name: str, marks: frozenset[str], attributes: Collection[str]) -> bool:
        return (
            (not self.name or self.name == name)
            and self.marks <= marks
            and (not self.attributes or self.attributes.issubset(attributes))
        )


Candidate = tuple[Selector, Effect]


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The rules of a page's style elements that hide what they select, by the rarest thing that they select by."""

    hiding: Mapping[str, Effect]
    """By selector."""
    by_class: Mapping[str, list[Candidate]]
    by_id: Mapping[str, list[Candidate]]
    by_name: Mapping[str, list[Candidate]]
    by_attribute: Mapping[str, list[Candidate]]
    attributes: frozenset[str]
    """What selectors ask for."""

    def candidates(self, name: str, attributes: Mapping[str, str]) -> tuple[Sequence[Candidate], int]:
        """The selectors that an element fits by itself, and how many were looked at."""
        found = [*self.by_name.get(name, ()), *self.by_id.get(attributes.get("id", ""), ())]
        classes = attributes.get("class", "").split()[:50]
        if not self.by_class.keys().isdisjoint(classes):
            found += [each for key in classes for each in self.by_class.get(key, ())]
        if self.by_attribute:
            found += [each for key in attributes for each in self.by_attribute.get(key, ())]
        if not found:
            return (), 0
        marks = marks_of(attributes.get("class"), attributes.get("id"))
        return [each for each in found if each[0].fits(name, marks, attributes)], len(found)


@lru_cache(4_096)  # the elements around are asked about again and again
def marks_of(classes: str | None, identity: str | None) -> frozenset[str]:
    """What a selector may ask of an element's classes and its id."""
    marks = [f".{each}" for each in classes.split()[:50]] if classes else []
    return frozenset(marks if identity is None else [*marks, f"#{identity}"])


def hiding_rules(texts: Iterable[str], *, spaces: bool = False) -> HidingRules:
    """The rules that hide something, or those that keep lines and gaps (`spaces`); inside of conditions, those that
    hold on every screen."""
    found: dict[str, Effect] = {}
    by: dict[str, dict[str, list[Candidate]]] = {".": {}, "#": {}, "": {}, "[": {}}
    asked: set[str] = set()
    room = MAX_SHEET
    for sheet in texts:
        text = sheet[:room]
        if "/*" in text:
            text = css.COMMENT.sub("", text)
        room -= len(text)
        for selectors, body in sheets.rules(text, "white-space" if spaces else ""):
            stated = body[: css.MAX_STYLE]
            kind: Effect | None = css.white_space(stated) if spaces else _hiding_of(stated)
            if kind in (None, "same_colour", "keeps_none"):  # which other rules decide as often
                continue
            for text_of in _split_selectors(selectors[-css.MAX_STYLE :].rpartition(";")[2]):
                selector = _parse_selector(text_of)
                if selector is None or len(found) >= MAX_SELECTORS:
                    continue
                found[text_of] = kind
                asked |= selector.attributes
                if selector.marks:
                    mark = min(selector.marks)
                    place, key = by[mark[0]], mark[1:]
                elif selector.attributes:
                    place, key = by["["], min(selector.attributes)
                else:
                    place, key = by[""], selector.name
                place.setdefault(key, []).append((selector, kind))
    return HidingRules(found, by["."], by["#"], by[""], by["["], frozenset(asked))


@lru_cache(2_048)  # the same few declarations stand in many rules, and on all pages of a site
def _hiding_of(body: str) -> Hiding | None:
    return css.hides(css.declarations(body))


def _split_selectors(selectors: str) -> Iterator[str]:
    """The selectors of a list, those in `:is()` with them."""
    if "(" not in selectors:
        yield from map(str.strip, selectors.split(","))
        return
    depth = start = 0
    for at, char in enumerate(selectors):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            yield selectors[start:at].strip()
            start = at + 1
    yield selectors[start:].strip()


@lru_cache(2_048)
def _parse_selector(text: str) -> Selector | None:
    """A selector; None where it selects states, or by what is not read: siblings, `:not()`."""
    if not text or "+" in text or "~" in text.replace("~=", ""):
        return None
    *around, last = map(_parse_compound, text.replace(">", " ").split()[-8:] or ("",))
    outside = tuple(each for each in around if each is not None)
    if last is None or len(outside) < len(around) or not (last.name or last.marks or last.attributes):
        return None
    return Selector(last.name, last.marks, last.attributes, outside) if outside else last


@lru_cache(2_048)
def _parse_compound(words: str) -> Selector | None:
    if words[:4] == ":is(" or words[:7] == ":where(":
        words = words.partition("(")[2].rstrip(")").partition(",")[0]
    name, marks, attributes = "", [], []
    for match in _SELECTOR_PART.finditer(words):
        if match[1]:
            marks.append(match[1])
        elif match[2]:
            attributes.append(match[2].lower())
        elif match[3] and match[3] != ":root":
            return None
        elif match[0] not in ("*", ")", ",") and not match[3]:
            name = match[0].lower()
    return Selector(name, frozenset(marks), frozenset(attributes))
