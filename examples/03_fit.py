"""Bring a body to a target: which coordinates explain a point cloud?

The target is an unordered cloud without correspondences, as a depth camera gives. The body knows
the laptop in one pose only; the network proposes how it may move, and the fit finds the pose.
"""

from pathlib import Path

import numpy as np
import torch

import kin4d
from kin4d.geometry.sampling import sample_surface


def main(output: Path = Path("out/examples")) -> None:
    truth = kin4d.load("laptop", seed=5)
    q = torch.lerp(truth.q0, truth.limits[:, 0], 0.7)  # 70 % of the way to its lower limit
    target = truth.vertices(q).numpy()
    cloud = sample_surface(truth.rest, 4096, seed=1).points(target)

    body = kin4d.LearnedBody.from_mesh(truth.rest)
    found = kin4d.fit(body, cloud)
    error = np.linalg.norm(found.vertices - target, axis=1).mean()
    rest = np.linalg.norm(truth.rest.vertices - target, axis=1).mean()
    print(f"vertices are {1e3 * error:.1f} mm off on average; {1e3 * rest:.1f} mm before the fit")

    # From rest to the pose that was found, and a pause to look at it.
    share = np.clip(np.linspace(0, 1.5, 36), 0, 1)[:, None]
    start = found.body.q0.numpy()
    clip = kin4d.bake(found.body, start + share * (found.q - start))
    clip.save(output / "fit.glb")
    clip.save(output / "03_fit.gif", width=300, height=200)
    print(f"{len(clip)} frames in {output}")


if __name__ == "__main__":
    main()
