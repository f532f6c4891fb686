"""A retrieval pipeline's first step: chunks that know their source and licence, one JSON object a line.

    python retrieval_chunks.py https://example.com/page https://example.com/other > chunks.jsonl

What a site does not want as input to a model is left out, and said on standard error.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator

import comity
from comity.retrieve import Retrieved


def chunks(page: Retrieved, longest: int = 1500) -> Iterator[dict[str, object]]:
    """The page's sections, those that are too long cut at a paragraph."""
    source = {
        "url": page.url,
        "title": page.title,
        "page_sha256": page.evidence.source_sha256,
        "fetched_at": page.evidence.fetched_at,
        "licences": [licence.url for licence in page.usage.licences if licence.applies],
        "usage": {purpose: page.usage.allows(purpose) for purpose in ("search", "ai-input", "train-ai")},
        "why": page.usage.explain("ai-input"),
    }
    heading, text = "", ""
    for block in [*page.markdown.split("\n\n"), ""]:
        begins = re.match(r"#{1,6} (.*)", block)
        if text and (begins or not block or len(text) + len(block) > longest):
            yield {"text": text.strip(), "heading": heading, **source}
            text = ""
        heading = begins[1] if begins else heading
        text += f"{block}\n\n"


async def main(urls: list[str]) -> None:
    async with comity.AsyncClient(comity.Policy(agent="ChunkBot/1.0", purposes=("ai-input",), **allowed())) as client:
        for url in urls:
            try:
                page = await client.retrieve(url)
            except comity.ComityError as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
            if page.kind != "page":
                print(f"left out: {url} is a {page.kind.replace('_', ' ')}", file=sys.stderr)
            elif page.usage.allows("ai-input") == "disallowed":
                print(f"left out: {url}: {page.usage.explain('ai-input')}", file=sys.stderr)
            else:
                for chunk in chunks(page):
                    print(json.dumps(chunk, ensure_ascii=False))


def allowed() -> dict[str, tuple[str, ...]]:
    """Networks that may be reached although they are not public, as settings have them (COMITY_ALLOW_ADDRESSES)."""
    return {"allow_addresses": comity.load_settings().policy.allow_addresses}


asyncio.run(main(sys.argv[1:]))
