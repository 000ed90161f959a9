"""Write a robot of a compiled MuJoCo model as an MJCF file of its own, with meshes beside it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
from rollouts import robot_bodies

_KINDS = {2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}
_JOINTS = {2: "slide", 3: "hinge"}


def write_robot(
    model: mujoco.MjModel, root: str, hidden_groups: tuple[int, ...], path: Path
) -> None:
    """Write the robot that stands on body `root`; its base is the origin of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mjcf = ElementTree.Element("mujoco", model=path.stem)
    ElementTree.SubElement(mjcf, "compiler", angle="radian", meshdir=path.stem)
    assets = ElementTree.SubElement(mjcf, "asset")
    elements = {0: ElementTree.SubElement(mjcf, "worldbody")}
    bodies = robot_bodies(model, root)
    for body in bodies:
        is_root = body == bodies[0]
        parent = elements[0] if is_root else elements[int(model.body_parentid[body])]
        pose = {} if is_root else _pose(model.body_pos[body], model.body_quat[body])
        element = ElementTree.SubElement(parent, "body", name=model.body(body).name, **pose)
        elements[body] = element
        ElementTree.SubElement(
            element, "inertial", pos="0 0 0", mass="1", diaginertia="0.01 0.01 0.01"
        )
        for joint in range(model.njnt):
            if model.jnt_bodyid[joint] == body:
                ElementTree.SubElement(
                    element,
                    "joint",
                    name=model.joint(joint).name,
                    type=_JOINTS[int(model.jnt_type[joint])],
                    pos=_text(model.jnt_pos[joint]),
                    axis=_text(model.jnt_axis[joint]),
                    range=_text(model.jnt_range[joint]),
                    limited=str(bool(model.jnt_limited[joint])).lower(),
                )
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] == body and model.geom_group[geom] not in hidden_groups:
                _add_geom(model, geom, element, assets, path.parent / path.stem)
    ElementTree.indent(mjcf)
    path.write_text(ElementTree.tostring(mjcf, encoding="unicode"))


def _add_geom(
    model: mujoco.MjModel,
    geom: int,
    body: ElementTree.Element,
    assets: ElementTree.Element,
    folder: Path,
) -> None:
    kind = _KINDS.get(int(model.geom_type[geom]))
    material = int(model.geom_matid[geom])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    if kind is None or rgba[3] < 0.5:
        return
    shape = {"size": _text(model.geom_size[geom])}
    if kind == "mesh":
        name = f"mesh{geom}"
        _write_obj(model, int(model.geom_dataid[geom]), folder / f"{name}.obj")
        ElementTree.SubElement(assets, "mesh", name=name, file=f"{name}.obj")
        shape = {"mesh": name}
    pose = _pose(model.geom_pos[geom], model.geom_quat[geom])
    ElementTree.SubElement(body, "geom", type=kind, rgba=_text(rgba), mass="0", **shape, **pose)


def _write_obj(model: mujoco.MjModel, mesh: int, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    first, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    lines = [f"v {_text(vertex)}" for vertex in model.mesh_vert[start : start + count]]
    lines += [
        "f " + " ".join(str(corner + 1) for corner in face)
        for face in model.mesh_face[first : first + faces]
    ]
    path.write_text("\n".join(lines) + "\n")


def _pose(position: np.ndarray, quaternion: np.ndarray) -> dict[str, str]:
    return {"pos": _text(position), "quat": _text(quaternion)}


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.9g}" for value in values)
