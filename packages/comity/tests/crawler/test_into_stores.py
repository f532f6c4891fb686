"""The examples that bring a crawl's chunks into LangChain and LlamaIndex, with these libraries themselves."""

import asyncio
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sites import Site

from comity import Crawler, Policy
from comity.audit.chunks import export_chunks
from comity.crawler.storage.open_crawl import open_output

EXAMPLES = Path(__file__).parents[4] / "examples"
POLICY = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",), purposes=("ai-input",))


def langchain(module: dict[str, Any], kept: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    store = module["InMemoryVectorStore"].load(str(kept), module["DeterministicFakeEmbedding"](size=64))
    found = store.similarity_search("lamp", k=100)
    assert len(found) == len(store.store)
    return {each.id: (each.page_content, each.metadata) for each in found}


def llama_index(module: dict[str, Any], kept: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    there = module["StorageContext"].from_defaults(persist_dir=str(kept))
    index = module["load_index_from_storage"](there, embed_model=module["MockEmbedding"](embed_dim=64))
    found = [each.node for each in index.as_retriever(similarity_top_k=100).retrieve("lamp")]
    assert len(found) == len(index.index_struct.nodes_dict)
    return {each.node_id: (each.text, each.metadata) for each in found}


@pytest.mark.long
@pytest.mark.parametrize("end", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("library", "stored"), [("langchain_core", langchain), ("llama_index.core", llama_index)], ids=lambda each: ""
)
def test_a_store_has_the_chunks_of_a_crawl_and_follows_it(
    library: str,
    stored: Callable[[dict[str, Any], Path], dict[str, tuple[str, dict[str, Any]]]],
    end: str,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed: make test-engines")
    example = EXAMPLES / f"into_{stored.__name__}.py"
    chunks, kept = tmp_path / f"chunks.{end}", tmp_path / "kept"
    site.set("/robots.txt", "User-agent: *\nContent-Signal: ai-input=yes\n")
    licence = '<link rel="license" href="https://example.org/by">'

    def page(path: str, text: str) -> None:
        links = '<nav><a href="/oil">The first</a> <a href="/gas">The second</a></nav>'
        site.set(path, f"<title>Lamps</title>{licence}{links}<main><h1>Lamps</h1><h2>Use</h2><p>{text}</p></main>")

    def updated(**how: Any) -> dict[str, tuple[str, dict[str, Any]]]:
        seeds = () if how else (site.url("/"),)
        asyncio.run(Crawler(seeds, tmp_path / "out", policy=POLICY, **how).run())
        export_chunks(open_output(tmp_path / "out"), str(chunks), tokens=400, changed=True)
        monkeypatch.setattr(sys, "argv", [str(example), str(chunks), str(kept)])
        return stored(runpy.run_path(str(example), run_name="__main__"), kept)

    page("/", "All lamps are described here, one after another, by those who lit them.")
    page("/oil", "Oil burns slowly, and a lamp of it lasts for the whole of a winter's night.")
    page("/gas", "Gas burns brightly, and nobody has to climb a ladder twice in one evening.")
    first = updated()
    (name, (text, about)), *more = [each for each in first.items() if each[1][1]["page"] == site.url("/oil")]
    assert not more
    assert text.endswith("Oil burns slowly, and a lamp of it lasts for the whole of a winter's night.")
    assert about["url"].startswith(site.url("/oil#:~:text="))
    assert (about["title"], about["headings"]) == ("Lamps", "Lamps > Use")
    assert about["licences"] == "https://example.org/by"
    assert json.loads(about["usage"]) == {"ai-input": "allowed"}
    assert about["verdict"] == "allowed_implicit"
    page("/oil", "Oil burns slowly, and the price of it has risen in each of the last ten years.")
    site.set("/gas", "", status=404)
    second = updated(refresh=True)
    assert second[name][0].endswith("has risen in each of the last ten years.")
    assert {each[1]["page"] for each in second.values()} == {site.url("/"), site.url("/oil")}
    assert len(second) == len(first) - 1
