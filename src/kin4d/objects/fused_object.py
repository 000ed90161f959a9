"""Fused objects: one surface around an articulated object in one state, cut into patches.

Scans, generated meshes and printable files are like that: what was hidden between parts is not
there, so such an object cannot be posed again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.fuse import fuse_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.mesh_pieces import PieceConfig, cut_mesh
from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.piece_object import LinkJoints, PieceObject

_PATCHES = (40, 113)
"""Fewest and most."""


def fused_object(sample: ArticulatedSample, rng: np.random.Generator) -> PieceObject:
    """An object in a random state, fused; its joints count from there, and q = 0 is all it has."""
    state = sample.states(rng, 1)[0]
    vertices = sample.vertices(state[None])[0]
    solid = Mesh(vertices=vertices, faces=sample.faces, name=sample.identity.category)
    seed = int(rng.integers(2**31))
    mesh, face_link = fuse_mesh(solid, sample.face_part, seed=seed)
    cut = cut_mesh(mesh, PieceConfig(patches=int(rng.integers(*_PATCHES))), seed=seed)
    pieces, box = cut.pieces, cut.box
    area = np.zeros((len(pieces), int(face_link.max()) + 1))
    np.add.at(area, (cut.face_piece, face_link), mesh.face_areas)
    placed = replace(
        pieces,
        points=box.denormalize(pieces.points).astype(np.float32),
        normals=(pieces.normals @ box.rotation).astype(np.float32),
        supports=box.denormalize(pieces.supports).astype(np.float32),
        area=pieces.area / box.scale**2,
    )
    link = area.argmax(1)
    cloud = np.concatenate([placed.points, placed.normals], -1).reshape(-1, 6)
    joints = LinkJoints.at(sample.object, state)
    return PieceObject(
        name=f"{sample.identity.category}/{sample.identity.name}",
        pieces=placed,
        link=link,
        cloud=cloud,
        cloud_link=np.repeat(link, pieces.points.shape[1]),
        joints=joints,
        q0=np.zeros(len(joints.free)),
    )
