"""Force: what acts on a body. State: what a force sees. Load: what it answers."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numba
import numpy as np

from kin4d.dynamics.materials import Material
from kin4d.dynamics.phase_state import PhaseState
from kin4d.errors import InputError
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics

Place = tuple[float, float, float]


class SurfaceElements(NamedTuple):
    """Pieces of surface that wind acts on, as places of the map.

    Attributes:
        centers: [N] places.
        corners: [N, 3] places around each, which give the normal.
        areas: [N] m^2, at rest.
        exposed: [N] m^2 that the air sees: half of a closed surface, which shows only one side.
        followed: [M] places whose Jacobians are asked for: the centers and, if a force needs them,
            the corners.
    """

    centers: np.ndarray
    corners: np.ndarray
    areas: np.ndarray
    exposed: np.ndarray
    followed: np.ndarray


class ActorConstants(NamedTuple):
    """What stays the same of an actor.

    Attributes:
        rest: [k] the body's coordinates at rest.
        limits: [k, 2] the body's limits.
        material: What it is made of.
        map: The compiled body.
        sites: Numbers of the map's places that forces act at.
        panels: Pieces of surface, if a force asks for them.
    """

    rest: np.ndarray
    limits: np.ndarray
    material: Material
    map: CompiledKinematics
    sites: dict[Place, int]
    panels: SurfaceElements | None


class ForceContext:
    """One actor at one instant, read-only. Points and places are computed when asked for.

    Attributes:
        time: Seconds.
        span: (start, end) seconds around `time` for which forces are taken from this state.
        ahead: (start, end) seconds of the step to come.
        q: [k] coordinates.
        metric: [k, k] mass matrix G(q) = J^T M J.
        rest: [k] the body's coordinates at rest.
        limits: [k, 2] the body's limits.
        material: What it is made of.
        map: The compiled body.
        sites: Numbers of the map's places that forces act at.
    """

    def __init__(
        self,
        setting: ActorConstants,
        phase: PhaseState,
        *,
        time: float,
        span: tuple[float, float],
        ahead: tuple[float, float],
    ) -> None:
        self.time, self.span, self.ahead = time, span, ahead
        self.q, self.metric, self._phase = phase.q, phase.metric, phase
        self.rest, self.limits, self.material, self.map, self.sites, self._panels = setting

    @property
    def qd(self) -> np.ndarray:
        """[k] rates of the coordinates, 1/s."""
        return self._phase.velocity

    @property
    def mass(self) -> np.ndarray:
        """[P] kg of the mass points."""
        return self.map.mass

    @cached_property
    def points(self) -> np.ndarray:
        """[P, 3] mass points, metres."""
        return self.map.points(self.q, self._phase.y)

    @cached_property
    def velocities(self) -> np.ndarray:
        """[P, 3] velocities of the mass points, m/s."""
        return self.map.velocities(self.q, self._phase.jacobian, self.qd)

    def site(self, at: Place) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position [3] (m), velocity [3] (m/s) and Jacobian [3, k] of a place on the surface.

        `at` is where the place is on the surface at rest; it is an attribute `at` of the force.
        """
        (place,), (jacobian,) = self.map.followed(self.q, np.array([self.sites[at]]))
        return place, jacobian @ self.qd, jacobian

    @cached_property
    def panels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Small pieces of surface: centres [N, 3], velocities [N, 3], normals [N, 3], and the areas
        [N] that wind acts on.

        Only for actors with a force that has an attribute `panels = True`.
        """
        assert self._panels is not None, "no force of this actor asks for panels"
        centers, corners, _, exposed, _ = self._panels
        places = self._panels_seen[0]
        velocities = (self.panel_columns @ self.qd).reshape(-1, 3)
        return places[centers], velocities, _normals(places, corners), exposed

    @property
    def panel_columns(self) -> np.ndarray:
        """[3 N, k] Jacobians of the panels' centres."""
        assert self._panels is not None, "no force of this actor asks for panels"
        count = len(self._panels.centers)
        return self._panels_seen[1][:count].reshape(3 * count, len(self.q))

    @property
    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """The triangles that the panels are in: corners [N, 3, 3] (m), Jacobians [N, 3, 3, k].

        Only for actors with a force that has an attribute `triangles = True` too.
        """
        assert self._panels is not None, "no force of this actor asks for panels"
        places, jacobians = self._panels_seen
        around = jacobians[len(self._panels.centers) :].reshape(-1, 3, 3, len(self.q))
        return places[self._panels.corners], around

    @property
    def resting_triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Their corners [N, 3, 3] (m) at rest, and the areas [N] (m^2) that each stands for."""
        assert self._panels is not None, "no force of this actor asks for panels"
        return self.map.places(self.rest)[self._panels.corners], self._panels.areas

    @cached_property
    def _panels_seen(self) -> tuple[np.ndarray, np.ndarray]:
        """The map's places [S, 3], and Jacobians [M, 3, k] of those that are followed."""
        assert self._panels is not None, "no force of this actor asks for panels"
        return self.map.places_and_jacobians(self.q, self._panels.followed)

    def share(self, start: float, end: float) -> float:
        """Which part (0 to 1) of `span` lies in the window from `start` to `end` seconds."""
        low, high = self.span
        return max(0.0, min(high, end) - max(low, start)) / (high - low)


class ForceTerms(NamedTuple):
    """What a force does to an actor at one instant; everything is optional, and given by name.

    Attributes:
        coordinates: [k] generalised force (N per m, N m per rad, ...).
        points: [P, 3] N on the mass points.
        sites: ((at, force [3] N), ...) on places of the surface.
        panels: [N, 3] N on the pieces of surface of `State.panels`.
        weight: [P, 3] N on the mass points that stays the same while they move (gravity): it is
            integrated with the motion, more exactly than `points`; its energy -weight.x is known.
        stiffness: [k, k] or [k] K of a force pull - K q, stepped implicitly: it may be stiff.
        pull: [k] the constant part of that force.
        damping: [k, k] C of a force -C dq/dt, stepped implicitly.
        decay: 1/s, of a force -decay G dq/dt: cheaper than the same as a matrix.
        soft_limits: [k, 4] lower, upper, stiffness, softness: see `flow.barrier_slope`.
        stops: [k, 3] lower, upper and restitution of hard stops.
        goals: ((at, position [3] m), ...) where places have to be when `ahead` ends.
        energy: Joules of potential energy.
    """

    coordinates: np.ndarray | None = None
    points: np.ndarray | None = None
    sites: tuple[tuple[Place, np.ndarray], ...] = ()
    panels: np.ndarray | None = None
    weight: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    pull: np.ndarray | None = None
    damping: np.ndarray | None = None
    decay: float = 0.0
    soft_limits: np.ndarray | None = None
    stops: np.ndarray | None = None
    goals: tuple[tuple[Place, np.ndarray], ...] = ()
    energy: float = 0.0


@numba.njit(cache=True, error_model="numpy")
def _normals(places, corners):
    """[N, 3] unit normals of triangles whose corners [N, 3] are places."""
    out = np.empty((len(corners), 3))
    for n in range(len(corners)):
        a, b, c = places[corners[n, 0]], places[corners[n, 1]], places[corners[n, 2]]
        u, v, w = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        x, y, z = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        x, y, z = v * z - w * y, w * x - u * z, u * y - v * x
        length = max(np.sqrt(x * x + y * y + z * z), 1e-30)
        out[n, 0], out[n, 1], out[n, 2] = x / length, y / length, z / length
    return out


@runtime_checkable
class Force(Protocol):
    """Anything with this one method.

    One that acts at a place has it as attribute `at` [3]. One whose load never changes says so with
    an attribute `steady = True` and is asked once.
    """

    def load(self, state: ForceContext) -> ForceTerms:
        """What the force does in this state."""
        ...


def check_attachment(at) -> Place:
    """Three finite metres as a tuple, to be used as an `at`."""
    values = np.asarray(at, np.float64)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise InputError("a place on the surface is three finite metres", value=at)
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
