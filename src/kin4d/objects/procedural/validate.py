"""Is an articulated object sound? Everything wrong with it, in words.

What is tested for overlap: surface points of every link (its vertices and random points) against
every closed piece of surface of every other link, both ways round, at rest, at the ends of each
joint's range, and at random coordinates. A point counts by its exact distance to the surface it is
inside of. Two open sheets that cross each other are not noticed, nor are overlaps that no point
falls into.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject, ObjectLink

CLEARANCE = 0.003
"""Overlap that is forgiven, as a fraction of the object's diameter: 3 mm on a cabinet of 1 m."""


@dataclass(frozen=True, eq=False, slots=True)
class _Solid:
    """A closed piece of a link's surface: triangles [F, 3, 3] and box [2, 3] in its frame, m."""

    triangles: np.ndarray
    bounds: np.ndarray

    @property
    def volume(self) -> float:
        """m^3; negative if the faces look inwards."""
        a, b, c = self.triangles.transpose(1, 0, 2) - self.triangles[0, 0]
        return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6)


def validate_object(
    obj: ArticulatedObject,
    *,
    points: int = 300,
    configurations: int = 8,
    clearance: float = CLEARANCE,
    seed: int = 0,
) -> list[str]:
    """What is wrong with `obj`; an empty list if nothing is.

    Args:
        obj: The object.
        points: Random surface points per link, beside its vertices.
        configurations: Random coordinates tried, beside rest and both ends of each range.
        clearance: Overlap that is forgiven, as a fraction of the diameter; makers are built to
            half of `CLEARANCE`, so that what the random points miss does not matter.
        seed: Of the random points and coordinates.
    """
    problems = _check_links(obj) + _check_joints(obj)
    if problems:
        return problems
    rng = np.random.Generator(np.random.PCG64(seed))
    q = states_to_validate(obj, configurations, rng)
    if not np.isfinite(obj.vertices(q)).all():
        return ["vertices are not finite within the joint range"]
    solids = [_solids(link) for link in obj.links]
    problems = [
        f"link '{link.name}' has a piece that is inside out"
        for link, pieces in zip(obj.links, solids, strict=True)
        if any(piece.volume < 0 for piece in pieces)
    ]
    return problems + _check_motion(obj) + _check_overlap(obj, solids, q, points, clearance, rng)


def states_to_validate(obj: ArticulatedObject, count: int, rng: np.random.Generator) -> np.ndarray:
    """[N, k]: rest, all low, all high, each joint alone at its ends, and `count` at random."""
    low, high = obj.limits.T
    rows = [obj.q0, low, high]
    for i in range(len(obj.q0)):
        for end in (low, high):
            row = obj.q0.copy()
            row[i] = end[i]
            rows.append(row)
    return np.concatenate([rows, low + (high - low) * rng.random((count, len(low)))])


def _check_links(obj: ArticulatedObject) -> list[str]:
    problems = []
    names = [link.name for link in obj.links]
    if len(set(names)) != len(names):
        problems.append("two links have the same name")
    for link in obj.links:
        where = f"link '{link.name}'"
        if len(link.vertices) == 0 or len(link.faces) == 0:
            problems.append(f"{where} is empty")
        elif link.faces.min() < 0 or link.faces.max() >= len(link.vertices):
            problems.append(f"{where} has faces that name vertices which do not exist")
        elif not np.isfinite(link.vertices).all():
            problems.append(f"{where} has vertices that are NaN or infinite")
        else:
            size = float(np.ptp(link.vertices, axis=0).max())
            areas = _areas(link)
            if not areas.sum() > 1e-6 * size**2:
                problems.append(f"{where} has no area")
            elif (flat := int((areas <= 1e-10 * size**2).sum())) > 0:
                problems.append(f"{where} has {flat} degenerate faces")
    return problems


def _check_joints(obj: ArticulatedObject) -> list[str]:
    problems = []
    if len(obj.joints) != len(obj.links) - 1:
        return [f"{len(obj.links)} links need {len(obj.links) - 1} joints, not {len(obj.joints)}"]
    seen = {obj.links[0].name}
    for joint, link in zip(obj.joints, obj.links[1:], strict=True):
        if joint.child != link.name or joint.parent not in seen:
            return [f"joint '{joint.name}' does not join link '{link.name}' to an earlier one"]
        seen.add(link.name)
    if not obj.free_joints:
        problems.append("nothing can move")
    if np.shape(obj.q0) != (len(obj.free_joints),) or not np.isfinite(obj.q0).all():
        return [*problems, f"q0 is not {len(obj.free_joints)} finite numbers"]
    for joint, rest in zip(obj.free_joints, obj.q0, strict=True):
        low, high = joint.limits
        if not (np.isfinite(low) and np.isfinite(high)):
            problems.append(f"joint '{joint.name}' has no finite range")
        elif not high - low > 1e-4:
            problems.append(f"joint '{joint.name}' has range zero")
        elif not low - 1e-9 <= rest <= high + 1e-9:
            problems.append(f"joint '{joint.name}' rests outside its range")
    return problems


def _check_motion(obj: ArticulatedObject) -> list[str]:
    """Each joint has to move some vertex between the ends of its range."""
    count = len(obj.q0)
    ends = np.repeat(obj.q0[None], 2 * count, 0)
    ends[np.arange(count), np.arange(count)] = obj.limits[:, 0]
    ends[count + np.arange(count), np.arange(count)] = obj.limits[:, 1]
    moved = obj.vertices(ends)
    travel = np.linalg.norm(moved[:count] - moved[count:], axis=-1).max(-1)
    # A full turn ends where it began, so look at half of it too.
    half = ends[:count].copy()
    half[np.arange(count), np.arange(count)] = obj.limits.mean(1)
    travel = np.maximum(travel, np.linalg.norm(obj.vertices(half) - moved[:count], axis=-1).max(-1))
    return [
        f"joint '{joint.name}' moves no points"
        for joint, far in zip(obj.free_joints, travel, strict=True)
        if far < 1e-3 * obj.bbox_diagonal
    ]


def _check_overlap(
    obj: ArticulatedObject,
    solids: list[list[_Solid]],
    q: np.ndarray,
    points: int,
    clearance: float,
    rng: np.random.Generator,
) -> list[str]:
    from kin4d.objects.procedural.penetration import point_depths

    allowed = clearance * obj.bbox_diagonal
    poses = obj.poses(q)
    samples = [_surface_points(link, points, rng) for link in obj.links]
    worst: dict[tuple[int, int], float] = {}
    for a in range(len(obj.links)):
        for b in range(len(obj.links)):
            if a == b or not solids[b]:
                continue
            relative = np.linalg.inv(poses[:, b]) @ poses[:, a]
            inside_b = (
                samples[a] @ relative[:, :3, :3].transpose(0, 2, 1) + relative[:, None, :3, 3]
            )
            flat = inside_b.reshape(-1, 3)
            bounds = np.stack([solid.bounds for solid in solids[b]])
            # Deeper than `allowed` in a solid is also that deep inside its box.
            low, high = bounds[:, 0] + allowed, bounds[:, 1] - allowed
            near = ((flat > low.min(0)) & (flat < high.max(0))).all(-1)
            flat = flat[near & ~_in_bearing(obj, a, b, flat)]
            for solid, lower, upper in zip(solids[b], low, high, strict=True):
                candidates = flat[((flat > lower) & (flat < upper)).all(-1)]
                if len(candidates):
                    deep = float(point_depths(candidates, solid.triangles).max())
                    if deep > allowed:
                        worst[a, b] = max(worst.get((a, b), 0.0), deep)
    return [
        f"link '{obj.links[a].name}' enters '{obj.links[b].name}' by {1e3 * deep:.1f} mm, "
        f"{1e3 * allowed:.1f} mm is allowed"
        for (a, b), deep in worst.items()
    ]


def _in_bearing(obj: ArticulatedObject, a: int, b: int, points: np.ndarray) -> np.ndarray:
    """[N] bool: points in b's frame that lie where the joint between links a and b runs."""
    if obj.parents[a] == b:
        joint, radius = obj.joints[a - 1], obj.links[a].bearing
        centre, axis = joint.origin[:3, 3], joint.origin[:3, :3] @ joint.axis
    elif obj.parents[b] == a:
        # The child's frame turns about, or slides along, this very line.
        joint, radius = obj.joints[b - 1], obj.links[b].bearing
        centre, axis = np.zeros(3), joint.axis
    else:
        return np.zeros(len(points), bool)
    offset = points - centre
    offset = offset - (offset @ axis)[:, None] * axis
    return np.einsum("ni,ni->n", offset, offset) <= radius**2


def _solids(link: ObjectLink) -> list[_Solid]:
    """The closed pieces of a link: every edge of them is passed as often one way as the other."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    faces = link.faces
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]]])
    graph = coo_matrix((np.ones(len(ends), np.int8), ends.T), shape=(len(link.vertices),) * 2)
    _, label = connected_components(graph, directed=False)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    low, high = edges.min(1), edges.max(1)
    keys, inverse = np.unique(low * len(link.vertices) + high, return_inverse=True)
    balance = np.bincount(inverse, np.where(edges[:, 0] == low, 1, -1), len(keys))
    open_labels = np.unique(label[edges[np.abs(balance[inverse]) > 0, 0]])
    out = []
    order = np.argsort(label[faces[:, 0]], kind="stable")
    face_label = label[faces[order, 0]]
    for group in np.split(order, np.flatnonzero(np.diff(face_label)) + 1):
        if label[faces[group[0], 0]] in open_labels:
            continue
        triangles = link.vertices[faces[group]]
        corners = triangles.reshape(-1, 3)
        out.append(_Solid(triangles, np.stack([corners.min(0), corners.max(0)])))
    return out


def _surface_points(link: ObjectLink, count: int, rng: np.random.Generator) -> np.ndarray:
    """[N, 3]: vertices and area-weighted random points, in the link's frame."""
    areas = _areas(link)
    chosen = link.faces[rng.choice(len(areas), count, p=areas / areas.sum())]
    u, v = np.sqrt(rng.random((count, 1))), rng.random((count, 1))
    a, b, c = (link.vertices[chosen[:, i]] for i in range(3))
    return np.concatenate([link.vertices, (1 - u) * a + u * (1 - v) * b + u * v * c])


def _areas(link: ObjectLink) -> np.ndarray:
    a, b, c = (link.vertices[link.faces[:, i]] for i in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=-1)
