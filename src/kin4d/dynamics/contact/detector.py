"""ContactDetector: all pairs of shapes in a scene, and where they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kin4d.dynamics.compiled_actor import CompiledActor
from kin4d.dynamics.config import ContactConfig
from kin4d.dynamics.contact.collide import PointSet, make_point_set
from kin4d.dynamics.contact.collision_shape import CollisionShape
from kin4d.dynamics.contact.contact_pairs import ContactPair, ContactSet
from kin4d.dynamics.materials import material
from kin4d.dynamics.scene import Scene
from kin4d.dynamics.scene_state import ActorState, WarmStart
from kin4d.errors import InputError

_NO_COORDINATES = np.zeros(0)


class PairContacts(NamedTuple):
    """The contacts of one pair, which has this number among all pairs."""

    number: int
    pair: ContactPair
    contacts: ContactSet

    @property
    def actors(self) -> list[int]:
        """Numbers of the one or two actors that take part."""
        shapes = (self.pair.first, self.pair.second)
        return [shape.actor for shape in shapes if shape is not None and shape.actor >= 0]


class ContactDetector:
    """All that can touch in a scene.

    Args:
        scene: Actors, ground and obstacles.
        actors: The scene's actors, compiled.
        config: Margins and numbers of contacts.

    Attributes:
        pairs: Ordered pairs: points of the first shape against the second.
        no_impulses: A warm start without impulses for each pair.
    """

    def __init__(
        self, scene: Scene, actors: Sequence[CompiledActor], config: ContactConfig
    ) -> None:
        self._actors, self._config = actors, config
        surface = None if scene.surface is None else material(scene.surface)
        shapes = [
            CollisionShape(
                actor.name, actor.actor.body, actor.actor.collision, actor.kinematics,
                material=actor.actor.resolved_material, actor=i,
            )
            for i, actor in enumerate(actors)
            if actor.contact_count
        ]  # fmt: skip
        static = [CollisionShape.static(mesh, surface) for mesh in scene.obstacles]
        pairs: list[tuple[CollisionShape, CollisionShape | None]] = []
        for i, shape in enumerate(shapes):
            if scene.ground is not None:
                pairs.append((shape, None))
            for other in (shapes[i + 1 :] if scene.contact else []) + static:
                pairs += [(shape, other), (other, shape)]
        floor = 0.0 if scene.ground is None else scene.ground
        self.pairs = [
            ContactPair(first, second, floor=floor, surface=surface, config=config)
            for first, second in pairs
        ]
        zeros = [np.zeros((pair.first.count, 3)) for pair in self.pairs]
        self.no_impulses = tuple(WarmStart(zero, zero) for zero in zeros)

    def find(
        self, states: Sequence[ActorState], warm_starts: Sequence[WarmStart]
    ) -> list[PairContacts]:
        """Contacts of all pairs that have some."""
        if not self.pairs:
            return []
        sets: dict[int, PointSet] = {}

        def points(shape: CollisionShape) -> PointSet:
            if shape.actor < 0:
                return shape.static_points
            if shape.actor not in sets:
                surface = states[shape.actor].phase.configuration.surface_points
                sets[shape.actor] = make_point_set(surface, shape.count)
            return sets[shape.actor]

        out = []
        for i, pair in enumerate(self.pairs):
            others, q, second = None, _NO_COORDINATES, pair.second
            if second is not None:
                others = points(second)
                q = states[second.actor].phase.q if second.actor >= 0 else q
            contacts = pair.find(points(pair.first), others, q, warm_starts[i].position)
            if contacts is not None:
                out.append(PairContacts(i, pair, contacts))
        return out

    def penetration(
        self, states: Sequence[ActorState], warm_starts: Sequence[WarmStart]
    ) -> np.ndarray:
        """[actors] m by which each is inside something; 0 if nowhere."""
        out = np.zeros(len(self._actors))
        for found in self.find(states, warm_starts):
            for actor in found.actors:
                out[actor] = max(out[actor], -float(found.contacts.gap.min()))
        return out

    def check_overlap(self, states: Sequence[ActorState]) -> None:
        """Refuse a start with actors deep inside something."""
        for _, pair, contacts in self.find(states, self.no_impulses):
            depth, allowed = -float(contacts.gap.min()), self._config.max_overlap * pair.first.size
            if depth > allowed:
                other = "the ground" if pair.second is None else f"'{pair.second.name}'"
                raise InputError(
                    f"'{pair.first.name}' starts {depth:.3g} m inside {other}",
                    allowed=f"at most {allowed:.3g} m, which is let out",
                    hint=f"move them {depth:.3g} m apart, or turn off its collision (contacts=0)",
                )
