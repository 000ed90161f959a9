"""Learned bodies of held-out objects, where weights are there to make them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from kin4d.bodies.body import Body
from kin4d.errors import Kin4dError
from kin4d.evaluate.dynamics.pushed import held_out_objects
from kin4d.geometry.mesh import Mesh
from kin4d.motion.forces import Stiffness

MODEL = "small"


def learned_maker() -> Any | None:
    """The class `LearnedBody`, or None where it, or its weights, are not installed."""
    if find_spec("kin4d.neurok") is None or find_spec("kin4d.neurok.body") is None:
        return None
    maker = importlib.import_module("kin4d.neurok.body").LearnedBody
    try:
        maker.from_mesh(probe(), model=MODEL)
    except Kin4dError:
        return None
    return maker


def learned_bodies(count: int, *, seed: int) -> Iterator[tuple[Body, Stiffness]]:
    """Bodies learned for held-out objects, each with a spring that holds it to its rest.

    A learned body knows no joints: nothing but its prior says where it rests. The spring is soft:
    it swings at about one hertz.
    """
    maker = learned_maker()
    if maker is None:
        return
    for made in held_out_objects(count, seed=seed):
        body = maker.from_mesh(made.body().rest, model=MODEL)
        yield body, soft_spring(body)


def soft_spring(body: Body, *, hertz: float = 1.0) -> Stiffness:
    """A spring on every coordinate, about `body.q0`, that swings at `hertz`."""
    import torch

    with torch.no_grad():
        moving = body.jacobian(body.q0).numpy()
    inertia = np.einsum("pik,p,pil->kl", moving, body.mass.numpy(), moving)
    return Stiffness((2 * np.pi * hertz) ** 2 * inertia, rest=body.q0.numpy())


def probe() -> Mesh:
    """A small mesh, to see whether bodies can be learned at all."""
    from kin4d.geometry.primitives import box

    return box((0.4, 0.3, 0.2))
