"""Push a lid and let go: mechanics in the coordinates of a body.

An actor is a body, what it is made of and what acts on it; a scene is actors and gravity. The body
here is predicted from a mesh, but a URDF or a soft solid is simulated by the same lines.
"""

from pathlib import Path

import numpy as np

import kin4d
from kin4d.export.video import write_image
from kin4d.render.plot import plot_lines


def main(output: Path = Path("out/examples")) -> None:
    body = kin4d.articulate(kin4d.load("cooler", seed=1).rest, mass=4.0)
    # Push where the lid moves most, in the direction in which it can go farther.
    ends = (body.vertices(body.limits.T) - body.vertices(body.q0)).numpy()  # [2, V, 3] m
    moved = max(ends, key=np.linalg.norm)
    edge = np.linalg.norm(moved, axis=1).argmax()
    force = 8.0 * moved[edge] / np.linalg.norm(moved[edge])  # N
    push = kin4d.Push(body.rest.vertices[edge], force=force, duration=0.25)
    lid = kin4d.Actor(body, forces=[push, kin4d.Damping(0.2)])
    run = kin4d.simulate(kin4d.Scene([lid]), seconds=2.0, fps=24)

    angle = run.clips[0].q
    assert angle is not None
    turned = np.degrees(np.abs(angle[:, 0]))
    print(f"the lid turns by up to {turned.max():.0f} degrees and ends at {turned[-1]:.0f}")
    print(f"simulated {run.real_time_factor:.0f} times faster than real time")
    run.clip.save(output / "lid.glb")
    run.clip.save(output / "04_simulate.gif", width=300, height=200)
    plot = plot_lines(run.clip.times, {"energy": run.energy}, title="energy", unit="J")
    write_image(plot, output / "lid_energy.png")


if __name__ == "__main__":
    main()
