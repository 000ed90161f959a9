"""Scene files: what they may say, and what they say when something is wrong."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import yaml

from kin4d import Actions, InputError, load, load_scene
from kin4d.episodes.formats.action_files import write_actions
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.primitives import box
from kin4d.scenes import schema
from kin4d.scenes.parse import parse

ROOT = Path(__file__).parents[2]
BLOCK = {"load": "block.obj", "body_type": "rigid", "position": [0, 0, 0.3], "name": "block"}


def write(folder: Path, data: Any, name: str = "scene.yaml") -> Path:
    save_mesh(box((0.2, 0.2, 0.2)), folder / "block.obj")
    path = folder / name
    path.write_text(json.dumps(data) if name.endswith(".json") else yaml.safe_dump(data))
    return path


def test_a_block_falls_on_a_static_box_and_json_says_the_same(tmp_path: Path) -> None:
    data = {
        "seconds": 0.5,
        "fps": 20,
        "surface": "wood",
        "bodies": [BLOCK],
        "static": [{"box": [1, 1, 0.1], "position": [0, 0, 0.05], "name": "table"}],
        "cameras": [{"name": "side", "eye": [2, 0, 1], "target": [0, 0, 0]}],
    }
    ends = []
    for name in ("scene.yaml", "scene.json"):
        loaded = load_scene(write(tmp_path, data, name))
        run = loaded.run()
        assert len(run.clip) == 11
        assert run["block"].q is not None
        ends.append(run["block"].vertices[-1, :, 2].min())
        assert list(loaded.scene.cameras) == ["side"]
    assert ends[0] == ends[1] == pytest.approx(0.1, abs=2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gravty": True}, "did you mean 'gravity'"),
        ({"seconds": "long"}, "scene.yaml.seconds .*a number"),
        ({"seconds": -1}, "> 0"),
        ({"gravity": 1}, "true or false"),
        ({"bodies": []}, "needs a body"),
        ({"bodies": [{**BLOCK, "positon": [0, 0, 0]}]}, r"bodies\[0\].*did you mean 'position'"),
        ({"bodies": [{**BLOCK, "position": [0, 0]}]}, "a list of 3"),
        ({"bodies": [{**BLOCK, "body_type": "soft"}]}, "learned, articulated"),
        ({"bodies": [{**BLOCK, "q": {"door": 1}}]}, "no coordinate 'door'"),
        ({"bodies": [{**BLOCK, "contact_cells": 2}]}, ">= 8"),
        ({"bodies": [{"name": "a"}]}, "has no 'load'"),
        ({"bodies": [{**BLOCK, "load": "../block.obj"}]}, "outside its folder"),
        ({"bodies": [{**BLOCK, "load": "https://example.org/block.obj"}]}, "outside its folder"),
        ({"bodies": [{**BLOCK, "weights": "owner/name"}]}, "weights of a scene"),
        ({"bodies": [{**BLOCK, "weights": "../small"}]}, "outside its folder"),
        ({"bodies": [BLOCK, BLOCK]}, "two bodies have the same name"),
        ({"static": [{"name": "thing"}]}, "exactly one of mesh and box"),
        ({"bodies": [{**BLOCK, "motion": {}}]}, "exactly one of keyframes and actions"),
        ({"bodies": [{**BLOCK, "motion": {"keyframes": [{"time": 0, "gripper": 1}]}}]}, "a robot"),
    ],
)
def test_wrong_scenes_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    path = write(tmp_path, {"bodies": [BLOCK], **change})
    with pytest.raises(InputError, match=message):
        load_scene(path)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("bodies: [")
    (tmp_path / "list.yaml").write_text("- 1")
    (tmp_path / "bomb.yaml").write_text(
        "a: &a [1, 1]\n"
        + "".join(f"{y}: &{y} [*{x}, *{x}]\n" for x, y in pairwise(ascii_lowercase))
    )
    (tmp_path / "itself.yaml").write_text("a: &a [*a]")
    (tmp_path / "deep.yaml").write_text("[" * 100_000)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "large.yaml").write_text("a: 1\n" * 100_000)
    for name in ("bomb.yaml", "itself.yaml"):
        with pytest.raises(InputError, match="aliases"):
            load_scene(tmp_path / name)
    for name in ("deep.yaml", "deep.json", "large.yaml"):
        with pytest.raises(InputError, match=rf"{name} is not a readable"):
            load_scene(tmp_path / name)
    with pytest.raises(InputError, match="not a readable YAML"):
        load_scene(tmp_path / "bad.yaml")
    with pytest.raises(InputError, match="not a mapping"):
        load_scene(tmp_path / "list.yaml")
    with pytest.raises(InputError, match="does not exist"):
        load_scene(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="a scene file"):
        load_scene(tmp_path / "scene.toml")


def test_a_robot_inside_an_object_is_refused(tmp_path: Path) -> None:
    arm = {
        "load": "kin4d_arm",
        "contact_links": ["finger_left", "finger_right"],
        "motion": {"keyframes": [{"time": 0, "q": {}}]},
    }
    inside = {**BLOCK, "position": [0, 0, 0.1]}
    with pytest.raises(InputError, match=r"starts .* m inside '(block|kin4d_arm)'"):
        load_scene(write(tmp_path, {"bodies": [inside, arm]}))


def test_keyframes_out_of_reach_say_where(tmp_path: Path) -> None:
    keys = [{"time": 1, "position": [0.4, 0, 0.3]}, {"time": 2, "position": [3, 0, 0]}]
    arm = {"load": "kin4d_arm", "motion": {"keyframes": keys}}
    with pytest.raises(InputError, match="cannot follow its keyframes: at 1"):
        load_scene(write(tmp_path, {"bodies": [arm]}))
    arm = {"load": "kin4d_arm", "motion": {"keyframes": [{"time": 0, "q": {"elbow": 9.0}}]}}
    with pytest.raises(InputError, match="'elbow' beyond its limits"):
        load_scene(write(tmp_path, {"bodies": [arm]}))


def test_keyframes_pass_through_what_they_say(tmp_path: Path) -> None:
    keys = [
        {"time": 0, "position": [0.4, 0, 0.25], "rotation": [180, 0, 90], "gripper": 1},
        {"time": 0.5, "position": [0.4, 0.1, 0.25], "gripper": 0},
    ]
    arm = {"load": "kin4d_arm", "motion": {"keyframes": keys}, "position": [0, 0, 0.1]}
    (actor,) = load_scene(write(tmp_path, {"bodies": [arm]})).scene.named_actors
    assert actor.motion is not None
    import torch

    tool = actor.body.link_index("tcp")
    poses = actor.body.link_poses(torch.tensor(actor.motion.q))[:, tool].numpy()
    assert np.allclose(poses[0, :3, 3], [0.4, 0, 0.25], atol=1e-4)
    assert np.allclose(poses[-1, :3, 3], [0.4, 0.1, 0.25], atol=1e-4)
    assert np.allclose(poses[:, :3, 2], [0, 0, -1], atol=1e-3)
    assert actor.motion.q[0, -1] == pytest.approx(0.038)
    assert actor.motion.q[-1, -1] == pytest.approx(0)


def test_a_file_of_actions_drives_a_robot(tmp_path: Path) -> None:
    names = load("kin4d_arm").coordinates
    values = np.linspace(0, 0.05, 6)[:, None] * np.ones(len(names) - 1)
    actions = Actions(kind="joint_delta", values=values, fps=10, names=names[:-1])
    write_actions(tmp_path / "actions.npz", actions)
    arm = {"load": "kin4d_arm", "motion": {"actions": "actions.npz"}, "q": {"elbow": 0.5}}
    (actor,) = load_scene(write(tmp_path, {"bodies": [arm]})).scene.named_actors
    assert actor.motion is not None
    assert (actor.motion.fps, len(actor.motion.q)) == (10, 7)
    elbow = names.index("elbow")
    assert np.allclose(actor.motion.q[:, elbow], 0.5 + np.append(0, values[:, 0].cumsum()))
    assert np.ptp(actor.motion.q[:, -1]) == 0


def test_the_schema_table_of_the_docs_has_every_key() -> None:
    text = (ROOT / "docs" / "howto" / "scene.md").read_text()
    kinds = [one for name, one in vars(schema).items() if name.endswith("Spec")]
    missing = [
        f"{kind.__name__}.{item.name}"
        for kind in kinds
        for item in fields(kind)
        if f"| `{item.name}` |" not in text
    ]
    assert missing == []


def test_the_scene_of_the_docs_is_valid() -> None:
    text = (ROOT / "docs" / "howto" / "scene.md").read_text()
    spec = parse(schema.SceneSpec, yaml.safe_load(text.split("```yaml")[1].split("```")[0]), "docs")
    assert [body.name for body in spec.bodies] == ["block", "arm"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "scenes").glob("*.yaml")))
def test_shipped_scenes_are_valid(path: Path) -> None:
    spec = parse(schema.SceneSpec, yaml.safe_load(path.read_text()), path.name)
    assert spec.bodies
    assert spec.cameras
