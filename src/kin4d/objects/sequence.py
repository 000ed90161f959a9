"""VertexSequence: one object over time with fixed topology, and what is known of its physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.procrustes import best_rotation
from kin4d.geometry.up_axis import to_z_up


@dataclass(frozen=True, eq=False, kw_only=True)
class VertexSequence:
    """One object's vertices over time: simulated, animated or captured.

    Constructing one checks it; arrays are made contiguous and read-only.

    Attributes:
        name: Unique within its source, e.g. ``"cloth_flag_17"``.
        category: What it is, e.g. ``"flag"``.
        source: What made it: an engine with its version, or a file name.
        licence: Terms of use, e.g. ``"CC0-1.0"``; never empty.
        seed: What it was made from; 0 where nothing was random.
        vertices: [T, V, 3] float32, metres.
        faces: [F, 3] int64.
        fps: Frames per second.
        velocities: [T, V, 3] float32 m/s at the frames, or None if unknown.
        forces: [T, V, 3] float32 N applied to each vertex from outside (wind, pokes, drags), or
            None if there were none. Gravity is not among them: it is ``meta["gravity"]``, m/s².
            Neither are contact and the reactions of pins.
        material: SI units by name: density (kg/m³ or kg/m²), young (Pa), poisson, thickness (m),
            damping, friction, ...
        pins: [P] int64 vertices held or led by hand; empty if it is free.
        meta: Whatever else tells it, JSON values only; ``"up"`` is its upward axis, z if absent.
    """

    name: str
    category: str
    source: str
    licence: str
    seed: int
    vertices: np.ndarray
    faces: np.ndarray
    fps: float
    velocities: np.ndarray | None = None
    forces: np.ndarray | None = None
    material: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    pins: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    meta: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for text in ("name", "category", "source", "licence"):
            if not str(getattr(self, text)).strip():
                raise InputError(f"a sequence needs its {text}", value=getattr(self, text))
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise InputError("sequence fps must be positive", value=self.fps)
        vertices = _track(self, "vertices", np.shape(self.vertices))
        if vertices.ndim != 3 or vertices.shape[2] != 3 or 0 in vertices.shape:
            raise InputError(
                f"vertices of sequence '{self.name}' have the wrong shape",
                value=vertices.shape,
                allowed="[T >= 1, V >= 1, 3]",
            )
        faces = _indices(self, "faces", vertices.shape[1])
        if faces.ndim != 2 or faces.shape[1] != 3 or len(faces) == 0:
            raise InputError(
                f"faces of sequence '{self.name}' have the wrong shape",
                value=faces.shape,
                allowed="[F >= 1, 3]",
            )
        fields = {"vertices": vertices, "faces": faces}
        fields["pins"] = _indices(self, "pins", vertices.shape[1]).reshape(-1)
        for name in ("velocities", "forces"):
            if getattr(self, name) is not None:
                fields[name] = _track(self, name, vertices.shape)
        for name, array in fields.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def motion(self) -> float:
        """The farthest any vertex gets from its first position, of the object's diameter."""
        first = self.vertices[0]
        farthest = np.linalg.norm(self.vertices - first, axis=-1).max()
        return float(farthest / max(np.linalg.norm(np.ptp(first, axis=0)), 1e-30))

    @property
    def deformation(self) -> float:
        """The farthest any vertex gets from the first frame moved as one rigid piece.

        Relative to the object's diameter: 0 for a still or rigidly moving object.
        """
        first = self.vertices[0].astype(np.float64)
        first = first - first.mean(0)
        farthest = 0.0
        for frame in self.vertices.astype(np.float64):
            centred = frame - frame.mean(0)
            rotation = best_rotation(centred.T @ first)
            gaps = np.linalg.norm(centred - first @ rotation.T, axis=-1)
            farthest = max(farthest, float(gaps.max()))
        return farthest / max(float(np.linalg.norm(np.ptp(first, axis=0))), 1e-30)

    def mesh(self, frame: int = 0) -> Mesh:
        """The surface at one frame."""
        return Mesh(vertices=self.vertices[frame], faces=self.faces, name=self.name)

    def clip(self, *, mesh: Mesh | None = None) -> Clip:
        """The motion for drawing and export, with the look of `mesh` if one is given."""
        upright = self.z_up()
        return Clip(mesh=mesh or upright.mesh(), vertices=upright.vertices, fps=self.fps)

    def z_up(self) -> VertexSequence:
        """The same motion with z up."""
        up = str(self.meta.get("up", "z"))
        if up == "z":
            return self
        tracks = {
            name: None if track is None else to_z_up(track, up)
            for name, track in (
                ("vertices", self.vertices),
                ("velocities", self.velocities),
                ("forces", self.forces),
            )
        }
        return replace(self, **tracks, meta={**self.meta, "up": "z"})  # pyright: ignore[reportArgumentType]


def _track(sequence: VertexSequence, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = np.array(getattr(sequence, name), np.float32, order="C")
    if array.shape != shape:
        raise InputError(
            f"{name} of sequence '{sequence.name}' have another shape than its vertices",
            value=array.shape,
            allowed=str(shape),
        )
    finite = np.isfinite(array)
    if not finite.all():
        frame = int((~finite.reshape(len(array), -1).all(1)).argmax())
        raise InputError(
            f"{name} of sequence '{sequence.name}' are NaN or infinite from frame {frame} on",
            hint="a simulation diverged; drop it",
        )
    return array


def _indices(sequence: VertexSequence, name: str, count: int) -> np.ndarray:
    array = np.array(getattr(sequence, name), np.int64, order="C")
    if array.size and (array.min() < 0 or array.max() >= count):
        raise InputError(
            f"{name} of sequence '{sequence.name}' name vertices which do not exist",
            value=int(array.min() if array.min() < 0 else array.max()),
            allowed=f"0 to {count - 1}",
        )
    return array
