"""A crawl's chunks as LlamaIndex nodes, and an index that follows the crawl.

    comity export out --to chunks -o chunks.jsonl --changed
    python into_llama_index.py chunks.jsonl store

Every week the same two lines, after `comity crawl -o out --refresh`. The chunks may be Parquet too.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.schema import TextNode

KEPT = ("url", "page", "title", "verdict", "usage", "refresh", "fetched_at", "index")
READ = ("title", "headings")  # by the embedding; the rest of the metadata is for filters and for who cites


def rows(path: str) -> Iterator[dict[str, Any]]:
    """What `comity export --to chunks` wrote."""
    if path.endswith(".parquet"):
        from pyarrow.parquet import ParquetFile

        for batch in ParquetFile(path).iter_batches(500):
            yield from batch.to_pylist()
    else:
        with Path(path).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def nodes(path: str) -> Iterator[TextNode]:
    """The chunks of a file as nodes, which are not to be split once more."""
    for row in rows(path):
        if row["change"] != "gone":
            # Texts and numbers only, and none that is not there: many stores take nothing else.
            about = {name: row[name] for name in KEPT if row[name] is not None}
            about |= {"headings": " > ".join(row["headings"]), "licences": " ".join(row["licences"])}
            unread = [name for name in about if name not in READ]
            yield TextNode(text=row["text"], id_=row["id"], metadata=about, excluded_embed_metadata_keys=unread)


def update(index: VectorStoreIndex, path: str) -> None:
    """Put what is new or changed into an index under its id, and delete what is changed or gone."""
    if old := [row["id"] for row in rows(path) if row["change"] in ("changed", "gone")]:
        index.delete_nodes(old, delete_from_docstore=True)
    index.insert_nodes(list(nodes(path)))


if __name__ == "__main__":
    chunks, kept = sys.argv[1:]
    embedding = MockEmbedding(embed_dim=64)  # put your model in its place, and your vector store below
    if Path(kept).exists():
        index = load_index_from_storage(StorageContext.from_defaults(persist_dir=kept), embed_model=embedding)
    else:
        index = VectorStoreIndex([], embed_model=embedding)
    update(index, chunks)
    index.storage_context.persist(kept)
    print(len(index.index_struct.nodes_dict), "chunks in", kept)
