"""What holds for every body: the protocol, play, sweep, and coordinates that are checked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import (
    Body,
    FloatingBase,
    RigidBody,
    bake,
    hinge,
    load_robot,
    pendulum,
    slider_chain,
    sweep_joints,
)
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError
from kin4d.geometry.primitives import box

BODIES = {
    "hinge": hinge,
    "sliders": slider_chain,
    "pendulum": pendulum,
    "robot": lambda: load_robot("kin4d_arm"),
    "floating": lambda: FloatingBase(RigidBody(box((1, 1, 1)))),
}


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_bodies_keep_the_protocol(make) -> None:
    body = make()
    assert isinstance(body, Body)
    k, count = len(body.coordinates), len(body.mass)
    q = body.q0.expand(2, 5, k)
    assert body.limits.shape == (k, 2)
    assert (body.limits[:, 0] <= body.q0).all()
    assert (body.q0 <= body.limits[:, 1]).all()
    assert (body.mass > 0).all()
    assert body.points(q).shape == (2, 5, count, 3)
    assert body.vertices(q).shape == (2, 5, len(body.rest.vertices), 3)
    assert body.jacobian(q).shape == (2, 5, count, 3, k)
    assert body.points(q.float()).dtype == torch.float32


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_sweep_visits_both_limits_and_comes_back(make) -> None:
    body = make()
    q = sweep_joints(body, frames=17)
    assert q.shape == (17 * len(body.q0), len(body.q0))
    assert (q >= body.limits[:, 0] - 1e-12).all()
    assert (q <= body.limits[:, 1] + 1e-12).all()
    assert torch.allclose(q[-1], body.q0, atol=1e-12)
    bounded = body.limits.isfinite().all(-1)
    assert torch.allclose(q.max(0).values[bounded], body.limits[bounded, 1], atol=1e-9)


def test_play_gives_the_frames_of_the_motion() -> None:
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
def test_play_refuses_motions_that_are_not_of_the_body(q, message) -> None:
    with pytest.raises(InputError, match=message):
        bake(hinge(), q)


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_maps_refuse_coordinates_of_another_body(make) -> None:
    body = make()
    k = len(body.coordinates)
    for bad, words in (
        (torch.zeros(k + 1), "wrong width"),
        (torch.zeros(2, k - 1), "wrong width"),
        (torch.tensor(0.0), "wrong width"),
        (torch.zeros(k, dtype=torch.int64), "floating-point"),
        (np.zeros(k), "floating-point"),
    ):
        for function in (body.points, body.vertices, body.jacobian, body.skin_transforms):
            with pytest.raises(InputError, match=words):
                function(bad)


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_maps_take_empty_batches_and_functional_transforms(make) -> None:
    body = make()
    k, count = len(body.coordinates), len(body.mass)
    assert body.points(body.q0.expand(0, k)).shape == (0, count, 3)
    assert body.jacobian(body.q0.expand(2, 0, k)).shape == (2, 0, count, 3, k)
    q = body.q0 + torch.linspace(0.01, 0.02, 3 * k, dtype=torch.float64).view(3, k)
    assert torch.allclose(torch.vmap(body.jacobian)(q), body.jacobian(q), atol=1e-12)
    reverse = torch.vmap(torch.func.jacrev(body.points))(q)
    assert torch.allclose(reverse, body.jacobian(q), atol=1e-12)


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_autograd_works_after_inference_mode(make) -> None:
    body = make()
    with torch.inference_mode():
        body.points(body.q0.float())
    q = body.q0.float().requires_grad_()
    body.points(q).square().sum().backward()
    assert q.grad is not None


def test_play_and_sweep_refuse_what_is_no_motion() -> None:
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
