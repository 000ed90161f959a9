"""FitConfig: what can be set about a fit, with defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How a body is fitted. Distances are in bounding-box diagonals of the body.

    Attributes:
        body_points: Surface points sampled on the body.
        max_target_points: Points of the target at most; a mesh is sampled at so many.
        max_query_points: Target points at most that look up their nearest point on the body.
        descents: Starts that are optimised; the nearest to the target are chosen.
        iterations: Gauss-Newton steps of each.
        kernel_widths: Widths of the robust (Geman-McClure) kernel at the first and the last step:
            wide to converge from afar, narrow so that outliers do not count.
        tangential_weight: Weight of a distance along the target's surface, against one across it:
            only the borders of a surface say where points that slide over it belong.
        damping: Of Gauss-Newton, of the mean diagonal of the normal matrix.
        min_gain: Share of the improvement over rest that a coordinate must account for; others go
            back to rest.
        min_improvement: Improvement, of the error, that the share is taken of at least: errors of
            sampled points are random.
        reassign_rounds: How often pieces may be assigned to other parts.
        reassign_iterations: Gauss-Newton steps after each time.
        reassign_points: Surface points that pieces are compared at.
        contact_distance: Within which pieces touch; a piece may follow the parts of those.
        min_part_gain: How much nearer another moving part must bring a piece.
        lost_distance: From the target at which a piece follows none of the parts.
        noise_ratio: Error, of the one that sampling alone leaves, at which a fit is complete.
        same_error_ratio: Error, of the one before, up to which a fit in which less moves is better.
    """

    body_points: int = 1024
    max_target_points: int = 4096
    max_query_points: int = 2048
    descents: int = 4
    iterations: int = 24
    kernel_widths: tuple[float, float] = (0.2, 0.02)
    tangential_weight: float = 0.1
    damping: float = 1e-3
    min_gain: float = 0.02
    min_improvement: float = 0.1
    reassign_rounds: int = 3
    reassign_iterations: int = 20
    reassign_points: int = 8192
    contact_distance: float = 0.02
    min_part_gain: float = 0.002
    lost_distance: float = 0.02
    noise_ratio: float = 1.02
    same_error_ratio: float = 1.005


CONFIG = FitConfig()
