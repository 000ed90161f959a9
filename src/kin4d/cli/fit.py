"""`kin4d fit`: bring a mesh, or a robot, into the pose of a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro

from kin4d.cli.output import print_result, save_clip_output, warn_low_confidence
from kin4d.errors import InputError

_FRAMES = 24


def fit(
    mesh: Annotated[Path, tyro.conf.Positional],
    *,
    target: Path,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    model: str = "small",
    up: Literal["y", "z"] = "y",
    partial: bool = False,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Find the pose in which a thing looks like a target, and write the way there from rest.

    No correspondences are needed, and what the target does not move stays exactly still.

    Args:
        mesh: A mesh file, whose ways of moving are learned, or a URDF, whose are known.
        target: The same thing in another pose, in the same place: a mesh file, or points as .npy
            [M, 3] or .xyz (metres).
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        model: Weights: a name that ships, a file, a folder or a hub id.
        up: The axis that points up in the mesh.
        partial: The target shows only some of the surface, as one camera sees it.
        seed: Of sampling.
        json: Print JSON for machines.
    """
    import torch

    from kin4d.bodies import bake, load_robot
    from kin4d.fitting.fit import fit as fit_body
    from kin4d.geometry.mesh import Mesh
    from kin4d.neurok import LearnedBody

    if mesh.suffix.lower() in (".urdf", ".xml"):
        body, up = load_robot(mesh), "z"
    else:
        body = LearnedBody.from_mesh(Mesh.load(mesh), model, up=up)
        warn_low_confidence(body.confidence)
    if target.suffix.lower() in (".npy", ".xyz", ".txt"):
        aim = _points(target)
    else:
        aim = Mesh.load(target)
    found = fit_body(body, aim, partial=partial, seed=seed)
    way = torch.linspace(0, 1, _FRAMES, dtype=torch.float64)[:, None]
    way = way * way * (3 - 2 * way)
    rest = found.body.q0
    q = rest + way * (torch.from_numpy(found.q) - rest)
    save_clip_output(replace(bake(found.body, q), up=up), output)
    facts = {
        "q": found.q.tolist(),
        "error": found.error,
        "rest_error": found.rest_error,
        "moved": list(found.moved),
        "starts": list(found.starts),
        "written": str(output),
    }
    print_result(
        f"mean distance {found.rest_error:.4g} m at rest, {found.error:.4g} m fitted; "
        f"moved: {', '.join(found.moved) or 'nothing'}; written to {output}",
        facts,
        as_json=json,
    )


def _points(path: Path) -> np.ndarray:
    """[M, 3] points of a .npy or plain text file."""
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path)[:, :3]
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path} holds no points: {error}") from error
