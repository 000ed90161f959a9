"""LinkAssets: the mesh files of a body's links, and what simulators need to know about its joints.

URDF and MJCF share them: one OBJ for each link and material (a visual of either format has one
material), textures as PNG, and one STL for the convex hull of each link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from kin4d.bodies.capabilities import KinematicTree
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.export.collision_hulls import colliding_at_rest, collision_hull
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.material import linear_to_srgb
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import submesh
from kin4d.geometry.topology import degenerate

_CONTACT_GAP = 5e-3  # of the body's size: links nearer than this at rest do not collide


@dataclass(frozen=True, eq=False, kw_only=True)
class Visual:
    """What is seen of a link in one material.

    Attributes:
        file: Its OBJ in the folder of the assets.
        mesh: In the link's frame, with one material.
        rgba: sRGB and alpha, 0 to 1; the mean where the vertices have colours.
        texture: The PNG of its base colour in the folder of the assets, or None.
    """

    file: str
    mesh: Mesh
    rgba: tuple[float, ...]
    texture: str | None


class LinkAssets:
    """The files of a body's links.

    Args:
        body: Rigid links on joints.

    Attributes:
        inertials: By link name; of a body without any, those of solids or shells of its meshes.
        visuals: By link name.
        hulls: Convex hull of each link with a surface, in the link's frame, by link name.
        hull_files: Its STL in the folder of the assets, by link name.
        excluded: Pairs of links that do not collide: neighbours, and those that touch at rest.
    """

    def __init__(self, body: KinematicTree) -> None:
        if not isinstance(body, KinematicTree):
            raise InputError(
                f"a {type(body).__name__} has no links and joints to write",
                allowed="a body of rigid links: SegmentedBody, ArticulatedBody, RobotBody",
            )
        self.body = body
        stems = _file_stems([link.name for link in body.links])
        self.inertials = {link.name: link.inertial for link in body.links if link.inertial}
        if not self.inertials:
            meshes = {link.name: link.mesh for link in body.links if link.mesh is not None}
            self.inertials = {name: Inertial.of_mesh(mesh) for name, mesh in meshes.items()}
        self.inertials = {name: one.physical() for name, one in self.inertials.items()}
        self.visuals: dict[str, list[Visual]] = {}
        self.hulls: dict[str, Mesh] = {}
        self.hull_files: dict[str, str] = {}
        self._textures: dict[int, tuple[str, object]] = {}
        for link, stem in zip(body.links, stems, strict=True):
            self.visuals[link.name] = []
            if link.mesh is None:
                continue
            self.visuals[link.name] = self._visuals(link.mesh, stem)
            self.hulls[link.name] = collision_hull(link.mesh)
            self.hull_files[link.name] = f"{stem}_collision.stl"
        self.excluded = self._excluded()

    def write(self, folder: Path) -> None:
        """Write all files into `folder`, which is made if it is not there."""
        import trimesh

        folder.mkdir(parents=True, exist_ok=True)
        for visuals in self.visuals.values():
            for visual in visuals:
                save_mesh(visual.mesh, folder / visual.file)
        for name, hull in self.hulls.items():
            solid = trimesh.Trimesh(hull.vertices, hull.faces, process=False)
            (folder / self.hull_files[name]).write_bytes(solid.export(file_type="stl"))  # pyright: ignore[reportArgumentType]
        for file, image in self._textures.values():
            image.convert("RGB").save(folder / file)  # pyright: ignore[reportAttributeAccessIssue]

    def _visuals(self, mesh: Mesh, stem: str) -> list[Visual]:
        looks: dict[tuple, list[int]] = {}  # materials that look the same share a file
        for index, material in enumerate(mesh.materials):
            images = tuple(sorted((slot, id(one)) for slot, one in material.textures.items()))
            look = (material.base_color, material.metallic, material.roughness, images)
            looks.setdefault(look, []).append(index)
        sound = ~degenerate(mesh.vertices, mesh.faces)
        wears, visuals = np.asarray(mesh.face_material), []
        for indices in looks.values():
            own = np.isin(wears, indices)
            if not (own & sound).any():
                continue
            part = submesh(mesh, own)
            part = replace(part, materials=part.materials[:1], face_material=None, source_up="z")
            material = part.materials[0]
            image = material.textures.get("base_color") if part.uv is not None else None
            texture = None
            if image is not None:
                file = f"{stem}_texture{len(self._textures)}.png"
                texture = self._textures.setdefault(id(image), (file, image))[0]
            suffix = f"__m{indices[0]}" if len(looks) > 1 else ""
            visuals.append(
                Visual(file=f"{stem}{suffix}.obj", mesh=part, rgba=_rgba(part), texture=texture)
            )
        return visuals

    def _excluded(self) -> list[tuple[str, str]]:
        """Links between which there is one joint or none, and links that touch at rest."""
        body = self.body
        above = {joint.child: joint for joint in body.joints}

        def solid(name: str) -> str:
            """The nearest link above that has a surface, across links without one."""
            while name in above and name not in self.hulls:
                name = above[name].parent
            return name

        neighbours = [
            (solid(above[name].parent), name)
            for name in self.hulls
            if name in above and solid(above[name].parent) in self.hulls
        ]
        with torch.no_grad():
            poses = body.link_poses(body.q0).numpy()
        placed = {
            name: hull.transformed(poses[body.link_index(name)])
            for name, hull in self.hulls.items()
        }
        gap = _CONTACT_GAP * body.rest.bbox_diagonal
        known = [frozenset(pair) for pair in neighbours]
        return [*neighbours, *colliding_at_rest(placed, gap=gap, skip=known)]


def linear_coupling(body: KinematicTree, joint: Joint) -> tuple[str, float, float]:
    """Leader, slope and offset of a joint that follows another in a straight line."""
    drive, row = body.drive, body.joints.index(joint)
    curve, scale = drive.coefficients[row], float(drive.scale[row])
    if np.abs(curve[2:]).max(initial=0) > 1e-12:
        raise InputError(
            f"joint '{joint.name}' follows another in a curve, which no URDF or USD can state",
            hint="write MJCF (.xml) alone",
        )
    offset = float(curve[0] + curve[1] * drive.shift[row])
    return body.coordinates[int(drive.column[row])], float(curve[1]) * scale, offset


def _file_stems(names: list[str]) -> list[str]:
    """File names for links, unique also where upper and lower case are one."""
    stems: list[str] = []
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip(".") or "link"
        taken = {other.lower() for other in stems}
        number, plain = 2, stem
        while stem.lower() in taken:
            stem, number = f"{plain}_{number}", number + 1
        stems.append(stem)
    return stems


def _rgba(mesh: Mesh) -> tuple[float, ...]:
    *linear, alpha = mesh.materials[0].base_color
    rgb = np.array([float(linear_to_srgb(channel)) for channel in linear])
    if mesh.colors is not None:
        rgb = rgb * mesh.colors[:, :3].mean(0) / 255
    return (*np.clip(rgb, 0, 1).tolist(), float(alpha))
