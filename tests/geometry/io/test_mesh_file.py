"""Mesh files: what survives reading and writing, and what each kind of bad file says."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from kin4d.errors import InputError, OutputError
from kin4d.geometry.io.mesh_file import load_mesh, read_raw, save_mesh
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box

CUBE_OBJ = """# a comment
mtllib cube.mtl
o lid
v 0 0 0 # tail comment
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl red
f 1/1 2/2 3/3 4/4
o hinge
\tv 0 0 1
v 1 0 1
v 1 1 1
usemtl painted
f -3/1 -2/2 -1/4
f -3/3 -2/2 \\
-1/4
"""
CUBE_MTL = """newmtl red
Kd 1 0 0
d 0.5
newmtl painted
Kd 0 0 0
map_Kd paint.png
"""


@pytest.fixture
def obj(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE_OBJ)
    (tmp_path / "cube.mtl").write_text(CUBE_MTL)
    Image.new("RGB", (2, 2), (10, 20, 30)).save(tmp_path / "paint.png")
    return tmp_path / "cube.obj"


def gltf(tmp_path, *, name="a.gltf", uri=None, **changes):
    """A one-triangle glTF; `changes` replace top-level entries."""
    data = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
    data += np.array([0, 1, 2], "<u2").tobytes() + b"\0\0"
    uri = uri or "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "tri"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(data), "uri": uri}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        **changes,
    }
    path = tmp_path / name
    path.write_text(json.dumps(tree))
    return path, data


class TestObj:
    def test_file_vertices_come_first_and_seams_last(self, obj):
        mesh = load_mesh(obj, up="z")
        assert mesh.vertices[:7].tolist()[4] == [0, 0, 1]
        assert mesh.source_index.tolist() == [0, 1, 2, 3, 4, 5, 6, 4]
        np.testing.assert_array_equal(mesh.vertices, mesh.vertices[:7][mesh.source_index])
        np.testing.assert_array_equal(mesh.uv[[4, 7]], [[0, 0], [1, 1]])

    def test_quads_parts_relative_indices_and_continued_lines(self, obj):
        mesh = load_mesh(obj)
        assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6], [7, 5, 6]]
        assert mesh.groups == ("lid", "hinge")
        assert mesh.face_group.tolist() == [0, 0, 1, 1]

    def test_materials(self, obj):
        red, painted = load_mesh(obj).materials
        assert red.base_color == (1, 0, 0, 0.5)
        assert red.alpha_mode == "BLEND"
        assert painted.base_color == (1, 1, 1, 1)  # the texture replaces a black Kd
        assert painted.textures["base_color"].getpixel((0, 0)) == (10, 20, 30)

    def test_colours_are_read(self, tmp_path):
        (tmp_path / "a.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n")
        assert load_mesh(tmp_path / "a.obj").colors[:, :3].tolist() == (np.eye(3) * 255).tolist()

    def test_faces_of_mixed_style(self, tmp_path):
        text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n"
        text += "f 1/1/1 2/1/1 3/1/1\nf 1 2 3\nf 3//1 2//1 1//1\n"
        (tmp_path / "a.obj").write_text(text)
        raw = read_raw(tmp_path / "a.obj")
        assert raw.source_index[raw.faces].tolist() == [[0, 1, 2], [0, 1, 2], [2, 1, 0]]

    def test_concave_polygon_keeps_its_area(self, tmp_path):
        outline = [(0, 0), (4, 0), (4, 3), (2, 1), (0, 3)]
        lines = [f"v {x} 0 {y}" for x, y in outline]
        for order in ("1 2 3 4 5", "3 4 5 1 2", "5 4 3 2 1"):
            (tmp_path / "a.obj").write_text("\n".join([*lines, f"f {order}"]))
            mesh = load_mesh(tmp_path / "a.obj")
            assert mesh.face_areas.sum() == pytest.approx(8)

    def test_a_corner_without_a_vertex_is_kept_for_repair(self, tmp_path):
        (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 9\nf 0 1 2\n")
        assert read_raw(tmp_path / "a.obj").faces.tolist() == [[0, 1, 2], [0, 1, -1], [-1, 0, 1]]
        with pytest.raises(InputError, match="2 faces that name vertices which do not exist"):
            load_mesh(tmp_path / "a.obj")

    def test_missing_or_distant_look_is_warned_about(self, tmp_path):
        (tmp_path / "a.obj").write_text("mtllib /etc/x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        with pytest.warns(UserWarning, match="outside its folder"):
            load_mesh(tmp_path / "a.obj")
        (tmp_path / "a.obj").write_text("mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        with pytest.warns(UserWarning, match="x.mtl' is not there"):
            load_mesh(tmp_path / "a.obj")

    @pytest.mark.parametrize(
        "text",
        ["hello, world\n", "v 0 0 zero\nf 1 1 1\n", "v 0 0 0\nf 1 a 3\n", "f 1.5 2 3\nv 0 0 0\n"],
    )
    def test_nonsense(self, tmp_path, text):
        (tmp_path / "a.obj").write_text(text)
        with pytest.raises(InputError, match=r"not an OBJ mesh|not numbers"):
            load_mesh(tmp_path / "a.obj")


class TestGltf:
    def test_nodes_move_and_mirror(self, tmp_path):
        nodes = [
            {"children": [1], "translation": [0, 0, 5]},
            {"mesh": 0, "name": "tri", "scale": [-2, 1, 1]},
        ]
        path, _ = gltf(tmp_path, nodes=nodes)
        mesh = load_mesh(path, up="z")
        assert mesh.vertices.tolist() == [[0, 0, 5], [-2, 0, 5], [0, 1, 5]]
        assert mesh.faces.tolist() == [[2, 1, 0]]
        assert mesh.groups == ("tri",)

    def test_same_mesh_twice_becomes_two_parts(self, tmp_path):
        nodes = [{"mesh": 0, "name": "a"}, {"mesh": 0, "name": "b", "translation": [1, 0, 0]}]
        path, _ = gltf(tmp_path, nodes=nodes, scenes=[{"nodes": [0, 1]}])
        mesh = load_mesh(path)
        assert mesh.groups == ("a", "b")
        assert mesh.face_group.tolist() == [0, 1]
        assert len(mesh.materials) == 1

    def test_skin_at_rest_replaces_the_nodes_own_motion(self, tmp_path):
        skin_data = np.eye(4, dtype="<f4").tobytes() + bytes([0] * 12)
        skin_data += np.tile(np.array([1, 0, 0, 0], "<f4"), 3).tobytes()
        path, _ = gltf(tmp_path)
        tree = json.loads(path.read_text())
        uri = "data:;base64," + base64.b64encode(skin_data).decode()
        tree["buffers"].append({"byteLength": len(skin_data), "uri": uri})
        for start, length in ((0, 64), (64, 12), (76, 48)):
            tree["bufferViews"].append({"buffer": 1, "byteOffset": start, "byteLength": length})
        tree["accessors"] += [
            {"bufferView": 2, "componentType": 5126, "count": 1, "type": "MAT4"},
            {"bufferView": 3, "componentType": 5121, "count": 3, "type": "VEC4"},
            {"bufferView": 4, "componentType": 5126, "count": 3, "type": "VEC4"},
        ]
        tree["meshes"][0]["primitives"][0]["attributes"] |= {"JOINTS_0": 3, "WEIGHTS_0": 4}
        tree["nodes"] = [
            {"mesh": 0, "skin": 0, "translation": [9, 9, 9]},
            {"translation": [0, 0, 2]},
        ]
        tree["skins"] = [{"joints": [1], "inverseBindMatrices": 2}]
        path.write_text(json.dumps(tree))
        assert load_mesh(path, up="z").vertices.tolist() == [[0, 0, 2], [1, 0, 2], [0, 1, 2]]

    def test_normalised_uv_sparse_positions_and_strip(self, tmp_path):
        extra = np.array([3], "<u2").tobytes() + b"\0\0" + np.array([1, 1, 0], "<f4").tobytes()
        extra += np.array([[0, 0], [255, 0], [0, 255], [255, 255]], "u1").tobytes()
        points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], "<f4").tobytes()
        uri = "data:;base64," + base64.b64encode(points + extra).decode()
        attributes = {"POSITION": 0, "TEXCOORD_0": 1}
        path, _ = gltf(
            tmp_path,
            buffers=[{"byteLength": 72, "uri": uri}],
            bufferViews=[
                {"buffer": 0, "byteLength": 48},
                {"buffer": 0, "byteOffset": 48, "byteLength": 2},
                {"buffer": 0, "byteOffset": 52, "byteLength": 12},
                {"buffer": 0, "byteOffset": 64, "byteLength": 8},
            ],
            accessors=[
                {
                    "bufferView": 0,
                    "componentType": 5126,
                    "count": 4,
                    "type": "VEC3",
                    "sparse": {
                        "count": 1,
                        "indices": {"bufferView": 1, "componentType": 5123},
                        "values": {"bufferView": 2},
                    },
                },
                {
                    "bufferView": 3,
                    "componentType": 5121,
                    "count": 4,
                    "type": "VEC2",
                    "normalized": True,
                },
            ],
            meshes=[{"primitives": [{"attributes": attributes, "mode": 5}]}],
        )
        mesh = load_mesh(path, up="z")
        assert mesh.vertices[3].tolist() == [1, 1, 0]
        assert mesh.uv.tolist() == [[0, 1], [1, 1], [0, 0], [1, 0]]
        assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2]]

    @pytest.mark.parametrize(
        "uri",
        [
            "../secret.bin",
            "a/../../secret.bin",
            "%2e%2e/secret.bin",
            "..\\secret.bin",
            "/etc/passwd",
            "file:///etc/passwd",
            "https://example.org/x.bin",
            "C:\\x.bin",
        ],
    )
    def test_buffer_outside_its_folder_is_refused_before_reading(self, tmp_path, uri, monkeypatch):
        (tmp_path / "in").mkdir()
        path, data = gltf(tmp_path / "in", uri=uri)
        (tmp_path / "secret.bin").write_bytes(data)
        opened = []
        real = type(path).read_bytes
        monkeypatch.setattr(
            type(path), "read_bytes", lambda self: (opened.append(self.name), real(self))[1]
        )
        with pytest.raises(InputError, match="outside its folder"):
            load_mesh(path)
        assert opened == ["a.gltf"]

    def test_image_outside_its_folder_is_refused(self, tmp_path):
        path, _ = gltf(tmp_path, images=[{"uri": "../x.png"}])
        with pytest.raises(InputError, match="outside its folder"):
            load_mesh(path)

    def test_link_out_of_the_folder_is_refused(self, tmp_path):
        (tmp_path / "in").mkdir()
        path, data = gltf(tmp_path / "in", uri="b.bin")
        (tmp_path / "b.bin").write_bytes(data)
        (tmp_path / "in" / "b.bin").symlink_to(tmp_path / "b.bin")
        with pytest.raises(InputError, match="outside its folder"):
            load_mesh(path)

    def test_buffer_beside_it_is_read(self, tmp_path):
        path, data = gltf(tmp_path, uri="my%20data.bin")
        with pytest.raises(InputError, match=r"my data\.bin does not exist"):
            load_mesh(path)
        (tmp_path / "my data.bin").write_bytes(data)
        assert len(load_mesh(path).faces) == 1
        (tmp_path / "my data.bin").write_bytes(data[:20])
        with pytest.raises(InputError, match="truncated: it needs 44 bytes and has 20"):
            load_mesh(path)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"asset": {"version": "1.0"}}, "another glTF version"),
            ({"extensionsRequired": ["EXT_mesh_gpu_instancing"]}, "extension"),
            ({"nodes": [{"mesh": 7}]}, "not a readable GLTF|not valid glTF"),
            ({"nodes": [{"children": [0], "mesh": 0}]}, "loop"),
            ({"nodes": 5}, "not a readable GLTF|not valid glTF"),
            ({"accessors": [{"componentType": 5126, "count": 3, "type": "VEC3"}]}, "no data"),
            (
                {
                    "accessors": [
                        {
                            "bufferView": 0,
                            "componentType": 5126,
                            "type": "VEC3",
                            "count": 10**7,
                        }
                    ]
                },
                "36 bytes where",
            ),
            (
                {
                    "accessors": [
                        {
                            "componentType": 5126,
                            "type": "VEC3",
                            "count": 10**18,
                            "sparse": {},
                        }
                    ]
                },
                "needs more memory",
            ),
            ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 0}]}]}, "empty"),
        ],
    )
    def test_contradictions(self, tmp_path, changes, message):
        path, _ = gltf(tmp_path, **changes)
        with pytest.raises(InputError, match=message):
            load_mesh(path)

    def test_unreadable_texture_is_warned_about(self, tmp_path):
        (tmp_path / "x.png").write_text("not a picture")
        look = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
        meshes = [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}]
        path, _ = gltf(
            tmp_path,
            images=[{"uri": "x.png"}],
            textures=[{"source": 0}],
            materials=[look],
            meshes=meshes,
        )
        with pytest.warns(UserWarning, match="image 0 could not be read"):
            mesh = load_mesh(path)
        assert mesh.materials[0].metallic == 1  # glTF's default


class TestGlb:
    @given(keep=st.integers(1, 2000))
    @settings(
        deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_truncated_anywhere(self, tmp_path, keep):
        path = tmp_path / "whole.glb"
        if not path.exists():
            _save_glb(box((1, 1, 1)), path)
        data = path.read_bytes()
        cut = tmp_path / "cut.glb"
        cut.write_bytes(data[: min(keep, len(data) - 1)])
        with pytest.raises(InputError, match=r"truncated|not a GLB"):
            load_mesh(cut)

    @given(where=st.integers(12, 10_000), value=st.integers(0, 255))
    @settings(
        deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_damaged_anywhere_never_ends_in_a_traceback(self, tmp_path, where, value):
        path = tmp_path / "whole.glb"
        if not path.exists():
            _save_glb(box((1, 1, 1)), path)
        data = bytearray(path.read_bytes())
        data[where % len(data)] = value
        (tmp_path / "bad.glb").write_bytes(data)
        with warnings.catch_warnings(), contextlib.suppress(InputError):
            warnings.simplefilter("ignore")
            load_mesh(tmp_path / "bad.glb")

    def test_text_named_glb(self, tmp_path):
        (tmp_path / "a.glb").write_text("solid thing\n" * 100)
        with pytest.raises(InputError, match="does not begin with 'glTF'"):
            load_mesh(tmp_path / "a.glb")

    def test_huge_chunk(self, tmp_path):
        (tmp_path / "a.glb").write_bytes(struct.pack("<4sIIII", b"glTF", 2, 24, 2**31, 1) + b"{}  ")
        with pytest.raises(InputError, match="truncated"):
            load_mesh(tmp_path / "a.glb")


PLY = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 2
property list uchar int vertex_indices
end_header
0 0 0 255 0 0
1 0 0 0 255 0
1 1 0 0 0 255
0 1 0 9 9 9
4 0 1 2 3
3 2 1 0
"""


class TestPly:
    def test_text_with_mixed_polygons(self, tmp_path):
        (tmp_path / "a.ply").write_text(PLY)
        mesh = load_mesh(tmp_path / "a.ply")
        assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [2, 1, 0]]
        assert mesh.colors[3].tolist() == [9, 9, 9, 255]

    @pytest.mark.parametrize("order", [">", "<"])
    def test_binary_with_mixed_polygons(self, tmp_path, order):
        name = {">": "binary_big_endian", "<": "binary_little_endian"}[order]
        head, _, _ = PLY.replace("ascii", name).partition("end_header\n")
        data = (head + "end_header\n").encode()
        for row in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)):
            data += struct.pack(f"{order}3f3B", *row, 1, 2, 3)
        data += struct.pack(f"{order}B4i", 4, 0, 1, 2, 3) + struct.pack(f"{order}B3i", 3, 2, 1, 0)
        (tmp_path / "a.ply").write_bytes(data)
        mesh = load_mesh(tmp_path / "a.ply")
        assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [2, 1, 0]]
        assert mesh.colors[0].tolist() == [1, 2, 3, 255]
        (tmp_path / "a.ply").write_bytes(data[:-4])
        with pytest.raises(InputError, match="not a readable PLY"):
            load_mesh(tmp_path / "a.ply")

    def test_uv_by_corner_splits_seams(self, tmp_path):
        text = PLY.replace("vertex_indices", "vertex_indices\nproperty list uchar float texcoord")
        text = text.replace("4 0 1 2 3\n", "3 0 1 2 6 0 0 1 0 1 1\n")
        text = text.replace("3 2 1 0\n", "3 2 1 0 6 1 1 1 0 0.5 0.5\n")
        (tmp_path / "a.ply").write_text(text)
        mesh = load_mesh(tmp_path / "a.ply")
        assert mesh.source_index.tolist() == [0, 1, 2, 3, 0]
        assert mesh.uv[mesh.faces].tolist()[1] == [[1, 1], [1, 0], [0.5, 0.5]]

    def test_texture(self, tmp_path):
        Image.new("RGB", (2, 2)).save(tmp_path / "t.png")
        (tmp_path / "a.ply").write_text(PLY.replace("1.0\n", "1.0\ncomment TextureFile t.png\n", 1))
        assert load_mesh(tmp_path / "a.ply").materials[0].textures["base_color"].size == (2, 2)

    @pytest.mark.parametrize(
        "text",
        [
            PLY.replace("vertex 4", "vertex 999999999999999999999"),
            PLY.replace("face 2", "face 99"),
            PLY.replace("element vertex 4", "element vertex -1"),
            PLY.replace("end_header", ""),
            PLY.replace("1 1 0 0 0 255", "1 1 0 0 0 blue"),
            PLY.replace("property float z\n", ""),
            PLY.replace("4 0 1 2 3", "4000000 0 1 2 3"),
            "ply\n",
            "hello",
        ],
    )
    def test_nonsense(self, tmp_path, text):
        (tmp_path / "a.ply").write_text(text)
        with pytest.raises(InputError, match="not a readable PLY"):
            load_mesh(tmp_path / "a.ply")

    def test_point_cloud(self, tmp_path):
        text = PLY.replace("face 2", "face 0").replace("4 0 1 2 3\n3 2 1 0\n", "")
        (tmp_path / "a.ply").write_text(text)
        with pytest.raises(InputError, match="point clouds"):
            load_mesh(tmp_path / "a.ply")


class TestStlAndOff:
    def test_solids_become_parts(self, tmp_path):
        facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
        facet += "endloop\nendfacet\n"
        (tmp_path / "a.stl").write_text("".join(f"solid {n}\n{facet}endsolid {n}\n" for n in "ab"))
        mesh = load_mesh(tmp_path / "a.stl")
        assert len(mesh.faces) == 2
        assert len(mesh.groups) == 2

    def test_off_polygons(self, tmp_path):
        (tmp_path / "a.off").write_text("OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n")
        assert load_mesh(tmp_path / "a.off").face_areas.sum() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("a.stl", b"nonsense" * 40),
            ("a.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50),
            ("a.off", b"OFF\n999999999 9 0\n0 0 0\n"),
            ("a.off", b"nonsense"),
            ("a.off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"),
        ],
    )
    def test_nonsense(self, tmp_path, name, data):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError):
            load_mesh(tmp_path / name)

    def test_truncated_stl_is_called_so(self, tmp_path):
        triangles = b"\0" * 80 + struct.pack("<I", 2) + b"\0" * 50
        (tmp_path / "a.stl").write_bytes(triangles)
        with pytest.raises(InputError, match=r"truncated.* needs 184 bytes and has 134"):
            load_mesh(tmp_path / "a.stl")

    def test_off_without_faces_can_be_inspected(self, tmp_path):
        (tmp_path / "a.off").write_text("OFF\n0 0 0\n")
        assert read_raw(tmp_path / "a.off").faces.shape == (0, 3)
        with pytest.raises(InputError, match="is empty"):
            load_mesh(tmp_path / "a.off")


class TestAnyFile:
    def test_unknown_suffix_lists_the_known(self, tmp_path):
        (tmp_path / "a.blend").write_text("x")
        with pytest.raises(InputError, match=r"\.obj, \.gltf, \.glb, \.ply, \.stl, \.off"):
            load_mesh(tmp_path / "a.blend")
        with pytest.raises(OutputError, match=r"\.obj"):
            save_mesh(box((1, 1, 1)), tmp_path / "a.fbx")

    @pytest.mark.parametrize("suffix", ["obj", "gltf", "glb", "ply", "stl", "off"])
    def test_empty_missing_folder_and_binary_noise(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        with pytest.raises(InputError, match="does not exist"):
            load_mesh(path)
        path.write_bytes(b"")
        with pytest.raises(InputError, match="is empty"):
            load_mesh(path)
        path.write_bytes(np.random.default_rng(0).bytes(5000))
        with pytest.raises(InputError):
            load_mesh(path)
        path.unlink()
        path.mkdir()
        with pytest.raises(InputError, match="is a folder"):
            load_mesh(path)


def _textured() -> Mesh:
    look = SurfaceMaterial(
        name="painted wood",
        base_color=(0.25, 0.5, 1.0, 1.0),
        roughness=0.3,
        textures={"base_color": Image.new("RGB", (4, 4), (1, 2, 3))},
    )
    cube = box((1, 2, 3))
    count = len(cube.vertices)
    return Mesh(
        vertices=cube.vertices,
        faces=cube.faces,
        uv=np.random.default_rng(0).random((count, 2)),
        colors=np.arange(count * 4).reshape(count, 4) % 256,
        materials=(look, SurfaceMaterial(name="plain")),
        face_material=np.arange(12) // 6,
        groups=("a", "b"),
        face_group=np.arange(12) // 6,
    )


def _save_glb(mesh, path):
    return mesh.save(path)


class TestWriting:
    def test_obj_keeps_all(self, tmp_path):
        mesh = _textured()
        again = load_mesh(save_mesh(mesh, tmp_path / "new" / "a.obj"))
        np.testing.assert_array_equal(again.vertices, mesh.vertices)
        np.testing.assert_array_equal(again.faces, mesh.faces)
        np.testing.assert_array_equal(again.uv, mesh.uv)
        np.testing.assert_array_equal(again.colors[:, :3], mesh.colors[:, :3])
        np.testing.assert_array_equal(again.face_material, mesh.face_material)
        assert again.groups == mesh.groups
        first, second = again.materials
        assert first.textures["base_color"].getpixel((0, 0)) == (1, 2, 3)
        assert second.base_color == pytest.approx(mesh.materials[1].base_color, abs=1e-6)

    def test_glb_keeps_the_look(self, tmp_path):
        mesh = _textured()
        again = load_mesh(_save_glb(mesh, tmp_path / "a.glb"))
        first, second = again.materials
        assert first.base_color == pytest.approx(mesh.materials[0].base_color, abs=1 / 255)
        assert first.textures["base_color"].getpixel((0, 0)) == (1, 2, 3)
        assert second.roughness == pytest.approx(0.8)
        np.testing.assert_allclose(
            again.vertices[again.faces], mesh.vertices[mesh.faces], atol=1e-6
        )
        np.testing.assert_allclose(again.uv[again.faces], mesh.uv[mesh.faces], atol=1e-6)
        np.testing.assert_array_equal(again.colors[again.faces], mesh.colors[mesh.faces])

    @given(
        vertices=arrays(
            np.float64,
            st.tuples(st.integers(4, 12), st.just(3)),
            elements=st.floats(-1e9, 1e9, allow_subnormal=False),
        ),
        seed=st.integers(0, 2**31),
        suffix=st.sampled_from(["obj", "ply"]),
    )
    @settings(
        deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_round_trip_is_exact(self, tmp_path, vertices, seed, suffix):
        rng = np.random.default_rng(seed)
        # One real triangle, whatever the rest is.
        vertices = np.concatenate([[[0, 0, 0], [1e9, 0, 0], [0, 1e9, 0]], vertices])
        faces = np.concatenate([[[0, 1, 2]], rng.integers(0, len(vertices), (9, 3))])
        mesh = Mesh(vertices=vertices, faces=faces, uv=rng.random((len(vertices), 2)))
        again = load_mesh(save_mesh(mesh, tmp_path / f"a.{suffix}"))
        np.testing.assert_array_equal(again.vertices, mesh.vertices)
        np.testing.assert_array_equal(again.faces, mesh.faces)
        used = np.unique(faces)
        np.testing.assert_array_equal(again.uv[used], mesh.uv[used])

    def test_unwritable_folder(self, tmp_path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(OutputError, match="cannot write"):
            save_mesh(box((1, 1, 1)), tmp_path / "file" / "a.ply")
