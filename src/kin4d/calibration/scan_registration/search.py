"""Finding a body in a scan without a first guess: one link is found anywhere, the others follow.

The anchor, a large link of distinctive shape, is laid on the scan in very many poses: each puts one
of its points on one of the scan's, normal on normal, at some spin. The best survive, and the tree
is grown from them link by link: the next joint is swept through its range, the best values of all
guesses are kept, and everything placed so far is refined together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.calibration.scan_registration.pose_hypothesis import (
    PoseHypothesis,
    plane_rows,
    posed_points,
    solve_step,
    step_hypothesis,
)
from kin4d.calibration.scan_registration.surface import NearField, ScanSamples, finite_limits
from kin4d.geometry.transforms import rigid, rigid_inverse, rotvec_to_matrix

SAMPLES_PER_LINK = 64
SWEEP = {1: 60, 2: 30, 3: 12}


@dataclass(frozen=True, eq=False)
class LinkTemplate:
    """Few samples of a body's links, as tensors: points, normals [N, 3], weight [N], link [N]."""

    points: Tensor
    normals: Tensor
    weight: Tensor
    link: Tensor

    @classmethod
    def of(cls, samples: ScanSamples, rng: np.random.Generator) -> LinkTemplate:
        """At most `SAMPLES_PER_LINK` of each link, each weighted by the area it stands for."""
        chosen, weight = [], []
        for link in np.unique(samples.link):
            mine = np.flatnonzero(samples.link == link)
            few = rng.permutation(mine)[:SAMPLES_PER_LINK]
            chosen.append(few)
            weight.append(samples.area[few] * (samples.area[mine].sum() / samples.area[few].sum()))
        few = samples[np.concatenate(chosen)]
        return cls(
            torch.from_numpy(few.points).float(),
            torch.from_numpy(few.normals).float(),
            torch.from_numpy(np.concatenate(weight)).float(),
            torch.from_numpy(few.link),
        )

    def __getitem__(self, keep: Tensor) -> LinkTemplate:
        return LinkTemplate(
            self.points[keep], self.normals[keep], self.weight[keep], self.link[keep]
        )

    def of_links(self, links: list[int]) -> LinkTemplate:
        """The samples of some links."""
        return self[torch.isin(self.link, torch.tensor(links))]

    def posed(self, poses: Tensor) -> LinkTemplate:
        """The samples as one rigid part, with the links at `poses` [L, 4, 4]."""
        points, normals = posed_points(poses, self.link, self.points, self.normals)
        return LinkTemplate(points, normals, self.weight, torch.zeros_like(self.link))


def moved_by(body: ArticulatedBodyBase, rng: np.random.Generator) -> np.ndarray:
    """[1 + L, 1 + L, k] bool: whether coordinate c moves b relative to a.

    Index 0 is the world, i + 1 is link i. Found by moving each coordinate a little.
    """
    low, high = finite_limits(body).T
    q = torch.from_numpy(low + (high - low) * rng.uniform(0.3, 0.7, len(low)))
    steps = torch.cat([q[None], q + 1e-2 * torch.eye(len(q), dtype=q.dtype)])
    poses = body.link_poses(steps)
    world = torch.eye(4, dtype=q.dtype).expand(len(steps), 1, 4, 4)
    poses = torch.cat([world, poses], 1)
    relative = rigid_inverse(poses)[:, :, None] @ poses[:, None]
    return ((relative[1:] - relative[:1]).abs().amax((-1, -2)) > 1e-7).movedim(0, -1).numpy()


def growth(moves: np.ndarray, anchor: int, drawn: list[int]) -> list[tuple[list[int], list[int]]]:
    """How to grow from `anchor`: at each step the coordinates to find and the links won."""
    known = np.zeros(moves.shape[-1], bool)
    placed: set[int] = set()
    steps = []
    while True:
        missing = {b: moves[anchor, b] & ~known for b in drawn if b not in placed}
        if not missing:
            return steps
        unknown = min(missing.values(), key=lambda one: one.sum())
        known |= unknown
        won = [b for b, one in missing.items() if not (one & ~known).any()]
        placed.update(won)
        steps.append((np.flatnonzero(unknown).tolist(), won))


def distinctiveness(probe: LinkTemplate, group: list[int], poses: Tensor) -> float:
    """Area (m^2) of a rigid group times how hard its shape holds it in place, 0 (slips) to 1."""
    part = probe.of_links(group).posed(poses)
    points, normals = part.points - part.points.mean(0), part.normals
    reach = points.norm(dim=-1).square().mean().sqrt()
    rows = torch.cat([torch.linalg.cross(points / reach, normals), normals], -1)
    information = (part.weight[:, None] * rows).mT @ rows / part.weight.sum()
    return float(part.weight.sum() * torch.linalg.eigvalsh(information)[0].clamp_min(1e-4).sqrt())


class HypothesisSearch:
    """One scan, one body: the beam search. Lengths in the scan's frame, already near metres."""

    def __init__(
        self,
        body: ArticulatedBodyBase,
        samples: ScanSamples,
        field: NearField,
        *,
        rng: np.random.Generator,
        beam: int = 96,
    ) -> None:
        self.body, self.field, self.rng, self.beam = body, field, rng, beam
        self.probe = LinkTemplate.of(samples, rng)
        self.drawn = sorted(set(samples.link.tolist()))
        moves = moved_by(body, rng)
        self.moves = moves[1:, 1:]
        self.standing = np.flatnonzero(~moves[0, 1:].any(-1)).tolist()
        self.reach = 0.03 * float(np.sqrt(samples.area.sum()))

    def anchors(self) -> list[int]:
        """Links to start from, best first, one for each group that moves as one."""
        poses = self.body.link_poses(self.body.q0.float())
        found: dict[tuple[int, ...], float] = {}
        for a in self.drawn:
            group = tuple(b for b in self.drawn if not self.moves[a, b].any())
            found.setdefault(group, distinctiveness(self.probe, list(group), poses))
        return [group[0] for group in sorted(found, key=lambda group: -found[group])]

    def run(self, anchor: int, *, up: Tensor | None = None) -> tuple[PoseHypothesis, Tensor]:
        """Guesses, best first, and their costs, grown from `anchor`.

        `up` [3] is where the body's z axis points in the scan, to about 25 degrees, if known.
        """
        (_, group), *rest = growth(self.moves, anchor, self.drawn)
        guess, cost = self._lay(group, up if anchor in self.standing else None)
        placed, active = list(group), torch.zeros(len(self.body.coordinates), dtype=torch.bool)
        for unknown, won in rest:
            guess = self._sweep(guess, cost, anchor, unknown, won)
            placed += won
            active[unknown] = True
            guess, cost = self._refined(guess, self.probe.of_links(placed), active)
        if up is not None:
            upright = self._upright(guess.similarity, up)
            guess, cost = guess[upright], cost[upright]
        return guess, cost

    def cost(self, guess: PoseHypothesis, probe: LinkTemplate) -> Tensor:
        """[B] m^2 of a probe's samples that do not lie on the scan, partly or wholly."""
        return self._misfit(guess.link_transforms(self.body), probe)

    def _upright(self, similarity: Tensor, up: Tensor) -> Tensor:
        return torch.nn.functional.normalize(similarity[:, :3, 2], dim=-1) @ up.float() > 0.9

    def _misfit(self, transforms: Tensor, probe: LinkTemplate) -> Tensor:
        return self.field.misfit(
            transforms, probe.link, probe.points, probe.normals, probe.weight, reach=self.reach
        )

    def _lay(self, group: list[int], up: Tensor | None) -> tuple[PoseHypothesis, Tensor]:
        """The anchor's group laid on the scan, point on point and normal on normal."""
        q = self.body.q0.float()
        probe = self.probe.of_links(group).posed(self.body.link_poses(q))
        probe = probe[torch.from_numpy(self.rng.permutation(len(probe.points)))]
        few = probe[torch.arange(min(24, len(probe.points)))]
        targets = torch.from_numpy(self.rng.permutation(len(self.field.points))[:2000])
        angle = torch.arange(24) * (2 * torch.pi / 24)
        spin = rotvec_to_matrix(torch.nn.functional.pad(angle[:, None], (2, 0)))
        found = []
        for point, frame in zip(probe.points[:10], _frames(probe.normals[:10]), strict=False):
            theirs = _frames(self.field.normals[targets])
            rotation = (theirs[:, None] @ spin @ frame.mT).flatten(0, 1)
            translation = (
                self.field.points[targets].repeat_interleave(len(spin), 0) - rotation @ point
            )
            laid = rigid(rotation, translation)
            if up is not None:
                laid = laid[self._upright(laid, up)]
            rough = self._misfit(laid[:, None], few)
            found.append(laid[rough.topk(min(1000, len(rough)), largest=False).indices])
        laid = torch.cat(found)
        cost = self._misfit(laid[:, None], probe)
        best = cost.topk(min(4 * self.beam, len(cost)), largest=False).indices
        guess = PoseHypothesis(laid[best], q.expand(len(best), -1))
        return self._refined(
            guess, self.probe.of_links(group), torch.zeros(len(q), dtype=torch.bool)
        )

    def _sweep(
        self, guess: PoseHypothesis, cost: Tensor, anchor: int, unknown: list[int], won: list[int]
    ) -> PoseHypothesis:
        """Each guess with its unknown coordinates at the values that place the new links best."""
        limits = torch.from_numpy(finite_limits(self.body)).float()[unknown]
        count = SWEEP[min(len(unknown), 3)]
        ticks = torch.linspace(0, 1, count)
        grid = torch.cartesian_prod(*[ticks] * len(unknown)).reshape(-1, len(unknown))
        values = limits[:, 0] + grid * (limits[:, 1] - limits[:, 0])
        probe = self.probe.of_links(won)
        tried = self._with(guess, anchor, unknown, values)
        total = cost[:, None] + self.cost(tried, probe).unflatten(0, (len(guess), -1))
        if len(unknown) == 1:  # Only the valleys of the sweep: their slopes lead to the same place.
            walled = torch.nn.functional.pad(total, (1, 1), value=torch.inf)
            valley = (total <= walled[:, :-2]) & (total <= walled[:, 2:])
            total = torch.where(valley, total, torch.inf)
        flat = total.flatten()
        best = flat.topk(min(2 * self.beam, int(flat.isfinite().sum())), largest=False).indices
        return tried[best]

    def _with(
        self, guess: PoseHypothesis, anchor: int, unknown: list[int], values: Tensor
    ) -> PoseHypothesis:
        """Every guess with every row of `values` [R, u], the anchor staying where it is."""
        held = guess.similarity @ self.body.link_poses(guess.q)[:, anchor]
        q = guess.q.repeat_interleave(len(values), 0)
        q[:, unknown] = values.repeat(len(guess), 1)
        back = rigid_inverse(self.body.link_poses(q)[:, anchor])
        return PoseHypothesis(held.repeat_interleave(len(values), 0) @ back, q)

    def _refined(
        self, guess: PoseHypothesis, probe: LinkTemplate, active: Tensor
    ) -> tuple[PoseHypothesis, Tensor]:
        """The guesses refined on the links placed so far, without doubles, best `beam` first."""
        for _ in range(5):
            points, normals = posed_points(
                guess.link_transforms(self.body), probe.link, probe.points, probe.normals
            )
            near = self.field.nearest(points)
            gap, target = points - self.field.points[near], self.field.normals[near]
            far = (gap.norm(dim=-1) / (2 * self.reach)).clamp_max(1)
            weight = probe.weight * (1 - far.square()).square() * ((normals * target).sum(-1) > 0.3)
            rows = plane_rows(self.body, guess, probe.link, probe.points, points, target)
            residual = (target * gap).sum(-1)
            step = solve_step(
                rows, residual, weight, guess, active=active, deviation=0.3 * self.reach
            )
            guess = step_hypothesis(guess, step).within_limits(self.body)
        cost = self.cost(guess, probe)
        order = cost.argsort()
        marks = points[order][:, :: max(1, points.shape[1] // 24)]
        apart = torch.cdist(marks.flatten(1), marks.flatten(1)) / marks.shape[1] ** 0.5
        double = (apart < 0.3 * self.reach).tril(-1).any(-1)
        keep = order[~double][: self.beam]
        return guess[keep], cost[keep]


def _frames(normals: Tensor) -> Tensor:
    """[..., 3, 3] rotations whose last column is the normal."""
    helper = torch.zeros_like(normals).scatter_(-1, normals.abs().argmin(-1, keepdim=True), 1.0)
    side = torch.nn.functional.normalize(torch.linalg.cross(helper, normals), dim=-1)
    return torch.stack([side, torch.linalg.cross(normals, side), normals], -1)
