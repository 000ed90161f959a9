"""Voxels of solids: volumes, and distances that go around gaps, on sound and on broken surfaces."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.solid_voxels import SolidVoxels
from kin4d.objects.soft.shapes import blocks


def horseshoe() -> Mesh:
    filled = np.ones((3, 1, 4), bool)
    filled[1, 0, 1:] = False
    return blocks(filled, (0.6, 0.2, 0.8), 4, "horseshoe")


def moved(mesh: Mesh, offset: tuple[float, float, float]) -> Mesh:
    return mesh.replace_vertices(mesh.vertices + np.array(offset))


def test_voxels_fill_the_volume() -> None:
    solid = SolidVoxels.of(box((1.0, 0.6, 0.4)), count=20_000)
    assert len(solid) == pytest.approx(20_000, rel=0.35)
    # A layer of voxels that the surface passes through is counted whole.
    assert len(solid) * solid.step**3 == pytest.approx(0.24, rel=0.25)
    assert solid.depth.max() == pytest.approx(0.2, abs=2 * solid.step)


def test_distances_go_around_a_gap() -> None:
    mesh = horseshoe()
    solid = SolidVoxels.of(mesh, count=10_000)
    left, right = solid.nearest(np.array([[-0.2, 0, 0.35], [0.2, 0, 0.35]]))
    distance, source, before = solid.distances(np.array([left]))
    assert distance[right] > 1.1  # 0.4 m apart, down one arm and up the other
    assert (source == 0).all()
    assert (before >= 0).sum() == len(solid) - 1


def test_a_head_start_moves_the_border_between_seeds() -> None:
    solid = SolidVoxels.of(box((1.0, 0.2, 0.2)), count=8_000)
    ends = solid.nearest(np.array([[-0.5, 0, 0], [0.5, 0, 0]]))
    even = (solid.distances(ends)[1] == 0).mean()
    ahead = (solid.distances(ends, start=np.array([0.0, 0.4]))[1] == 0).mean()
    assert even == pytest.approx(0.5, abs=0.05)
    assert ahead == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_an_open_surface_is_filled_at_any_scale(scale: float) -> None:
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
    kept = ball.faces[ball.triangles_center[:, 2] < 0.4]
    used, faces = np.unique(kept, return_inverse=True)
    mesh = Mesh(vertices=scale * ball.vertices[used], faces=faces.reshape(-1, 3))
    solid = SolidVoxels.of(mesh, count=10_000)
    assert len(solid) * solid.step**3 == pytest.approx(0.5 * scale**3, rel=0.3)


def test_shells_that_are_apart_hang_together() -> None:
    mesh = Mesh.concatenate(
        [box((0.2, 0.2, 0.2)), moved(box((0.2, 0.2, 0.2)), (1, 0, 0)),
         moved(box((0.05, 0.05, 0.05)), (0.5, 0, 0.3))]
    )  # fmt: skip
    solid = SolidVoxels.of(mesh, count=5_000)
    distance, _, _ = solid.distances(np.array([0]))
    assert np.isfinite(distance).all()


def test_a_sheet_is_its_own_solid() -> None:
    mesh = Mesh(vertices=[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], faces=[[0, 1, 2], [0, 2, 3]])
    solid = SolidVoxels.of(mesh, count=5_000)
    assert len(solid) > 2_000
    assert np.abs(solid.centres[:, 2]).max() <= solid.step
