"""Modal bodies: as stiff as their material, bends that stay bends, and a sound kinematic map."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh
from scipy.spatial.transform import Rotation

from kin4d.bodies.body import Body, bake
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import sphere

YOUNG, DENSITY = 1e6, 1000.0


def bar() -> Mesh:
    solid = trimesh.creation.box((1.0, 0.15, 0.1)).subdivide_to_size(0.06)
    return Mesh(vertices=solid.vertices + 2.0, faces=solid.faces, name="bar")


def strip(columns: int = 22, rows: int = 9) -> tuple[Mesh, np.ndarray]:
    """A sheet 1 m long beyond its first two columns, which are held."""
    x, y = np.meshgrid(np.linspace(-0.05, 1, columns), np.linspace(0, 0.4, rows), indexing="ij")
    index = np.arange(columns * rows).reshape(columns, rows)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    vertices = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3)
    return Mesh(vertices=vertices, faces=faces, name="strip"), index[:2].ravel()


def frequencies(body: ModalBody) -> np.ndarray:
    """[k] Hz of small vibrations."""
    moving = body.jacobian(body.q0)
    inertia = torch.einsum("pik,p,pil->kl", moving, body.mass, moving)
    squared = torch.linalg.eigvals(torch.linalg.solve(inertia, body.stiffness)).real
    return np.sort(np.sqrt(squared.numpy()) / (2 * np.pi))


@pytest.fixture(scope="module")
def sheet() -> ModalBody:
    mesh, held = strip()
    return ModalBody.sheet(
        mesh, young=YOUNG, thickness=1e-3, density=DENSITY, poisson=0.0, pinned=held, modes=6
    )


@pytest.fixture(scope="module")
def solid() -> ModalBody:
    return ModalBody.solid(bar(), young=YOUNG, density=DENSITY, modes=6)


def test_a_sheet_that_wrinkles_gives_way_in_its_plane() -> None:
    mesh, held = strip()
    options = {"young": YOUNG, "thickness": 0.05, "density": DENSITY, "pinned": held, "modes": 6}
    counts = []
    for wrinkles in (False, True):
        body = ModalBody.sheet(mesh, **options, low_membrane_stiffness=wrinkles)
        assert body.low_membrane_stiffness == wrinkles
        moved = np.square(body.jacobian(body.q0).numpy()).sum(0)
        counts.append(int((moved[:2].sum(0) > moved[2]).sum()))
    assert counts[0] < counts[1]


def test_a_held_sheet_vibrates_like_a_beam(sheet: ModalBody) -> None:
    beam = 1.875**2 / (2 * np.pi) * np.sqrt(YOUNG * 1e-6 / (12 * DENSITY))
    assert frequencies(sheet)[0] == pytest.approx(beam, rel=0.1)


def test_a_free_bar_vibrates_like_a_beam(solid: ModalBody) -> None:
    for found, side in zip(frequencies(solid)[:2], (0.1, 0.15), strict=True):
        beam = 4.730**2 / (2 * np.pi) * np.sqrt(YOUNG * side**2 / (12 * DENSITY))
        assert found == pytest.approx(beam, rel=0.25)
    assert float(solid.mass.sum()) == pytest.approx(15.0, rel=1e-6)


def test_a_tilted_bar_vibrates_like_a_straight_one(solid: ModalBody) -> None:
    turn = Rotation.from_rotvec([0.3, 0.4, 0.5])
    tilted = bar().replace_vertices(turn.apply(np.array(bar().vertices)))
    found = frequencies(ModalBody.solid(tilted, young=YOUNG, density=DENSITY, modes=6))
    np.testing.assert_allclose(found[:2], frequencies(solid)[:2], rtol=0.25)


def test_what_is_held_by_one_vertex_does_not_hinge_on_it() -> None:
    mesh = sphere(0.1)
    lowest = int(mesh.vertices[:, 2].argmin())
    held = ModalBody.solid(mesh, young=YOUNG, density=DENSITY, modes=6, pinned=[lowest])
    free = ModalBody.solid(mesh, young=YOUNG, density=DENSITY, modes=6)
    assert frequencies(held)[0] > 0.05 * frequencies(free)[0]


def test_solids_open_or_in_pieces_are_bodies_too() -> None:
    ball = sphere(0.1)
    opened = Mesh(vertices=ball.vertices, faces=ball.faces[ball.faces.min(1) > 3])
    apart = Mesh(
        vertices=np.concatenate([ball.vertices, ball.vertices + np.array([0.3, 0.0, 0.1])]),
        faces=np.concatenate([ball.faces, ball.faces + len(ball.vertices)]),
    )
    inverted = Mesh(vertices=ball.vertices, faces=ball.faces[:, ::-1])
    for mesh in (opened, apart, inverted):
        body = ModalBody.solid(mesh, young=YOUNG, density=DENSITY, modes=4)
        assert (body.stiffness.diagonal() > 0).all()
        assert torch.isfinite(body.vertices(0.5 * body.limits[:, 1])).all()


def test_the_maps_agree(sheet: ModalBody) -> None:
    assert isinstance(sheet, Body)
    q = 0.3 * sheet.limits[:, 1] * torch.linspace(-1, 1, 6, dtype=torch.float64)
    batch = torch.stack([q, 2 * q])
    torch.testing.assert_close(sheet.jacobian(q), torch.func.jacfwd(sheet.points)(q))
    torch.testing.assert_close(sheet.jacobian(batch)[1], sheet.jacobian(2 * q))
    np.testing.assert_allclose(sheet.vertices(sheet.q0).numpy(), sheet.rest.vertices, atol=1e-6)
    clip = bake(sheet, batch)
    np.testing.assert_allclose(clip.vertices, sheet.vertices(batch).numpy(), atol=1e-5)


def test_bends_keep_lengths_only_when_warped() -> None:
    mesh, held = strip()
    edges = mesh.faces[:, :2]

    def stretch(warp: bool) -> float:
        body = ModalBody.sheet(
            mesh, young=YOUNG, thickness=1e-3, density=DENSITY, pinned=held, modes=2, warp=warp
        )
        moved = body.vertices(torch.tensor([0.7, 0.0], dtype=torch.float64)).numpy()
        length = [
            np.linalg.norm(v[edges[:, 0]] - v[edges[:, 1]], axis=-1) for v in (moved, mesh.vertices)
        ]
        return float(abs(length[0] / length[1] - 1).max())

    assert stretch(True) < 0.05
    assert stretch(False) > 0.3


def test_held_nodes_stay_and_free_ones_keep_their_centre(
    sheet: ModalBody, solid: ModalBody
) -> None:
    q = 0.5 * sheet.limits[:, 1]
    _, held = strip()
    moved = sheet.vertices(q).numpy()[held] - sheet.rest.vertices[held]
    assert abs(moved).max() < 0.03  # the skin blends with neighbours that move
    q = 0.5 * solid.limits[:, 1]
    center = (solid.mass[:, None] * (solid.points(q) - solid.points(solid.q0))).sum(0)
    assert float(center.abs().max()) < 1e-9
    assert len(FloatingBase(solid).coordinates) == 12


def test_what_cannot_be_made_is_refused() -> None:
    mesh, held = strip(6, 4)
    with pytest.raises(InputError, match="encloses nothing"):
        ModalBody.solid(mesh, young=YOUNG, density=DENSITY)
    with pytest.raises(InputError, match="young must be positive"):
        ModalBody.sheet(mesh, young=-1.0, thickness=1e-3, density=DENSITY)
    with pytest.raises(InputError, match="so many modes"):
        ModalBody.sheet(mesh, young=YOUNG, thickness=1e-3, density=DENSITY, pinned=held, modes=500)
