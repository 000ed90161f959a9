"""`kin4d inspect`: what is in a mesh file, whether it will do, and mending it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import print_result, save_clip_output, static_clip


def inspect_command(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    repair: Path | None = None,
    json: bool = False,
) -> None:
    """Look a mesh over: counts, size, components, defects, verdict.

    Args:
        file: OBJ, glTF, GLB, PLY, STL or OFF.
        repair: Write a mended copy here, and say what was mended.
        json: Print JSON for machines.
    """
    from kin4d.geometry.io.mesh_file import WRITES, read_raw, save_mesh
    from kin4d.geometry.mesh_report import inspect_mesh as look
    from kin4d.geometry.mesh_report import repair_mesh as mend

    raw = read_raw(file)
    found = look(raw)
    data = {"file": str(file), **found.to_dict()}
    text = str(found)
    if repair is not None:
        mesh, done = mend(raw)
        if repair.suffix.lower() in WRITES:
            save_mesh(mesh, repair)
        else:
            save_clip_output(static_clip(mesh, up="y"), repair)
        data |= {"repaired": done, "written": str(repair)}
        text += "\nrepaired: " + ("; ".join(done) or "nothing needed it") + f"\nwritten:  {repair}"
    print_result(text, data, as_json=json)
