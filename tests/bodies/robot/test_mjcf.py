"""Robots from MJCF: against MuJoCo itself, with and without closed loops."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies import RobotBody, load_robot
from kin4d.errors import InputError

DATA = Path(os.environ.get("KIN4D_DATA", Path(__file__).parents[4] / "shared" / "data"))
mujoco = pytest.importorskip("mujoco")

needs_data = pytest.mark.skipif(
    not (DATA / "robots").is_dir(), reason="needs the robots in KIN4D_DATA"
)

ODD = """
<mujoco model="odd">
  <compiler angle="radian"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="a" pos="0.1 0.2 0.3" quat="1 0.2 0.3 0.4">
      <joint name="slide" type="slide" axis="1 2 3" range="-1 1"/>
      <joint name="turn" axis="0 1 1" pos="0.1 0 0.2" ref="0.4" range="-1 1"/>
      <geom type="capsule" size="0.1 0.3" rgba="1 0 0 1"/>
      <body name="b" pos="0 0 0.5">
        <joint name="hinge" axis="1 0 0" pos="0 0.1 0"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" group="2"/>
        <geom type="box" size="5 5 5" group="3"/>
        <site name="tip" pos="0 0 0.3"/>
      </body>
      <body name="c" pos="0.3 0 0">
        <joint name="follower" axis="0 0 1" range="-2 2"/>
        <geom type="cylinder" size="0.1 0.3"/>
        <geom type="sphere" size="0.1"/>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="follower" joint2="turn" polycoef="0.1 0.5 -0.2 0.1 0.05"/></equality>
</mujoco>
"""

FOUR_BAR = """
<mujoco model="bars">
  <compiler angle="radian"/>
  <default><geom type="capsule" size="0.02"/><joint axis="0 1 0"/></default>
  <worldbody>
    <body name="crank">
      <joint name="crank" range="-0.8 0.8"/>
      <geom fromto="0 0 0 0 0 0.3"/>
      <body name="coupler" pos="0 0 0.3">
        <joint name="coupler"/>
        <geom fromto="0 0 0 0.5 0 0.1"/>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0">
      <joint name="rocker"/>
      <geom fromto="0 0 0 0 0 0.4"/>
    </body>
  </worldbody>
  <equality><connect body1="rocker" body2="coupler" anchor="0 0 0.4"/></equality>
  <actuator><motor joint="crank"/></actuator>
</mujoco>
"""


def write(folder, text: str):
    path = folder / "robot.xml"
    path.write_text(text)
    return path


def assert_like_mujoco(path, *, count: int = 20) -> RobotBody:
    """Every body where MuJoCo puts it, at random coordinates."""
    body = RobotBody.from_mjcf(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    generator = torch.Generator().manual_seed(0)
    low, high = body.limits.clamp(-2, 2).unbind(-1)
    q = low + (high - low) * torch.rand(count, len(low), generator=generator, dtype=torch.float64)
    poses, values = body.link_poses(q).numpy(), body.joint_values(q).numpy()
    for row, pose in zip(values, poses, strict=True):
        for joint, value in zip(body.joints, row, strict=True):
            if joint.kind != "fixed":
                data.joint(joint.name).qpos[0] = value
        mujoco.mj_kinematics(model, data)
        for i in range(1, model.nbody):
            ours = pose[body.link_index(model.body(i).name)]
            assert np.allclose(ours[:3, 3], data.xpos[i], atol=1e-9)
            assert np.allclose(ours[:3, :3], data.xmat[i].reshape(3, 3), atol=1e-9)
    return body


def test_odd_joints_are_where_mujoco_puts_them(tmp_path) -> None:
    body = assert_like_mujoco(write(tmp_path, ODD))
    assert body.coordinates == ("slide", "turn", "hinge")
    values = body.joint_values(torch.tensor([0.0, 0.9, 0.0]).double())
    index = [joint.name for joint in body.joints].index("follower")
    x = 0.9 - 0.4
    expected = 0.1 + 0.5 * x - 0.2 * x**2 + 0.1 * x**3 + 0.05 * x**4
    assert values[index].item() == pytest.approx(expected)
    assert body.q0[1].item() == 0.4


def test_shown_is_what_mujoco_shows(tmp_path) -> None:
    body = RobotBody.from_mjcf(write(tmp_path, ODD))
    assert body.links[0].mesh is None, "a floor without end has no surface"
    by_name = {link.name: link for link in body.links}
    assert np.ptp(by_name["b"].mesh.bounds, axis=0) == pytest.approx([0.2, 0.4, 0.6], rel=0.05)
    assert np.ptp(by_name["a"].mesh.bounds, axis=0) == pytest.approx([0.2, 0.2, 0.8], rel=0.05)
    assert by_name["a"].mesh.materials[0].base_color == (1.0, 0.0, 0.0, 1.0)
    assert by_name["tip"].mesh is None


def test_masses_are_the_models(tmp_path) -> None:
    path = write(tmp_path, ODD)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert RobotBody.from_mjcf(path).mass.sum().item() == pytest.approx(model.body_mass.sum())


def test_free_and_ball_joints_start_where_the_model_puts_the_body(tmp_path) -> None:
    text = """<mujoco><worldbody><body name="a" pos="1 2 3"><freejoint name="free"/>
    <geom size="0.1"/><body name="b" pos="0 0 1"><joint name="ball" type="ball"/>
    <geom size="0.1"/></body></body></worldbody></mujoco>"""
    body = RobotBody.from_mjcf(write(tmp_path, text))
    assert len(body.coordinates) == 9
    poses = body.link_poses(body.q0)
    assert poses[body.link_index("a"), :3, 3].tolist() == [1, 2, 3]
    assert poses[body.link_index("b"), :3, 3].tolist() == [1, 2, 4]


def test_closed_loop_has_one_coordinate_and_stays_closed(tmp_path) -> None:
    body = assert_like_mujoco(write(tmp_path, FOUR_BAR))
    assert body.coordinates == ("crank",)
    assert body.loop_gap < 1e-8
    q = torch.linspace(-0.8, 0.8, 101, dtype=torch.float64)[:, None]
    poses = body.link_poses(q)
    tip = torch.tensor([0.0, 0.0, 0.4, 1.0], dtype=torch.float64)
    joint = torch.tensor([0.5, 0.0, 0.1, 1.0], dtype=torch.float64)
    ends = [poses[:, body.link_index(n)] @ p for n, p in (("rocker", tip), ("coupler", joint))]
    assert (ends[0] - ends[1]).norm(dim=-1).max() < 1e-8
    # It really moves, and smoothly: its derivative is that of the closed mechanism.
    automatic = torch.func.jacfwd(body.points)(q[30])
    assert torch.allclose(body.jacobian(q[30]), automatic, atol=1e-10)
    assert body.jacobian(q[30]).abs().max() > 0.1


def test_a_loop_that_cannot_close_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot be closed"):
        RobotBody.from_mjcf(write(tmp_path, FOUR_BAR.replace("-0.8 0.8", "-3 3")))
    with pytest.raises(InputError, match="needs limits"):
        RobotBody.from_mjcf(write(tmp_path, FOUR_BAR.replace('range="-0.8 0.8"', "")))


def test_constraints_that_are_not_read_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"got 'weld'.*connect, joint"):
        RobotBody.from_mjcf(write(tmp_path, FOUR_BAR.replace("<connect", "<weld")))


def test_motor_joint_leads(tmp_path) -> None:
    text = ODD.replace("0.1 0.5 -0.2 0.1 0.05", "0.1 0.5 0 0 0").replace(
        "</mujoco>", '<actuator><motor joint="follower"/></actuator></mujoco>'
    )
    assert assert_like_mujoco(write(tmp_path, text)).coordinates == ("slide", "hinge", "follower")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot/>", "not MJCF"),
        ("<mujoco><worldbody><bodi/></worldbody></mujoco>", "MuJoCo cannot compile"),
        ('<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco/>', "entities"),
        ('<mujoco><asset><mesh file="../../etc/x.stl"/></asset></mujoco>', "outside its folder"),
        ('<mujoco><asset><texture file="/etc/passwd"/></asset></mujoco>', "outside its folder"),
        ('<mujoco><include file="../other.xml"/></mujoco>', "outside its folder"),
        (
            '<mujoco><compiler meshdir="../.."/><asset><mesh file="x.stl"/></asset></mujoco>',
            "outside its folder",
        ),
    ],
)
def test_bad_models_say_what_is_wrong(tmp_path, text, message) -> None:
    (tmp_path / "inside").mkdir()
    with pytest.raises(InputError, match=message):
        RobotBody.from_mjcf(write(tmp_path / "inside", text))


@needs_data
def test_robotiq_closes_its_loops_with_one_coordinate() -> None:
    path = DATA / "robots" / "robotiq_2f85" / "2f85.xml"
    body = assert_like_mujoco(path)
    assert body.coordinates == ("left_driver_joint",)
    assert body.end_effector == "pinch"
    assert body.loop_gap < 1e-8
    q = torch.tensor([[0.0], [0.4], [0.8]], dtype=torch.float64)
    pads = [body.link_poses(q)[:, body.link_index(f"{side}_pad")] for side in ("left", "right")]
    apart = (pads[0][:, :3, 3] - pads[1][:, :3, 3]).norm(dim=-1)
    assert apart[0] > apart[1] > apart[2]
    assert 0.08 < (apart[0] - apart[2]).item() < 0.09, "it opens 85 mm"
    # The pads stay parallel, to within the degree or so that the real linkage has.
    tilt = pads[0][:, :3, 2] @ pads[0][0, :3, 2]
    assert torch.rad2deg(tilt.clamp(max=1).acos()).max() < 2.5


@needs_data
def test_robotiq_agrees_with_its_simulation_at_rest() -> None:
    path = DATA / "robots" / "robotiq_2f85" / "2f85.xml"
    body = RobotBody.from_mjcf(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.gravity[:] = 0
    data = mujoco.MjData(model)
    data.ctrl[0] = 130
    mujoco.mj_step(model, data, nstep=3000)
    q = torch.tensor(data.joint("left_driver_joint").qpos)
    for joint, value in zip(body.joints, body.joint_values(q).tolist(), strict=True):
        if joint.kind != "fixed":
            assert data.joint(joint.name).qpos[0] == pytest.approx(value, abs=2e-3)


@needs_data
def test_bridge_and_google_arms_load() -> None:
    arm = load_robot(DATA / "robots" / "trossen_wx250s" / "wx250s.xml")
    assert arm.coordinates[-1] == "left_finger", "the finger with the motor leads"
    assert len(arm.coordinates) == 7
    assert arm.q0[1].item() == pytest.approx(-0.96), "home"
    google = assert_like_mujoco(DATA / "robots" / "google_robot" / "robot.xml", count=3)
    assert google.end_effector == "gripper"
    assert any(material.textures for material in google.rest.materials)
    assert google.rest.uv is not None
