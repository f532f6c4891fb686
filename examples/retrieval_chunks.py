"""A retrieval pipeline's first step: chunks that know their source and licence, one JSON object a line.

    python retrieval_chunks.py https://example.com/page https://example.com/other > chunks.jsonl

What a site does not want as input to a model is left out, and said on standard error.
"""

import asyncio
import json
import sys
from collections.abc import Iterator

import comity
from comity.retrieve import Retrieved


def chunks(page: Retrieved) -> Iterator[dict[str, object]]:
    """The page's passages, each with what one must know to cite it."""
    source = {
        "title": page.title,
        "page_sha256": page.evidence.source_sha256,
        "fetched_at": page.evidence.fetched_at,
        "licences": [licence.url for licence in page.usage.licences if licence.applies],
        "usage": {purpose: page.usage.preference(purpose) for purpose in ("search", "ai-input", "train-ai")},
        "why": page.usage.explain("ai-input"),
    }
    for chunk in page.chunks(400):
        yield {"text": chunk.text, "path": chunk.path, "tokens": chunk.tokens, "url": chunk.url, **source}


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
            elif page.usage.preference("ai-input") == "disallowed":
                print(f"left out: {url}: {page.usage.explain('ai-input')}", file=sys.stderr)
            else:
                for chunk in chunks(page):
                    print(json.dumps(chunk, ensure_ascii=False))


def allowed() -> dict[str, tuple[str, ...]]:
    """Networks that may be reached although they are not public, as settings have them (COMITY_ALLOW_ADDRESSES)."""
    return {"allow_addresses": comity.load_settings().policy.allow_addresses}


asyncio.run(main(sys.argv[1:]))
