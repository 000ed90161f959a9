"""A scanned arm: scale, pose, joints and triangle labels found together; doubts are reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.registry import list_robots
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.calibration.scan_registration.labels import label_triangles
from kin4d.calibration.scan_registration.register import register_scan, scanned_body
from kin4d.calibration.scan_registration.surface import exposure, sample_links, sample_scan
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, cylinder, sphere

pytest.importorskip("embreex")

from kin4d.benchmarks.robot.scan import joint_error, run
from kin4d.benchmarks.robot.synthetic_scan import SyntheticScan, free_pose, synthetic_scan


def _at(mesh: Mesh, x: float, y: float, z: float) -> Mesh:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return mesh.transformed(matrix)


def _joint(number: int, kind: str, axis: tuple, offset: tuple, limits: tuple) -> Joint:
    origin = np.eye(4)
    origin[:3, 3] = offset
    return Joint(
        name=f"joint{number}",
        kind=kind,
        parent=f"link{number - 1}",
        child=f"link{number}",
        origin=origin,
        axis=np.array(axis, float),
        limits=limits,
    )


def _arm(*, tool: Mesh, axis: tuple) -> RobotBody:
    """Base, upper arm, forearm and a tool, all of them lopsided unless the tool is not."""
    red, blue = "#b03030", "#3050b0"
    base = [
        box((0.26, 0.18, 0.08), color=red),
        _at(box((0.08, 0.1, 0.1), color=blue), 0.05, 0.03, 0.08),
    ]
    upper = [
        _at(box((0.07, 0.09, 0.3), color=blue), 0, 0, 0.15),
        _at(box((0.09, 0.03, 0.08), color=red), 0.05, 0.02, 0.08),
    ]
    fore = [
        _at(box((0.06, 0.06, 0.24), color=red), 0, 0, 0.12),
        _at(cylinder(0.02, 0.1, color=blue), -0.04, 0.01, 0.17),
    ]
    shapes = [Mesh.concatenate(parts) for parts in (base, upper, fore)] + [tool]
    return RobotBody(
        [Link(f"link{i}", mesh, Inertial.of_mesh(mesh)) for i, mesh in enumerate(shapes)],
        [
            _joint(1, "revolute", (0, 0, 1), (0.05, 0.03, 0.13), (-2.5, 2.5)),
            _joint(2, "revolute", (0, 1, 0), (0, 0, 0.3), (-2.0, 2.0)),
            _joint(3, "revolute", axis, (0, 0, 0.25), (-1.5, 1.5)),
        ],
        name="arm",
    )


@pytest.fixture(scope="module")
def arm() -> RobotBody:
    tool = [
        _at(box((0.1, 0.05, 0.06), color="#30a050"), 0.01, 0, 0.03),
        _at(box((0.02, 0.05, 0.08), color="#303030"), 0.05, 0, 0.09),
    ]
    return _arm(tool=Mesh.concatenate(tool), axis=(1, 0, 0))


@pytest.fixture(scope="module")
def scan(arm: RobotBody) -> SyntheticScan:
    return synthetic_scan(arm, np.array([0.9, 1.1, -0.7]), rng=np.random.default_rng(3), edge=0.008)


@pytest.fixture(scope="module")
def found(arm: RobotBody, scan: SyntheticScan):
    return register_scan(scan.mesh, arm)


def test_finds_scale_pose_and_joints(arm, scan, found) -> None:
    assert found.scale == pytest.approx(scan.scale, rel=5e-3)
    assert joint_error(arm, scan.q, found.q) < 1.0
    assert np.abs(found.pose - scan.pose).max() < 0.02
    np.testing.assert_allclose(found.pose[:3, :3] @ found.pose[:3, :3].T, np.eye(3), atol=1e-9)
    assert found.residual < 2e-3
    assert found.coverage > 0.95
    assert found.undetermined == ()
    assert found.ambiguous == ()


def test_gives_each_triangle_its_link(scan, found) -> None:
    assert (found.triangle_link == scan.triangle_link).mean() > 0.98


def test_scanned_body_looks_like_the_scan(arm, scan, found) -> None:
    body = scanned_body(scan.mesh, arm, found)
    assert sum(len(link.mesh.faces) for link in body.links if link.mesh) == len(scan.mesh.faces)
    posed = body.vertices(torch.from_numpy(found.q)).numpy()
    back = posed @ found.similarity[:3, :3].T + found.similarity[:3, 3]
    drawn = np.concatenate([back[face] for face in body.rest.faces])
    order = np.concatenate([np.flatnonzero(found.triangle_link == i) for i in range(4)])
    np.testing.assert_allclose(
        drawn, scan.mesh.vertices[scan.mesh.faces[order]].reshape(-1, 3), atol=1e-6 * scan.scale
    )
    assert scan.mesh.uv is not None
    assert body.rest.uv is not None
    np.testing.assert_array_equal(
        body.rest.uv[body.rest.faces], scan.mesh.uv[scan.mesh.faces[order]]
    )
    texture = scan.mesh.materials[0].textures["base_color"]
    assert all(material.textures["base_color"] is texture for material in body.rest.materials)


def test_scanned_body_moves_like_the_robot(arm, scan, found) -> None:
    body = scanned_body(scan.mesh, arm, found)
    assert isinstance(body, RobotBody)
    assert body.end_effector == arm.end_effector
    q = torch.tensor([[-1.0, 0.4, 0.6], [0.2, -1.2, 0.1]], dtype=torch.float64)
    torch.testing.assert_close(body.link_poses(q), arm.link_poses(q))
    torch.testing.assert_close(body.limits, arm.limits)
    torch.testing.assert_close(body.mass, arm.mass)
    torch.testing.assert_close(body.points(q), arm.points(q))


def test_up_is_respected(arm, scan) -> None:
    found = register_scan(scan.mesh, arm, up=scan.pose[:3, 2], restarts=1)
    assert joint_error(arm, scan.q, found.q) < 1.0
    with pytest.raises(InputError, match="direction"):
        register_scan(scan.mesh, arm, up=np.zeros(3))


def test_a_round_tool_that_rolls_is_undetermined() -> None:
    arm = _arm(tool=_at(cylinder(0.03, 0.12, sections=48), 0, 0, 0.06), axis=(0, 0, 1))
    q = np.array([-0.6, 0.8, 0.5])
    scan = synthetic_scan(arm, q, rng=np.random.default_rng(0), edge=0.008)
    found = register_scan(scan.mesh, arm, restarts=1)
    assert found.undetermined == ("joint3",)
    assert joint_error(arm, q, found.q, found.undetermined) < 1.0


def test_a_sphere_is_not_an_arm(arm) -> None:
    with pytest.raises(InputError, match="does not look like 'arm'"):
        register_scan(sphere(0.4), arm, restarts=1)


def test_a_registration_belongs_to_its_mesh(arm, scan, found) -> None:
    with pytest.raises(InputError, match="another mesh"):
        scanned_body(sphere(1.0), arm, found)


def test_inside_out_links_are_turned_round() -> None:
    ball = sphere(0.2)
    inverted = replace(ball, faces=ball.faces[:, ::-1])
    for mesh, side in ((ball, 1), (inverted, -1)):
        samples = sample_scan(mesh, 20_000, seed=0)
        assert (exposure(samples.points, samples.normals, samples.area.sum()) == side).mean() > 0.99


def test_what_lies_inside_is_hidden() -> None:
    mesh = Mesh.concatenate([sphere(0.3), sphere(0.1)])
    samples = sample_scan(mesh, 60_000, seed=0)
    inner = np.linalg.norm(samples.points, axis=-1) < 0.15
    seen = exposure(samples.points, samples.normals, samples.area.sum())
    assert (seen[inner] == 0).all()
    assert (seen[~inner] == 1).mean() > 0.99


def test_labels_prefer_short_borders() -> None:
    body = ArticulatedBody(
        [Link("link0", box((1, 1, 1))), Link("link1", _at(box((1, 1, 1)), 1, 0, 0))],
        [_joint(1, "revolute", (0, 0, 1), (0, 0, 0), (-1, 1))],
    )
    rng = np.random.default_rng(0)
    scan = synthetic_scan(body, np.zeros(1), rng=rng, edge=0.08, noise=0.01, scale=1.0)
    vertices = (scan.mesh.vertices - scan.pose[:3, 3]) @ scan.pose[:3, :3]
    samples = sample_links(body, 20_000, seed=0)
    poses = body.link_poses(torch.zeros(1, dtype=torch.float64)).numpy()
    labels = label_triangles(vertices, scan.mesh.faces, samples, poses, 0.02)
    assert (labels == scan.triangle_link).mean() > 0.97


def test_free_poses_stay_within_limits(arm) -> None:
    q = free_pose(arm, np.random.default_rng(0))
    assert ((q >= arm.limits[:, 0].numpy()) & (q <= arm.limits[:, 1].numpy())).all()


@pytest.mark.slow
@pytest.mark.skipif("panda" not in list_robots(), reason="needs the extra [robots]")
def test_the_benchmark_meets_its_bars() -> None:
    report = run(quick=True, seed=1)
    assert len(report.rows) == 3
    assert all(check.passed for check in report.checks)
