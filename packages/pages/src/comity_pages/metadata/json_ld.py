"""What a page states about itself as JSON-LD in the vocabulary of schema.org: objects by type, and a few of their
fields as plain values. It is what the site says, seen by nobody who reads the page; data, never an instruction.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from comity_pages.html.tree import Tree

MAX_SCRIPTS: Final = 20  # `script` elements of a page that are read
MAX_SIZE: Final = 512 * 1024  # characters of one that are read; a longer one is passed over, for its JSON has no end
MAX_OBJECTS: Final = 500  # objects of a page that are looked at
MAX_ENTITIES: Final = 20  # objects that are reported
MAX_VALUE: Final = 2_000  # characters kept of one value
MAX_VALUES: Final = 100  # values kept of one field

ARTICLES: Final = frozenset(
    "Article NewsArticle BlogPosting TechArticle ScholarlyArticle Report Blog LiveBlogPosting ReportageNewsArticle"
    " OpinionNewsArticle ReviewNewsArticle AnalysisNewsArticle BackgroundNewsArticle"
    " MedicalScholarlyArticle SocialMediaPosting APIReference".split()
)
POSTS: Final = frozenset(("DiscussionForumPosting", "Question", "QAPage"))
# schema.org's type to the one that is reported, and its properties to the fields' names.
_KINDS: Final = {
    **dict.fromkeys(ARTICLES, "Article"),
    **dict.fromkeys(("Product", "ProductGroup", "IndividualProduct"), "Product"),
    "Recipe": "Recipe",
    "FAQPage": "FAQ",
    **dict.fromkeys(("Review", "CriticReview", "UserReview"), "Review"),
    "Question": "Question",
    "Answer": "Answer",
}
_FIELDS: Final = {
    "Article": "headline author datePublished=published dateModified=modified publisher description"
    " articleSection=section",
    "Product": "name brand sku gtin13=gtin description",
    "Recipe": "name author recipeYield=yield totalTime=total_time recipeIngredient=ingredients"
    " recipeInstructions=instructions",
    "Event": "name startDate=start endDate=end location organizer description",
    "FAQ": "",
    "Review": "name reviewBody=text author datePublished=published itemReviewed=about",
    "Question": "name text author datePublished=published",
    "Answer": "text author datePublished=published",
}
_CONTAINER_PROPERTIES: Final = ("hasPart", "hasVariant", "mainEntityOfPage", "mainEntity", "@graph")
_REPLY_PROPERTIES: Final = ("acceptedAnswer", "suggestedAnswer", "review")
"""What others say of an object: entities, but nothing by which the page's author is known."""
_CDATA: Final = "<![CDATA["
_MAX_CDATA_OFFSET_CHARS: Final = 20
_TEXT_PROPERTIES: Final = ("name", "text", "itemListElement", "@value", "@list")
_STEP_PROPERTIES: Final = ("itemListElement", "text", "name")  # what a step, or a section of steps, says
_ADDRESS_PROPERTIES: Final = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")
_TAG: Final = re.compile(r"<[^<>]*>")
_TRAILING_COMMA: Final = re.compile(r",(?=\s*[\]}])")  # a comma before an end, as those who write data by hand leave it
_CONTROL: Final = re.compile("[\x00-\x1f]")
_PREFIX: Final = re.compile(r'"(\w{1,30})"\s{0,9}:\s{0,9}"https?://(?:www\.)?schema\.org/?"')
_PREFIXED_NAME: Final = re.compile(r'"(?:(\w{1,30}):|https?://(?:www\.)?schema\.org/)(\w{1,60}"\s{0,9}:)')
"""How a context names the prefix that stands for schema.org (JSON-LD 1.1, 4.4)."""

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entity:
    """`Article`, `Product`, `Recipe`, `Event`, `Review`, `Question`, `Answer` or `FAQ` (its questions are the fields);
    several values are a tuple."""

    type: str
    fields: Mapping[str, str | tuple[str, ...]]


def objects(tree: Tree) -> list[Object]:
    """All typed objects of a page's JSON-LD, in order."""
    found: list[Object] = []
    scripts = [node for node in tree.by_name.get("script", ()) if "ld+json" in node.attributes.get("type", "").lower()]
    for node in scripts[:MAX_SCRIPTS]:
        text = node.text()
        if len(text) > MAX_SIZE:
            continue
        text = _CONTROL.sub(" ", text.strip().removeprefix("<!--").removesuffix("-->").rstrip(" ;"))
        if _CDATA in text[:_MAX_CDATA_OFFSET_CHARS]:  # of XHTML, within a comment of the script
            text = text.partition(_CDATA)[2].rpartition("]]>")[0].strip("/* ;")
        stack = [_load(text)]
        while stack and len(found) < MAX_OBJECTS:
            value = stack.pop()
            if isinstance(value, list):
                stack.extend(reversed(value[:MAX_OBJECTS]))
            elif isinstance(value, dict):
                if "@type" in value:
                    found.append(value)
                inner = (value.get(name) for name in _CONTAINER_PROPERTIES)
                stack.extend(each for each in inner if isinstance(each, (list, dict)))
    return found


def _load(text: str) -> Any:
    """The value of JSON, with commas before ends if need be, schema.org's names without prefix; None if it is none."""
    if "schema" in text:
        prefixes = {None, "schema", *_PREFIX.findall(text)}
        text = _PREFIXED_NAME.sub(lambda name: f'"{name[2]}' if name[1] in prefixes else name[0], text)
    for attempt in (text, _TRAILING_COMMA.sub("", text)):
        try:
            return json.loads(attempt)
        except (ValueError, RecursionError):
            continue
    return None


def types(entry: Object) -> list[str]:
    """The types of an object, without schema.org's address."""
    stated = entry.get("@type", "")
    every = stated if isinstance(stated, list) else [stated]
    return [str(each).rpartition("/")[2].rpartition(":")[2] for each in every]


def of_types(found: Iterable[Object], wanted: Set[str]) -> list[Object]:
    """The objects of one of these types."""
    return [entry for entry in found if not wanted.isdisjoint(types(entry))]


def entities(found: list[Object]) -> tuple[Entity, ...]:
    """The objects that are about what the page is about."""
    reported: list[Entity] = []
    answered: set[int] = set()  # the objects whose words are fields of a FAQ
    for entry in _with_replies(found):
        kinds = (_KINDS.get(each, "Event" if each.endswith("Event") else "") for each in types(entry))
        kind = next(filter(None, kinds), "")
        if not kind or len(reported) >= MAX_ENTITIES or id(entry) in answered:
            continue
        fields: dict[str, str | tuple[str, ...]] = {}
        for known in _FIELDS[kind].split():
            name, _, ours = known.partition("=")
            if values := tuple(words(entry.get(name))):
                fields[ours or name] = values[0] if len(values) == 1 else values
        free = entry.get("isAccessibleForFree")
        stated = (each.get("@value") if isinstance(each, dict) else each for each in _as_list(free))
        if any(str(each).lower().endswith("false") for each in stated):
            fields["free"] = "false"
        if kind == "Product":
            fields |= _offer(entry)
        elif kind == "Event" and (address := _address(entry.get("location"))):
            fields["address"] = address
        elif kind == "Review" and (rating := next(words(_first(entry.get("reviewRating")).get("ratingValue")), "")):
            fields["rating"] = rating
        elif kind == "FAQ":
            fields = dict(_answers(entry))
            for question in _dicts(entry.get("mainEntity")):
                answered.update(map(id, (question, *_dicts(question.get("acceptedAnswer")))))
        if fields:
            reported.append(Entity(kind, fields))
    return tuple(reported)


def _with_replies(found: list[Object]) -> Iterator[Object]:
    known = {id(entry) for entry in found}
    for entry in found:
        yield entry
        for each in (each for name in _REPLY_PROPERTIES for each in _dicts(entry.get(name))):
            if "@type" in each and id(each) not in known:
                yield each


def words(value: Any) -> Iterator[str]:
    """The values of a property as plain text: of an object its name or text, of steps what is done, of an amount with
    its unit all of it."""
    stack = [value]
    count = 0
    while stack and count < MAX_VALUES:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value[:MAX_VALUES]))
        elif isinstance(value, dict):
            kinds = types(value)
            order = _STEP_PROPERTIES if any(each.startswith("HowTo") for each in kinds) else _TEXT_PROPERTIES
            inner = next((value[name] for name in order if value.get(name)), None)
            if "PropertyValue" in kinds and value.get("value"):
                amount = value["value"] if isinstance(value["value"], dict) else value
                parts = (amount.get("value"), amount.get("unitText"), value.get("name"))
                inner = " ".join(str(each) for each in parts if isinstance(each, (str, int, float)))
            if inner is not None:
                stack.append(inner)
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            text = clean_text(str(value))
            if text:
                count += 1
                yield text


def clean_text(text: str) -> str:
    """Text of a value: one line, without tags and character references."""
    text = text[: 4 * MAX_VALUE]
    if "&" in text:
        text = unescape(unescape(text))
    if "<" in text:
        text = _TAG.sub(" ", text)
    return " ".join(text.split())[:MAX_VALUE]


def _offer(entry: Object) -> dict[str, str]:
    offers = _dicts(entry.get("offers"))
    offers += [each for offer in offers for each in _dicts(offer.get("offers"))]  # of an AggregateOffer
    offer = next((each for each in offers if _price_source(each)), offers[0] if offers else {})
    priced = _price_source(offer)
    rating = _first(entry.get("aggregateRating"))
    stated = {
        "price": priced.get("price", priced.get("lowPrice")),
        "currency": priced.get("priceCurrency", offer.get("priceCurrency")),
        "availability": str(offer.get("availability") or "").rpartition("/")[2],
        "rating": rating.get("ratingValue"),
        "reviews": rating.get("reviewCount", rating.get("ratingCount")),
    }
    return {name: text for name, value in stated.items() if (text := next(words(value), ""))}


def _first(value: Any) -> Object:
    return next(iter(_dicts(value)), {})


def _dicts(value: Any) -> list[Object]:
    return [each for each in _as_list(value) if isinstance(each, dict)]


def _as_list(value: Any) -> list[Any]:
    return (value if isinstance(value, list) else [value])[:MAX_VALUES]


def _price_source(offer: Object) -> Object:
    """What of an offer states the price: itself, or the specification that is not of the price in the list."""
    if "price" in offer or "lowPrice" in offer:
        return offer
    stated = [each for each in _dicts(offer.get("priceSpecification")) if "price" in each]
    paid = (each for each in stated if not str(each.get("priceType", "")).endswith(("ListPrice", "StrikethroughPrice")))
    return next(paid, stated[0] if stated else {})


def _address(location: Any) -> str:
    """Where something takes place, behind the name of the place."""
    for place in _dicts(location):
        address = place.get("address")
        stated = [address.get(name) for name in _ADDRESS_PROPERTIES] if isinstance(address, dict) else [address]
        if parts := [text for each in stated if (text := next(words(each), ""))]:
            return ", ".join(parts)[:MAX_VALUE]
    return ""


def _answers(entry: Object) -> Iterator[tuple[str, str]]:
    for each in _dicts(entry.get("mainEntity")):
        question = next(words(each.get("name")), "")
        answer = next(words(each.get("acceptedAnswer")), "")
        if question and answer:
            yield question, answer
