"""A door that opens: from a body to an animated file in four lines.

A body is a map from coordinates to geometry. `sweep_joints` moves each coordinate to its limits and
back,
`bake` turns coordinates into a clip, and `write_clip` writes any format by its suffix.
"""

from pathlib import Path

from kin4d import bake, sweep_joints, write_clip
from kin4d.bodies import hinge


def main(output: Path = Path("out/examples")) -> None:
    door = hinge(width=0.9, limits=(0.0, 1.6))
    clip = bake(door, sweep_joints(door, frames=49), fps=24)
    write_clip(clip, output / "door.glb")
    print(f"{len(clip)} frames, {door.coordinates[0]} from 0 to {door.limits[0, 1]:.2f} rad")


if __name__ == "__main__":
    main()
