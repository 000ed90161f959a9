"""Cases: objects in a random state, and the states they are to be brought to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface
from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.sources import articulated_source
from kin4d.objects.urdf_folder import load_urdf_object, urdf_source
from kin4d.storage.sample_id import SampleId
from kin4d.storage.splits import UNSEEN_CATEGORIES

MOVED = 0.01
"""Of the box: a triangle whose middle goes farther than this is one that moves."""

_DRAWS = 50  # of target states, until one moves something
_SHOWN = 4096  # points of the target that a method is given


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """One object at M0, a random state, and P others; all in the unit box of M0.

    That box is centred on the origin, its longest side is 1 and z is up.

    Attributes:
        group: The set it belongs to.
        identity: Who it is.
        mesh: M0.
        goals: [P, V, 3] vertices in the true target states.
        sample: The object in metres: ground truth only, methods do not see it.
        centre: [3] m of the box.
        scale: 1/m: box = (world - centre) * scale.
        seed: Of everything random.
    """

    group: str
    identity: SampleId
    mesh: Mesh
    goals: np.ndarray
    sample: ObjectSample
    centre: np.ndarray
    scale: float
    seed: int

    def target(self, pose: int, *, count: int = _SHOWN) -> np.ndarray:
        """[count, 3] unordered points of a goal's surface: all that a method is given."""
        goal = self.mesh.replace_vertices(self.goals[pose])
        # In random order already; the vertices they stem from are forgotten here.
        return sample_surface(goal, count, seed=self.seed + 3 * pose + 2).points(goal.vertices)


@dataclass(frozen=True, kw_only=True)
class CaseSpec:
    """How to make a case: small, so that it can be handed to another process.

    Attributes:
        group: "test", "unseen", or the name of a folder.
        category: Of a procedural object.
        seed: Of a procedural object.
        folder: Of one URDF object, instead of the two above.
    """

    group: str
    category: str = ""
    seed: int = 0
    folder: Path | None = None

    @property
    def number(self) -> int:
        """A seed of its own for everything random about the case."""
        name = self.folder.name if self.folder else f"{self.category} {self.seed}"
        return crc32(f"{self.group} {name}".encode())

    def make(self, *, poses: int, seed: int) -> Case:
        """The case with `poses` goals."""
        if self.folder is not None:
            sample: ObjectSample = load_urdf_object(self.folder)
        else:
            sample = articulated_source().make(self.category, self.seed)
        return make_case(sample, group=self.group, poses=poses, seed=self.number + seed)


def make_case(sample: ObjectSample, *, group: str, poses: int, seed: int) -> Case:
    """An object in a random state, and `poses` others in each of which something has moved."""
    rng = np.random.default_rng(seed)
    first = sample.vertices(sample.states(rng, 1))[0]
    low, high = first.min(0), first.max(0)
    centre, scale = (low + high) / 2, 1.0 / float((high - low).max())
    vertices, goals = (first - centre) * scale, []
    for _ in range(poses):
        goal = vertices
        for _ in range(_DRAWS):
            goal = (sample.vertices(sample.states(rng, 1))[0] - centre) * scale
            if moving_faces(vertices, goal, sample.faces).any():
                break
        goals.append(goal)
    return Case(
        group=group,
        identity=sample.identity,
        mesh=_mesh(sample, vertices),
        goals=np.stack(goals),
        sample=sample,
        centre=centre,
        scale=scale,
        seed=seed,
    )


def moving_faces(before: np.ndarray, after: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] bool: triangles whose middle goes farther than `MOVED`."""
    return np.linalg.norm((after - before)[faces].mean(1), axis=-1) > MOVED


def case_specs(*, each: int, unseen: int, objects: Sequence[Path], seed: int) -> list[CaseSpec]:
    """The objects of all sets.

    Args:
        each: Objects of every category that is trained on, from the test split.
        unseen: Objects of every category that is not.
        objects: Folders of URDF objects, all of which are taken.
        seed: Of the choice.
    """
    source = articulated_source()
    rng = np.random.default_rng([seed, 5])
    found = []
    for group, count in (("test", each), ("unseen", unseen)):
        for category in source.categories:
            if (category in UNSEEN_CATEGORIES) != (group == "unseen"):
                continue
            for _ in range(count):
                _, number = source.only([category]).choose(rng, group)
                found.append(CaseSpec(group=group, category=category, seed=number))
    for folder in objects:
        for who in urdf_source(folder).identities:
            inside = folder / who.name
            found.append(CaseSpec(group=folder.name, folder=inside if inside.is_dir() else folder))
    return found


def _mesh(sample: ObjectSample, vertices: np.ndarray) -> Mesh:
    name = sample.identity.category
    if sample.colors is None:
        return Mesh(vertices=vertices, faces=sample.faces, name=name)
    opaque = np.full((len(sample.colors), 1), 255, np.uint8)
    return Mesh(
        vertices=vertices,
        faces=sample.faces,
        colors=np.concatenate([sample.colors, opaque], axis=1),
        materials=(SurfaceMaterial(name="vertex colours", base_color=(1.0, 1.0, 1.0, 1.0)),),
        name=name,
    )
