"""glTF that Draco and meshopt compressed, and extensions that are honoured or ignored."""

from __future__ import annotations

import base64
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError, MissingExtraError
from kin4d.geometry.io.mesh_file import load_mesh
from kin4d.geometry.mesh import vertex_normals
from kin4d.geometry.primitives import sphere

BALL = sphere(0.5, subdivisions=2)
POINTS, FACES = BALL.vertices.astype("<f4"), BALL.faces
NORMALS = vertex_normals(BALL.vertices, FACES).astype("<f4")


def write(path: Path, data: bytes, **entries) -> Path:
    """A glTF with one mesh, whose accessors 0, 1, 2 are positions, indices and normals."""
    accessors = [
        {"componentType": 5126, "count": len(POINTS), "type": "VEC3"},
        {"componentType": 5125, "count": FACES.size, "type": "SCALAR"},
        {"componentType": 5126, "count": len(POINTS), "type": "VEC3"},
    ]
    primitive = {"attributes": {"POSITION": 0, "NORMAL": 2}, "indices": 1}
    uri = "data:;base64," + base64.b64encode(data).decode()
    tree = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "accessors": accessors,
        "buffers": [{"byteLength": len(data), "uri": uri}],
        **entries,
    }
    path.write_text(json.dumps(tree))
    return path


def draco(path: Path, *, cut: int | None = None) -> Path:
    codec = pytest.importorskip("DracoPy")
    data = codec.encode(
        POINTS, FACES.astype(np.uint32), quantization_bits=16, normals=NORMALS.astype(float)
    )
    kinds = {a["attribute_type"]: a["unique_id"] for a in codec.decode(data).attributes}
    name = "KHR_draco_mesh_compression"
    packed = {"bufferView": 0, "attributes": {"POSITION": kinds[0], "NORMAL": kinds[1]}}
    primitive = {"attributes": {"POSITION": 0, "NORMAL": 2}, "indices": 1}
    return write(
        path,
        data[:cut],
        bufferViews=[{"buffer": 0, "byteLength": len(data[:cut])}],
        meshes=[{"primitives": [{**primitive, "extensions": {name: packed}}]}],
        extensionsRequired=[name],
    )


def meshopt(path: Path, *, spoil: bool = False) -> Path:
    codec = pytest.importorskip("meshoptimizer")
    name = "EXT_meshopt_compression"
    parts = [
        (codec.encode_vertex_buffer(POINTS), len(POINTS), 12, "ATTRIBUTES"),
        (codec.encode_index_buffer(FACES.ravel()), FACES.size, 4, "TRIANGLES"),
        (codec.encode_vertex_buffer(NORMALS), len(POINTS), 12, "ATTRIBUTES"),
    ]
    data, views = b"", []
    for encoded, count, stride, mode in parts:
        packed = {"buffer": 0, "byteOffset": len(data), "byteLength": len(encoded)}
        packed |= {"byteStride": stride, "count": count, "mode": mode}
        views.append({"buffer": 1, "byteLength": count * stride, "extensions": {name: packed}})
        data += bytes(len(encoded)) if spoil else encoded
    write(path, data, bufferViews=views, extensionsRequired=[name])
    tree = json.loads(path.read_text())
    tree["buffers"].append({"byteLength": 10**6, "extensions": {name: {"fallback": True}}})
    for number, accessor in enumerate(tree["accessors"]):
        accessor["bufferView"] = number
    path.write_text(json.dumps(tree))
    return path


def same_surface(mesh, atol: float) -> None:
    """Encoders reorder vertices and faces: compare the triangles as sets."""
    ours = np.sort(mesh.vertices[mesh.faces].mean(1).round(3) + 0.0, axis=0)
    np.testing.assert_allclose(ours, np.sort(POINTS[FACES].mean(1).round(3), axis=0), atol=atol)
    assert mesh.face_areas.sum() == pytest.approx(BALL.face_areas.sum(), rel=1e-3)
    outwards = np.einsum("vi,vi->v", mesh.normals, mesh.vertices)
    assert (outwards > 0.45).all()


@pytest.mark.parametrize(("compress", "atol"), [(draco, 2e-3), (meshopt, 2e-3)])
def test_surface_comes_back(tmp_path: Path, compress, atol: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_surface(load_mesh(compress(tmp_path / "a.gltf"), up="z"), atol)


@pytest.mark.parametrize(("compress", "module"), [(draco, "DracoPy"), (meshopt, "meshoptimizer")])
def test_missing_decoder_names_the_extra(tmp_path: Path, compress, module, monkeypatch) -> None:
    path = compress(tmp_path / "a.gltf")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"kin4d\[compressed\]"):
        load_mesh(path)


def test_broken_data_are_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Draco data"):
        load_mesh(draco(tmp_path / "a.gltf", cut=40))
    with pytest.raises(InputError, match="meshopt data"):
        load_mesh(meshopt(tmp_path / "b.gltf", spoil=True))


def plain(path: Path, **entries) -> Path:
    indices = FACES.astype("<u4").tobytes()
    data, views = POINTS.tobytes() + indices + NORMALS.tobytes(), []
    for size in (POINTS.nbytes, len(indices), NORMALS.nbytes):
        start = sum(view["byteLength"] for view in views)
        views.append({"buffer": 0, "byteOffset": start, "byteLength": size})
    write(path, data, bufferViews=views, **entries)
    tree = json.loads(path.read_text())
    for number, accessor in enumerate(tree["accessors"]):
        accessor["bufferView"] = number
    path.write_text(json.dumps(tree))
    return path


def test_hidden_nodes_are_left_out_with_their_children(tmp_path: Path) -> None:
    hidden = {"extensions": {"KHR_node_visibility": {"visible": False}}, "children": [2]}
    nodes = [{"mesh": 0, "name": "shown"}, hidden, {"mesh": 0, "name": "below"}]
    path = plain(
        tmp_path / "a.gltf",
        nodes=nodes,
        scenes=[{"nodes": [0, 1]}],
        extensionsRequired=["KHR_node_visibility"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_mesh(path).groups == ("shown",)


def test_other_extensions_are_ignored_with_a_notice(tmp_path: Path) -> None:
    path = plain(tmp_path / "a.gltf", extensionsRequired=["VENDOR_something"])
    with pytest.warns(UserWarning, match="VENDOR_something, which is ignored"):
        same_surface(load_mesh(path, up="z"), 1e-6)
