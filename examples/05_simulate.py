"""Push a drawer shut, drop a ball on it: forces, contact and friction in a few lines.

An actor is a body, what it is made of and what acts on it; a scene is actors, gravity and a floor.
The result holds a clip of everything, with coordinates, energies and contacts of every frame.
"""

from pathlib import Path

import numpy as np

from kin4d import Actor, FloatingBase, RigidBody, Scene, simulate, write_clip
from kin4d.bodies import slider_chain
from kin4d.dynamics.forces import Push
from kin4d.geometry.primitives import sphere


def main(output: Path = Path("out/examples")) -> None:
    # The core: a body, a push, a scene, a run, a file.
    tray = slider_chain(count=1)
    push = Push((0.0, -0.16, 0.06), force=(0.0, 15.0, 0.0), start=0.2, duration=0.2)
    actor = Actor(tray, q=np.array([0.29]), material="wood", forces=[push])
    run = simulate(Scene([actor]), seconds=1.5, fps=24)
    write_clip(run.clip, output / "tray.glb")

    opening = run.clips[0].q[:, 0]  # pyright: ignore[reportOptionalSubscript]
    print(f"the tray was {opening[0]:.2f} m open and stops at {opening[-1]:.3f} m")

    # Bodies touch one another, and the floor.
    ball = FloatingBase(RigidBody(sphere(0.06, color="#c0504d", name="ball"), density=300.0))
    above = np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0])
    cast = [Actor(tray, material="wood"), Actor(ball, q=above, material="rubber")]
    both = Scene(cast, ground=-0.2)
    run = simulate(both, seconds=1.5, fps=24)
    write_clip(run.clip, output / "ball.glb")
    touching = int((run.clip.diagnostics["contacts"] > 0).sum())
    print(f"the ball touches in {touching} of {len(run.clip)} frames")


if __name__ == "__main__":
    main()
