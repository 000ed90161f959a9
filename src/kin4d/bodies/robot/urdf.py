"""URDF: a robot description file to links and joints."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint, Mimic
from kin4d.bodies.multi_dof import floating_joint, multi_dof_joints, planar_joint
from kin4d.bodies.robot.asset_resolver import AssetResolver
from kin4d.bodies.robot.spec import RobotSpec
from kin4d.errors import InputError
from kin4d.geometry.io.asset_paths import open_image
from kin4d.geometry.io.safe_xml import parse_xml
from kin4d.geometry.material import SurfaceMaterial, linear_color
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, capsule, cylinder, sphere
from kin4d.reading import Budget, reading

_KINDS = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "floating": "fixed",
    "planar": "fixed",
}
# The parser knows no capsules, so one travels through it as a mesh of this scheme.
_CAPSULE = "capsule:"


def read_urdf(
    path: str | Path, *, search_roots: Sequence[str | Path] = (), missing: str = "error"
) -> RobotSpec:
    """Read a URDF file and the meshes it names; see `RobotBody.from_urdf`."""
    path = Path(path)
    if missing not in ("error", "skip"):
        raise InputError("what to do about missing meshes?", value=missing, allowed="error, skip")
    with reading(path, "URDF file"):
        robot = _parse(path)
        looks = _Looks(robot, AssetResolver(path, search_roots), skip=missing == "skip")
        links = []
        for source in robot.links:
            meshes = [mesh for visual in source.visuals if (mesh := looks.mesh(visual)) is not None]
            surface = Mesh.concatenate(meshes, name=source.name) if meshes else None
            links.append(Link(source.name, surface, _inertial(source)))
        joints = []
        for source in robot.joints:
            simple, between = _joints(source)
            joints += simple
            links += between
        return RobotSpec(robot.name, links, joints, looks.missing)


def _parse(path: Path) -> Any:
    """The parsing library's object model of a URDF, checked for what it would choke on."""
    root = parse_xml(path)
    if root.tag != "robot":
        raise InputError(f"{path} is not a URDF", value=f"<{root.tag}>", allowed="<robot> as root")
    root.set("name", root.get("name") or path.stem)
    for element in list(root):
        if element.tag not in ("link", "joint", "material"):
            root.remove(element)
        if element.tag not in ("link", "joint"):
            continue
        where = f"{path}, line {element.sourceline}: <{element.tag}>"
        if not element.get("name"):
            raise InputError(f"{where} has no name")
        if element.tag == "joint":
            kind = element.get("type")
            if kind not in _KINDS:
                raise InputError(
                    f"{where} '{element.get('name')}' has an unknown type",
                    value=kind,
                    allowed=", ".join(_KINDS),
                )
            for end in ("parent", "child"):
                node = element.find(end)
                if node is None or not node.get("link"):
                    raise InputError(f"{where} '{element.get('name')}' names no {end} link")
    for visual in root.iterfind("link/visual"):
        if visual.find("geometry/*") is None:
            raise InputError(f"{path}, line {visual.sourceline}: <visual> has no shape")
    for collision in root.findall("link/collision"):
        collision.getparent().remove(collision)
    for shape in root.iterfind("link/visual/geometry/capsule"):
        size = f"{shape.get('radius')} {shape.get('length')}"
        shape.tag = "mesh"
        shape.set("filename", _CAPSULE + size)
    from yourdfpy import URDF

    logging.getLogger("yourdfpy").setLevel(logging.CRITICAL)
    model = URDF.load(io.BytesIO(etree.tostring(root)), build_scene_graph=False, load_meshes=False)
    if not model.robot.links:
        raise InputError(f"{path} has no links", allowed="at least one <link>")
    return model.robot


def _joints(source: Any) -> tuple[list[Joint], list[Link]]:
    """A joint of the file as simple joints, and the massless links between them."""
    mimic = source.mimic
    simple = Joint(
        name=source.name,
        kind=_KINDS[source.type],
        parent=source.parent,
        child=source.child,
        origin=np.eye(4) if source.origin is None else source.origin,
        axis=source.axis,
        limits=_limits(source),
        mimic=mimic and Mimic.linear(mimic.joint, mimic.multiplier, mimic.offset),
    )
    if source.type not in ("floating", "planar"):
        return [simple], []
    if mimic is not None:
        raise InputError(f"joint '{source.name}' has several coordinates and cannot mimic another")
    return multi_dof_joints(
        simple, floating_joint() if source.type == "floating" else planar_joint(simple.axis)
    )


def _limits(source: Any) -> tuple[float, float]:
    limit = source.limit
    if limit is None:
        return (-np.inf, np.inf)
    # The format's default for a bound that is not given is zero.
    lower, upper = (0.0 if bound is None else float(bound) for bound in (limit.lower, limit.upper))
    bounded = source.type in ("revolute", "prismatic") or np.isnan([lower, upper]).any()
    return (lower, upper) if bounded else (-np.inf, np.inf)


def _inertial(link: Any) -> Inertial | None:
    source = link.inertial
    if source is None or not source.mass:
        return None
    origin = np.eye(4) if source.origin is None else source.origin
    inertia = np.zeros((3, 3)) if source.inertia is None else source.inertia
    rotation = origin[:3, :3]
    try:
        return Inertial(source.mass, origin[:3, 3], rotation @ inertia @ rotation.T)
    except InputError as error:
        raise InputError(f"link '{link.name}': {error.what}", value=error.value) from error


class _Looks:
    """Visual elements to meshes, each file read once."""

    def __init__(self, robot: Any, resources: AssetResolver, *, skip: bool) -> None:
        self.resources, self.skip = resources, skip
        self.missing: list[str] = []
        self._files: dict[Path, Mesh] = {}
        self._drawn: set[Path] = set()
        self._budget = Budget(resources.description)
        named = [*robot.materials, *(v.material for link in robot.links for v in link.visuals)]
        self._materials = {
            material.name: material
            for material in reversed(named)
            if material is not None and (material.color or material.texture)
        }

    def mesh(self, visual: Any) -> Mesh | None:
        """The surface of one visual element in its link's frame, or None if it is missing."""
        geometry = visual.geometry
        if geometry is None:
            return None
        surface = self._file(geometry.mesh) if geometry.mesh is not None else _primitive(geometry)
        if surface is None:
            return None
        if visual.material is not None and _is_plain(surface):
            surface = replace(surface, materials=(self._material(visual.material),))
        return surface if visual.origin is None else surface.transformed(visual.origin)

    def _file(self, source: Any) -> Mesh | None:
        if source.filename and source.filename.startswith(_CAPSULE):
            radius, length = map(float, source.filename.removeprefix(_CAPSULE).split())
            return replace(capsule(radius, length), materials=(SurfaceMaterial(),))
        path = self._find(source.filename or "", "mesh")
        if path is None:
            return None
        if path not in self._files:
            self._files[path] = _load(path)
        surface = self._files[path]
        if path in self._drawn:  # a small file may draw a large one a thousand times
            self._budget.spend(200 * len(surface.vertices), f"'{source.filename}', drawn again,")
        self._drawn.add(path)
        if source.scale is not None:
            scale = np.broadcast_to(np.asarray(source.scale, np.float64), 3)
            if not (np.isfinite(scale).all() and (scale != 0).all()):
                raise InputError(f"mesh {path.name} has an impossible scale", value=scale.tolist())
            surface = surface.transformed(np.diag([*scale, 1.0]))
        return surface

    def _find(self, uri: str, what: str) -> Path | None:
        try:
            path = self.resources.find(uri)
            if path is None:
                raise InputError(
                    f"{self.resources.description.name} needs a {what} that is not there",
                    value=uri,
                    hint=f"looked in {self.resources.tried(uri)}; give its folder as a search "
                    "root; `kin4d robot FILE --inspect` draws the robot without it",
                )
        except InputError:
            if not self.skip:
                raise
            self.missing.append(uri)
            return None
        return path

    def _material(self, source: Any) -> SurfaceMaterial:
        if source.color is None and source.texture is None:
            source = self._materials.get(source.name, source)
        color = linear_color((0.8, 0.8, 0.8) if source.color is None else source.color.rgba)
        textures = {}
        if source.texture is not None and source.texture.filename:
            path = self._find(source.texture.filename, "texture")
            image = path and open_image(self.resources.description, "texture", path)
            if image is not None:
                textures["base_color"] = image
                color = (1.0, 1.0, 1.0, 1.0) if source.color is None else color
        return SurfaceMaterial(name=source.name or "material", base_color=color, textures=textures)


def _primitive(geometry: Any) -> Mesh:
    if geometry.box is not None:
        shape = box(tuple(geometry.box.size))
    elif geometry.cylinder is not None:
        shape = cylinder(geometry.cylinder.radius, geometry.cylinder.length)
    else:
        shape = sphere(geometry.sphere.radius)
    return replace(shape, materials=(SurfaceMaterial(),), source_up="z")


def _is_plain(mesh: Mesh) -> bool:
    """Whether a surface has no look of its own, so that the description's material counts."""
    return (
        mesh.colors is None
        and len(mesh.materials) == 1
        and not mesh.materials[0].textures
        and mesh.materials[0].base_color == SurfaceMaterial().base_color
    )


def _load(path: Path) -> Mesh:
    return Mesh.load(path, up="z")
