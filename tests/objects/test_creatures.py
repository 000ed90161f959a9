"""Made creatures: one closed surface, symmetric, on joints that are where it bends."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial import KDTree

from kin4d.bodies.skin_distortion import SkinDistortion
from kin4d.errors import InputError
from kin4d.geometry.lattice import signed_volume
from kin4d.geometry.mesh_ops import label_components
from kin4d.geometry.topology import Edges
from kin4d.objects.creatures import KINDS, Creature, make_creature
from kin4d.objects.creatures.anatomy import Anatomy, Wave
from kin4d.objects.creatures.kinds import GLIDES
from kin4d.objects.creatures.sequence import creature_sequence
from kin4d.objects.creatures.surface import bone_distance


@pytest.fixture(scope="module", params=list(KINDS))
def creature(request: pytest.FixtureRequest) -> Creature:
    return make_creature(request.param, 1, cells=56)


def test_one_closed_surface_around_all_bones(creature: Creature) -> None:
    mesh = creature.body.rest
    assert Edges(mesh.faces).open == 0
    assert label_components(len(mesh.vertices), mesh.faces).max() == 0
    assert signed_volume(mesh) > 0
    assert creature.body.mass.sum() == pytest.approx(1000 * signed_volume(mesh), rel=0.01)
    for bone in creature.bones:
        inside = creature.length * (bone.start + bone.end)[None] / 2
        gap = KDTree(mesh.vertices).query(inside)[0]
        assert gap < 3 * creature.length * max(bone.radius)


def test_sides_mirror_each_other(creature: Creature) -> None:
    if creature.kind == "snake":
        return  # it may lie in bends
    vertices = creature.body.rest.vertices
    gap = np.asarray(KDTree(vertices).query(vertices * [-1, 1, 1])[0])
    assert np.quantile(gap, 0.99) < 0.02 * creature.length
    names = [bone.name for bone in creature.bones]
    sides = [name[5:] for name in names if name.startswith("left_")]
    assert sides
    for name in sides:
        left, right = (creature.bones[names.index(f"{side}_{name}")] for side in ("left", "right"))
        np.testing.assert_allclose(left.start, right.start * [-1, 1, 1])


def test_every_coordinate_moves_its_side_of_the_joint(creature: Creature) -> None:
    body = creature.body
    rest, size = body.rest.vertices, body.rest.bbox_diagonal
    for i, name in enumerate(body.coordinates):
        q = body.q0.clone()
        q[i] = body.limits[i, 1] if body.limits[i, 1] > 0.1 else body.limits[i, 0]
        moved = np.linalg.norm(body.vertices(q).numpy() - rest, axis=1)
        assert moved.max() > (1e-4 if name.endswith("twist") else 2e-3) * size, name
        assert (moved < 0.1 * moved.max()).mean() > 0.03, name  # what is behind the joint stays


def test_random_states_are_plausible(creature: Creature) -> None:
    body = creature.body
    distortion = SkinDistortion.of(body.rest)
    states = body.vertices(body.sample(3, seed=5)).numpy()
    assert max(distortion.share(one) for one in states) <= 0.01
    assert np.abs(states - body.rest.vertices).max() > 0.03 * creature.length


def test_gaits_lead_ahead_with_feet_on_the_ground(creature: Creature) -> None:
    q = torch.from_numpy(creature.gait(24, cycles=2.0))
    low, high = creature.floating.limits.T
    assert ((q >= low) & (q <= high)).all()
    vertices = creature.floating.vertices(q).numpy()
    ahead = vertices[:, :, 1].mean(1)
    assert ahead[-1] - ahead[0] > 0.15 * creature.length
    if creature.kind not in GLIDES:
        np.testing.assert_allclose(vertices[:, :, 2].min(1), 0, atol=1e-9)
        steps = np.linalg.norm(np.diff(vertices, axis=0), axis=-1)
        # Something stands in every step: it moves less than the body does.
        assert (steps.min(1) < 0.5 * steps.mean(1)).all()


def test_sequences_begin_and_end_at_rest(creature: Creature) -> None:
    found = creature_sequence(creature, seed=3, licence="Apache-2.0", gait=6, poses=2)
    rest = creature.body.rest.vertices
    np.testing.assert_allclose(found.vertices[0], rest, atol=1e-5 * creature.length)
    np.testing.assert_allclose(found.vertices[-1], rest, atol=1e-5 * creature.length)
    assert found.deformation > 0.02
    steps = np.linalg.norm(np.diff(found.vertices[13:], axis=0), axis=-1).max()
    assert steps < 0.6 * creature.length


def test_seeds_are_repeatable_and_differ() -> None:
    one, same, other = (make_creature("fish", seed, cells=40) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.body.rest.vertices, same.body.rest.vertices)
    assert one.body.rest.vertices.shape != other.body.rest.vertices.shape
    with pytest.raises(InputError, match="biped, quadruped"):
        make_creature("horse", 0)


def test_distances_to_bones() -> None:
    make = Anatomy()
    make.limb("rod", [(0, 0, 0), (0, 2, 0)], (0.5, 0.5))
    make.limb("plate", [(0, 0, 0), (0, 2, 0)], (0.5, 0.5), flat=0.2)
    points = np.array([[0.0, 1, 0], [0.5, 1, 0], [0, 1, 0.5], [0, 3, 0], [0.1, 1, 0]])
    rod, plate = (bone_distance(bone, points) for bone in make.bones)
    np.testing.assert_allclose(rod, [-0.5, 0, 0, 0.5, -0.4], atol=1e-12)
    assert plate[4] == pytest.approx(0)
    assert plate[2] == pytest.approx(0)


def test_waves() -> None:
    time = np.linspace(0, 1, 101)
    assert Wave(amplitude=2.0, offset=0.5).at(time).max() == pytest.approx(2.5)
    assert Wave(amplitude=1.0, lifted=True).at(time).min() == 0
