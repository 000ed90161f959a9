"""LearnedBody: a mesh whose kinematic map q -> x(q) is predicted by a network."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.bodies.body import autograd_jacobian, require_coordinates
from kin4d.bodies.skinning_frames import SkinningFrames
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, sample_masses
from kin4d.geometry.skin import Skin
from kin4d.neurok.decoder import GroupedRig, Rig, SkinnedDecoder, SkinnedRig
from kin4d.neurok.encoders import TokenAssignment
from kin4d.neurok.preprocess import sample_mesh
from kin4d.neurok.pretrained import cached_model
from kin4d.neurok.reduction import Metric, screw_basis, spectral_basis
from kin4d.neurok.segmented_shape import SegmentedShape, snap_to_components
from kin4d.neurok.twists import TWIST

LIMIT_STD = 3.5
"""Limits of the coordinates, in standard deviations from the mean of the prior: 99 % of the states
of training."""

SEARCH_STD = 6.0
"""The same for a fit, where the target is evidence for unlikely states."""


class LearnedBody:
    """A `Body` made from a mesh alone; at q = 0 it is the mesh as given.

    Make one with `from_mesh`. Coordinates are dimensionless: one is a standard deviation of the
    prior that the model predicts for this shape.

    Attributes:
        rest: The mesh.
        coordinates: "q0", "q1", ..., by descending motion.
        q0: [k] zeros.
        limits: [k, 2] likely states (`LIMIT_STD`); they include q = 0.
        search_limits: [k, 2] states that a fit searches (`SEARCH_STD`).
        mass: [P] kg of the mass points.
        motions: [K] m: root mean square motion along each direction of the full state, descending;
            the number of coordinates follows from this spectrum.
        skin: Rigid skinning of the vertices, if every vertex follows one part alone.
        confidence: Share of training shapes that are farther from the mean of the training shapes
            than this one, 0 to 1; None if unknown. Near 0, the motion cannot be trusted.
    """

    def __init__(
        self,
        segmented: SegmentedShape,
        *,
        mass: float | np.ndarray = 1.0,
        mass_points: int = 256,
        count: int | None = None,
        metric: Metric = "mass",
        screws: bool = False,
    ) -> None:
        self.rest, self._segmented = segmented.mesh, segmented
        self._assignment, box = segmented.vertices, segmented.mesh_sample.box
        self._decoder = copy.deepcopy(segmented.net.decoder).double()
        self._skinned = self._decoder if isinstance(self._decoder, SkinnedDecoder) else None
        self._encoding = segmented.shape.encoding.double()
        self._rotation, self._centre = torch.from_numpy(box.rotation), torch.from_numpy(box.centre)
        # Vertices of the static background are not computed, so they stay exactly where they are.
        mobile = self._assignment.weights[0, :, 0] < 1
        self._mobile = torch.nonzero(mobile | (self.parts is None)).flatten()
        normalized = torch.from_numpy(box.normalize(self.rest.vertices))[None]
        self._vertex_rig = self._rig(
            normalized[:, self._mobile], self._assignment.select(self._mobile)
        )
        # Samples are in random order and of equal area, so the first ones are a fair sample.
        samples, shape = segmented.mesh_sample.samples, segmented.shape
        index = torch.arange(min(mass_points, len(samples)))
        self._point_rig = self._rig(shape.surface.points[:, index], shape.assignment.select(index))
        self.mass = torch.from_numpy(sample_masses(self.rest, samples.face[: len(index)], mass))
        if screws:
            reduction = screw_basis(segmented)
        else:
            reduction = spectral_basis(segmented, index, self.mass, count=count, metric=metric)
        self._basis = reduction.basis.double()
        self.motions = reduction.motions.double() / box.scale
        self._mean = self._basis.mT @ shape.encoding.mean.flatten().double()
        k = self._basis.shape[1]
        self.coordinates = tuple(f"q{i}" for i in range(k))
        self.q0 = torch.zeros(k, dtype=torch.float64)
        self.limits = self._interval(LIMIT_STD)
        self.search_limits = self._interval(SEARCH_STD)
        self.skin = self._find_skin()
        self.confidence: float | None = None

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh,
        model: str | Path = "small",
        *,
        up: str = "z",
        mass: float | np.ndarray = 1.0,
        coordinates: int | None = None,
        metric: Metric = "mass",
        points: int = 1024,
        pinned: Sequence[int] | np.ndarray = (),
    ) -> LearnedBody:
        """Predict the kinematic map of a mesh.

        Args:
            mesh: Any mesh; metres.
            model: Weights; see `kin4d.neurok.from_pretrained`.
            up: The mesh's axis that points up, "y" or "z"; training shapes stand upright.
            mass: kg, spread evenly over the surface; or [F], of each triangle.
            coordinates: Their number; by default it follows from the spectrum, and includes
                uncertain motions. For simulation, `kin4d.neurok.articulate` gives exact joints.
            metric: Metric of the spectrum; see `kin4d.neurok.reduction`.
            points: Surface samples in the network input.
            pinned: Indices of fixed vertices, such as an edge of a flag; vertices near them move
                less. For a body that swings about a point, use `DragConstraint` instead.
        """
        net, ood = cached_model(str(model))
        mesh_sample = sample_mesh(mesh, up=up, points=points)
        segmented = snap_to_components(net, mesh, mesh_sample)
        if len(pinned):
            segmented = segmented.with_pins(np.asarray(pinned, np.int64))
        body = cls(segmented, mass=mass, count=coordinates, metric=metric)
        if ood is not None:
            body.confidence = float(ood.confidence(segmented.shape.encoding)[0])
        return body

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        return self._move(self._point_rig, q)

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        moved = self._move(self._vertex_rig, q)
        still = torch.tensor(self.rest.vertices, dtype=q.dtype).expand(*q.shape[:-1], -1, -1)
        return still.index_copy(-2, self._mobile, moved)

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, k]."""
        require_coordinates(q, len(self.coordinates))
        # Forward-mode derivatives exist only for the plain attention kernel.
        with sdpa_kernel(SDPBackend.MATH):
            return autograd_jacobian(self.points, q)

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> points on the surface [..., N, 3] (m)."""
        corners = torch.from_numpy(samples.corners)
        shares = torch.from_numpy(samples.barycentric)[..., None]
        points = self._segmented.mesh_sample.vertices.points[0]
        corner_weights = self._assignment.weights[0][corners]
        # A sample whose corners have equal weights is moved as one point; others are interpolated
        # between their moved corners.
        same_token = (corner_weights == corner_weights[:, :1]).flatten(1).all(1)
        same_token &= self._skinned is not None
        single, blended = torch.nonzero(same_token).flatten(), torch.nonzero(~same_token).flatten()
        single_points = (points[corners[single]] * shares[single]).sum(1)
        blended_corners = corners[blended].flatten()
        rig = self._rig(
            torch.cat([single_points, points[blended_corners]])[None],
            self._assignment.select(torch.cat([corners[single, 0], blended_corners])),
        )

        def move(q: Tensor) -> Tensor:
            rigged = self._move(rig, q)
            moved_corners = rigged[..., len(single) :, :].unflatten(-2, (-1, 3))
            moved = torch.empty(*q.shape[:-1], len(samples), 3, dtype=q.dtype)
            moved[..., single, :] = rigged[..., : len(single), :]
            moved[..., blended, :] = (moved_corners * shares[blended].to(q.dtype)).sum(-2)
            return moved

        return move

    @property
    def parts(self) -> np.ndarray | None:
        """[F] int64: part of each triangle, 0 for the static one, -1 where several are blended.
        None for the "point" decoder, which has no parts."""
        return None if self._skinned is None else self._segmented.parts

    @property
    def pieces(self) -> np.ndarray:
        """[F] int64: piece of each triangle: a connected region that mostly follows one part."""
        return self._segmented.pieces

    def refined(self, parts: np.ndarray | None = None) -> LearnedBody:
        """This body with a coordinate for every screw of every part that moves visibly.

        Args:
            parts: [F] part of each triangle, if other than predicted; see `parts`. The motions of
                these parts are then predicted again.
        """
        segmented = self._segmented if parts is None else self._segmented.with_parts(parts)
        body = LearnedBody(segmented, mass_points=len(self.mass), screws=True)
        body.mass, body.confidence = self.mass, self.confidence
        return body

    def sample(self, count: int, *, seed: int = 0) -> Tensor:
        """[count, k] samples of the prior, clamped to the limits."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, len(self.q0), generator=generator, dtype=torch.float64)
        return (self._mean + noise).clamp(self.limits[:, 0], self.limits[:, 1])

    def initial_guesses(self, target: np.ndarray) -> Tensor:
        """[S, k] coordinates to start a fit to unordered points `target` [M, 3] (m) from."""
        net, shape = self._segmented.net, self._segmented.shape
        states = net.initial_guesses(shape, self._basis.float(), self._normalize(target))
        return self._coordinates_of(states)

    @torch.no_grad()
    def encode_pose(self, vertices: np.ndarray) -> Tensor:
        """[k] coordinates, predicted by the posterior encoder, of moved `vertices` [V, 3] (m)."""
        segmented = self._segmented
        moved = self._normalize(segmented.mesh_sample.samples.points(vertices))
        state, _ = segmented.net.encode_pose(segmented.shape, moved[None])
        return self._coordinates_of(state.flatten())

    def _normalize(self, world: np.ndarray) -> Tensor:
        normalized = self._segmented.mesh_sample.box.normalize(np.asarray(world, np.float64))
        return torch.from_numpy(normalized.astype(np.float32))

    def _coordinates_of(self, states: Tensor) -> Tensor:
        q = states.double() @ self._basis
        return q.clamp(self.search_limits[:, 0], self.search_limits[:, 1])

    def _interval(self, deviations: float) -> Tensor:
        """[k, 2] coordinates within some standard deviations of the prior's mean, 0 included."""
        low, high = self._mean - deviations, self._mean + deviations
        return torch.stack([low.clamp(max=-0.1), high.clamp(min=0.1)], 1)

    def _find_skin(self) -> Skin | None:
        """Rigid skinning of the vertices, if every vertex follows one token alone."""
        weights = self._assignment.weights[0]
        rigid = self._skinned is not None and self._skinned.rigid
        if not rigid or bool((weights.amax(-1) < 0.999).any()):
            return None
        joint = weights.argmax(-1).numpy()
        return Skin.rigid(joint, tuple(f"token{i}" for i in range(weights.shape[-1])))

    def skinning_frames(self) -> SkinningFrames | None:
        """Twists of the rigid parts that the surface blends; None if it does not blend any."""
        decoder, box = self._skinned, self._segmented.mesh_sample.box
        if decoder is None or not decoder.rigid:
            return None
        points = self._segmented.shape.surface.points[0]
        assignment = self._segmented.shape.assignment
        mass_points = slice(len(self.mass))
        weights = [
            assignment.weights[0, mass_points, 1:].double(),
            self._assignment.weights[0, :, 1:].double(),
        ]
        live = torch.nonzero((torch.cat(weights) > 0).any(0)).flatten()

        def twists(q: Tensor) -> Tensor:
            z = self._state(q)
            translation, rotation = decoder.screws(self._encoding, z.reshape(-1, *z.shape[-2:]))
            moved = torch.cat(
                [translation / box.scale @ self._rotation, rotation @ self._rotation], -1
            )[:, live]
            return moved.reshape(*q.shape[:-1], *moved.shape[1:])

        return SkinningFrames(
            twists=twists,
            centres=self._denormalize(self._encoding.centres[0, live]).numpy(),
            points=self._denormalize(points[mass_points].double()).numpy(),
            point_weights=weights[0][:, live].numpy(),
            vertex_weights=weights[1][:, live].numpy(),
        )

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the skin's joints from the rest pose, [..., J, 4, 4]."""
        z, decoder = self._state(q), self._skinned
        if decoder is None:
            raise InputError(
                "this body has no skin, since its 'point' decoder moves every point separately",
                hint="use weights of a 'skinned' decoder",
            )
        motions = decoder.matrices(decoder.motions(self._encoding, z.reshape(-1, *z.shape[-2:])))
        still = torch.eye(4, dtype=q.dtype).expand(len(motions), 1, 4, 4)
        normalized = torch.cat([still, motions.to(q.dtype)], 1)
        to_box = torch.from_numpy(self._segmented.mesh_sample.box.matrix).to(q.dtype)
        world = torch.linalg.inv(to_box) @ normalized @ to_box
        return world.unflatten(0, q.shape[:-1]) if q.ndim > 1 else world[0]

    def _state(self, q: Tensor) -> Tensor:
        """z [..., T, 6] of q [..., k]."""
        require_coordinates(q, len(self.coordinates))
        return (q.double() @ self._basis.mT).unflatten(-1, (-1, TWIST))

    def _move(self, rig: Rig, q: Tensor) -> Tensor:
        z = self._state(q)
        normalized = rig.move(z.reshape(-1, *z.shape[-2:]))
        world = self._denormalize(normalized)
        return world.to(q.dtype).reshape(*q.shape[:-1], *world.shape[1:])

    def _denormalize(self, normalized: Tensor) -> Tensor:
        """Points [..., 3] of the box in the world (m)."""
        return (normalized / self._segmented.mesh_sample.box.scale + self._centre) @ self._rotation

    def _rig(self, points: Tensor, assignment: TokenAssignment) -> Rig:
        rig = self._decoder.rig(self._encoding, points.double(), assignment.double())
        return GroupedRig(rig) if isinstance(rig, SkinnedRig) else rig
