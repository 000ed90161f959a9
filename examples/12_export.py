"""One clip in every format: for browsers, Blender, Unreal, Houdini, Python and people.

A body is a map from coordinates to geometry, `bake` turns coordinates into a clip, and `Clip.save`
writes any format by its suffix. Rigid parts become joints in GLB, so files stay small.
"""

from pathlib import Path

import kin4d
from kin4d.bodies import hinge


def main(output: Path = Path("out/examples")) -> None:
    door = hinge(width=0.9, limits=(0.0, 1.6))
    clip = kin4d.bake(door, kin4d.sweep_joints(door, frames=25), fps=24)
    formats = {
        "door.glb": "browsers, Blender, Unity, Unreal",
        "door.pc2": "Blender's mesh cache, with an OBJ",
        "door.npz": "kin4d, nothing is lost",
        "door.mp4": "people",
        "door_frames": "anything that reads one OBJ file per frame",
    }
    for name, reader in formats.items():
        path = clip.save(output / name)
        size = sum(f.stat().st_size for f in (path.rglob("*") if path.is_dir() else [path]))
        print(f"{path}: {size / 1e3:.0f} kB, for {reader}")
    again = kin4d.Clip.load(output / "door.npz")
    assert (again.vertices == clip.vertices).all()
    clip.save(output / "12_export.gif", width=300, height=200)


if __name__ == "__main__":
    main()
