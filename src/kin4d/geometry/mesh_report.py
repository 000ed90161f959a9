"""MeshReport: inspection of a mesh (counts, topology, defects) and repair of its defects."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kin4d.geometry.mesh import Mesh, RawMesh
from kin4d.geometry.mesh_ops import fields_of, label_components, merge_vertices
from kin4d.geometry.topology import (
    Edges,
    degenerate,
    faces_to_flip,
    in_range,
    repeated,
    signed_volumes,
)


@dataclass(frozen=True, kw_only=True)
class MeshReport:
    """Findings about a mesh. Positions count, not indices: vertices at the same position are one.

    Attributes:
        name: The mesh's.
        vertices: How many.
        faces: How many triangles.
        groups: How many objects or groups.
        components: How many connected pieces.
        size: Extent along x, y, z in the file's unit (taken as metres); None if nothing is finite.
        units_guess: What the size suggests, a guess.
        watertight: Every edge has exactly two triangles.
        open_edges: Edges with one triangle.
        nonmanifold_edges: Edges with more than two triangles.
        winding_consistent: Triangles that share an edge (two of them) face the same side.
        inside_out: Watertight, but facing inward.
        degenerate_faces: Triangles that are points or lines.
        duplicate_faces: Triangles repeated at the same position, facing the same side.
        unreferenced_vertices: Vertices in no triangle.
        nonfinite_vertices: Vertices with NaN or infinite coordinates.
        faces_out_of_range: Triangles that name vertices which do not exist.
        has_uv: Texture coordinates are there.
        has_colors: Vertex colours are there.
        materials: How many.
        textures: How many images.
        verdict: "good", "usable" (defects that most uses survive) or "broken" (`Mesh` refuses it).
        reasons: Why it is not good, the gravest first.
    """

    name: str
    vertices: int
    faces: int
    groups: int
    components: int
    size: tuple[float, float, float] | None
    units_guess: str
    watertight: bool
    open_edges: int
    nonmanifold_edges: int
    winding_consistent: bool
    inside_out: bool
    degenerate_faces: int
    duplicate_faces: int
    unreferenced_vertices: int
    nonfinite_vertices: int
    faces_out_of_range: int
    has_uv: bool
    has_colors: bool
    materials: int
    textures: int
    verdict: str
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        size = "none" if self.size is None else " x ".join(f"{side:.4g}" for side in self.size)
        look = [
            f"{self.materials} material{'s' * (self.materials != 1)}",
            f"{self.textures} texture{'s' * (self.textures != 1)}",
            "UVs" if self.has_uv else "no UVs",
        ]
        look += ["vertex colours"] if self.has_colors else []
        return [
            f"mesh:     {self.name}",
            f"counts:   {self.vertices} vertices, {self.faces} faces, {self.groups} groups, "
            f"{self.components} components",
            f"size:     {size} ({self.units_guess})",
            f"surface:  {'watertight' if self.watertight else 'open'}, winding "
            f"{'consistent' if self.winding_consistent else 'inconsistent'}",
            f"look:     {', '.join(look)}",
            f"verdict:  {self.verdict}",
            *(f"  - {reason}" for reason in self.reasons),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def inspect_mesh(mesh: RawMesh) -> MeshReport:
    """Look a mesh over, checked or not; never fails on bad geometry."""
    count = len(mesh.vertices)
    finite = np.all(np.isfinite(mesh.vertices), axis=-1)
    named = in_range(mesh.faces, count)
    sound = named.copy()
    sound[named] = finite[mesh.faces[named]].all(-1)
    first, merged = merge_vertices(mesh.vertices)
    flat = degenerate(mesh.vertices, mesh.faces[sound])
    merged_faces = merged[mesh.faces[sound][~flat]]
    edges = Edges(merged_faces)
    used = np.zeros(count, bool)
    used[mesh.faces[named]] = True
    extent = np.ptp(mesh.vertices[finite], axis=0) if finite.any() else None
    watertight = len(merged_faces) > 0 and edges.open == 0 and edges.crowded == 0
    oriented = edges.clashing == 0
    inward = (
        watertight and oriented and signed_volumes(mesh.vertices[first], merged_faces).sum() < 0
    )
    labels = label_components(len(first), merged[mesh.faces[sound]])
    components = np.zeros(len(first), bool)
    components[labels[merged[mesh.faces[sound]]]] = True
    facts: dict[str, Any] = {
        "vertices": count,
        "faces": len(mesh.faces),
        "components": int(components.sum()),
        "size": None if extent is None else tuple(extent.tolist()),
        "watertight": watertight,
        "open_edges": edges.open,
        "nonmanifold_edges": edges.crowded,
        "winding_consistent": oriented,
        "inside_out": bool(inward),
        "degenerate_faces": int(flat.sum()),
        "duplicate_faces": int(repeated(merged_faces).sum()),
        "unreferenced_vertices": int((~used).sum()),
        "nonfinite_vertices": int((~finite).sum()),
        "faces_out_of_range": int((~named).sum()),
    }
    broken, defects = _reasons(facts, has_area=len(merged_faces) > 0)
    if extent is not None and len(merged_faces):
        farthest = float(np.abs(mesh.vertices[finite]).max())
        if farthest * float(np.finfo(np.float32).eps) > 1e-4 * extent.max():
            defects.append(
                f"it is {farthest:.3g} m from the origin, where files in single precision lose "
                "its shape: move it nearer"
            )
    images = {id(image) for look in mesh.materials for image in look.textures.values()}
    return MeshReport(
        name=mesh.name,
        groups=len(mesh.groups),
        units_guess=_units(0.0 if extent is None else float(extent.max())),
        has_uv=mesh.uv is not None,
        has_colors=mesh.colors is not None,
        materials=len(mesh.materials),
        textures=len(images),
        verdict="broken" if broken else "usable" if defects else "good",
        reasons=(*broken, *defects),
        **facts,
    )


def repair_mesh(raw: RawMesh) -> tuple[Mesh, list[str]]:
    """Repair what can be repaired without adding geometry; UVs and materials stay as they are.

    Faces that cannot be drawn go, then those that are points, lines or repetitions; vertices go
    only if they are not finite. Faces are turned where neighbours disagree or a closed surface
    faces inward.

    Returns:
        The mesh, and what was done, in words. `InputError` if no surface is left.
    """
    done: list[str] = []
    faces = np.asarray(raw.faces, np.int64)
    finite = np.all(np.isfinite(raw.vertices), axis=-1)
    keep = np.arange(len(faces))

    def drop(bad: np.ndarray, why: str) -> None:
        nonlocal keep
        if bad.any():
            done.append(f"dropped {int(bad.sum())} faces {why}")
            keep = keep[~bad]

    drop(~in_range(faces, len(raw.vertices)), "that name vertices which do not exist")
    drop(~finite[faces[keep]].all(-1), "with NaN or infinite vertices")
    drop(degenerate(raw.vertices, faces[keep]), "without area")
    first, merged = merge_vertices(raw.vertices)
    drop(repeated(merged[faces[keep]]), "that repeat another")
    flip = faces_to_flip(raw.vertices[first], merged[faces[keep]])
    faces = np.where(flip[:, None], faces[keep][:, ::-1], faces[keep])
    if flip.any():
        done.append(f"turned over {int(flip.sum())} faces to face outward with their neighbours")
    changes: dict[str, Any] = {"faces": faces}
    for field in ("face_material", "face_group"):
        value = getattr(raw, field)
        changes[field] = None if value is None else value[keep]
    if not finite.all():
        done.append(f"dropped {int((~finite).sum())} vertices with NaN or infinite coordinates")
        changes["faces"] = (np.cumsum(finite) - 1)[faces]
        for field in ("vertices", "uv", "normals", "tangents", "colors", "source_index"):
            value = getattr(raw, field)
            changes[field] = None if value is None else value[finite]
        if raw.source_index is None:
            changes["source_index"] = np.flatnonzero(finite)
    return Mesh(**{**fields_of(raw), **changes}), done


def _reasons(facts: dict[str, Any], *, has_area: bool) -> tuple[list[str], list[str]]:
    """What makes a mesh broken, and what makes it less than good."""
    broken, defects = [], []

    def note(where: list[str], key: str, text: str) -> None:
        if facts[key]:
            where.append(f"{facts[key]} {text}")

    if not facts["vertices"] or not facts["faces"]:
        broken.append("it has no faces: point clouds and curves have no surface")
    elif not has_area:
        broken.append("it has no area: every face is a point, a line or unusable")
    note(broken, "nonfinite_vertices", "vertices with NaN or infinite coordinates")
    note(broken, "faces_out_of_range", "faces that name vertices which do not exist")
    note(defects, "degenerate_faces", "faces without area")
    note(defects, "duplicate_faces", "faces that repeat another")
    if not facts["winding_consistent"]:
        defects.append("neighbouring faces face opposite sides")
    if facts["inside_out"]:
        defects.append("the surface faces inward")
    note(defects, "open_edges", "open edges: the surface has holes or borders")
    note(defects, "nonmanifold_edges", "edges with more than two faces")
    note(defects, "unreferenced_vertices", "vertices in no face")
    side = max(facts["size"] or (1.0,))
    if not 1e-4 <= side <= 1e4:
        defects.append(f"it is {side:.3g} m long: lengths are taken as metres, so scale it")
    return broken, defects


def _units(side: float) -> str:
    """What the longest side suggests; objects people model are mostly 1 cm to 10 m."""
    if 0.01 <= side <= 10:
        return "looks like metres, a guess"
    if 10 < side <= 300:
        return "looks like centimetres, a guess; taken as metres"
    if 300 < side <= 1e5:
        return "looks like millimetres, a guess; taken as metres"
    return "unit unknown; taken as metres"
