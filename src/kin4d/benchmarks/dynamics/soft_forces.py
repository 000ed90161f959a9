"""What acts in a soft scene, as forces on any body: elasticity, pokes, wind and pins."""

from __future__ import annotations

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import Elastic
from kin4d.bodies.elastic import elastic_stiffness
from kin4d.bodies.modal import ModalBody
from kin4d.dynamics.forces import (
    Damping,
    DragConstraint,
    Force,
    ForceContext,
    ForceTerms,
    Limits,
    Membrane,
    Spring,
    Wind,
)
from kin4d.dynamics.forces.force import check_attachment
from kin4d.geometry.mesh import Mesh
from kin4d.objects.soft.scene import AIR_DENSITY, SoftScene
from kin4d.objects.soft.scene import SoftPush as Poke


class PressureForce(Force):
    """A poke that swells and fades, at its middle.

    Args:
        poke: Shared by many vertices.
        mesh: The surface at rest.
    """

    def __init__(self, poke: Poke, mesh: Mesh) -> None:
        self.poke = poke
        middle = poke.share @ mesh.vertices
        self.attachment = check_attachment(
            mesh.vertices[np.linalg.norm(mesh.vertices - middle, axis=-1).argmin()]
        )

    def load(self, context: ForceContext) -> ForceTerms:
        """The whole force, at this time."""
        return ForceTerms(attached=self.poke.at(context.time).sum(0))


def acting_on(
    scene: SoftScene, mesh: Mesh, pins: np.ndarray | None, body: Body, modal: ModalBody
) -> list[Force]:
    """Forces of a scene on a body of its surface, gravity excepted.

    Args:
        scene: What acts.
        mesh: The surface.
        pins: Vertices that are held.
        body: That it acts on.
        modal: The modes of the same surface and material, which say how stiff it is.
    """
    forces: list[Force] = [PressureForce(poke, mesh) for poke in scene.pushes]
    if scene.wind is not None:
        # Twice a plate's usual drag: the scene stops the air that meets it.
        forces.append(Wind(scene.wind, density=AIR_DENSITY, drag=2.0))
    held = np.zeros(0, int) if pins is None else pins
    forces += _elasticity(scene, body, modal, pinned=len(held) > 0)
    if isinstance(body, Elastic):
        return forces
    if scene.dimension == 2:
        # A material holds it together: it may go farther than its shape alone makes likely.
        forces.append(Limits(bounds=np.tile([-np.inf, np.inf], (len(body.q0), 1))))
        held = np.setdiff1d(held, held_edge(mesh, held))
    some = held[np.unique(np.linspace(0, len(held) - 1, 4).astype(int))] if len(held) else held
    return forces + [
        DragConstraint(mesh.vertices[pin], mesh.vertices[pin], stiffness=1e3) for pin in some
    ]


def _elasticity(scene: SoftScene, body: Body, modal: ModalBody, *, pinned: bool) -> list[Force]:
    material, forces = scene.material, list[Force]()
    rubbing = material.get("damping", 0.0)
    wrinkles = body.low_membrane_stiffness if isinstance(body, Elastic) else scene.dimension == 2
    stiffness = None
    if isinstance(body, Elastic):
        stiffness = body.stiffness.numpy()
    elif not wrinkles:
        stiffness = elastic_stiffness(body, modal, pinned=pinned)
    if stiffness is not None:
        forces += [Spring(stiffness), Damping(0.0, viscosity=rubbing * stiffness)]
    if wrinkles:
        forces.append(
            Membrane(
                young=material["young"],
                thickness=material["thickness"],
                poisson=material["poisson"],
                damping=rubbing,
            )
        )
    return forces


def held_edge(mesh: Mesh, pins: np.ndarray | None) -> np.ndarray:
    """Those vertices of `pins` that are held along an edge of the mesh, not as single points."""
    held = np.zeros(len(mesh.vertices), bool)
    held[[] if pins is None else pins] = True
    sides = mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return np.unique(sides[held[sides].all(1)])
