"""Found-like cases: clean objects made as untidy as downloaded meshes often are.

Small components are missing, others are cut into sheets, drawn from both sides or inside out;
keys, trim and frames are added that move with what carries them; the object faces any way.
Probabilities that were calibrated on clean objects alone are too high on these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.benchmarks.prior.cases import PriorCase
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.pieces import sample_pieces, split_surface
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import spread_points
from kin4d.objects.piece_clutter import Solid, random_clutter
from kin4d.objects.piece_object import LinkJoints, PieceObject

_APART = 1e-3  # of a sheet: what it shrinks by, so that it does not touch its neighbours


def found_like(case: PriorCase) -> PriorCase:
    """The case, untidy; drawn from its seed."""
    rng = np.random.default_rng([case.seed, 5])
    vertices, faces, link = case.mesh.vertices, case.mesh.faces, case.face_link
    if rng.random() < 0.5:
        keep = _without_small_pieces(vertices, faces, link, rng)
        faces, link = faces[keep], link[keep]
    if rng.random() < 0.7:
        solids = random_clutter(_piece_object(vertices, faces, link, case.joints, rng), rng)
        vertices, faces, link = _with_solids(vertices, faces, link, solids)
    if rng.random() < 0.5:
        vertices, faces = _with_sheets(vertices, faces, rng)
    faces, link = _with_either_side(vertices, faces, link, rng)
    angle = rng.uniform(0, 2 * np.pi)
    cos, sin = np.cos(angle), np.sin(angle)
    rotation = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    joints = case.joints
    return replace(
        case,
        group=f"{case.group}, found-like",
        mesh=Mesh(vertices=vertices @ rotation.T, faces=faces, name=case.mesh.name),
        face_link=link,
        joints=replace(joints, pivot=joints.pivot @ rotation.T, axis=joints.axis @ rotation.T),
    )


def _piece_object(
    vertices: np.ndarray,
    faces: np.ndarray,
    link: np.ndarray,
    joints: LinkJoints,
    rng: np.random.Generator,
) -> PieceObject:
    piece = split_surface(vertices, faces)
    pieces = sample_pieces(vertices, faces, piece, rng)
    mesh = Mesh(vertices=vertices, faces=faces)
    face, cloud, _ = spread_points(mesh, link, count=1500, least=8, seed=int(rng.integers(2**31)))
    normals = face_normals(vertices, faces[face])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    of_piece = np.zeros(len(pieces), np.int64)
    of_piece[piece] = link
    return PieceObject(
        name="",
        pieces=pieces,
        link=of_piece,
        cloud=np.concatenate([cloud, normals], 1),
        cloud_link=link[face],
        joints=joints,
        q0=np.zeros(len(joints.free)),
    )


def _without_small_pieces(
    vertices: np.ndarray, faces: np.ndarray, link: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """[F] bool: some of the small pieces are left out; every link keeps its largest."""
    piece = split_surface(vertices, faces)
    area = np.bincount(piece, Mesh(vertices=vertices, faces=faces).face_areas)
    keep = (area > 0.03 * area.sum()) | (rng.random(len(area)) > 0.3)
    for one in np.unique(link):
        own = np.unique(piece[link == one])
        keep[own[area[own].argmax()]] = True
    return keep[piece]


def _with_solids(
    vertices: np.ndarray, faces: np.ndarray, link: np.ndarray, solids: list[Solid]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    all_vertices, all_faces, all_links, count = [vertices], [faces], [link], len(vertices)
    for solid in solids:
        one = box((2.0, 2.0, 2.0))
        all_vertices.append(one.vertices * solid.half @ solid.frame + solid.center)
        all_faces.append(one.faces + count)
        all_links.append(np.full(len(one.faces), solid.link))
        count += len(one.vertices)
    return np.concatenate(all_vertices), np.concatenate(all_faces), np.concatenate(all_links)


def _with_sheets(
    vertices: np.ndarray, faces: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Some components cut where they turn from one side of the axes to another."""
    piece = split_surface(vertices, faces)
    chosen = (rng.random(int(piece.max()) + 1) < 0.3)[piece]
    normals = face_normals(vertices, faces)
    axis = np.abs(normals).argmax(1)
    side = 2 * axis + (normals[np.arange(len(faces)), axis] > 0) + 1
    sheet = np.unique(6 * 7 * piece + np.where(chosen, side, 0), return_inverse=True)[1]
    # Every sheet has vertices of its own, drawn towards its middle.
    corner, new = np.unique(sheet.ravel()[:, None] * len(vertices) + faces, return_inverse=True)
    owner, own = corner // len(vertices), vertices[corner % len(vertices)]
    size = np.bincount(owner)
    middle = np.stack([np.bincount(owner, column) / size for column in own.T], 1)
    cut = np.zeros(len(size), bool)
    cut[sheet.ravel()] = chosen
    shrink = np.where(cut, _APART, 0.0)[owner][:, None]
    return own + shrink * (middle[owner] - own), new.reshape(-1, 3)


def _with_either_side(
    vertices: np.ndarray, faces: np.ndarray, link: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Some components inside out, or all sheets drawn from both sides."""
    if rng.random() < 0.3:
        return np.concatenate([faces, faces[:, ::-1]]), np.concatenate([link, link])
    piece = split_surface(vertices, faces)
    flipped = (rng.random(int(piece.max()) + 1) < rng.choice([0.0, 0.3, 0.5]))[piece]
    return np.where(flipped[:, None], faces[:, ::-1], faces), link
