"""Elastic stiffness of any body, borrowed from the vibration modes of what it is made of.

A learned body knows how an object may move, not the energy of it. The modes of the same surface and
material do: a motion costs what the modes it is made of cost, and what none of them can do costs as
much as the stiffest.
"""

from __future__ import annotations

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.modal import ModalBody
from kin4d.errors import InputError

_MOST = 2000  # vertices looked at
_STEP = 1e-6  # of coordinates, for differences


def elastic_stiffness(body: Body, modal: ModalBody, *, pinned: bool) -> np.ndarray:
    """[k, k] J: the elastic energy of `body` near rest is 1/2 q' K q.

    Args:
        body: Any.
        modal: Of the same mesh.
        pinned: Whether something holds the modal body; if nothing does, motions of the whole are
            free.
    """
    count = len(modal.rest.vertices)
    if len(body.rest.vertices) != count:
        raise InputError(
            "a body and its modes need the same mesh",
            value=len(body.rest.vertices),
            allowed=f"{count} vertices",
        )
    some = np.unique(np.linspace(0, count - 1, min(count, _MOST)).astype(int))
    own, modes = _slopes(body, some), _slopes(modal, some)
    each = float(modal.mass.sum()) / len(some)
    stiffness = modal.stiffness.numpy()
    free = _rigid(modal.rest.vertices[some])[:, : 0 if pinned else None]
    known = np.hstack([modes, free])
    used = np.linalg.lstsq(known, own, rcond=None)[0]
    rest, used = own - known @ used, used[: modes.shape[1]]
    stiffest = np.max(np.diag(stiffness) / (each * np.square(modes).sum(0)))
    return used.T @ stiffness @ used + stiffest * each * rest.T @ rest


def _slopes(body: Body, some: np.ndarray) -> np.ndarray:
    """[3 V, k] how vertices move with each coordinate, at rest."""
    steps = _STEP * torch.eye(len(body.q0), dtype=torch.float64)
    with torch.no_grad():
        there, here = body.vertices(body.q0 + steps), body.vertices(body.q0 - steps)
    moved = (there - here)[:, some] / (2 * _STEP)
    return moved.flatten(1).numpy().T


def _rigid(points: np.ndarray) -> np.ndarray:
    """[3 V, 6] motions of the whole."""
    arms = points - points.mean(0)
    translations = np.tile(np.eye(3), (len(points), 1))
    rotations = np.stack([np.cross(axis, arms).ravel() for axis in np.eye(3)], 1)
    return np.hstack([translations, rotations])
