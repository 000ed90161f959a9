"""A scene falls into its objects; an object of loose pieces stays whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import concatenate_meshes
from kin4d.geometry.primitives import box
from kin4d.geometry.separate_objects import separate_objects, split_objects
from kin4d.objects.procedural.categories import make_object


def _moved(mesh: Mesh, x: float) -> Mesh:
    return replace(mesh, vertices=mesh.vertices + np.array([x, 0.0, 0.0]))


def test_two_chests_far_apart_are_two_objects() -> None:
    one = make_object("drawer_unit", 0).body().rest
    other = make_object("oven", 1).body().rest
    scene = concatenate_meshes([one, _moved(other, 2.0)])
    found = split_objects(scene)
    assert len(found) == 2
    areas = sorted(part.face_areas.sum() for part in found)
    np.testing.assert_allclose(areas, sorted(m.face_areas.sum() for m in (one, other)))
    assert found[0].face_areas.sum() >= found[1].face_areas.sum()


@pytest.mark.parametrize("category", ["drawer_unit", "laptop", "lamp", "scissors", "fan"])
def test_an_object_of_loose_pieces_stays_whole(category: str) -> None:
    mesh = make_object(category, 3).body().rest
    assert (separate_objects(mesh) == 0).all()
    assert split_objects(mesh) == [mesh]


def test_a_small_floating_part_stays_with_what_is_near() -> None:
    scene = concatenate_meshes([box((1, 1, 1)), _moved(box((0.05, 0.05, 0.05)), 0.7)])
    assert (separate_objects(scene) == 0).all()
