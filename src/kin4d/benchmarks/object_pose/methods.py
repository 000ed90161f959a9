"""Methods: the rows of the table. Each is shown M0 once, then unordered points of every goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from kin4d.benchmarks.object_pose.cases import Case
from kin4d.bodies.body import Body
from kin4d.errors import InputError
from kin4d.objects.articulated_sample import ArticulatedSample

Fitter = Callable[[int, np.ndarray], np.ndarray]
"""Number of a goal and its points [M, 3], to vertices [V, 3]. Only the truth may use the number."""


class Method(Protocol):
    """A row of the table; small, so that it can be handed to another process."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def prepare(self, case: Case) -> Fitter:
        """All that depends on M0 alone."""
        ...


@dataclass(frozen=True)
class NoMotion:
    """Nothing moves: the first of the two rows that frame the table."""

    name: str = "rest shape"

    def prepare(self, case: Case) -> Fitter:
        return lambda pose, target: case.mesh.vertices


@dataclass(frozen=True)
class NoiseFloor:
    """The truth, sampled anew: the second of them. No method can be better but by chance."""

    name: str = "floor (the true pose)"

    def prepare(self, case: Case) -> Fitter:
        return lambda pose, target: case.goals[pose]


@dataclass(frozen=True)
class KnownJoints:
    """The same search with the object's true joints: what the search alone costs."""

    name: str = "true joints, searched"

    def prepare(self, case: Case) -> Fitter:
        if not isinstance(case.sample, ArticulatedSample):
            raise InputError("only articulated objects have joints", value=case.identity.key)
        body = case.sample.object.body()

        def run(pose: int, target: np.ndarray) -> np.ndarray:
            found = searched(body, target / case.scale + case.centre)
            return (found - case.centre) * case.scale

        return run


@dataclass(frozen=True)
class Rigid:
    """Moved as a whole."""

    name: str = "best rigid alignment"

    def prepare(self, case: Case) -> Fitter:
        from kin4d.benchmarks.object_pose.rigid import RigidAlignment

        align = RigidAlignment(case.mesh, seed=case.seed)
        return lambda pose, target: align(target)


@dataclass(frozen=True)
class LinearModes:
    """Linear modes of the mesh itself, free to move as a whole, by the same search.

    Principal components need many shapes in correspondence. A mesh without recorded motion has
    one, so the directions are those of its own softest free vibrations.
    """

    name: str = "linear modes"
    modes: int = 12

    def prepare(self, case: Case) -> Fitter:
        from kin4d.benchmarks.object_pose.linear import LinearBody

        body = LinearBody.of_mesh(case.mesh, self.modes, seed=case.seed)
        return lambda pose, target: searched(body, target)


@dataclass(frozen=True)
class Cage:
    """The keypoint cage deformer, as its network says or with the same search after it."""

    weights: str
    search: bool = False
    name: str = "keypoint cage"

    def prepare(self, case: Case) -> Fitter:
        from kin4d.neurok.cage_body import CageBody

        body = CageBody.from_mesh(case.mesh, self.weights)
        if self.search:
            return lambda pose, target: searched(body, target)

        def run(pose: int, target: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return body.vertices(body.initial_guesses(target)[0]).numpy()

        return run


@dataclass(frozen=True)
class Learned:
    """A NeuROK model.

    Attributes:
        weights: As for `LearnedBody.from_mesh`.
        name: For people.
        reduced: Whether its state is reduced to the few coordinates that matter.
    """

    weights: str
    name: str = "NeuROK"
    reduced: bool = True

    def prepare(self, case: Case) -> Fitter:
        from kin4d.neurok.body import LearnedBody

        count = None if self.reduced else full_state(self.weights)
        body = LearnedBody.from_mesh(case.mesh, self.weights, up="z", coordinates=count)
        return lambda pose, target: searched(body, target)


def searched(body: Body, target: np.ndarray) -> np.ndarray:
    """[V, 3] vertices of a body brought to `target` [M, 3] by the search that ships."""
    from kin4d.fitting.fit import fit

    return np.asarray(fit(body, target).vertices, np.float64)


def full_state(weights: str) -> int:
    """Numbers in the whole state of a model."""
    from kin4d.neurok.encoders import TWIST
    from kin4d.neurok.pretrained import from_pretrained

    return from_pretrained(weights)[0].config.tokens * TWIST
