"""Clips saved and loaded: nothing is lost, nothing can run, bad files are named."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.errors import InputError, OutputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.clip_file import FORMAT
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


def assert_same(a: object, b: object) -> None:
    """Equal field by field, all the way down."""
    if a is None or isinstance(a, str | float | int | bool):
        assert a == b
    elif isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, Image.Image):
        assert isinstance(b, Image.Image)
        assert (a.mode, a.size, a.tobytes()) == (b.mode, b.size, b.tobytes())
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "items"):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    else:
        assert type(a) is type(b)
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))


@pytest.fixture
def door() -> Clip:
    body = hinge()
    clip = bake(body, sweep_joints(body, frames=6), fps=29.97)
    energies = {"kinetic energy": np.linspace(0, 1, 6), "contacts": np.zeros((6, 2), int)}
    return replace(clip, diagnostics=energies)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32 - 1),
    modes=st.lists(st.sampled_from(["L", "LA", "RGB", "RGBA", "1", "P"]), max_size=3),
    uv=st.booleans(),
    name=st.text(max_size=8),
)
def test_round_trip_of_any_look(tmp_path, seed, modes, uv, name):
    random = np.random.default_rng(seed)
    slots = ("base_color", "normal", "emissive")
    noise = Image.fromarray(random.integers(0, 256, (3, 5, 4), np.uint8))
    textures = {slot: noise.convert(mode) for slot, mode in zip(slots, modes, strict=False)}
    materials = (
        SurfaceMaterial(name=name, base_color=tuple(random.random(4)), textures=textures),
        SurfaceMaterial(roughness=0.1, alpha_mode="BLEND", textures=textures),
    )
    cube = box((1, 1, 1))
    count = len(cube.vertices)
    mesh = Mesh(
        vertices=cube.vertices,
        faces=cube.faces,
        uv=random.random((count, 2)) if uv else None,
        normals=random.normal(size=(count, 3)) if uv else None,
        colors=None if uv else random.integers(0, 256, (count, 4)),
        materials=materials,
        face_material=random.integers(0, 2, len(cube.faces)),
        groups=(name, "other"),
        face_group=random.integers(0, 2, len(cube.faces)),
        source_index=random.permutation(count),
        name=name,
    )
    clip = Clip(mesh=mesh, vertices=random.normal(size=(3, count, 3)), fps=random.random() + 0.1)
    path = clip.save(tmp_path / "clip.npz")
    again = Clip.load(path)
    assert_same(again, clip)
    # An image in two materials is stored, and loaded, once.
    first, second = (material.textures for material in again.mesh.materials)
    assert all(first[slot] is second[slot] for slot in first)


def test_round_trip_with_skin_coordinates_and_diagnostics(door, tmp_path):
    again = Clip.load(door.save(tmp_path / "door.npz"))
    assert_same(again, door)
    assert again.skin is not None


def test_only_npz(door, tmp_path):
    with pytest.raises(InputError, match=r"\.npz"):
        door.save(tmp_path / "door.pkl")


def test_objects_are_refused(door, tmp_path):
    odd = replace(door, diagnostics={"odd": np.array([object()] * 6)})
    with pytest.raises(InputError, match="'odd' cannot be saved"):
        odd.save(tmp_path / "door.npz")
    assert not list(tmp_path.iterdir())


def test_unwritable_targets_and_failures(door, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        door.save(tmp_path / "file" / "a.npz")
    path = tmp_path / "a.npz"
    path.write_bytes(b"precious")

    def fail(target, **arrays):
        target.write_bytes(b"half")
        raise RuntimeError("power cut")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(RuntimeError):
        door.save(path)
    assert path.read_bytes() == b"precious"


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.floats(0, 0.999))
def test_truncated_files(door, tmp_path, cut):
    data = door.save(tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(InputError, match=r"a\.npz"):
        Clip.load(tmp_path / "a.npz")


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(where=st.floats(0, 0.999), value=st.integers(0, 255))
def test_damaged_bytes_are_found_or_harmless(door, tmp_path, where, value):
    data = bytearray(door.save(tmp_path / "a.npz").read_bytes())
    data[int(len(data) * where)] = value
    (tmp_path / "a.npz").write_bytes(data)
    try:
        again = Clip.load(tmp_path / "a.npz")
    except InputError:
        return
    assert_same(again, door)


def test_other_files(door, tmp_path):
    path = tmp_path / "a.npz"
    with pytest.raises(InputError, match="does not exist"):
        Clip.load(path)
    path.write_text("just text")
    with pytest.raises(InputError, match="not a readable clip"):
        Clip.load(path)
    path.write_bytes(pickle.dumps({"harm": 1}))
    with pytest.raises(InputError, match="not a readable clip"):
        Clip.load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="not a readable clip"):
        Clip.load(path)
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(InputError, match="its header"):
        Clip.load(path)


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ({"format": "kin4d.clip/2"}, "kin4d.clip/1"),
        ({"format": FORMAT}, "not a readable clip"),
        ([1, 2], "its header"),
        (
            {"format": FORMAT, "fps": "fast", "mesh": {"name": "", "parts": [], "materials": []}},
            "range",
        ),
    ],
)
def test_wrong_headers(door, tmp_path, header, match):
    arrays = dict(np.load(door.save(tmp_path / "a.npz")))
    arrays["header"] = np.array(json.dumps(header))
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(InputError, match=match):
        Clip.load(tmp_path / "b.npz")
