"""Cases of the prior benchmark: objects in a random state, with their true links and joints.

Sets: *procedural test* and *procedural unseen* (categories never trained on), *articraft test*
(by category), *fused* (of the test sets, remeshed into one component) and whole folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.fuse import fuse_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.piece_object import LinkJoints
from kin4d.objects.sources import articulated_source
from kin4d.objects.urdf_folder import load_urdf_object, urdf_source
from kin4d.storage.splits import UNSEEN_CATEGORIES, split_of

FUSED = "fused"
PROCEDURAL = "procedural"
ARTICRAFT = "articraft"

OPTIONS = ("test", "dev")
"""Splits that the benchmark looks at: dev for choosing, test for reporting."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PriorCase:
    """A mesh as a method sees it, and the truth about it.

    Attributes:
        group: The set.
        category: Of the object.
        name: Of the object.
        mesh: In a random state, metres, z up, without colours.
        face_link: [F] true link of every triangle; 0 does not move.
        joints: True joints, counted from this state.
        seed: Of everything random.
    """

    group: str
    category: str
    name: str
    mesh: Mesh
    face_link: np.ndarray
    joints: LinkJoints
    seed: int

    @classmethod
    def of(
        cls, sample: ArticulatedSample, *, group: str, seed: int, fused: bool = False
    ) -> PriorCase:
        """An object in a random state, a fifth of its joints at an end of their range."""
        state = sample.states(np.random.default_rng(seed), 1)[0]
        who = sample.identity
        vertices = sample.vertices(state[None])[0]
        mesh = Mesh(vertices=vertices, faces=sample.faces, name=who.category)
        link = sample.face_part
        if fused:
            mesh, link = fuse_mesh(mesh, link, seed=seed)
        return cls(
            group=group,
            category=who.category,
            name=who.name,
            mesh=mesh,
            face_link=link,
            joints=LinkJoints.at(sample.object, state),
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True)
class PriorCaseSpec:
    """How to make a case: small, so that it can be handed to another process.

    Attributes:
        group: The set.
        category: Of a procedural object.
        number: Seed of a procedural object.
        folder: Of one URDF object, instead of the two above.
        fused: Whether it is remeshed into one component.
    """

    group: str
    category: str = ""
    number: int = 0
    folder: Path | None = None
    fused: bool = False

    def make(self, *, seed: int) -> PriorCase:
        """The case; an object that cannot be read is an `InputError`."""
        if self.folder is not None:
            sample = load_urdf_object(self.folder)
            name = self.folder.name
        else:
            sample = articulated_source().make(self.category, self.number)
            name = f"{self.category} {self.number}"
        if not isinstance(sample, ArticulatedSample):
            raise InputError("cases are articulated objects", value=name)
        own = crc32(name.encode()) + seed
        return PriorCase.of(sample, group=self.group, seed=own, fused=self.fused)


def prior_case_specs(
    *, count: int, objects: Sequence[Path], split: str, seed: int
) -> list[PriorCaseSpec]:
    """The objects of all sets.

    Args:
        count: Objects of every set; folders that have fewer give all they have.
        objects: Folders of URDF objects. One of Articraft's is split by category, others are
            drawn from as a whole.
        split: "test" or "dev".
        seed: Of the choice.
    """
    if split not in OPTIONS:
        raise InputError("split of the benchmark", value=split, allowed=", ".join(OPTIONS))
    rng = np.random.default_rng([seed, 11])
    sets = [_procedural(f"{PROCEDURAL} {split}", split, count, rng)]
    to_fuse = [sets[0]]
    if split == "test":
        sets.append(_procedural(f"{PROCEDURAL} unseen", "unseen", count, rng))
    for folder in objects:
        found, is_articraft = _folder(Path(folder), split, count, rng)
        sets.append(found)
        if is_articraft:
            to_fuse.append(found)
    each = -(-count // len(to_fuse))
    fused = [
        PriorCaseSpec(
            group=f"{FUSED} {split}",
            category=one.category,
            number=one.number,
            folder=one.folder,
            fused=True,
        )
        for some in to_fuse
        for one in some[:each]
    ]
    return [spec for some in (*sets, fused) for spec in some]


def _procedural(
    group: str, split: str, count: int, rng: np.random.Generator
) -> list[PriorCaseSpec]:
    """Objects of all categories in turn, in random order."""
    source = articulated_source()
    categories = [
        name for name in source.categories if (name in UNSEEN_CATEGORIES) == (split == "unseen")
    ]
    order = rng.permutation(len(categories))
    found = []
    for i in range(count):
        category = categories[order[i % len(categories)]]
        number = source.only([category]).choose(rng, split)[1]
        found.append(PriorCaseSpec(group=group, category=category, number=number))
    return found


def _folder(
    folder: Path, split: str, count: int, rng: np.random.Generator
) -> tuple[list[PriorCaseSpec], bool]:
    """Objects of a folder in random order, and whether it is one of Articraft's."""
    identities = urdf_source(folder).identities
    is_articraft = any(who.source == ARTICRAFT for who in identities)
    group = f"{ARTICRAFT} {split}" if is_articraft else folder.name
    names = [who.name for who in identities if not is_articraft or split_of(who) == split]
    chosen = [names[i] for i in rng.permutation(len(names))[:count]]
    paths = [folder / name if (folder / name).is_dir() else folder for name in chosen]
    return [PriorCaseSpec(group=group, folder=path) for path in paths], is_articraft
