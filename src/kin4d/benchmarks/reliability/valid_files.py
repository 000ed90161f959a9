"""Small valid files of every format, a few kilobytes each, to be damaged."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.primitives import box
from kin4d.kinematics.actions import Actions

CAMERA = Camera.look_at((0.9, -0.9, 0.7), (0.1, 0.0, 0.2), fov=50, width=16, height=12)
_FRAMES = 6

URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><visual><origin xyz="0 0 1" rpy="0 0 1"/><geometry><box size="1 2 3"/></geometry>
<material name="red"/></visual><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><visual><geometry><mesh filename="package://r/b.obj" scale="1 1 1"/></geometry>
</visual></link><link name="c"><visual><geometry><cylinder radius="1" length="2"/></geometry>
</visual></link><link name="d"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><mimic joint="j"
multiplier="2" offset="0.1"/><limit lower="0" upper="1"/></joint>
<joint name="f" type="floating"><parent link="c"/><child link="d"/></joint></robot>"""
SRDF = """<robot name="r"><group_state name="home" group="arm"><joint name="j" value="0.5"/>
</group_state></robot>"""
MJCF = """<mujoco model="m"><compiler meshdir="." angle="radian"/><option timestep="0.01"/>
<default><geom rgba="1 0 0 1"/></default><asset><mesh name="b" file="b.obj"/>
<texture name="t" type="2d" file="b.png"/><material name="s" texture="t"/></asset>
<worldbody><body name="a" pos="0 0 1"><joint name="j" type="hinge" axis="0 0 1" range="-1 1"/>
<geom type="box" size="1 1 1"/><body name="c"><joint name="s" type="slide" axis="1 0 0"/>
<geom type="mesh" mesh="b" material="s"/><site name="p" pos="0 0 1"/></body>
</body><replicate count="2" offset="1 0 0"><body><freejoint/><geom size="0.1"/></body></replicate>
</worldbody><actuator><position joint="j" kp="3"/></actuator>
<equality><joint joint1="s" joint2="j" polycoef="0 1 0 0 0"/></equality>
<keyframe><key name="home"/></keyframe></mujoco>"""
SCENE = """<mujoco><worldbody><camera name="agentview" pos="1.5 0 1.3" quat="0.56 0.43 0.43 0.56"
fovy="60"/><body name="robot0_base" pos="-0.5 0 0.9"/></worldbody></mujoco>"""
DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<unit meter="1"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common>
<accessor source="#pa" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n">
<matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def png(width: int = 4, height: int = 3, *, mode: str = "RGB", form: str = "PNG") -> bytes:
    """An encoded image of noise."""
    from PIL import Image

    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (height, width, 3), np.uint8)
    stream = BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, form)
    return stream.getvalue()


@cache
def textured() -> Mesh:
    """A box with UVs and a texture."""
    from dataclasses import replace

    from PIL import Image

    from kin4d.geometry.material import SurfaceMaterial

    mesh = box((1.0, 2.0, 3.0))
    image = Image.open(BytesIO(png()))
    look = SurfaceMaterial(name="look", textures={"base_color": image})
    return replace(mesh, uv=mesh.vertices[:, :2].astype(np.float32), materials=(look,))


@cache
def episode() -> Episode:
    """Six frames of the shipped arm, with actions."""
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.normal(size=(_FRAMES, 2)) * 0.01, 0)
    size = (_FRAMES, CAMERA.height, CAMERA.width)
    depth = rng.uniform(1, 2, (*size, 1)).astype(np.float32)
    video = PointmapVideo(
        rgb=rng.integers(0, 255, (*size, 3), np.uint8),
        xyz=depth * CAMERA.rays().astype(np.float32),
        mask=(depth[..., 0] > 1.5).astype(np.uint8),
        camera=CAMERA,
        fps=10.0,
        names=("kin4d_arm",),
    )
    return Episode(
        name="000000",
        video=video,
        robot="kin4d_arm",
        joints=q,
        joint_names=("a", "b"),
        actions=Actions(kind="joint", values=q, fps=10.0, names=("a", "b"), gripper=q[:, 0] * 0),
        language="move",
        task="reach",
    )


def droid(folder: Path) -> Path:
    """An annotation and its video."""
    from kin4d.export.video import write_video

    data: dict[str, Any] = {"texts": ["push"], "episode_id": 3, "success": 1}
    for key in ("observation.state", "action"):
        data |= {
            f"{key}.joint_position": [[0.1] * 7] * 4,
            f"{key}.cartesian_position": [[0.4, 0, 0.5, 3.1, 0, 0]] * 4,
            f"{key}.gripper_position": [0, 0.25, 1, 1.01],
        }
    (folder / "annotation").mkdir()
    (folder / "annotation" / "3.json").write_text(json.dumps(data))
    frames = np.zeros((4, 16, 16, 3), np.uint8)
    write_video(frames, folder / "videos" / "3" / "0.mp4", fps=15)
    return folder


def robosuite(folder: Path) -> Path:
    """Demonstrations in HDF5."""
    import h5py

    with h5py.File(folder / "a.hdf5", "w") as file:
        data = file.create_group("data")
        arguments = {"env_name": "Lift", "env_kwargs": {"control_freq": 20}}
        data.attrs["env_args"] = json.dumps(arguments)
        data.attrs["problem_info"] = json.dumps({"language_instruction": ["open"]})
        demo = data.create_group("demo_0")
        demo.attrs["model_file"] = SCENE
        demo["actions"] = np.zeros((4, 7))
        demo["rewards"] = np.ones(4)
        obs = demo.create_group("obs")
        obs["joint_states"] = np.zeros((4, 7))
        obs["gripper_states"] = np.zeros((4, 2))
        pictures = np.zeros((4, 8, 8, 3), np.uint8)
        obs.create_dataset("agentview_rgb", data=pictures, compression="gzip")
    return folder


def bridge(folder: Path) -> Path:
    """Two records of seven numbers a step, with images."""
    state = np.tile(np.array([0.2, 0.1, 0.3, 0.1, -0.2, 0.3, 1.0], np.float32), 3)
    record = {
        "steps/observation/state": state,
        "steps/action": np.zeros(21, np.float32),
        "steps/language_instruction": [b"put"] * 3,
        "steps/observation/image_0": [png(form="JPEG")] * 3,
    }
    (folder / "a.tfrecord").write_bytes(tfrecord([_example(record)] * 2))
    return folder


def tfrecord(records: Sequence[bytes]) -> bytes:
    """A TFRecord file with right checksums."""
    from kin4d.episodes.formats.tfrecord import checksum

    parts = []
    for data in records:
        length = struct.pack("<Q", len(data))
        parts += [length, checksum(length), data, checksum(data)]
    return b"".join(parts)


def _example(features: Mapping[str, Any]) -> bytes:
    message = b""
    for name, values in features.items():
        if isinstance(values, list):
            feature = _field(1, b"".join(_field(1, value) for value in values))
        else:
            feature = _field(2, _field(1, values.tobytes()))
        message += _field(1, _field(1, name.encode()) + _field(2, feature))
    return _field(1, message)


def _field(number: int, data: bytes) -> bytes:
    length, digits = len(data), b""
    while length > 127:
        digits += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + digits + bytes([length]) + data
