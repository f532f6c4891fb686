"""Which capture of a robots.txt each row asks about: by the origin of its URL and its time."""

from __future__ import annotations

from typing import Any

from comity_robots.arrays.origins import Origins

from comity.bulk.captures import Captures, offsets_of
from comity.bulk.pieces import MapFunction, Pieces
from comity_robots.arrays.located import NULL


class Locator:
    """The origins of a table of captures, ready to be looked up. Several threads may ask at once.

    Attributes:
        sizes: by capture, the octets of its origin, after which the path of a URL begins.
    """

    def __init__(self, captures: Captures) -> None:
        import numpy as np

        self._captures = captures
        self._offsets, data = offsets_of(captures.origins)  # kept: the index reads them in place
        self._origins = Origins(data, self._offsets.ctypes.data, len(captures.origins))
        self.sizes = np.diff(self._offsets)[captures.origin_of].astype(np.uint32)

    def locate(self, pieces: Pieces, located: Any, when: Any, run: MapFunction) -> Any:
        """Set the capture of each row, or what stands for it; by capture, how many rows ask about it."""
        import numpy as np

        captures = self._captures
        step = 0 if when is None or len(when) == 1 else 8

        def piece(given: tuple[int, Any]) -> Any:
            first, chunk = given
            asked = np.zeros(len(captures), np.uint32)
            offsets, data = offsets_of(chunk)
            self._origins.locate(
                data,
                offsets.ctypes.data,
                len(chunk),
                captures.firsts.ctypes.data,
                captures.times.ctypes.data,
                0 if when is None else when.ctypes.data + step * first,
                step // 8,
                located.ctypes.data + 4 * first,
                asked.ctypes.data,
            )
            if chunk.null_count:
                located[first : first + len(chunk)][np.asarray(chunk.is_null())] = NULL
            return asked

        return sum(run(piece, pieces), np.zeros(len(captures), np.uint32))
