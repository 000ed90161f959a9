"""Every loader of kin4d: what writes a small valid input for it, and what reads all of that input.

A loader that is not in `LOADERS` is not tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.reliability import valid_files as valid
from kin4d.benchmarks.reliability import valid_recordings as recordings
from kin4d.benchmarks.reliability import valid_weights as weights
from kin4d.geometry.primitives import box


@dataclass(frozen=True)
class Loader:
    """A loader.

    Attributes:
        write: Writes what it reads into an empty folder and returns its path.
        load: Reads all there is at that path.
    """

    write: Callable[[Path], Path]
    load: Callable[[Path], Any]


def _text(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


def _mesh(name: str) -> Loader:
    def write(folder: Path) -> Path:
        return valid.textured().save(folder / name)

    return Loader(write, _load_mesh)


def _load_mesh(path: Path) -> Any:
    from kin4d.geometry.mesh import Mesh

    return Mesh.load(path)


def _stl(folder: Path) -> Path:
    import trimesh

    mesh = box((1, 2, 3))
    trimesh.Trimesh(mesh.vertices, mesh.faces).export(folder / "a.stl")
    return folder / "a.stl"


def _gltf(folder: Path) -> Path:
    """A .gltf with its buffer and image beside it, made of the GLB."""
    glb = (valid.textured().save(folder / "a.glb")).read_bytes()
    size = int.from_bytes(glb[12:16], "little")
    tree = json.loads(glb[20 : 20 + size])
    data = glb[28 + size :]
    tree["buffers"][0]["uri"] = "a.bin"
    if tree.get("images"):
        tree["images"][0] = {"uri": "a.png"}
    tree["accessors"][0]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": 0, "componentType": 5123},
        "values": {"bufferView": 0},
    }
    (folder / "a.png").write_bytes(valid.png())
    (folder / "a.bin").write_bytes(data)
    (folder / "a.gltf").write_text(json.dumps(tree))
    (folder / "a.glb").unlink()
    return folder / "a.gltf"


def _clip(folder: Path) -> Path:
    from kin4d.geometry.clip import Clip

    mesh = valid.textured()
    vertices = np.stack([mesh.vertices, mesh.vertices + 0.1]).astype(np.float32)
    clip = Clip(mesh=mesh, vertices=vertices, fps=24.0, q=np.zeros((2, 1)))
    return clip.save(folder / "a.npz")


def _load_clip(path: Path) -> Any:
    from kin4d.geometry.clip import Clip

    return Clip.load(path)


def _load_pointmap(path: Path) -> Any:
    from kin4d.geometry.pointmap import PointmapVideo

    return PointmapVideo.load(path)


def _load_camera(path: Path) -> Any:
    from kin4d.geometry.camera import Camera

    return Camera.load(path)


def _actions(name: str) -> Loader:
    def write(folder: Path) -> Path:
        from kin4d.episodes.formats.action_files import write_actions

        path, values = folder / name, np.linspace(0, 1, 12).reshape(6, 2)
        if path.suffix == ".npz":
            return write_actions(path, valid.episode().actions)  # pyright: ignore[reportArgumentType]
        if path.suffix == ".npy":
            np.save(path, values)
        elif path.suffix == ".csv":
            rows = "".join(f"{i / 10},{a},{b}\n" for i, (a, b) in enumerate(values))
            path.write_text("time,a,b\n" + rows)
        else:
            import pyarrow as arrow
            import pyarrow.parquet as parquet

            columns = {"time": np.arange(6) / 10, "action": values.tolist()}
            parquet.write_table(arrow.table(columns), path)
        return path

    def load(path: Path) -> Any:
        from kin4d.episodes.formats.action_files import read_actions

        options: dict[str, Any] = {"fps": 10.0} if path.suffix == ".npy" else {}
        return read_actions(path, **options)

    return Loader(write, load)


def _urdf(folder: Path) -> Path:
    (folder / "r.srdf").write_text(valid.SRDF)
    box((1, 1, 1)).save(folder / "b.obj")
    return _text("r.urdf", valid.URDF.replace("package://r/", ""))(folder)


def _mjcf(folder: Path) -> Path:
    box((1, 1, 1)).save(folder / "b.obj")
    (folder / "b.png").write_bytes(valid.png())
    return _text("r.xml", valid.MJCF)(folder)


def _load_robot(path: Path) -> Any:
    from kin4d.bodies.robot.registry import load_robot

    return load_robot(path)


def _load_mjcf_scene(path: Path) -> Any:
    from kin4d.scenes.mjcf_import import read_mjcf_scene

    return read_mjcf_scene(path)


def _scene(name: str) -> Loader:
    def load(path: Path) -> Any:
        from kin4d.scenes.read import load_scene

        return load_scene(path)

    def write(folder: Path) -> Path:
        import yaml

        box((0.2, 0.2, 0.2)).save(folder / "b.obj")
        text = json.dumps(_SCENE) if name.endswith(".json") else yaml.safe_dump(_SCENE)
        return _text(name, text)(folder)

    return Loader(write, load)


def _message(folder: Path) -> Path:
    from kin4d.policies.array_messages import pack_message

    image = np.zeros((4, 4, 3), np.uint8)
    message = {"observation/image": image, "prompt": "lift", "step": np.float32(2), "list": [1, {}]}
    (folder / "a.msgpack").write_bytes(pack_message(message))
    return folder / "a.msgpack"


def _load_message(path: Path) -> Any:
    from kin4d.policies.array_messages import unpack_message

    # Messages come over a connection: one that is not there is an empty one.
    return unpack_message(path.read_bytes() if path.is_file() else b"")


def _urdf_folder(folder: Path) -> Path:
    _urdf(folder)
    text = (folder / "r.urdf").read_text().replace("floating", "fixed")
    (folder / "r.urdf").unlink()
    (folder / "mobility.urdf").write_text(text)
    (folder / "meta.json").write_text('{"model_cat": "Box", "licence": "MIT"}')
    return folder


def _load_urdf_folder(path: Path) -> Any:
    from kin4d.objects.urdf_folder import urdf_source

    return urdf_source(path).load(0)


def _image(name: str, form: str, mode: str = "RGB") -> Loader:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(valid.png(16, 12, form=form, mode=mode))
        return folder / name

    def load(path: Path) -> Any:
        from kin4d.export.video import read_image

        return read_image(path)

    return Loader(write, load)


def _video(name: str) -> Loader:
    def write(folder: Path) -> Path:
        from kin4d.export.video import write_video

        return write_video(valid.episode().video.rgb, folder / name, fps=10)

    def load(path: Path) -> Any:
        from kin4d.export.video import read_video

        return read_video(path)

    return Loader(write, load)


def _depth(name: str) -> Loader:
    def write(folder: Path) -> Path:
        depth = np.ones((12, 16), np.float32)
        if name.endswith(".npy"):
            np.save(folder / name, depth)
        else:
            from PIL import Image

            Image.fromarray((1000 * depth).astype(np.uint16)).save(folder / name)
        return folder / name

    def load(path: Path) -> Any:
        from kin4d.world.depth_and_masks import read_depth

        return read_depth(path)

    return Loader(write, load)


def _load_correspondences(path: Path) -> Any:
    from kin4d.calibration.correspondences import read_correspondences

    return read_correspondences(path)


def _load_corrections(path: Path) -> Any:
    from kin4d.bodies.corrections import correct, read_corrections

    mesh = box((1, 1, 1))
    return correct(mesh, np.zeros(len(mesh.vertices), np.int64), [], read_corrections(path))


def _points(name: str) -> Loader:
    def write(folder: Path) -> Path:
        if name.endswith(".npy"):
            np.save(folder / name, np.ones((4, 3)))
        else:
            np.savetxt(folder / name, np.ones((4, 3)))
        return folder / name

    def load(path: Path) -> Any:
        from kin4d.cli.fit import read_points

        return read_points(path)

    return Loader(write, load)


def _animated(folder: Path) -> Path:
    from kin4d.geometry.clip import Clip

    mesh = valid.textured()
    moved = np.stack([mesh.vertices * s for s in (1.0, 1.2, 1.5)]).astype(np.float32)
    Clip(mesh=mesh, vertices=moved, fps=24.0).save(folder / "a.glb")
    (folder / "licences.json").write_text('{"*": "MIT"}')
    return folder


def _load_animated(path: Path) -> Any:
    from kin4d.objects.animated_folder import animated_source

    return animated_source(path).load(0)


_MATCHES = {"size": [8, 8], "matches": [{"frame": 0, "pixel": [1, 2], "link": "a"}] * 2}
_CORRECTIONS = {"parts": {"door": {"axis": [0, 0, 1], "pivot": [0, 0, 0], "type": "revolute",
    "limits": [0, 1], "new": True, "vertices": [0, 1]}}}  # fmt: skip

_KEYS = [
    {"time": 0, "position": [0.4, 0, 0.25], "rotation": [180, 0, 90], "gripper": 1},
    {"time": 0.5, "position": [0.4, 0.1, 0.25], "gripper": 0},
]
_SCENE = {
    "seconds": 0.5, "fps": 20, "surface": "wood", "wind": [0, 1, 0],
    "bodies": [
        {"load": "b.obj", "body_type": "rigid", "position": [1, 0, 0.3], "rotation": [0, 0, 9],
         "name": "block", "material": "wood", "mass": 1.0, "size": 0.3,
         "pushes": [{"point": [0.901, 0.072, 0.2135], "force": [1, 0, 0], "duration": 0.1}]},
        {"load": "kin4d_arm", "contact_links": ["finger_left"],
         "motion": {"keyframes": _KEYS, "max_force": {"elbow": 50.0}}},
    ],
    "static": [{"box": [1, 1, 0.1], "position": [2, 0, 0.05], "name": "table"},
               {"mesh": "b.obj", "position": [3, 0, 0.3], "name": "other"}],
    "cameras": [{"name": "side", "eye": [2, 0, 1], "target": [0, 0, 0]}],
}  # fmt: skip

LOADERS: dict[str, Loader] = {
    "obj": _mesh("a.obj"),
    "ply": _mesh("a.ply"),
    "glb": _mesh("a.glb"),
    "gltf": Loader(_gltf, _load_mesh),
    "stl": Loader(_stl, _load_mesh),
    "off": Loader(_text("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"), _load_mesh),
    "dae": Loader(_text("a.dae", valid.DAE), _load_mesh),
    "animated glb": Loader(_animated, _load_animated),
    "clip": Loader(_clip, _load_clip),
    "pointmap": Loader(lambda f: valid.episode().video.save(f / "a.npz"), _load_pointmap),
    "camera": Loader(lambda f: valid.CAMERA.save(f / "a.json"), _load_camera),
    "actions npz": _actions("a.npz"),
    "actions npy": _actions("a.npy"),
    "actions csv": _actions("a.csv"),
    "actions parquet": _actions("a.parquet"),
    "urdf": Loader(_urdf, _load_robot),
    "mjcf": Loader(_mjcf, _load_robot),
    "urdf objects": Loader(_urdf_folder, _load_urdf_folder),
    "mjcf scene": Loader(_mjcf, _load_mjcf_scene),
    "scene yaml": _scene("s.yaml"),
    "scene json": _scene("s.json"),
    "droid": Loader(valid.droid, recordings.load_recordings),
    "rlds": Loader(valid.bridge, recordings.load_recordings),
    "robosuite": Loader(valid.robosuite, recordings.load_recordings),
    "lerobot 2": Loader(recordings.lerobot("v2.1"), recordings.load_recordings),
    "lerobot 3": Loader(recordings.lerobot("v3.0"), recordings.load_recordings),
    "lerobot": Loader(recordings.recorded, recordings.load_recordings),
    "robo4d": Loader(recordings.robo4d, recordings.load_recordings),
    "episode store": Loader(recordings.episode_store, recordings.load_store),
    "sequence store": Loader(recordings.sequence_store, recordings.load_store),
    "neurok weights": Loader(weights.neurok, weights.load_neurok),
    "joint prior weights": Loader(weights.joint_prior, weights.load_joint_prior),
    "object world weights": Loader(weights.object_world, weights.load_world),
    "cage weights": Loader(weights.cage, weights.load_cage_weights),
    "dynamics samples": Loader(weights.dynamics_samples, weights.load_dynamics),
    "diffusion weights": Loader(weights.diffusion, weights.load_world),
    "policy weights": Loader(weights.policy, weights.load_learned_policy),
    "policy message": Loader(_message, _load_message),
    "png": _image("a.png", "PNG"),
    "jpeg": _image("a.jpg", "JPEG"),
    "mp4": _video("a.mp4"),
    "gif": _video("a.gif"),
    "depth png": _depth("a.png"),
    "depth npy": _depth("a.npy"),
    "matches": Loader(_text("a.json", json.dumps(_MATCHES)), _load_correspondences),
    "corrections": Loader(_text("a.json", json.dumps(_CORRECTIONS)), _load_corrections),
    "points npy": _points("a.npy"),
    "points txt": _points("a.txt"),
}
