"""`kin4d inspect`: what is in a mesh file, its defects, and a repaired copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import print_result
from kin4d.geometry.up_axis import UpAxis


def inspect_command(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    repair: Path | None = None,
    split: Path | None = None,
    up: UpAxis | None = None,
    json: bool = False,
) -> None:
    """Report on a mesh: counts, size, components, defects, verdict.

    Args:
        file: OBJ, glTF, GLB, PLY, STL, OFF or DAE.
        repair: Write a repaired copy here, and print what was repaired.
        split: A folder for the objects of a scene: parts of the mesh with a gap around them, each
            as a GLB.
        up: The axis that points up in the file; y by default, or what a DAE file states.
        json: Print JSON for machines.
    """
    from kin4d.geometry.io.mesh_file import read_raw
    from kin4d.geometry.mesh import Mesh
    from kin4d.geometry.mesh_report import inspect_mesh, repair_mesh
    from kin4d.geometry.separate_objects import split_objects

    raw = read_raw(file, up=up)
    found = inspect_mesh(raw)
    data = {"file": str(file), **found.to_dict()}
    text = str(found)
    if repair is not None:
        mesh, done = repair_mesh(raw)
        mesh.save(repair)
        data |= {"repaired": done, "written": str(repair)}
        text += "\nrepaired: " + ("; ".join(done) or "nothing needed it") + f"\nwritten:  {repair}"
    if split is not None:
        objects = split_objects(Mesh.load(file, up=up))
        split.mkdir(parents=True, exist_ok=True)
        files = [one.save(split / f"object_{number}.glb") for number, one in enumerate(objects, 1)]
        data["objects"] = [str(path) for path in files]
        text += f"\nobjects:  {len(objects)}, written: " + ", ".join(data["objects"])
    print_result(text, data, as_json=json)
