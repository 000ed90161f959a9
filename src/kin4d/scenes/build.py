"""From what a scene file says to the scene that runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import FloatingRoot, fixed_base, modal_stiffness
from kin4d.bodies.floating import FloatingBase
from kin4d.dynamics.forces import Damping, Force, Push, Spring, Wind
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulator import Simulator
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.io.mesh_file import READS
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.loading import load
from kin4d.reading import confined_path
from kin4d.scenes.motion import build_motion
from kin4d.scenes.schema import BodySpec, SceneSpec, StaticSpec

_FILES = (*READS, ".npz", ".urdf", ".xml")


def scene_from_spec(spec: SceneSpec, *, folder: str | Path = ".") -> Scene:
    """Load all bodies and meshes; files are relative to `folder` and lie in it."""
    folder = Path(folder)
    if not spec.bodies:
        raise InputError("a scene needs a body", hint="add one under 'bodies'")
    for what, items in (("bodies", spec.bodies), ("cameras", spec.cameras)):
        names = [item.name for item in items if item.name]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two {what} have the same name", value=twice[0])
    scene = Scene(
        [_actor(body, folder) for body in spec.bodies],
        forces=[] if spec.wind is None else [Wind(spec.wind)],
        ground=spec.ground,
        obstacles=[_obstacle(one, folder) for one in spec.static],
        gravity=spec.gravity,
        surface=spec.surface,
        cameras={
            one.name: Camera.look_at(
                one.eye, one.target, fov=one.fov, width=one.width, height=one.height
            )
            for one in spec.cameras
        },
    )
    check_start(scene)
    return scene


def check_start(scene: Scene) -> None:
    """Refuse a start at which links overlap something, also those that contact leaves out."""
    actors = []
    for actor in scene.named_actors:
        skin = actor.body.skin
        if actor.contact_links and skin is not None:
            links = [skin.names[i] for i in np.unique(skin.joints[:, 0])]
            others = tuple(name for name in links if name not in actor.contact_links)
            actor = replace(actor, contact_links=others) if others else actor
        actors.append(actor)
    Simulator(scene, Variational(2), 1 / 240)
    if any(a is not b for a, b in zip(actors, scene.named_actors, strict=True)):
        Simulator(replace(scene, actors=actors), Variational(2), 1 / 240)


def scene_path(folder: Path, name: str) -> Path:
    """A file named in a scene file; one outside its folder is refused."""
    return confined_path(folder / "the scene", name)


def _weights(folder: Path, name: str) -> str | Path:
    """Weights that ship, or a file in the folder: a scene fetches nothing from a hub."""
    if re.fullmatch(r"[\w-]+", name):
        return name
    path = scene_path(folder, name)
    if not path.exists():
        raise InputError(
            "weights of a scene", value=name, allowed="a name that ships, or a file in its folder"
        )
    return path


def pose_of(position: tuple[float, ...], rotation: tuple[float, ...]) -> np.ndarray:
    """[4, 4] of metres and of roll, pitch and yaw in degrees about fixed axes."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("xyz", rotation, degrees=True).as_matrix()
    pose[:3, 3] = position
    return pose


def _actor(spec: BodySpec, folder: Path) -> Actor:
    body = _body(spec, folder)
    options = {}
    if spec.material is not None:
        options["material"] = spec.material
    actor = Actor(
        body,
        name=spec.name,
        mass=spec.mass,
        contacts=spec.contacts,
        contact_links=spec.contact_links,
        contact_cells=spec.contact_cells,
        **options,
    )
    start = _start_coordinates(spec, body, actor.name)
    if spec.motion is not None:
        if spec.pushes or spec.joint_damping:
            raise InputError(f"'{actor.name}' follows a motion: forces do not act on it")
        motion = build_motion(spec.motion, body, start, folder, name=actor.name)
        return replace(actor, motion=motion, q=motion.at(0.0))
    return replace(actor, q=start, forces=_forces(spec, body, actor))


def _body(spec: BodySpec, folder: Path) -> Body:
    is_file = Path(spec.load).suffix.lower() in _FILES
    is_mesh = spec.bare_mesh or Path(spec.load).suffix.lower() in (*READS, ".npz")
    options = {}
    if is_mesh:
        options = {"material": spec.material, "size": spec.size, "pin": spec.pin, "dof": spec.dof}
    elif spec.size is not None or spec.pin or spec.dof is not None:
        raise InputError(f"size, pin and dof are for meshes, not for '{spec.load}'")
    body = load(
        str(scene_path(folder, spec.load)) if is_file else spec.load,
        body_type=spec.body_type,
        weights=_weights(folder, spec.weights),
        up=spec.up,
        seed=spec.seed,
        bare_mesh=spec.bare_mesh,
        pose=pose_of(spec.position, spec.rotation),
        **options,
    )
    if spec.floating and not isinstance(body, FloatingRoot):
        body = FloatingBase(body)
    return body


def _start_coordinates(spec: BodySpec, body: Body, name: str) -> np.ndarray:
    q = body.q0.numpy().copy()
    for coordinate, value in spec.q.items():
        if coordinate not in body.coordinates:
            raise InputError(
                f"'{name}' has no coordinate '{coordinate}'",
                allowed=", ".join(body.coordinates) or "none: it does not move",
            )
        index = body.coordinates.index(coordinate)
        low, high = body.limits[index].tolist()
        if not low <= value <= high:
            raise InputError(
                f"'{coordinate}' of '{name}' starts outside its limits",
                value=value,
                allowed=f"{low:g} to {high:g}",
            )
        q[index] = value
    return q


def _forces(spec: BodySpec, body: Body, actor: Actor) -> list[Force]:
    out: list[Force] = [
        Push(push.point, push.force, start=push.start, duration=push.duration)
        for push in spec.pushes
    ]
    stiffness = modal_stiffness(body)
    if stiffness is not None:
        out.append(Spring(stiffness.numpy()))
    if spec.joint_damping:
        joints = np.full(len(body.coordinates), spec.joint_damping)
        joints[: len(joints) - len(fixed_base(body).coordinates)] = 0.0
        out.append(Damping(viscosity=joints))
    return out


def _obstacle(spec: StaticSpec, folder: Path) -> Mesh:
    if (spec.mesh is None) == (spec.box is None):
        raise InputError(f"'{spec.name}' is a mesh or a box", allowed="exactly one of mesh and box")
    if spec.box is not None:
        mesh = box(spec.box, color=spec.color, name=spec.name)
    else:
        mesh = Mesh.load(scene_path(folder, str(spec.mesh)), up=spec.up)
        if spec.size is not None:
            scale = spec.size / mesh.bbox_diagonal
            mesh = mesh.transformed(np.diag([scale, scale, scale, 1.0]))
    return replace(mesh.transformed(pose_of(spec.position, spec.rotation)), name=spec.name)
