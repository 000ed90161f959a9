"""LearnedBody: a mesh with coordinates, whatever the mesh."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from untrained_neurok import TINY, shaken

from kin4d.bodies import Body, bake
from kin4d.errors import InputError
from kin4d.fitting.config import FitConfig
from kin4d.fitting.fit import fit
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.skinned import SkinnedKinematics
from kin4d.neurok import LearnedBody, from_pretrained, save_pretrained
from kin4d.neurok.decoder import GroupedRig, SkinnedDecoder
from kin4d.neurok.ood import OodDetector
from kin4d.neurok.preprocess import sample_mesh
from kin4d.training import load_tensors, save_tensors


@pytest.fixture
def body(two_boxes: Mesh, weights: Path) -> LearnedBody:
    return LearnedBody.from_mesh(two_boxes, weights, coordinates=3)


def test_it_is_a_body_at_rest_at_zero(body: LearnedBody) -> None:
    assert isinstance(body, Body)
    assert body.coordinates == ("q0", "q1", "q2")
    assert np.abs(body.vertices(body.q0).numpy() - body.rest.vertices).max() < 1e-9
    assert (body.limits[:, 0] < 0).all()
    assert (body.limits[:, 1] > 0).all()
    assert float(body.mass.sum()) == pytest.approx(1.0)


def test_jacobian_is_the_derivative(body: LearnedBody) -> None:
    q = torch.tensor([[0.3, -0.2, 0.5], [0.0, 0.1, 0.0]], dtype=torch.float64)
    found = body.jacobian(q)
    step = 1e-6
    for i in range(3):
        ahead, behind = q.clone(), q.clone()
        ahead[:, i] += step
        behind[:, i] -= step
        slope = (body.points(ahead) - body.points(behind)) / (2 * step)
        assert torch.allclose(found[..., i], slope, atol=1e-7)


def test_batches_are_rows(body: LearnedBody) -> None:
    q = body.sample(4, seed=1).reshape(2, 2, 3)
    together = body.vertices(q)
    assert together.shape == (2, 2, len(body.rest.vertices), 3)
    assert torch.allclose(together[1, 0], body.vertices(q[1, 0]))
    assert ((q >= body.limits[:, 0]) & (q <= body.limits[:, 1])).all()


def test_probe_carries_places_with_the_vertices(body: LearnedBody) -> None:
    samples = sample_surface(body.rest, 50, seed=0)
    q = body.sample(1)[0]
    expected = samples.points(body.vertices(q))
    assert torch.allclose(body.probe(samples)(q), expected, atol=1e-6)


@pytest.mark.parametrize("up", ["y", "z"])
def test_it_is_compiled_by_its_frames(two_boxes: Mesh, weights: Path, up: str) -> None:
    body = LearnedBody.from_mesh(two_boxes, weights, up=up, coordinates=3)
    places = sample_surface(body.rest, 20, seed=0)
    found = compile_kinematics(body, places)
    assert isinstance(found, SkinnedKinematics)
    assert found.error < 1e-3 * body.rest.bbox_diagonal
    q = body.sample(1, seed=2)[0]
    at = found.at(q.numpy())
    np.testing.assert_allclose(at.mass_points, body.points(q).numpy(), atol=4e-3)
    expected = places.points(body.vertices(q).numpy())
    np.testing.assert_allclose(at.surface_points, expected, atol=4e-3)


def test_points_that_move_by_themselves_have_no_frames(two_boxes: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_pretrained(path, shaken(replace(TINY, decoder="point")), None, {})
    assert LearnedBody.from_mesh(two_boxes, path, coordinates=2).skinning_frames() is None


def test_pinned_vertices_stay_and_near_ones_move_less(two_boxes: Mesh, weights: Path) -> None:
    free = LearnedBody.from_mesh(two_boxes, weights, coordinates=3)
    moved = np.linalg.norm(free.vertices(free.sample(1)[0]).numpy() - two_boxes.vertices, axis=1)
    pinned = np.flatnonzero(moved > 0.5 * moved.max())[:2]
    body = LearnedBody.from_mesh(two_boxes, weights, coordinates=3, pinned=pinned)
    now = body.vertices(body.sample(1)[0]).numpy()
    np.testing.assert_allclose(now[pinned], two_boxes.vertices[pinned], atol=1e-9)
    assert np.linalg.norm(now - two_boxes.vertices, axis=1).max() > 1e-3
    with pytest.raises(InputError, match="pinned"):
        LearnedBody.from_mesh(two_boxes, weights, pinned=[len(two_boxes.vertices)])


def test_turning_the_mesh_turns_the_motion(two_boxes: Mesh, weights: Path) -> None:
    upright = LearnedBody.from_mesh(two_boxes, weights, coordinates=2)
    lying = two_boxes.replace_vertices(two_boxes.vertices[:, [0, 2, 1]] * np.array([1, 1, -1.0]))
    turned = LearnedBody.from_mesh(lying, weights, up="y", coordinates=2)
    q = torch.tensor([0.5, -0.5], dtype=torch.float64)
    expected = upright.vertices(q).numpy()[:, [0, 2, 1]] * np.array([1, 1, -1.0])
    assert np.abs(turned.vertices(q).numpy() - expected).max() < 1e-4


def test_coordinates_follow_the_spectrum(two_boxes: Mesh, weights: Path) -> None:
    body = LearnedBody.from_mesh(two_boxes, weights)
    assert 1 <= len(body.coordinates) <= 12
    assert (body.motions[:-1] >= body.motions[1:]).all()
    paper = LearnedBody.from_mesh(two_boxes, weights, coordinates=2, metric="norm")
    assert len(paper.coordinates) == 2


def test_ten_thousand_components_still_give_a_body(weights: Path) -> None:
    rng = np.random.default_rng(0)
    triangle = np.array([[0, 0, 0], [0.01, 0, 0], [0, 0.01, 0]])
    vertices = (triangle + rng.uniform(0, 1, (10_000, 1, 3))).reshape(-1, 3)
    soup = Mesh(name="soup", vertices=vertices, faces=np.arange(30_000).reshape(-1, 3))
    body = LearnedBody.from_mesh(soup, weights)
    assert torch.isfinite(body.vertices(body.sample(1)[0])).all()


def test_play_shows_a_sweep(body: LearnedBody) -> None:
    clip = bake(body, body.sample(3))
    assert clip.vertices.shape == (3, len(body.rest.vertices), 3)
    assert np.abs(clip.vertices - body.vertices(body.sample(3)).numpy()).max() < 1e-5


def test_unusual_shapes_have_low_confidence(two_boxes: Mesh, tmp_path: Path) -> None:
    model = shaken(TINY)
    known = [sample_mesh(box((1, a, b)), points=256).surface for a in (0.5, 1) for b in (0.4, 0.9)]
    path = tmp_path / "w.safetensors"
    save_pretrained(path, model, OodDetector.of(model, known), {})
    usual = LearnedBody.from_mesh(box((1, 0.5, 0.4)), path, points=256)
    strange = LearnedBody.from_mesh(two_boxes, path, points=256)
    assert usual.confidence is not None
    assert strange.confidence is not None
    assert strange.confidence < usual.confidence
    assert strange.confidence == 0.0


def test_weights_of_another_version_or_shape_are_refused(weights: Path, tmp_path: Path) -> None:
    tensors, metadata = load_tensors(weights)
    save_tensors(tmp_path / "new.safetensors", tensors, {**metadata, "version": 99})
    with pytest.raises(InputError, match="another version"):
        from_pretrained(tmp_path / "new.safetensors")
    wide = {**metadata, "config": {**metadata["config"], "width": 32}}
    save_tensors(tmp_path / "wide.safetensors", tensors, wide)
    with pytest.raises(InputError, match="do not match their config"):
        from_pretrained(tmp_path / "wide.safetensors")
    with pytest.raises(InputError, match="no such weights"):
        from_pretrained("huge")


@pytest.mark.parametrize("wrong", [{"mass": 0.0}, {"up": "x"}, {"coordinates": 999}])
def test_wrong_options_are_refused(two_boxes: Mesh, weights: Path, wrong: dict) -> None:
    with pytest.raises(InputError):
        LearnedBody.from_mesh(two_boxes, weights, **wrong)


def test_given_parts_are_followed(two_boxes: Mesh, weights: Path) -> None:
    body = LearnedBody.from_mesh(two_boxes, weights, points=128)
    lid = two_boxes.components[two_boxes.faces[:, 0]] == two_boxes.components[-1]
    given = body.refined(np.where(lid, 3, 0))
    assert given.parts is not None
    np.testing.assert_array_equal(given.parts, np.where(lid, 3, 0))
    assert not set(given.pieces[lid]) & set(given.pieces[~lid])
    q = given.limits[:, 1]
    after, corners = given.vertices(q).numpy(), np.unique(two_boxes.faces[lid])
    others = np.setdiff1d(np.arange(len(after)), corners)
    np.testing.assert_array_equal(after[others], two_boxes.vertices[others])
    assert np.abs(after[corners] - two_boxes.vertices[corners]).max() > 0.01
    # All of a part moves as its matrix says.
    motion = given.skin_transforms(q)[3].numpy()
    carried = two_boxes.vertices[corners] @ motion[:3, :3].T + motion[:3, 3]
    np.testing.assert_allclose(after[corners], carried, atol=1e-9)


def test_finer_coordinates_are_screws_of_parts(two_boxes: Mesh, weights: Path) -> None:
    body = LearnedBody.from_mesh(two_boxes, weights, points=128, mass=3.0).refined()
    assert float(body.mass.sum()) == pytest.approx(3.0)
    assert bool(((body._basis == 0) | (body._basis == 1)).all())
    assert bool((body.motions[:-1] >= body.motions[1:]).all())
    # Even untrained, the posterior reads a deformation better than rest would.
    q = 0.3 * body.limits[:, 1]
    again = body.encode_pose(body.vertices(q).numpy())
    off = (body.vertices(again) - body.vertices(q)).norm(dim=-1).mean()
    assert off < (body.vertices(q) - body.vertices(body.q0)).norm(dim=-1).mean()


def test_points_that_follow_one_token_need_no_blending(two_boxes: Mesh, weights: Path) -> None:
    segmented = LearnedBody.from_mesh(two_boxes, weights, points=128)._segmented
    decoder, shape = segmented.net.decoder, segmented.shape
    assert isinstance(decoder, SkinnedDecoder)
    soft = decoder.rig(shape.encoding, shape.surface.points, shape.assignment)
    z = torch.randn(3, *shape.encoding.mean.shape[1:])
    with torch.no_grad():
        torch.testing.assert_close(GroupedRig(soft).move(z), soft.move(z), atol=1e-5, rtol=1e-5)


def test_points_that_move_by_themselves_have_no_parts(two_boxes: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "point.safetensors"
    save_pretrained(path, shaken(replace(TINY, decoder="point")), None, {})
    body = LearnedBody.from_mesh(two_boxes, path, points=128)
    assert body.parts is None
    q = body.sample(3)
    together = body.vertices(q)
    torch.testing.assert_close(together, torch.stack([body.vertices(row) for row in q]))
    found = fit(
        body,
        two_boxes.replace_vertices(together[0].numpy()),
        config=FitConfig(descents=1, iterations=4),
    )
    assert found.body is body
    assert found.error < found.rest_error
