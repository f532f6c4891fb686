"""What a page states about itself as microdata (HTML standard, 5) in the vocabulary of schema.org, in the form of its
JSON-LD, so that both are read alike.
"""

from typing import Any, Final

from comity_pages.html.tree import Node, Tree
from comity_pages.metadata.json_ld import MAX_OBJECTS, MAX_VALUES, Object, clean_text

_ATTRIBUTES: Final = ("content", "datetime", "href", "src", "value")
_MAX_VALUE_CHARS: Final = 20_000


def objects(tree: Tree) -> list[Object]:
    """All typed objects in the page's order, those within others too."""
    found: list[Object] = []
    items: dict[Node, dict[str, Any]] = {}
    for node in tree.microdata:
        attributes = node.attributes
        around = next((each for each in node.ancestors()[1:] if each in items), None)
        value: Any
        if "itemscope" in attributes:
            if len(items) >= MAX_OBJECTS:
                break
            value = items[node] = {"@type": attributes.get("itemtype", "").split(" ")[0].rstrip("/")}
            if value["@type"].partition("//")[2].removeprefix("www.").startswith("schema.org/"):
                found.append(value)
        else:
            value = next((attributes[name] for name in _ATTRIBUTES if attributes.get(name)), None)
            if value is None or (node.name == "a" and "content" not in attributes):
                value = clean_text(node.text()[:_MAX_VALUE_CHARS]) or value
        if around is None:
            continue
        for name in attributes.get("itemprop", "").split()[:5]:
            values = items[around].setdefault(name, [])
            if isinstance(values, list) and len(values) < MAX_VALUES:
                values.append(value)
    for item in items.values():
        for name, values in item.items():
            if isinstance(values, list) and len(values) == 1:
                item[name] = values[0]
    return found
