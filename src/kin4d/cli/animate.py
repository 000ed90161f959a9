"""`kin4d animate`: move a body through its own coordinates, so that one sees what can move."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tyro

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import BlendedTree, FloatingRoot, Predicted, PredictedJoints
from kin4d.cli.articulate import describe
from kin4d.cli.output import (
    check_memory,
    print_choice,
    print_result,
    save_clip_output,
    warn_of_several_objects,
)
from kin4d.cli.ranges import Count, Fps, Natural, Seed
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import BodyType, load

_SWEEP = 600  # frames of a sweep of all coordinates, about
_EACH = 48  # of one coordinate, and between random states
_LEAST = 8
_STATES = 4  # random ones that a skeleton visits


def animate_command(
    what: Annotated[str, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    frames: Natural | None = None,
    random_states: Natural | None = None,
    fps: Fps = 24.0,
    weights: str = "small",
    up: UpAxis | None = None,
    body_type: BodyType = "auto",
    dof: Count | None = None,
    seed: Seed = 0,
    json: bool = False,
) -> None:
    """Sweep every coordinate of a body to both its limits and back, and write the motion.

    Args:
        what: A mesh file, whose coordinates a network predicts; a URDF or MJCF file; a robot's name
            (`kin4d robot --list`); an object category, such as drawer_unit; or one of the built-in
            bodies: hinge, slider_chain, pendulum.
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        frames: Frames per coordinate, and from each random state to the next. By default 48, and
            fewer per coordinate where there are many: a sweep has about 600, at least 8 each.
        random_states: How many random plausible states to visit after the sweep; by default 4 of a
            skeleton, else none.
        fps: Frames per second.
        weights: For meshes: a name that ships, a file, a folder or a hub id.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        body_type: Of a mesh: skeleton (joints in a skin that bends), articulated (rigid parts on
            predicted joints), learned, rigid, solid or sheet. Auto is a skeleton for a smooth shape
            with branches, articulated where a joint is probable, else a soft solid, whose
            vibration modes move it.
        dof: How many coordinates a learned body gets; by default as many as move it visibly.
        seed: Of random states, and of an object category.
        json: Print JSON for machines.
    """
    import torch

    from kin4d.bodies import bake, sweep_joints
    from kin4d.errors import InputError
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.kinematics.random_motion import random_motion

    if frames is not None and frames < 2:
        raise InputError("a sweep needs frames", value=frames, allowed="frames >= 2")
    if random_states is not None and random_states < 0:
        raise InputError("number of random states", value=random_states, allowed=">= 0")
    if Path(what).suffix.lower() in READS:
        chosen = "learned" if dof is not None and body_type == "auto" else body_type
        body = load_moving(what, chosen, weights=weights, up=up, dof=dof)
    else:
        body = load(what, dof=dof, seed=seed)
    if Path(what).suffix.lower() in READS:
        warn_of_several_objects(body.rest)
    if not body.coordinates:
        raise InputError(f"'{what}' has no part that moves", hint="try --body-type solid")
    count = len(body.coordinates)
    each = min(max(_SWEEP // count, _LEAST), _EACH) if frames is None else frames
    between = _EACH if frames is None else frames
    if random_states is None:
        random_states = _STATES if isinstance(body, BlendedTree) else 0
    check_memory(each * count + between * random_states, vertices=len(body.rest.vertices))
    q = [sweep_joints(body, frames=each)]
    if random_states:
        q.append(random_motion(body, random_states, frames=between, seed=seed))
    clip = bake(body, torch.cat(q), fps=fps)
    data = {"coordinates": list(body.coordinates), "frames": len(clip), "written": str(output)}
    names = ", ".join(body.coordinates)
    lines = [f"{len(body.coordinates)} coordinates ({names}), {len(clip)} frames"]
    if isinstance(body, Predicted):
        data["confidence"] = body.confidence
    if isinstance(body, PredictedJoints):
        data["probabilities"] = [joint.probability for joint in body.joint_specs]
        lines += [f"  {joint.name}  {describe(joint)}" for joint in body.joint_specs]
    save_clip_output(clip, output)
    print_result("\n".join([*lines, f"written to {output}"]), data, as_json=json)


def load_moving(
    what: str, body_type: BodyType, *, weights: str, up: UpAxis | None, dof: int | None
) -> Body:
    """The body of a mesh file, with a notice of what "auto" decided; nothing is rigid for it."""
    if body_type != "auto":
        return load(what, body_type=body_type, weights=weights, up=up, dof=dof)
    body = load(what, weights=weights, up=up, report=print_choice)
    if not isinstance(body, FloatingRoot):
        return body
    # Rigid or soft: no part of it moves by itself, so its vibrations are shown.
    print("nothing bends: showing the elastic modes of a soft solid", file=sys.stderr)
    return load(what, body_type="solid", up=up)
