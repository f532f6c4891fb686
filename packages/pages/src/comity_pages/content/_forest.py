"""Decision trees that were fitted beforehand (benchmarks/extraction_model.py), read from their table and asked."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import exp

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython


class Forest:
    """Trees whose leaves are summed, and the logistic function of the sum.

    Args:
        width: numbers of a row.
        roots: the first node of each tree.
        features: of each node the place in a row that is compared, or -1 at a leaf.
        values: of each node what it is compared with (`row[feature] <= value` goes on to the next node), or the leaf's.
        others: of each node the one to go on with where it is greater.
    """

    def __init__(
        self, width: int, roots: Sequence[int], features: Sequence[int], values: Sequence[float], others: Sequence[int]
    ) -> None:
        size = len(features)
        if not len(values) == len(others) == size:
            raise ValueError("the columns of a forest differ in length")
        if any(not 0 <= root < size for root in roots):
            raise ValueError("a tree of the forest begins outside of it")
        for node, (feature, other) in enumerate(zip(features, others, strict=True)):
            if feature >= width or (feature >= 0 and not (node + 1 < size and node < other < size)):
                raise ValueError(f"node {node} of the forest leads outside of it")
        self.width = width
        self.roots = array("i", roots)
        self.features = array("i", features)
        self.values = array("d", values)
        self.others = array("i", others)
        if not cython.compiled:  # an interpreter takes numbers out of lists faster
            self._lists = self.features.tolist(), self.values.tolist(), self.others.tolist()

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def chances(self, rows: array[float]) -> list[float]:
        """One number between 0 and 1 for each row of `width` numbers."""
        width: cython.Py_ssize_t = self.width
        count: cython.Py_ssize_t = len(rows) // self.width
        if count == 0:
            return []
        if not cython.compiled:
            return self._interpreted(rows, count)
        sums = array("d", bytes(8 * count))
        row: cython.const[cython.double][::1] = rows
        totals: cython.double[::1] = sums
        roots: cython.const[cython.int][::1] = self.roots
        features: cython.const[cython.int][::1] = self.features
        values: cython.const[cython.double][::1] = self.values
        others: cython.const[cython.int][::1] = self.others
        trees: cython.Py_ssize_t = len(self.roots)
        number: cython.Py_ssize_t
        tree: cython.Py_ssize_t
        node: cython.Py_ssize_t
        at: cython.Py_ssize_t
        for tree in range(trees):  # one after the other: its nodes stay in the processor's cache for all rows
            at = 0
            for number in range(count):
                node = roots[tree]
                while features[node] >= 0:
                    if row[at + features[node]] <= values[node]:
                        node += 1
                    else:
                        node = others[node]
                totals[number] += values[node]
                at += width
        return [1.0 / (1.0 + exp(-total)) for total in sums]

    def _interpreted(self, rows: array[float], count: int) -> list[float]:
        features, values, others = self._lists
        numbers = rows.tolist()
        found = []
        for at in range(0, count * self.width, self.width):
            row = numbers[at : at + self.width]
            total = 0.0
            for node in self.roots:
                feature = features[node]
                while feature >= 0:
                    node = node + 1 if row[feature] <= values[node] else others[node]
                    feature = features[node]
                total += values[node]
            found.append(1.0 / (1.0 + exp(-total)))
        return found
