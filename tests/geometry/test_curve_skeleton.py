"""Centre lines of solids: ends, middles, mirror images, and shapes that have no branches."""

from __future__ import annotations

import numpy as np
import pytest
from toy_creature import LEGS, toy_creature

from kin4d.geometry.curve_skeleton import CurveSkeleton, SkeletonConfig, curve_skeleton
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mirror_plane import find_mirror_plane
from kin4d.geometry.primitives import box
from kin4d.geometry.solid_voxels import SolidVoxels


def skeleton_of(mesh: Mesh) -> tuple[SolidVoxels, CurveSkeleton]:
    solid = SolidVoxels.of(mesh, count=12_000)
    plane = find_mirror_plane(solid.centres, tolerance=1.6 * solid.step)
    return solid, curve_skeleton(solid, plane, SkeletonConfig())


def ends(skeleton: CurveSkeleton) -> np.ndarray:
    is_parent = np.bincount(skeleton.parent[1:], minlength=len(skeleton)) > 0
    return skeleton.points[~is_parent]


def test_every_limb_has_one_end() -> None:
    found = ends(skeleton_of(toy_creature())[1])
    feet = found[found[:, 2] < -0.4]
    assert len(feet) == LEGS
    for x in (-0.2, 0.2):
        for y in (-0.2, 0.3):
            assert np.linalg.norm(feet[:, :2] - [x, y], axis=1).min() < 0.1
    assert (found[:, 1] < -0.55).sum() == 1  # tail
    assert (found[:, 2] > 0.3).any()  # head


def test_lines_run_in_the_middle_and_parents_come_first() -> None:
    solid, skeleton = skeleton_of(toy_creature())
    assert (skeleton.parent[1:] < np.arange(1, len(skeleton))).all()
    leg = skeleton.points[(skeleton.points[:, 2] < -0.1) & (skeleton.points[:, 2] > -0.4)]
    assert np.abs(np.abs(leg[:, 0]) - 0.2).max() < 2.5 * solid.step
    gaps = np.linalg.norm(
        skeleton.points[1:] - skeleton.points[skeleton.parent[1:]], axis=1
    )  # fmt: skip
    assert gaps.max() < 4 * solid.step


def test_mirror_images_agree() -> None:
    _, skeleton = skeleton_of(toy_creature())
    plane = skeleton.plane
    assert plane is not None
    np.testing.assert_allclose(np.abs(plane.normal), [1, 0, 0], atol=1e-9)
    np.testing.assert_array_equal(skeleton.mirror[skeleton.mirror], np.arange(len(skeleton)))
    image = plane.reflect(skeleton.points)
    np.testing.assert_allclose(skeleton.points[skeleton.mirror], image, atol=1e-9)


def test_chains_cover_every_edge_once() -> None:
    _, skeleton = skeleton_of(toy_creature())
    chains = skeleton.chains()
    covered = np.concatenate([chain[1:] for chain in chains])
    np.testing.assert_array_equal(np.sort(covered), np.arange(1, len(skeleton)))
    for chain in chains:
        np.testing.assert_array_equal(skeleton.parent[chain[1:]], chain[:-1])


def test_a_cube_has_no_branches_and_a_bar_has_two() -> None:
    assert len(skeleton_of(box((1, 1, 1)))[1]) == 1
    assert len(ends(skeleton_of(box((2.0, 0.2, 0.2)))[1])) == 2


@pytest.mark.parametrize("angle", [0.0, 0.4])
def test_a_plane_of_symmetry_is_found_in_any_pose(angle: float) -> None:
    mesh, pose = toy_creature(), np.eye(4)
    pose[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    solid = SolidVoxels.of(mesh.transformed(pose), count=12_000)
    plane = find_mirror_plane(solid.centres, tolerance=1.6 * solid.step)
    assert plane is not None
    assert abs(plane.normal @ pose[:3, 0]) > 0.99


def test_a_shape_without_symmetry_has_no_plane() -> None:
    points = np.random.default_rng(0).random((4000, 3)) * [3, 2, 1]
    lump = points[points.sum(1) < 2.0]
    assert find_mirror_plane(lump, tolerance=0.08) is None
