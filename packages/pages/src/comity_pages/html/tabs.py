"""Moves the label of each tab to the beginning of its panel, so that Markdown says which text belongs to which tab."""

from collections.abc import Iterator, Set
from typing import Final

from comity_pages.html.normalization import new_element
from comity_pages.html.tree import Node, Text, Tree

TAB_MARKS: Final = ("tablist", "tabbed-labels")  # one of these stands in each page with tabs
_MAX_SETS: Final = 200  # of tabs in a page
_MAX_ELEMENTS: Final = 2_000  # beside the labels, among which panels are looked for
_MAX_LABEL_CHARS: Final = 80


def label_panels(tree: Tree, removed: Set[Node]) -> None:
    """Move the labels of tabs to the beginning of their panels (WAI-ARIA 1.2, tab; pymdownx.tabbed).

    Args:
        removed: elements whose text is left out; labels in them are left alone.
    """
    named = tree.find_by_class_or_id(("tabbed-labels",), ("div",))
    tablists = [node for node in tree.all("ul", "ol", "div", "nav") if node.attributes.get("role") == "tablist"]
    for labels in (*named, *tablists)[:_MAX_SETS]:
        around = labels.parent
        if around is None or not removed.isdisjoint(labels.ancestors()):
            continue
        tabs = [each for each in labels.descendants() if each.name == "label" or each.attributes.get("role") == "tab"]
        texts = [" ".join(each.text().split()) for each in tabs]
        panels = list(_panels(around, labels))
        if not all(texts) or len(panels) != len(tabs) or max(map(len, texts), default=0) > _MAX_LABEL_CHARS:
            continue
        if any(each in removed for tab in tabs for each in (tab, *tab.descendants(), *tab.ancestors())):
            continue
        around.children = [each for each in around.children if each is not labels]
        for text, panel in zip(texts, panels, strict=True):
            label = new_element("p", panel, panel)
            label.children, label.block_level = [Text(text)], True
            for each in panel.ancestors():
                each.has_blocks = True
            tree.by_name.setdefault("p", []).append(label)
            panel.children.insert(0, label)


def _panels(around: Node, labels: Node) -> Iterator[Node]:
    """The panels beside a list of labels; panels inside of panels belong to other labels."""
    stack = [around]
    for _ in range(_MAX_ELEMENTS):
        if not stack:
            return
        node = stack.pop()
        if node is labels:
            continue
        if node.attributes.get("role") == "tabpanel" or "tabbed-block" in node.attributes.get("class", "").split():
            yield node
        else:
            stack.extend(reversed(node.elements()))
