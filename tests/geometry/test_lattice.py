"""Lattices: they fill and carry what they surround, and hang together whatever the mesh is like."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from kin4d.geometry.lattice import Lattice, signed_volume
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere
from kin4d.objects.soft.shapes import SHAPES


def pieces(lattice: Lattice) -> int:
    """How many there are, by shared faces of tetrahedra."""
    corners = np.sort(lattice.tetrahedra, axis=1)
    faces = np.concatenate([np.delete(corners, i, axis=1) for i in range(4)])
    owner = np.tile(np.arange(len(corners)), 4)
    order = np.lexsort(faces.T)
    same = (faces[order][1:] == faces[order][:-1]).all(1)
    edges = np.stack([owner[order][:-1][same], owner[order][1:][same]], 1)
    return len(trimesh.graph.connected_components(edges, nodes=np.arange(len(corners))))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_it_fills_and_carries_a_shape(name: str, seed: int) -> None:
    mesh = SHAPES[name](np.random.default_rng(seed))
    lattice = Lattice.around(mesh)
    carriers, shares = lattice.carriers(mesh.vertices)
    carried = np.einsum("vk,vki->vi", shares, lattice.nodes[carriers])
    np.testing.assert_allclose(carried, mesh.vertices, atol=1e-9)
    assert shares.min() > -1e-9
    corners = lattice.nodes[lattice.tetrahedra]
    assert (np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0).all()
    assert lattice.volumes.sum() == pytest.approx(signed_volume(mesh), rel=0.2)


def test_inside_out_is_filled_alike() -> None:
    mesh = sphere(0.5)
    inverted = Mesh(vertices=mesh.vertices, faces=mesh.faces[:, ::-1])
    assert signed_volume(inverted) == pytest.approx(-signed_volume(mesh))
    np.testing.assert_allclose(Lattice.around(inverted).volumes, Lattice.around(mesh).volumes)


def test_what_is_in_pieces_or_thin_hangs_together() -> None:
    ball = sphere(0.1)
    apart = Mesh(
        vertices=np.concatenate([ball.vertices, ball.vertices + np.array([0.5, 0.3, 0.2])]),
        faces=np.concatenate([ball.faces, ball.faces + len(ball.vertices)]),
    )
    plate = box((1.0, 0.8, 0.002))
    plate = plate.replace_vertices(
        Rotation.from_rotvec([0.4, 0.4, 0.0]).apply(np.array(plate.vertices))
    )
    for mesh in (apart, plate):
        lattice = Lattice.around(mesh, whole=True)
        assert pieces(lattice) == 1
        assert len(lattice.cubes) < 1000
    assert pieces(Lattice.around(apart)) == 2
    middle = plate.vertices.mean(0, keepdims=True)
    _, shares = Lattice.around(plate, whole=True).carriers(middle)
    assert shares.sum() == pytest.approx(1)


def test_a_held_face_holds_the_nodes_in_it() -> None:
    lattice = Lattice.around(box((0.4, 0.1, 0.1)))
    points = np.array([[-0.2, 0.01, 0.02]])
    found = lattice.nodes[lattice.beyond(points, np.array([[-1.0, 0.0, 0.0]]))]
    assert len(found) >= 4
    np.testing.assert_allclose(found[:, 0], -0.2)
