"""HDF5 of LIBERO and robomimic: pictures the right way up, and cameras from the scene's text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.episodes.formats.reader import open_dataset
from kin4d.episodes.formats.robosuite_camera import fixed_cameras
from kin4d.errors import InputError

h5py = pytest.importorskip("h5py")

MODEL = """<mujoco><worldbody>
<camera name="agentview" pos="1.5 0 1.3" quat="0.56 0.43 0.43 0.56" fovy="60"/>
<camera name="odd" pos="0 0 1" xyaxes="1 0 0 0 1 0"/>
<body name="robot0_base" pos="-0.5 0 0.9"><camera name="robot0_eye_in_hand" quat="1 0 0 0"/></body>
</worldbody></mujoco>"""


def libero(path: Path, *, native: bool = True, rows: int = 60) -> Path:
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        kwargs = {"control_freq": 20, "controller_configs": {"output_max": [0.1] * 3 + [0.5] * 3}}
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": kwargs})
        if native:
            problem = {"language_instruction": ["open the drawer"], "problem_name": "kitchen"}
            data.attrs["problem_info"] = json.dumps(problem)
        for name in ("demo_10", "demo_2"):
            demo = data.create_group(name)
            demo.attrs["model_file"] = MODEL
            demo["actions"] = np.concatenate([np.full((rows, 6), 0.5), np.ones((rows, 1))], 1)
            demo["rewards"] = np.eye(rows)[-1]
            obs = demo.create_group("obs")
            joints, gripper, view = (
                ("joint_states", "gripper_states", "agentview_rgb")
                if native
                else ("robot0_joint_pos", "robot0_gripper_qpos", "agentview_image")
            )
            obs[joints] = rng.normal(size=(rows, 7)) * 0.1
            obs[gripper] = np.tile([0.02, -0.02], (rows, 1))
            pictures = np.zeros((rows, 16, 24, 3), np.uint8)
            pictures[:, 0] = 255
            obs["eye_in_hand_rgb" if native else "robot0_eye_in_hand_image"] = pictures
            obs[view] = pictures
    return path


@pytest.mark.parametrize("native", [True, False])
def test_demonstrations(native: bool, tmp_path: Path) -> None:
    found = open_dataset(libero(tmp_path / "a_demo.hdf5", native=native))
    assert len(found) == 2
    demo = found.read(0)
    assert demo.name == "demo_2"
    assert demo.language == ("open the drawer" if native else "")
    assert demo.task == ("kitchen" if native else "Lift")
    assert (demo.success, demo.robot) == (True, "panda")
    name, view = demo.view()
    assert name == "agentview"
    frames, times = view.read()
    assert (frames[:, -1] == 255).all()
    assert not frames[:, :-1].any()
    assert times[20] == pytest.approx(1.0)
    state = demo.motions["state_joint"]
    assert state.names[0] == "panda_joint1"
    np.testing.assert_allclose(state.gripper, 0.5)
    np.testing.assert_allclose(demo.action.values[0], [0.05] * 3 + [0.25] * 3)
    np.testing.assert_allclose(demo.action.gripper, 0.0)


def test_fixed_cameras_stand_where_mujoco_puts_them() -> None:
    mujoco = pytest.importorskip("mujoco")
    cameras = fixed_cameras(MODEL)
    assert set(cameras) == {"agentview"}
    camera = cameras["agentview"](24, 16)
    text = MODEL.replace("</worldbody>", '<geom size="1"/></worldbody>')
    model = mujoco.MjModel.from_xml_string(text)
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    index = model.camera("agentview").id
    looks = -state.cam_xmat[index].reshape(3, 3)[:, 2]
    np.testing.assert_allclose(camera.pose[:3, 2], looks, atol=1e-6)
    np.testing.assert_allclose(camera.pose[:3, 3], state.cam_xpos[index] - [-0.5, 0, 0.9])
    assert camera.K[1, 1] == pytest.approx(8 / np.tan(np.radians(30)))
    assert fixed_cameras("") == {}
    with pytest.raises(InputError, match="not a readable MJCF"):
        fixed_cameras("<mujoco")


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.hdf5").write_bytes(b"no")
    with pytest.raises(InputError, match="not a readable HDF5"):
        open_dataset(tmp_path / "a.hdf5")
    with h5py.File(tmp_path / "b.hdf5", "w") as file:
        file["x"] = [1]
    with pytest.raises(InputError, match="no group 'data'"):
        open_dataset(tmp_path / "b.hdf5")
    libero(tmp_path / "c.hdf5")
    with h5py.File(tmp_path / "c.hdf5", "a") as file:
        del file["data/demo_2/obs/joint_states"]
    with pytest.raises(InputError, match="no joint_states or robot0_joint_pos"):
        open_dataset(tmp_path / "c.hdf5").read(0)
