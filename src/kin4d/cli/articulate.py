"""`kin4d articulate`: the joints a network predicts for a mesh, as files that simulators read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import tyro

from kin4d.cli.output import print_result, print_warning, warn_of_several_objects
from kin4d.cli.ranges import Metres, Seed
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import load

if TYPE_CHECKING:
    from kin4d.bodies.segmented import JointSpec, SegmentedBody


def articulate_command(
    mesh: Annotated[Path, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    corrections: Path | None = None,
    save_joints: Path | None = None,
    pictures: Path | None = None,
    sample: Seed | None = None,
    alternatives: bool = False,
    weights: str = "small",
    up: UpAxis | None = None,
    size: Metres | None = None,
    material: str | None = None,
    json: bool = False,
) -> None:
    """Divide a mesh into rigid parts on joints, and write it as URDF and MJCF.

    Prints every joint, the least probable last.

    Args:
        mesh: OBJ, glTF, GLB, PLY, STL, OFF or DAE.
        output: .urdf (writes MJCF beside it, as .xml), .xml (MJCF alone), or .usd, .usda, .usdc
            with physics joints. Meshes go to a folder beside URDF and MJCF.
        corrections: A JSON file that changes joints and parts; see the docs' "Articulate a mesh".
        save_joints: Write the joints and parts here, in the format of --corrections.
        pictures: A folder for an image of each joint, at rest and open, and one of the pieces.
        sample: Draw the joints from what the network holds possible, with this seed, instead of
            taking the likeliest: each part hangs on one of its joints, or on none.
        alternatives: Print the other joints that each part may have, too.
        weights: A name that ships, a file, a folder or a hub id.
        up: The axis that points up in the file; y by default, or what a DAE file states.
        size: Metres of the diagonal of its bounding box; the file's own if not given.
        material: rubber, foam, cloth, paper, wood, steel or jelly: what its weight comes from.
        json: Print JSON for machines.
    """
    from kin4d.bodies.corrections import read_corrections, to_corrections, write_corrections
    from kin4d.dynamics.materials import Material
    from kin4d.dynamics.materials import material as material_of
    from kin4d.errors import InputError
    from kin4d.export.articulated import check_suffix, write_articulated
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.neurok import predict_joints

    if mesh.suffix.lower() not in READS:
        raise InputError(f"{mesh} is not a mesh file", allowed=", ".join(READS))
    check_suffix(output)
    changes = read_corrections(corrections) if corrections is not None else {}
    body = load(mesh, body_type="articulated", weights=weights, up=up, size=size, material=material)
    body = cast("SegmentedBody", body)  # what this body type is
    others: list[list[JointSpec]] = []
    if alternatives or sample is not None:
        found = predict_joints(body.rest, weights)
        others = found.joints() if alternatives else []
        if sample is not None:
            mass = material_of(material or Material()).mass_of(body.rest)
            body = found.sample_body(seed=sample, mass=mass)
    body = body.corrected(changes)
    warn_of_several_objects(body.rest)
    if not body.joint_specs:
        print_warning("no part moves: add one with --corrections")
    written = [*write_articulated(body, output)]
    if save_joints is not None:
        written.append(write_corrections(body, save_joints))
    if pictures is not None:
        from kin4d.render.joint_pictures import save_joint_pictures

        written += save_joint_pictures(body, pictures)
    joints = sorted(body.joint_specs, key=lambda spec: -(spec.probability or 0.0))
    parts = to_corrections(body)
    data: dict[str, Any] = {
        "joints": [{"name": spec.name, **parts[spec.name]} for spec in joints],
        "mass": float(body.mass.sum()),
        "confidence": body.confidence,
        "written": [str(path) for path in written],
    }
    if alternatives:
        data["parts"] = [[_row(spec) for spec in part] for part in others]
    print_result(_text(body, joints, others, written), data, as_json=json)


def _row(spec: JointSpec) -> dict[str, Any]:
    import numpy as np

    from kin4d.bodies.corrections import joint_type

    return {
        "type": joint_type(spec),
        "axis": spec.axis.tolist(),
        "pivot": spec.point.tolist(),
        "limits": [float(x) if np.isfinite(x) else None for x in spec.limits],
        "probability": spec.probability,
    }


def _text(
    body: SegmentedBody, joints: list[JointSpec], others: list[list[JointSpec]], written: list[Path]
) -> str:
    width = max([len(spec.name) for spec in joints], default=0)
    lines = [f"{len(joints)} joint{'s' * (len(joints) != 1)}, {float(body.mass.sum()):.3g} kg"]
    lines += [f"  {spec.name:{width}}  {describe(spec)}" for spec in joints]
    if others:
        lines.append("all joints each part may have, parts before what they carry:")
    for part in others:
        lines += [f"  {part[0].name}  {describe(part[0])}"]
        lines += [f"  {'or':{len(part[0].name)}}  {describe(spec)}" for spec in part[1:]]
    return "\n".join([*lines, "written: " + ", ".join(str(path) for path in written)])


def describe(spec: JointSpec) -> str:
    """Type, axis, range and probability of a joint, for people."""
    import numpy as np

    from kin4d.bodies.corrections import joint_type

    slides = spec.kind == "prismatic"
    scale, unit = (1.0, "m") if slides else (180 / np.pi, "deg")
    kind = joint_type(spec)
    ends = " to ".join(f"{scale * bound + 0.0:.3g}" for bound in spec.limits) + f" {unit}"
    axis = ", ".join(f"{x + 0.0:.2f}" for x in spec.axis)
    line = f"{kind:10}  axis ({axis})  {'without end' if kind == 'continuous' else ends}"
    return line if spec.probability is None else f"{line}  probability {spec.probability:.2f}"
