"""Robots by name."""

from __future__ import annotations

import pytest
import torch

from kin4d.bodies import load_robot
from kin4d.bodies.robot.registry import _example_robots, list_robots
from kin4d.errors import InputError

needs_robots = pytest.mark.skipif(not _example_robots(), reason="needs example-robot-data")


def test_the_shipped_arm_is_complete(kin4d_arm) -> None:
    assert kin4d_arm.coordinates == (
        *("shoulder_pan", "shoulder_lift", "elbow", "wrist_roll", "wrist_bend", "wrist_turn"),
        "grip",
    )
    assert kin4d_arm.end_effector == "tcp"
    assert kin4d_arm.missing == ()
    assert kin4d_arm.mass.sum().item() == pytest.approx(7.08)
    low, high = kin4d_arm.rest.bounds
    assert low[2] == pytest.approx(0, abs=1e-9)
    assert high[2] < 1


def test_the_shipped_arm_starts_with_its_gripper_down(kin4d_arm) -> None:
    tool = kin4d_arm.link_poses(kin4d_arm.q0)[kin4d_arm.end_effector_index]
    assert tool[:3, 2].tolist() == pytest.approx([0, 0, -1], abs=0.01)
    assert 0.1 < tool[2, 3].item() < 0.5


def test_the_shipped_gripper_closes(kin4d_arm) -> None:
    left, right = (kin4d_arm.link_index(f"finger_{side}") for side in ("left", "right"))
    q = kin4d_arm.q0.repeat(2, 1)
    q[:, -1] = torch.tensor([0.0, 0.038])
    poses = kin4d_arm.link_poses(q)
    apart = (poses[:, left, :3, 3] - poses[:, right, :3, 3]).norm(dim=-1)
    assert apart.tolist() == pytest.approx([0.0, 0.076])


def test_given_rest_values_go_before_the_files(kin4d_arm) -> None:
    body = load_robot("kin4d_arm", q0={"elbow": 1.0})
    index = body.coordinates.index("elbow")
    assert body.q0[index].item() == 1.0
    assert body.q0[0] == kin4d_arm.q0[0]


def test_unknown_names_list_the_known(kin4d_arm) -> None:
    with pytest.raises(
        InputError, match=r"no robot called 'kin4d_am'.*kin4d_arm.*did you mean 'kin4d_arm'"
    ):
        load_robot("kin4d_am")


def test_paths_are_paths(tmp_path, kin4d_arm) -> None:
    path = list_robots()["kin4d_arm"]
    assert load_robot(str(path)).coordinates == kin4d_arm.coordinates
    with pytest.raises(InputError, match="does not exist"):
        load_robot("nowhere.urdf")
    with pytest.raises(InputError, match="does not exist"):
        load_robot(tmp_path / "kin4d_arm")


@needs_robots
def test_well_known_names_are_there() -> None:
    assert {"panda", "ur5", "xarm7", "so100", "so101", "kinova", "tiago"} <= set(list_robots())
    assert {"anymal_b", "anymal_c", "ur3"} <= set(list_robots())


@needs_robots
@pytest.mark.parametrize(
    ("name", "width", "tool"),
    [
        ("panda", 8, "panda_hand_tcp"),
        ("UR5", 6, "ee_link"),
        ("xarm7", 7, "link_eef"),
        ("kinova", 6, "j2s6s200_end_effector"),
    ],
)
def test_arms_load_with_their_meshes_and_tool(name, width, tool) -> None:
    body = load_robot(name)
    assert len(body.coordinates) == width
    assert body.end_effector == tool
    assert body.missing == ()
    assert len(body.rest.faces) > 10_000
    assert 0.3 < body.rest.bbox_diagonal < 3
