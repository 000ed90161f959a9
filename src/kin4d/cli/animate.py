"""`kin4d animate`: move a body through its own coordinates, so that one sees what can move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.bodies.capabilities import Predicted
from kin4d.cli.output import check_memory, print_result, save_clip_output
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import load


def animate_command(
    what: Annotated[str, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    frames: int = 48,
    random_states: int = 0,
    fps: float = 24.0,
    weights: str = "small",
    up: UpAxis | None = None,
    dof: int | None = None,
    articulate: bool = False,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Sweep every coordinate of a body to both its limits and back, and write the motion.

    Args:
        what: A mesh file, whose coordinates a network predicts; a URDF or MJCF file; a robot's name
            (`kin4d robot --list`); an object category, such as drawer_unit; or one of the built-in
            bodies: hinge, slider_chain, pendulum.
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        frames: Frames per coordinate, and from each random state to the next.
        random_states: How many random plausible states to visit after the sweep.
        fps: Frames per second.
        weights: For meshes: a name that ships, a file, a folder or a hub id.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        dof: How many coordinates a mesh gets; by default as many as move it visibly.
        articulate: Cut a mesh into rigid parts on hinges and slides, and sweep these.
        seed: Of random states, and of an object category.
        json: Print JSON for machines.
    """
    import torch

    from kin4d.bodies import bake, sweep_joints
    from kin4d.errors import InputError
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.kinematics.random_motion import random_motion

    if frames < 2:
        raise InputError("a sweep needs frames", value=frames, allowed="frames >= 2")
    if random_states < 0:
        raise InputError("number of random states", value=random_states, allowed=">= 0")
    if Path(what).suffix.lower() in READS:
        body_type = "articulated" if articulate else "learned"
        body = load(what, body_type=body_type, weights=weights, up=up, dof=dof, seed=seed)
    else:
        body = load(what, dof=dof, seed=seed)
    if not body.coordinates:
        raise InputError(f"'{what}' has no part that moves", hint="give --dof to force it")
    segments = len(body.coordinates) + random_states
    check_memory(frames * segments, vertices=len(body.rest.vertices))
    q = [sweep_joints(body, frames=frames)]
    if random_states:
        q.append(random_motion(body, random_states, frames=frames, seed=seed))
    clip = bake(body, torch.cat(q), fps=fps)
    data = {"coordinates": list(body.coordinates), "frames": len(clip), "written": str(output)}
    if isinstance(body, Predicted):
        data["confidence"] = body.confidence
    save_clip_output(clip, output)
    names = ", ".join(body.coordinates)
    print_result(
        f"{len(body.coordinates)} coordinates ({names}), {len(clip)} frames, written to {output}",
        data,
        as_json=json,
    )
