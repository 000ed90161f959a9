"""Presets: what other people's servers get, and what becomes of their actions."""

import numpy as np
import pytest
from websockets.sync.server import serve

from kin4d.errors import InputError
from kin4d.policies.policy import PolicyError
from kin4d.policies.presets import ActionContext, choose_preset, resize_with_padding

IMAGE = np.zeros((64, 96, 3), np.uint8)
IMAGE[:, :48] = 200  # the left half is bright
OBSERVATION = {
    "observation/image": IMAGE,
    "observation/joint_position": np.linspace(0, 0.6, 7, dtype=np.float32),
    "observation/gripper_position": np.array([0.75], np.float32),
    "observation/eef_pose": np.arange(6, dtype=np.float32),
    "prompt": "lift the red mug",
    "episode/task": "lift",
    "episode/seed": 4,
}
CONTEXT = ActionContext.of_observation(OBSERVATION)
METADATA = {
    "image_resolution": [180, 320],
    "needs_wrist_camera": True,
    "n_external_cameras": 1,
    "needs_stereo_camera": False,
    "needs_session_id": True,
    "action_space": "joint_position",
}


def test_padding_keeps_the_aspect() -> None:
    padded = resize_with_padding(np.full((64, 96, 3), 9, np.uint8), 224, 224)
    rows = np.flatnonzero(padded.any((1, 2)))
    assert (rows[0], rows[-1]) == (37, 185)
    assert padded[100].min() == 9


def test_droid() -> None:
    preset = choose_preset("droid", {})
    request = preset.request(OBSERVATION)
    assert set(request) == {
        "observation/exterior_image_1_left",
        "observation/wrist_image_left",
        "observation/joint_position",
        "observation/gripper_position",
        "prompt",
    }
    assert request["observation/exterior_image_1_left"].shape == (224, 224, 3)
    assert request["observation/gripper_position"] == pytest.approx([0.25])  # 1 is closed
    velocities = np.zeros((10, 8))
    velocities[:, 0], velocities[:, 1], velocities[4:, 7] = 0.5, 3.0, 0.9
    actions = preset.actions(velocities, CONTEXT)
    assert preset.control == "joint_velocity"
    assert len(actions) == 11  # eight at 15 Hz last as long as eleven at 20 Hz
    assert actions[:, 0] == pytest.approx(0.5 * 0.2 * 15)
    assert actions[:, 1] == pytest.approx(0.2 * 15)  # clipped
    assert actions[:, 7].tolist() == [1.0] * 5 + [0.0] * 6
    with pytest.raises(InputError, match="--arm panda"):
        preset.request({**OBSERVATION, "observation/joint_position": np.zeros(6)})
    with pytest.raises(PolicyError):
        preset.actions(np.zeros((10, 7)), CONTEXT)


def test_libero() -> None:
    preset = choose_preset("libero", {})
    request = preset.request(OBSERVATION)
    image = request["observation/image"]
    assert image[112, 10].tolist() == [0, 0, 0]  # mirrored: the right half is bright
    assert image[112, 214].tolist() == [200, 200, 200]
    assert request["observation/state"] == pytest.approx([0, 1, 2, 3, 4, 5, 0.03, -0.03])
    actions = preset.actions(np.tile([1, 0, 0, 0, -1, 0, -1.0], (10, 1)), CONTEXT)
    assert actions.shape == (5, 7)
    assert actions[0] == pytest.approx([0.05, 0, 0, 0, -0.5, 0, 1])


def test_roboarena_is_detected() -> None:
    preset = choose_preset(None, METADATA)
    request = preset.request(OBSERVATION)
    assert (preset.name, request["endpoint"], request["session_id"]) == (
        "roboarena", "infer", "lift-4",
    )  # fmt: skip
    assert request["observation/exterior_image_0_left"].shape == (180, 320, 3)
    assert preset.reset_message == {"endpoint": "reset"}
    targets = np.concatenate(
        [CONTEXT.joints + 0.02 * np.arange(1, 7)[:, None], np.zeros((6, 1))], 1
    )
    actions = preset.actions(targets, CONTEXT)
    assert actions[:, :7] == pytest.approx(np.full((8, 7), 0.02 * 15))
    assert (actions[:, 7] == 1).all()


@pytest.mark.parametrize(
    "change", [{"action_space": "cartesian_position"}, {"n_external_cameras": 2}]
)
def test_roboarena_servers_that_need_what_there_is_not(change: dict) -> None:
    with pytest.raises(InputError):
        choose_preset(None, {**METADATA, **change})


def test_presets_that_are_not_known() -> None:
    with pytest.raises(InputError, match="--preset"):
        choose_preset(None, {})
    with pytest.raises(InputError, match="no such preset"):
        choose_preset("aloha", {})
    assert choose_preset(None, {"preset": "kin4d", "control": "joint_velocity"}).control == (
        "joint_velocity"
    )


def test_a_roboarena_server_is_reset_and_answers_a_bare_array() -> None:
    import threading

    from kin4d.policies.array_messages import pack_message, unpack_message
    from kin4d.policies.websocket_policy import WebsocketPolicy

    endpoints = []

    def answer(connection) -> None:
        connection.send(pack_message(METADATA))
        for data in connection:
            message = unpack_message(data)
            endpoints.append(message["endpoint"])
            reset = message["endpoint"] == "reset"
            connection.send("reset successful" if reset else pack_message(np.zeros((3, 8))))

    with serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        policy = WebsocketPolicy(f"ws://127.0.0.1:{server.socket.getsockname()[1]}")
        policy.reset()
        assert policy(OBSERVATION).shape == (4, 8)
        policy.close()
    assert endpoints == ["reset", "infer"]
