"""Piece objects: the same motions as the objects they are cut from, whatever augmentation does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.objects.piece_augmentation import (
    NO_AUGMENTATION,
    PieceAugmentation,
    random_scene,
    random_state,
)
from kin4d.objects.piece_batches import collate
from kin4d.objects.piece_composition import attached, without_some_parts
from kin4d.objects.piece_object import PieceObject, joint_motion
from kin4d.objects.piece_scene import PieceScene
from kin4d.objects.piece_stream import PiecePool, PieceStream
from kin4d.objects.procedural.categories import CATEGORIES, make_object
from kin4d.objects.sources import articulated_source

CATEGORIES_TRIED = ("cabinet", "fan", "folding_ruler", "washing_machine", "scissors", "lamp")


@pytest.fixture(scope="module")
def objects() -> list[PieceObject]:
    rng = np.random.default_rng(0)
    return [PieceObject.of(make_object(name, 3), rng) for name in CATEGORIES_TRIED]


@pytest.mark.parametrize("category", sorted(CATEGORIES))
def test_links_move_as_in_the_object(category: str) -> None:
    obj = make_object(category, 1)
    pieces = PieceObject.of(obj, np.random.default_rng(0))
    q = np.random.default_rng(1).uniform(*obj.limits.T)
    poses = obj.poses(np.stack([q, np.zeros_like(q)]))
    motions = pieces.joints.motions(pieces.joints.values(q))
    np.testing.assert_allclose(motions, poses[0] @ np.linalg.inv(poses[1]), atol=1e-9)


def test_joints_of_a_scene_move_its_pieces_to_another_state(objects: list[PieceObject]) -> None:
    """From one state, each joint alone by its remaining range gives the other state's points."""
    rng = np.random.default_rng(2)
    for obj in objects:
        q = random_state(obj, rng)
        scene = PieceScene.of(obj, q)
        for column, joint in enumerate(obj.joints.free):
            end = q.copy()
            end[column] = obj.joints.limits[joint, 1]
            target = PieceScene.of(obj, end).pieces.points
            followers = np.flatnonzero(obj.joints.leader == joint)
            if len(followers) > 1:
                continue
            motion = joint_motion(
                scene.pivot[joint],
                scene.axis[joint],
                float(scene.range[joint, 1]),
                slides=bool(scene.slides[joint]),
            )
            moves = scene.carried[scene.link, joint]
            moved = scene.pieces.points @ motion[:3, :3].T + motion[:3, 3]
            expected = np.where(moves[:, None, None], moved, scene.pieces.points)
            np.testing.assert_allclose(expected, target, atol=1e-5)


def test_scaling_scales_motions(objects: list[PieceObject]) -> None:
    obj = make_object("cabinet", 3)
    scale = np.array([-1.2, 0.8, 1.1])
    ours = objects[0].scaled(scale)
    theirs = PieceObject.of(obj.stretched(np.abs(scale)).mirrored(), np.random.default_rng(0))
    q = theirs.joints.limits[theirs.joints.free].mean(1)
    np.testing.assert_allclose(
        ours.joints.motions(ours.joints.values(q)),
        theirs.joints.motions(theirs.joints.values(q)),
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "name", ["stretch", "clutter", "drop", "merge", "split", "sheets", "noise"]
)
def test_augmented_scenes_are_sound(objects: list[PieceObject], name: str) -> None:
    value = 0.2 if name == "stretch" else 0.002 if name == "noise" else 1.0
    vary = replace(NO_AUGMENTATION, **{name: value})
    rng = np.random.default_rng(0)
    for obj in objects:
        scene = random_scene(obj, rng, vary)
        points = scene.pieces.points
        assert np.isfinite(points).all()
        assert np.abs(points).max() < 0.75
        assert len(scene.link) == len(points) <= vary.most
        assert set(scene.link) <= set(range(len(obj.joints) + 1))
        np.testing.assert_allclose(np.linalg.norm(scene.axis, axis=1), 1.0, atol=1e-6)
        assert (scene.range[:, 0] <= 0).all()
        assert (scene.range[:, 1] >= 0).all()


def test_a_batch_says_who_moves_with_whom(objects: list[PieceObject]) -> None:
    rng = np.random.default_rng(0)
    scenes = [random_scene(obj, rng, PieceAugmentation()) for obj in objects]
    batch, targets = collate(scenes)
    for row, scene in enumerate(scenes):
        count = len(scene.link)
        assert batch.mask[row].sum() == count
        own = scene.own[scene.link]
        same = (own[:, None] == own) & (own >= 0)
        relation = targets.relation[row, :count, :count].numpy()
        assert relation[same].all()
        assert not relation[:, own < 0].any()
        assert (targets.moves[row, :count].numpy() == (own >= 0)).all()
    members = targets.parts.members
    assert (targets.parts.carried | ~members).all()
    assert members.any(1).all()


def test_an_attached_object_moves_with_what_it_is_on(objects: list[PieceObject]) -> None:
    rng = np.random.default_rng(4)
    for base in objects:
        both = attached(base, objects[2], rng)
        count, links = len(base.joints), len(base.pieces)
        host = int(both.link[links:].min())
        assert len(both.joints) == count + len(objects[2].joints)
        assert len(both.q0) == len(both.joints.free)
        assert both.joints.carried[count + 1, count]  # its own joint
        np.testing.assert_array_equal(
            both.joints.carried[count + 1, :count], both.joints.carried[host, :count]
        )
        values = both.joints.values(random_state(both, rng))
        motions = both.joints.motions(values)
        np.testing.assert_allclose(
            motions[: count + 1], base.joints.motions(values[:count]), atol=1e-12
        )


def test_parts_that_are_left_out_take_what_they_carry_along(objects: list[PieceObject]) -> None:
    rng = np.random.default_rng(5)
    for obj in objects:
        for _ in range(8):
            left = without_some_parts(obj, rng, share=0.4)
            before, after = (
                {(*j.pivot[i], *j.axis[i], *j.limits[i]) for i in range(len(j))}
                for j in (obj.joints, left.joints)
            )
            assert after <= before
            assert set(left.link) <= set(range(len(left.joints) + 1))
            assert len(left.q0) == len(left.joints.free)
            PieceScene.of(left, random_state(left, rng))


def test_composed_streams_can_be_made_again() -> None:
    pool = PiecePool.procedural(articulated_source().only(["oven", "lamp"]), "train", each=1)
    stream = PieceStream([pool], batch=6, seed=2, vary=PieceAugmentation(compose=1.0, remove=1.0))
    first, again = stream[0], PieceStream([pool], batch=6, seed=2, vary=stream.vary)[0]
    assert torch.equal(first[0].points, again[0].points)
    assert torch.isfinite(first[0].points).all()
