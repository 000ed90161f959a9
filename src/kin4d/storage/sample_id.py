"""SampleId: what identifies an item of a data set, and what splits go by."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SampleId:
    """Source, category and name of a sample.

    Attributes:
        source: What made it: "articulated", "cloth", the name of a folder, ...
        category: Its kind, in lower case with underscores.
        name: Unique within its source and category.
        licence: Terms it comes under: an SPDX identifier, or words.
        seed: What it was made from, if it was made.
        instance: What splits go by: several clips of one character share it. Default: `name`.
    """

    source: str
    category: str
    name: str
    licence: str
    seed: int | None = None
    instance: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "category", category_name(self.category))
        object.__setattr__(self, "instance", self.instance or self.name)

    @property
    def key(self) -> str:
        """Unique among all samples."""
        return f"{self.source}/{self.category}/{self.name}"


def category_name(text: str) -> str:
    """A category as it is written here: "WashingMachine" and "washing machine" are one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.strip())
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
