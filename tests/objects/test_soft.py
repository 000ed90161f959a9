"""Soft objects: every kind runs, simple cases obey physics, and blow-ups are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kin4d.benchmarks.soft import beam_sag, held_bar
from kin4d.errors import InputError
from kin4d.geometry.mesh_report import inspect_mesh
from kin4d.objects.soft import KINDS, SoftDivergedError, simulate_soft, soft_sequences
from kin4d.objects.soft.flex import FlexEngine, rope_bending
from kin4d.objects.soft.kinds import soft_scene
from kin4d.objects.soft.scene import Obstacle, SoftScene
from kin4d.objects.soft.shapes import SHAPES
from kin4d.objects.soft.simulate import simulate_scene
from kin4d.objects.soft.skin import node_skin, tube_skin

pytest.importorskip("mujoco", minversion="4.0")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_moves_and_keeps_its_physics(kind: str) -> None:
    sequence = simulate_soft(kind, 1, frames=6)
    again = simulate_soft(kind, 1, frames=6)
    np.testing.assert_array_equal(sequence.vertices, again.vertices)
    assert sequence.category == kind
    assert sequence.motion > 1e-3
    assert sequence.velocities is not None
    assert {"density", "young", "mass"} <= set(sequence.material)
    assert sequence.meta["gravity"] == [0.0, 0.0, -9.81]
    # Velocities are those of the vertices: the mean over a step is what the step moved.
    steps = np.diff(sequence.vertices, axis=0) * sequence.fps
    means = (sequence.velocities[1:] + sequence.velocities[:-1]) / 2
    error = np.linalg.norm(steps - means, axis=-1).mean()
    assert error < 0.35 * np.linalg.norm(steps, axis=-1).mean() + 0.05
    held = kind in ("cloth_corner", "cloth_edge", "flag", "solid_poke", "solid_twist")
    assert (len(sequence.pins) > 0) or not held
    assert (sequence.forces is not None) == (kind in ("flag", "solid_poke"))


def test_different_seeds_differ() -> None:
    first, second = (simulate_soft("rope_fall", seed, frames=3) for seed in (0, 1))
    assert first.vertices.shape != second.vertices.shape or (
        abs(first.vertices - second.vertices).max() > 0.01
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_closed(name: str, seed: int) -> None:
    mesh = SHAPES[name](np.random.default_rng(seed))
    report = inspect_mesh(mesh)
    assert report.watertight
    assert not report.inside_out


def falling_line() -> SoftScene:
    nodes = np.stack([np.linspace(0, 1, 5), np.zeros(5), np.full(5, 2.0)], axis=1)
    edges = np.stack([np.arange(4), np.arange(1, 5)], axis=1)
    material = {"density": 1000.0, "young": 1e6, "thickness": 0.02, "friction": 0.5}
    return SoftScene(
        category="line",
        nodes=nodes,
        elements=edges,
        masses=np.full(5, 0.1),
        skin=tube_skin(nodes, 0.01),
        material=material,
    )


def test_a_free_rope_falls_under_gravity() -> None:
    sequence = simulate_scene(falling_line(), name="line", frames=13)
    fallen = sequence.vertices[0, :, 2] - sequence.vertices[-1, :, 2]
    np.testing.assert_allclose(fallen, 0.5 * 9.81 * 0.5**2, rtol=0.01)
    np.testing.assert_allclose(sequence.velocities[-1, :, 2], -9.81 * 0.5, rtol=0.01)


def test_nothing_sinks_into_the_floor() -> None:
    scene = replace(falling_line(), obstacles=(Obstacle(shape="plane", position=(0, 0, 1.5)),))
    sequence = simulate_scene(scene, name="line", frames=24)
    assert sequence.vertices[..., 2].min() > 1.5 - 2e-3
    np.testing.assert_allclose(sequence.vertices[-1, :, 2].mean(), 1.51, atol=5e-3)


def test_a_held_bar_sags_as_beam_theory_says() -> None:
    sequence = simulate_scene(held_bar(2e6), name="bar", frames=10)
    tip = sequence.vertices[0, :, 0] > 0.2 - 1e-6
    sag = (sequence.vertices[0, tip, 2] - sequence.vertices[-3:, tip, 2]).mean()
    assert sag == pytest.approx(beam_sag(2e6), rel=0.15)


def test_a_rope_keeps_its_length_and_its_pins_follow_the_lead() -> None:
    scene = soft_scene("rope_swing", 3)
    engine = FlexEngine(scene, length=1 / 240)
    rest = np.linalg.norm(np.diff(scene.nodes, axis=0), axis=-1)
    for step in range(1, 121):
        engine.step(np.zeros_like(scene.nodes), scene.held(step / 240))
    length = np.linalg.norm(np.diff(engine.nodes, axis=0), axis=-1)
    np.testing.assert_allclose(length, rest, rtol=0.05)
    np.testing.assert_allclose(engine.nodes[scene.pins], scene.held(0.5), atol=1e-9)


def test_bending_of_a_rope_pulls_it_straight_and_pushes_nothing_as_a_whole() -> None:
    scene = falling_line()
    bent = scene.nodes.copy()
    bent[1:4, 2] += 0.1
    force = rope_bending(scene, bent, np.zeros_like(bent))
    assert np.sum(force * (scene.nodes - bent)) > 0
    np.testing.assert_allclose(force.sum(0), 0, atol=1e-9)


def test_what_blows_up_is_noticed_and_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = held_bar(2e5)
    blown = replace(scene, velocity=np.random.default_rng(0).normal(size=scene.nodes.shape) * 500)
    with pytest.raises(SoftDivergedError, match="diverged"):
        simulate_scene(blown, name="bar", frames=4)
    monkeypatch.setitem(KINDS, "solid_fall", lambda rng: blown)
    names = [s.category for s in soft_sequences(["solid_fall", "rope_fall"], [0], frames=3)]
    assert names == ["rope_fall"]


def test_wind_pushes_along_itself_and_is_kept() -> None:
    sequence = simulate_soft("flag", 0, frames=4)
    assert sequence.forces is not None
    assert abs(sequence.forces[0].sum(0)).max() > 0
    assert sequence.vertices.shape == sequence.forces.shape


def test_still_air_that_moves_with_the_cloth_does_nothing() -> None:
    scene = soft_scene("flag", 0)
    wind = np.array([1.0, 2.0, 3.0])
    calm = replace(scene, wind=lambda time: wind, skin=node_skin(len(scene.nodes), scene.elements))
    speeds = np.tile(wind, (len(scene.nodes), 1))
    np.testing.assert_allclose(calm.forces(0.0, scene.nodes, speeds), 0, atol=1e-12)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="cloth_corner"):
        simulate_soft("jelly", 0)
    with pytest.raises(InputError, match="frames"):
        simulate_soft("flag", 0, frames=0)
