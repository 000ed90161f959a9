"""The joint prior: shapes, padding, what it can learn, and what decoding makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.neurok.joint_decoding import DecodingConfig, build_tree, decode_joints
from kin4d.neurok.joint_loss import joint_loss
from kin4d.neurok.joint_prior import PRESETS, JointPrior
from kin4d.neurok.mesh_pieces import PieceConfig, cut_mesh
from kin4d.neurok.piece_geometry import fit_boxes
from kin4d.neurok.piece_grouping import GroupingConfig, group_pieces
from kin4d.objects.piece_augmentation import NO_AUGMENTATION, random_scene
from kin4d.objects.piece_batches import collate
from kin4d.objects.piece_object import PieceObject
from kin4d.objects.procedural.categories import make_object


def scene_of(category: str, seed: int = 0):
    obj = PieceObject.of(make_object(category, seed), np.random.default_rng(0))
    return random_scene(obj, np.random.default_rng(seed), NO_AUGMENTATION)


def test_a_box_is_found_however_it_is_turned() -> None:
    torch.manual_seed(0)
    half = torch.tensor([0.5, 0.2, 0.1])
    signs = torch.tensor([[a, b, c] for a in (-1.0, 1) for b in (-1.0, 1) for c in (-1.0, 1)])
    angle = torch.tensor(0.5)
    turn = torch.tensor(
        [[angle.cos(), -angle.sin(), 0], [angle.sin(), angle.cos(), 0], [0, 0, 1.0]]
    )
    face = torch.randint(3, (64,))
    points = torch.rand(64, 3) * 2 - 1
    normals = torch.zeros(64, 3)
    side = torch.where(torch.rand(64) < 0.5, -1.0, 1.0)
    points[torch.arange(64), face] = side
    normals[torch.arange(64), face] = side
    found = fit_boxes(
        (points * half) @ turn.T, normals @ turn.T, (signs * half) @ turn.T + torch.zeros(8, 3)
    )
    assert torch.allclose(found.half, half, atol=1e-3)
    assert torch.allclose((found.frame @ turn).abs(), torch.eye(3), atol=1e-3)


def test_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    model = JointPrior(PRESETS["tiny"]).eval()
    small, large = scene_of("box"), scene_of("washing_machine")
    alone, _ = collate([small])
    together, _ = collate([small, large])
    count = len(small.link)
    with torch.no_grad():
        one, both = model.encode(alone), model.encode(together)
        assert torch.allclose(one.moves[0], both.moves[0, :count], atol=1e-4)
        assert torch.allclose(one.relation[0], both.relation[0, :count, :count], atol=1e-3)


def test_it_learns_one_object() -> None:
    torch.manual_seed(0)
    model = JointPrior(PRESETS["tiny"])
    scene = scene_of("cabinet", 3)
    batch, targets = collate([scene])
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    first = None
    for _ in range(120):
        value, _ = joint_loss(model, batch, targets)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        first = float(value) if first is None else first
    model.eval()
    parts = decode_joints(model, batch)
    found = {tuple(part.pieces) for part in parts}
    own = scene.own[scene.link]
    assert found == {tuple(np.flatnonzero(own == joint)) for joint in np.unique(own[own >= 0])}
    for part in parts:
        joint = own[part.pieces[0]]
        best = part.joints[0]
        assert (best.kind == "prismatic") == scene.slides[joint]
        assert abs(best.axis @ scene.axis[joint]) > 0.98
        assert best.limits[0] <= 0 <= best.limits[1]


def test_parts_come_in_a_tree() -> None:
    relation = np.zeros((5, 5))
    # Pieces 1 and 2 are a part that carries piece 3; piece 4 moves by itself.
    for i, j in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 4)]:
        relation[i, j] = 0.95
    moves = np.array([0.1, 0.9, 0.9, 0.9, 0.9])
    groups = group_pieces(moves, relation, np.ones(5))
    assert [group.tolist() for group in groups] == [[1, 2], [3], [4]]
    parents, carried = build_tree(groups, relation)
    assert parents == [-1, 0, -1]
    assert carried.tolist() == [[True, False, False], [True, True, False], [False, False, True]]


def test_large_pieces_decide_what_is_one_part() -> None:
    # Two panels share a joint; a doubtful screw is more alike to the second than to the first.
    moves = np.array([0.9, 0.9, 0.3])
    relation = np.array([[0.9, 0.8, 0.2], [0.8, 0.9, 0.6], [0.2, 0.6, 0.9]])
    area = np.array([1.0, 1.0, 0.01])
    assert [part.tolist() for part in group_pieces(moves, relation, area)] == [[0, 1]]
    apart = GroupingConfig(moves_offset=20.0, together_offset=-20.0)
    assert sorted(map(len, group_pieces(moves, relation, area, apart))) == [1, 1, 1]
    assert group_pieces(moves * 0.1, relation, area) == []
    assert group_pieces(np.zeros(0), np.zeros((0, 0)), np.zeros(0)) == []


def test_every_face_has_a_piece() -> None:
    mesh = make_object("washing_machine", 2).body().rest
    cut = cut_mesh(mesh)
    assert cut.face_piece.shape == (len(mesh.faces),)
    assert set(cut.face_piece) == set(range(len(cut.pieces)))
    few = cut_mesh(mesh, PieceConfig(max_pieces=6))
    assert len(few.pieces) == 6
    assert set(few.face_piece) <= set(range(6))


def test_one_smooth_surface_is_cut_into_patches() -> None:
    from kin4d.geometry.primitives import sphere

    mesh = sphere(0.5)
    cut = cut_mesh(mesh)
    assert cut.components == 1
    assert 24 <= len(cut.pieces) <= 48
    assert (cut.pieces.component == 0).all()


def test_pieces_come_back_to_the_world() -> None:
    mesh = make_object("door", 1).body().rest
    cut = cut_mesh(mesh)
    back = (cut.pieces.supports.reshape(-1, 3) / cut.box.scale + cut.box.centre) @ cut.box.rotation
    np.testing.assert_allclose(back.min(0), mesh.vertices.min(0), atol=0.005)
    np.testing.assert_allclose(back.max(0), mesh.vertices.max(0), atol=0.005)


def test_ranges_are_those_that_truth_and_prediction_both_make() -> None:
    from kin4d.neurok.joint_decoding import _ranges
    from kin4d.neurok.sweep_profile import ANGLE_BINS, LENGTH_BINS

    for slides, bins in ((False, ANGLE_BINS), (True, LENGTH_BINS)):
        logits = torch.full((2, 2, len(bins)), -20.0)
        logits[0, 0, 4], logits[0, 1, 12] = 0.0, 0.0  # certain: 4 back, 12 forth
        logits[1, 0, 12], logits[1, 1, 0] = 0.0, 0.0
        ends, probability = _ranges(logits, slides, DecodingConfig())
        assert torch.all(probability > 0.99)
        for row, expected in enumerate((bins[[4, 12]], bins[[12, 0]])):
            far = int(expected.argmax())
            assert ends[row, far] == pytest.approx(float(expected[far]), rel=0.45)
            assert ends[row, 1 - far] <= ends[row, far]
            assert ends[row, 1 - far] == pytest.approx(float(expected[1 - far]), rel=0.3)


def test_surface_on_the_way_is_met_where_it_is() -> None:
    """A panel on a hinge along z meets a wall a quarter turn forth; a drawer one 0.3 ahead."""
    from kin4d.neurok.piece_batch import Parts, PieceBatch
    from kin4d.neurok.piece_geometry import Boxes
    from kin4d.neurok.sweep_profile import ANGLE_BINS, LENGTH_BINS, sweep_profile

    torch.manual_seed(0)
    panel = torch.rand(32, 3) * torch.tensor([0.3, 0.0, 0.3]) + torch.tensor([0.1, 0.0, 0.0])
    turned = panel[:, [1, 0, 2]]
    ahead = panel + torch.tensor([0.0, 0.3, 0.0])
    axis = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    for row, (other, distance, bins) in enumerate(
        ((turned, torch.pi / 2, ANGLE_BINS), (ahead, 0.3, LENGTH_BINS))
    ):
        points = torch.stack([panel, other])[None]
        batch = PieceBatch(
            points=points,
            normals=torch.zeros_like(points),
            supports=points,
            area=torch.ones(1, 2),
            component=torch.zeros(1, 2, dtype=torch.int64),
            mask=torch.ones(1, 2, dtype=torch.bool),
        )
        own = torch.tensor([[True, False]])
        parts = Parts(shape=torch.zeros(1, dtype=torch.int64), members=own, carried=own)
        boxes = Boxes(torch.zeros(1, 2, 3), torch.eye(3).expand(1, 2, 3, 3), torch.zeros(1, 2, 3))
        profile = sweep_profile(
            batch, boxes, parts, torch.zeros(1, 3), axis[row : row + 1], torch.tensor([row == 1])
        )
        met = bins[profile[0, 1, :, 2].argmax()]
        assert float(met) == pytest.approx(distance, rel=0.15)
        if row:
            assert float(profile[0, 0, :, 2].max()) == 0.0
