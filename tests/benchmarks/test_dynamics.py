"""Parts of `kin4d bench dynamics`: fair pushes, baselines, scenes and the parts' own runs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

from kin4d.benchmarks.dynamics.pca_body import PcaBody
from kin4d.benchmarks.dynamics.push_cases import (
    held_out_objects,
    make_push_case,
    vertex_error,
    vertex_jacobian,
)
from kin4d.benchmarks.dynamics.scenes import SCENES
from kin4d.bodies.analytic import hinge
from kin4d.bodies.body import Body
from kin4d.bodies.floating import FloatingBase
from kin4d.objects.procedural.categories import make_object


def test_held_out_objects_are_those_of_the_test_split() -> None:
    from kin4d.objects.sources import articulated_source
    from kin4d.storage.splits import split_of

    source = articulated_source()
    found = list(held_out_objects(3, seed=0))
    assert [split_of(source.identity(o.category, o.seed)) for o in found] == ["test"] * 3
    assert len({o.category for o in found}) == 3


def test_a_fair_push_moves_its_vertex_as_far_as_it_says() -> None:
    body = make_object("cabinet", 3).body()
    push = make_push_case(body, np.random.default_rng(0), distance=0.3)
    with torch.no_grad():
        moving = body.jacobian(body.q0).numpy()
    inertia = np.einsum("pik,p,pil->kl", moving, body.mass.numpy(), moving)
    slope = vertex_jacobian(body, push.vertex)
    rate = push.duration * np.linalg.solve(inertia, slope.T @ push.force)
    assert np.linalg.norm(slope @ rate) == pytest.approx(0.3 * body.rest.bbox_diagonal)
    np.testing.assert_allclose(push.ours.attachment, body.rest.vertices[push.theirs.vertex])


def test_a_fair_push_counts_that_the_whole_floats() -> None:
    body = make_object("cabinet", 3).body()
    push = make_push_case(body, np.random.default_rng(0), distance=0.3, floating=True)
    whole = FloatingBase(body)
    with torch.no_grad():
        moving = whole.jacobian(whole.q0).numpy()
    inertia = np.einsum("pik,p,pil->kl", moving, body.mass.numpy(), moving)
    slope = torch.func.jacfwd(lambda q: whole.vertices(q)[push.vertex])(whole.q0).numpy()
    rate = push.duration * np.linalg.solve(inertia, slope.T @ push.force)
    assert np.linalg.norm(slope @ rate) == pytest.approx(0.3 * body.rest.bbox_diagonal)


def test_vertex_error_of_all_and_of_what_moves() -> None:
    true = np.zeros((3, 4, 3))
    true[:, 0, 0] = [0, 1, 2]
    found = vertex_error(np.zeros_like(true), true, 2.0)
    assert found.last == pytest.approx(1.0)
    assert found.moved == pytest.approx((0 + 0.5 + 1) / 3)
    assert found.all == pytest.approx((0 + 0.5 + 1) / 12)


def test_pca_follows_states_that_are_linear() -> None:
    door = hinge()
    shifts = np.linspace(-1, 1, 9)[:, None, None] * np.array([0.2, 0, 0.1])
    body = PcaBody(door.rest, door.rest.vertices + shifts, count=4, mass=3.0)
    assert isinstance(body, Body)
    assert len(body.coordinates) == 1
    moved = body.vertices(body.limits[:, 1]).detach().numpy() - door.rest.vertices
    assert np.linalg.norm(moved, axis=-1).max() == pytest.approx(np.hypot(0.2, 0.1))
    torch.testing.assert_close(body.jacobian(body.q0), torch.func.jacfwd(body.points)(body.q0))


def test_the_drawer_shuts_and_the_lid_stays() -> None:
    drawer = SCENES["drawer"].run(fps=10).clips[0]
    assert drawer.q is not None
    moved = abs(drawer.q[0] - drawer.q[-1]).argmax()
    assert drawer.q[0, moved] > 0.1
    assert drawer.q[-1, moved] == pytest.approx(0.0, abs=1e-3)
    lid = SCENES["lid"].run(fps=10).clips[0]
    assert lid.q is not None
    np.testing.assert_allclose(lid.q[-1], lid.q[-2], atol=1e-6)
    assert abs(lid.q[-1] - lid.q[0]).max() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("part", ["textbook", "energy", "robustness"])
def test_bars_are_met(part: str) -> None:
    module = importlib.import_module(f"kin4d.benchmarks.dynamics.{part}")
    report = module.run(quick=True, seed=0)
    assert report.rows
    assert [check.name for check in report.checks if not check.passed] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", ["mechanics", "physics"])
def test_bars_against_mujoco_are_met(part: str) -> None:
    pytest.importorskip("mujoco", minversion="4")
    report = importlib.import_module(f"kin4d.benchmarks.dynamics.{part}").run(quick=True, seed=0)
    assert report.rows
    assert [check.name for check in report.checks if not check.passed] == []
