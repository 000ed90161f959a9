from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation
from tfrecord_writer import example, write_records

from kin4d.bodies.robot.registry import list_robots, load_robot
from kin4d.episodes.converter import RecordingConverter
from kin4d.episodes.formats.droid import read_droid
from kin4d.episodes.formats.reader import open_dataset
from kin4d.episodes.formats.rlds import read_bridge
from kin4d.episodes.timing import rows_at
from kin4d.errors import InputError
from kin4d.kinematics.control import actions_to_q, link_poses
from kin4d.kinematics.conventions import values_to_poses
from kin4d.kinematics.resample import resample

DATA = Path(os.environ.get("KIN4D_DATA", Path(__file__).parents[4] / "shared" / "data"))
DROID = sorted((DATA / "droid" / "annotation").glob("*.json"))
BRIDGE = sorted((DATA / "bridge").glob("*.tfrecord*"))
WIDOWX = DATA / "robots" / "trossen_wx250s" / "wx250s.xml"
has_droid = pytest.mark.skipif(
    not DROID or "panda" not in list_robots(), reason="needs DROID data and example-robot-data"
)
has_bridge = pytest.mark.skipif(not BRIDGE, reason="needs Bridge data")


def droid_file(folder: Path, **changes) -> Path:
    data = {"texts": ["push"], "episode_id": 3, "success": 1}
    for key in ("observation.state", "action"):
        data |= {
            f"{key}.joint_position": [[0.1] * 7] * 4,
            f"{key}.cartesian_position": [[0.4, 0, 0.5, 3.1, 0, 0]] * 4,
            f"{key}.gripper_position": [0, 0.25, 1, 1.01],
        }
    data |= changes
    path = folder / "3.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return path


def test_droid_annotations(tmp_path) -> None:
    recording = read_droid(droid_file(tmp_path))
    assert (recording.name, recording.language, recording.success) == ("3", "push", True)
    assert set(recording.motions) == {"state_joint", "state_pose", "action_joint", "action_pose"}
    for motion in recording.motions.values():
        assert motion.fps == 15
        np.testing.assert_allclose(motion.gripper, [1, 0.75, 0, 0])
    assert recording.motions["state_joint"].names[6] == "panda_joint7"
    assert recording.motions["state_pose"].rotation == "euler_xyz"


def test_bad_droid_annotations(tmp_path) -> None:
    missing = {"observation.state.joint_position": None}
    with pytest.raises(InputError, match=r"no 'observation.state.joint_position'"):
        read_droid(droid_file(tmp_path, **missing))
    with pytest.raises(InputError, match="not an array of numbers"):
        read_droid(droid_file(tmp_path, **{"action.joint_position": [[1], [2, 3]]}))
    rows = [[0.0] * 7, [0.0] * 6 + [float("nan")]] * 2
    with pytest.raises(InputError, match="row 1, column 6"):
        read_droid(droid_file(tmp_path, **{"action.joint_position": rows}))
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(InputError, match="not a DROID annotation"):
        read_droid(tmp_path / "list.json")


def test_bridge_records(tmp_path) -> None:
    state = np.tile(np.array([0.2, 0.1, 0.3, 0.1, -0.2, 0.3, 1.002], np.float32), 5)
    record = {
        "steps/observation/state": state,
        "steps/action": np.zeros(35, np.float32),
        "steps/language_instruction": [b"put carrot on plate"] * 5,
    }
    path = write_records(tmp_path / "a.tfrecord", [example(record), example(record)])
    first, _ = read_bridge(path)
    assert first.language == "put carrot on plate"
    motion = first.motions["state_pose"]
    assert (len(motion), motion.fps) == (5, 5)
    np.testing.assert_array_equal(motion.gripper, 1)
    turn = values_to_poses(motion.values, motion.rotation)[0, :3, :3]
    # The approach axis is straight down at zero angles, and turns with the angles.
    down = Rotation.from_euler("xyz", [0.1, -0.2, 0.3]).apply([0, 0, -1])
    np.testing.assert_allclose(turn[:, 0], down, atol=1e-6)
    record["steps/action"] = np.zeros(5, np.float32)
    with pytest.raises(InputError, match="steps/action"):
        read_bridge(write_records(tmp_path / "b.tfrecord", [example(record)]))


@has_droid
def test_droid_poses_are_forward_kinematics_of_droid_joints() -> None:
    panda = load_robot("panda", missing="skip")
    for path in DROID:
        motions = read_droid(path).motions
        q, _ = actions_to_q(motions["state_joint"], panda)
        found = link_poses(panda, q, "panda_link8")
        expected = values_to_poses(motions["state_pose"].values, "euler_xyz")
        np.testing.assert_allclose(found, expected, atol=1e-6)


@has_droid
def test_droid_poses_are_followed() -> None:
    panda = load_robot("panda", missing="skip")
    for path in DROID:
        motions = read_droid(path).motions
        q, _ = actions_to_q(motions["state_joint"], panda)
        for pose in (motions["state_pose"], resample(motions["state_pose"])):
            followed, report = actions_to_q(pose, panda, q_start=q[0])
            assert report.converged.all(), f"{path.name}: {report}"
            assert ((followed >= panda.limits[:, 0]) & (followed <= panda.limits[:, 1])).all()


@has_bridge
def test_bridge_checksums_and_motions() -> None:
    recordings = read_bridge(BRIDGE[0])
    assert len(recordings) == 25
    for recording in recordings:
        assert recording.language
        # What was commanded is nearly what was measured one step later.
        state = recording.motions["state_pose"].values[:, :3]
        command = recording.motions["action_pose_delta"].values[:-1, :3]
        assert np.abs(np.diff(state, axis=0) - command).max() < 0.03


@has_bridge
@pytest.mark.skipif(not WIDOWX.is_file(), reason="needs the WidowX description")
def test_bridge_poses_are_followed_by_the_widowx() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("kin4d.bodies.robot.mjcf")
    widowx = load_robot(WIDOWX)
    for recording in read_bridge(BRIDGE[0]):
        q, report = actions_to_q(
            recording.motions["state_pose"], widowx, link="wx250s/gripper_link"
        )
        assert report.converged.all()
        assert torch.isfinite(q).all()


@has_droid
def test_droid_videos_go_with_their_states() -> None:
    found = open_dataset(DATA / "droid")
    assert len(found) == 7
    recording = found.read(1)
    assert [*recording.views] == ["0", "1", "2"]
    frames, times = recording.view("1")[1].read()
    assert frames.shape[1:] == (192, 320, 3)
    rows = rows_at(times, recording.state)
    assert rows[-1] <= len(recording.state) - 1
    assert rows[1] == 3
    with pytest.raises(InputError, match="kin4d calibrate panda"):
        RecordingConverter().camera_of(recording)


@has_bridge
def test_bridge_pictures() -> None:
    found = open_dataset(BRIDGE[0])
    assert len(found) == 25
    assert [*found.read(3).views] == ["image_0", "image_1", "image_2"]
    frames, times = found.read(3).view("image_0")[1].read()
    assert frames.shape == (10, 64, 64, 3)
    assert times[-1] == pytest.approx(1.8)
