"""Skeletons in skins: where joints are, that nothing tears, and what odd meshes become."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_creature import LEGS, toy_creature

from kin4d.bodies import bake
from kin4d.bodies.creature.build import CreatureConfig, CreatureShape, bone_names, skeletal_body
from kin4d.bodies.skin_distortion import SkinDistortion
from kin4d.bodies.skinned import SkinnedBody
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere

FAST = CreatureConfig(voxels=8000)


@pytest.fixture(scope="module")
def creature() -> SkinnedBody:
    return skeletal_body(toy_creature(), mass=3.0, config=FAST)


def test_every_limb_bends_and_pairs_share_a_number() -> None:
    shape = CreatureShape.of(toy_creature(), FAST)
    names, points = bone_names(shape), shape.skeleton.points[shape.bones.node]
    assert len(set(names)) == len(names)
    legs = (points[:, 2] < -0.05) & (np.abs(points[:, 0]) > 0.1)
    assert legs.sum() >= 2 * LEGS
    for name, point in zip(names, points, strict=True):
        if name.endswith("a"):
            twin = points[names.index(name[:-1] + "b")]
            np.testing.assert_allclose(twin, point * [-1, 1, 1], atol=0.02)
    assert (points[:, 1] < -0.3).any()  # tail
    np.testing.assert_allclose(shape.bones.node_weights.sum(1), 1, atol=1e-12)


def test_equal_values_of_a_pair_make_a_symmetric_pose(creature: SkinnedBody) -> None:
    names = list(creature.coordinates)
    q = creature.q0.clone()
    for name in names:
        joint, move = name.split(".")
        if joint.endswith(("a", "b")):
            q[names.index(name)] = {"bend": 0.2, "sway": -0.15, "twist": 0.1}[move]
    moved = creature.vertices(q).numpy()
    rest = creature.rest.vertices
    at = {tuple(p): i for i, p in enumerate(np.rint(rest * 1e4).astype(int).tolist())}
    image = np.rint(rest * [-1e4, 1e4, 1e4]).astype(int).tolist()
    twin = [at[tuple(p)] for p in image]
    gap = np.linalg.norm(moved[twin] - moved * [-1, 1, 1], axis=1)
    assert gap.max() < 0.02
    assert np.linalg.norm(moved - rest, axis=1).max() > 0.05


def test_motion_is_continuous_over_the_surface(creature: SkinnedBody) -> None:
    distortion = SkinDistortion.of(creature.rest)
    q = creature.sample(6, seed=2)
    for vertices in creature.vertices(q).numpy():
        now = np.linalg.norm(
            vertices[distortion.pairs[:, 0]] - vertices[distortion.pairs[:, 1]], axis=1
        )
        assert (now / distortion.lengths).max() < 3
        assert distortion.share(vertices) <= 0.01
    assert (q != creature.q0).float().mean() > 0.9


def test_limits_keep_each_coordinate_within_its_budget(creature: SkinnedBody) -> None:
    distortion = SkinDistortion.of(creature.rest)
    for i, (low, high) in enumerate(creature.limits.tolist()):
        assert 0.15 < high == -low <= 0.8
        q = creature.q0.clone()
        q[i] = high
        assert distortion.share(creature.vertices(q).numpy()) <= 0.006
    assert (creature.search_limits[:, 1] >= creature.limits[:, 1]).all()


def test_small_shells_ride_along_as_a_piece() -> None:
    eye = sphere(0.03)
    mesh = Mesh.concatenate(
        [toy_creature(), eye.replace_vertices(eye.vertices + np.array([0.0, 0.66, 0.45]))],
        name="with an eye",
    )
    body = skeletal_body(mesh, config=FAST)
    own = slice(len(mesh.vertices) - len(eye.vertices), None)
    assert np.ptp(body.skin.weights[own], axis=0).max() == 0
    assert np.ptp(body.skin.joints[own], axis=0).max() == 0
    assert body.skin.weights[own].shape[0] == len(eye.vertices)


def test_meshes_that_are_not_sound_become_whole_bodies() -> None:
    mesh = toy_creature()
    rng = np.random.default_rng(0)
    torn = mesh.faces[rng.random(len(mesh.faces)) > 0.1]
    crowded = np.concatenate([mesh.faces, mesh.faces[:20, ::-1], [[0, 40, 80]]])
    doubled = Mesh.concatenate([mesh, mesh])
    apart = Mesh.concatenate(
        [mesh, mesh.replace_vertices(mesh.vertices + np.array([0.0, 0.0, 3.0]))], name="two"
    )
    for odd in (
        Mesh(vertices=mesh.vertices, faces=torn),
        Mesh(vertices=mesh.vertices, faces=crowded),
        mesh.replace_vertices(1e-4 * mesh.vertices),
        mesh.replace_vertices(1e4 * mesh.vertices + 1e3),
        doubled,
        apart,
    ):
        body = skeletal_body(odd, config=CreatureConfig(voxels=4000))
        assert len(body.coordinates) > 10
        moved = body.vertices(body.sample(2)).numpy()
        assert np.isfinite(moved).all()
        assert np.abs(moved - odd.vertices).max() < odd.bbox_diagonal


def test_a_ball_has_no_joints() -> None:
    body = skeletal_body(sphere(0.5), config=FAST)
    assert body.coordinates == ()
    q = body.q0.expand(1, 0)
    np.testing.assert_allclose(body.vertices(q)[0], body.rest.vertices, atol=1e-9)
    assert skeletal_body(box((1, 1, 1)), config=FAST).coordinates == ()


def test_weights_of_another_mesh_are_refused(creature: SkinnedBody) -> None:
    with pytest.raises(InputError, match="skinning weights"):
        SkinnedBody(creature.tree, np.ones((3, 2)))


def test_a_placed_body_moves_with_its_pose(creature: SkinnedBody) -> None:
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = (1, 2, 3)
    q = creature.sample(1, seed=4)[0]
    expected = creature.vertices(q).numpy() @ pose[:3, :3].T + pose[:3, 3]
    np.testing.assert_allclose(creature.placed(pose).vertices(q), expected, atol=1e-6)


def test_a_glb_has_the_joints_and_the_skin(creature: SkinnedBody, tmp_path) -> None:
    from kin4d.objects.animated import load_animation

    q = torch.cat([creature.q0[None], creature.sample(3, seed=1)])
    path = bake(creature, q, fps=10).save(tmp_path / "creature.glb")
    back = load_animation(path, fps=10, licence="CC0-1.0")
    np.testing.assert_allclose(back.vertices, creature.vertices(q), atol=1e-4)
    import json
    import struct

    data = path.read_bytes()
    document = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    joints = document["skins"][0]["joints"]
    assert len(joints) == len(creature.skin.names)
    # A tree, as editors show it: every joint but the root hangs on another.
    names = {node: document["nodes"][node]["name"] for node in joints}
    above = {
        names[child]: names[node]
        for node in joints
        for child in document["nodes"][node].get("children", [])
    }
    parents = creature.skin.parents
    assert parents is not None
    assert (parents >= 0).sum() == len(above) == len(joints) - 1
    for name, parent in zip(creature.skin.names, parents, strict=True):
        assert above.get(name) == (creature.skin.names[parent] if parent >= 0 else None)
    assert "WEIGHTS_0" in document["meshes"][0]["primitives"][0]["attributes"]
