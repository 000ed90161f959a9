"""Every body keeps the protocol, and each capability that it declares works."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from custom_body import TwistingColumn
from toy_creature import toy_creature

from kin4d import Actor, Camera, Scene, bake, fit, load, simulate
from kin4d.benchmarks.dynamics.pca_body import PcaBody
from kin4d.benchmarks.object_pose.linear import LinearBody
from kin4d.bodies import FloatingBase, RigidBody, hinge, load_robot, pendulum, slider_chain
from kin4d.bodies import capabilities as can
from kin4d.bodies.body import Body, sweep_joints
from kin4d.bodies.creature.build import CreatureConfig, skeletal_body
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.dynamics.forces import Push
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.neurok import LearnedBody
from kin4d.neurok.cage import CageConfig, CageDeformer
from kin4d.neurok.cage_body import CageBody
from kin4d.render import render_bodies

SOURCE = Path(__file__).parents[2] / "src" / "kin4d"


def column() -> Mesh:
    solid = trimesh.creation.box((0.2, 0.2, 1.0)).subdivide_to_size(0.12)
    return Mesh(vertices=solid.vertices + np.array([0, 0, 0.5]), faces=solid.faces, name="column")


def chest() -> Mesh:
    """A box and, apart from it, its lid."""
    lid = box((0.4, 0.4, 0.05))
    lifted = lid.replace_vertices(lid.vertices + np.array([0, 0, 0.2]))
    return Mesh.concatenate([box((0.5, 0.5, 0.3)), lifted], name="chest")


def segmented() -> Body:
    mesh = chest()
    part = (mesh.vertices[:, 2] > 0.16).astype(int)
    specs = [
        JointSpec(
            name="lid", parent=0, kind="revolute", point=np.array([0, 0.2, 0.175]),
            axis=np.array([-1.0, 0, 0]), limits=(0.0, 1.5),
        )
    ]  # fmt: skip
    return SegmentedBody(mesh, part, specs, mass=2.0)


def sheet() -> Body:
    grid = trimesh.creation.box((1.0, 0.4, 0.01)).subdivide_to_size(0.12)
    top = grid.faces[grid.face_normals[:, 2] > 0.5]
    used, faces = np.unique(top, return_inverse=True)
    mesh = Mesh(vertices=grid.vertices[used], faces=faces.reshape(-1, 3), name="sheet")
    pinned = np.flatnonzero(mesh.vertices[:, 0] < -0.45)
    material = {"young": 1e6, "thickness": 1e-3, "density": 500.0}
    return ModalBody.sheet(mesh, **material, pinned=pinned, modes=4)


def solid(**options) -> Body:
    return ModalBody.solid(column(), young=1e5, density=500.0, modes=4, cells=60, **options)


def skinned() -> Body:
    return skeletal_body(toy_creature(), mass=3.0, config=CreatureConfig(voxels=4000))


def cage() -> Body:
    torch.manual_seed(0)
    with torch.no_grad():
        return CageBody(column(), CageDeformer(CageConfig(keypoints=4, width=16, near=6)))


def pca() -> Body:
    body = TwistingColumn(column())
    states = body.vertices(sweep_joints(body, frames=8)).numpy()
    return PcaBody(column(), states, count=2, mass=1.0)


BODIES = {
    "rigid": lambda: RigidBody(box((1, 1, 1))),
    "floating": lambda: FloatingBase(RigidBody(box((1, 1, 1)))),
    "hinge": hinge,
    "sliders": slider_chain,
    "pendulum": pendulum,
    "procedural": lambda: load("cabinet", seed=3),
    "robot": lambda: load_robot("kin4d_arm"),
    "segmented": segmented,
    "sheet": sheet,
    "solid": solid,
    "linear modes": lambda: solid(warp=False),
    "floating solid": lambda: FloatingBase(solid()),
    "learned": lambda: LearnedBody.from_mesh(chest(), coordinates=2),
    "floating learned": lambda: FloatingBase(LearnedBody.from_mesh(chest(), coordinates=2)),
    "skinned": skinned,
    "floating skinned": lambda: FloatingBase(skinned()),
    "cage": cage,
    "pca": pca,
    "vibration": lambda: LinearBody.of_mesh(column(), 3, nodes=60),
    "custom": lambda: TwistingColumn(column()),
}
"""Every class of body that the package has, and one that it has not."""

made = lru_cache(None)(lambda name: BODIES[name]())


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> Body:
    return made(request.param)


def states(body: Body, count: int = 3, seed: int = 0) -> torch.Tensor:
    """[count, k] random coordinates within the limits, some way from rest."""
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(count, len(body.q0), generator=generator, dtype=torch.float64)
    low, high = (torch.where(b.isfinite(), b, body.q0 + b.sign() * 0.5) for b in body.limits.T)
    return body.q0 + 0.4 * (low + share * (high - low) - body.q0)


def test_shapes_types_limits_and_mass(body: Body) -> None:
    assert isinstance(body, Body)
    k, count = len(body.coordinates), len(body.mass)
    assert len(set(body.coordinates)) == k
    assert (body.q0.shape, body.limits.shape) == ((k,), (k, 2))
    assert body.q0.dtype == body.limits.dtype == body.mass.dtype == torch.float64
    assert (body.limits[:, 0] <= body.q0).all()
    assert (body.q0 <= body.limits[:, 1]).all()
    assert (body.mass > 0).all()
    q = body.q0.expand(2, 5, k)
    assert body.points(q).shape == (2, 5, count, 3)
    assert body.vertices(q).shape == (2, 5, len(body.rest.vertices), 3)
    assert body.jacobian(q).shape == (2, 5, count, 3, k)
    assert body.points(q.float()).dtype == body.vertices(q.float()).dtype == torch.float32
    assert body.points(body.q0.expand(0, k)).shape == (0, count, 3)
    assert body.jacobian(body.q0.expand(2, 0, k)).shape == (2, 0, count, 3, k)


def test_rest_coordinates_give_the_rest_mesh(body: Body) -> None:
    size = body.rest.bbox_diagonal
    np.testing.assert_allclose(body.vertices(body.q0), body.rest.vertices, atol=1e-6 * size)


def test_a_batch_is_its_rows(body: Body) -> None:
    q = states(body, 4)
    for function in (body.points, body.vertices, body.jacobian):
        together = function(q.view(2, 2, -1)).flatten(0, 1)
        for row, one in zip(together, q, strict=True):
            torch.testing.assert_close(row, function(one), atol=1e-9, rtol=1e-9)


def test_the_jacobian_is_the_derivative(body: Body) -> None:
    q, step = states(body, 2), 1e-6
    jacobian = body.jacobian(q)
    for i, axis in enumerate(torch.eye(q.shape[-1], dtype=q.dtype)):
        slope = (body.points(q + step * axis) - body.points(q - step * axis)) / (2 * step)
        torch.testing.assert_close(jacobian[..., i], slope, atol=1e-6, rtol=1e-5)
    if q.shape[-1]:
        q.requires_grad_()
        weight = torch.randn(body.points(q).shape, generator=torch.Generator().manual_seed(1))
        (body.points(q) * weight).sum().backward()
        expected = torch.einsum("npik,npi->nk", jacobian, weight.double())
        torch.testing.assert_close(q.grad, expected, atol=1e-8, rtol=1e-6)


def test_vertices_are_differentiable(body: Body) -> None:
    if not len(body.q0):
        pytest.skip("it has no coordinates")
    with torch.inference_mode():
        body.vertices(body.q0.float())
    q = states(body, 1).float().requires_grad_()
    vertices = body.vertices(q)
    weight = torch.randn(vertices.shape, generator=torch.Generator().manual_seed(1))
    (vertices * weight).sum().backward()
    assert q.grad is not None
    assert torch.isfinite(q.grad).all()
    assert (q.grad != 0).any()


def test_coordinates_of_another_body_are_refused(body: Body) -> None:
    k = len(body.coordinates)
    functions = [body.points, body.vertices, body.jacobian]
    functions += [] if body.skin is None else [body.skin_transforms]
    for bad, words in (
        (torch.zeros(k + 1), "wrong width"),
        (torch.tensor(0.0), "wrong width"),
        (torch.zeros(k, dtype=torch.int64), "floating-point"),
        (np.zeros(k), "floating-point"),
    ):
        for function in functions:
            with pytest.raises(InputError, match=words):
                function(bad)  # pyright: ignore[reportArgumentType]


def test_a_sweep_visits_both_limits_and_comes_back(body: Body) -> None:
    q = sweep_joints(body, frames=17)
    assert q.shape == (17 * len(body.q0), len(body.q0))
    assert (q >= body.limits[:, 0] - 1e-12).all()
    assert (q <= body.limits[:, 1] + 1e-12).all()
    bounded = body.limits.isfinite().all(-1)
    if bounded.any():
        torch.testing.assert_close(q[-1], body.q0, atol=1e-12, rtol=0)
        torch.testing.assert_close(q.max(0).values[bounded], body.limits[bounded, 1])


def test_baking_gives_the_vertices(body: Body) -> None:
    q = states(body, 3)
    clip = bake(body, q, fps=12)
    np.testing.assert_array_equal(clip.q, q)
    size = body.rest.bbox_diagonal
    np.testing.assert_allclose(clip.vertices, body.vertices(q), atol=1e-5 * size)
    assert (clip.skin is None) == (body.skin is None)


def test_compiled_kinematics_give_the_same_points(body: Body) -> None:
    compiled = compile_kinematics(body, sample_surface(body.rest, 8, seed=0))
    for q in states(body, 2).numpy():
        expected = body.points(torch.from_numpy(q)).numpy()
        tolerance = 1e-9 * body.rest.bbox_diagonal + 3 * compiled.error
        np.testing.assert_allclose(compiled.at(q).mass_points, expected, atol=tolerance)


def test_declared_capabilities_work(body: Body) -> None:
    k, size = len(body.q0), body.rest.bbox_diagonal
    q = states(body, 2)
    assert can.body_name(body)
    if isinstance(body, can.StateSampler):
        drawn = body.sample(5, seed=1)
        assert drawn.shape == (5, k)
        assert ((drawn >= body.limits[:, 0]) & (drawn <= body.limits[:, 1])).all()
    if isinstance(body, can.Elastic):
        assert body.stiffness.shape == (k, k)
        assert torch.linalg.eigvalsh(body.stiffness).min() > -1e-9
    if isinstance(body, can.FloatingRoot):
        inner = body.body.vertices(q[:, 6:])
        pose = body.root_pose(q)
        moved = inner @ pose[:, :3, :3].mT + pose[:, None, :3, 3]
        torch.testing.assert_close(body.vertices(q), moved, atol=1e-9, rtol=0)
    if isinstance(body, can.RigidLinks):
        poses = body.link_poses(q)
        assert poses.shape == (2, len(body.links), 4, 4)
        identity = torch.eye(3, dtype=q.dtype).expand(*poses.shape[:2], 3, 3)
        torch.testing.assert_close(poses[..., :3, :3] @ poses[..., :3, :3].mT, identity)
        assert [body.link_index(link.name) for link in body.links] == list(range(len(body.links)))
    if isinstance(body, can.KinematicTree):
        assert sorted(body.order) == sorted(link.name for link in body.links)
        for joint in body.joints:
            assert body.joints[body.joints_above(joint.child)[-1]] is joint
    if isinstance(body, can.EndEffector):
        assert isinstance(body, can.RigidLinks)
        body.link_index(body.end_effector)
    if isinstance(body, can.FrameSkinned) and (frames := body.skinning_frames()) is not None:
        assert frames is not None
    if isinstance(body, can.SurfaceProbe):
        samples = sample_surface(body.rest, 50, seed=0)
        expected = samples.points(body.vertices(q))
        torch.testing.assert_close(body.probe(samples)(q), expected, atol=1e-6 * size, rtol=0)
    if isinstance(body, can.InitialGuesses):
        guesses = body.initial_guesses(body.rest.vertices)
        assert guesses.shape[1:] == (k,)
        assert torch.isfinite(guesses).all()
    if isinstance(body, can.WideSearch):
        assert (body.search_limits[:, 0] <= body.limits[:, 0]).all()
        assert (body.search_limits[:, 1] >= body.limits[:, 1]).all()
    if isinstance(body, can.PartFittable) and body.parts is not None:
        assert body.parts.shape == body.pieces.shape == (len(body.rest.faces),)
        assert isinstance(body.refined(), Body)
        assert body.encode_pose(body.rest.vertices).shape == (k,)
    if isinstance(body, can.Predicted):
        assert body.confidence is None or 0 <= body.confidence <= 1
    if body.skin is not None:
        moves = body.skin_transforms(q).numpy()
        assert moves.shape == (2, len(body.skin.names), 4, 4)


def test_a_new_body_simulates_exports_renders_and_fits(tmp_path) -> None:
    body = TwistingColumn(column(), mass=2.0)
    push = Push((0.1, 0.0, 1.0), force=(0.0, 5.0, 0.0), duration=0.1)
    run = simulate(Scene([Actor(body, forces=[push])]), seconds=0.2)
    twist = run.clip.q[:, 0]
    assert twist[-1] > 0.01
    assert run.clip.save(tmp_path / "column.glb").stat().st_size > 0

    camera = Camera.framing(run.clip.bounds, width=64, height=64)
    video = render_bodies([body], [run.clip.q[-2:]], camera)
    assert 0.02 < (video.mask == 1).mean() < 0.9

    q = torch.tensor([1.2, 0.2], dtype=torch.float64)
    goal = sample_surface(body.rest, 2000, seed=3).points(body.vertices(q)).numpy()
    found = fit(body, goal)
    np.testing.assert_allclose(found.q, q, atol=0.1)
    assert found.error < 0.5 * found.rest_error


CONCRETE = {type(made(name)).__name__ for name in BODIES} - {"TwistingColumn"}


def test_no_code_asks_for_the_class_of_a_body() -> None:
    """Outside bodies/, code asks for capabilities."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        if file.is_relative_to(SOURCE / "bodies"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                if names & CONCRETE:
                    found.append(f"{file.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_no_code_looks_for_undeclared_members_of_a_body() -> None:
    """Where bodies are used, there is no getattr or hasattr with a literal name."""
    found = [
        f"{file.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for package in ("dynamics", "kinematics", "fitting", "calibration", "export", "viewer")
        for file in sorted((SOURCE / package).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("getattr", "hasattr")
        and isinstance(node.args[1], ast.Constant)
    ]
    assert found == []
