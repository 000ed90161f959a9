"""EdgeNetwork: a soft body's nodes, put together from the edges between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class EdgeNetwork(NamedTuple):
    """E weighted edges between N nodes, in plain arrays; every pair of neighbours has two.

    With rotations R of the nodes, x = rest + inverse_laplacian @ force, where an edge adds
    weight * (R[start] (arm + stretch q) - arm) to the force on its end and takes it from its start.

    Attributes:
        start: [E] node that rotates the edge.
        end: [E] node at the other end.
        weight: [E].
        arms: [E, 3] m, at rest.
        stretch: [E, 3, k] m.
        spin: [N, 3, k] rad: rotation vectors of the nodes are spin @ q.
        rest: [N, 3] m.
        inverse_laplacian: [N, N] of the weighted graph; pinned nodes, or the centre of mass
            without any, are fixed.
    """

    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    arms: np.ndarray
    stretch: np.ndarray
    spin: np.ndarray
    rest: np.ndarray
    inverse_laplacian: np.ndarray
