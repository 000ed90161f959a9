"""`kin4d animate`: move a body through its own coordinates, so that one sees what can move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kin4d.cli.output import check_memory, print_result, save_clip_output, warn_low_confidence

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.bodies.segmented import SegmentedBody
    from kin4d.neurok.body import LearnedBody


def animate(
    what: Annotated[str, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    frames: int = 48,
    walk: int = 0,
    fps: float = 24.0,
    model: str = "small",
    up: Literal["y", "z"] = "y",
    coordinates: int | None = None,
    joints: bool = False,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Sweep every coordinate of a body to both its limits and back, and write the motion.

    Args:
        what: A mesh file, whose ways of moving are learned; a URDF or MJCF file; the name of a
            robot (`kin4d robot --list`); or one of the built-in bodies: hinge, slider_chain,
            pendulum.
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        frames: Frames per coordinate, and from each state of the walk to the next.
        walk: Random plausible states to walk through after the sweep.
        fps: Frames per second.
        model: Weights for meshes: a name that ships, a file, a folder or a hub id.
        up: The axis that points up in a mesh.
        coordinates: How many a mesh gets; by default as many as move it visibly.
        joints: Cut a mesh into rigid parts on hinges and slides, and sweep these.
        seed: Of the walk.
        json: Print JSON for machines.
    """
    import torch

    from kin4d.bodies import bake, sweep_joints
    from kin4d.errors import InputError
    from kin4d.kinematics.random_motion import random_motion

    if frames < 2:
        raise InputError("a sweep needs frames", value=frames, allowed="frames >= 2")
    if walk < 0:
        raise InputError("a walk goes through states", value=walk, allowed="walk >= 0")
    learned = _learned(what, model, up, coordinates, joints)
    body = learned or _known(what)
    if not body.coordinates:
        raise InputError(f"'{what}' has no part that moves", hint="give --coordinates to force it")
    legs = len(body.coordinates) + walk
    check_memory(frames * legs, vertices=len(body.rest.vertices))
    q = [sweep_joints(body, frames=frames)]
    if walk:
        q.append(random_motion(body, walk, frames=frames, seed=seed))
    clip = bake(body, torch.cat(q), fps=fps)
    data = {"coordinates": list(body.coordinates), "frames": len(clip), "written": str(output)}
    if learned is not None:
        clip = replace(clip, up=up)
        data["confidence"] = learned.confidence
    save_clip_output(clip, output)
    names = ", ".join(body.coordinates)
    print_result(
        f"{len(body.coordinates)} coordinates ({names}), {len(clip)} frames, written to {output}",
        data,
        as_json=json,
    )


def _known(what: str) -> Body:
    from kin4d.bodies import analytic
    from kin4d.bodies.robot.registry import load_robot

    builtin = {
        body.__name__: body for body in (analytic.hinge, analytic.slider_chain, analytic.pendulum)
    }
    return builtin[what]() if what in builtin else load_robot(what)


def _learned(
    what: str, model: str, up: str, count: int | None, joints: bool
) -> LearnedBody | SegmentedBody | None:
    """The learned body of a mesh file; None if it is none."""
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.geometry.mesh import Mesh

    if Path(what).suffix.lower() not in READS:
        return None
    from kin4d.neurok import LearnedBody, articulate

    mesh = Mesh.load(what)
    if joints:
        body = articulate(mesh, model, up=up)
    else:
        body = LearnedBody.from_mesh(mesh, model, up=up, coordinates=count)
    warn_low_confidence(body.confidence)
    return body
