"""ModalBody: a soft thing that bends, twists and swells by its softest vibration modes.

Nothing is learned: modes follow from the shape and the material. Their plain sum is only good for
small motions, because a linear mode that bends a sheet also lengthens it. So each node is given
the rotation that the modes say it has, the ties around it are turned by it, and the nodes are put
together again from their ties by least squares (rotation-strain coordinates, Huang et al. 2011).
Large bends then stay bends, and the elastic energy is still 1/2 q' K q.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csc_matrix
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import Body, expect_coordinates
from kin4d.bodies.floating import Floating
from kin4d.errors import InputError
from kin4d.geometry.elastic_cloud import ElasticCloud, fill
from kin4d.geometry.elastic_sheet import sheet_masses, sheet_stiffness
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import hat, rigid, rotvec_jacobian, rotvec_to_matrix
from kin4d.geometry.vibration import Modes, vibration_modes

_CARRIERS = 4  # nodes that carry a vertex
_MOST_TURN = 2.0  # rad, of any node by one mode alone
_MOST_STRAIN = 0.5  # of any tie by one mode alone
_ONE_SIDED = 0.1  # enough to keep thin parts from bending for nothing


class ModalBody:
    """A `Body` whose coordinates are the amplitudes (m) of vibration modes.

    Free in space it does not move as a whole: `Floating(ModalBody.solid(mesh))` does.

    Args:
        mesh: At rest.
        modes: Of nodes that fill or cover it.
        warp: Whether rotations are true ones; without it shapes are the modes' linear sum.

    Attributes:
        stiffness: [k, k] J: the elastic energy is 1/2 q' stiffness q.
    """

    def __init__(self, mesh: Mesh, modes: Modes, *, warp: bool = True) -> None:
        self.rest, self.name, self.warp = mesh, mesh.name, warp
        self.coordinates = tuple(f"mode{i + 1}" for i in range(len(modes.stiffness)))
        self.q0 = torch.zeros(len(modes.stiffness), dtype=torch.float64)
        self.mass = torch.from_numpy(modes.masses)
        self.stiffness = torch.from_numpy(np.diag(modes.stiffness))
        self._rest = torch.from_numpy(modes.nodes)
        self._shift, self._spin = torch.from_numpy(modes.shift), torch.from_numpy(modes.spin)
        pairs = ElasticCloud.of_nodes(modes.nodes).pairs
        self._from = torch.from_numpy(pairs[:, 0].copy())
        arms = self._rest[pairs[:, 1]] - self._rest[pairs[:, 0]]
        turned = torch.linalg.cross(
            self._spin[self._from], arms[..., None].expand(-1, -1, self._spin.shape[-1]), dim=1
        )
        self._arms = arms
        self._stretch = self._shift[pairs[:, 1]] - self._shift[self._from] - turned
        self._assembly = torch.from_numpy(_assembly(modes, pairs, arms.numpy()))
        reach = torch.minimum(
            _MOST_TURN / self._spin.norm(dim=1).amax(0).clamp(min=1e-9),
            _MOST_STRAIN
            / (self._stretch.norm(dim=1) / arms.norm(dim=1)[:, None]).amax(0).clamp(min=1e-9),
        )
        self.limits = torch.stack([-reach, reach], -1)
        self.skin = _bound(mesh, modes.nodes)

    @classmethod
    def solid(
        cls,
        mesh: Mesh,
        *,
        young: float,
        density: float,
        modes: int = 12,
        nodes: int = 150,
        held: Sequence[int] | np.ndarray = (),
        warp: bool = True,
        seed: int = 0,
    ) -> ModalBody:
        """A solid of an elastic material without sideways contraction.

        Args:
            mesh: Its surface, at rest; one that is open counts as far as it encloses something.
            young: Pa.
            density: kg/m³.
            modes: How many, the softest.
            nodes: That fill it, at most; more see thinner parts.
            held: Vertices that are held fast, with the nodes near them.
            warp: See the class.
            seed: Of the nodes' places.
        """
        _check(young=young, density=density)
        cloud = ElasticCloud.of_nodes(fill(mesh, nodes, seed=seed), one_sided=_ONE_SIDED)
        count, size = len(cloud.nodes), mesh.diameter
        places = cloud.nodes * size + mesh.bounds.mean(0)
        volume = _volume(mesh)
        # A node's ties point in all directions, so together they feel a third of any strain.
        share = 3 * young * volume / len(cloud.pairs)
        stiffness = csc_matrix(cloud.stiffness * (share / size**2))
        masses = np.full(count, density * volume / count)
        fast = np.zeros(count, bool)
        if len(held):
            gap, _ = KDTree(mesh.vertices[np.asarray(held)]).query(places)
            spacing = np.median(KDTree(places).query(places, k=2)[0][:, 1])
            fast = gap < max(0.6 * spacing, gap.min() + 1e-9)
        return cls(
            mesh, vibration_modes(places, masses, stiffness, cloud.turning, fast, modes), warp=warp
        )

    @classmethod
    def sheet(
        cls,
        mesh: Mesh,
        *,
        young: float,
        thickness: float,
        density: float,
        poisson: float = 0.3,
        modes: int = 16,
        nodes: int = 120,
        held: Sequence[int] | np.ndarray = (),
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
            nodes: Vertices that stand for all once modes are known.
            held: Vertices that are held fast.
            warp: See the class.
            seed: Of the choice of nodes.
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
        fast[np.asarray(held, np.int64)] = True
        stiffness = sheet_stiffness(mesh, young=young, poisson=poisson, thickness=thickness)
        masses = sheet_masses(mesh, density * thickness)
        turning = ElasticCloud.of_nodes(mesh.vertices).turning
        fine = vibration_modes(mesh.vertices, masses, csc_matrix(stiffness), turning, fast, modes)
        return cls(mesh, fine.thinned(nodes, seed=seed), warp=warp)

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., N, 3] (m)."""
        expect_coordinates(q, len(self.coordinates))
        if not self.warp:
            return self._rest.to(q) + torch.einsum("nik,...k->...ni", self._shift.to(q), q)
        turns = rotvec_to_matrix(torch.einsum("nik,...k->...ni", self._spin.to(q), q))
        ties = self._arms.to(q) + torch.einsum("eik,...k->...ei", self._stretch.to(q), q)
        ties = torch.einsum("...eij,...ej->...ei", turns[..., self._from, :, :], ties)
        return self._rest.to(q) + self._assembly.to(q) @ (ties - self._arms.to(q))

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., N, 3, k]."""
        expect_coordinates(q, len(self.coordinates))
        if not self.warp:
            return self._shift.to(q).expand(*q.shape[:-1], *self._shift.shape)
        spin = torch.einsum("nik,...k->...ni", self._spin.to(q), q)
        turns = rotvec_to_matrix(spin)[..., self._from, :, :]
        ties = self._arms.to(q) + torch.einsum("eik,...k->...ei", self._stretch.to(q), q)
        ties = torch.einsum("...eij,...ej->...ei", turns, ties)[..., None]
        turning = (rotvec_jacobian(spin) @ self._spin.to(q))[..., self._from, :, :]
        moving = torch.linalg.cross(turning, ties.expand_as(turning), dim=-2)
        moving = moving + turns @ self._stretch.to(q)
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
        spin = torch.einsum("nik,...k->...ni", self._spin.to(q), q)
        turns = rotvec_to_matrix(spin) if self.warp else _linear(spin)
        shift = self.points(q) - torch.einsum("...nij,nj->...ni", turns, self._rest.to(q))
        return rigid(turns, shift)


def _assembly(modes: Modes, pairs: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """[N, E]: shifts of nodes, from changes of ties, that fit these best.

    Held nodes stay; where none is held, the centre of mass does.
    """
    count = len(modes.nodes)
    tension = 1 / np.square(arms).sum(-1)
    pull = np.zeros((count, len(pairs)))
    pull[pairs[:, 1], np.arange(len(pairs))] += tension
    pull[pairs[:, 0], np.arange(len(pairs))] -= tension
    laplacian = np.zeros((count, count))
    np.add.at(laplacian, (pairs[:, 0], pairs[:, 0]), tension)
    np.add.at(laplacian, (pairs[:, 1], pairs[:, 1]), tension)
    np.add.at(laplacian, (pairs[:, 0], pairs[:, 1]), -tension)
    np.add.at(laplacian, (pairs[:, 1], pairs[:, 0]), -tension)
    free = ~modes.held
    solved = np.zeros_like(pull)
    if modes.held.any():
        solved[free] = np.linalg.solve(laplacian[np.ix_(free, free)], pull[free])
        return solved
    solved = np.linalg.lstsq(laplacian, pull, rcond=None)[0]
    return solved - modes.masses @ solved / modes.masses.sum()


def _bound(mesh: Mesh, nodes: np.ndarray) -> Skin:
    """Each vertex on its nearest nodes, whose shares fade out before others take their place."""
    near = min(_CARRIERS + 1, len(nodes))
    distance, carriers = KDTree(nodes).query(mesh.vertices, k=near)
    reach = 1.02 * distance[:, -1:] + 1e-12
    shares = np.square(1 - np.square(distance / reach))[:, :_CARRIERS]
    return Skin(
        joints=np.asarray(carriers)[:, :_CARRIERS],
        weights=shares / shares.sum(1, keepdims=True),
        names=tuple(f"node{i + 1}" for i in range(len(nodes))),
    )


def _linear(spin: Tensor) -> Tensor:
    return torch.eye(3, dtype=spin.dtype, device=spin.device) + hat(spin)


def _volume(mesh: Mesh) -> float:
    """m³ enclosed by the surface; an open one is closed by a fan about its middle."""
    a, b, c = (mesh.vertices - mesh.bounds.mean(0))[mesh.faces].transpose(1, 0, 2)
    volume = abs(float(np.einsum("fi,fi->f", np.cross(a, b), c).sum() / 6))
    if volume < 1e-9 * mesh.diameter**3:
        raise InputError(
            f"'{mesh.name}' encloses nothing", hint="a sheet has a thickness: ModalBody.sheet"
        )
    return volume


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be positive", value=value, allowed="> 0, SI units")


def stiffness_of(body: Body) -> Tensor | None:
    """[k, k] J: what holds a body in shape, a floating root left free; None if nothing does."""
    if isinstance(body, Floating):
        inner = stiffness_of(body.body)
        return None if inner is None else torch.block_diag(inner.new_zeros(6, 6), inner)
    return getattr(body, "stiffness", None)
