"""Parts: what the first frame shows is found again where the parts' motions say it went."""

import numpy as np
import pytest

from kin4d.episodes.part_tracks import FIRST, PartTracks
from kin4d.episodes.store import episode_record, restore_episode
from kin4d.episodes.timing import pick_frames
from kin4d.errors import InputError

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def episode():
    from kin4d.tasks.record import EpisodeSpec, make_episode

    return make_episode(EpisodeSpec(task="open_drawer", seed=5), frames=7)


def test_points_of_the_first_frame_are_seen_where_their_part_carries_them(episode):
    video, parts = episode.video, episode.parts
    camera = video.camera
    carried = parts.carried(video.xyz[0])
    moved = np.linalg.norm(carried[-1] - video.xyz[0], axis=-1)
    mine = (parts.mask[0] >= FIRST) & (moved > 0.02)
    assert mine.sum() > 20
    assert (moved[parts.mask[0] < FIRST] == 0).all()
    pixels = carried[-1][mine] @ camera.K.T
    u, v = np.rint(pixels[:, :2] / pixels[:, 2:]).astype(int).T
    inside = (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
    u, v, point, part = u[inside], v[inside], carried[-1][mine][inside], parts.mask[0][mine][inside]
    same = parts.mask[-1, v, u] == part
    assert same.mean() > 0.6  # the hand hides some, and edges round to a neighbour
    apart = np.linalg.norm(video.xyz[-1, v, u] - point, axis=-1)[same]
    assert np.median(apart) < 0.01


def test_parts_belong_to_things_and_survive_the_store(episode):
    parts = episode.parts
    owner = np.array([0, 1, *parts.object_ids])
    np.testing.assert_array_equal(owner[parts.mask], episode.video.mask)
    assert len(parts.object_ids) > len(set(parts.object_ids))  # a cabinet and its drawer
    record = episode_record(episode)
    back = restore_episode(record.line, record.arrays).parts
    np.testing.assert_array_equal(back.mask, parts.mask)
    np.testing.assert_allclose(back.motions, parts.motions, atol=1e-6)
    assert back.object_ids == parts.object_ids


def test_parts_that_do_not_fit_are_refused():
    mask = np.zeros((2, 3, 4), np.uint8)
    with pytest.raises(InputError, match="wrong shape"):
        PartTracks(mask=mask, motions=np.zeros((2, 1, 3, 4)), object_ids=(2,))
    with pytest.raises(InputError, match="not there"):
        PartTracks(mask=mask + 5, motions=np.tile(np.eye(4), (2, 1, 1, 1)), object_ids=(2,))


def test_parts_of_picked_frames_move_from_the_first_of_these(episode):
    picked = pick_frames(episode, np.array([2, 4, 6]), fps=episode.fps / 2)
    assert picked.parts.motions.shape[0] == len(picked) == 3
    np.testing.assert_array_equal(picked.parts.mask, episode.parts.mask[[2, 4, 6]])
    whole, start = episode.parts.motions, picked.parts.motions
    np.testing.assert_allclose(start[0], np.tile(np.eye(4), (whole.shape[1], 1, 1)), atol=1e-9)
    np.testing.assert_allclose(start[2] @ whole[2], whole[6], atol=1e-9)
