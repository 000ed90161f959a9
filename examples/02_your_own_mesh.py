"""A thrown mesh: any surface becomes a body, and `FloatingBase` sets it free.

The motion here is written by hand: a parabola and a steady spin, which is what a free body does
in the air. Pass a mesh file of your own as the first argument.
"""

import sys
from pathlib import Path

import torch

from kin4d import FloatingBase, Mesh, RigidBody, bake, write_clip
from kin4d.geometry.primitives import capsule

GRAVITY = 9.81  # m/s^2


def main(mesh_file: str | None = None, output: Path = Path("out/examples")) -> None:
    mesh = Mesh.load(mesh_file) if mesh_file else capsule(0.05, 0.2, color="#e07030")
    body = FloatingBase(RigidBody(mesh))
    seconds, fps = 1.0, 48
    t = torch.arange(int(seconds * fps), dtype=torch.float64) / fps
    q = body.q0.repeat(len(t), 1)
    q[:, 0] = 1.5 * t
    q[:, 2] = GRAVITY * t * (seconds - t) / 2
    q[:, 4] = 2 * torch.pi * t
    clip = bake(body, q, fps=fps)
    write_clip(clip, output / "thrown.glb")
    print(f"{mesh.name}: {len(mesh.faces)} faces, {body.mass.sum():.3f} kg, {len(clip)} frames")


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else main()
