"""Linear modes of a mesh as a body: what can be had of its shape alone, without learning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csc_matrix
from torch import Tensor

from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.geometry.elastic_graph import ElasticGraph, fill_interior
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.geometry.vibration import Modes, vibration_modes


class LinearBody(FloatingBase):
    """A mesh that moves as a whole and by the linear sum of its softest free vibrations."""

    def __init__(self, mesh: Mesh, modes: Modes) -> None:
        super().__init__(ModalBody(mesh, modes, warp=False))
        self._modes = modes

    @classmethod
    def of_mesh(cls, mesh: Mesh, count: int, *, nodes: int = 150, seed: int = 0) -> LinearBody:
        """Of any mesh: closed or not, in pieces or not.

        Args:
            mesh: At rest.
            count: How many modes.
            nodes: That carry it, at most.
            seed: Of the nodes' positions.
        """
        cloud = ElasticGraph.of_nodes(fill_interior(mesh, nodes, seed=seed), one_sided=0.1)
        positions = cloud.nodes * mesh.bbox_diagonal + mesh.bounds.mean(0)
        size = len(positions)
        masses, held = np.full(size, 1.0 / size), np.zeros(size, bool)
        stiffness = csc_matrix(cloud.stiffness)
        return cls(mesh, vibration_modes(positions, masses, stiffness, cloud.rotation, held, count))

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> points on the surface [..., N, 3]: dense meshes cost no more."""
        corners = self.rest.vertices[samples.corners.ravel()]
        faces = np.arange(len(corners)).reshape(-1, 3)
        few = LinearBody(Mesh(vertices=corners, faces=faces), self._modes)
        weights = torch.from_numpy(samples.barycentric)[..., None]

        def move(q: Tensor) -> Tensor:
            return (few.vertices(q).unflatten(-2, (-1, 3)) * weights.to(q)).sum(-2)

        return move
