"""Presets, plain arguments and what is refused."""

from __future__ import annotations

import pytest

from kin4d.dynamics.materials import MATERIALS, Material, material
from kin4d.errors import InputError
from kin4d.geometry.primitives import box


def test_the_presets_are_there() -> None:
    assert set(MATERIALS) == {"rubber", "foam", "cloth", "paper", "wood", "steel", "jelly"}
    assert material("steel").density == 7850
    assert material(Material(friction=0.1)).friction == 0.1


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match="cloth, foam, jelly, paper, rubber, steel, wood"):
        material("adamantium")


@pytest.mark.parametrize(
    "wrong", [{"density": 0}, {"density": -1}, {"friction": -0.1}, {"restitution": 1.5}]
)
def test_impossible_values_are_refused(wrong) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Material(**wrong)


def test_mass_of_a_solid() -> None:
    assert material("steel").mass_of(box((0.1, 0.2, 0.3))) == pytest.approx(7850 * 0.006)
