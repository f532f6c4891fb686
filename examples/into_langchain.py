"""A crawl's chunks as LangChain documents, and a vector store that follows the crawl.

    comity export out --to chunks -o chunks.jsonl --changed
    python into_langchain.py chunks.jsonl store.json

Every week the same two lines, after `comity crawl -o out --refresh`. The chunks may be Parquet too.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

KEPT = ("url", "page", "title", "verdict", "usage", "refresh", "fetched_at", "index")


class ChunkLoader(BaseLoader):
    """Documents of a file that `comity export --to chunks` wrote, one for each chunk."""

    def __init__(self, path: str) -> None:
        self.path = path

    def rows(self) -> Iterator[dict[str, Any]]:
        if self.path.endswith(".parquet"):
            from pyarrow.parquet import ParquetFile

            for batch in ParquetFile(self.path).iter_batches(500):
                yield from batch.to_pylist()
        else:
            with Path(self.path).open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)

    def lazy_load(self) -> Iterator[Document]:
        for row in self.rows():
            if row["change"] != "gone":
                # Texts and numbers only, and none that is not there: many stores take nothing else.
                about = {name: row[name] for name in KEPT if row[name] is not None}
                about |= {"headings": " > ".join(row["headings"]), "licences": " ".join(row["licences"])}
                yield Document(row["text"], id=row["id"], metadata=about)


def update(store: VectorStore, path: str) -> None:
    """Put what is new or changed into a store under its id, and delete what is changed or gone."""
    loader = ChunkLoader(path)
    if old := [row["id"] for row in loader.rows() if row["change"] in ("changed", "gone")]:
        store.delete(old)
    if documents := loader.load():
        store.add_documents(documents, ids=[each.id for each in documents])


if __name__ == "__main__":
    chunks, kept = sys.argv[1:]
    embedding = DeterministicFakeEmbedding(size=64)  # put your model in its place, and your store below
    store = InMemoryVectorStore.load(kept, embedding) if Path(kept).exists() else InMemoryVectorStore(embedding)
    update(store, chunks)
    store.dump(kept)
    print(len(store.store), "chunks in", kept)
