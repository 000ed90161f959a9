"""Episodes say what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_episode import made_episode

from kin4d.errors import InputError
from kin4d.storage.sample_id import SampleId


def test_an_episode_knows_who_it_is() -> None:
    episode = made_episode(3)
    assert len(episode) == 49
    assert episode.fps == 10
    assert episode.success
    assert episode.identity == SampleId(
        source="kin4d", category="reach", name="000003", licence="Apache-2.0", seed=3
    )
    assert 0.01 < episode.robot_mask.mean() < 0.5


def test_joints_are_finite_and_one_row_a_frame() -> None:
    joints = np.array(made_episode().joints)
    joints[7, 2] = np.nan
    name = made_episode().joint_names[2]
    with pytest.raises(InputError, match=f"NaN.*frame 7, '{name}'"):
        made_episode(joints=joints)
    with pytest.raises(InputError, match="wrong shape"):
        made_episode(joints=joints[:-1])
    with pytest.raises(InputError, match="no values"):
        made_episode(joints=None)
    assert made_episode(joints=None, joint_names=()).joints is None


def test_actions_go_with_the_video() -> None:
    actions = made_episode().actions
    with pytest.raises(InputError, match="one action per frame"):
        made_episode(actions=replace(actions, values=actions.values[:3]))
    with pytest.raises(InputError, match="another rate"):
        made_episode(actions=replace(actions, fps=5.0))


def test_other_things_that_are_wrong() -> None:
    video = made_episode().video
    one = {name: getattr(video, name)[:1] for name in ("rgb", "xyz", "mask")}
    with pytest.raises(InputError, match="too few frames"):
        made_episode(video=replace(video, **one))
    with pytest.raises(InputError, match="mask id 1"):
        made_episode(video=replace(video, names=()))
    with pytest.raises(InputError, match="JSON"):
        made_episode(meta={"array": np.zeros(3)})
    with pytest.raises(InputError, match="without '/'"):
        made_episode(name="../up")
    with pytest.raises(InputError, match="base"):
        made_episode(base=np.eye(3))
