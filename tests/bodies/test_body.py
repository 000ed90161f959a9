"""bake, sweep_joints and the analytic bodies; what holds for every body is test_conformance."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import (
    bake,
    hinge,
    pendulum,
    slider_chain,
    sweep_joints,
)
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError


def test_bake_gives_the_frames_of_the_motion() -> None:
    body = hinge()
    q = torch.linspace(0, 1.5, 4, dtype=torch.float64)[:, None]
    clip = bake(body, q, fps=12)
    assert clip.fps == 12
    assert clip.vertices.shape == (4, len(body.rest.vertices), 3)
    assert np.allclose(clip.vertices, body.vertices(q).numpy(), atol=1e-6)
    assert clip.skin is not None
    assert clip.skin.transforms.shape == (4, 2, 4, 4)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros((3, 2)), "wrong width"),
        (np.full((3, 1), np.nan), "NaN"),
        (np.zeros((0, 1)), "T >= 1"),
        (np.zeros(1), "T >= 1"),
    ],
)
def test_bake_refuses_motions_that_are_not_of_the_body(q, message) -> None:
    with pytest.raises(InputError, match=message):
        bake(hinge(), q)


def test_bake_and_sweep_refuse_what_is_no_motion() -> None:
    with pytest.raises(InputError, match="not numbers"):
        bake(hinge(), "up")
    with pytest.raises(InputError, match="frames >= 1"):
        sweep_joints(hinge(), frames=0)


def test_integers_are_coordinates_too() -> None:
    assert check_coordinates(hinge(), np.array([1])).dtype == torch.float64


def test_door_turns_about_its_edge() -> None:
    door = hinge(width=1.0)
    q = torch.tensor([[0.0], [torch.pi / 2]], dtype=torch.float64)
    knob = door.vertices(q)[:, -1]
    assert torch.allclose(knob[0, :2].norm(), knob[1, :2].norm(), atol=1e-12)
    assert torch.allclose(knob[1, :2], torch.stack([-knob[0, 1], knob[0, 0]]), atol=1e-12)


def test_pendulum_hangs_and_its_mass_is_in_the_bobs() -> None:
    body = pendulum(count=2, length=0.5, mass=2.0)
    bobs = body.points(body.q0).view(2, 6, 3)
    assert torch.allclose(bobs[:, :, 2], torch.tensor([[-0.5], [-1.0]]).double(), atol=1e-12)
    assert body.mass.view(2, 6).sum(1).tolist() == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("make", [slider_chain, pendulum])
def test_machines_need_at_least_one_part(make) -> None:
    with pytest.raises(InputError, match="count >= 1"):
        make(count=0)
