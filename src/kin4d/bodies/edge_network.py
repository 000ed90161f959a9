"""EdgeNetwork: a soft body's nodes, put together from the edges between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class EdgeNetwork(NamedTuple):
    """What holds N nodes together, in plain arrays: E ties, each from both its ends.

    With turns R of the nodes, x = rest + settle @ pull, where each tie pulls its end and pushes its
    start by weight * (R[start] (arm + stretch q) - arm).

    Attributes:
        start: [E] node whose rotation turns the tie.
        end: [E] node at its other end.
        weight: [E].
        arms: [E, 3] m, at rest.
        stretch: [E, 3, k] m.
        spin: [N, 3, k] rad: rotation vectors of the nodes are spin @ q.
        rest: [N, 3] m.
        settle: [N, N].
    """

    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    arms: np.ndarray
    stretch: np.ndarray
    spin: np.ndarray
    rest: np.ndarray
    settle: np.ndarray
