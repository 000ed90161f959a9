"""The network that finds joints along centre lines: its tokens, its choice, its weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_creature import toy_creature

from kin4d.bodies.creature.build import CreatureConfig, CreatureShape, skeletal_body
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import sphere
from kin4d.neurok.skeleton_joints import (
    TokenBatch,
    choose_joints,
    creature_shape,
    joint_finder_from_pretrained,
)
from kin4d.neurok.skeleton_tokens import SkeletonTokens, skeleton_tokens
from kin4d.neurok.skeleton_train import (
    TRAIN_CONFIG,
    TokenTargets,
    batches,
    dev_loss,
    train_skeleton_joints,
)

FAST = CreatureConfig(voxels=8000)


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    return toy_creature()


@pytest.fixture(scope="module")
def shape(mesh: Mesh) -> CreatureShape:
    return CreatureShape.of(mesh, FAST)


@pytest.fixture(scope="module")
def tokens(mesh: Mesh, shape: CreatureShape) -> SkeletonTokens:
    return skeleton_tokens(shape.skeleton, mesh.bbox_diagonal)


def test_tokens_do_not_depend_on_scale_or_heading(
    mesh: Mesh, shape: CreatureShape, tokens: SkeletonTokens
) -> None:
    lines, plane = shape.skeleton, shape.skeleton.plane
    assert plane is not None
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    turned = replace(
        lines,
        points=3 * lines.points @ turn.T + [1, 2, 3],
        radius=3 * lines.radius,
        plane=replace(plane, normal=turn @ plane.normal),
    )
    again = skeleton_tokens(turned, 3 * mesh.bbox_diagonal)
    np.testing.assert_array_equal(again.node, tokens.node)
    np.testing.assert_allclose(again.features, tokens.features, atol=1e-3)
    assert set(tokens.flips) == {1.0, -1.0}


def test_twins_are_alike(shape: CreatureShape, tokens: SkeletonTokens) -> None:
    twin = tokens.twin
    np.testing.assert_array_equal(twin[twin], np.arange(len(twin)))
    assert (twin != np.arange(len(twin))).sum() > 20
    gap = np.abs(tokens.features - tokens.features[twin]).mean(1)
    assert np.quantile(gap, 0.9) < 0.1


def test_joints_are_chosen_apart_and_in_pairs(
    mesh: Mesh, shape: CreatureShape, tokens: SkeletonTokens
) -> None:
    rng = np.random.default_rng(0)
    lines, apart = shape.skeleton, 0.1 * mesh.bbox_diagonal
    nodes = choose_joints(lines, tokens, rng.random(len(tokens)), threshold=0.4, apart=apart)
    assert 4 < len(nodes) == len(set(nodes.tolist()))
    assert 0 not in nodes
    assert set(lines.mirror[nodes]) == set(nodes)
    for i, one in enumerate(nodes):
        for other in nodes[:i]:
            if lines.mirror[one] != other:
                assert np.linalg.norm(lines.points[one] - lines.points[other]) > 0.99 * apart
    nothing = choose_joints(lines, tokens, np.zeros(len(tokens)), threshold=0.4, apart=apart)
    assert len(nothing) == 0


def test_bones_are_where_joints_are_said_to_be(mesh: Mesh, shape: CreatureShape) -> None:
    chain = max(shape.skeleton.chains(), key=len)
    nodes = chain[[len(chain) // 3, 2 * len(chain) // 3]]
    found = shape.with_joints(nodes, mesh.bbox_diagonal, FAST)
    assert set(found.bones.node[1:]) == set(nodes)
    assert found.bones.first.tolist() == [False, True, False]
    body = skeletal_body(mesh, shape=found, config=FAST)
    points = {tuple(np.round(spec.point, 9)) for spec in body.tree.joint_specs}
    assert len(points) == 2


def test_a_small_run_learns_and_its_weights_are_read(
    mesh: Mesh, shape: CreatureShape, tmp_path: Path
) -> None:
    lines, size = shape.skeleton, mesh.bbox_diagonal
    chosen = lines.points[shape.bones.node[1:]]
    row = TokenTargets.of(lines, size, chosen)
    assert 0 < row.near.mean() < 0.9
    assert row.near[np.isin(row.tokens.node, shape.bones.node[1:])].min(initial=1) == 1
    config = replace(TRAIN_CONFIG, steps=30, warmup_steps=5, ema_decay=0.0)
    model = train_skeleton_joints([[row]], [1.0], tmp_path, batch=2, train_config=config)
    with torch.inference_mode():
        logits = model(TokenBatch.of([row.tokens]))[0].numpy()
    assert logits[row.near == 1].mean() > logits[row.near == 0].mean() + 0.5
    finder = joint_finder_from_pretrained(tmp_path)
    assert (finder.threshold, finder.apart) == (0.5, 0.06)
    assert len(finder.find(lines, size)) > 0
    with pytest.raises(InputError, match="no such weights"):
        joint_finder_from_pretrained("no-such-weights")


def test_padding_does_not_count(mesh: Mesh, shape: CreatureShape) -> None:
    finder = joint_finder_from_pretrained("small")
    ball = CreatureShape.of(sphere(0.5), FAST)
    one = skeleton_tokens(shape.skeleton, mesh.bbox_diagonal)
    other = skeleton_tokens(ball.skeleton, 1.0)
    with torch.inference_mode():
        both = finder.model(TokenBatch.of([one, other]))
        alone = finder.model(TokenBatch.of([other]))
    np.testing.assert_allclose(both[1, : len(other)], alone[0], atol=1e-4)


def test_batches_repeat_and_turn(mesh: Mesh, shape: CreatureShape) -> None:
    row = TokenTargets.of(shape.skeleton, mesh.bbox_diagonal, np.zeros((0, 3)))
    assert row.near.max() == 0
    (one, _), (same, near) = (next(batches([[row]], [1], batch=6, seed=3)) for _ in range(2))
    torch.testing.assert_close(one.features, same.features)
    assert near.shape == one.mask.shape
    forward = torch.from_numpy(row.tokens.features)
    turned = [not torch.allclose(each, forward) for each in one.features]
    assert any(turned)
    assert not all(turned)
    assert np.isfinite(dev_loss(joint_finder_from_pretrained("small").model, [row]))


def test_the_shipped_network_finds_joints_in_every_leg(mesh: Mesh, shape: CreatureShape) -> None:
    found = creature_shape(mesh, shape=shape, config=FAST)
    points = found.skeleton.points[found.bones.node[1:]]
    legs = (points[:, 2] < 0.0) & (np.abs(points[:, 0]) > 0.1)
    assert legs.sum() >= 4
    assert len(found.bones) <= len(shape.bones) + 4
