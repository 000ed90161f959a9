"""Training batches of the segmenter."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from kin4d.world.object_world.batches import episode_seg_example, segmentation_batches
from kin4d.world.object_world.segmentation import SegBatch

pytest.importorskip("mujoco")


class _One:
    """A store of one episode."""

    def __init__(self, episode):
        self._episode = episode

    def episode(self, number):
        return self._episode


@pytest.fixture(scope="module")
def episode():
    from kin4d.tasks.record import EpisodeSpec, make_episode

    return make_episode(EpisodeSpec(task="lift", seed=4), frames=2)


def _batches(episode, **options) -> Iterator[SegBatch]:
    return segmentation_batches(_One(episode), [0], batch=8, seed=0, **options)


def test_views_without_augmentation_are_the_first_frame(episode):
    view, part = episode_seg_example(episode)
    batch = next(_batches(episode, augment=False))
    assert torch.equal(batch.view, view.expand(8, -1, -1, -1))
    assert torch.equal(batch.part, part.expand(8, -1, -1))


def test_augmented_views_are_mirrored_or_recoloured_with_their_parts(episode):
    view, part = episode_seg_example(episode)
    batch = next(_batches(episode))
    mirrored = [not torch.equal(one, part) for one in batch.part]
    assert any(mirrored)
    assert not all(mirrored)
    recoloured = 0
    for one, part_of_view, flipped in zip(batch.view, batch.part, mirrored, strict=True):
        back, labels = (one.flip(-1), part_of_view.flip(-1)) if flipped else (one, part_of_view)
        assert torch.equal(labels, part)
        assert torch.equal(back[3:], view[3:])  # positions and robot mask have no colour
        recoloured += not torch.equal(back[:3], view[:3])
        assert back[:3].abs().max() <= 1
    assert 0 < recoloured < 8


def test_a_batch_depends_on_seed_and_step_alone(episode):
    batches = _batches(episode)
    next(batches)
    again = next(_batches(episode, step=1))
    np.testing.assert_array_equal(next(batches).view, again.view)
