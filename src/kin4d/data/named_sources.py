"""Sources by name, as the command line and plans of generation know them."""

from __future__ import annotations

from kin4d.data.sources import ListedSource, SeededSource, articulated_source
from kin4d.errors import InputError

SOURCE_NAMES = {
    "articulated": "procedural furniture, appliances, tools and vessels",
    "urdf:DIR": "a folder of URDF objects, such as PartNet-Mobility",
    "store:DIR": "a store made before",
}


def named_source(name: str) -> SeededSource | ListedSource:
    """The source of a name; see `SOURCE_NAMES`."""
    kind, _, where = name.partition(":")
    if name == "articulated":
        return articulated_source()
    if kind == "urdf" and where:
        from kin4d.data.urdf_folder import urdf_source

        return urdf_source(where)
    if kind == "store" and where:
        from kin4d.data.store import SequenceStore

        return SequenceStore.open(where).source()
    raise InputError("there is no such source", value=name, allowed=", ".join(SOURCE_NAMES))
