"""The last millimetres of a scan's registration, and how sure of it one may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.calibration.scan_registration.pose_hypothesis import (
    PoseHypothesis,
    plane_rows,
    posed_points,
    solve_step,
    step_hypothesis,
)
from kin4d.calibration.scan_registration.surface import ScanSamples

FINALISTS = 10
PROMISING = 1.4  # A rough guess this many times as costly as the best is not looked at.
SHOWS = 0.1  # Share of a motion that must show as distance from the scan, or it is undetermined.
HOPELESS = 0.3  # A guess with fewer of its samples near the scan's is not worth more rounds.
RIVAL = 2.0  # Squared distances this many times those of the best fit rule another one out.


@dataclass(frozen=True, eq=False)
class RefinedPose:
    """A refined guess.

    Attributes:
        guess: One guess, float64.
        cost: Mean squared distance in both directions, in tolerances, each at most one.
        residual: Root mean square distance (m) of the scan's samples that fit.
        coverage: Share of the scan's samples that fit.
        information: [7 + k, 7 + k] of (log scale, translation, rotation, q).
    """

    guess: PoseHypothesis
    cost: float
    residual: float
    coverage: float
    information: Tensor


class PoseRefiner:
    """Iterative closest points, in both directions, on one scan and one body. Lengths in metres."""

    def __init__(
        self,
        body: ArticulatedBodyBase,
        links: ScanSamples,
        scan: ScanSamples,
        *,
        rng: np.random.Generator,
    ) -> None:
        self.body = body
        self.reach = 0.03 * float(np.sqrt(links.area.sum()))
        few = links[np.sort(rng.permutation(len(links.link))[:6000])]
        self._link = torch.from_numpy(few.link)
        self._points, self._normals = torch.from_numpy(few.points), torch.from_numpy(few.normals)
        self._shown = torch.from_numpy(few.area / few.area.max())
        self._tree = KDTree(scan.points)
        self._scan_points = torch.from_numpy(scan.points)
        self._scan_normals = torch.from_numpy(scan.normals)
        self._queried = torch.from_numpy(rng.permutation(len(scan.link))[:4000])

    def refine(self, guesses: PoseHypothesis, costs: Tensor) -> list[RefinedPose]:
        """The guesses (best first) that cost little more than the best, refined."""
        worth = (costs <= PROMISING * costs.min()).nonzero()[:FINALISTS] if len(costs) else []
        return [self._fit(guesses[i].exact()) for i in worth]

    def undetermined(self, fit: RefinedPose) -> tuple[str, ...]:
        """Coordinates that can change, with whatever else has to, and hardly leave the scan."""
        ridge = 1e-9 * fit.information.diagonal().mean() * torch.eye(len(fit.information))
        spread = torch.linalg.inv(fit.information + ridge)
        before, home = self._gaps(fit.guess), self._positions(fit.guess)[0]
        loose = []
        for c, name in enumerate(self.body.coordinates):
            direction = spread[7 + c] / spread[7 + c, 7 + c]
            nudged = step_hypothesis(fit.guess, 1e-4 * direction[None])
            pace = 1e4 * (self._positions(nudged)[0] - home).norm(dim=-1).max().clamp_min(1e-12)
            moved = step_hypothesis(
                fit.guess, (self.reach / pace).clamp_max(0.35) * direction[None]
            )
            displacement = (self._positions(moved)[0] - home).norm(dim=-1)
            far = displacement >= 0.3 * displacement.max()
            seen = (self._gaps(moved).square() - before.square())[far].mean().clamp_min(0)
            if seen.sqrt() <= SHOWS * displacement[far].square().mean().sqrt():
                loose.append(name)
        return tuple(loose)

    def ambiguous(self, best: RefinedPose, fits: list[RefinedPose]) -> tuple[str, ...]:
        """Coordinates whose values in another fit move samples far, to where they lie as well."""
        home, gaps = self._positions(best.guess)[0], self._gaps(best.guess).square()
        doubtful = set()
        for fit in fits:
            moved = self._moved(fit.guess, home)
            rivals = self._gaps(fit.guess).square()[moved].sum() < RIVAL * gaps[moved].sum()
            if moved.any() and rivals and fit.coverage > 0.97 * best.coverage:
                for c, name in enumerate(self.body.coordinates):
                    q = best.guess.q.clone()
                    q[:, c] = fit.guess.q[:, c]
                    if self._moved(PoseHypothesis(best.guess.similarity, q), home).any():
                        doubtful.add(name)
        return tuple(name for name in self.body.coordinates if name in doubtful)

    def _moved(self, guess: PoseHypothesis, home: Tensor) -> Tensor:
        """[N] whether samples stand far from where they are at `home` [N, 3]."""
        return (self._positions(guess)[0] - home).norm(dim=-1) > self.reach

    def _positions(self, guess: PoseHypothesis) -> tuple[Tensor, Tensor]:
        transforms = guess.link_transforms(self.body)[0]
        return posed_points(transforms, self._link, self._points, self._normals)

    def _gaps(self, guess: PoseHypothesis) -> Tensor:
        """[N] distance (m) of the body's samples from the scan's surface, at most the reach."""
        positions, _ = self._positions(guess)
        near, found = _nearest(self._tree, positions, 2 * self.reach)
        gap = (self._scan_normals[near] * (positions - self._scan_points[near])).sum(-1).abs()
        return torch.where(found, gap.clamp_max(self.reach), self.reach)

    def _fit(self, guess: PoseHypothesis, *, rounds: int = 30) -> RefinedPose:
        active = torch.ones(len(self.body.coordinates), dtype=torch.bool)
        reach, prior = self.reach, 0.01 * self.reach
        for _ in range(rounds):
            rows, gap, weight, _ = (one[None] for one in self._matches(guess, reach))
            robust = weight * (1 - (gap / reach).clamp(-1, 1).square()).square()
            step = solve_step(rows, gap, robust, guess, active=active, deviation=prior)
            guess = step_hypothesis(guess, step).within_limits(self.body)
            matched = gap[weight > 0].abs()
            if step.abs().max() < 3e-5 or len(matched) < HOPELESS * gap.numel():
                break
            reach = min(max(6 * float(matched.median()), 0.1 * self.reach), self.reach)
        rows, gap, weight, from_scan = self._matches(guess, self.reach)
        off = (gap / (self.reach / 3)).abs().where(weight > 0, torch.inf).clamp_max(1).square()
        lies = off < 1
        shown = weight.where(weight > 0, 1.0)
        fitting = gap[from_scan & lies]
        return RefinedPose(
            guess=guess,
            cost=float(off[from_scan].mean() + (off * shown)[~from_scan].mean()),
            residual=float(fitting.square().mean().sqrt()) if len(fitting) else float("inf"),
            coverage=float(lies[from_scan].double().mean()),
            information=(rows * (weight * lies)[:, None]).mT @ rows,
        )

    def _matches(
        self, guess: PoseHypothesis, reach: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Pairs of near samples, found from the scan and from the body.

        Returns:
            rows: [M, 7 + k] derivatives of `gap`.
            gap: [M] m, along the body's normal.
            weight: [M], zero for pairs that are too far apart or face different directions.
            from_scan: [M] bool, whether the pair was found from the scan.
        """
        positions, normals = self._positions(guess)
        near_body, by_scan = _nearest(
            KDTree(positions.numpy()), self._scan_points[self._queried], reach
        )
        near_scan, by_body = _nearest(self._tree, positions, reach)
        ours = torch.cat([near_body, torch.arange(len(positions))])
        theirs = torch.cat([self._queried, near_scan])
        found = torch.cat([by_scan, by_body])
        from_scan = torch.arange(len(ours)) < len(self._queried)
        order = ours.argsort()
        ours, theirs, from_scan, found = ours[order], theirs[order], from_scan[order], found[order]
        normal = normals[ours]
        away = positions[ours] - self._scan_points[theirs]
        rows = plane_rows(
            self.body,
            guess,
            self._link[ours],
            self._points[ours],
            positions[None, ours],
            normal[None],
        )[0]
        fits = found & ((normal * self._scan_normals[theirs]).sum(-1) > 0.3)
        weight = torch.where(from_scan, 1.0, self._shown[ours]) * fits
        return rows, (normal * away).sum(-1), weight, from_scan


def _nearest(tree: KDTree, points: Tensor, bound: float) -> tuple[Tensor, Tensor]:
    """Indices [N] into the tree and whether [N] anything is within `bound`; index 0 if not."""
    distance, index = tree.query(points.numpy(), distance_upper_bound=bound)
    found = torch.from_numpy(np.isfinite(distance))
    return torch.from_numpy(np.asarray(index)) * found, found
