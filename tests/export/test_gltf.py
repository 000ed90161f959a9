"""GLB files, read back by pygltflib and trimesh and judged by Khronos' validator."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.spatial.transform import Rotation

from kin4d.bodies import FloatingBase, RigidBody, bake, slider_chain, sweep_joints
from kin4d.errors import InputError, OutputError
from kin4d.export.glb import GlbBuilder
from kin4d.export.gltf import write_glb
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import srgb_colors
from kin4d.geometry.primitives import box, sphere
from kin4d.geometry.skin import SkinAnimation

VALIDATOR = Path(__file__).parents[2] / ".tools" / "node_modules" / "gltf-validator"
needs_validator = pytest.mark.skipif(
    not VALIDATOR.is_dir(), reason="gltf-validator is not installed: run `make setup`"
)
Z_TO_Y = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])


def test_morph_targets_give_back_every_frame(cloth, tmp_path, read_glb):
    glb = read_glb(write_glb(cloth, tmp_path / "cloth.glb"))
    np.testing.assert_allclose(glb.morphed(), cloth.vertices, atol=1e-6)
    np.testing.assert_allclose(glb.times(), cloth.times, rtol=1e-6)
    assert {s.interpolation for a in glb.gltf.animations for s in a.samplers} == {"LINEAR"}
    np.testing.assert_allclose(glb.attribute("POSITION"), cloth.mesh.vertices, atol=1e-7)


def test_faces_are_split_by_material_on_shared_vertices(cloth, tmp_path, read_glb):
    glb = read_glb(write_glb(cloth, tmp_path / "cloth.glb"))
    np.testing.assert_array_equal(np.concatenate(glb.faces()), cloth.mesh.faces)
    assert [p.material for p in glb.mesh.primitives] == [0, 1]
    assert len({p.attributes.POSITION for p in glb.mesh.primitives}) == 1


def test_skin_gives_back_every_frame_and_is_small(door, tmp_path, read_glb):
    glb = read_glb(write_glb(door, tmp_path / "skin.glb"))
    np.testing.assert_allclose(glb.skinned(), door.vertices @ Z_TO_Y.T, atol=2e-6)
    np.testing.assert_allclose(glb.times(), door.times, rtol=1e-6)
    moving = {c.target.node for a in glb.gltf.animations for c in a.channels}
    assert {glb.gltf.nodes[node].name for node in moving} == {"door"}
    morph = write_glb(door, tmp_path / "morph.glb", skin=False)
    assert (tmp_path / "skin.glb").stat().st_size < morph.stat().st_size
    np.testing.assert_allclose(read_glb(morph).morphed(), door.vertices, atol=1e-6)


def test_joints_that_carry_nothing_are_left_out(door, tmp_path, read_glb):
    skin = door.skin
    extra = replace(
        skin,
        names=("idle", *skin.names),
        joints=skin.joints + 1,
        transforms=np.concatenate([skin.transforms[:, :1], skin.transforms], 1),
    )
    glb = read_glb(write_glb(replace(door, skin=extra), tmp_path / "a.glb"))
    assert "idle" not in {node.name for node in glb.gltf.nodes}
    np.testing.assert_allclose(glb.skinned(), door.vertices @ Z_TO_Y.T, atol=2e-6)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 4), joints=st.integers(1, 5))
def test_blended_skins_with_repeated_and_weightless_joints(seed, width, joints, tmp_path, read_glb):
    random = np.random.default_rng(seed)
    mesh = box((1, 2, 3))
    count, frames = len(mesh.vertices), 4
    weights = random.random((count, width)) * (random.random((count, width)) < 0.7)
    weights[:, 0] += 0.1
    weights /= weights.sum(1, keepdims=True)
    transforms = np.tile(np.eye(4), (frames, joints, 1, 1))
    rotations = Rotation.random(frames * joints, rng=random)
    transforms[..., :3, :3] = rotations.as_matrix().reshape(frames, joints, 3, 3)
    transforms[..., :3, 3] = random.normal(size=(frames, joints, 3))
    skin = SkinAnimation(
        joints=random.integers(0, joints, (count, width)),
        weights=weights,
        names=tuple(f"joint{i}" for i in range(joints)),
        transforms=transforms,
    )
    vertices = np.stack([skin.apply(pose, mesh.vertices) for pose in transforms])
    clip = Clip(mesh=mesh, vertices=vertices, fps=10, skin=skin)
    glb = read_glb(write_glb(clip, tmp_path / "blend.glb"))
    np.testing.assert_allclose(glb.skinned(), clip.vertices @ Z_TO_Y.T, atol=1e-5)
    used = glb.attribute("WEIGHTS_0") > 0
    for row, mask in zip(glb.attribute("JOINTS_0"), used, strict=True):
        assert len(set(row[mask])) == mask.sum()
        assert not row[~mask].any()


def skeleton_clip() -> Clip:
    """Four frames of a skin on five joints in a tree, whose third carries no vertex."""
    random, mesh = np.random.default_rng(4), box((1, 1, 1))
    parents, count = np.array([-1, 0, 1, 2, 0]), len(mesh.vertices)
    transforms = np.tile(np.eye(4), (4, 5, 1, 1))
    transforms[..., :3, :3] = Rotation.random(20, rng=random).as_matrix().reshape(4, 5, 3, 3)
    transforms[..., :3, 3] = random.normal(size=(4, 5, 3))
    skin = SkinAnimation(
        joints=np.array([0, 1, 3, 4])[random.integers(0, 4, (count, 2))],
        weights=np.tile([0.75, 0.25], (count, 1)),
        names=tuple(f"joint{i}" for i in range(5)),
        parents=parents,
        pivots=random.normal(size=(5, 3)),
        transforms=transforms,
    )
    vertices = np.stack([skin.apply(pose, mesh.vertices) for pose in transforms])
    return Clip(mesh=mesh, vertices=vertices, fps=10, skin=skin)


def test_a_skeleton_is_a_tree_of_nodes(tmp_path, read_glb):
    clip = skeleton_clip()
    assert clip.skin is not None
    glb = read_glb(write_glb(clip, tmp_path / "tree.glb"))
    np.testing.assert_allclose(glb.skinned(), clip.vertices @ Z_TO_Y.T, atol=1e-5)
    nodes = glb.gltf.nodes
    at = {node.name: i for i, node in enumerate(nodes)}
    assert nodes[at["joint0"]].children == [at["joint1"], at["joint4"]]
    assert nodes[at["joint1"]].children == [at["joint3"]]  # past the one without vertices
    (skin,) = glb.gltf.skins
    binds = glb.array(skin.inverseBindMatrices).reshape(-1, 4, 4).transpose(0, 2, 1)
    assert clip.skin.pivots is not None
    np.testing.assert_allclose(binds[:, :3, 3], -clip.skin.pivots[[0, 1, 3, 4]], atol=1e-6)


def test_a_saved_clip_keeps_its_skeleton(tmp_path):
    clip = skeleton_clip()
    back = Clip.load(clip.save(tmp_path / "clip.npz"))
    assert clip.skin is not None
    assert back.skin is not None
    np.testing.assert_array_equal(back.skin.parents, clip.skin.parents)
    np.testing.assert_array_equal(back.skin.pivots, clip.skin.pivots)


@needs_validator
def test_a_skeleton_is_valid(tmp_path, validate):
    validate(write_glb(skeleton_clip(), tmp_path / "tree.glb"))


def test_rotations_never_jump_to_the_far_side(tmp_path, read_glb):
    body = FloatingBase(RigidBody(box((1, 1, 1))))
    q = np.zeros((40, 6))
    q[:, 4] = np.linspace(0, 4 * np.pi, 40)
    glb = read_glb(write_glb(bake(body, q), tmp_path / "spin.glb"))
    (joint,) = glb.gltf.skins[0].joints
    keys = glb.track(joint, "rotation")
    assert (np.sum(keys[1:] * keys[:-1], 1) > 0.9).all()


@pytest.mark.parametrize("skin", [True, False])
def test_z_up_turns_the_root_and_leaves_the_vertices(door, tmp_path, skin, read_glb):
    glb = read_glb(write_glb(door, tmp_path / "z.glb", skin=skin))
    np.testing.assert_allclose(glb.attribute("POSITION"), door.mesh.vertices, atol=1e-6)
    if skin:
        np.testing.assert_allclose(glb.skinned(), door.vertices @ Z_TO_Y.T, atol=3e-6)
    else:
        (node,) = glb.gltf.nodes
        np.testing.assert_allclose(Rotation.from_quat(node.rotation).as_matrix(), Z_TO_Y, atol=1e-7)


def test_one_frame_is_a_still_mesh(door, tmp_path, read_glb):
    still = Clip(mesh=door.mesh, vertices=door.vertices[5:6], fps=24)
    path = write_glb(still, tmp_path / "still.glb")
    glb = read_glb(path)
    assert not glb.gltf.animations
    assert not glb.gltf.skins
    np.testing.assert_array_equal(glb.attribute("POSITION"), door.vertices[5])
    loaded = trimesh.load_scene(path, process=False).to_mesh()
    turned = still.vertices[0] @ Z_TO_Y.T
    np.testing.assert_allclose(loaded.bounds, [turned.min(0), turned.max(0)], atol=1e-6)
    assert loaded.area == pytest.approx(float(still.mesh.face_areas.sum()), rel=1e-5)


def test_look_survives(cloth, tmp_path, read_glb):
    glb = read_glb(write_glb(cloth, tmp_path / "cloth.glb"))
    uv = glb.attribute("TEXCOORD_0")
    np.testing.assert_allclose(np.stack([uv[:, 0], 1 - uv[:, 1]], 1), cloth.mesh.uv, atol=1e-7)
    np.testing.assert_array_equal(srgb_colors(glb.attribute("COLOR_0")), cloth.mesh.colors)
    full, glass = glb.gltf.materials
    source = cloth.mesh.materials[0].textures
    surface = full.pbrMetallicRoughness
    for slot, texture in (
        ("base_color", surface.baseColorTexture),
        ("metallic_roughness", surface.metallicRoughnessTexture),
        ("normal", full.normalTexture),
        ("occlusion", full.occlusionTexture),
        ("emissive", full.emissiveTexture),
    ):
        image = glb.image(texture)
        assert image.mode == source[slot].mode
        np.testing.assert_array_equal(np.asarray(image), np.asarray(source[slot]))
    assert surface.baseColorFactor == [0.9, 0.5, 0.25, 1.0]
    assert (surface.metallicFactor, surface.roughnessFactor) == (0.25, 0.75)
    assert full.emissiveFactor == [0.1, 0.2, 0.3]
    assert (glass.alphaMode, glass.alphaCutoff, glass.doubleSided) == ("MASK", 0.4, False)
    # Six different pictures, one of them in two places.
    assert len(glb.gltf.images) == 6
    assert glass.emissiveTexture.index == surface.baseColorTexture.index


def test_trimesh_sees_the_same_textured_mesh(cloth, tmp_path):
    still = Clip(mesh=cloth.mesh, vertices=cloth.mesh.vertices[None], fps=1)
    scene = trimesh.load_scene(write_glb(still, tmp_path / "a.glb"), process=False)
    first, second = scene.geometry.values()
    np.testing.assert_allclose(first.visual.uv, cloth.mesh.uv, atol=1e-7)
    np.testing.assert_array_equal(
        np.asarray(second.visual.material.baseColorTexture),
        np.asarray(cloth.mesh.materials[1].textures["base_color"]),
    )


def test_a_jpeg_stays_a_jpeg(cloth, tmp_path, read_glb):
    smooth = np.linspace(0, 255, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    Image.fromarray(smooth).save(tmp_path / "a.jpg", quality=90)
    photo = Image.open(tmp_path / "a.jpg")
    material = replace(cloth.mesh.materials[0], textures={"base_color": photo})
    mesh = replace(cloth.mesh, materials=(material, material))
    glb = read_glb(write_glb(replace(cloth, mesh=mesh), tmp_path / "a.glb"))
    assert [image.mimeType for image in glb.gltf.images] == ["image/jpeg"]
    again = glb.image(glb.gltf.materials[0].pbrMetallicRoughness.baseColorTexture)
    difference = np.asarray(again).astype(int) - np.asarray(photo)
    assert np.abs(difference).max() <= 3


def test_textures_without_coordinates_are_left_out(cloth, tmp_path, read_glb):
    glb = read_glb(write_glb(replace(cloth, mesh=replace(cloth.mesh, uv=None)), tmp_path / "a.glb"))
    assert not glb.gltf.images
    assert glb.gltf.materials[0].normalTexture is None


def test_normals_follow_the_motion(tmp_path, read_glb):
    body = FloatingBase(RigidBody(box((1, 1, 1))))
    q = np.zeros((5, 6))
    q[:, 3] = np.linspace(0, 2, 5)
    clip = bake(body, q)
    assert read_glb(write_glb(clip, tmp_path / "a.glb", skin=False)).attribute("NORMAL") is None
    glb = read_glb(write_glb(clip, tmp_path / "b.glb", skin=False, normals=True))
    turned = np.einsum(
        "tij,vj->tvi", Rotation.from_rotvec(q[:, 3:]).as_matrix(), glb.attribute("NORMAL")
    )
    np.testing.assert_allclose(glb.morphed("NORMAL"), turned, atol=1e-5)
    lengths = np.linalg.norm(
        read_glb(write_glb(clip, tmp_path / "c.glb", normals=True)).attribute("NORMAL"), axis=1
    )
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_many_vertices_need_wide_indices(tmp_path, read_glb):
    mesh = sphere(1.0, subdivisions=7)
    assert len(mesh.vertices) > 65535
    clip = Clip(mesh=mesh, vertices=np.stack([mesh.vertices, 2 * mesh.vertices]), fps=24)
    glb = read_glb(write_glb(clip, tmp_path / "a.glb"))
    np.testing.assert_array_equal(glb.faces()[0], mesh.faces)
    np.testing.assert_allclose(glb.morphed(), clip.vertices, atol=1e-6)


@needs_validator
def test_khronos_validator_finds_nothing(door, cloth, tmp_path, validate):
    chain = slider_chain()
    clips = [door, cloth, bake(chain, sweep_joints(chain, frames=6))]
    clips += [Clip(mesh=clip.mesh, vertices=clip.vertices[:1], fps=1) for clip in clips]
    cases = itertools.product(clips, (None, False), (False, True))
    paths = [
        write_glb(clip, tmp_path / f"{i}.glb", skin=skin, normals=normals)
        for i, (clip, skin, normals) in enumerate(cases)
    ]
    validate(*paths)


@needs_validator
def test_khronos_validator_does_find_errors(door, tmp_path, validate):
    path = write_glb(door, tmp_path / "a.glb")
    path.write_bytes(path.read_bytes().replace(b'"VEC3"', b'"VEC2"', 1))
    with pytest.raises(AssertionError):
        validate(path)


def test_failure_leaves_the_old_file(door, tmp_path, monkeypatch):
    path = tmp_path / "a.glb"
    path.write_bytes(b"precious")
    real = GlbBuilder.write

    def fail_at_the_end(self: GlbBuilder, target: Path) -> None:
        real(self, target)
        raise RuntimeError("power cut")

    monkeypatch.setattr(GlbBuilder, "write", fail_at_the_end)
    with pytest.raises(RuntimeError):
        write_glb(door, path)
    assert path.read_bytes() == b"precious"
    assert [file.name for file in tmp_path.iterdir()] == ["a.glb"]


def test_unwritable_targets(door, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_glb(door, tmp_path / "file" / "a.glb")


def test_bad_options(cloth, tmp_path):
    with pytest.raises(InputError, match="no skin"):
        write_glb(cloth, tmp_path / "a.glb", skin=True)
    assert not list(tmp_path.iterdir())


def test_too_large_for_a_glb_is_said_before_anything_is_written(tmp_path):
    builder = GlbBuilder()
    builder.deferred(lambda: np.empty(0), 2**29, np.float32, "VEC3")
    with pytest.raises(InputError, match=r"4\.3 GB"):
        builder.write(tmp_path / "a.glb")
    assert not list(tmp_path.iterdir())
