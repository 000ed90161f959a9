"""Cases of the creatures benchmark: animated files, frames of their clips, and their joints."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kin4d.errors import InputError, Kin4dError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.procrustes import best_motion
from kin4d.geometry.sampling import SurfaceSamples, sample_surface
from kin4d.objects.animated import animation_names, load_animation
from kin4d.objects.animated_rig import AnimatedRig, load_rig

SUFFIXES = (".glb", ".gltf")
POINTS = 2000
"""Surface samples at which distances are measured."""

_LEAST = 0.01  # of the size: mean motion below which a frame shows too little to be fitted
_FPS = 6.0  # at which clips are sampled


@dataclass(frozen=True, eq=False, kw_only=True)
class CreatureFrame:
    """One frame of a clip, brought to the mesh by the rigid motion that fits best.

    Attributes:
        clip: Its name.
        vertices: [V, 3] m.
        motion: m, mean distance of the surface from rest.
    """

    clip: str
    vertices: np.ndarray
    motion: float


@dataclass(frozen=True, eq=False, kw_only=True)
class CreatureCase:
    """One file.

    Attributes:
        name: Folder and file.
        kind: The folder.
        mesh: As stored.
        samples: Surface samples.
        frames: Of different clips.
        rig: Its joints.
    """

    name: str
    kind: str
    mesh: Mesh
    samples: SurfaceSamples
    frames: tuple[CreatureFrame, ...]
    rig: AnimatedRig

    @classmethod
    def of(cls, path: Path, *, frames: int, seed: int) -> CreatureCase:
        """Read a file, with `frames` frames at most that show motion, each of another clip."""
        mesh = Mesh.load(path)
        samples = sample_surface(mesh, POINTS, seed=seed)
        rest = samples.points(mesh.vertices)
        rng = np.random.default_rng([seed, zlib.crc32(case_name(path).encode())])
        found: list[CreatureFrame] = []
        for number in rng.permutation(len(animation_names(path))):
            if len(found) == frames:
                break
            try:
                sequence = load_animation(path, int(number), fps=_FPS, licence="evaluation")
            except Kin4dError:  # it holds one pose
                continue
            vertices = sequence.vertices[rng.integers(len(sequence.vertices))].astype(np.float64)
            rotation, translation = best_motion(samples.points(vertices), rest)
            vertices = vertices @ rotation.T + translation
            motion = float(np.linalg.norm(samples.points(vertices) - rest, axis=1).mean())
            if motion > _LEAST * mesh.bbox_diagonal:
                clip = str(sequence.meta["clip"])
                found.append(CreatureFrame(clip=clip, vertices=vertices, motion=motion))
        return cls(
            name=case_name(path),
            kind=path.parent.name,
            mesh=mesh,
            samples=samples,
            frames=tuple(found),
            rig=load_rig(path),
        )


def case_name(path: Path) -> str:
    """Folder and name of a file, which decide its split."""
    return f"{path.parent.name}/{path.stem}"


def case_split(path: Path) -> str:
    """ "dev" or "test", by name."""
    return ("dev", "test")[zlib.crc32(case_name(path).encode()) % 2]


def find_cases(folders: Sequence[Path], split: str) -> list[Path]:
    """Animated files of a split in folders and their sub-folders, in order of their names."""
    if split not in ("dev", "test"):
        raise InputError("split", value=split, allowed="dev, test")
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}")
        found += [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES]
    return sorted((path for path in found if case_split(path) == split), key=case_name)
