"""Scenes to MJCF and back: poses, joints and masses, by MuJoCo's own forward kinematics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d import Actor, Camera, FloatingBase, InputError, PrescribedMotion, RigidBody, Scene, load
from kin4d.bodies.modal import ModalBody
from kin4d.geometry.primitives import box
from kin4d.scenes.mjcf_export import write_mjcf_scene
from kin4d.scenes.mjcf_import import read_mjcf_scene

mujoco = pytest.importorskip("mujoco")


def moved(x: float, y: float, z: float, yaw: float = 0.0) -> np.ndarray:
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    pose[:3, 3] = x, y, z
    return pose


@pytest.fixture(scope="module")
def scene() -> Scene:
    arm = load("kin4d_arm", pose=moved(0.1, -0.6, 0.2, 1.5))
    faucet = load("faucet", seed=2, pose=moved(0.4, 0.3, 0.0, -0.4))
    block = FloatingBase(RigidBody(box((0.1, 0.2, 0.3), name="block"), density=700.0))
    return Scene(
        [
            Actor(arm, name="arm", motion=PrescribedMotion(arm.q0.numpy()[None], fps=1)),
            Actor(faucet, name="faucet", q=[0.2, -0.3, 0.4]),
            Actor(block, name="block", q=[1.0, 0.5, 0.4, 0.1, -0.2, 0.7], mass=2.5),
        ],
        ground=-0.1,
        obstacles=[box((0.2, 0.2, 0.1), name="stand").transformed(moved(-1, 0, 0.05))],
        cameras={"front": Camera.look_at((2, 1, 1), (0, 0, 0.2), width=320, height=200)},
    )


def link_poses(actor: Actor, q: np.ndarray) -> dict[str, np.ndarray]:
    """World pose of every link by name."""
    body, at = actor.body, torch.from_numpy(np.asarray(q))
    if isinstance(body, FloatingBase):
        poses, body = body.root_pose(at)[None] @ body.body.link_poses(at[6:]), body.body
    else:
        poses = body.link_poses(at)
    return {link.name: pose.numpy() for link, pose in zip(body.links, poses, strict=True)}


def test_mujoco_sees_the_same_poses_and_masses(scene: Scene, tmp_path: Path) -> None:
    path = write_mjcf_scene(scene, tmp_path / "scene.xml")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for trial in range(4):
        data.qpos[:] = model.key("home").qpos
        expected = {}
        for actor in scene.named_actors:
            q = np.array(actor.q)
            if trial and not isinstance(actor.body, FloatingBase):
                q = rng.uniform(*actor.body.limits.numpy().T)
                values = dict(
                    zip(
                        (joint.name for joint in actor.body.joints),
                        actor.body.drive.values(q),
                        strict=True,
                    )
                )
                for name, value in values.items():
                    joint = mujoco.mj_name2id(
                        model, mujoco.mjtObj.mjOBJ_JOINT, f"{actor.name}/{name}"
                    )
                    if joint >= 0:
                        data.qpos[model.jnt_qposadr[joint]] = value
            poses = link_poses(actor, q)
            expected |= {f"{actor.name}/{name}": pose for name, pose in poses.items()}
        mujoco.mj_kinematics(model, data)
        for name, pose in expected.items():
            assert np.allclose(data.body(name).xpos, pose[:3, 3], atol=1e-6), name
            assert np.allclose(data.body(name).xmat.reshape(3, 3), pose[:3, :3], atol=1e-6), name
    assert model.body("block/block").mass[0] == pytest.approx(2.5)
    arm = scene.named_actors[0].body
    total = sum(model.body(f"arm/{link.name}").mass[0] for link in arm.links)
    assert total == pytest.approx(float(arm.mass.sum()), rel=1e-6)
    assert model.nu == len(arm.coordinates)


def test_a_scene_comes_back_from_mjcf(scene: Scene, tmp_path: Path) -> None:
    path = write_mjcf_scene(scene, tmp_path / "scene.xml")
    back = read_mjcf_scene(path)
    assert back.ground == scene.ground
    assert len(back.obstacles) == 1
    assert np.allclose(back.obstacles[0].bounds, scene.obstacles[0].bounds, atol=1e-6)
    assert np.allclose(back.cameras["front"].pose, scene.cameras["front"].pose, atol=1e-6)
    assert np.allclose(back.cameras["front"].K, scene.cameras["front"].K, atol=1e-3)
    assert len(back.actors) == 3
    for before, after in zip(scene.named_actors, back.named_actors, strict=True):
        assert (after.motion is None) == (before.motion is None)
        mass = before.mass or float(before.body.mass.sum())
        assert float(after.body.mass.sum()) == pytest.approx(mass, rel=1e-6)
        names = [name.removeprefix(f"{before.name}/") for name in after.body.coordinates]
        assert names == list(before.body.coordinates)
        assert before.q is not None
        assert after.q is not None
        found = link_poses(after, np.array(after.q))
        for name, pose in link_poses(before, np.array(before.q)).items():
            assert np.allclose(found[f"{before.name}/{name}"], pose, atol=1e-6), name
        if not isinstance(before.body, FloatingBase):
            assert np.allclose(after.q, before.q, atol=1e-6)
            assert np.allclose(after.body.limits, before.body.limits, atol=1e-6)


def test_a_scene_of_others(tmp_path: Path) -> None:
    path = tmp_path / "kitchen.xml"
    path.write_text(
        """<mujoco><worldbody>
        <geom type="plane" size="1 1 1" pos="0 0 0.02"/>
        <body name="table" pos="1 0 0"><geom type="box" size=".3 .2 .1"/></body>
        <body name="can" pos="0 1 .5" euler="0 0 90"><freejoint/>
          <geom type="cylinder" size=".03 .06" mass=".2"/></body>
        <body name="cupboard" pos="0 0 .3"><geom type="box" size=".2 .01 .2" mass="3"/>
          <body name="door" pos="0 -.1 0">
            <joint name="hinge" axis="0 0 1" pos="-.2 0 0" range="0 90"/>
            <geom type="box" size=".2 .01 .2" mass="1"/></body></body>
        </worldbody></mujoco>"""
    )
    scene = read_mjcf_scene(path)
    can, cupboard = scene.named_actors
    assert (can.name, cupboard.name, scene.ground) == ("can", "cupboard", 0.02)
    assert isinstance(can.body, FloatingBase)
    assert float(can.body.mass.sum()) == pytest.approx(0.2)
    assert np.allclose(can.body.rest.bounds.mean(0), [0, 1, 0.5], atol=1e-6)
    assert cupboard.body.coordinates == ("hinge",)
    assert np.allclose(cupboard.body.limits.numpy(), [[0, np.pi / 2]])
    (table,) = scene.obstacles
    assert np.allclose(table.bounds, [[0.7, -0.2, -0.1], [1.3, 0.2, 0.1]])


def test_a_soft_body_cannot_be_stated(tmp_path: Path) -> None:
    soft = ModalBody.solid(box((0.2, 0.2, 0.2), name="jelly"), young=1e5, density=500.0)
    with pytest.raises(InputError, match="not made of rigid links"):
        write_mjcf_scene(Scene([Actor(soft)]), tmp_path / "scene.xml")
