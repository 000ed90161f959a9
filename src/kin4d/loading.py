"""Load: one function from a file or a name to a `Body`, for Python and the command line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from kin4d.body_choice import MIN_PROBABILITY, choose_body
from kin4d.errors import InputError
from kin4d.renamed import ROBOTS

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.dynamics.materials import Material
    from kin4d.geometry.mesh import Mesh
    from kin4d.geometry.up_axis import UpAxis

BodyType = Literal["auto", "skeleton", "learned", "articulated", "rigid", "solid", "sheet"]
MIN_CONFIDENCE = 0.02
"""Confidence of a `LearnedBody` below which `load` warns."""

SIDES = {
    "left": (0, -1),
    "right": (0, 1),
    "front": (1, -1),
    "back": (1, 1),
    "bottom": (2, -1),
    "top": (2, 1),
}
"""Sides of a bounding box by name: axis and sign."""


class LowConfidenceWarning(UserWarning):
    """A network has not been trained on such shapes."""


def load(
    what: str | Path | Mesh,
    *,
    body_type: BodyType = "auto",
    weights: str | Path = "small",
    material: Material | str | None = None,
    up: UpAxis | None = None,
    size: float | None = None,
    pin: str | Sequence[str] = (),
    dof: int | None = None,
    seed: int = 0,
    package_path: Sequence[str | Path] = (),
    pose: np.ndarray | None = None,
    bare_mesh: bool = False,
    report: Callable[[str], None] | None = None,
) -> Body:
    """The body of a mesh, clip, URDF or MJCF file, of a robot's name or of an object category.

    Bodies are in metres with z up. `body_type`, `weights`, `material`, `up`, `size`, `pin` and
    `dof` are for meshes and clips, whose first frame is taken.

    Args:
        what: A `Mesh` or a mesh file; a clip (.npz); a .urdf or MJCF .xml file; a robot's name (see
            `list_robots`); hinge, slider_chain or pendulum; or an object category (`CATEGORIES`).
        body_type: skeleton (a `SkinnedBody`: joints in a skin that bends, from the shape alone),
            learned (`LearnedBody`), articulated (rigid parts on predicted joints), rigid, a soft
            solid, or a thin sheet. Auto decides by `kin4d.body_choice.choose_body`.
        weights: Weights of learned and articulated bodies; see `kin4d.neurok.from_pretrained`.
        material: A name or a `Material`: density, thickness and stiffness.
        up: The axis of a mesh file that points up; see `Mesh.load`. Clips are z-up.
        size: Metres of the diagonal of its bounding box; None keeps the file's.
        pin: Fixed sides (`SIDES`) of a solid or a sheet.
        dof: Number of coordinates of a learned body; by default it follows from its spectrum.
        seed: Seed of an object category: each gives another object.
        package_path: Folders in which package:// meshes of a URDF are searched.
        pose: [4, 4] rigid transform (m) by which the body is moved to where it should be.
        bare_mesh: Forget the joints of a named body or URDF: its surface is taken as if it came
            from a mesh file, and the options for these apply.
        report: Called with what auto decided and why.
    """
    from kin4d.dynamics.materials import material as material_of
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.geometry.mesh import Mesh

    if not isinstance(what, str | Path | Mesh):
        raise InputError("what to load", value=what, allowed="a path, a name or a Mesh")
    if body_type not in get_args(BodyType):
        raise InputError("body type", value=body_type, allowed=", ".join(get_args(BodyType)))
    what = what if isinstance(what, Mesh) else str(what)
    pose = None if pose is None else _check_pose(pose)
    is_mesh = isinstance(what, Mesh) or Path(what).suffix.lower() in (*READS, ".npz")
    if is_mesh or bare_mesh:
        chosen = material_of(material) if material is not None else None
        pin = (pin,) if isinstance(pin, str) else tuple(pin)
        _check_options(body_type, pin, dof)
        if is_mesh:
            mesh = _scaled(_read(what, up), size)
        else:
            assert isinstance(what, str)
            mesh = _scaled(_named_body(what, seed, package_path).rest, size)
        return _mesh_body(mesh, body_type, weights, chosen, pin, dof, pose, report)
    assert isinstance(what, str)
    options = {"up": up, "size": size, "pin": pin or None, "dof": dof}
    given = [name for name, value in options.items() if value is not None]
    if body_type != "auto":
        given.append("body type")
    if given:
        raise InputError(
            f"options for mesh files and clips were given with '{what}'",
            value=", ".join(given),
            allowed=f"with {', '.join(READS)}, .npz",
            hint="leave them out",
        )
    return _placed(_named_body(what, seed, package_path), pose)


def side_vertices(vertices: np.ndarray, side: str) -> np.ndarray:
    """[V] bool: whether vertices [V, 3] are within 2 % of the extent from a side (`SIDES`)."""
    _check_side(side)
    axis, sign = SIDES[side]
    along = sign * vertices[:, axis]
    return along >= along.max() - 0.02 * max(np.ptp(along), 1e-9)


def _check_pose(pose: np.ndarray) -> np.ndarray:
    pose = np.asarray(pose, np.float64)
    rigid = pose.shape == (4, 4) and np.isfinite(pose).all()
    if rigid:
        rotation = pose[:3, :3]
        rigid = abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6 and np.linalg.det(rotation) > 0
        rigid = rigid and np.array_equal(pose[3], [0, 0, 0, 1])
    if not rigid:
        raise InputError("the pose of a body is no rigid transform", value=pose.tolist())
    return pose


def _placed(body: Body, pose: np.ndarray | None) -> Body:
    from kin4d.bodies.capabilities import Placeable

    if pose is None:
        return body
    assert isinstance(body, Placeable), "bodies with names are made of links"
    return body.placed(pose)


def _scaled(mesh: Mesh, size: float | None) -> Mesh:
    """The mesh, with a bounding-box diagonal of `size` metres."""
    if size is None:
        return mesh
    if not (np.isfinite(size) and size > 0):
        raise InputError("size must be positive", value=size, allowed="metres, > 0")
    scale = size / mesh.bbox_diagonal
    return mesh.transformed(np.diag([scale, scale, scale, 1.0]))


def _read(path: str | Mesh, up: UpAxis | None) -> Mesh:
    """The mesh of a file, or as it is."""
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh

    if isinstance(path, Mesh):
        if up is not None:
            raise InputError("a Mesh is z-up: an up axis is for mesh files", value=up)
        return path
    if Path(path).suffix.lower() != ".npz":
        return Mesh.load(path, up=up)
    if up is not None:
        raise InputError("clips are z-up: an up axis is for mesh files", value=up)
    clip = Clip.load(path)
    return clip.mesh.replace_vertices(clip.vertices[0])


def _named_body(name: str, seed: int, package_path: Sequence[str | Path]) -> Body:
    from kin4d.bodies import analytic
    from kin4d.bodies.robot.registry import list_robots, load_robot
    from kin4d.geometry.io.mesh_file import READS
    from kin4d.objects.procedural.categories import CATEGORIES, make_object

    machines = {
        one.__name__: one for one in (analytic.hinge, analytic.slider_chain, analytic.pendulum)
    }
    if name in machines:
        return machines[name]()
    if name in CATEGORIES:
        return make_object(name, seed).body()
    robots = list_robots()
    if Path(name).suffix.lower() in (".urdf", ".xml") or name in robots:
        return load_robot(name, search_roots=package_path)
    near = get_close_matches(name, [*machines, *CATEGORIES, *robots], n=3)
    old = f"it is called {ROBOTS[name]} now" if name in ROBOTS else None
    raise InputError(
        f"there is nothing called '{name}' to load",
        allowed=f"a file ({', '.join(READS)}, .npz, .urdf, .xml); a robot (kin4d robot --list); "
        f"{', '.join(machines)}; or an object: {', '.join(CATEGORIES)}",
        hint=old or (f"did you mean {' or '.join(near)}" if near else None),
    )


def _check_options(body_type: BodyType, pin: Sequence[str], dof: int | None) -> None:
    """Refuse options that do not belong to a body type, before the mesh is read."""
    if dof is not None and body_type != "learned":
        raise InputError("dof is for learned bodies", value=dof, allowed="body type learned")
    if dof is not None and dof < 1:
        raise InputError("dof of a learned body", value=dof, allowed=">= 1")
    if pin and body_type not in ("solid", "sheet"):
        raise InputError(
            f"a body of type {body_type} cannot be pinned",
            value=", ".join(pin),
            allowed="body type solid or sheet",
        )
    for side in pin:
        _check_side(side)


def _check_side(side: str) -> None:
    if side not in SIDES:
        raise InputError("side of a body", value=side, allowed=", ".join(SIDES))


def _mesh_body(
    mesh: Mesh,
    body_type: BodyType,
    weights: str | Path,
    given: Material | None,
    pin: Sequence[str],
    dof: int | None,
    pose: np.ndarray | None,
    report: Callable[[str], None] | None,
) -> Body:
    from kin4d.bodies.creature.build import skeletal_body
    from kin4d.bodies.floating import FloatingBase
    from kin4d.bodies.inertial import Inertial
    from kin4d.bodies.modal import ModalBody
    from kin4d.bodies.rigid import RigidBody
    from kin4d.dynamics.materials import Material

    material = given or Material()
    on_side = [side_vertices(mesh.vertices, side) for side in pin]
    if body_type == "auto":
        choice = choose_body(mesh, weights=weights, material=given)
        if report is not None:
            report(f"{choice.body_type} body: {choice.reason}")
        if choice.body is not None:
            return _placed(choice.body, pose)
        body_type = choice.body_type
    if pose is not None and body_type in ("learned", "solid", "sheet"):
        # These are made where they are; the others are moved there, so that they do not differ.
        mesh, pose = mesh.transformed(pose), None
    if body_type == "skeleton":
        return _placed(skeletal_body(mesh, mass=material.mass_of(mesh)), pose)
    if body_type in ("learned", "articulated"):
        predicted = _predicted_body(mesh, body_type, weights, material.mass_of(mesh), dof)
        return _placed(predicted, pose)
    if body_type == "rigid":
        inertial = Inertial.of_mesh(mesh, density=material.density, thickness=material.thickness)
        return _placed(FloatingBase(RigidBody(mesh, inertial=inertial)), pose)
    pinned = np.flatnonzero(np.any(on_side, axis=0)) if pin else np.zeros(0, np.int64)
    elastic = {"young": material.young, "density": material.density, "pinned": pinned}
    if body_type == "solid":
        soft = ModalBody.solid(mesh, **elastic)
    else:
        soft = ModalBody.sheet(mesh, thickness=material.thickness, **elastic)
    return soft if len(pinned) else FloatingBase(soft)


def _predicted_body(
    mesh: Mesh, body_type: BodyType, weights: str | Path, mass: float, dof: int | None
) -> Body:
    """The body a network predicts, with a warning where it is not to be trusted."""
    from kin4d.neurok import LearnedBody, articulate

    if body_type == "learned":
        body = LearnedBody.from_mesh(mesh, weights, mass=mass, coordinates=dof)
    else:
        body = articulate(mesh, weights, mass=mass)
    least = MIN_CONFIDENCE if body_type == "learned" else MIN_PROBABILITY
    if body.confidence is not None and body.confidence < least:
        why = (
            f"this shape is unlike the training shapes (confidence {body.confidence:.3f})"
            if body_type == "learned"
            else f"the most probable joint of this mesh has a probability of {body.confidence:.2f}"
        )
        warnings.warn(f"{why}: do not trust its motion", LowConfidenceWarning, stacklevel=4)
    return body
