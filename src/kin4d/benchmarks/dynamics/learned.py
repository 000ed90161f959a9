"""Learned bodies of held-out objects, where weights are there to make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kin4d.benchmarks.dynamics.push_cases import held_out_objects
from kin4d.bodies.body import Body
from kin4d.dynamics.forces import Spring
from kin4d.errors import InputError

MODEL = "small"
_COORDINATES = 4


def learned_maker() -> Any | None:
    """The class `LearnedBody`, or None where no weights are installed."""
    from kin4d.neurok.body import LearnedBody
    from kin4d.neurok.pretrained import neurok_weights_file

    try:
        neurok_weights_file(MODEL)
    except InputError:
        return None
    return LearnedBody


def learned_bodies(count: int, *, seed: int) -> Iterator[tuple[Body, Spring]]:
    """Bodies learned for held-out objects, each with a spring that holds it to its rest.

    A learned body knows no joints: nothing but its prior says where it rests. The spring is soft:
    it swings at about one hertz.
    """
    maker = learned_maker()
    if maker is None:
        return
    for made in held_out_objects(count, seed=seed):
        exact = made.body()
        mass = float(exact.mass.sum())
        body = maker.from_mesh(exact.rest, model=MODEL, mass=mass, coordinates=_COORDINATES)
        yield body, soft_spring(body)


def soft_spring(body: Body, *, hertz: float = 1.0) -> Spring:
    """A spring on every coordinate, about `body.q0`, that swings at `hertz`."""
    import torch

    with torch.no_grad():
        moving = body.jacobian(body.q0).numpy()
    inertia = np.einsum("pik,p,pil->kl", moving, body.mass.numpy(), moving)
    return Spring((2 * np.pi * hertz) ** 2 * inertia, rest=body.q0.numpy())
