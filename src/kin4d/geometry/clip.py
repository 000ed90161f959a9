"""Clip: a mesh over time, the result of every motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import SkinAnimation

if TYPE_CHECKING:
    from kin4d.geometry.pointmap import PointmapVideo


@dataclass(frozen=True, eq=False, kw_only=True)
class Clip:
    """Geometry over time with fixed topology, z up.

    Attributes:
        mesh: The surface; its own vertices are the rest pose.
        vertices: [T, V, 3] float32, metres.
        fps: Frames per second.
        q: [T, k] float64 generalised coordinates, or None.
        skin: The same motion as joints, where the body is made of rigid parts; else None.
        diagnostics: Per-frame arrays [T, ...] by name: energies (J), contact counts, ...
    """

    mesh: Mesh
    vertices: np.ndarray
    fps: float
    q: np.ndarray | None = None
    skin: SkinAnimation | None = None
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        vertices = np.ascontiguousarray(self.vertices, np.float32)
        expected = (len(self.mesh.vertices), 3)
        if vertices.ndim != 3 or vertices.shape[1:] != expected or len(vertices) == 0:
            raise InputError(
                "clip vertices have the wrong shape",
                value=vertices.shape,
                allowed=f"[T >= 1, {expected[0]}, 3]",
            )
        farthest = max(float(vertices.max()), -float(vertices.min()))  # NaN passes through
        if not np.isfinite(farthest):
            frame = int((~np.isfinite(vertices).all((1, 2))).argmax())
            raise InputError(f"clip vertices are NaN or infinite from frame {frame} on")
        step = float(np.spacing(np.float32(farthest)))
        if step > 0.05 * self.mesh.bbox_diagonal:
            raise InputError(
                f"clip loses its shape: it is {self.mesh.bbox_diagonal:.3g} m large, and numbers "
                f"in single precision are {step:.3g} m apart where it is",
                hint="move it nearer to the origin, or scale it",
            )
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise InputError("clip fps must be positive", value=self.fps)
        frames = len(vertices)
        tracks = {"q": self.q, **self.diagnostics}
        if self.skin is not None:
            tracks["skin"] = self.skin.transforms
        for name, track in tracks.items():
            if track is not None and len(track) != frames:
                raise InputError(
                    f"clip track '{name}' has another length than the vertices",
                    value=len(track),
                    allowed=f"{frames} frames",
                )
        vertices.flags.writeable = False
        object.__setattr__(self, "vertices", vertices)

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def times(self) -> np.ndarray:
        """[T] seconds from the first frame."""
        return np.arange(len(self)) / self.fps

    @property
    def bounds(self) -> np.ndarray:
        """[2, 3] metres: box of all frames."""
        return np.stack([self.vertices.min((0, 1)), self.vertices.max((0, 1))]).astype(np.float64)

    @classmethod
    def still(cls, mesh: Mesh) -> Clip:
        """A mesh as a clip of one frame."""
        return cls(mesh=mesh, vertices=mesh.vertices[None], fps=24.0)

    # Writing, drawing and showing are functions of packages above this one: these four call them
    # by their public names.
    def save(self, path: str | Path, **options: Any) -> Path:
        """Write by suffix: .glb, .usd, .pc2, .npz (nothing lost), .mp4, .gif, or a folder.

        Options are those of `kin4d.write_clip`.
        """
        from kin4d import write_clip

        return write_clip(self, path, **options)

    def to_html(self, **options: Any) -> str:
        """A page that plays it by itself, without a server or a network; options are those of
        `kin4d.clip_html`."""
        from kin4d import clip_html

        return clip_html(self, **options)

    def render(self, **options: Any) -> PointmapVideo:
        """Colour, XYZ and mask of every frame; options are those of `kin4d.render_clip`."""
        from kin4d import render_clip

        return render_clip(self, **options)

    def show(self, *, port: int = 8080, host: str = "127.0.0.1") -> None:
        """Play it in the browser until interrupted; needs ``kin4d[viewer]``."""
        from kin4d import show

        show(self, port=port, host=host)

    @classmethod
    def load(cls, path: str | Path) -> Clip:
        """Read a .npz that `save` wrote; a bad file is an `InputError` saying why."""
        from kin4d.geometry.io.clip_file import load_clip

        return load_clip(path)
