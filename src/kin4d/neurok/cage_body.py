"""CageBody: a mesh deformed by a keypoint cage, as a `Body`; the baseline for `LearnedBody`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import require_coordinates
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, sample_surface
from kin4d.neurok.cage import CageDeformer, cage_sphere, fit_cage, load_cage
from kin4d.neurok.mean_value_coordinates import mean_value_coordinates
from kin4d.neurok.preprocess import UnitBox

_NETWORK_POINTS = 1024  # points in the network input
_MASS_POINTS = 256


class CageBody:
    """A `Body` whose coordinates are the offsets (m) of keypoints; linear in them.

    Make one with `from_mesh`. Its frame has z up.
    """

    def __init__(self, mesh: Mesh, net: CageDeformer, *, mass: float = 1.0, seed: int = 0) -> None:
        self.rest, self.name, self._net = mesh, mesh.name, net
        self._box = UnitBox.of(mesh.vertices, up="z")
        samples = sample_surface(mesh, _NETWORK_POINTS, seed=seed)
        normalized = torch.from_numpy(self._box.normalize(mesh.vertices)).float()[None]
        source = samples.points(normalized)
        self._keypoints = net.keypoints(source)
        cage = fit_cage(source)
        weights = mean_value_coordinates(normalized, cage, cage_sphere()[1])
        pull = net.pull(net.own_influence(source), self._keypoints, cage)
        self._pull = (weights @ pull)[0].double()
        self._rest = torch.tensor(mesh.vertices)
        count = self._pull.shape[1]
        self.coordinates = tuple(f"{axis}{i}" for i in range(count) for axis in "xyz")
        self.q0 = torch.zeros(3 * count, dtype=torch.float64)
        reach = torch.full((3 * count,), 0.5 / self._box.scale, dtype=torch.float64)
        self.limits = torch.stack([-reach, reach], 1)
        self._mass_samples = sample_surface(mesh, _MASS_POINTS, seed=seed + 1)
        self.mass = torch.full((_MASS_POINTS,), mass / _MASS_POINTS, dtype=torch.float64)
        self.skin = None

    @classmethod
    def from_mesh(cls, mesh: Mesh, weights: str | Path, *, seed: int = 0) -> CageBody:
        """A mesh, z up, with the deformer of a weights file."""
        with torch.no_grad():
            return cls(mesh, _cached(str(weights)), seed=seed)

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        require_coordinates(q, len(self.coordinates))
        return self._rest.to(q) + self._pull.to(q) @ q.unflatten(-1, (-1, 3))

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        require_coordinates(q, len(self.coordinates))
        return self.probe(self._mass_samples)(q)

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, k]."""
        require_coordinates(q, len(self.coordinates))
        pull = self._mass_samples.points(self._pull)
        rows = torch.einsum("pk,ij->pikj", pull, torch.eye(3, dtype=pull.dtype)).flatten(-2)
        return rows.to(q).expand(*q.shape[:-1], *rows.shape)

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> points on the surface [..., N, 3] (m)."""
        start, pull = samples.points(self._rest), samples.points(self._pull)
        return lambda q: start.to(q) + pull.to(q) @ q.unflatten(-1, (-1, 3))

    def initial_guesses(self, target: np.ndarray) -> Tensor:
        """[1, k] coordinates predicted from unordered points `target` [M, 3] (m)."""
        normalized = torch.from_numpy(self._box.normalize(np.asarray(target, np.float64))).float()
        with torch.no_grad():
            target_keypoints = self._net.keypoints(normalized[None, :_NETWORK_POINTS])
        return ((target_keypoints - self._keypoints).flatten(1) / self._box.scale).double()

    def skin_transforms(self, q: Tensor) -> Tensor:
        """There is no skin: the surface deforms freely."""
        raise InputError("a cage body has no skin")


@lru_cache(maxsize=2)
def _cached(path: str) -> CageDeformer:
    return load_cage(path)
