"""A scanned robot: a mesh in unknown pose and scale becomes a body that moves like its URDF."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.calibration.scan_registration.labels import label_triangles
from kin4d.calibration.scan_registration.refine import PoseRefiner
from kin4d.calibration.scan_registration.search import HypothesisSearch
from kin4d.calibration.scan_registration.surface import (
    NearField,
    ScanSamples,
    exposed_links,
    exposure,
    sample_links,
    sample_scan,
    smooth_normals,
)
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import submesh
from kin4d.geometry.transforms import rigid_inverse

ACCEPTED = 0.75
CONVINCING = 0.93


@dataclass(frozen=True, eq=False, kw_only=True)
class ScanRegistration:
    """How a body stands in a scan.

    Attributes:
        scale: Scan units per metre.
        pose: [4, 4] rigid, the body's frame in the scan's, metres; a point p of the body lies at
            ``scale * (pose @ p)`` in the scan.
        q: [k] float64, the body's coordinates (rad or m).
        residual: Root mean square distance (m) of the scan from the body, over what fits.
        coverage: Share of the scan, 0 to 1, that lies on the body.
        undetermined: Coordinates the scan's shape does not fix: turning a round link changes
            nothing that can be seen. Their values in `q` are arbitrary.
        ambiguous: Coordinates for which a quite different value fits almost as well.
        triangle_link: [F] int64, the link each triangle of the scan belongs to.
    """

    scale: float
    pose: np.ndarray
    q: np.ndarray
    residual: float
    coverage: float
    undetermined: tuple[str, ...]
    ambiguous: tuple[str, ...]
    triangle_link: np.ndarray

    @property
    def similarity(self) -> np.ndarray:
        """[4, 4] from the body's frame (m) to the scan's (its own units)."""
        return np.diag([self.scale, self.scale, self.scale, 1.0]) @ self.pose


def register_scan(
    mesh: Mesh,
    body: ArticulatedBody,
    *,
    up: np.ndarray | None = None,
    restarts: int = 3,
    seed: int = 0,
) -> ScanRegistration:
    """Find scale, pose and joint values of `body` in a scan of it, and label the scan's triangles.

    Args:
        mesh: The scan: its visible surface in any units, alone (no floor, no table).
        body: The robot, usually from its URDF.
        up: [3] direction of the body's z axis in the scan, to about 25 degrees, if known; it makes
            the search surer.
        restarts: How many links to start the search from before giving up.
        seed: Of the random samples.

    Raises:
        InputError: If the best fit leaves too much of the scan unexplained: another robot, a scan
            with much else in it, or one with most of the robot missing.
    """
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        links = exposed_links(body, sample_links(body, 60_000, seed=seed), rng)
        scan, scale = _in_metres(sample_scan(mesh, 40_000, seed=seed), links)
        center = scan.points.mean(0)
        scan = replace(scan, points=scan.points - center)
        towards = None if up is None else _unit(up)
        search = HypothesisSearch(body, links, NearField(scan.points, scan.normals), rng=rng)
        refiner = PoseRefiner(body, links, scan, rng=rng)
        fits = []
        for anchor in search.anchors()[: max(1, restarts)]:
            fits += refiner.refine(*search.run(anchor, up=towards))
            if fits and max(fit.coverage for fit in fits) > CONVINCING:
                break
        if not fits or (best := min(fits, key=lambda fit: fit.cost)).coverage < ACCEPTED:
            covered = 0 if not fits else round(100 * best.coverage)
            raise InputError(
                f"mesh '{mesh.name}' does not look like '{body.name}': "
                f"at best {covered} % of its surface lies on the robot",
                allowed=f"{ACCEPTED:.0%} or more",
                hint="check that the URDF is of this robot and remove table, floor and cables",
            )
        undetermined = refiner.undetermined(best)
        ambiguous = refiner.ambiguous(best, fits)
        poses = body.link_poses(best.guess.q)[0].numpy()
        spacing = float(np.sqrt(links.area.max()))
    similarity = best.guess.similarity[0].numpy()
    grown = float(best.guess.scale)
    pose = similarity / grown
    pose[:3, 3] = (similarity[:3, 3] + center) / grown
    pose[3, 3] = 1
    scale = scale * grown
    inverse = rigid_inverse(torch.from_numpy(pose)).numpy()
    vertices = mesh.vertices / scale @ inverse[:3, :3].T + inverse[:3, 3]
    return ScanRegistration(
        scale=scale,
        pose=pose,
        q=best.guess.q[0].numpy(),
        residual=best.residual,
        coverage=best.coverage,
        undetermined=undetermined,
        ambiguous=tuple(name for name in ambiguous if name not in undetermined),
        triangle_link=label_triangles(
            vertices, mesh.faces, links, poses, max(best.residual, 1.5 * spacing)
        ),
    )


def scanned_body(
    mesh: Mesh, body: ArticulatedBody, registration: ScanRegistration
) -> ArticulatedBody:
    """The robot with the scan's look: its joints, limits and inertials are those of `body`.

    Each link's surface is the scan's triangles of that link, in the link's frame and in metres,
    with their texture coordinates, colours and materials. Vertices on a border between links are
    doubled. A link without triangles has no surface.
    """
    if len(registration.triangle_link) != len(mesh.faces):
        raise InputError(
            "the registration is of another mesh",
            value=len(registration.triangle_link),
            allowed=f"{len(mesh.faces)} triangles",
        )
    with torch.no_grad():
        poses = body.link_poses(torch.from_numpy(registration.q)).numpy()
    links = []
    for i, link in enumerate(body.links):
        mine = registration.triangle_link == i
        surface = None
        if mesh.face_areas[mine].any():
            inside = np.linalg.inv(registration.similarity @ poses[i])
            surface = submesh(mesh, mine, name=link.name).transformed(inside)
        links.append(replace(link, mesh=surface))
    return body.replace_links(links)


def _in_metres(scan: ScanSamples, links: ScanSamples) -> tuple[ScanSamples, float]:
    """The exposed part of a scan, brought to the size at which areas agree; units per metre.

    Area, unlike extent, hardly depends on the pose.
    """
    seen = exposure(scan.points, scan.normals, scan.area.sum())
    sign = np.where(seen < 0, -1.0, 1.0)[:, None]
    outer = replace(scan, normals=scan.normals * sign)[seen != 0]
    scale = float(np.sqrt(outer.area.sum() / links.area.sum()))
    points = outer.points / scale
    return ScanSamples(
        points, smooth_normals(points, outer.normals), outer.area / scale**2, outer.link
    ), scale


def _unit(up: np.ndarray) -> torch.Tensor:
    up = np.asarray(up, np.float64)
    length = np.linalg.norm(up)
    if up.shape != (3,) or not (np.isfinite(length) and length > 0):
        raise InputError(
            "up must be a direction", value=up.tolist(), allowed="three numbers, not all zero"
        )
    return torch.from_numpy(up / length)
