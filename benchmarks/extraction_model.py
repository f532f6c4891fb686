"""Fit the trees that tell content from the rest (comity_pages/content/content.json), and say how well they do.

    python benchmarks/extraction_model.py PAGES... [--folds FOLDER] [--write]

PAGES are folders, each with `truth.jsonl.gz` and `html/ID.html.gz` (see their README). The figure that counts is
the one of the folds: each page is judged by trees that saw no page of its domain. Of the pages, only the
fitted numbers go into the project. Needs lightgbm, numpy, rapidfuzz, scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from extraction import ANY_WORD, html_of, rows_of
from rapidfuzz.distance import LCSseq
from sklearn.model_selection import GroupKFold

from comity.errors import ExtractionFailed
from comity_pages import content, extraction
from comity_pages.content import facts, features

FOLDS = 4
MOST_BLOCKS = 200
"""Blocks of a page that trees are fitted to, about; of more, the long ones and a sample of the short ones."""
TREES = 300
WEIGHT = 2.0
"""Of a page of the second folder and those after it: there are few pages of news beside the web's."""
OF_SPEECHLESS = 0.3
"""Of the weight of a page, that of its copy without words."""
SAID = (21, 22, 23, 57)
"""Of the numbers of a block, those of the words of headings and of the title."""
PARAMETERS = {
    "objective": "cross_entropy",
    "num_leaves": 24,
    "learning_rate": 0.05,
    "min_data_in_leaf": 120,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "max_bin": 63,
    "seed": 1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@dataclass
class Example:
    """A page: its blocks' words and numbers, and how much of each is content."""

    id: str
    type: str
    domain: str
    truth: Counter[str]
    words: list[list[str]]
    numbers: Any
    labels: Any
    weights: Any
    fitted: Any
    """The blocks that trees are fitted to."""


def examples(folder: Path) -> list[Example]:
    found = []
    for row in rows_of([folder], 1_000_000):
        html = html_of(row).decode("utf-8", "replace")
        url = row["url"] or ""
        truth = ANY_WORD.findall(row["content"].lower())
        try:
            with extraction._open_page(html, url) as (page, _, _, cut, _):
                words = [ANY_WORD.findall(block.text.lower()) for block in cut]
                rows = features.measure(cut, facts.Facts(page), url)[0] if cut else None
        except ExtractionFailed as error:
            print(error)
            continue
        found.append(example(row, words, truth, rows, labels(words, truth)))
    return found


def example(
    row: dict[str, Any], words: list[list[str]], truth: list[str], rows: array[float] | None, shares: list[float]
) -> Example:
    count = len(words)
    lengths = np.array([len(each) for each in words], float)
    weights = np.minimum(lengths, 200) / max(len(truth), 100) + 0.02 / max(1, count) ** 0.5
    fitted = np.arange(count)
    if count > MOST_BLOCKS:
        chosen = np.minimum(1, MOST_BLOCKS / count * np.maximum(0.6, lengths / 12))
        taken = np.random.default_rng(int(row["id"])).random(count) < chosen
        weights = weights / chosen
        fitted = np.flatnonzero(taken)
    numbers = np.frombuffer(rows).reshape(count, -1).astype(np.float32) if rows is not None else None
    return Example(
        row["id"], row["type"], row["domain"], Counter(truth), words, numbers, np.array(shares), weights, fitted
    )


def labels(words: list[list[str]], truth: list[str]) -> list[float]:
    """Of each block, the share of its words that stand in the content, in its order and each once: of a text that the
    page has twice and the content once, one is content.
    """
    same = [False] * sum(map(len, words))
    for step in LCSseq.opcodes([word for block in words for word in block], truth):
        if step.tag == "equal":
            same[step.src_start : step.src_end] = [True] * (step.src_end - step.src_start)
    shares, at = [], 0
    for block in words:
        shares.append(sum(same[at : at + len(block)]) / len(block))
        at += len(block)
    return shares


def speechless(page: Example) -> Example:
    """The same page, of whose words nothing is understood: few pages are in other languages than English."""
    numbers = page.numbers.copy()
    numbers[:, SAID] = 0
    return replace(page, numbers=numbers, weights=page.weights * OF_SPEECHLESS)


def fit(pages: list[Example]) -> Any:
    with_blocks = [page for page in pages if page.words]
    with_blocks += [speechless(page) for page in with_blocks]
    data = lightgbm.Dataset(
        np.concatenate([page.numbers[page.fitted] for page in with_blocks]),
        np.concatenate([page.labels[page.fitted] for page in with_blocks]),
        weight=np.concatenate([page.weights[page.fitted] for page in with_blocks]),
        params=PARAMETERS,
    )
    return lightgbm.train(PARAMETERS, data, TREES)


def asked(model: Any, pages: list[Example]) -> list[Any]:
    """The chances of all blocks of some pages."""
    return [model.predict(page.numbers, num_threads=1) if page.words else np.zeros(0) for page in pages]


def agreement(page: Example, chances: Any) -> tuple[float, float]:
    """The F1 of what would be kept, and the one that was expected; as comity_pages.content.content decides."""
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


def table(model: Any) -> dict[str, Any]:
    """The trees as columns (see comity_pages.content._forest), each node followed by the one for smaller values."""
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
    return {"width": model.num_feature(), "roots": roots, **columns}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pages", type=Path, nargs="+")
    arguments.add_argument("--folds", type=Path, help="where to write the trees of each fold, for extraction.py web")
    arguments.add_argument("--write", action="store_true", help="fit to all pages and write content.json")
    options = arguments.parse_args()
    pages = examples(options.pages[0])
    for folder in options.pages[1:]:
        for page in examples(folder):
            page.weights = page.weights * WEIGHT
            pages.append(page)
    learn(pages, options.folds, write=options.write)


def learn(pages: list[Example], target: Path | None, *, write: bool) -> None:
    if write:
        place = Path(content.__path__[0]) / "content.json"
        place.write_text(json.dumps(table(fit(pages)), separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{place}: {place.stat().st_size} bytes", flush=True)
    if target is None:
        return
    target.mkdir(parents=True, exist_ok=True)
    judged = []
    split = GroupKFold(FOLDS).split(pages, groups=[page.domain for page in pages])
    for number, (seen, unseen) in enumerate(split):
        model = fit([pages[each] for each in seen])
        fold = [pages[each] for each in unseen]
        judged.append((fold, asked(model, fold)))
        saved = {"unseen": sorted({page.domain for page in fold}), "table": table(model)}
        (target / f"fold-{number}.json").write_text(json.dumps(saved), encoding="utf-8")
    said("blocks of pages unseen", judged)


def said(name: str, judged: Iterable[tuple[list[Example], list[Any]]]) -> None:
    """Print how well blocks were judged."""
    found: dict[str, list[float]] = defaultdict(list)
    expected = []
    for pages, chances in judged:
        for page, given in zip(pages, chances, strict=True):
            real, hoped = agreement(page, given) if page.words else (float(not page.truth), 0.0)
            found[page.type].append(real)
            found["all"].append(real)
            expected.append(hoped)
    ranks = [np.argsort(np.argsort(values)) for values in (expected, found["all"])]
    print(f"{name}, F1:", ", ".join(f"{kind} {statistics.mean(found[kind]):.4f}" for kind in sorted(found)))
    print(f"  rank correlation of expected and real: {np.corrcoef(*ranks)[0, 1]:.3f}", flush=True)


if __name__ == "__main__":
    main()
