"""`kin4d demo`: the main jobs on things that ship with the package, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import say, write_motion


def demo(
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo"),
    json: bool = False,
) -> None:
    """Make a door and a robot arm move: animated files, and the arm as a metric pointmap video.

    Args:
        output: Folder for the results.
        json: Print JSON for machines.
    """
    import numpy as np

    from kin4d.bodies import hinge, play, sweep
    from kin4d.bodies.robot_names import load_robot
    from kin4d.export.video import write_video
    from kin4d.geometry.camera import Camera
    from kin4d.render.pointmaps import render_bodies

    made: dict[str, str] = {}

    def keep(name: str, what: str) -> Path:
        made[name] = what
        return output / name

    door = play(hinge(), sweep(hinge(), frames=49))
    write_motion(door, keep("door.glb", "a door swinging, for any 3D viewer"))
    write_motion(door, keep("door.gif", "the same as a picture"), width=480, height=320)

    arm = load_robot("sketch")
    q = sweep(arm, frames=12)
    video = render_bodies({"arm": arm}, [q], Camera.framing(play(arm, q).bounds), fps=24)
    video.save(keep("arm.npz", "the shipped arm seen by a camera: RGB, XYZ in metres, mask"))
    write_video(video.rgb, keep("arm.mp4", "the colours of it"), fps=24)
    seen = video.mask > 0
    depth = video.xyz[..., 2][seen]
    lines = [f"{output / name}: {what}" for name, what in made.items()]
    lines.append(
        f"the arm covers {seen.mean():.1%} of the picture, {depth.min():.2f} to "
        f"{depth.max():.2f} m from the camera"
    )
    say(
        "\n".join(lines),
        {"output": str(output), "files": made, "visible": float(np.mean(seen))},
        as_json=json,
    )
