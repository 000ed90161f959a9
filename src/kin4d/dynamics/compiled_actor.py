"""CompiledActor: what stays the same of an actor during a run, in compiled form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.bodies.capabilities import BlendedTree, NodeGraph, fixed_base
from kin4d.dynamics.barrier import limit_stiffness
from kin4d.dynamics.config import StepConfig
from kin4d.dynamics.contact.contact_points import (
    merge_point_sets,
    nearest_surface_point,
    surface_elements,
)
from kin4d.dynamics.forces.force import (
    ActorConstants,
    Attachment,
    Force,
    ForceContext,
    SurfaceElements,
)
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Actor
from kin4d.dynamics.scene_state import ActorState, Halving
from kin4d.dynamics.small_linalg import velocity_from_momentum, write_inverse
from kin4d.dynamics.total_forces import ForceAccumulator, TotalForces
from kin4d.dynamics.variational_step import LIMIT_STEP_TOO_LONG, OK, chord_step, variational_step
from kin4d.errors import InputError
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.rotation import rewrap_rotvec


class DivergedStep(Exception):
    """A step that failed; the text says in which quantity."""


class CompiledActor:
    """An actor made ready to step. It has no state of its own: states go in and come out.

    Args:
        actor: The actor.
        forces: Everything that acts on it.
        config: How steps are halved.
        halve: Whether a step that fails is made of halves. Not where steps are compared with their
            halves: they would be the same.
        touches: Whether there is something to touch.

    Attributes:
        name: The actor's.
        kinematics: The compiled body; contact points are the first of its surface points.
        contact_count: How many of them are contact points.
        size: m, bounding-box diagonal at rest.
        start: Where it starts.
        best_order: Of the integrator: 2 where soft limits are stiff against light bones, or where
            impacts throw soft bodies against theirs, since fourth order would take hundreds of
            times shorter steps there; else 4.
    """

    def __init__(
        self,
        actor: Actor,
        forces: Sequence[Force],
        config: StepConfig,
        *,
        halve: bool = True,
        touches: bool = False,
    ) -> None:
        self.actor, self.name, self.config = actor, actor.name, config
        self._max_halvings = config.max_halvings if halve else 0
        self._tolerances = {2: config.second_order.values, 4: config.fourth_order.values}
        body, mesh = actor.body, actor.body.rest
        inner = fixed_base(body)
        stiff = isinstance(inner, BlendedTree) or (touches and isinstance(inner, NodeGraph))
        self.best_order = 2 if stiff else 4
        surface, attachments, elements = _surface_points(actor, forces)
        self.contact_count = len(actor.collision.contact_points)
        scale = 1.0 if actor.mass is None else actor.mass / float(body.mass.sum())
        self.kinematics = compile_kinematics(body, surface, mass_scale=scale)
        self.size = mesh.bbox_diagonal
        self.start = PhaseState.moving(self.kinematics.at(np.array(actor.q)), np.asarray(actor.qd))
        inertia = np.diag(self.start.mass_matrix)
        if len(inertia) and not inertia.min() > 1e-12 * inertia.max():
            massless = body.coordinates[int(inertia.argmin())]
            raise InputError(
                f"coordinate '{massless}' of '{actor.name}' moves no mass",
                hint="give the link it moves an inertial",
            )
        self._constants = ActorConstants(
            rest=body.q0.numpy(),
            limits=body.limits.numpy(),
            material=actor.resolved_material,
            kinematics=self.kinematics,
            attachments=attachments,
            elements=elements,
            start_mass_matrix=self.start.mass_matrix,
        )
        prepared = [force.prepare(self._constants) for force in forces]
        now = ForceContext(self._constants, self.start, time=0.0, span=(0.0, 0.0), ahead=(0.0, 0.0))
        self._accumulator = ForceAccumulator(prepared, now)

    @property
    def width(self) -> int:
        """k."""
        return self.kinematics.width

    def forces_at(
        self,
        phase: PhaseState,
        time: float,
        *,
        span: tuple[float, float],
        ahead: tuple[float, float],
    ) -> TotalForces:
        """Sum of all forces in a state; see `ForceContext` for the times."""
        return self._accumulator.total(
            ForceContext(self._constants, phase, time=time, span=span, ahead=ahead)
        )

    def conservative_step(self, start: ActorState, h: float, *, order: int) -> ActorState | None:
        """The conservative part of a step of h seconds; None if it fails however often halved."""
        # Where the motion bends a step and its reverse are halved alike, so that energy comes back.
        # Where soft limits set in it does not: short steps are kept a while.
        config, (kept, left) = self.config, start.halving
        if left == 0 and kept > 0:
            kept, left = kept - 1, config.kept_steps
        left = max(left - 1, 0)
        phase, stack = start.phase, [(h / 2**kept, kept)] * 2**kept
        while stack:
            step, depth = stack.pop()
            status, end = self._chord_steps(phase, step, start.forces, order)
            if status == OK:
                phase = end
            elif depth < self._max_halvings:
                stack += [(step / 2, depth + 1)] * 2
                if status == LIMIT_STEP_TOO_LONG:
                    kept, left = min(depth + 1, config.max_kept_halvings), config.kept_steps
            else:
                return None
        return ActorState(phase, start.forces, Halving(kept, left))

    def _chord_steps(
        self, phase: PhaseState, h: float, forces: TotalForces, order: int
    ) -> tuple[int, PhaseState]:
        kinematics, start = self.kinematics, phase.arrays
        acting = (forces.weight, forces.constant_force, forces.stiffness, forces.soft_limits)
        tolerances = self._tolerances[order]
        if kinematics.compiled:
            status, end = variational_step(kinematics.data, start, h, *acting, tolerances, order)
        else:
            end = tuple(np.empty_like(array) for array in start)
            status = chord_step.py_func(kinematics.data, start, h, *acting, tolerances, end)
        return status, PhaseState.from_arrays(kinematics, end)

    def pushed(self, state: ActorState, impulse: np.ndarray) -> ActorState:
        """The state after generalised impulses [k] (N s or N m s)."""
        return state.with_momentum(state.phase.p + impulse)

    def write_inverse_mass(self, state: ActorState, h: float, out: np.ndarray) -> None:
        """Write the inverse mass matrix [k, k], with what stiffness and limits add in a step h."""
        stiffness = state.forces.stiffness
        beyond = limit_stiffness(state.phase.q, state.forces.soft_limits)
        if beyond.any():
            stiffness = stiffness + np.diag(beyond)
        write_inverse(state.phase.mass_matrix, stiffness, 0.25 * h * h, out)

    def rewrap(self, phase: PhaseState) -> PhaseState:
        """The same state with a shorter rotation vector, if the body floats and has turned far."""
        q = rewrap_rotvec(phase.q) if self.kinematics.floating else None
        if q is None:
            return phase
        embedded = phase.configuration.jacobian @ phase.velocity
        configuration = self.kinematics.at(q)
        return PhaseState(configuration, configuration.jacobian.T @ embedded)

    def mass_point_motion(self, state: ActorState) -> tuple[np.ndarray, np.ndarray]:
        """Positions [P, 3] (m) and velocities [P, 3] (m/s) of the mass points.

        Coordinates at a hard limit count as resting there: a step ends with half of a kick that
        only the next one answers.
        """
        phase, limits = state.phase, state.forces.hard_limits
        q, qd = phase.q, phase.velocity
        if limits is not None:
            margin = np.minimum(q - limits[:, 0], limits[:, 1] - q)
            free = np.flatnonzero(margin > self.config.limit_rest_distance)
            if len(free) < len(q):
                qd = np.zeros_like(q)
                inertia = phase.mass_matrix[np.ix_(free, free)]
                qd[free] = velocity_from_momentum(inertia, phase.p[free])
        configuration = phase.configuration
        return configuration.mass_points, self.kinematics.velocities(configuration, qd)


def _surface_points(
    actor: Actor, forces: Sequence[Force]
) -> tuple[SurfaceSamples, dict[Attachment, int], SurfaceElements | None]:
    """All surface points that a run needs: contact points, attachments and surface elements."""
    mesh, parts = actor.body.rest, [actor.collision.contact_points]
    count, attachments, elements = len(parts[0]), dict[Attachment, int](), None
    for force in forces:
        at = force.attachment
        if at is not None and at not in attachments:
            what = f"{type(force).__name__.lower()} on '{actor.name}'"
            parts.append(nearest_surface_point(mesh, at, what=what))
            attachments[at] = count
            count += 1
    if any(force.needs_elements for force in forces):
        centers, corners, areas, exposed = surface_elements(mesh)
        parts += [centers, corners]
        first = count + len(centers)
        last = first + len(corners) if any(force.needs_triangles for force in forces) else first
        elements = SurfaceElements(
            centers=np.arange(count, first),
            corners=first + np.arange(len(corners)).reshape(-1, 3),
            areas=areas,
            exposed=exposed * areas,
            differentiated=np.arange(count, last),
        )
    return merge_point_sets(parts), attachments, elements
