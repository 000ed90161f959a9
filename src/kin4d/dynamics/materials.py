"""Material: what a body is made of, in SI units, with named presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.geometry.mesh import Mesh


@dataclass(frozen=True, kw_only=True)
class Material:
    """Bulk properties.

    Attributes:
        name: For people.
        density: kg/m^3.
        young: Young's modulus, Pa.
        damping: Rate at which free motion dies away, 1/s: velocities fall as exp(-damping t).
        friction: Coulomb's coefficient.
        restitution: Speed after a bounce over speed before, 0 to 1.
        thickness: Metres of wall that an open surface is taken to have.
    """

    name: str = "custom"
    density: float = 500.0
    young: float = 1e6
    damping: float = 0.5
    friction: float = 0.6
    restitution: float = 0.2
    thickness: float = 2e-3

    def __post_init__(self) -> None:
        for what in ("density", "young", "thickness"):
            _check(self.name, what, getattr(self, what), 0.0, np.inf, strict=True)
        for what in ("damping", "friction"):
            _check(self.name, what, getattr(self, what), 0.0, np.inf)
        _check(self.name, "restitution", self.restitution, 0.0, 1.0)

    def mass_of(self, mesh: Mesh) -> float:
        """Kilograms of a closed mesh filled with the material, or of an open one as a shell."""
        from kin4d.bodies.inertial import Inertial

        return Inertial.of_mesh(mesh, density=self.density, thickness=self.thickness).mass


def _check(name: str, what: str, value: float, low: float, high: float, *, strict=False) -> None:
    if not (np.isfinite(value) and low <= value <= high and not (strict and value == low)):
        least = "> 0" if strict else f">= {low:g}"
        most = "" if np.isinf(high) else f" and <= {high:g}"
        raise InputError(f"{what} of material '{name}'", value=value, allowed=least + most)


MATERIALS = {
    preset.name: preset
    for preset in (
        Material(
            name="rubber", density=1100, young=5e6, damping=0.8, friction=0.9, restitution=0.75
        ),
        Material(name="foam", density=40, young=5e4, damping=4.0, friction=0.7, restitution=0.3),
        Material(
            name="cloth",
            density=350,
            young=5e5,
            damping=1.5,
            friction=0.5,
            restitution=0.0,
            thickness=6e-4,
        ),
        Material(
            name="paper",
            density=800,
            young=2e9,
            damping=1.0,
            friction=0.4,
            restitution=0.1,
            thickness=1e-4,
        ),
        Material(name="wood", density=600, young=1e10, damping=0.4, friction=0.45, restitution=0.4),
        Material(
            name="steel", density=7850, young=2e11, damping=0.1, friction=0.35, restitution=0.55
        ),
        Material(name="jelly", density=1050, young=1e4, damping=1.2, friction=0.3, restitution=0.4),
    )
}


def material(name: str | Material) -> Material:
    """A preset by name (a `Material` passes through); an unknown one lists the known."""
    if isinstance(name, Material):
        return name
    if name not in MATERIALS:
        raise InputError("unknown material", value=name, allowed=", ".join(sorted(MATERIALS)))
    return MATERIALS[name]
