"""Articulated bodies as files that simulators read: URDF, MJCF, USD."""

from __future__ import annotations

from pathlib import Path

from kin4d.bodies.capabilities import KinematicTree
from kin4d.errors import InputError
from kin4d.export.link_assets import LinkAssets
from kin4d.export.mjcf import mjcf_text
from kin4d.export.urdf import urdf_text
from kin4d.export.usd import USD_SUFFIXES
from kin4d.files import atomic_path, write_bytes

ARTICULATED_SUFFIXES = (".urdf", ".xml", *USD_SUFFIXES[:3])


def check_suffix(path: Path) -> str:
    """The suffix of `path`, or an `InputError` if `write_articulated` does not write it."""
    suffix = path.suffix.lower()
    if suffix not in ARTICULATED_SUFFIXES:
        raise InputError(
            f"no writer for an articulated body in {path}",
            value=suffix,
            allowed=", ".join(ARTICULATED_SUFFIXES),
        )
    return suffix


def write_articulated(body: KinematicTree, path: str | Path) -> list[Path]:
    """Write a body of rigid links on joints, with meshes, inertials, limits and couplings.

    The root is fixed to the world, lengths are metres and z is up. Collision shapes are convex
    hulls of the links. Damping and friction are chosen so that the body rests where it is; see
    `kin4d.export.joint_dynamics`.

    Args:
        body: A `SegmentedBody`, `ArticulatedBody` or `RobotBody`.
        path: ``.urdf`` (writes MJCF beside it, with the suffix .xml), ``.xml`` (MJCF alone), or
            ``.usd``, ``.usda``, ``.usdc`` (USD physics; extra ``[usd]``). Meshes and textures go to
            ``<stem>_meshes/`` beside URDF and MJCF.

    Returns:
        The files, without meshes.
    """
    path = Path(path)
    suffix = check_suffix(path)
    assets = LinkAssets(body)
    if suffix in USD_SUFFIXES:
        from kin4d.export.usd_physics import write_usd_physics

        return [write_usd_physics(assets, path)]
    folder = path.with_name(f"{path.stem}_meshes")
    texts = {path.with_suffix(".xml"): mjcf_text(assets, folder=folder.name)}
    if suffix == ".urdf":
        texts = {path: urdf_text(assets, folder=folder.name), **texts}
    with atomic_path(folder) as target:
        assets.write(target)
    return [write_bytes(file, text.encode()) for file, text in texts.items()]
