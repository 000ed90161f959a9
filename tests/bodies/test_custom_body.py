"""The body that CONTRIBUTING.md shows: written against `Body` alone, it does what every body does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kin4d import Actor, Body, Mesh, Push, Scene, bake, fit, render_bodies, simulate, sweep_joints
from kin4d.render.pointmaps import framing_camera


class Twister:
    """A mesh twisted about the z axis, in proportion to height; one coordinate, rad."""

    coordinates = ("twist",)
    skin = None

    def __init__(self, mesh: Mesh, *, mass: float = 1.0) -> None:
        self.rest = mesh
        self.q0 = torch.zeros(1, dtype=torch.float64)
        self.limits = torch.tensor([[-2.0, 2.0]], dtype=torch.float64)
        self.mass = torch.full((len(mesh.vertices),), mass / len(mesh.vertices)).double()

    def vertices(self, q: Tensor) -> Tensor:
        """[..., V, 3] m at q [..., 1]."""
        x, y, z = torch.from_numpy(self.rest.vertices.copy()).to(q.dtype).unbind(-1)
        angle = q * (z - z.min()) / (z.max() - z.min())
        c, s = angle.cos(), angle.sin()
        return torch.stack([c * x - s * y, s * x + c * y, z.expand_as(angle)], -1)

    points = vertices  # mass sits at the vertices

    def jacobian(self, q: Tensor) -> Tensor:
        """[..., V, 3, 1] derivative of the points."""
        jacobian = torch.func.jacfwd(self.points)
        for _ in q.shape[:-1]:
            jacobian = torch.func.vmap(jacobian)
        return jacobian(q)

    def skin_transforms(self, q: Tensor) -> Tensor:
        """A body without a skin has none."""
        return q.new_zeros((*q.shape[:-1], 0, 4, 4))


def test_it_is_a_body() -> None:
    body = Twister(column())
    assert isinstance(body, Body)
    q = torch.tensor([[0.3], [-1.0]], dtype=torch.float64)
    step = 1e-6
    difference = (body.points(q + step) - body.points(q - step)) / (2 * step)
    assert torch.allclose(body.jacobian(q)[..., 0], difference, atol=1e-8)
    assert np.array_equal(body.vertices(body.q0).numpy(), body.rest.vertices)


def test_it_exports_and_renders(tmp_path: Path) -> None:
    body = Twister(column())
    q = sweep_joints(body, frames=9)
    clip = bake(body, q)
    assert clip.save(tmp_path / "twist.glb").stat().st_size > 0
    camera = framing_camera(clip.bounds, width=60, height=40)
    video = render_bodies([body], [q], camera)
    assert video.mask.any((1, 2)).all()


def test_it_simulates() -> None:
    body = Twister(column())
    at = body.rest.vertices[body.rest.vertices[:, 2].argmax()]
    across = np.cross((0, 0, 1), at)
    push = Push(at, force=2 * across / np.linalg.norm(across), duration=0.1)
    run = simulate(Scene([Actor(body, forces=[push])]), seconds=0.2)
    assert run.clip.q is not None
    assert run.clip.q[-1, 0] > 0.01


def test_it_fits() -> None:
    body = Twister(column())
    target = body.rest.replace_vertices(body.vertices(torch.tensor([0.7]).double()).numpy())
    assert abs(fit(body, target).q[0] - 0.7) < 0.02


def column() -> Mesh:
    """A square column, 0.1 m wide and 0.5 m high, of many triangles."""
    side, z = np.linspace(-0.05, 0.05, 5), np.linspace(0, 0.5, 21)
    ring = np.array([(x, -0.05) for x in side[:-1]] + [(0.05, y) for y in side[:-1]])
    ring = np.concatenate([ring, -ring])
    n = len(ring)
    vertices = np.concatenate([np.column_stack([ring, np.full(n, h)]) for h in z])
    i, j = np.meshgrid(np.arange(len(z) - 1), np.arange(n), indexing="ij")
    a, b = i * n + j, i * n + (j + 1) % n
    faces = np.concatenate(
        [np.stack([a, b, b + n], -1).reshape(-1, 3), np.stack([a, b + n, a + n], -1).reshape(-1, 3)]
    )
    return Mesh(vertices=vertices, faces=faces, name="column")
