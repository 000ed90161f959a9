"""A ball drops into an open drawer: contact and friction between bodies, and with the floor.

`FloatingBase` lets any body move freely. Every body may touch every other; materials say how they
slide and bounce.
"""

from pathlib import Path

import numpy as np

import kin4d
from kin4d.bodies import slider_chain
from kin4d.geometry.primitives import sphere


def main(output: Path = Path("out/examples")) -> None:
    tray = slider_chain(count=1)
    ball = kin4d.FloatingBase(kin4d.RigidBody(sphere(0.06, color="#c0504d"), density=300.0))
    drawer = kin4d.Actor(tray, material="wood", q=[0.25])  # 0.25 m open
    above = [0.0, -0.25, 0.6, 0.0, 0.0, 0.0]  # position (m) and rotation vector (rad)
    falling = kin4d.Actor(ball, material="rubber", q=above)
    run = kin4d.simulate(kin4d.Scene([drawer, falling], ground=-0.2), seconds=1.5, fps=24)

    contacts = run.clips[1].diagnostics["contacts"]
    depth = run.clips[1].diagnostics["penetration"].max()
    path = run.clips[1].q
    assert path is not None
    print(f"the ball touches in {int((contacts > 0).sum())} of {len(run.clip)} frames")
    print(f"it overlaps by at most {1e3 * depth:.2f} mm and ends at {np.round(path[-1, :3], 2)} m")
    run.clip.save(output / "ball.glb")
    run.clip.save(output / "05_contact.gif", width=300, height=200)


if __name__ == "__main__":
    main()
