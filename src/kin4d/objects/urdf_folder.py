"""Folders of URDF objects, such as PartNet-Mobility's, as a source like any other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from kin4d.bodies.joint import Joint, Mimic
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError
from kin4d.files import read_json
from kin4d.geometry.material import linear_to_srgb
from kin4d.geometry.mesh import Mesh
from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.procedural.assembly import ArticulatedObject, ObjectLink
from kin4d.objects.sources import FileSource
from kin4d.storage.sample_id import SampleId

_NAMES = ("object.urdf", "mobility.urdf")
_PARTNET = "PartNet-Mobility terms: research use, no redistribution"
_UNKNOWN = "unknown"
_MOBILITY = "partnet_mobility"
_LEAST_RANGE = 1e-4  # rad or m below which a joint is frozen


def urdf_source(folder: str | Path, *, licence: str | None = None) -> FileSource:
    """All objects in a folder: one subfolder each, with a .urdf file in it; or one object itself.

    Nothing but names is read until an object is drawn.

    Args:
        folder: Where they are.
        licence: Terms of all of them. By default PartNet-Mobility's where a meta.json says that
            it is from there, else what its "licence" says, else "unknown".
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="give the folder that holds the objects")
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    objects = [path for path in (folder, *inside) if _description(path) is not None]
    if not objects:
        raise InputError(
            f"{folder} holds no URDF objects",
            allowed=f"subfolders with {', '.join(_NAMES)} or a single .urdf file",
        )
    identities = [_identity(path, licence) for path in objects]
    return FileSource(folder.name, identities, partial(_load, tuple(objects), licence))


def load_urdf_object(folder: str | Path, *, licence: str | None = None) -> ArticulatedSample:
    """One object's folder; see `urdf_source`.

    Links that cannot move on each other become one. A joint without limits may make one full turn.
    Missing meshes, and objects of which no joint can move, are an `InputError`.
    """
    folder = Path(folder)
    description = _description(folder)
    if description is None:
        raise InputError(f"{folder} holds no .urdf file", allowed=", ".join(_NAMES))
    who = _identity(folder, licence)
    body = RobotBody.from_urdf(description)
    return ArticulatedSample(
        who, urdf_to_articulated(body, category=who.category, where=description)
    )


def urdf_to_articulated(
    body: RobotBody, *, category: str, where: str | Path = "the body"
) -> ArticulatedObject:
    """A body of rigid links as an articulated object whose link frames are aligned at q = 0.

    Args:
        body: The body.
        category: What it is.
        where: What to call it in errors.
    """
    import torch

    live = _live_joints(body, where)
    at_zero = body.q0.clone()
    for i, name in enumerate(body.coordinates):
        if name in live:
            at_zero[i] = 0.0
    with torch.no_grad():
        poses = dict(
            zip((link.name for link in body.links), body.link_poses(at_zero).numpy(), strict=True)
        )
    joint_above = {joint.child: joint for joint in body.joints}
    meshes = {link.name: link.mesh for link in body.links}
    carrier: dict[str, str] = {}
    for link in body.order:
        joint = joint_above.get(link)
        if joint is None or joint.name in live:
            carrier[link] = link
        else:
            carrier[link] = carrier[joint.parent]
    heads = [link for link in body.order if carrier[link] == link]
    links = tuple(
        _link(head, [link for link in body.order if carrier[link] == head], poses, meshes)
        for head in heads
    )
    joints = []
    for head in heads[1:]:
        joint = joint_above[head]
        parent = carrier[joint.parent]
        origin = np.eye(4)
        origin[:3, 3] = poses[head][:3, 3] - poses[parent][:3, 3]
        joints.append(
            Joint(
                name=joint.name,
                kind=joint.kind,
                parent=parent,
                child=head,
                origin=origin,
                axis=poses[head][:3, :3] @ joint.axis,
                limits=live[joint.name],
                mimic=_from_zero(joint.mimic),
            )
        )
    rest = dict(zip(body.coordinates, body.q0.tolist(), strict=True))
    free = [joint for joint in joints if joint.mimic is None]
    q0 = [float(np.clip(rest[joint.name], *joint.limits)) for joint in free]
    return ArticulatedObject(
        category=category, seed=0, links=links, joints=tuple(joints), q0=np.array(q0)
    )


def _live_joints(body: RobotBody, where: str | Path) -> dict[str, tuple[float, float]]:
    """Limits of the joints that can move, by name; followers of such joints are among them."""
    live = {}
    for joint in body.joints:
        low, high = joint.limits
        if joint.kind == "fixed" or joint.mimic is not None or not high - low > _LEAST_RANGE:
            continue
        if not np.isfinite([low, high]).all():
            if joint.kind == "prismatic":
                raise InputError(
                    f"{where}: slider '{joint.name}' has no limits",
                    value=joint.limits,
                    allowed="<limit lower= upper=> in metres",
                )
            low, high = -np.pi, np.pi
        live[joint.name] = (low, high)
    if not live:
        kinds = sorted({joint.kind for joint in body.joints})
        raise InputError(
            f"{where}: nothing can move: none of its {len(body.joints)} joints is live",
            value=", ".join(kinds) or "no joints",
            allowed="at least one revolute, continuous or prismatic joint with a range",
            hint="some downloads freeze all joints; restore their types from mobility_v2.json",
        )
    for joint in body.joints:
        if joint.mimic is not None and joint.mimic.leader in live:
            live[joint.name] = joint.limits
    return live


def _from_zero(mimic: Mimic | None) -> Mimic | None:
    """The same coupling without its offset, which is part of the pose at q = 0."""
    if mimic is None:
        return None
    low, high = mimic.domain
    return Mimic.linear(mimic.leader, 2 * float(mimic.coefficients[1]) / (high - low))


def _link(
    head: str,
    members: Iterable[str],
    poses: dict[str, np.ndarray],
    meshes: dict[str, Mesh | None],
) -> ObjectLink:
    """The link of `head` with all that is fixed to it, aligned with the world at q = 0."""
    vertices, faces = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)]
    colors, start = [np.zeros((0, 3), np.uint8)], 0
    for member in members:
        mesh = meshes[member]
        if mesh is None:
            continue
        pose = poses[member]
        vertices.append(mesh.vertices @ pose[:3, :3].T + (pose[:3, 3] - poses[head][:3, 3]))
        faces.append(mesh.faces + start)
        colors.append(_colors(mesh))
        start += len(mesh.vertices)
    return ObjectLink(head, np.concatenate(vertices), np.concatenate(faces), np.concatenate(colors))


def _colors(mesh: Mesh) -> np.ndarray:
    """[V, 3] sRGB: the base colour of a face each vertex is in."""
    shades = [[linear_to_srgb(x) for x in one.base_color[:3]] for one in mesh.materials]
    table = np.round(255 * np.clip(shades, 0, 1)).astype(np.uint8)
    colors = np.full((len(mesh.vertices), 3), 128, np.uint8)
    colors[mesh.faces] = table[mesh.face_material][:, None]
    return colors


def _description(folder: Path) -> Path | None:
    for name in _NAMES:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.urdf"))
    return found[0] if len(found) == 1 else None


def _identity(folder: Path, licence: str | None) -> SampleId:
    meta = read_json(folder / "meta.json") if (folder / "meta.json").is_file() else {}
    meta = meta if isinstance(meta, dict) else {}
    category = meta.get("category") or meta.get("model_cat") or folder.name.rpartition("_")[0]
    partnet = "partnet_mobility_id" in meta or "model_cat" in meta
    source = folder.parent.name or "folder"
    for mark, known in (
        ("partnet_mobility_id", _MOBILITY),
        ("model_cat", _MOBILITY),
        ("articraft_id", "articraft"),
    ):
        source = known if mark in meta else source
    stated = str(meta.get("licence") or meta.get("license") or _UNKNOWN)
    return SampleId(
        source=source,
        category=str(category or folder.name),
        name=folder.name,
        licence=licence or (_PARTNET if partnet else stated),
    )


def _load(folders: tuple[Path, ...], licence: str | None, index: int) -> ArticulatedSample:
    return _cached(folders[index], licence)


@lru_cache(maxsize=128)
def _cached(folder: Path, licence: str | None) -> ArticulatedSample:
    return load_urdf_object(folder, licence=licence)
