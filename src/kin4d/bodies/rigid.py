"""RigidBody: one mesh that does not move by itself. `FloatingBase(RigidBody(mesh))` is free to."""

from __future__ import annotations

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.inertial import Inertial
from kin4d.geometry.mesh import Mesh


class RigidBody(ArticulatedBody):
    """A single rigid link with no coordinates.

    Args:
        mesh: The surface in world metres.
        density: kg/m^3; used when `inertial` is not given.
        inertial: Mass properties in the mesh's frame.
    """

    def __init__(
        self, mesh: Mesh, *, density: float = 500.0, inertial: Inertial | None = None
    ) -> None:
        inertial = inertial or Inertial.of_mesh(mesh, density=density)
        super().__init__([Link(mesh.name, mesh, inertial)], [], name=mesh.name)
