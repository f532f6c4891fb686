"""Which capture of a robots.txt each row asks about: by the origin of its URL and its time."""

from __future__ import annotations

from typing import Any

from comity_robots.arrays.origins import Origins

from comity.bulk.captures import Captures, buffers_of
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
        offsets, octets = buffers_of(captures.origins)
        self._origins = Origins(octets, offsets)
        self.sizes = np.diff(offsets)[captures.origin_of].astype(np.uint32)

    def locate(self, pieces: Pieces, located: Any, when: Any, run: MapFunction) -> Any:
        """Set the capture of each row, or what stands for it; by capture, how many rows ask about it."""
        import numpy as np

        captures = self._captures
        each = when is not None and len(when) > 1

        def piece(given: tuple[int, Any]) -> Any:
            first, chunk = given
            asked = np.zeros(len(captures), np.uint32)
            offsets, octets = buffers_of(chunk)
            own = located[first : first + len(chunk)]
            at = when[first : first + len(chunk)] if each else when
            self._origins.locate(octets, offsets, captures.firsts, captures.times, at, own, asked)
            if chunk.null_count:
                own[np.asarray(chunk.is_null())] = NULL
            return asked

        return sum(run(piece, pieces), np.zeros(len(captures), np.uint32))
