"""Fused objects: one surface in one state, whose patches know their links and joints."""

from __future__ import annotations

import numpy as np

from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.fused_object import fused_object
from kin4d.objects.piece_augmentation import FUSED_AUGMENTATION, random_scene
from kin4d.objects.piece_stream import PiecePool, PieceStream
from kin4d.objects.sources import articulated_source


def test_patches_lie_on_the_surface_of_their_links() -> None:
    sample = articulated_source().make("drawer_unit", 7)
    assert isinstance(sample, ArticulatedSample)
    fused = fused_object(sample, np.random.default_rng(0))
    state = sample.states(np.random.default_rng(0), 1)
    vertices = sample.vertices(state)[0]
    size = float(np.ptp(vertices, axis=0).max())
    assert 40 <= len(fused.link) <= 112
    assert set(fused.link) > {0}
    assert len(np.unique(fused.pieces.component)) == 1
    corners = vertices[sample.faces]
    for link in np.unique(fused.link):
        own = corners[sample.face_part == link].reshape(-1, 3)
        middle = fused.pieces.points[fused.link == link].mean(1)
        assert (middle > own.min(0) - 0.1 * size).all()
        assert (middle < own.max(0) + 0.1 * size).all()
    limits = sample.object.limits - state[0][:, None]
    np.testing.assert_allclose(fused.joints.limits[fused.joints.free], limits, atol=1e-9)


def test_a_fused_object_is_never_posed_again() -> None:
    sample = articulated_source().make("box", 3)
    assert isinstance(sample, ArticulatedSample)
    fused = fused_object(sample, np.random.default_rng(1))
    for seed in range(3):
        scene = random_scene(fused, np.random.default_rng(seed), FUSED_AUGMENTATION)
        assert len(scene.link) == len(fused.link)
        np.testing.assert_array_equal(scene.link, fused.link)
        width = np.ptp(scene.range, axis=1)
        turning = ~scene.slides
        expected = np.ptp(fused.joints.limits, axis=1)
        np.testing.assert_allclose(width[turning], expected[turning], atol=1e-9)


def test_streams_keep_fused_objects_whole() -> None:
    source = articulated_source().only(["box"])
    fused = PiecePool.procedural(source, "train", each=2, fused=True)
    assert fused.name.startswith("fused")
    batch, targets = PieceStream([fused], batch=4, seed=0)[0]
    assert int(batch.mask.sum(1).min()) >= 40
    assert bool(targets.moves.any())
