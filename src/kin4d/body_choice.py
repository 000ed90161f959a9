"""choose_body: what a mesh becomes by itself, from evidence that can be read.

In this order: a smooth, connected shape with branches is a creature and gets a skeleton in a skin;
where the network finds a probable joint, rigid parts on joints; a smooth shape that bends nowhere
gets elastic modes if it is said to be of a soft material; anything else is rigid.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.dynamics.materials import Material
    from kin4d.geometry.mesh import Mesh

MIN_PROBABILITY = 0.3
"""Probability of the surest joint of an articulated body below which it is not trusted."""

SOFT = 1e8
"""Young's modulus (Pa) below which a material is soft: rubber and jelly are, wood and steel not."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyChoice:
    """What a mesh becomes.

    Attributes:
        body_type: See `kin4d.load`.
        reason: The evidence, for people.
        body: The body, where it came with the evidence: a skeleton, or parts on joints.
    """

    body_type: Literal["skeleton", "articulated", "solid", "rigid"]
    reason: str
    body: Body | None = None


def choose_body(mesh: Mesh, *, weights: str | Path, material: Material | None) -> BodyChoice:
    """The body that suits a mesh.

    Args:
        mesh: Metres, z up.
        weights: Of the joint prior.
        material: Its mass and stiffness; None if nothing is known.
    """
    from kin4d.bodies.creature.build import skeletal_body
    from kin4d.bodies.creature.evidence import ShapeEvidence
    from kin4d.dynamics.materials import Material
    from kin4d.neurok import articulate

    evidence = ShapeEvidence.of(mesh)
    mass = (material or Material()).mass_of(mesh)
    if evidence.is_creature:
        return BodyChoice(
            body_type="skeleton",
            reason=str(evidence),
            body=skeletal_body(mesh, mass=mass, shape=evidence.shape),
        )
    jointed = articulate(mesh, weights, mass=mass)
    sure = jointed.confidence or 0.0
    if jointed.coordinates and sure >= MIN_PROBABILITY:
        reason = f"{evidence}; a joint has a probability of {sure:.2f}"
        return BodyChoice(body_type="articulated", reason=reason, body=jointed)
    reason = f"{evidence}; no joint has a probability of {MIN_PROBABILITY} or more"
    if evidence.is_organic and material is not None and material.young < SOFT:
        return BodyChoice(body_type="solid", reason=f"{reason}, and the material is soft")
    return BodyChoice(body_type="rigid", reason=reason)
