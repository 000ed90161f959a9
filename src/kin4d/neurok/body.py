"""LearnedBody: any mesh, with coordinates a network has found for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.bodies.body import require_coordinates
from kin4d.bodies.skinning_frames import SkinningFrames
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, place_masses
from kin4d.geometry.skin import Skin
from kin4d.neurok.basis import screw_basis, spectral_basis
from kin4d.neurok.decoder import GroupedRig, Rig, SkinnedDecoder, SkinnedRig
from kin4d.neurok.encoders import TokenAssignment
from kin4d.neurok.initial_guesses import initial_guesses
from kin4d.neurok.preprocess import sample_mesh
from kin4d.neurok.pretrained import cached_model
from kin4d.neurok.reduction import Metric
from kin4d.neurok.segmented_shape import SegmentedShape, snap_to_components
from kin4d.neurok.twists import TWIST

REACH = 3.5
"""Standard deviations of the prior that coordinates may go to either side of its mean: 99 % of the
states of training."""

SEARCH = 6.0
"""The same for a fit, which has a target to be sure of."""


class LearnedBody:
    """A `Body` made from a mesh alone: q -> x(q) by a network, with q = 0 the mesh as given.

    Make one with `from_mesh`. Coordinates are dimensionless: one is a standard deviation of what
    the model expects of this shape.

    Attributes:
        rest: The mesh.
        coordinates: "q0", "q1", ..., those that move most first.
        q0: [k] zeros.
        limits: [k, 2] the region the model holds likely, rest included.
        search_limits: [k, 2] a wider one, in which a fit looks for its target.
        mass: [P] kg.
        motions: Root mean square motion (m) of each direction of the full state, largest first: the
            spectrum that the number of coordinates was read off.
        skin: The joints that carry the vertices, if every vertex follows one part alone.
        confidence: Share of training shapes that look stranger to the model than this one, 0 to 1;
            None if the weights do not say. Near 0, expect nonsense.
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
        self._encoding = segmented.shape.encoding.double()
        self._rotation, self._centre = torch.from_numpy(box.rotation), torch.from_numpy(box.centre)
        # What follows nobody is not even computed: it stays exactly where it is.
        mobile = self._assignment.weights[0, :, 0] < 1
        self._mobile = torch.nonzero(mobile | (self.parts is None)).flatten()
        normalized = torch.from_numpy(box.normalize(self.rest.vertices))[None]
        self._vertex_rig = self._rig(
            normalized[:, self._mobile], self._assignment.rows(self._mobile)
        )
        # Samples are in random order and stand for equal areas: the first are as good as any.
        samples, shape = segmented.mesh_sample.samples, segmented.shape
        some = torch.arange(min(mass_points, len(samples)))
        self._point_rig = self._rig(shape.surface.points[:, some], shape.assignment.rows(some))
        self.mass = torch.from_numpy(place_masses(self.rest, samples.face[: len(some)], mass))
        if screws:
            found = screw_basis(segmented)
        else:
            found = spectral_basis(segmented, some, self.mass, count=count, metric=metric)
        self._basis = found.basis.double()
        self.motions = found.motions.double() / box.scale
        self._mean = self._basis.mT @ shape.encoding.mean.flatten().double()
        k = self._basis.shape[1]
        self.coordinates = tuple(f"q{i}" for i in range(k))
        self.q0 = torch.zeros(k, dtype=torch.float64)
        self.limits = self._within(REACH)
        self.search_limits = self._within(SEARCH)
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
        """Give a mesh coordinates.

        Args:
            mesh: Any; metres.
            model: Weights; see `kin4d.neurok.from_pretrained`.
            up: The mesh's axis that points up, "y" or "z": the model has seen things stand.
            mass: kg, spread evenly over the surface; or [F], of each triangle, where it is known.
            coordinates: How many; None lets the spectrum decide, and leaves room for what the model
                is not sure of. Mechanics rather wants joints: see `kin4d.neurok.articulate`.
            metric: What it is the spectrum of; see `kin4d.neurok.reduction`.
            points: Surface samples the networks look at.
            pinned: Vertices that stay where they are, such as an edge of a flag; what is near them
                moves less. What hangs by a point turns about it: give it a `Handle` there instead.
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
        flat = q.reshape(-1, q.shape[-1])
        # Forward-mode derivatives exist only for the plain attention kernel.
        with sdpa_kernel(SDPBackend.MATH):
            rows = torch.stack([torch.func.jacfwd(self.points)(row) for row in flat])
        return rows.unflatten(0, q.shape[:-1]) if q.ndim > 1 else rows[0]

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> places on the surface [..., N, 3] (m)."""
        corners = torch.from_numpy(samples.corners)
        shares = torch.from_numpy(samples.barycentric)[..., None]
        points, corner_weights = (
            self._segmented.mesh_sample.vertices.points[0],
            self._assignment.weights[0][corners],
        )
        # A place whose corners follow the same tokens moves as one point does; others are put
        # together from their corners.
        same_token = (corner_weights == corner_weights[:, :1]).flatten(1).all(1)
        same_token &= isinstance(self._decoder, SkinnedDecoder)
        single, blended = torch.nonzero(same_token).flatten(), torch.nonzero(~same_token).flatten()
        middles = (points[corners[single]] * shares[single]).sum(1)
        blended_corners = corners[blended].flatten()
        rig = self._rig(
            torch.cat([middles, points[blended_corners]])[None],
            self._assignment.rows(torch.cat([corners[single, 0], blended_corners])),
        )

        def move(q: Tensor) -> Tensor:
            found = self._move(rig, q)
            pieces = found[..., len(single) :, :].unflatten(-2, (-1, 3))
            moved = torch.empty(*q.shape[:-1], len(samples), 3, dtype=q.dtype)
            moved[..., single, :] = found[..., : len(single), :]
            moved[..., blended, :] = (pieces * shares[blended].to(q.dtype)).sum(-2)
            return moved

        return move

    @property
    def parts(self) -> np.ndarray | None:
        """[F] int64: the part each triangle follows, 0 where it stays; -1 where several share it.
        None if points move by themselves."""
        return self._segmented.parts if isinstance(self._decoder, SkinnedDecoder) else None

    @property
    def pieces(self) -> np.ndarray:
        """[F] int64: the piece of the surface that each triangle belongs to, which hangs together
        and mostly follows one part."""
        return self._segmented.pieces

    def refined(self, parts: np.ndarray | None = None) -> LearnedBody:
        """This body with every screw of a part that can be seen as a coordinate.

        Args:
            parts: [F] as `parts`, what triangles follow if the network was wrong about it: how
                those parts may move is then read off anew.
        """
        segmented = self._segmented if parts is None else self._segmented.with_parts(parts)
        body = LearnedBody(segmented, mass_points=len(self.mass), screws=True)
        body.mass, body.confidence = self.mass, self.confidence
        return body

    def sample(self, count: int, *, seed: int = 0) -> Tensor:
        """[count, k] plausible coordinates, drawn from the prior and kept within the limits."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, len(self.q0), generator=generator, dtype=torch.float64)
        return (self._mean + noise).clamp(self.limits[:, 0], self.limits[:, 1])

    def initial_guesses(self, target: np.ndarray) -> Tensor:
        """[S, k] coordinates in which the body may look like unordered points target [M, 3] (m)."""
        known, basis = self._segmented, self._basis.float()
        return self._coordinates_of(
            initial_guesses(known.net, known.shape, basis, self._normalize(target))
        )

    @torch.no_grad()
    def encode_pose(self, vertices: np.ndarray) -> Tensor:
        """[k] coordinates in which the vertices are about where `vertices` [V, 3] (m) are."""
        known = self._segmented
        moved = self._normalize(known.mesh_sample.samples.points(vertices))
        return self._coordinates_of(known.net.encode_pose(known.shape, moved[None])[0].flatten())

    def _normalize(self, world: np.ndarray) -> Tensor:
        normalized = self._segmented.mesh_sample.box.normalize(np.asarray(world, np.float64))
        return torch.from_numpy(normalized.astype(np.float32))

    def _coordinates_of(self, states: Tensor) -> Tensor:
        q = states.double() @ self._basis
        return q.clamp(self.search_limits[:, 0], self.search_limits[:, 1])

    def _within(self, reach: float) -> Tensor:
        """[k, 2] the region `reach` standard deviations around the prior's mean, rest included."""
        return torch.stack(
            [(self._mean - reach).clamp(max=-0.1), (self._mean + reach).clamp(min=0.1)], 1
        )

    def _find_skin(self) -> Skin | None:
        """Joints that carry the vertices, if every vertex follows one token alone."""
        weights = self._assignment.weights[0]
        rigid = isinstance(self._decoder, SkinnedDecoder) and self._decoder.rigid
        if not rigid or bool((weights.amax(-1) < 0.999).any()):
            return None
        joint = weights.argmax(-1).numpy()
        return Skin.rigid(joint, tuple(f"token{i}" for i in range(weights.shape[-1])))

    def skinning_frames(self) -> SkinningFrames | None:
        """What carries the surface, if it is rigid parts that points blend; else None."""
        decoder, box = self._decoder, self._segmented.mesh_sample.box
        if not isinstance(decoder, SkinnedDecoder) or not decoder.rigid:
            return None
        points, assignment = (
            self._segmented.shape.surface.points[0],
            self._segmented.shape.assignment,
        )
        some = slice(len(self.mass))
        weights = [
            assignment.weights[0, some, 1:].double(),
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
            points=self._denormalize(points[some].double()).numpy(),
            point_weights=weights[0][:, live].numpy(),
            vertex_weights=weights[1][:, live].numpy(),
        )

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the skin's joints from the rest pose, [..., J, 4, 4]."""
        z, decoder = self._state(q), self._decoder
        if not isinstance(decoder, SkinnedDecoder):
            raise InputError("this body has no skin: each of its points moves by itself")
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
