"""What pages write in a way of their own becomes the elements that later passes know: players of other sites become
media, images of AMP and of pages without scripts images; what is there for editors only is skipped.
"""

import re
from typing import Final

from comity_pages.html import hidden
from comity_pages.html.tree import Node, Text, Tree

_PLAYERS: Final = re.compile(
    r"(?:https?:)?//(?:[\w-]+\.)*"
    r"(?:(?:youtube|youtube-nocookie|dailymotion|loom|wistia|ted|bilibili|streamable|facebook|peertube)\.(?:com|net)"
    r"|(?P<audio>open\.spotify\.com|(?:w|api)\.soundcloud\.com|embed\.podcasts\.apple\.com|bandcamp\.com)"
    r"|player\.vimeo\.com|player\.twitch\.tv|clips\.twitch\.tv)/"
    r"(?:embed|e/|v/|video|player|tracks|playlist|talks|plugins/video|EmbeddedPlayer|\?|[\w-]+/podcast)",
    re.IGNORECASE,
)
_SRC_ATTRIBUTES: Final = ("src", "data-src", "data-lazy-src", "data-litespeed-src")
# Elements that stand for a player, the attribute with the id of what it plays, and where that is.
_PLAYER_ELEMENTS: Final = {
    "lite-youtube": ("videoid", "https://www.youtube.com/watch?v="),
    "amp-youtube": ("data-videoid", "https://www.youtube.com/watch?v="),
    "lite-vimeo": ("videoid", "https://vimeo.com/"),
    "amp-vimeo": ("data-videoid", "https://vimeo.com/"),
}
_ID: Final = re.compile(r"[\w-]{1,40}")
_FILE: Final = re.compile(r"\.(?:jpe?g|png|webp|avif|gif|svg)(?:[?#]|$)", re.IGNORECASE)
_LATEXML: Final = {"ltx_tabular": "table", "ltx_thead": "thead", "ltx_tbody": "tbody", "ltx_tr": "tr", "ltx_td": "td"}
"""Classes by which LaTeXML writes a table in elements that may stand in a sentence."""
_NOTION_LISTS: Final = ("bulleted-list", "numbered-list", "to-do-list")
"""Classes of the lists of Notion, in each of which one item stands."""
_LIST_ELEMENTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_GOOGLE_LIST: Final = re.compile(r"(?:^|\s)(lst-kix_[\w-]{1,60}?)-(\d)(?:\s|$)")
"""The class of a list of Google Docs, and of those made here of Word's: which it is, the level of all its items."""
_WORD_LIST: Final = re.compile(r"(?i)mso-list\s*:\s*(l\d{1,4})\s+level(\d)")
_MARKER: Final = re.compile(r"(?i)mso-list\s*:\s*ignore")
_ITEM_NUMBER: Final = re.compile(r"\(?(?:(\d{1,6})|[a-zA-Z]{1,5})[.)]")
_TOOL_CLASS: Final = re.compile(
    r"(?:^|\s)(?:mw-editsection|material-(?:icons|symbols)(?:-\w+)?|twoslash-popup-container)(?:\s|$)"
)
"""Classes of links that edit the page, of icons whose text is the name of a glyph, of what explains code at a touch."""


def normalize_markup(tree: Tree) -> None:
    """Replace a page's own kinds of players, images, lists and tools with the elements that later passes know."""
    for node in tree.find_by_class_or_id(("mw-editsection", "material-", "twoslash-"), ("span", "div", "i")):
        node.skipped |= _TOOL_CLASS.search(node.attributes.get("class", "")) is not None
    for node in tree.all("iframe", "amp-iframe"):
        source = next((node.attributes[name] for name in _SRC_ATTRIBUTES if "//" in node.attributes.get(name, "")), "")
        if (match := _PLAYERS.match(source.strip())) is not None:
            _become(node, "audio" if match["audio"] else "video", source)
    for name, (attribute, place) in _PLAYER_ELEMENTS.items():
        for node in tree.all(name):
            if _ID.fullmatch(identity := node.attributes.get(attribute, "")):
                node.attributes.setdefault("title", node.attributes.get("playlabel", ""))
                _become(node, "video", place + identity)
    if stated := hidden.white_space(tree):
        kept = dict.fromkeys((tree.root, *tree.root.descendants()), "")
        for node in kept:
            if node.name not in ("pre", "code", "textarea"):
                kept[node] = stated.get(node) or kept.get(node.parent or node, "")
        for node, effect in kept.items():
            if effect in ("keeps_space", "keeps_lines"):
                _keep_space(node, gaps=effect == "keeps_space")
    for node in tree.find_by_class_or_id(tuple(_LATEXML), ("span",)):
        _become_tabular(tree, node)
    joined = {node.parent for node in tree.find_by_class_or_id((*_NOTION_LISTS, "lst-kix_"), ("ul", "ol"))}
    written = [
        node for node in tree.styled if node.name == "p" and "mso-list" in node.attributes.get("style", "").lower()
    ]
    lists = {node: found for node in written if (found := _list_of(tree, node)) is not None}
    for around in {found.parent for found in lists.values()}:
        if around is not None:
            around.children = [lists.get(each, each) if isinstance(each, Node) else each for each in around.children]
            joined.add(around)
    for around in joined:
        if around is not None:
            _join_lists(around)
    for node in tree.find_by_class_or_id(("checkbox-on", "checkbox-off"), ("div",)):
        node.name, node.block_level = "input", False
        node.attributes |= {"type": "checkbox"} | (
            {"checked": ""} if "checkbox-on" in node.attributes.get("class", "") else {}
        )
    for node in tree.all("video", "audio"):  # what else stands in it is for who cannot play it
        node.children = [each for each in node.elements() if each.name == "source"]
        node.has_blocks = False
    for node in tree.all("amp-img", "amp-anim"):
        _become(node, "img", node.attributes.get("src", ""))
    _show_images(tree)


def _keep_space(node: Node, *, gaps: bool) -> None:
    """Keep the line breaks of a text, and its wide gaps, whose style shows them (`white-space: pre`, `pre-line`)."""
    children: list[Node | Text] = []
    for each in node.children:
        if not isinstance(each, Text) or (each.text.isspace() and (node.has_blocks or "\n" not in each.text)):
            children.append(each)
            continue
        for number, line in enumerate(each.text.replace("\r\n", "\n").split("\n")):
            if number:
                children.append(new_element("br", node, node))
            children.append(Text(line.replace("  ", "\xa0 ") if gaps else line))  # by which `words_of` knows a gap
    node.children = children


def new_element(name: str, like: Node, parent: Node | None) -> Node:
    """Make an element that stands in the place of another."""
    node = Node()
    node.name, node.parent, node.number, node.words, node.kept_words = name, parent, like.number, 0, 0
    node.attributes, node.children = {}, []
    node.skipped = node.block_level = node.has_blocks = False
    return node


def _become_tabular(tree: Tree, node: Node) -> None:
    name = next((_LATEXML[each] for each in node.attributes.get("class", "").split() if each in _LATEXML), "")
    if name:
        node.name, node.block_level = name, True
        tree.by_name.setdefault(name, []).append(node)
        for each in node.ancestors()[1:]:
            each.has_blocks = True


def _list_of(tree: Tree, node: Node) -> Node | None:
    """The list of one item that a paragraph of Word's is, without the marker that stands in it as text; None for one
    that goes on with an item."""
    place = _WORD_LIST.search(node.attributes["style"])
    marker = next((each for each in node.descendants("span") if _MARKER.search(each.attributes.get("style", ""))), None)
    if marker is None or place is None:
        return None
    counted = _ITEM_NUMBER.fullmatch(marker.text().strip())
    found = new_element("ol" if counted else "ul", node, node.parent)
    found.attributes["class"] = f"lst-kix_{place[1]}-{max(int(place[2]) - 1, 0)}"
    if counted and counted[1]:
        found.attributes["start"] = counted[1]
    found.children, found.block_level, found.has_blocks = [node], True, True
    node.name, node.parent, marker.children = "li", found, []
    for each in (found, node):
        tree.by_name.setdefault(each.name, []).append(each)
    return found


def _join_lists(around: Node) -> None:
    """Join lists that are parts of one: move their items into the first list, and deeper lists into the item above."""
    children: list[Node | Text] = []
    open_lists: list[tuple[int, str, Node]] = []
    for each in around.children:
        place = _list_level(each) if isinstance(each, Node) else None
        if place is None or not isinstance(each, Node):
            if not open_lists or not isinstance(each, Text) or each.text.strip():
                children.append(each)
                open_lists.clear()
            continue
        level, which = place
        while open_lists and open_lists[-1][0] > level:
            open_lists.pop()
        if open_lists and open_lists[-1][:2] == place:
            before = open_lists[-1][2]
            before.children += each.children
            for item in each.elements():
                item.parent = before
            continue
        while open_lists and open_lists[-1][0] == level:
            open_lists.pop()
        above = open_lists[-1][2].children if open_lists else []
        last = next((item for item in reversed(above) if isinstance(item, Node) and item.name == "li"), None)
        if last is None:
            children.append(each)
            open_lists.clear()
        else:
            last.children.append(each)
            last.has_blocks, each.parent = True, last
        open_lists.append((level, which, each))
    around.children = children


def gather_items(tree: Tree) -> None:
    """Have items that stand in no list, which a browser draws as those of one, stand in one. What is content is decided
    before: that knows lists by their elements.
    """
    for around in {node.parent for node in tree.by_name.get("li", ()) if node.parent is not None}:
        if around.name not in _LIST_ELEMENTS:
            _gather(around)


def _gather(around: Node) -> None:
    children: list[Node | Text] = []
    items: Node | None = None
    for each in around.children:
        if isinstance(each, Node) and each.name == "li":
            if items is None:
                items = new_element("ul", each, around)
                items.block_level, items.has_blocks = each.block_level, True
                children.append(items)
            each.parent = items
            items.children.append(each)
        elif items is None or isinstance(each, Node) or not each.text.isspace():
            items = None
            children.append(each)
    around.children = children


def _list_level(node: Node) -> tuple[int, str] | None:
    """The level of a list that is part of one, and which that is."""
    if node.name not in ("ul", "ol"):
        return None
    stated = node.attributes.get("class", "")
    if stated in _NOTION_LISTS:
        return 0, stated
    found = _GOOGLE_LIST.search(stated)
    return (int(found[2]), f"{node.name} {found[1]}") if found is not None else None


def _become(node: Node, name: str, source: str) -> None:
    node.name = name
    node.skipped = node.block_level = node.has_blocks = False
    node.attributes["src"] = source
    node.children = []


def _show_images(tree: Tree) -> None:
    """The images of pages without scripts, where no other stands for them."""
    outside: set[int] = set()  # where images stand that scripts show
    known: set[str] = set()  # and their addresses
    without: list[tuple[Node, Node]] = []
    shown: set[Node] = set()
    if not tree.by_name.get("noscript"):
        return
    for node in tree.all("img", "amp-img"):
        around = next((each for each in node.ancestors()[1:5] if each.name == "noscript" and each.skipped), None)
        if around is not None:
            without.append((node, around))
            continue
        stated = [each for name, each in node.attributes.items() if "src" in name and each.strip()[:5] != "data:"]
        known.update(word for each in stated for word in each.replace(",", " ").split()[:20])
        if any(stated):
            outside.add(node.number)
    for node, around in without:
        attributes = node.attributes
        source = attributes.get("src", "").strip()
        beside = around.number - 1 in outside or node.number + 1 in outside
        tiny = {attributes.get("width"), attributes.get("height")} & {"0", "1", "0px", "1px"}
        if beside or tiny or source in known or not (attributes.get("alt") or _FILE.search(source)):
            continue  # those of one pixel count visits
        known.add(source)
        shown.add(around)
    for around in shown:
        if not around.text().strip():
            around.name = "span"
            around.skipped = False
