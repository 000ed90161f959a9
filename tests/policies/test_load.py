"""Policies by name: modules, experts, LeRobot checkpoints, and names that are none."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.policies.load import load_policy
from kin4d.policies.policy import StatefulPolicy, policy_control
from kin4d.tasks.task import named_task

EPISODE = {"episode/task": "lift", "episode/arm": "kin4d_arm", "episode/seed": 3}


def test_a_function_or_a_class_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_policies.py").write_text(
        "class Rest:\n"
        "    control = 'joint_velocity'\n"
        "    def __call__(self, observation): return [[0.0] * 7]\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    policy = load_policy("my_policies:Rest")
    assert policy({}) == [[0.0] * 7]
    assert policy_control(policy) == "joint_velocity"
    for name in ("my_policies:number", "my_policies:missing", "no_such_module:act", "lift", ":x"):
        with pytest.raises(InputError):
            load_policy(name)


def test_the_expert_gives_its_actions_chunk_by_chunk() -> None:
    expert = named_task("lift").expert(named_task("lift").build(3))
    policy = load_policy("expert")
    assert expert.gripper is not None
    chunk = policy({**EPISODE, "episode/step": 8})
    np.testing.assert_array_equal(chunk[:, :6], expert.values[8:16])
    np.testing.assert_array_equal(chunk[:, 6], expert.gripper[8:16])
    late = policy({**EPISODE, "episode/step": len(expert) - 2})
    assert not late[2:, :6].any()
    assert (late[2:, 6] == expert.gripper[-1]).all()
    noisy = load_policy("expert:0.01")({**EPISODE, "episode/step": 8})
    assert 0.002 < np.abs(noisy[:, :3] - chunk[:, :3]).mean() < 0.03
    for name in ("expert:much", "expert:-1", "expert:nan"):
        with pytest.raises(InputError):
            load_policy(name)


def test_lerobot_is_imported_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lerobot", None)
    with pytest.raises(InputError, match="pip install lerobot"):
        load_policy("lerobot:somewhere")


def test_lerobot_policies_select_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the package, which has the functions of LeRobot that are called."""
    seen = []

    class Network:
        queue = 0

        @classmethod
        def from_pretrained(cls, path: str, *, config: object) -> "Network":
            return cls()

        def eval(self) -> "Network":
            return self

        def reset(self) -> None:
            self.queue = 0

        def select_action(self, batch: dict) -> torch.Tensor:
            seen.append(batch)
            self.queue += 1
            return torch.full((1, 7), float(self.queue))

    configs, factory = ModuleType("configs"), ModuleType("factory")
    config = SimpleNamespace(type="act")
    configs.PreTrainedConfig = SimpleNamespace(from_pretrained=lambda path: config)  # type: ignore
    factory.get_policy_class = lambda kind: Network  # type: ignore
    factory.make_pre_post_processors = lambda config, pretrained_path: (  # type: ignore
        lambda batch: batch,
        lambda action: 2 * action,
    )
    monkeypatch.setitem(sys.modules, "lerobot", ModuleType("lerobot"))
    monkeypatch.setitem(sys.modules, "lerobot.configs", ModuleType("lerobot.configs"))
    monkeypatch.setitem(sys.modules, "lerobot.configs.policies", configs)
    monkeypatch.setitem(sys.modules, "lerobot.policies", ModuleType("lerobot.policies"))
    monkeypatch.setitem(sys.modules, "lerobot.policies.factory", factory)
    policy = load_policy("lerobot:somewhere")
    observation = {
        "observation/image": np.full((4, 6, 3), 255, np.uint8),
        "observation/depth": np.ones((4, 6), np.float32),
        "observation/pointmap": np.ones((4, 6, 3), np.float32),
        "observation/joint_position": np.zeros(6, np.float32),
        "observation/gripper_position": np.ones(1, np.float32),
        "prompt": "lift the mug",
    }
    policy(observation)
    assert policy(observation).tolist() == [[4.0] * 7]
    assert isinstance(policy, StatefulPolicy)
    policy.reset()
    assert policy(observation).tolist() == [[2.0] * 7]
    batch = seen[0]
    assert batch["observation.images.front"].shape == (1, 3, 4, 6)
    assert batch["observation.images.front"].max() == 1.0
    assert batch["observation.state"].tolist() == [[0.0] * 6 + [1.0]]
    assert batch["observation.depth"].shape == (1, 4, 6)
    assert batch["task"] == ["lift the mug"]
