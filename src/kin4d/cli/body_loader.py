"""What `kin4d simulate` moves: a body from a file or a name, and pushes from text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from kin4d.cli.output import STRANGE, warn_low_confidence
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.bodies.segmented import SegmentedBody
    from kin4d.dynamics.materials import Material
    from kin4d.geometry.mesh import Mesh

Kind = Literal["auto", "learned", "rigid", "solid", "sheet"]
SIDES = {
    "left": (0, -1),
    "right": (0, 1),
    "front": (1, -1),
    "back": (1, 1),
    "bottom": (2, -1),
    "top": (2, 1),
}
"""Sides of a thing by name: its axis and direction."""

_MESHES = (".obj", ".glb", ".gltf", ".ply", ".stl", ".off")


@dataclass(frozen=True, kw_only=True)
class BodyOptions:
    """How a mesh becomes a body.

    Attributes:
        kind: See `kin4d.cli.simulate`.
        material: What it is made of.
        up: Which axis of the file points up; the world's is z.
        size: Metres of its diameter; None to keep the file's.
        hold: Sides that are held fast.
        seed: Of objects that are made.
    """

    kind: Kind = "auto"
    material: Material | None = None
    up: Literal["y", "z"] = "y"
    size: float | None = None
    hold: tuple[str, ...] = ()
    seed: int = 0


def load_body(what: str, making: BodyOptions) -> Body:
    """The body of a mesh file, a URDF or MJCF file, a robot's name, or a category of objects."""
    from kin4d.bodies import analytic

    if Path(what).suffix.lower() in _MESHES:
        return _of_mesh(what, making)
    if making.kind != "auto" or making.hold or making.size is not None:
        raise InputError(
            f"'{what}' is made of rigid links: --kind, --hold and --size are for mesh files",
            allowed=", ".join(_MESHES),
        )
    machines = (analytic.hinge, analytic.slider_chain, analytic.pendulum)
    for machine in machines:
        if what == machine.__name__:
            return machine()
    if Path(what).suffix:
        from kin4d.bodies.robot.registry import load_robot

        return load_robot(what)
    return _of_name(what, making.seed, [machine.__name__ for machine in machines])


def _of_name(name: str, seed: int, machines: list[str]) -> Body:
    from kin4d.bodies.robot.registry import list_robots, load_robot
    from kin4d.objects.procedural.categories import CATEGORIES, make_object

    if name in CATEGORIES:
        return make_object(name, seed).body()
    if name in list_robots():
        return load_robot(name)
    raise InputError(
        f"there is nothing called '{name}' to simulate",
        allowed=f"a file ({', '.join(_MESHES)}, .urdf, .xml); a robot (kin4d robot --list); "
        f"{', '.join(machines)}; or an object: {', '.join(CATEGORIES)}",
    )


def _of_mesh(path: str, making: BodyOptions) -> Body:
    from kin4d.bodies.floating import FloatingBase
    from kin4d.bodies.inertial import Inertial
    from kin4d.bodies.modal import ModalBody
    from kin4d.bodies.rigid import RigidBody
    from kin4d.dynamics.materials import Material
    from kin4d.geometry.mesh import Mesh

    material = making.material or Material()
    mesh = _placed(Mesh.load(path), making)
    kind = making.kind
    learned = None
    if kind == "learned" or (kind == "auto" and _weights_are_there()):
        from kin4d.neurok.articulate import articulate

        learned = articulate(mesh, mass=material.mass_of(mesh))
    if kind == "auto":
        kind = "rigid" if learned is None or _is_one_piece(learned) else "learned"
    if making.hold and kind not in ("solid", "sheet"):
        raise InputError(f"what is {kind} cannot be held", hint="add --kind sheet or --kind solid")
    if kind == "learned" and learned is not None:
        warn_low_confidence(learned.confidence)
        return learned
    if kind == "rigid":
        inertial = Inertial.of_mesh(mesh, density=material.density, thickness=material.thickness)
        return FloatingBase(RigidBody(mesh, inertial=inertial))
    held = np.flatnonzero(
        np.any([transfer_to_side(mesh.vertices, side) for side in making.hold], axis=0)
    )
    if kind == "solid":
        soft = ModalBody.solid(mesh, young=material.young, density=material.density, held=held)
    else:
        soft = ModalBody.sheet(
            mesh,
            young=material.young,
            thickness=material.thickness,
            density=material.density,
            held=held,
        )
    return soft if len(held) else FloatingBase(soft)


def _is_one_piece(body: SegmentedBody) -> bool:
    """Whether a mesh has no joints, or the model has never seen its like."""
    strange = body.confidence is not None and body.confidence < STRANGE
    return strange or not body.coordinates


def _weights_are_there() -> bool:
    from kin4d.neurok.pretrained import neurok_weights_file

    try:
        neurok_weights_file("small")
    except InputError:
        return False
    return True


def _placed(mesh: Mesh, making: BodyOptions) -> Mesh:
    """The mesh in a world whose z axis is up, of the size that was asked for."""
    turn = np.eye(4)
    if making.up == "y":
        turn[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    if making.size is not None:
        if not (np.isfinite(making.size) and making.size > 0):
            raise InputError("--size must be positive", value=making.size, allowed="metres, > 0")
        turn[:3] *= making.size / mesh.diameter
    return mesh.with_vertices(mesh.vertices @ turn[:3, :3].T)


def transfer_to_side(vertices: np.ndarray, side: str) -> np.ndarray:
    """[V] bool: within a fiftieth of the extent of one side of a box around vertices [V, 3]."""
    if side not in SIDES:
        raise InputError("there is no such side", value=side, allowed=", ".join(SIDES))
    axis, direction = SIDES[side]
    along = direction * vertices[:, axis]
    return along >= along.max() - 0.02 * max(np.ptp(along), 1e-9)


def read_push(text: str, body: Body):
    """The force of ``"point,force,time"``: see `kin4d.cli.simulate`."""
    from kin4d.dynamics.forces import Push

    fields = [field.strip() for field in text.split(",")]
    if len(fields) in (7, 8):  # nothing but numbers
        fields = [" ".join(fields[:3]), " ".join(fields[3:6]), " ".join(fields[6:])]
    if len(fields) != 3:
        raise InputError(
            "a push is a point, a force and a time, with commas between them",
            value=text,
            allowed='as in "0.1 0 0.5, 0 20 0, 0 0.2", "top, 5 0 0, 0.1" or "door, 0 20 0, 0.2"',
        )
    force = _numbers(fields[1], (3,), "the force of a push is three numbers (N)")
    times = _numbers(fields[2], (1, 2), "the time of a push is how long (s), or start and how long")
    start, duration = (0.0, *times)[-2:]
    return Push(_place(fields[0], force, body), force, start=start, duration=duration)


def _place(text: str, force: tuple[float, ...], body: Body) -> tuple[float, ...]:
    """Three numbers, the middle of a side, or the vertex of a link that the force moves most."""
    if re.fullmatch(r"[-+0-9.eE\s]+", text):
        return _numbers(text, (3,), "the point of a push is three numbers (m)")
    vertices = body.rest.vertices
    if text in SIDES:
        chosen = vertices[transfer_to_side(vertices, text)]
        return tuple(chosen[np.linalg.norm(chosen - chosen.mean(0), axis=-1).argmin()].tolist())
    names = body.skin.names if body.skin is not None and body.skin.is_rigid else ()
    if text not in names:
        raise InputError(
            "a push acts nowhere that is known",
            value=text,
            allowed=", ".join([*SIDES, *names]) + ", or three numbers (m)",
        )
    return _most_moved(body, names.index(text), np.array(force))


def _most_moved(body: Body, link: int, force: np.ndarray) -> tuple[float, ...]:
    import torch

    assert body.skin is not None
    own = np.flatnonzero(body.skin.joints[:, 0] == link)
    if not len(own):
        raise InputError(f"link '{body.skin.names[link]}' has no surface to push")
    rest = body.rest.vertices[own]
    with torch.no_grad():
        # How the link's vertices move by a small step along each coordinate.
        small = 1e-4 * torch.eye(len(body.q0), dtype=torch.float64)
        moved = body.skin_transforms(body.q0 + small)[:, link].numpy()
    ways = np.einsum("kij,vj->kvi", moved[:, :3, :3], rest) + moved[:, None, :3, 3] - rest
    work = np.abs(ways @ force).sum(0) if len(ways) else np.zeros(len(own))
    # Of equals, the one nearest to their middle.
    best = np.flatnonzero(work >= 0.98 * work.max())
    gap = np.linalg.norm(rest[best] - rest[best].mean(0), axis=-1)
    return tuple(rest[best[gap.argmin()]].tolist())


def _numbers(text: str, counts: tuple[int, ...], what: str) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        values = ()
    if len(values) not in counts:
        raise InputError(what, value=text)
    return values
