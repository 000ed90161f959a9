"""Object samples: points stay on the surface they were bound to, and follow its motions."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.geometry.primitives import box
from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.sequence_sample import SequenceSample, local_rotations
from kin4d.objects.sources import make_articulated
from kin4d.storage.sample_id import SampleId, category_name


def bent_sheet(frames: int = 5) -> VertexSequence:
    """A strip of paper that curls up."""
    along, across = np.meshgrid(np.linspace(0, 1, 13), np.linspace(0, 0.3, 5), indexing="ij")
    index = np.arange(65).reshape(13, 5)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    faces = np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    curl = np.linspace(1e-6, 2.0, frames)[:, None, None]
    x, z = np.sin(curl * along) / curl, (1 - np.cos(curl * along)) / curl
    vertices = np.stack([x, np.broadcast_to(across, x.shape), z], -1).reshape(frames, -1, 3)
    return VertexSequence(
        name="sheet/0", category="Paper", source="test 1.0", licence="CC0-1.0", seed=0,
        vertices=vertices, faces=faces, fps=10.0,
    )  # fmt: skip


def object_samples() -> list[ObjectSample]:
    return [
        make_articulated("cabinet", 3),
        make_articulated("laptop", 1),
        SequenceSample(bent_sheet()),
    ]


@pytest.mark.parametrize("sample", object_samples(), ids=lambda s: s.identity.category)
def test_points_lie_on_the_moved_surface(sample: ObjectSample) -> None:
    rng = np.random.default_rng(0)
    states = sample.states(rng, 3)
    surface_points = sample.surface(50, rng, draws=3)
    points, normals = sample.transform_points(surface_points, states)
    triangles = sample.vertices(states)[np.arange(3)[:, None, None], surface_points.corners]
    by_hand = np.einsum("nsc,nsci->nsi", surface_points.barycentric, triangles)
    np.testing.assert_allclose(points, by_hand, atol=1e-6)
    edge = triangles[..., 1, :] - triangles[..., 0, :]
    np.testing.assert_allclose(np.einsum("nsi,nsi->ns", edge, normals), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1, atol=1e-9)


@pytest.mark.parametrize("sample", object_samples(), ids=lambda s: s.identity.category)
def test_motions_take_points_from_state_to_state(sample: ObjectSample) -> None:
    rng = np.random.default_rng(1)
    before, after = sample.state_pairs(rng, 4)
    surface_points = sample.surface(60, rng, draws=4)
    start, _ = sample.transform_points(surface_points, before)
    end, _ = sample.transform_points(surface_points, after)
    motions = sample.motions(surface_points, before, after)
    each = np.take_along_axis(motions.matrices, motions.index[..., None, None], 1)
    np.testing.assert_allclose(
        (each[..., :3, :3] @ start[..., None])[..., 0] + each[..., :3, 3], end, atol=1e-9
    )
    rotation = each[..., :3, :3]
    np.testing.assert_allclose(
        rotation @ rotation.mT, np.broadcast_to(np.eye(3), rotation.shape), atol=1e-9
    )
    assert (np.linalg.det(rotation) > 0).all()


def test_samples_follow_area_and_one_draw_serves_many_states() -> None:
    sample = make_articulated("table", 5)
    rng = np.random.default_rng(2)
    surface_points = sample.surface(4000, rng)
    counts = np.bincount(surface_points.face[0], minlength=len(sample.faces))
    expected = 4000 * sample.face_areas / sample.face_areas.sum()
    assert np.abs(counts - expected).max() <= 1.0 + 1e-9
    points, _ = sample.transform_points(surface_points, sample.states(rng, 3))
    assert points.shape == (3, 4000, 3)


def test_uneven_sampling_shifts_points_between_components() -> None:
    sample = make_articulated("cabinet", 3)
    even = sample.surface(500, np.random.default_rng(0), draws=6)
    uneven = sample.surface(500, np.random.default_rng(0), draws=6, unevenness=1.0)

    def spread(component: np.ndarray) -> float:
        return float(np.std([(row == 0).mean() for row in component]))

    assert spread(uneven.component) > 5 * spread(even.component)


@pytest.mark.parametrize("mirror", [False, True])
def test_reshaping_scales_the_object_and_keeps_parts_rigid(mirror: bool) -> None:
    sample = make_articulated("cabinet", 7)
    scale = np.array([1.5, 0.7, 1.1])
    other = sample.rescaled(scale, mirror=mirror)
    zero = np.zeros((1, sample.states(np.random.default_rng(0), 1).shape[1]))
    factors = scale * [-1 if mirror else 1, 1, 1]
    np.testing.assert_allclose(other.vertices(zero), sample.vertices(zero) * factors, atol=1e-9)
    rng = np.random.default_rng(4)
    surface_points, states = other.surface(80, rng), other.states(rng, 3)
    points, _ = other.transform_points(surface_points, states)
    for part in np.unique(surface_points.part):
        inside = points[:, surface_points.part[0] == part]
        gaps = np.linalg.norm(inside[:, :, None] - inside[:, None], axis=-1)
        np.testing.assert_allclose(gaps, np.broadcast_to(gaps[:1], gaps.shape), atol=1e-9)


def test_mirrored_surfaces_still_face_outwards() -> None:
    corner = box((1.0, 2.0, 3.0))
    sequence = VertexSequence(
        name="box", category="box", source="test", licence="CC0-1.0", seed=0,
        vertices=corner.vertices[None], faces=corner.faces, fps=1.0,
    )  # fmt: skip
    sample = SequenceSample(sequence).rescaled(np.ones(3), mirror=True)
    surface_points = sample.surface(100, np.random.default_rng(0))
    points, normals = sample.transform_points(surface_points, np.zeros(1, int))
    assert (np.einsum("nsi,nsi->ns", points, normals) > 0).all()


def test_local_rotations_find_a_rigid_motion_and_the_least_turn_of_a_line() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    c, s = np.cos(2.0), np.sin(2.0)
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    found = local_rotations(points, points @ rotation.T + 3.0, np.zeros(40, int))
    np.testing.assert_allclose(found, np.broadcast_to(rotation, found.shape), atol=1e-4)
    line = np.linspace(0, 1, 30)[:, None] * [1.0, 0, 0]
    found = local_rotations(line, line + 1.0, np.zeros(30, int))
    np.testing.assert_allclose(found, np.broadcast_to(np.eye(3), found.shape), atol=1e-9)


def test_neighbours_are_of_the_same_component() -> None:
    # Two sheets on top of each other, one of which turns: each must be fitted by itself.
    rng = np.random.default_rng(0)
    flat = np.concatenate([rng.random((60, 2)), np.zeros((60, 1))], 1)
    rotation = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    above = flat + np.array([0, 0, 0.001])
    start, end = np.concatenate([flat, above]), np.concatenate([flat, above @ rotation.T])
    found = local_rotations(start, end, np.repeat([0, 1], 60))
    np.testing.assert_allclose(found[:60], np.broadcast_to(np.eye(3), (60, 3, 3)), atol=1e-5)
    np.testing.assert_allclose(found[60:], np.broadcast_to(rotation, (60, 3, 3)), atol=1e-5)


def test_y_up_sequences_are_stood_up_and_clips_share_their_instance() -> None:
    sheet = bent_sheet()
    from dataclasses import replace

    up = SequenceSample(replace(sheet, meta={"up": "y"}))
    assert up.identity.instance == "sheet"
    assert up.identity.category == "paper"
    np.testing.assert_allclose(
        up.vertices(np.array([2]))[0, :, 2], sheet.vertices[2, :, 1], atol=1e-7
    )


def test_identity_names() -> None:
    assert category_name("WashingMachine") == category_name("washing machine") == "washing_machine"
    who = SampleId(source="a", category="TrashCan", name="7", licence="MIT")
    assert (who.key, who.instance) == ("a/trash_can/7", "7")


def test_demo_states_stay_within_limits() -> None:
    sample = make_articulated("refrigerator", 2)
    states = sample.demo_states(40)
    low, high = sample.object.limits.T  # pyright: ignore[reportAttributeAccessIssue]
    assert states.shape[0] == 40
    assert (states >= low - 1e-12).all()
    assert (states <= high + 1e-12).all()
    assert len(SequenceSample(bent_sheet(5)).demo_states(40)) == 5
