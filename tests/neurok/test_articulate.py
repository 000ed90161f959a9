"""From a mesh to rigid parts on the joints that the prior predicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere
from kin4d.neurok.articulate import articulate
from kin4d.neurok.joint_decoding import DecodingConfig
from kin4d.neurok.joint_distribution import ArticulateConfig, predict_joints
from kin4d.neurok.joint_pretrained import MODEL, VERSION
from kin4d.neurok.joint_prior import PRESETS, JointPrior
from kin4d.neurok.piece_grouping import GroupingConfig
from kin4d.objects.procedural.categories import make_object
from kin4d.training.checkpoint import save_tensors

APART = GroupingConfig(moves_offset=20.0, together_offset=-20.0)
ANY = ArticulateConfig(decoding=DecodingConfig(grouping=APART), min_probability=0.0)
"""Everything moves: untrained weights are enough to see that bodies are sound."""


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from dataclasses import asdict

    torch.manual_seed(0)
    model = JointPrior(PRESETS["tiny"])
    file = tmp_path_factory.mktemp("prior") / "weights.safetensors"
    metadata = {"model": MODEL, "version": VERSION, "config": asdict(PRESETS["tiny"])}
    save_tensors(file, model.state_dict(), metadata)
    return file


def moved(mesh: Mesh, offset: tuple[float, float, float]) -> Mesh:
    pose = np.eye(4)
    pose[:3, 3] = offset
    return mesh.transformed(pose)


def test_parts_stay_rigid(untrained: Path) -> None:
    mesh = make_object("cabinet", 2).body().rest
    body = articulate(mesh, untrained, mass=3.0, config=ANY)
    assert body.rest is mesh
    assert body.coordinates
    assert float(body.mass.sum()) == pytest.approx(3.0, rel=1e-3)
    low, high = body.limits.T
    assert bool((low <= 0).all())
    assert bool((high >= 0).all())
    vertices = body.vertices(high.clamp(max=1.0)).numpy()
    ends = mesh.faces[:, :2]
    whole = (body.part[mesh.faces] == body.part[mesh.faces[:, :1]]).all(1)
    before = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    after = np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1)
    assert whole.mean() > 0.9
    np.testing.assert_allclose(after[whole], before[whole], atol=1e-9)


def test_the_surest_joint_comes_first(untrained: Path) -> None:
    mesh = make_object("drawer_unit", 1).body().rest
    body = articulate(mesh, untrained, config=ANY)
    found = [joint.probability for joint in body.joint_specs]
    assert found == sorted(found, reverse=True)
    assert body.confidence == pytest.approx(found[0])
    least = float(np.median(found))
    fewer = articulate(
        mesh,
        untrained,
        config=ArticulateConfig(decoding=ANY.decoding, min_probability=least),
    )
    assert len(fewer.joint_specs) < len(found)
    assert min(joint.probability for joint in fewer.joint_specs) >= least


@pytest.mark.parametrize(
    "mesh",
    [
        sphere(0.3),
        box((1.0, 1.0, 1e-6)),
        box((1e-4, 2e-4, 1e-4)),
        Mesh.concatenate([moved(box((0.01, 0.01, 0.01)), (0.02 * i, 0, 0)) for i in range(300)]),
        Mesh(vertices=box((1, 1, 1)).vertices, faces=box((1, 1, 1)).faces[:, ::-1]),
    ],
    ids=["one piece", "no thickness", "tiny", "many pieces", "inside out"],
)
def test_odd_meshes_give_bodies(mesh: Mesh, untrained: Path) -> None:
    body = articulate(mesh, untrained, config=ANY)
    assert bool(torch.isfinite(body.vertices(body.q0)).all())
    assert all(0 <= joint.probability <= 1 for joint in body.joint_specs)


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(InputError, match="another model"):
        articulate(box((1, 1, 1)), Path("src/kin4d/weights/neurok-small.safetensors"))


def test_bodies_are_drawn_from_the_distribution(untrained: Path) -> None:
    mesh = make_object("cabinet", 2).body().rest
    found = predict_joints(mesh, untrained, config=ANY)
    assert len(found) == len(found.joints()) > 1
    for part, (joints, stated) in enumerate(zip(found.joints(), found.probabilities, strict=True)):
        assert [joint.probability for joint in joints] == list(stated)
        assert all(joint.parent < part for joint in joints)
    likeliest = found.body()
    assert likeliest.confidence == max(stated[0] for stated in found.probabilities)
    drawn = [found.sample_body(seed=seed, mass=2.0) for seed in range(12)]
    again = found.sample_body(seed=3, mass=2.0)
    np.testing.assert_array_equal(again.part, drawn[3].part)
    axes = {np.round([spec.axis for spec in body.joint_specs], 6).tobytes() for body in drawn}
    assert len(axes) > 6
    for body in drawn:
        assert float(body.mass.sum()) == pytest.approx(2.0, rel=1e-3)
        assert torch.isfinite(body.vertices(body.q0)).all()


def test_a_certain_part_always_hangs_on_its_one_joint(untrained: Path) -> None:
    from dataclasses import replace

    mesh = make_object("cabinet", 2).body().rest
    found = predict_joints(mesh, untrained, config=ANY)
    sure = tuple((1.0, *[0.0] * (len(part.joints) - 1)) for part in found.parts)
    certain = replace(found, probabilities=sure)
    wanted = {tuple(np.round(spec.axis, 9)) for spec in certain.body().joint_specs}
    for seed in range(4):
        drawn = certain.sample_body(seed=seed)
        assert len(drawn.joint_specs) == len(found)
        assert {tuple(np.round(spec.axis, 9)) for spec in drawn.joint_specs} == wanted
