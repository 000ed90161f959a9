"""A mesh gets joints: `articulate` predicts rigid parts and the axes they move about.

Coolers are not among the categories the network was trained on. The result is an articulated body
like one from a URDF: it can be simulated, posed, exported.
"""

from pathlib import Path

import numpy as np

import kin4d


def main(output: Path = Path("out/examples")) -> None:
    mesh = kin4d.load("cooler", seed=1).rest  # a mesh; its true joints are not used
    body = kin4d.articulate(mesh, mass=4.0)
    for joint in body.joints:
        low, high = np.degrees(joint.limits)
        print(f"{joint.name}: {joint.kind} about {np.round(joint.axis, 2)}")
        print(
            f"  from {low:.0f} to {high:.0f} degrees, through {np.round(joint.origin[:3, 3], 2)} m"
        )

    opening = np.sin(np.linspace(0, np.pi, 36))[:, None]  # rest, open, rest
    clip = kin4d.bake(body, opening * body.limits[:, 1].numpy())
    clip.save(output / "cooler.glb")
    clip.save(output / "02_articulate.gif", width=300, height=200)
    print(f"{len(clip)} frames in {output}")


if __name__ == "__main__":
    main()
