"""`kin4d animate`: move a body through its own coordinates, so that one sees what can move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import check_memory, say, write_motion


def animate(
    what: Annotated[str, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    frames: int = 48,
    fps: float = 24.0,
    json: bool = False,
) -> None:
    """Sweep every coordinate of a body to both its limits and back, and write the motion.

    Args:
        what: A URDF or MJCF file, the name of a robot (`kin4d robot --list`), or one of the
            built-in bodies: hinge, slider_chain, pendulum.
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        frames: Frames per coordinate.
        fps: Frames per second.
        json: Print JSON for machines.
    """
    from kin4d.bodies import analytic, play, sweep
    from kin4d.bodies.robot_names import load_robot
    from kin4d.errors import InputError

    if frames < 2:
        raise InputError("a sweep needs frames", value=frames, allowed="frames >= 2")
    builtin = {
        body.__name__: body for body in (analytic.hinge, analytic.slider_chain, analytic.pendulum)
    }
    body = builtin[what]() if what in builtin else load_robot(what)
    if not body.coordinates:
        raise InputError(f"'{what}' has no joint that moves")
    check_memory(frames * len(body.coordinates), vertices=len(body.rest.vertices))
    clip = play(body, sweep(body, frames=frames), fps=fps)
    write_motion(clip, output)
    names = ", ".join(body.coordinates)
    say(
        f"{len(body.coordinates)} coordinates ({names}), {len(clip)} frames, written to {output}",
        {"coordinates": list(body.coordinates), "frames": len(clip), "written": str(output)},
        as_json=json,
    )
