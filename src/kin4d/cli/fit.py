"""`kin4d fit`: bring a mesh, or a robot, into the pose of a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from kin4d.cli.output import print_choice, print_result, save_clip_output
from kin4d.cli.ranges import Seed
from kin4d.files import existing_file, read_array
from kin4d.geometry.up_axis import UpAxis, to_z_up
from kin4d.loading import BodyType, load
from kin4d.reading import reading

if TYPE_CHECKING:
    from kin4d.bodies.body import Body

_FRAMES = 24


def fit_command(
    what: Annotated[str, tyro.conf.Positional],
    *,
    target: Path,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    weights: str = "small",
    body_type: BodyType = "auto",
    up: UpAxis | None = None,
    partial: bool = False,
    seed: Seed = 0,
    json: bool = False,
) -> None:
    """Find the pose in which a body matches a target, and write the motion there from rest.

    No correspondences are needed, and what the target does not move stays exactly still.

    Args:
        what: A mesh file, whose coordinates a network predicts; or a URDF, MJCF, robot or object,
            as for `kin4d animate`.
        target: The same object in another pose, in the same position: a mesh file, or points as
            .npy [M, 3] or .xyz (metres).
        output: GLB, USD, PC2, NPZ, MP4, GIF, or a folder for an OBJ sequence.
        weights: For meshes: a name that ships, a file, a folder or a hub id.
        body_type: Of a mesh: skeleton (joints in a skin that bends, free in space), learned,
            articulated, solid or sheet. Auto is a skeleton for a smooth shape with branches, else
            learned.
        up: The axis that points up in mesh files (y by default, or what a DAE file states) and in
            points (by default as in the file of the body; z for robots and objects).
        partial: The target shows only some of the surface, as one camera sees it.
        seed: Of sampling.
        json: Print JSON for machines.
    """
    import torch

    from kin4d.bodies import bake
    from kin4d.bodies.capabilities import FloatingRoot
    from kin4d.fitting.fit import fit as fit_body
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.geometry.mesh import Mesh

    if Path(what).suffix.lower() in READS:
        body = _load_fitted(what, body_type, weights=weights, up=up)
    else:
        body = load(what, seed=seed)
    if target.suffix.lower() in (".npy", ".xyz", ".txt"):
        aim = to_z_up(read_points(target), up or body.rest.source_up or "z")
    else:
        aim = Mesh.load(target, up=up)
    if isinstance(body, FloatingRoot):
        # Random poses in space are of no use: the search begins where the body is.
        found = fit_body(body, aim, partial=partial, starts=body.q0[None], seed=seed)
    else:
        found = fit_body(body, aim, partial=partial, seed=seed)
    ease = torch.linspace(0, 1, _FRAMES, dtype=torch.float64)[:, None]
    ease = ease * ease * (3 - 2 * ease)
    rest = found.body.q0
    q = rest + ease * (torch.from_numpy(found.q) - rest)
    save_clip_output(bake(found.body, q), output)
    facts = {
        "coordinates": list(found.body.coordinates),
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


def _load_fitted(what: str, body_type: BodyType, *, weights: str, up: UpAxis | None) -> Body:
    """The body of a mesh file. What has a skeleton can also move as a whole."""
    from kin4d.bodies.capabilities import BlendedTree
    from kin4d.bodies.floating import FloatingBase

    if body_type == "auto":
        body_type = _fitted_type(what, up)
    body = load(what, body_type=body_type, weights=weights, up=up)
    return FloatingBase(body) if isinstance(body, BlendedTree) else body


def _fitted_type(what: str, up: UpAxis | None) -> BodyType:
    from kin4d.bodies.creature.evidence import ShapeEvidence
    from kin4d.geometry.mesh import Mesh

    evidence = ShapeEvidence.of(Mesh.load(what, up=up))
    chosen: BodyType = "skeleton" if evidence.is_creature else "learned"
    print_choice(f"{chosen} body: {evidence}")
    return chosen


def read_points(path: Path) -> np.ndarray:
    """[M, 3] points of a .npy or plain text file."""
    path = existing_file(path)
    with reading(path, "file of points"):
        if path.suffix.lower() == ".npy":
            points = read_array(path, what="file of points").astype(np.float64)
        else:
            points = np.loadtxt(path, ndmin=2)
        points = points[:, :3] if points.ndim == 2 else points
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise ValueError(f"it holds numbers of shape {points.shape}, not [M, 3]")
        if not np.isfinite(points).all():
            raise ValueError("it holds points that are not finite")
        return points
