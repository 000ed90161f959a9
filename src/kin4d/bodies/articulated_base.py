"""ArticulatedBodyBase: any body made of rigid links. Subclasses give the poses of the links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import autograd_jacobian
from kin4d.bodies.inertial import Inertial
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import apply_rigid, rigid_inverse


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part.

    Attributes:
        name: Unique within its body.
        mesh: Its surface in the link's own frame, or None if it has none.
        inertial: Mass properties in the link's own frame, or None if it weighs nothing.
    """

    name: str
    mesh: Mesh | None = None
    inertial: Inertial | None = None


class ArticulatedBodyBase(ABC):
    """A `Body` of rigid links; see `kin4d.bodies.body.Body` for the protocol it implements."""

    def __init__(
        self,
        links: Sequence[Link],
        *,
        coordinates: Sequence[str],
        q0: Tensor,
        limits: Tensor,
        name: str,
    ) -> None:
        self.links = tuple(links)
        self.name = name
        self.coordinates = tuple(coordinates)
        self.q0 = q0.to(torch.float64)
        self.limits = limits.to(torch.float64)
        drawn = [(i, link.mesh) for i, link in enumerate(self.links) if link.mesh is not None]
        if not drawn:
            raise InputError(
                f"body '{name}' has no surface: none of its {len(self.links)} links has a mesh",
                allowed="at least one link with a mesh",
            )
        with torch.no_grad():
            rest_poses = self.link_poses(self.q0)
        self._rest_inverse = rigid_inverse(rest_poses)
        self.rest = Mesh.concatenate(
            [mesh.transformed(rest_poses[i].numpy()) for i, mesh in drawn], name=name
        )
        vertex_link = np.repeat([i for i, _ in drawn], [len(mesh.vertices) for _, mesh in drawn])
        self.skin = Skin.rigid(vertex_link, tuple(link.name for link in self.links))
        self._drawn = [(i, torch.from_numpy(mesh.vertices.copy())) for i, mesh in drawn]
        heavy = [
            (i, *link.inertial.mass_points())
            for i, link in enumerate(self.links)
            if link.inertial is not None
        ]
        self._point_link = torch.tensor([i for i, points, _ in heavy for _ in points]).long()
        self._point_local = torch.tensor(
            np.concatenate([points for _, points, _ in heavy] or [np.zeros((0, 3))])
        )
        self.mass = torch.tensor(np.concatenate([mass for *_, mass in heavy] or [np.zeros(0)]))

    @abstractmethod
    def link_poses(self, q: Tensor) -> Tensor:
        """World pose of every link's frame, [..., L, 4, 4], at q [..., k]."""

    def link_index(self, name: str) -> int:
        """Position of a link by name."""
        names = [link.name for link in self.links]
        if name not in names:
            raise InputError(f"body '{self.name}' has no link '{name}'", allowed=", ".join(names))
        return names.index(name)

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        return transform_points(self.link_poses(q), self._point_link, self._point_local)

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        poses = self.link_poses(q)
        return torch.cat(
            [apply_rigid(poses[..., i, :, :], local.to(q)) for i, local in self._drawn], -2
        )

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the links from the rest pose, [..., L, 4, 4]."""
        return self.link_poses(q) @ self._rest_inverse.to(q)

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, k]."""
        return self.point_jacobian(q, self._point_link, self._point_local)

    def point_jacobian(self, q: Tensor, links: Tensor, local: Tensor) -> Tensor:
        """d x / dq, [..., N, 3, k], of points fixed to links.

        Args:
            q: [..., k].
            links: [N] int64, which link each point is on.
            local: [N, 3] the points in their links' frames, metres.
        """
        moving = self.link_jacobian(q).movedim(-1, 0)
        return transform_points(moving, links, local).movedim(0, -1)

    def link_jacobian(self, q: Tensor) -> Tensor:
        """d link_poses / dq, [..., L, 4, 4, k], by forward-mode differentiation."""
        return autograd_jacobian(self.link_poses, q)


def transform_points(poses: Tensor, link: Tensor, local: Tensor) -> Tensor:
    """Points [N, 3] in their links' frames to the frame of `poses` [..., L, 4, 4]: [..., N, 3]."""
    matrices = poses[..., link.to(poses.device), :3, :]
    local = local.to(poses)
    return (matrices[..., :3] @ local[:, :, None]).squeeze(-1) + matrices[..., 3]
