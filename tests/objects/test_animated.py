"""glTF animations, against the reader of still meshes given the same pose as its rest."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.objects.animated import animation_names, load_animation, load_animations

KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
HALF = np.sqrt(0.5)


class Writer:
    """Collects arrays into one glTF buffer."""

    def __init__(self) -> None:
        self.data, self.views, self.accessors = b"", [], []

    def add(self, values: object, kind: int = 5126) -> int:
        array = np.array(values, {5126: "<f4", 5123: "<u2"}[kind])
        width = KINDS[1 if array.ndim == 1 else array.shape[1]]
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        self.data += array.tobytes() + b"\0" * (-array.nbytes % 4)
        self.views.append(view)
        accessor = {"componentType": kind, "count": len(array), "type": width}
        self.accessors.append({"bufferView": len(self.views) - 1, **accessor})
        return len(self.accessors) - 1


def strip(*, mode: str = "LINEAR", rotations=((0, 0, 0, 1), (0, 0, HALF, HALF))) -> dict:
    """A strip on two joints, the second of which turns, and a triangle with a morph target."""
    to = Writer()
    points = [[x, y, 0] for x in (0, 1, 2) for y in (0, 1)]
    shares = [[1, 0, 0, 0]] * 2 + [[0.5, 0.5, 0, 0]] * 2 + [[0, 1, 0, 0]] * 2
    inverse = np.tile(np.eye(4), (2, 1, 1))
    inverse[1, 0, 3] = -1
    skinned = {
        "attributes": {
            "POSITION": to.add(points),
            "JOINTS_0": to.add([[0, 1, 0, 0]] * 6, 5123),
            "WEIGHTS_0": to.add(shares),
        },
        "indices": to.add([0, 2, 1, 1, 2, 3, 2, 4, 3, 3, 4, 5], 5123),
    }
    morphing = {
        "attributes": {"POSITION": to.add([[0, 0, 0], [1, 0, 0], [0, 1, 0]])},
        "targets": [{"POSITION": to.add([[0, 0, 1], [0, 0, 0], [0, 0, 0]])}],
    }
    binds = to.add(inverse.transpose(0, 2, 1).reshape(2, 16))
    times = to.add([0.0, 1.0])
    samplers = [
        {"input": times, "output": to.add(rotations), "interpolation": mode},
        {"input": times, "output": to.add([0.0, 1.0])},
        {"input": to.add([0.0]), "output": to.add([[0, 0, 0, 1]])},
    ]
    channels = [
        {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
        {"sampler": 1, "target": {"node": 3, "path": "weights"}},
    ]
    hold = [{"sampler": 2, "target": {"node": 1, "path": "rotation"}}]
    data = base64.b64encode(to.data).decode()
    return {
        "asset": {"version": "2.0", "copyright": "CC0-1.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 2, 3]}],
        "nodes": [
            {"children": [1], "translation": [0, 0, 3]},
            {"translation": [1, 0, 0]},
            {"mesh": 0, "skin": 0},
            {"mesh": 1, "translation": [5, 0, 0], "weights": [0]},
        ],
        "meshes": [{"primitives": [skinned]}, {"primitives": [morphing]}],
        "skins": [{"joints": [0, 1], "inverseBindMatrices": binds}],
        "animations": [
            {"name": "wave", "samplers": samplers, "channels": channels},
            {"name": "hold", "samplers": samplers, "channels": hold},
        ],
        "buffers": [{"byteLength": len(to.data), "uri": f"data:;base64,{data}"}],
        "bufferViews": to.views,
        "accessors": to.accessors,
    }


def write(path: Path, tree: dict) -> Path:
    path.write_text(json.dumps(tree))
    return path


def test_every_frame_is_the_still_surface_in_that_pose(tmp_path: Path) -> None:
    tree = strip()
    sequence = load_animation(write(tmp_path / "strip.gltf", tree), "wave", fps=4)
    assert sequence.vertices.shape == (5, 9, 3)
    assert sequence.licence == "CC0-1.0"
    for frame, points in enumerate(sequence.vertices):
        angle = np.pi / 2 * frame / 4
        tree["nodes"][1]["rotation"] = [0, 0, np.sin(angle / 2), np.cos(angle / 2)]
        tree["nodes"][3]["weights"] = [frame / 4]
        still = Mesh.load(write(tmp_path / "still.gltf", tree))
        np.testing.assert_allclose(points, still.vertices, atol=1e-6)
        np.testing.assert_array_equal(sequence.faces, still.faces)


def test_step_holds_until_the_next_key(tmp_path: Path) -> None:
    path = write(tmp_path / "strip.gltf", strip(mode="STEP"))
    vertices = load_animation(path, 0, fps=4).vertices[:, :6]
    np.testing.assert_array_equal(vertices[0], vertices[3])
    assert abs(vertices[4] - vertices[3]).max() > 1


def test_cubic_splines_pass_their_keys_with_their_slopes(tmp_path: Path) -> None:
    rest, turned, still = (0, 0, 0, 1), (0, 0, HALF, HALF), (0, 0, 0, 0)
    keys = (still, rest, still, still, turned, still)
    cubic = load_animation(
        write(tmp_path / "cubic.gltf", strip(mode="CUBICSPLINE", rotations=keys)), fps=4
    )
    linear = load_animation(write(tmp_path / "linear.gltf", strip()), fps=4)
    np.testing.assert_allclose(cubic.vertices[[0, 2, 4]], linear.vertices[[0, 2, 4]], atol=1e-6)
    # With flat tangents it starts more slowly.
    assert abs(cubic.vertices[1] - cubic.vertices[0])[:6].max() < 0.7 * (
        abs(linear.vertices[1] - linear.vertices[0])[:6].max()
    )


def test_still_clips_are_left_out_and_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "strip.gltf", strip())
    assert animation_names(path) == ("wave", "hold")
    assert [sequence.meta["clip"] for sequence in load_animations(path)] == ["wave"]
    with pytest.raises(InputError, match="no deformation"):
        load_animation(path, "hold")
    with pytest.raises(InputError, match="wave, hold"):
        load_animation(path, "run")


def test_a_static_file_has_no_deformation(tmp_path: Path) -> None:
    tree = strip()
    del tree["animations"]
    path = write(tmp_path / "still.gltf", tree)
    with pytest.raises(InputError, match="no deformation"):
        load_animation(path)
    with pytest.raises(InputError, match="no deformation"):
        list(load_animations(path))


def test_a_licence_is_found_or_asked_for(tmp_path: Path) -> None:
    tree = strip()
    tree["asset"] = {"version": "2.0"}
    path = write(tmp_path / "strip.gltf", tree)
    with pytest.raises(InputError, match="licence"):
        load_animation(path)
    assert load_animation(path, licence="CC-BY-4.0").licence == "CC-BY-4.0"
    tree["asset"]["extras"] = {"license": "CC-BY-4.0, by somebody"}
    assert load_animation(write(path, tree)).licence == "CC-BY-4.0, by somebody"


def test_a_broken_animation_is_an_input_error(tmp_path: Path) -> None:
    tree = strip()
    tree["animations"][0]["channels"][0]["sampler"] = 9
    with pytest.raises(InputError, match="not a readable glTF"):
        load_animation(write(tmp_path / "strip.gltf", tree))
