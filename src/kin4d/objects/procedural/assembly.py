"""ArticulatedObject: rigid links of plain arrays, joined in a tree and cheap to make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kin4d.bodies.joint import Joint, Mimic
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.bodies.articulated import ArticulatedBody


@dataclass(frozen=True, eq=False, slots=True)
class ObjectLink:
    """A rigid link.

    Attributes:
        name: Unique within its object.
        vertices: [V, 3] float64 m, in the link's frame.
        faces: [F, 3] int64.
        colors: [V, 3] uint8 sRGB.
        bearing: m. Within this distance of its joint's axis the link may overlap its parent: a
            pin in its bore, a hinge's knuckles.
    """

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray
    bearing: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class ArticulatedObject:
    """Links and joints of one object; z up, front towards -y, metres.

    Attributes:
        category: Its kind.
        seed: What it was made from, with `category`.
        links: The root first; every parent before its children.
        joints: One per link but the first, in the links' order.
        q0: [k] rest coordinates (rad or m) of the free joints, in order.
    """

    category: str
    seed: int
    links: tuple[ObjectLink, ...]
    joints: tuple[Joint, ...]
    q0: np.ndarray

    @cached_property
    def free_joints(self) -> tuple[Joint, ...]:
        """The k joints that are coordinates: those that move and mimic no other."""
        return tuple(j for j in self.joints if j.kind != "fixed" and j.mimic is None)

    @cached_property
    def limits(self) -> np.ndarray:
        """[k, 2] lower and upper coordinates."""
        return np.array([j.limits for j in self.free_joints], np.float64).reshape(-1, 2)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each link's parent; -1 for the root."""
        index = {link.name: i for i, link in enumerate(self.links)}
        return (-1, *(index[joint.parent] for joint in self.joints))

    @cached_property
    def vertex_link(self) -> np.ndarray:
        """[V] int64: which link each vertex of `vertices` is on."""
        return np.repeat(np.arange(len(self.links)), [len(link.vertices) for link in self.links])

    @cached_property
    def faces(self) -> np.ndarray:
        """[F, 3] int64 faces of all links, into `vertices`."""
        offsets = np.cumsum([0, *(len(link.vertices) for link in self.links)])
        return np.concatenate(
            [link.faces + start for link, start in zip(self.links, offsets, strict=False)]
        )

    @cached_property
    def colors(self) -> np.ndarray:
        """[V, 3] uint8 sRGB of all links."""
        return np.concatenate([link.colors for link in self.links])

    @cached_property
    def bbox_diagonal(self) -> float:
        """Diagonal of the bounding box at rest, m."""
        return float(np.linalg.norm(np.ptp(self.vertices(self.q0[None])[0], axis=0)))

    def poses(self, q: np.ndarray) -> np.ndarray:
        """World pose of every link's frame, [N, L, 4, 4], at q [N, k]."""
        q = np.asarray(q, np.float64)
        if q.ndim != 2 or q.shape[1] != len(self.q0):
            raise InputError("q has the wrong shape", value=q.shape, allowed=f"[N, {len(self.q0)}]")
        select, offset = self.coupling
        values = q @ select.T + offset
        basis = np.stack([np.ones_like(values), np.sin(values), np.cos(values), values], -1)
        local = np.zeros((len(self.joints), len(q), 4, 4))
        local[:, :, 3, 3] = 1
        for row, coefficients in enumerate(self._coefficients):
            local[row, :, :3] = (basis[:, row] @ coefficients).reshape(-1, 3, 4)
        out = np.empty((len(self.links), len(q), 4, 4))
        out[0] = np.eye(4)
        for row, parent in enumerate(self.parents[1:]):
            np.matmul(out[parent], local[row], out=out[row + 1])
        return out.transpose(1, 0, 2, 3)

    def vertices(self, q: np.ndarray) -> np.ndarray:
        """Vertices of all links in the world, [N, V, 3] m, at q [N, k]."""
        poses = self.poses(q)
        return np.concatenate(
            [
                link.vertices @ poses[:, i, :3, :3].transpose(0, 2, 1) + poses[:, i, None, :3, 3]
                for i, link in enumerate(self.links)
            ],
            axis=1,
        )

    def body(self) -> ArticulatedBody:
        """The same object as a `Body`: to simulate, render and export."""
        from kin4d.bodies.articulated import ArticulatedBody
        from kin4d.bodies.articulated_base import Link
        from kin4d.bodies.inertial import Inertial
        from kin4d.geometry.material import SurfaceMaterial
        from kin4d.geometry.mesh import Mesh

        white = SurfaceMaterial(name="vertex colours", base_color=(1.0, 1.0, 1.0, 1.0))
        links = []
        for link in self.links:
            alpha = np.full((len(link.colors), 1), 255, np.uint8)
            mesh = Mesh(
                vertices=link.vertices,
                faces=link.faces,
                colors=np.concatenate([link.colors, alpha], 1),
                materials=(white,),
                groups=(link.name,),
                name=link.name,
            )
            links.append(Link(link.name, mesh, Inertial.of_mesh(mesh)))
        rest = {j.name: float(value) for j, value in zip(self.free_joints, self.q0, strict=True)}
        return ArticulatedBody(links, self.joints, q0=rest, name=f"{self.category}_{self.seed}")

    def mirrored(self) -> ArticulatedObject:
        """Left and right swapped: reflected in the plane x = 0."""
        return self._mapped(np.array([-1.0, 1.0, 1.0]))

    def stretched(self, scale: np.ndarray) -> ArticulatedObject:
        """Other proportions: link shapes and joints scaled by [3] > 0 along x, y, z at q = 0.

        Motion stays rigid. Strong scaling makes round parts oval, so knobs and wheels wobble.
        """
        return self._mapped(np.asarray(scale, np.float64))

    def _mapped(self, scale: np.ndarray) -> ArticulatedObject:
        if any(np.abs(joint.origin[:3, :3] - np.eye(3)).max() > 0 for joint in self.joints):
            raise InputError(
                "only objects whose link frames are aligned at q = 0 can be mirrored or stretched"
            )
        flips = float(np.prod(np.sign(scale)))
        links = tuple(
            replace(
                link,
                vertices=link.vertices * scale,
                faces=link.faces[:, ::-1] if flips < 0 else link.faces,
                bearing=link.bearing * float(np.abs(scale).max()),
            )
            for link in self.links
        )
        joints, growth = [], {}
        for joint in self.joints:
            origin = joint.origin.copy()
            origin[:3, 3] *= scale
            axis, factor = joint.axis * scale, 1.0
            if joint.kind == "prismatic":
                factor = float(np.linalg.norm(axis))
            else:
                # A reflection reverses rotations.
                axis = axis * flips
            growth[joint.name] = factor
            mimic = joint.mimic
            if mimic is not None:
                lead = growth[mimic.leader]
                low, high = mimic.domain
                scaled = np.asarray(mimic.coefficients) * factor
                mimic = Mimic(mimic.leader, scaled, (low * lead, high * lead))
            limits = (joint.limits[0] * factor, joint.limits[1] * factor)
            joints.append(replace(joint, origin=origin, axis=axis, limits=limits, mimic=mimic))
        q0 = self.q0 * [growth[joint.name] for joint in self.free_joints]
        return replace(self, links=links, joints=tuple(joints), q0=q0)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """[J, 4, 12]: each joint's [3, 4] transform, linear in (1, sin v, cos v, v)."""
        origin = np.stack([joint.origin[:3] for joint in self.joints])
        axis = np.stack([joint.axis for joint in self.joints])
        revolute = np.array([joint.kind == "revolute" for joint in self.joints])
        slides = np.array([joint.kind == "prismatic" for joint in self.joints])
        rotation, along = origin[:, :, :3], axis[:, :, None] * axis[:, None]
        skew = np.cross(axis[:, None], np.eye(3)).transpose(0, 2, 1)
        out = np.zeros((len(origin), 4, 3, 4))
        out[:, 0, :, 3] = origin[:, :, 3]
        out[:, 0, :, :3] = np.where(revolute[:, None, None], rotation @ along, rotation)
        out[revolute, 1, :, :3] = (rotation @ skew)[revolute]
        out[revolute, 2, :, :3] = (rotation - rotation @ along)[revolute]
        out[slides, 3, :, 3] = (rotation @ axis[..., None])[slides, :, 0]
        return out.reshape(-1, 4, 12)

    @cached_property
    def coupling(self) -> tuple[np.ndarray, np.ndarray]:
        """Matrix [J, k] and offset [J] from coordinates to the values of all joints."""
        column = {joint.name: i for i, joint in enumerate(self.free_joints)}
        select, offset = np.zeros((len(self.joints), len(column))), np.zeros(len(self.joints))
        for row, joint in enumerate(self.joints):
            if joint.kind == "fixed":
                continue
            if joint.mimic is None:
                select[row, column[joint.name]] = 1
            elif joint.mimic.leader in column and joint.mimic.is_linear:
                (low, high), (constant, slope) = joint.mimic.domain, joint.mimic.coefficients
                factor = 2 * slope / (high - low)
                select[row, column[joint.mimic.leader]] = factor
                offset[row] = constant - factor * (low + high) / 2
            else:
                raise InputError(
                    f"joint '{joint.name}' follows '{joint.mimic.leader}' in a way that is not "
                    "one straight line",
                    allowed=f"a linear mimic of one of {', '.join(column)}",
                )
        return select, offset
