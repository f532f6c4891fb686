"""Fit the trees that tell content from the rest (src/comity/retrieve/content.json), and say how well they do.

    python benchmarks/extraction_model.py PAGES [--folds 4] [--write]

PAGES is a folder with `truth.jsonl.gz` and `html/ID.html.gz` (see its README). The figure that counts is the one of
the folds: each page is judged by trees that saw neither it nor any other page of its domain. Of the pages, only the
fitted numbers go into the project. Needs lightgbm, numpy, scikit-learn.
"""

import argparse
import gzip
import json
import re
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lightgbm
import numpy as np
from sklearn.model_selection import GroupKFold

import comity.retrieve
from comity.errors import ExtractionFailed
from comity.retrieve import blocks, features, hidden, tree

WORD = re.compile(r"\w+")
RUN = 4
"""Words in a row by which a block's text is found in the content."""
TREES = 150
PARAMETERS = {
    "objective": "cross_entropy",
    "num_leaves": 24,
    "learning_rate": 0.08,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "max_bin": 63,
    "seed": 1,
    "num_threads": 1,
    "deterministic": True,
    "verbose": -1,
}


@dataclass
class Example:
    """A page: its blocks' words and numbers, and how much of each is content."""

    type: str
    domain: str
    truth: Counter[str]
    words: list[list[str]]
    numbers: Any
    labels: Any
    weights: Any


def examples(folder: Path) -> list[Example]:
    found = []
    for line in gzip.decompress((folder / "truth.jsonl.gz").read_bytes()).decode().rstrip("\n").split("\n"):
        row = json.loads(line)
        html = gzip.decompress((folder / "html" / f"{row['id']}.html.gz").read_bytes()).decode("utf-8", "replace")
        url = row["url"] or ""
        try:
            page = tree.parse(html, url)
        except ExtractionFailed as error:
            print(error)
            continue
        cut = blocks.cut(page, hidden.in_page(page)[1])
        words = [WORD.findall(block.text.lower()) for block in cut]
        truth = WORD.findall(row["content"].lower())
        if cut:
            measured = features.measure(cut, page, url)
            numbers = np.frombuffer(measured.numbers).reshape(len(cut), measured.width).astype(np.float32)
        else:
            numbers = np.zeros((0, 1), np.float32)
        lengths = np.array([len(each) for each in words])
        found.append(
            Example(
                row["type"],
                urlsplit(url).netloc.removeprefix("www.") or row["id"],
                Counter(truth),
                words,
                numbers,
                np.array(labels(words, truth, row["content"])),
                np.minimum(lengths, 200) / max(len(truth), 100) + 0.02 / max(1, len(words)) ** 0.5,
            )
        )
    return found


def labels(words: list[list[str]], truth: list[str], content: str) -> list[float]:
    """Of each block, the share of its words that stand in the content in the same order."""
    runs = {tuple(truth[at : at + RUN]) for at in range(len(truth) - RUN + 1)}
    short = {size: {tuple(truth[at : at + size]) for at in range(len(truth) - size + 1)} for size in range(1, RUN)}
    lines = {tuple(WORD.findall(line.lower())) for line in content.split("\n")}
    shares = []
    for number, block in enumerate(words):
        size = len(block)
        if size >= RUN:
            hit = [False] * size
            for at in range(size - RUN + 1):
                if tuple(block[at : at + RUN]) in runs:
                    hit[at : at + RUN] = [True] * RUN
            shares.append(sum(hit) / size)
        elif tuple(block) in lines:
            shares.append(1.0)
        elif tuple(block) in short[size]:  # a few words prove little, but for those beside them
            before = words[number - 1][-3:] if number else []
            together = before + block + (words[number + 1][:3] if number + 1 < len(words) else [])
            first, last = max(0, len(before) + size - RUN), min(len(before), len(together) - RUN)
            near = any(tuple(together[at : at + RUN]) in runs for at in range(first, last + 1))
            shares.append(1.0 if near else 0.3 if size == RUN - 1 else 0.1)
        else:
            shares.append(0.0)
    return shares


def fit(pages: list[Example]) -> Any:
    data = lightgbm.Dataset(
        np.concatenate([page.numbers for page in pages if len(page.words)]),
        np.concatenate([page.labels for page in pages if len(page.words)]),
        weight=np.concatenate([page.weights for page in pages if len(page.words)]),
        params=PARAMETERS,
    )
    return lightgbm.train(PARAMETERS, data, TREES)


def agreement(page: Example, chances: Any) -> tuple[float, float]:
    """The F1 of what would be kept, and the one that was expected; as comity.retrieve.content decides."""
    sizes = np.array([len(each) for each in page.words])
    order = np.argsort(-chances, kind="stable")
    right, kept = np.cumsum((chances * sizes)[order]), np.cumsum(sizes[order])
    expected = 2 * right / (kept + right[-1])
    best = int(np.argmax(expected))
    taken: Counter[str] = Counter()
    for number in order[: best + 1]:
        taken.update(page.words[number])
    common = sum((taken & page.truth).values())
    total = sum(taken.values()) + sum(page.truth.values())
    return (2 * common / total if total else 1.0), float(expected[best])


def table(model: Any, width: int) -> dict[str, Any]:
    """The trees as columns (see comity.retrieve._forest), each node followed by the one for smaller values."""
    columns: dict[str, list[Any]] = {"features": [], "values": [], "others": []}

    def add(node: dict[str, Any]) -> int:
        place = len(columns["features"])
        leaf = "leaf_value" in node
        columns["features"].append(-1 if leaf else node["split_feature"])
        columns["values"].append(float(f"{node['leaf_value'] if leaf else node['threshold']:.6g}"))
        columns["others"].append(0)
        if not leaf:
            assert node["decision_type"] == "<="
            add(node["left_child"])
            columns["others"][place] = add(node["right_child"])
        return place

    roots = [add(each["tree_structure"]) for each in model.dump_model()["tree_info"]]
    return {"width": width, "roots": roots, **columns}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pages", type=Path)
    arguments.add_argument("--folds", type=int, default=4, help="0 for none")
    arguments.add_argument("--write", action="store_true", help="fit to all pages and write content.json")
    options = arguments.parse_args()
    started = time.monotonic()
    pages = examples(options.pages)
    width = max(page.numbers.shape[1] for page in pages)
    print(f"{len(pages)} pages, {width} numbers a block, {time.monotonic() - started:.0f} s", flush=True)
    if options.folds:
        found: dict[str, list[float]] = defaultdict(list)
        expected = []
        domains = [page.domain for page in pages]
        for seen, unseen in GroupKFold(options.folds).split(pages, groups=domains):
            model = fit([pages[number] for number in seen])
            for number in unseen:
                page = pages[number]
                if page.words:
                    real, hoped = agreement(page, model.predict(page.numbers, num_threads=1))
                else:
                    real, hoped = float(not page.truth), 0.0
                found[page.type].append(real)
                found["all"].append(real)
                expected.append(hoped)
            print(f"a fold, {time.monotonic() - started:.0f} s", flush=True)
        print("unseen pages, F1:", ", ".join(f"{name} {statistics.mean(found[name]):.3f}" for name in sorted(found)))
        ranks = [np.argsort(np.argsort(values)) for values in (expected, found["all"])]
        print(f"rank correlation of expected and real: {np.corrcoef(*ranks)[0, 1]:.3f}", flush=True)
    if options.write:
        target = Path(comity.retrieve.__path__[0]) / "content.json"
        target.write_text(json.dumps(table(fit(pages), width), separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
