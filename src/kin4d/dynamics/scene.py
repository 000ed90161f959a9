"""Scene and Actor: what takes part in a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from kin4d.bodies.body import Body, check_coordinates
from kin4d.bodies.capabilities import BlendedTree, RigidLinks, body_name, fixed_base
from kin4d.dynamics.contact.collision_shape import CollisionGeometry
from kin4d.dynamics.forces import Damping, Force, Gravity, Limits
from kin4d.dynamics.materials import Material, material
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import Mesh

_NEUTRAL = Material(name="neutral", damping=0.0)
_BEARING = 0.05  # of the whole body's inertia, which every joint of a skeleton bears
_RELAXED = 4.0  # 1/s, of the joints of a skeleton that nothing moves


@dataclass(frozen=True, eq=False)
class Actor:
    """A body that takes part, its state at the start and what acts on it alone.

    A body's limits always hold: unless `forces` has a `Limits` of its own, joints get hard limits
    without bounce and other coordinates a smooth barrier. A material with damping damps, and so do
    the joints of a skeleton in a skin; `Damping(0.0)` among `forces` turns that off.

    Attributes:
        body: Any `Body`; wrap it in `FloatingBase` to let it move freely.
        name: Unique in its scene.
        material: A name or `Material`; by default one without damping. It does not change the
            body's mass; see `mass`.
        forces: See `kin4d.dynamics.forces`.
        q: [k] coordinates at the start; the body's rest if not given.
        qd: [k] their velocity (1/s); zero if not given.
        motion: Where the coordinates are at every time, if they do not follow from forces: the
            actor pushes others and nothing pushes it.
        mass: Total kg, if not the body's own. `material.mass_of(mesh)` is that of a mesh.
        contacts: How many points of the surface can touch something; 0 for no collision.
        contact_links: The links that can touch something; all if empty. All contact points are on
            these: a gripper alone is followed more finely than with the arm that carries it.
        contact_cells: Cells of distance fields along the bounding-box diagonal: more see thinner
            parts, and take time and memory with their cube.
    """

    body: Body
    _: KW_ONLY
    name: str = ""
    material: Material | str = _NEUTRAL
    forces: Sequence[Force] = ()
    q: np.ndarray | Sequence[float] | None = None
    qd: np.ndarray | Sequence[float] | None = None
    motion: PrescribedMotion | None = None
    mass: float | None = None
    contacts: int = 512
    contact_links: Sequence[str] = ()
    contact_cells: int = 40

    def __post_init__(self) -> None:
        name = self.name or body_name(self.body)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "material", material(self.material))
        object.__setattr__(self, "forces", tuple(self.forces))
        for force in self.forces:
            if not isinstance(force, Force):
                raise InputError(
                    f"a force on '{name}' is not a Force",
                    value=force,
                    hint="derive its class from kin4d.dynamics.forces.Force",
                )
        if self.mass is not None and not (np.isfinite(self.mass) and self.mass > 0):
            raise InputError(f"mass of '{name}'", value=self.mass, allowed="kilograms, > 0")
        mass = self.body.mass
        if len(mass) == 0 or not bool((torch.isfinite(mass) & (mass > 0)).all()):
            worst = float(mass.min()) if len(mass) else 0.0
            raise InputError(
                f"'{name}' has mass points without a positive mass",
                value=worst,
                allowed="kilograms, > 0",
                hint="give its links inertials, or a density",
            )
        if self.motion is not None:
            # What the motion itself says is what an actor that is copied has.
            chosen = {
                "q": self.q is not None and not np.array_equal(self.q, self.motion.at(0.0)),
                "qd": self.qd is not None and np.any(self.qd),
                "forces": bool(self.forces),
            }
            given = [what for what, other in chosen.items() if other]
            if given:
                raise InputError(
                    f"'{name}' follows a prescribed motion and takes no {', '.join(given)}",
                    hint="leave them out: the motion says where it is",
                )
            self.motion.force_limits(self.body)  # refuses one of another body
            object.__setattr__(self, "q", self.motion.at(0.0))
        for what in ("q", "qd"):
            value = getattr(self, what)
            if value is None:
                value = self.body.q0 if what == "q" else torch.zeros_like(self.body.q0)
            if not isinstance(value, torch.Tensor):
                value = np.asarray(value, np.float64)  # A list would become single precision.
            value = check_coordinates(self.body, value).detach().to(torch.float64)
            if value.ndim != 1:
                raise InputError(f"{what} of '{name}' must be [k]", value=tuple(value.shape))
            object.__setattr__(self, what, value.numpy().copy())
        for what, least in (("contacts", 0), ("contact_cells", 8)):
            if getattr(self, what) < least:
                raise InputError(
                    f"{what} of '{name}'", value=getattr(self, what), allowed=f">= {least}"
                )
        skin, links = self.body.skin, list[str]()
        if skin is not None and skin.is_rigid:
            links = [skin.names[i] for i in np.unique(skin.joints[:, 0])]
        if unknown := sorted(set(self.contact_links) - set(links)):
            raise InputError(
                f"'{name}' has no link '{unknown[0]}' that could touch something",
                allowed=", ".join(links) or "none: it is not made of links",
            )

    def all_forces(self, shared: Sequence[Force]) -> tuple[Force, ...]:
        """Its own forces, those shared by the scene, and what always holds."""
        forces = [*self.forces, *shared]
        skeleton = isinstance(fixed_base(self.body), BlendedTree)
        limited = bool(torch.isfinite(self.body.limits).any())
        if limited and not any(isinstance(force, Limits) for force in forces):
            joints = isinstance(fixed_base(self.body), RigidLinks)
            bearing = _BEARING if skeleton else 0.0
            forces.append(Limits(restitution=0.0 if joints else None, bearing=bearing))
        friction = _RELAXED if skeleton else 0.0
        damped = any(isinstance(force, Damping) for force in forces)
        if not damped and (friction or self.resolved_material.damping):
            forces.append(Damping(joints=friction))
        return tuple(forces)

    @property
    def resolved_material(self) -> Material:
        """The material itself, if it was given by name."""
        return material(self.material)

    @cached_property
    def collision(self) -> CollisionGeometry:
        """Contact points and distance fields, computed on first use and kept for further runs."""
        return CollisionGeometry(
            self.body, self.contacts, links=self.contact_links, cells=self.contact_cells
        )


@dataclass(frozen=True, eq=False)
class Scene:
    """Actors, what acts on all of them, and what stands still around them.

    Attributes:
        actors: One or more `Actor`s, or bare bodies.
        forces: On every actor.
        ground: Height (m) of a horizontal floor, or None.
        obstacles: Meshes that do not move.
        gravity: Whether bodies fall (along -z); True, False, or [3] m/s^2.
        surface: Material of ground and obstacles; None for each actor's own.
        contact: Whether actors touch each other.
        cameras: Views by name, for `Clip.render`.
    """

    actors: Sequence[Actor | Body]
    _: KW_ONLY
    forces: Sequence[Force] = ()
    ground: float | None = None
    obstacles: Sequence[Mesh] = ()
    gravity: bool | Sequence[float] = True
    surface: Material | str | None = None
    contact: bool = True
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    _gravity: tuple[Force, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        given = [self.actors] if isinstance(self.actors, Actor | Body) else list(self.actors)
        if not given:
            raise InputError("a scene needs an actor")
        actors: list[Actor] = []
        for actor in given:
            actor = actor if isinstance(actor, Actor) else Actor(actor)
            taken = {other.name for other in actors}
            name, copy = actor.name, 2
            while name in taken:
                name, copy = f"{actor.name}-{copy}", copy + 1
            actors.append(actor if name == actor.name else replace(actor, name=name))
        object.__setattr__(self, "actors", tuple(actors))
        if self.ground is not None and not np.isfinite(self.ground):
            raise InputError("height of the ground", value=self.ground, allowed="metres, or None")
        if self.surface is not None:
            object.__setattr__(self, "surface", material(self.surface))
        gravity: tuple[Force, ...] = ()
        if self.gravity is True:
            gravity = (Gravity(),)
        elif self.gravity is not False:
            gravity = (Gravity(self.gravity),)
        object.__setattr__(self, "_gravity", gravity)

    @property
    def named_actors(self) -> tuple[Actor, ...]:
        """The actors, each with a name of its own."""
        return tuple(actor for actor in self.actors if isinstance(actor, Actor))

    @property
    def can_touch(self) -> bool:
        """Whether there is anything that an actor could touch."""
        several = self.contact and len(self.actors) > 1
        return self.ground is not None or bool(self.obstacles) or several

    @property
    def gravity_acceleration(self) -> np.ndarray:
        """[3] m/s^2; zero without gravity."""
        forces = [force.acceleration for force in self._gravity if isinstance(force, Gravity)]
        return np.sum(forces, axis=0) if forces else np.zeros(3)

    @property
    def shared_forces(self) -> tuple[Force, ...]:
        """Forces on every actor, gravity included."""
        return (*self._gravity, *self.forces)
