"""Force: what acts on an actor. ForceContext: what a force sees. ForceTerms: what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np

from kin4d.dynamics.materials import Material
from kin4d.dynamics.phase_state import PhaseState
from kin4d.errors import InputError
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics

Attachment = tuple[float, float, float]
"""A point on the surface at rest, metres: what acts there moves with it."""


class SurfaceElements(NamedTuple):
    """Small elements of the surface, as indices of the kinematics' surface points.

    Attributes:
        centers: [N] points.
        corners: [N, 3] points around each, which give the normal.
        areas: [N] m^2, at rest.
        exposed: [N] m^2 exposed to air: half of a closed surface, which shows only one side.
        differentiated: [M] points whose Jacobians are needed: the centers and, if a force needs
            triangles, the corners.
    """

    centers: np.ndarray
    corners: np.ndarray
    areas: np.ndarray
    exposed: np.ndarray
    differentiated: np.ndarray


class ActorConstants(NamedTuple):
    """What stays the same of an actor during a run.

    Attributes:
        rest: [k] the body's coordinates at rest.
        limits: [k, 2] the body's limits.
        material: What it is made of.
        kinematics: The compiled body.
        attachments: Indices of the surface points that forces act at.
        elements: Elements of the surface, if a force needs them.
        start_mass_matrix: [k, k] at the start of the run.
    """

    rest: np.ndarray
    limits: np.ndarray
    material: Material
    kinematics: CompiledKinematics
    attachments: dict[Attachment, int]
    elements: SurfaceElements | None
    start_mass_matrix: np.ndarray

    def rest_triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Triangles of the surface elements: corners [N, 3, 3] (m) at rest, areas [N] (m^2)."""
        assert self.elements is not None, "no force of this actor needs surface elements"
        points = self.kinematics.at(self.rest).surface_points
        return points[self.elements.corners], self.elements.areas


class ForceContext:
    """One actor at one instant, read-only. Points are computed on first use.

    Attributes:
        time: Seconds.
        span: (start, end) seconds around `time` for which forces are taken from this state.
        ahead: (start, end) seconds of the step to come.
        phase: Coordinates and momentum.
        q: [k] coordinates.
        material: What the actor is made of.
        kinematics: The compiled body.
    """

    def __init__(
        self,
        constants: ActorConstants,
        phase: PhaseState,
        *,
        time: float,
        span: tuple[float, float],
        ahead: tuple[float, float],
    ) -> None:
        self.time, self.span, self.ahead = time, span, ahead
        self.phase, self.q, self._constants = phase, phase.q, constants
        self.material, self.kinematics = constants.material, constants.kinematics

    @property
    def qd(self) -> np.ndarray:
        """[k] velocity of the coordinates, 1/s."""
        return self.phase.velocity

    @property
    def mass(self) -> np.ndarray:
        """[P] kg of the mass points."""
        return self.kinematics.mass

    @property
    def points(self) -> np.ndarray:
        """[P, 3] mass points, metres."""
        return self.phase.configuration.mass_points

    @cached_property
    def velocities(self) -> np.ndarray:
        """[P, 3] velocities of the mass points, m/s."""
        return self.kinematics.velocities(self.phase.configuration, self.qd)

    def attachment_index(self, force: Force) -> int:
        """Which of the surface points a force is attached to."""
        assert force.attachment is not None, "a force that acts at a point has an attachment"
        return self._constants.attachments[force.attachment]

    def attached_point(self, force: Force) -> tuple[np.ndarray, np.ndarray]:
        """Position [3] (m) and Jacobian [3, k] of the surface point that a force is attached to."""
        index = np.array([self.attachment_index(force)])
        (point,), (jacobian,) = self.kinematics.points_and_jacobians(
            self.phase.configuration, index
        )
        return point, jacobian

    @cached_property
    def elements(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Small elements of the surface: velocities [N, 3] (m/s), unit normals [N, 3], and the
        areas [N] (m^2) exposed to air. Only if a force of the actor has `needs_elements`."""
        elements = self._elements
        velocities = (self.element_jacobians @ self.qd).reshape(-1, 3)
        points = self.phase.configuration.surface_points
        return velocities, _normals(points, elements.corners), elements.exposed

    @property
    def element_jacobians(self) -> np.ndarray:
        """[3 N, k] of the centres of the surface elements."""
        count = len(self._elements.centers)
        return self._jacobians[:count].reshape(3 * count, len(self.q))

    @property
    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Triangles of the surface elements: corners [N, 3, 3] (m), Jacobians [N, 3, 3, k]. Only if
        a force of the actor has `needs_elements` and `needs_triangles`."""
        elements, points = self._elements, self.phase.configuration.surface_points
        jacobians = self._jacobians[len(elements.centers) :].reshape(-1, 3, 3, len(self.q))
        return points[elements.corners], jacobians

    @property
    def _elements(self) -> SurfaceElements:
        elements = self._constants.elements
        assert elements is not None, "no force of this actor needs surface elements"
        return elements

    @cached_property
    def _jacobians(self) -> np.ndarray:
        """[M, 3, k] of the points of the surface elements."""
        return self.kinematics.points_and_jacobians(
            self.phase.configuration, self._elements.differentiated
        )[1]

    def share(self, start: float, end: float) -> float:
        """Which part (0 to 1) of `span` lies in the window from `start` to `end` seconds."""
        low, high = self.span
        return max(0.0, min(high, end) - max(low, start)) / (high - low)


class ForceTerms(NamedTuple):
    """What a force does to an actor at one instant; everything is optional, and given by name.

    Attributes:
        coordinates: [k] generalised force (N per m, N m per rad, ...).
        points: [P, 3] N on the mass points.
        attached: [3] N at the force's attachment.
        elements: [N, 3] N on the centres of the surface elements.
        weight: [P, 3] N on the mass points that stays the same while they move (gravity): it is
            integrated with the motion, more exactly than `points`; its energy -weight.x is known.
        stiffness: [k, k] or [k] K of a force constant_force - K q, stepped implicitly: it may be
            stiff.
        constant_force: [k] the constant part of that force.
        damping: [k, k] C of a force -C dq/dt, stepped implicitly.
        decay: 1/s, of a force -decay M dq/dt: cheaper than the same as a matrix.
        soft_limits: [k, 4] lower, upper, stiffness, softness: see `barrier_slope`.
        hard_limits: [k, 3] lower, upper and restitution.
        position_target: [3] m where the force's attachment has to be when `ahead` ends.
        energy: Joules of potential energy.
    """

    coordinates: np.ndarray | None = None
    points: np.ndarray | None = None
    attached: np.ndarray | None = None
    elements: np.ndarray | None = None
    weight: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    constant_force: np.ndarray | None = None
    damping: np.ndarray | None = None
    decay: float = 0.0
    soft_limits: np.ndarray | None = None
    hard_limits: np.ndarray | None = None
    position_target: np.ndarray | None = None
    energy: float = 0.0


class Force(ABC):
    """What acts on an actor. A subclass has a method `load`, and declares what else it needs.

    Attributes:
        attachment: The point of the surface at rest (m) that it acts at, if it acts at one.
        constant: Whether `load` always returns the same; it is then called once a run.
        needs_elements: Whether it uses the context's surface elements.
        needs_triangles: Whether it uses the context's triangles.
    """

    attachment: Attachment | None = None
    constant: bool = False
    needs_elements: bool = False
    needs_triangles: bool = False

    def prepare(self, actor: ActorConstants) -> Force:
        """The force as it acts on one actor, called once a run: the place to check that it fits
        the body and to compute what depends on the body alone."""
        return self

    @abstractmethod
    def load(self, context: ForceContext) -> ForceTerms:
        """What the force does at one instant."""


@numba.njit(cache=True, error_model="numpy")
def _normals(points, corners):
    """[N, 3] unit normals of triangles whose corners [N, 3] are indices of points [S, 3]."""
    out = np.empty((len(corners), 3))
    for n in range(len(corners)):
        a, b, c = points[corners[n, 0]], points[corners[n, 1]], points[corners[n, 2]]
        u, v, w = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        x, y, z = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        x, y, z = v * z - w * y, w * x - u * z, u * y - v * x
        length = max(np.sqrt(x * x + y * y + z * z), 1e-30)
        out[n, 0], out[n, 1], out[n, 2] = x / length, y / length, z / length
    return out


def check_attachment(at) -> Attachment:
    """Three finite metres as a tuple."""
    values = np.asarray(at, np.float64)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise InputError(
            "an attachment is a point on the surface at rest, three finite metres", value=at
        )
    return (float(values[0]), float(values[1]), float(values[2]))


def check_vector(value, what: str) -> np.ndarray:
    """Three finite numbers as a read-only array."""
    values = np.array(value, np.float64)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise InputError(f"{what} must be three finite numbers", value=value)
    values.flags.writeable = False
    return values


def check_matrix(value: np.ndarray, k: int, what: str) -> np.ndarray:
    """A number, [k] or [k, k] as a matrix [k, k]."""
    if value.shape not in ((), (1,), (k,), (k, k)):
        raise InputError(
            f"{what} does not fit the body",
            value=value.shape,
            allowed=f"a number, [{k}] or [{k}, {k}]",
        )
    return value if value.ndim == 2 else np.diag(np.broadcast_to(value, k))
