"""Things that touch: slopes, bounces, stacks, collisions."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d import Actor, FloatingBase, Mesh, RigidBody, Scene, simulate
from kin4d.dynamics.materials import Material
from kin4d.geometry.primitives import box, sphere


def block(x=0.0, z=0.05, *, friction=0.5, restitution=0.0, qd=(0, 0, 0, 0, 0, 0)) -> Actor:
    return Actor(
        FloatingBase(RigidBody(box((0.2, 0.2, 0.1)))),
        material=Material(friction=friction, restitution=restitution, damping=0),
        q=[x, 0, z, 0, 0, 0],
        qd=qd,
    )


@pytest.mark.parametrize("ratio", [0.98, 1.02])
def test_a_block_slides_where_the_slope_says(ratio) -> None:
    angle = np.arctan(0.5 * ratio)
    pull = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    run = simulate(Scene([block()], ground=0.0, gravity=tuple(pull)), seconds=0.5)
    moved = run.clips[0].q[-1]
    expected = max(0.0, 9.81 * (np.sin(angle) - 0.5 * np.cos(angle))) * 0.5**2 / 2
    assert moved[0] == pytest.approx(expected, abs=1e-4)
    assert np.abs(moved[3:]).max() < 1e-4
    assert run.clips[0].diagnostics["contacts"][-1] >= 4


@pytest.mark.parametrize("restitution", [0.5, 0.8])
def test_a_ball_bounces_to_its_height(restitution) -> None:
    ball = Actor(
        FloatingBase(RigidBody(sphere(0.05))),
        material=Material(restitution=restitution, damping=0),
        q=[0, 0, 1.05, 0, 0, 0],
    )
    run = simulate(Scene([ball], ground=0.0), seconds=1.2, fps=240)
    height = run.clips[0].q[:, 2] - 0.05
    impact = int(height[:200].argmin())
    assert height[impact:].max() == pytest.approx(restitution**2, rel=0.02)
    assert run.clips[0].diagnostics["penetration"].max() < 1e-3 * 0.1


def test_a_stack_comes_to_rest() -> None:
    stack = [block(), block(0.01, 0.155)]
    run = simulate(Scene(stack, ground=0.0), seconds=1.0)
    for clip, height in zip(run.clips, (0.05, 0.15), strict=True):
        assert clip.q[-1, 2] == pytest.approx(height, abs=1e-4)
        assert clip.diagnostics["kinetic"][-1] < 1e-6
        assert clip.diagnostics["penetration"].max() < 1e-3


def test_a_collision_keeps_momentum() -> None:
    balls = [
        Actor(
            FloatingBase(RigidBody(sphere(0.1))),
            material=Material(restitution=1.0, friction=0, damping=0),
            q=[x, 0, 0, 0, 0, 0],
            qd=[speed, 0, 0, 0, 0, 0],
        )
        for x, speed in ((-0.2, 1.0), (0.2, 0.0))
    ]
    run = simulate(Scene(balls, gravity=False), seconds=0.6)
    speeds = [(clip.q[-1] - clip.q[-2])[:3] * 60 for clip in run.clips]
    np.testing.assert_allclose(speeds[0] + speeds[1], [1, 0, 0], atol=1e-6)
    assert speeds[1][0] > 0.9
    assert run.energy[-1] == pytest.approx(run.energy[0], rel=0.01)


def test_a_lump_settles_on_the_ground() -> None:
    import trimesh

    ball = trimesh.creation.icosphere(3, 0.1)
    _, y, z = ball.vertices.T / 0.1
    lump = Mesh(
        vertices=ball.vertices * (1 + 0.3 * np.sin(5 * y) * np.cos(4 * z))[:, None],
        faces=ball.faces,
        name="lump",
    )
    actor = Actor(FloatingBase(RigidBody(lump)), material="rubber", q=[0, 0, 0.4, 0.3, 0.5, 0])
    clip = simulate(Scene([actor], ground=0.0), seconds=4).clips[0]
    assert clip.diagnostics["kinetic"][-1] < 1e-3 * clip.diagnostics["kinetic"].max()
    assert clip.vertices[..., 2].min() > -0.01 * lump.bbox_diagonal


def test_an_obstacle_holds_a_block() -> None:
    turn, slope = np.eye(4), 0.3
    turn[0, 0] = turn[2, 2] = np.cos(slope)
    turn[0, 2], turn[2, 0] = np.sin(slope), -np.sin(slope)
    ramp = box((1, 1, 0.2)).transformed(turn)
    run = simulate(Scene([block(z=0.3)], obstacles=[ramp]), seconds=0.7)
    clip = run.clips[0]
    assert clip.q[-1, 4] == pytest.approx(slope, abs=1e-2)
    assert np.abs(clip.q[-1] - clip.q[-5]).max() < 1e-3
