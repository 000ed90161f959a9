"""A mesh gets coordinates from a network: a `LearnedBody` is a map q -> x(q) learned from shapes.

The network has never seen this mesh. Its coordinates are dimensionless and sorted by how much they
move; `confidence` says whether the shape resembles those of training. Pass a mesh file of your own.
"""

import sys
from pathlib import Path

import kin4d


def main(mesh_file: str | None = None, output: Path = Path("out/examples")) -> None:
    if mesh_file is None:
        # No mesh at hand: make one. Its joints are not in the file.
        mesh_file = str(kin4d.load("drawer_unit", seed=0).rest.save(output / "drawers.glb"))
    body = kin4d.load(mesh_file, body_type="learned", dof=3)
    assert isinstance(body, kin4d.LearnedBody)
    print(f"{len(body.rest.vertices)} vertices, confidence {body.confidence:.2f}")
    for name, (low, high) in zip(body.coordinates, body.limits.tolist(), strict=True):
        print(f"  {name}: {low:.1f} to {high:.1f}")

    clip = kin4d.bake(body, kin4d.sweep_joints(body, frames=12), fps=12)
    clip.save(output / "learned_body.glb")
    clip.save(output / "01_learned_body.gif", width=270, height=180)
    print(f"{len(clip)} frames in {output}: each coordinate to its limits and back")


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else main()
