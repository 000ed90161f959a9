"""The kinds of object that can be made, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.categories import (
    bins,
    bottles,
    boxes,
    cleaning,
    coffee_machines,
    computers,
    cooking,
    desk,
    doors,
    fans,
    faucets,
    lamps,
    luggage,
    refrigerators,
    safes,
    seating,
    storage,
    switches,
    tables,
    toasters,
    toilets,
    tools,
    vessels,
    windows,
    workshop,
)

_MAKERS = (
    vessels.blender,
    bottles.bottle,
    boxes.storage_box,
    vessels.bucket,
    storage.cabinet,
    workshop.cart,
    desk.clock,
    coffee_machines.coffee_machine,
    boxes.cooler,
    cleaning.dishwasher,
    doors.door,
    storage.drawer_unit,
    fans.fan,
    faucets.faucet,
    tools.folding_ruler,
    doors.gate,
    desk.globe,
    vessels.kettle,
    workshop.ladder,
    lamps.lamp,
    computers.laptop,
    bins.mailbox,
    cooking.microwave,
    computers.monitor,
    cooking.oven,
    tools.pliers,
    tools.pocket_knife,
    vessels.pot,
    refrigerators.refrigerator,
    safes.safe,
    tools.scissors,
    desk.stapler,
    storage.storage_chest,
    luggage.suitcase,
    switches.switch,
    seating.swivel_chair,
    tables.table,
    toasters.toaster,
    toilets.toilet,
    tools.tongs,
    bins.trash_can,
    computers.usb_stick,
    storage.wardrobe,
    cleaning.washing_machine,
    windows.window,
)

CATEGORIES: dict[str, Callable[[np.random.Generator], ArticulatedObject]] = {
    # `kin4d.geometry.primitives.box` is the other box.
    maker.__name__.replace("storage_box", "box"): maker
    for maker in _MAKERS
}
"""Every category's maker: a generator of random numbers in, an object out."""


def make_object(category: str, seed: int) -> ArticulatedObject:
    """The object of a category and a seed: the same one, always and everywhere."""
    if category not in CATEGORIES:
        raise InputError(
            "no such category of object", value=category, allowed=", ".join(CATEGORIES)
        )
    digest = hashlib.sha256(f"{category}/{int(seed)}".encode()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    return replace(CATEGORIES[category](rng), seed=int(seed))
