"""ElasticModes: how any mesh would bend, twist and swell, without simulating it.

Free-vibration modes give directions that are soft by the shape alone. Their sum is only good for
small motions: a linear mode that bends a bar also lengthens it. So each node's rotation, read
from the same modes, is made a true rotation, the edges around it are rotated by it and stretched by
what strain remains, and the nodes are put together again from their edges by least squares
(rotation-strain coordinates, Huang et al. 2011). Large bends then stay bends.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, diags, identity
from scipy.sparse.linalg import eigsh, splu
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from kin4d.errors import InputError
from kin4d.geometry.elastic_graph import ElasticGraph, fill_interior
from kin4d.geometry.mesh import Mesh
from kin4d.objects.sequence import VertexSequence

_CARRIERS = 6  # nodes that carry a vertex
_RIGID = 6
_MAX_STRAIN = 0.6
_MAX_ROTATION = 2.0  # rad


class ElasticModes:
    """The softest free-vibration modes of a mesh, and shapes made of them.

    Everything that depends on the mesh alone is computed once, here.

    Args:
        mesh: At rest. Any mesh: open, in pieces, of millions of faces.
        cloud: Nodes that fill it, in its frame scaled to a diameter of 1 about its box's centre.
        count: How many modes.
    """

    def __init__(self, mesh: Mesh, cloud: ElasticGraph, count: int) -> None:
        self.mesh, self.cloud = mesh, cloud
        size = len(cloud.nodes)
        largest = 3 * size - _RIGID - 2
        if not 1 <= count <= largest:
            raise InputError(
                "cannot find so many modes", value=count, allowed=f"1 to {largest} for {size} nodes"
            )
        mass = identity(3 * size, format="csc") / size
        # Shifted a little below zero: the six rigid motions make the stiffness itself singular.
        start = np.random.default_rng(0).random(3 * size)
        values, modes = eigsh(
            csc_matrix(cloud.stiffness), k=count + _RIGID, M=mass, sigma=-1.0, v0=start
        )
        order = np.argsort(values)[_RIGID:]
        self.stiffness = np.maximum(values[order], 1e-9)
        """[count] eigenvalues, ascending: squared frequencies up to the material's scale."""
        sign = np.sign(modes[abs(modes).argmax(0), np.arange(modes.shape[1])])
        self.modes = (modes * sign)[:, order]
        """[3N, count] displacements of the nodes, of unit root mean square."""
        self._rotation = cloud.rotation @ self.modes

    @classmethod
    def of_mesh(
        cls, mesh: Mesh, count: int = 12, *, points: int = 400, seed: int = 0
    ) -> ElasticModes:
        """The modes of a mesh.

        Args:
            mesh: At rest.
            count: How many modes.
            points: Nodes to compute them with, at most; more see thinner parts.
            seed: Of the nodes' positions.
        """
        if not 8 <= points <= 2000:
            raise InputError("number of elastic nodes", value=points, allowed="8 to 2000")
        return cls(mesh, ElasticGraph.of_nodes(fill_interior(mesh, points, seed=seed)), count)

    def __len__(self) -> int:
        return len(self.stiffness)

    def coordinates(self, rng: np.random.Generator, amplitude: float) -> np.ndarray:
        """[count] random coordinates, soft modes the largest, as in heat.

        Args:
            rng: Where chance comes from.
            amplitude: The largest displacement, before warping, relative to the diameter; less
                where that would rotate or strain the material too much.
        """
        if not (np.isfinite(amplitude) and amplitude >= 0):
            raise InputError("elastic amplitude", value=amplitude, allowed=">= 0, as 0.05 to 0.4")
        q = rng.normal(size=len(self)) / np.sqrt(self.stiffness)
        displacement, spin, strain = (np.linalg.norm(part, axis=-1) for part in self._linear(q))
        strain = strain * np.sqrt(self._tension)
        limits = ((displacement, amplitude), (spin, _MAX_ROTATION), (strain, _MAX_STRAIN))
        return q * min(limit / max(part.max(), 1e-30) for part, limit in limits)

    def sample(self, rng: np.random.Generator, amplitude: float = 0.25) -> np.ndarray:
        """[V, 3] m: a random deformed state; arguments as for `coordinates`."""
        return self.deform(self.coordinates(rng, amplitude))

    def deform(self, q: np.ndarray, *, warp: bool = True) -> np.ndarray:
        """[V, 3] m: the mesh at modal coordinates `q` [count]; without `warp`, the linear sum."""
        nodes, rotations = self._nodes(np.asarray(q, np.float64), warp)
        carriers, shares, arms = self._binding
        scaled = np.zeros((len(carriers), 3))
        for carrier, share, arm in zip(carriers.T, shares.T, arms.transpose(1, 0, 2), strict=True):
            rotated = np.einsum("vij,vj->vi", rotations[carrier], arm)
            scaled += share[:, None] * (nodes[carrier] + rotated)
        return scaled * self.mesh.bbox_diagonal + self.mesh.bounds.mean(0)

    def sequence(
        self,
        *,
        seed: int,
        licence: str,
        frames: int = 48,
        fps: float = 24.0,
        frequency: float = 1.0,
        damping: float = 0.05,
        amplitude: float = 0.25,
        category: str | None = None,
    ) -> VertexSequence:
        """The mesh ringing freely after a random deformation.

        Args:
            seed: Of the deformation and the phases.
            licence: Terms of the mesh.
            frames: How many.
            fps: Frames per second.
            frequency: Of the softest mode, Hz.
            damping: Ratio of critical damping, of every mode.
            amplitude: As for `coordinates`.
            category: The mesh's name if None.
        """
        rng = np.random.default_rng(seed)
        q = self.coordinates(rng, amplitude)
        phase = rng.uniform(-np.pi / 3, np.pi / 3, len(self))
        rate = 2 * np.pi * frequency * np.sqrt(self.stiffness / self.stiffness[0])
        time = np.arange(frames)[:, None] / fps
        swing = np.exp(-damping * rate * time) * np.cos(rate * time + phase)
        return VertexSequence(
            name=f"{self.mesh.name}_elastic_{seed}",
            category=category or self.mesh.name,
            source="kin4d elastic modes",
            licence=licence,
            seed=seed,
            vertices=np.stack([self.deform(step) for step in q * swing]),
            faces=self.mesh.faces,
            fps=fps,
            material={"frequency": frequency, "damping_ratio": damping},
            meta={"instance": self.mesh.name},
        )

    def _nodes(self, q: np.ndarray, warp: bool) -> tuple[np.ndarray, np.ndarray]:
        """Nodes [N, 3] and their rotations [N, 3, 3]; linear ones are not orthogonal."""
        if q.shape != (len(self),):
            raise InputError("modal coordinates", value=q.shape, allowed=f"[{len(self)}]")
        rest = self.cloud.nodes
        displacement, spin, strain = self._linear(q)
        if not warp:
            linear = np.eye(3) + np.cross(spin[:, None], np.eye(3)).transpose(0, 2, 1)
            return rest + displacement, linear
        rotations = Rotation.from_rotvec(spin).as_matrix()
        i, j = self.cloud.pairs.T
        edges = np.einsum("eij,ej->ei", rotations[i], rest[j] - rest[i] + strain)
        pull = np.zeros_like(rest)
        np.add.at(pull, j, edges * self._tension[:, None])
        np.add.at(pull, i, -edges * self._tension[:, None])
        nodes = self._assembly.solve(pull)
        return nodes - nodes.mean(0) + rest.mean(0), rotations

    def _linear(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Displacements and rotation vectors [N, 3] of the nodes; stretch of the edges [E, 3]."""
        displacement = (self.modes @ q).reshape(-1, 3)
        spin = (self._rotation @ q).reshape(-1, 3)
        i, j = self.cloud.pairs.T
        arm = self.cloud.nodes[j] - self.cloud.nodes[i]
        return displacement, spin, displacement[j] - displacement[i] - np.cross(spin[i], arm)

    @cached_property
    def _tension(self) -> np.ndarray:
        """[E] weight of each edge, the same in both directions."""
        i, j = self.cloud.pairs.T
        return 1 / np.square(self.cloud.nodes[j] - self.cloud.nodes[i]).sum(-1)

    @cached_property
    def _assembly(self):
        """Factors of the normal equations that put nodes together from their edges."""
        i, j = self.cloud.pairs.T
        size = len(self.cloud.nodes)
        weights = coo_matrix((self._tension, (i, j)), shape=(size, size)).tocsc()
        weights = weights + weights.T
        laplacian = diags(np.asarray(weights.sum(0)).ravel()) - weights
        return splu(csc_matrix(laplacian + 1e-9 * laplacian.diagonal().mean() * identity(size)))

    @cached_property
    def _binding(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Carriers [V, K], shares [V, K] and arms [V, K, 3] of the mesh's vertices."""
        vertices = (self.mesh.vertices - self.mesh.bounds.mean(0)) / self.mesh.bbox_diagonal
        near = min(_CARRIERS, len(self.cloud.nodes))
        distance, carriers = KDTree(self.cloud.nodes).query(vertices, k=near)
        # Compact support: a node's share fades to nothing before another takes its place.
        reach = 1.05 * distance[:, -1:] + 1e-9
        shares = np.square(1 - np.square(distance / reach))
        carriers = np.asarray(carriers)
        arms = vertices[:, None] - self.cloud.nodes[carriers]
        return carriers, shares / shares.sum(1, keepdims=True), arms
