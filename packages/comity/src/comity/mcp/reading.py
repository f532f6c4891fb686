"""Reads a site's text for the tools. It runs in reader processes, so it imports nothing of the SDK."""

from collections import Counter
from dataclasses import asdict
from itertools import accumulate, pairwise
from typing import Any, Final

from comity.errors import UnsupportedContent
from comity.mcp.answers import MAX_ENTRIES, ToolFailure, as_text, framed, truncate
from comity.mcp.content_store import PageText
from comity.mcp.untrusted import clean, clean_all, clean_markdown
from comity.retrieve import Retrieved
from comity_pages.documents import form_of, read_body
from comity_pages.extraction import ExtractedPage
from comity_pages.pieces import PieceKind
from comity_pages.signals import sitemaps
from comity_pages.tokens import count_tokens, longest_prefix
from comity_robots import Dialect, Rule, parse
from comity_robots.differences import between_agents
from comity_robots.usage.statements import PURPOSES, USE

MAX_CHARACTERS_PER_TOKEN: Final = 8  # by the count of tokens.py
_TOKENS_OF_DIGITS: Final = 32  # by which the numbers of a part grow with it
_METADATA: Final = ("author", "date", "language", "canonical", "site_name")


# Pages


def page_of(retrieved: Retrieved) -> PageText:
    """Clean a retrieved page."""
    removed: Counter[str] = Counter()
    markdown, left = clean_markdown(
        retrieved.markdown, retrieved.hidden, removed, as_served=retrieved.evidence.conversion == "unchanged"
    )
    pages = [retrieved.markdown[start:end] for start, end in pairwise((*retrieved.page_starts, None))]
    fields = {name: getattr(retrieved.metadata, name) for name in _METADATA}
    from_site = {
        "media_type": truncate(retrieved.media_type, 100),
        "reason": truncate(retrieved.reason),
        "metadata": {name: truncate(field.value, 200) for name, field in fields.items() if field is not None},
        "warnings": [truncate(each.message, 200) for each in retrieved.warnings[:10]],
        "licences": [truncate(each.words, 200) for each in retrieved.usage.terms[:5]],
        "left_out": [f"{each.place}: {each.words} words" for each in retrieved.left_out[:10]],
        "hidden_text_left_in": [{"kind": each.kind, "begins": truncate(each.excerpt, 100)} for each in left[:5]],
    }
    reasons = [truncate(each.message, 200) for each in retrieved.quality.reasons[:5]]
    return PageText(
        url=retrieved.url,
        title=truncate(clean(retrieved.title or "", removed), 300),
        markdown=markdown,
        heading_ids=tuple((clean(words, removed), clean(name, removed)) for words, name in retrieved.heading_ids),
        folded=tuple(clean(words, removed) for words in retrieved.folded),
        page_starts=tuple(accumulate((len(clean(page, Counter())) for page in pages[:-1]), initial=0)) if pages else (),
        ours={
            "kind": retrieved.kind,
            "quality": {"score": retrieved.quality.score, "reasons": reasons},
            "usage": {purpose: retrieved.usage.preference(purpose) for purpose in (*PURPOSES, USE)},
        },
        from_site={name: value for name, value in from_site.items() if value},
        removed=dict(removed),
    )


def page_of_body(body: bytes, url: str, content_type: str, encoding: str, title: str) -> PageText:
    """A page that a crawl kept.

    Raises:
        UnsupportedContent: it is neither a page nor a text.
        ExtractionFailed: it is built to exhaust a parser.
    """
    page = read_body(body, url, content_type, encoding=encoding)
    if page is None:
        raise UnsupportedContent(f"{url} is {content_type}", url=url)
    removed: Counter[str] = Counter()
    as_served = form_of(body, content_type) in ("markdown", "text")
    markdown, _ = clean_markdown(page.markdown, page.hidden, removed, as_served=as_served)
    return PageText(url, truncate(clean(title, removed), 300), markdown, removed=dict(removed))


def part_of(page: PageText, key: str, start: int, max_tokens: int, kind: PieceKind | None = None) -> dict[str, Any]:
    """An answer with the page from a character on, as much of it as fits.

    Raises:
        ToolFailure: there is no room for any text.
    """
    first, whole = start == 0, len(page.markdown)
    from_site: dict[str, Any] = {"url": page.url, "title": page.title, "markdown": ""}
    from_site |= (page.from_site if first else {}) | ({} if kind is None else {"pieces": []})
    part = {"from": start, "to": whole, "of": whole, "cursor": f"{key}:{whole}"}
    values = {"resource": f"comity://page/{key}", "part": part, "from_site": from_site, **(page.ours if first else {})}
    values = framed(values, page.removed if first else {})
    frame = count_tokens(as_text(values)) + _TOKENS_OF_DIGITS
    if frame > max_tokens:
        raise ToolFailure(
            "budget_too_small",
            f"{max_tokens} tokens are too few for what is said about the page besides its text.",
            f"Ask for at least {frame + 200}.",
        )
    rest = page.markdown[start : start + max_tokens * MAX_CHARACTERS_PER_TOKEN]
    pieces = [] if kind is None else clean_all(_pieces(page, kind), Counter())
    sizes = [(each["start"], count_tokens(as_text(each)) + 2) for each in pieces if each["start"] >= start]

    def fits(beginning: str) -> bool:
        of_pieces = sum(size for at, size in sizes if at < start + len(beginning))
        return frame + of_pieces + count_tokens(as_text({"": beginning})[6:-2]) <= max_tokens

    text = longest_prefix(rest, fits)
    if rest and not text:
        raise ToolFailure(
            "budget_too_small", f"{max_tokens} tokens leave no room for text.", f"Ask for {max_tokens + 200}."
        )
    end = start + len(text)
    values["from_site"]["markdown"] = text  # which was cleaned when the page was read
    if kind is not None:
        values["from_site"]["pieces"] = [each for each in pieces if start <= each["start"] < end]
    values["part"] |= {"to": end, "cursor": f"{key}:{end}" if end < whole else None}
    return values


def _pieces(page: PageText, kind: PieceKind) -> list[dict[str, Any]]:
    """The pieces of a page in order; of a passage not the text, which stands in the Markdown."""
    known = {name: getattr(page, name) for name in ("url", "heading_ids", "folded", "page_starts")}
    extracted = ExtractedPage(page.markdown, (), False, **known)
    found: list[dict[str, Any]] = extracted.pieces([kind])[kind]
    if kind == "sections":
        flat: list[dict[str, Any]] = []
        while found:
            each = found.pop(0)
            found[:0] = each.pop("sections")
            flat.append(each)
        return flat
    return [{name: value for name, value in each.items() if kind != "chunks" or name != "text"} for each in found]


# Sitemaps


def sitemap_entries(url: str, body: bytes) -> tuple[list[sitemaps.SitemapUrl | sitemaps.SitemapRef], str | None]:
    """Return what a sitemap lists, and why reading stopped early, if it did."""
    reader = sitemaps.SitemapReader(url)
    return list(reader.read(body)), reader.problem


# robots.txt


def explain(body: bytes, dialect: Dialect, url: str, agent: str) -> dict[str, Any]:
    """Why an agent may fetch a URL or not; here and below as members of an answer."""
    match = parse(body, dialect).explain(url, agent)
    from_site = {
        "why": match.why,
        "rule": match.rule.text if match.rule else None,
        "group": list(match.group.agents[:20]) if match.group else None,
        "overridden": [{"line": rule.line, "rule": rule.text, "why": why} for rule, why in match.overridden[:20]],
    }
    line = match.rule.line if match.rule else None
    return {"from_site": from_site, "allowed": match.allowed, "line": line}


def lint(body: bytes, dialect: Dialect) -> dict[str, Any]:
    """Return the findings in a robots.txt, and their number."""
    findings = parse(body, dialect).lint()
    shown = [{**asdict(each), "severity": each.severity} for each in findings[:MAX_ENTRIES]]
    return {"from_site": {"findings": shown}, "findings": len(findings)}


def compare(body: bytes, dialect: Dialect, url: str, agent: str, other: str) -> dict[str, Any]:
    """Paths that one agent may fetch and the other may not: what changes where the one is told what the other is."""
    file = parse(body, dialect)
    found = between_agents(file, agent, other)
    shown = [
        {
            "pattern": each.pattern,
            "path": each.path,
            "allowed_for": other if each.allowed else agent,
            "rules": [_rule(each.before), _rule(each.after)],
        }
        for each in found.changes[:MAX_ENTRIES]
    ]
    return {
        "from_site": {"differences": shown},
        "other_agent": other,
        "allowed": file.allowed(url, agent),
        "other_allowed": file.allowed(url, other),
        "differences": len(found.changes),
        "undecided": len(found.undecided),
    }


def _rule(rule: Rule | None) -> dict[str, Any] | None:
    return {"line": rule.line, "rule": rule.text} if rule else None
