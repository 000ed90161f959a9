"""ModalBody: a soft body that bends, twists and swells by its softest vibration modes.

Nothing is learned: modes follow from the shape and the material. Their plain sum is only good for
small motions, because a linear mode that bends a sheet also lengthens it. So each node is given
the rotation that the modes give it, its edges are rotated by it, and the nodes are put together
again from their edges by least squares (rotation-strain coordinates, Huang et al. 2011).
Large bends then stay bends, and the elastic energy is still 1/2 q' K q.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csc_matrix
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import require_coordinates
from kin4d.bodies.edge_network import EdgeNetwork
from kin4d.errors import InputError
from kin4d.geometry.elastic_graph import ElasticGraph, knn_edges
from kin4d.geometry.elastic_sheet import sheet_masses, sheet_stiffness
from kin4d.geometry.elastic_solid import solid_rotations, solid_stiffness
from kin4d.geometry.lattice import Lattice, signed_volume
from kin4d.geometry.mesh import Mesh, vertex_normals
from kin4d.geometry.sampling import sample_surface
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import hat, rigid, rotvec_jacobian, rotvec_to_matrix
from kin4d.geometry.vibration import Modes, vibration_modes

_CARRIERS = 4  # nodes that carry a vertex
_NEIGHBOURS = 6  # of a node, by edges
_WRINKLED = 3e-3  # part of its stiffness in the plane that a sheet of wrinkles keeps
_MAX_ROTATION = 4.0  # rad, of any node by one mode alone: what hangs swings beyond pi
_MAX_STRAIN = 0.5  # of any edge by one mode alone


class ModalBody:
    """A `Body` whose coordinates are the amplitudes (m) of vibration modes.

    Free in space it does not move as a whole: `FloatingBase(ModalBody.solid(mesh))` does.

    Args:
        mesh: At rest.
        modes: Of nodes that fill or cover it.
        warp: Whether rotations are true ones; without it shapes are the modes' linear sum.
        low_membrane_stiffness: See `sheet`.

    Attributes:
        stiffness: [k, k] J: the elastic energy is 1/2 q' stiffness q.
    """

    def __init__(
        self, mesh: Mesh, modes: Modes, *, warp: bool = True, low_membrane_stiffness: bool = False
    ) -> None:
        self.rest, self.name, self.warp, self.low_membrane_stiffness = (
            mesh,
            mesh.name,
            warp,
            low_membrane_stiffness,
        )
        self.coordinates = tuple(f"mode{i + 1}" for i in range(len(modes.stiffness)))
        self.q0 = torch.zeros(len(modes.stiffness), dtype=torch.float64)
        self.mass = torch.from_numpy(modes.masses)
        self.stiffness = torch.from_numpy(np.diag(modes.stiffness))
        self._network = network = _edge_network(modes)
        self._rest, self._displacement, self._spin, self._arms, self._stretch, self._from = (
            torch.from_numpy(np.array(part))
            for part in (
                network.rest,
                modes.displacement,
                network.spin,
                network.arms,
                network.stretch,
                network.start,
            )
        )
        pull = np.zeros((len(network.rest), len(network.arms)))
        np.add.at(pull, (network.end, np.arange(len(network.arms))), network.weight)
        np.add.at(pull, (network.start, np.arange(len(network.arms))), -network.weight)
        self._assembly = torch.from_numpy(network.inverse_laplacian @ pull)
        lengths = np.linalg.norm(network.arms, axis=-1)[:, None]
        reach = np.minimum(
            _MAX_ROTATION / np.maximum(np.linalg.norm(network.spin, axis=1).max(0), 1e-9),
            _MAX_STRAIN
            / np.maximum((np.linalg.norm(network.stretch, axis=1) / lengths).max(0), 1e-9),
        )
        self.limits = torch.from_numpy(np.stack([-reach, reach], -1))
        self.skin = _bound(mesh, modes.nodes)

    @classmethod
    def solid(
        cls,
        mesh: Mesh,
        *,
        young: float,
        density: float,
        poisson: float = 0.3,
        modes: int = 12,
        cells: int = 160,
        handles: int = 64,
        pinned: Sequence[int] | np.ndarray = (),
        warp: bool = True,
        seed: int = 0,
    ) -> ModalBody:
        """A solid of an elastic material.

        Args:
            mesh: Its surface, at rest; one that is open counts as far as it encloses something.
            young: Pa.
            density: kg/m³.
            poisson: Ratio of sideways contraction.
            modes: How many, the softest.
            cells: Cubes that fill it, about; more see thinner parts.
            handles: Nodes that stand for all once modes are known.
            pinned: Vertices that are pinned, each with as much around it as a cube is wide.
            warp: See the class.
            seed: Of the samples that tell inside from outside, and of the choice of handles.
        """
        _check(young=young, density=density)
        volume = _volume(mesh)
        lattice = Lattice.around(mesh, cells=cells, whole=True, seed=seed)
        # Cubes that are hardly filled count a little too much.
        part = abs(volume) / lattice.volumes.sum()
        stiffness = csc_matrix(solid_stiffness(lattice, young=part * young, poisson=poisson))
        masses = part * density * lattice.volumes
        fast = np.zeros(len(masses), bool)
        if len(pinned):
            points, normals = _patch(mesh, pinned, seed=seed)
            fast = lattice.beyond(points, np.sign(volume) * normals)
        rotation = solid_rotations(lattice)
        fine = vibration_modes(lattice.nodes, masses, stiffness, rotation, fast, modes)
        return cls(mesh, fine.subsample(handles, seed=seed), warp=warp)

    @classmethod
    def sheet(
        cls,
        mesh: Mesh,
        *,
        young: float,
        thickness: float,
        density: float,
        poisson: float = 0.3,
        modes: int = 20,
        handles: int = 64,
        pinned: Sequence[int] | np.ndarray = (),
        low_membrane_stiffness: bool = False,
        warp: bool = True,
        seed: int = 0,
    ) -> ModalBody:
        """A thin sheet such as cloth or paper; arguments as for `solid`.

        Args:
            mesh: At rest; every vertex takes part, so at most some thousands.
            young: Pa.
            thickness: m.
            density: kg/m³ of the material.
            poisson: Ratio of sideways contraction.
            modes: How many, the softest.
            handles: Vertices that stand for all once modes are known.
            pinned: Vertices that are pinned.
            low_membrane_stiffness: Whether it gives way in its plane, as cloth does by wrinkling
                more finely than modes show: stretching is then left to a
                `kin4d.dynamics.forces.Membrane`.
            warp: See the class.
            seed: Of the choice of handles.
        """
        _check(young=young, density=density, thickness=thickness)
        if len(mesh.vertices) > 5000:
            raise InputError(
                "too many vertices for the modes of a sheet",
                value=len(mesh.vertices),
                allowed="at most 5000",
                hint="take a coarser mesh, or ModalBody.solid",
            )
        fast = np.zeros(len(mesh.vertices), bool)
        fast[np.asarray(pinned, np.int64)] = True
        stretch = _WRINKLED if low_membrane_stiffness else 1.0
        stiffness = sheet_stiffness(
            mesh, young=young, poisson=poisson, thickness=thickness, stretch=stretch
        )
        masses = sheet_masses(mesh, density * thickness)
        rotation = ElasticGraph.of_nodes(mesh.vertices).rotation
        fine = vibration_modes(mesh.vertices, masses, csc_matrix(stiffness), rotation, fast, modes)
        return cls(
            mesh,
            fine.subsample(handles, seed=seed),
            warp=warp,
            low_membrane_stiffness=low_membrane_stiffness,
        )

    def edge_network(self) -> EdgeNetwork | None:
        """The map in plain arrays; None if shapes are a linear sum."""
        return self._network if self.warp else None

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., N, 3] (m)."""
        require_coordinates(q, len(self.coordinates))
        if not self.warp:
            return self._rest.to(q) + torch.einsum("nik,...k->...ni", self._displacement.to(q), q)
        rotations = rotvec_to_matrix(torch.einsum("nik,...k->...ni", self._spin.to(q), q))
        edges = self._arms.to(q) + torch.einsum("eik,...k->...ei", self._stretch.to(q), q)
        edges = torch.einsum("...eij,...ej->...ei", rotations[..., self._from, :, :], edges)
        return self._rest.to(q) + self._assembly.to(q) @ (edges - self._arms.to(q))

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., N, 3, k]."""
        require_coordinates(q, len(self.coordinates))
        if not self.warp:
            return self._displacement.to(q).expand(*q.shape[:-1], *self._displacement.shape)
        spin = torch.einsum("nik,...k->...ni", self._spin.to(q), q)
        rotations = rotvec_to_matrix(spin)[..., self._from, :, :]
        edges = self._arms.to(q) + torch.einsum("eik,...k->...ei", self._stretch.to(q), q)
        edges = torch.einsum("...eij,...ej->...ei", rotations, edges)[..., None]
        angular = (rotvec_jacobian(spin) @ self._spin.to(q))[..., self._from, :, :]
        moving = torch.linalg.cross(angular, edges.expand_as(angular), dim=-2)
        moving = moving + rotations @ self._stretch.to(q)
        return (self._assembly.to(q) @ moving.flatten(-2)).unflatten(-1, (3, -1))

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        moves = self.skin_transforms(q)[..., torch.from_numpy(self.skin.joints), :3, :]
        weights = torch.from_numpy(self.skin.weights).to(q)
        blended = torch.einsum("vc,...vcij->...vij", weights, moves)
        rest = torch.from_numpy(np.array(self.rest.vertices)).to(q)
        return torch.einsum("...vij,vj->...vi", blended[..., :3], rest) + blended[..., 3]

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the nodes from the rest pose, [..., N, 4, 4]."""
        require_coordinates(q, len(self.coordinates))
        spin = torch.einsum("nik,...k->...ni", self._spin.to(q), q)
        rotations = rotvec_to_matrix(spin) if self.warp else _linear(spin)
        displacement = self.points(q) - torch.einsum(
            "...nij,nj->...ni", rotations, self._rest.to(q)
        )
        return rigid(rotations, displacement)


def _edge_network(modes: Modes) -> EdgeNetwork:
    """Edges between near nodes. Pinned nodes are fixed; without any, the centre of mass is."""
    count = len(modes.nodes)
    start, end = knn_edges(modes.nodes, _NEIGHBOURS).T.copy()
    arms = modes.nodes[end] - modes.nodes[start]
    rotated = np.cross(modes.spin[start], arms[..., None], axis=1)
    weight = 1 / np.square(arms).sum(-1)
    laplacian = np.zeros((count, count))
    for one, other, sign in ((start, start, 1), (end, end, 1), (start, end, -1), (end, start, -1)):
        np.add.at(laplacian, (one, other), sign * weight)
    inverse = np.zeros((count, count))
    if modes.pinned.any():
        free = np.flatnonzero(~modes.pinned)
        inverse[np.ix_(free, free)] = np.linalg.inv(laplacian[np.ix_(free, free)])
    else:
        inverse = np.linalg.pinv(laplacian, hermitian=True)
        inverse = inverse - modes.masses @ inverse / modes.masses.sum()
    return EdgeNetwork(
        start=start,
        end=end,
        weight=weight,
        arms=arms,
        stretch=modes.displacement[end] - modes.displacement[start] - rotated,
        spin=modes.spin,
        rest=modes.nodes,
        inverse_laplacian=inverse,
    )


def _bound(mesh: Mesh, nodes: np.ndarray) -> Skin:
    """Each vertex on its nearest nodes, all on one where it stands there (Franke and Little).

    Shares fade out before other nodes take their place.
    """
    near = min(_CARRIERS + 1, len(nodes))
    distance, carriers = KDTree(nodes).query(mesh.vertices, k=near)
    reach = 1.02 * distance[:, -1:] + 1e-12
    shares = np.square((reach - distance) / (reach * distance + 1e-6 * reach**2))[:, :_CARRIERS]
    return Skin(
        joints=np.asarray(carriers)[:, :_CARRIERS],
        weights=shares / shares.sum(1, keepdims=True),
        names=tuple(f"node{i + 1}" for i in range(len(nodes))),
    )


def _linear(spin: Tensor) -> Tensor:
    return torch.eye(3, dtype=spin.dtype, device=spin.device) + hat(spin)


def _patch(mesh: Mesh, pinned: Sequence[int] | np.ndarray, *, seed: int) -> tuple[np.ndarray, ...]:
    """Points [P, 3] and normals [P, 3] of held vertices and of the triangles between them."""
    is_held = np.zeros(len(mesh.vertices), bool)
    is_held[np.asarray(pinned, np.int64)] = True
    between = mesh.faces[is_held[mesh.faces].all(1)]
    is_held[between] = False
    points = [mesh.vertices[is_held]]
    normals = [vertex_normals(mesh.vertices, mesh.faces)[is_held]]
    if len(between):
        samples = sample_surface(Mesh(vertices=mesh.vertices, faces=between), 1000, seed=seed)
        points.append(samples.points(mesh.vertices))
        normals.append(samples.normals(mesh.vertices))
    return np.concatenate(points), np.concatenate(normals)


def _volume(mesh: Mesh) -> float:
    """m³ that the surface encloses, less than nothing if it is inside out."""
    volume = signed_volume(mesh)
    if abs(volume) < 1e-9 * mesh.bbox_diagonal**3:
        raise InputError(
            f"'{mesh.name}' encloses nothing", hint="a sheet has a thickness: ModalBody.sheet"
        )
    return volume


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be positive", value=value, allowed="> 0, SI units")
