"""`kin4d simulate --push`: forces from text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from kin4d.errors import InputError
from kin4d.loading import SIDES, side_vertices

if TYPE_CHECKING:
    from kin4d.bodies.body import Body


def read_push(text: str, body: Body):
    """The force of ``"point,force,time"``: see `kin4d.cli.simulate`."""
    from kin4d.dynamics.forces import Push

    fields = [field.strip() for field in text.split(",")]
    if len(fields) in (7, 8):  # nothing but numbers
        fields = [" ".join(fields[:3]), " ".join(fields[3:6]), " ".join(fields[6:])]
    if len(fields) != 3:
        raise InputError(
            "a push is a point, a force and a time, with commas between them",
            value=text,
            allowed='as in "0.1 0 0.5, 0 20 0, 0 0.2", "top, 5 0 0, 0.1" or "door, 0 20 0, 0.2"',
        )
    force = _numbers(fields[1], (3,), "the force of a push is three numbers (N)")
    times = _numbers(fields[2], (1, 2), "the time of a push is how long (s), or start and how long")
    start, duration = (0.0, *times)[-2:]
    return Push(_push_point(fields[0], force, body), force, start=start, duration=duration)


def _push_point(text: str, force: tuple[float, ...], body: Body) -> tuple[float, ...]:
    """Three numbers, the middle of a side, or the vertex of a link that the force moves most."""
    if re.fullmatch(r"[-+0-9.eE\s]+", text):
        return _numbers(text, (3,), "the point of a push is three numbers (m)")
    vertices = body.rest.vertices
    if text in SIDES:
        chosen = vertices[side_vertices(vertices, text)]
        return tuple(chosen[np.linalg.norm(chosen - chosen.mean(0), axis=-1).argmin()].tolist())
    names = body.skin.names if body.skin is not None and body.skin.is_rigid else ()
    if text not in names:
        raise InputError(
            "a push acts nowhere that is known",
            value=text,
            allowed=", ".join([*SIDES, *names]) + ", or three numbers (m)",
        )
    return _most_moved(body, names.index(text), np.array(force))


def _most_moved(body: Body, link: int, force: np.ndarray) -> tuple[float, ...]:
    import torch

    assert body.skin is not None
    own = np.flatnonzero(body.skin.joints[:, 0] == link)
    if not len(own):
        raise InputError(f"link '{body.skin.names[link]}' has no surface to push")
    rest = body.rest.vertices[own]
    with torch.no_grad():
        # How the link's vertices move by a small step along each coordinate.
        small = 1e-4 * torch.eye(len(body.q0), dtype=torch.float64)
        moved = body.skin_transforms(body.q0 + small)[:, link].numpy()
    displacements = np.einsum("kij,vj->kvi", moved[:, :3, :3], rest) + moved[:, None, :3, 3] - rest
    work = np.abs(displacements @ force).sum(0) if len(displacements) else np.zeros(len(own))
    # Of equals, the one nearest to their middle.
    best = np.flatnonzero(work >= 0.98 * work.max())
    gap = np.linalg.norm(rest[best] - rest[best].mean(0), axis=-1)
    return tuple(rest[best[gap.argmin()]].tolist())


def _numbers(text: str, counts: tuple[int, ...], what: str) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        values = ()
    if len(values) not in counts or not np.isfinite(values).all():
        raise InputError(what, value=text)
    return values
