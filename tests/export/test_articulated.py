"""Articulated bodies in files: Pinocchio, MuJoCo and USD read the same motion that kin4d has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies import (
    ArticulatedBody,
    FloatingBase,
    Joint,
    Link,
    Mimic,
    RobotBody,
    load_robot,
)
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.errors import InputError
from kin4d.export.articulated import write_articulated
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.objects.procedural.categories import make_object

CATEGORIES = ("microwave", "laptop", "fan", "drawer_unit", "faucet")


def _placed(size: tuple, at: tuple) -> Mesh:
    pose = np.eye(4)
    pose[:3, 3] = at
    return box(size).transformed(pose)


def _cabinet() -> SegmentedBody:
    """A case with a door that holds an endless knob, a drawer, and a lid that is half open."""
    pieces = [
        _placed((0.5, 0.4, 0.6), (0, 0, 0)),
        _placed((0.5, 0.02, 0.3), (0, -0.215, 0.12)),
        _placed((0.04, 0.03, 0.04), (0.2, -0.245, 0.12)),
        _placed((0.44, 0.3, 0.26), (0.0, -0.1, -0.15)),
        _placed((0.5, 0.4, 0.02), (0, 0.1, 0.5)),
    ]
    part = np.repeat(np.arange(5), [len(piece.vertices) for piece in pieces])
    slanted = np.array([0.6, 0.0, 0.8])
    specs = [
        _spec("door", 0, "revolute", (-0.25, -0.22, 0), (0, 0, -1), (0, 1.6)),
        _spec("knob", 1, "revolute", (0.2, -0.24, 0.12), (0, -1, 0), (-np.inf, np.inf)),
        _spec("drawer", 0, "prismatic", (0, 0, 0), (0, -1, 0), (0, 0.25)),
        _spec("lid", 0, "revolute", (0, 0.2, 0.3), slanted, (-0.7, 0.9)),
    ]
    return SegmentedBody(Mesh.concatenate(pieces, name="cabinet"), part, specs, mass=12.0)


def _spec(name: str, parent: int, kind: str, point, axis, limits: tuple) -> JointSpec:
    point, axis = np.array(point, float), np.array(axis, float)
    return JointSpec(name=name, parent=parent, kind=kind, point=point, axis=axis, limits=limits)


def _coupled() -> ArticulatedBody:
    """Turned frames, a fixed link, a root away from the origin, a joint that follows another."""
    rng = np.random.default_rng(3)

    def pose() -> np.ndarray:
        out = np.eye(4)
        out[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        out[:3, :3] *= np.sign(np.linalg.det(out[:3, :3]))
        out[:3, 3] = rng.normal(size=3)
        return out

    shape = box((0.1, 0.2, 0.3))
    links = [Link(name, shape, Inertial.of_mesh(shape)) for name in ("base", "a", "b", "world")]
    joints = [
        _joint("turn", "revolute", "base", "a", pose(), rng.normal(size=3), (-1.0, 2.0)),
        _joint("weld", "fixed", "a", "b", pose(), np.eye(3)[0], (-np.inf, np.inf)),
        _joint(
            "slide",
            "prismatic",
            "b",
            "world",
            pose(),
            rng.normal(size=3),
            (-0.5, 0.5),
            Mimic.linear("turn", -0.25, 0.1),
        ),
    ]
    return ArticulatedBody(links, joints, root=pose(), q0={"turn": 0.4}, name="coupled")


def _joint(name, kind, parent, child, origin, axis, limits, mimic=None) -> Joint:
    return Joint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        origin=origin,
        axis=axis,
        limits=limits,
        mimic=mimic,
    )


def _bodies() -> dict[str, ArticulatedBody]:
    made = {name: make_object(name, 1).body() for name in CATEGORIES}
    return {"cabinet": _cabinet(), "coupled": _coupled(), "arm": load_robot("kin4d_arm"), **made}


BODIES = list(_bodies())


@pytest.fixture(params=BODIES, scope="module")
def written(request, tmp_path_factory) -> tuple[ArticulatedBody, Path]:
    body = _bodies()[request.param]
    path = tmp_path_factory.mktemp("articulated") / f"{request.param}.urdf"
    assert write_articulated(body, path) == [path, path.with_suffix(".xml")]
    return body, path


def _states(body: ArticulatedBody, count: int = 5) -> torch.Tensor:
    low, high = body.limits.clamp(-3.0, 3.0).unbind(-1)
    share = torch.rand(count, len(low), generator=torch.Generator().manual_seed(0)).double()
    return low + share * (high - low)


def test_pinocchio_moves_the_urdf_as_we_do(written) -> None:
    pin = pytest.importorskip("pinocchio")
    body, path = written
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    for q in _states(body):
        values = pin.neutral(model)
        for joint, value in zip(body.joints, body.joint_values(q).tolist(), strict=True):
            if joint.kind == "fixed":
                continue
            number = model.getJointId(joint.name)
            endless = model.nqs[number] == 2
            assert endless == (not np.isfinite(joint.limits).any())
            start = model.idx_qs[number]
            angle = [np.cos(value), np.sin(value)]
            values[start : start + model.nqs[number]] = angle if endless else value
        pin.framesForwardKinematics(model, data, values)
        for link, pose in zip(body.links, body.link_poses(q).numpy(), strict=True):
            frame = model.getFrameId(link.name, pin.FrameType.BODY)
            np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=1e-6)


def _mujoco_values(mujoco, model, data, body: ArticulatedBody, q: torch.Tensor) -> None:
    for joint, value in zip(body.joints, body.joint_values(q).tolist(), strict=True):
        if joint.kind != "fixed":
            data.qpos[model.joint(joint.name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)


def test_mujoco_moves_the_mjcf_as_we_do_and_weighs_the_same(written) -> None:
    mujoco = pytest.importorskip("mujoco")
    body, path = written
    model = mujoco.MjModel.from_xml_path(str(path.with_suffix(".xml")))
    data = mujoco.MjData(model)
    for q in _states(body):
        _mujoco_values(mujoco, model, data, body, q)
        for link, pose in zip(body.links, body.link_poses(q).numpy(), strict=True):
            found = data.body("world_link" if link.name == "world" else link.name)
            np.testing.assert_allclose(found.xpos, pose[:3, 3], atol=1e-6)
            np.testing.assert_allclose(found.xmat.reshape(3, 3), pose[:3, :3], atol=1e-6)
    assert sum(model.body_mass) == pytest.approx(float(body.mass.sum()), rel=1e-6)
    assert len(model.jnt_type) == sum(joint.kind != "fixed" for joint in body.joints)


def test_our_own_readers_give_the_body_back(written) -> None:
    body, path = written
    for again in (RobotBody.from_urdf(path), RobotBody.from_mjcf(path.with_suffix(".xml"))):
        assert set(again.coordinates) == set(body.coordinates)
        own = [body.coordinates.index(name) for name in again.coordinates]
        np.testing.assert_allclose(
            again.limits.clamp(-1e5, 1e5), body.limits.clamp(-1e5, 1e5)[own], atol=1e-9
        )
        for q in _states(body, 2):
            bounds = [x.vertices(y).numpy() for x, y in ((body, q), (again, q[own]))]
            for extreme in (np.min, np.max):
                first, second = (extreme(vertices, axis=0) for vertices in bounds)
                np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize("suffix", [".xml", ".urdf"])
def test_it_stays_at_rest_in_mujoco(written, suffix: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    body, path = written
    if body.name == "coupled" and suffix == ".urdf":
        pytest.skip("MuJoCo takes a URDF link called world for its own")
    model = mujoco.MjModel.from_xml_path(str(path.with_suffix(suffix)))
    data = mujoco.MjData(model)
    _mujoco_values(mujoco, model, data, body, body.q0)
    start = data.qpos.copy()
    while data.time < 5.0:
        mujoco.mj_step(model, data)
    allowed = np.where(model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE, 1e-3, 1e-2)
    assert (np.abs(data.qpos - start) <= allowed).all()
    assert np.abs(data.qvel).max(initial=0) < 1e-3
    assert data.warning.number.sum() == 0


def test_an_opened_joint_comes_to_rest_within_its_limits(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    write_articulated(_cabinet(), tmp_path / "cabinet.xml")
    assert not (tmp_path / "cabinet.urdf").exists()
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "cabinet.xml"))
    data = mujoco.MjData(model)
    for name, speed in (("door", 3.0), ("drawer", 1.0), ("knob", 20.0), ("lid", 2.0)):
        data.qvel[model.joint(name).dofadr[0]] = speed
    while data.time < 5.0:
        mujoco.mj_step(model, data)
    before = data.qpos.copy()
    while data.time < 6.0:
        mujoco.mj_step(model, data)
    assert data.qpos[model.joint("door").qposadr[0]] > 0.1
    assert np.abs(data.qpos - before).max() < 1e-3
    limited = np.flatnonzero(model.jnt_limited)
    low, high = model.jnt_range[limited].T
    assert (data.qpos[limited] > low - 1e-2).all()
    assert (data.qpos[limited] < high + 1e-2).all()


def test_collision_shapes_and_the_pairs_that_do_not_collide(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    write_articulated(_cabinet(), tmp_path / "cabinet.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "cabinet.xml"))
    assert (model.geom_contype > 0).sum() == 5
    assert model.nexclude == 5  # four joints, and the drawer that overlaps the door
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    # The lid and the knob are apart: they collide once the lid is where the knob is.
    pairs = {tuple(sorted((s >> 16, s & 0xFFFF))) for s in model.exclude_signature.tolist()}
    lid, knob = model.body("lid").id, model.body("knob").id
    assert (min(lid, knob), max(lid, knob)) not in pairs


def test_flat_parts_parts_without_surface_and_bodies_without_joints(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    case = box((0.4, 0.4, 0.4))
    corners = np.array([[-0.2, -0.2, 0.25], [0.2, -0.2, 0.25], [0.2, 0.2, 0.25], [-0.2, 0.2, 0.25]])
    sheet = Mesh(vertices=corners, faces=np.array([[0, 1, 2], [0, 2, 3]]))
    mesh = Mesh.concatenate([case, sheet], name="chest")
    part = np.repeat([0, 1], [len(case.vertices), 4])
    lid = _spec("lid", 0, "revolute", (0, 0.2, 0.25), (-1, 0, 0), (-1.5, 0))
    ghost = _spec("ghost", 0, "prismatic", (0, 0, 0), (0, 0, 1), (0, 0.1))
    bodies = {
        "flat": SegmentedBody(mesh, part, [lid]),
        "ghost": SegmentedBody(mesh, part, [lid, ghost]),
        "single": SegmentedBody(mesh, 0 * part, []),
    }
    for name, body in bodies.items():
        for path in write_articulated(body, tmp_path / f"{name}.urdf"):
            model = mujoco.MjModel.from_xml_path(str(path))
            assert model.njnt == len(body.joint_specs)
            assert sum(model.body_mass) == pytest.approx(1.0, rel=1e-5)


def test_colours_and_textures_are_kept(tmp_path: Path) -> None:
    from dataclasses import replace

    from PIL import Image

    from kin4d.geometry.material import SurfaceMaterial, linear_color

    mujoco = pytest.importorskip("mujoco")
    body = _cabinet()
    checker = Image.fromarray(np.random.default_rng(0).integers(0, 255, (8, 8, 3), np.uint8))
    looks = (
        SurfaceMaterial(name="red", base_color=linear_color((1.0, 0.0, 0.0))),
        SurfaceMaterial(name="checker", textures={"base_color": checker}),
    )
    uv = body.rest.vertices[:, [0, 2]].astype(np.float32)
    wears = (body.part[body.rest.faces[:, 0]] == 1).astype(int)
    mesh = replace(body.rest, materials=looks, face_material=wears, uv=uv)
    painted = SegmentedBody(mesh, body.part, body.joint_specs)
    write_articulated(painted, tmp_path / "cabinet.urdf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "cabinet.xml"))
    assert model.ntex == 1
    again = RobotBody.from_urdf(tmp_path / "cabinet.urdf")
    door = again.links[again.link_index("door")].mesh
    case = again.links[again.link_index("still")].mesh
    assert door is not None
    assert case is not None
    np.testing.assert_array_equal(np.asarray(door.materials[0].textures["base_color"]), checker)
    np.testing.assert_allclose(case.materials[0].base_color, looks[0].base_color, atol=1e-6)


def test_usd_joints_connect_the_links(tmp_path: Path) -> None:
    pytest.importorskip("pxr.UsdPhysics")
    from pxr import Usd, UsdGeom, UsdPhysics

    body = _cabinet()
    write_articulated(body, tmp_path / "cabinet.usda")
    stage = Usd.Stage.Open(str(tmp_path / "cabinet.usda"))
    cache = UsdGeom.XformCache()

    def frame(joint, side: int) -> np.ndarray:
        target = (joint.GetBody1Rel() if side else joint.GetBody0Rel()).GetTargets()[0]
        world = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(target))).T
        local = np.eye(4)
        turn = (joint.GetLocalRot1Attr() if side else joint.GetLocalRot0Attr()).Get()
        from scipy.spatial.transform import Rotation

        quaternion = [turn.GetReal(), *turn.GetImaginary()]
        local[:3, :3] = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
        local[:3, 3] = (joint.GetLocalPos1Attr() if side else joint.GetLocalPos0Attr()).Get()
        return world @ local

    for spec in body.joint_specs:
        prim = stage.GetPrimAtPath(f"/cabinet/Joints/{spec.name}")
        hinge = spec.kind == "revolute"
        joint = (UsdPhysics.RevoluteJoint if hinge else UsdPhysics.PrismaticJoint)(prim)
        np.testing.assert_allclose(frame(joint, 0), frame(joint, 1), atol=1e-6)
        np.testing.assert_allclose(frame(joint, 1)[:3, 0], spec.axis, atol=1e-6)
        unit = 180 / np.pi if hinge else 1.0
        limits = joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get()
        np.testing.assert_allclose(limits, unit * np.array(spec.limits), rtol=1e-6)
    masses = [
        UsdPhysics.MassAPI(prim).GetMassAttr().Get()
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.RigidBodyAPI)
    ]
    assert sum(masses) == pytest.approx(float(body.mass.sum()), rel=1e-5)


def test_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.urdf, \.xml"):
        write_articulated(_cabinet(), tmp_path / "cabinet.glb")
    with pytest.raises(InputError, match="no links and joints"):
        write_articulated(FloatingBase(_cabinet()), tmp_path / "box.urdf")  # pyright: ignore
    pytest.importorskip("pxr")
    with pytest.raises(InputError, match="'slide' follows another"):
        write_articulated(_coupled(), tmp_path / "coupled.usda")
