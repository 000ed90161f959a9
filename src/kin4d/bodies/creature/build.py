"""skeletal_body: a body with a skeleton and a smooth skin, made from the shape alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from kin4d.bodies.creature.bones import BoneConfig, Bones, place_bones
from kin4d.bodies.creature.limits import skin_limit
from kin4d.bodies.creature.skin import bone_weights
from kin4d.bodies.segmented import ROOT, JointSpec, SegmentedBody
from kin4d.bodies.skin_distortion import SkinDistortion
from kin4d.bodies.skinned import SkinnedBody, fade_weights
from kin4d.geometry.curve_skeleton import CurveSkeleton, SkeletonConfig, curve_skeleton
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mirror_plane import find_mirror_plane
from kin4d.geometry.solid_voxels import SolidVoxels

_MIRRORED = 1.6  # voxels that a mirrored solid may be off
_CARRIES = 0.5  # the most that any vertex follows a bone, below which the bone has no joint


@dataclass(frozen=True, kw_only=True)
class CreatureConfig:
    """How a shape becomes a skeleton in a skin.

    Attributes:
        voxels: About how many fill it.
        skeleton: Which ends are branches.
        bones: Where joints are.
        bend: rad, the most that a joint bends to either side.
        twist: rad, the most that a branch's first joint turns about the branch.
        budget: Share of all edges that one coordinate at its limit may distort.
        search: rad, as far as a fit bends a joint.
        sharpness: Of the skin; see `heat_weights`.
    """

    voxels: int = 24_000
    skeleton: SkeletonConfig = field(default_factory=SkeletonConfig)
    bones: BoneConfig = field(default_factory=BoneConfig)
    bend: float = 0.8
    twist: float = 0.35
    budget: float = 0.003
    search: float = 2.0
    sharpness: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class CreatureShape:
    """What a shape alone says about how it may bend.

    Attributes:
        solid: Its voxels.
        skeleton: Its centre lines.
        bones: Its bones.
    """

    solid: SolidVoxels
    skeleton: CurveSkeleton
    bones: Bones

    @classmethod
    def of(cls, mesh: Mesh, config: CreatureConfig) -> CreatureShape:
        """Of any mesh."""
        solid = SolidVoxels.of(mesh, count=config.voxels)
        plane = find_mirror_plane(solid.centres, tolerance=_MIRRORED * solid.step)
        skeleton = curve_skeleton(solid, plane, config.skeleton)
        bones = place_bones(skeleton, size=mesh.bbox_diagonal, config=config.bones)
        return cls(solid=solid, skeleton=skeleton, bones=bones)


def skeletal_body(
    mesh: Mesh,
    *,
    mass: float | np.ndarray = 1.0,
    config: CreatureConfig | None = None,
    shape: CreatureShape | None = None,
) -> SkinnedBody:
    """A skeleton of ball and universal joints in a skin that bends smoothly.

    Joints are called joint1, joint2 and so on from the root outwards, and mirror images of each
    other joint2a and joint2b. Each bends about two axes, forward and sideways; the first joint of a
    branch also turns about the branch.

    Args:
        mesh: Any: open, in shells, not manifold. Shells that are small ride along as a piece.
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        config: How.
        shape: Its skeleton, if known.
    """
    config = config or CreatureConfig()
    shape = shape or CreatureShape.of(mesh, config)
    weights = fade_weights(
        bone_weights(mesh, shape.solid, shape.skeleton, shape.bones, config.sharpness)
    )
    specs, search, link_of_bone = _joint_specs(mesh, shape, weights, config)
    tree = SegmentedBody(mesh, link_of_bone[weights.argmax(1)], specs, mass=mass)
    spread = np.zeros((len(weights), len(specs) + 1))
    np.add.at(spread.T, link_of_bone, weights.T)
    limits = torch.from_numpy(np.stack([-np.array(search), np.array(search)], -1).reshape(-1, 2))
    return SkinnedBody(tree, spread, search_limits=limits)


def _joint_specs(
    mesh: Mesh, shape: CreatureShape, weights: np.ndarray, config: CreatureConfig
) -> tuple[list[JointSpec], list[float], np.ndarray]:
    """A spec for every coordinate, how far a fit takes each, and the link [B] of every bone."""
    bones, points = shape.bones, shape.skeleton.points[shape.bones.node]
    distortion, names = SkinDistortion.of(mesh), bone_names(shape)
    follows = _subtree_sums(bones.parent, weights)
    moves = [_moves(shape, bone, config) for bone in range(len(bones))]
    limits = [
        [
            skin_limit(
                distortion,
                mesh.vertices,
                follows[:, bone],
                point=points[bone],
                axis=axis,
                most=most,
                budget=config.budget,
            )
            for _, axis, most in moves[bone]
        ]
        for bone in range(len(bones))
    ]
    specs: list[JointSpec] = []
    search, link = [], np.zeros(len(bones), np.int64)
    for bone in range(1, len(bones)):
        parent = int(link[bones.parent[bone]])
        if follows[:, [bone, bones.mirror[bone]]].max(0).min() < _CARRIES:
            link[bone] = parent
            continue
        # Mirror images reach equally far, also where their triangles differ.
        pair = np.minimum(limits[bone], limits[bones.mirror[bone]])
        for (name, axis, _), limit in zip(moves[bone], pair.tolist(), strict=True):
            specs.append(
                JointSpec(
                    name=f"{names[bone]}.{name}",
                    parent=parent,
                    kind="revolute",
                    point=points[bone],
                    axis=axis,
                    limits=(-limit, limit),
                )
            )
            search.append(max(limit, config.search * (0.5 if name == "twist" else 1.0)))
            parent = len(specs)
        link[bone] = parent
    return specs, search, link


def _moves(
    shape: CreatureShape, bone: int, config: CreatureConfig
) -> list[tuple[str, np.ndarray, float]]:
    """Names, axes [3] and largest angles (rad) of a joint's coordinates; the root has none."""
    if bone == 0:
        return []
    forward, sideways, along = _axes(shape, bone)
    found = [("bend", forward, config.bend), ("sway", sideways, config.bend)]
    return [*found, ("twist", along, config.twist)] if shape.bones.first[bone] else found


def bone_names(shape: CreatureShape) -> list[str]:
    """The root's name, then joint1, joint2a, joint2b and so on; mirror images share a number."""
    bones, names, number = shape.bones, [ROOT], 0
    numbers: dict[int, int] = {}
    for bone in range(1, len(bones)):
        twin = int(bones.mirror[bone])
        if min(bone, twin) not in numbers:
            number += 1
            numbers[min(bone, twin)] = number
        side = "" if twin == bone else "ab"[bone > twin]
        names.append(f"joint{numbers[min(bone, twin)]}{side}")
    return names


def _axes(shape: CreatureShape, bone: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Axes [3] of a joint: across and along the plane of symmetry, or level, and the bone's.

    The axes of mirror images are mirrored rotations: equal values make symmetric poses.
    """
    bones, plane = shape.bones, shape.skeleton.plane
    twin = int(bones.mirror[bone])
    if plane is not None and twin < bone:
        # A mirrored rotation is about the mirrored axis, the other way round.
        return tuple(2 * (axis @ plane.normal) * plane.normal - axis for axis in _axes(shape, twin))  # pyright: ignore[reportReturnType]
    along = bones.direction[bone]
    candidates = [np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])]
    across = plane.normal if plane is not None else np.cross(candidates[0], along)
    for lateral in (across, *candidates):
        forward = lateral - (lateral @ along) * along
        length = np.linalg.norm(forward)
        if length > 0.3:
            forward = forward / length
            return forward, np.cross(along, forward), along
    raise AssertionError("two of three independent axes are across any direction")


def _subtree_sums(parent: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[V, B] how much each vertex follows each bone or any bone on it."""
    total = weights.copy()
    for bone in range(len(parent) - 1, 0, -1):
        total[:, parent[bone]] += total[:, bone]
    return total
