"""Files that name other files, and small files that ask for much: each known way is closed."""

from __future__ import annotations

import json
import struct
import time
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kin4d.benchmarks.reliability import valid_files as valid
from kin4d.benchmarks.reliability.loaders import LOADERS
from kin4d.bodies.robot.registry import load_robot
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box

OUTSIDE = "outside its folder"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder beside which lie things that must not be read."""
    secret = tmp_path / "secret"
    secret.mkdir()
    box((1, 1, 1)).save(secret / "b.obj")
    (secret / "b.png").write_bytes(valid.png())
    (secret / "inner.xml").write_text('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def urdf(folder: Path, mesh: str) -> Path:
    text = f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{mesh}"/></geometry>'
    (folder / "r.urdf").write_text(text + "</visual></link></robot>")
    return folder / "r.urdf"


def mjcf(folder: Path, inside: str, *, name: str = "r.xml") -> Path:
    (folder / name).write_text(f"<mujoco>{inside}</mujoco>")
    return folder / name


def test_urdf_packages_are_not_any_folder(home: Path) -> None:
    for name in ("package://secret/b.obj", f"package://{home.parts[1]}/x", "../secret/b.obj"):
        with pytest.raises(InputError, match=rf"{OUTSIDE}|not there"):
            load_robot(urdf(home, name))
    (home / "b.obj").symlink_to(home.parent / "secret" / "b.obj")
    with pytest.raises(InputError, match=OUTSIDE):
        load_robot(urdf(home, "b.obj"))
    # What says that it is a package, is one.
    (home.parent / "secret" / "package.xml").write_text("<package/>")
    assert load_robot(urdf(home, "package://secret/b.obj")).rest is not None


MESH = '<mesh name="b" file="{}"/>'
GEOM = '<worldbody><geom type="mesh" mesh="b"/></worldbody>'


@pytest.mark.parametrize(
    "inside",
    [
        '<include file="part.inc"/>' + GEOM,
        '<asset><texture name="t" type="cube" fileright="../secret/b.png"/></asset>',
        '<worldbody><flexcomp name="f" type="mesh" file="../secret/b.obj" dim="2"/></worldbody>',
        '<compiler meshdir="sub"/><compiler assetdir="../secret"/><asset>'
        + MESH.format("b.obj") + "</asset>" + GEOM,
        '<compiler meshdir="../secret"/><asset><model name="m" file="other.xml"/>'
        + MESH.format("b.obj") + "</asset>" + GEOM,
        '<asset><hfield name="h" size="1 1 1 1" file="../secret/b.png"/></asset>',
        '<asset><skin name="s" file="../secret/b.skn"/></asset>',
        '<include file="../secret/inner.xml"/>',
        '<asset><model name="m" file="../secret/inner.xml"/></asset>',
        '<asset>' + MESH.format("link.obj") + "</asset>" + GEOM,
    ],
)  # fmt: skip
def test_mjcf_stays_in_its_folder(home: Path, inside: str) -> None:
    pytest.importorskip("mujoco")
    (home / "sub").mkdir()
    (home / "link.obj").symlink_to(home.parent / "secret" / "b.obj")
    (home / "part.inc").write_text(
        "<mujoco><asset>" + MESH.format("../secret/b.obj") + "</asset></mujoco>"
    )
    mjcf(home, '<compiler meshdir="sub"/>', name="other.xml")
    with pytest.raises(InputError, match=OUTSIDE):
        load_robot(mjcf(home, inside))


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<asset><model name="m" file="r.xml"/></asset>', "holds itself"),
        ('<include file="r.xml"/>', "holds itself"),
        ('<worldbody><replicate count="10000000"><body><geom size="1"/></body></replicate>'
         "</worldbody>", "too many copies"),
        ('<worldbody><replicate count="1000"><replicate count="1000"><body><geom size="1"/></body>'
         "</replicate></replicate></worldbody>", "too many copies"),
        ('<asset><texture type="2d" builtin="flat" width="900000" height="900000"/></asset>',
         "too large"),
        ('<asset><hfield name="h" size="1 1 1 1" nrow="90000" ncol="90000"/></asset>', "too large"),
        ('<worldbody><body/></worldbody><size memory="900G"/>', "MuJoCo cannot compile"),
    ],
)  # fmt: skip
def test_mjcf_that_breaks_mujoco(home: Path, inside: str, message: str) -> None:
    pytest.importorskip("mujoco")
    with pytest.raises(InputError, match=message):
        load_robot(mjcf(home, inside))


def test_mjcf_that_is_too_much_ends_in_its_child(home: Path) -> None:
    pytest.importorskip("mujoco")
    # Each model attaches the one before it twice: 2 ** 40 bodies.
    mjcf(home, '<worldbody><body name="b"><geom size="1"/></body></worldbody>', name="m0.xml")
    for i in range(1, 41):
        twice = "".join(f'<attach model="m" body="b" prefix="{s}"/>' for s in "pq")
        world = f'<worldbody><body name="b">{twice}</body></worldbody>'
        mjcf(home, f'<asset><model name="m" file="m{i - 1}.xml"/></asset>{world}', name=f"m{i}.xml")
    with pytest.raises(InputError, match=r"m40\.xml"):
        load_robot(home / "m40.xml")


def test_meshes_name_only_what_is_beside_them(home: Path) -> None:
    tree = {"asset": {"version": "2.0"}, "buffers": [{"uri": "../secret/b.obj", "byteLength": 9}]}
    (home / "a.gltf").write_text(json.dumps(tree))
    with pytest.raises(InputError, match=OUTSIDE):
        Mesh.load(home / "a.gltf")
    (home / "a.obj").write_text("mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (home / "a.mtl").write_text("newmtl m\nmap_Kd ../../etc/b.png\n")
    with pytest.warns(UserWarning, match=OUTSIDE):
        assert Mesh.load(home / "a.obj").materials[0].textures == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("data_path", "../../secret/{episode_index:06d}.parquet"),
        ("data_path", "/etc/{episode_index}"),
        ("data_path", "{episode_index.__class__}"),
        ("data_path", "{episode_index:0999999999d}"),
        ("video_path", "../../secret/{video_key}"),
        ("robot_type", "../../secret/r.urdf"),
        ("robot_type", "/home/r"),
        ("robot_type", "r.xml"),
    ],
)
def test_lerobot_metadata_name_nothing_else(home: Path, key: str, value: str) -> None:
    pytest.importorskip("pyarrow")
    path = LOADERS["lerobot"].write(home)
    info = json.loads((path / "meta" / "info.json").read_text())
    (path / "meta" / "info.json").write_text(json.dumps({**info, key: value}))
    with pytest.raises(InputError, match=rf"{OUTSIDE}|cannot be used|robot by a path"):
        LOADERS["lerobot"].load(path)


def test_stores_read_only_their_own_arrays(home: Path) -> None:
    path = LOADERS["episode store"].write(home)
    shard = path / "shards" / "00000000"
    np.save(home.parent / "secret" / "a.npy", np.zeros(3, np.uint8))
    sums = json.loads((shard / "checksums.json").read_text())
    name = "../../../../secret/a.npy"
    size = (home.parent / "secret" / "a.npy").stat().st_size
    (shard / "checksums.json").write_text(json.dumps({**sums, name: [size, ""]}))
    with pytest.raises(InputError, match=OUTSIDE):
        LOADERS["episode store"].load(path)
    (shard / "checksums.json").write_text(json.dumps(sums))
    line = json.loads((shard / "manifest.jsonl").read_text())
    line["rows"]["../../../../secret/a"] = 3
    text = json.dumps(line) + "\n"
    (shard / "manifest.jsonl").write_text(text)
    sums["manifest.jsonl"][0] = len(text)
    (shard / "checksums.json").write_text(json.dumps(sums))
    with pytest.raises(InputError, match=OUTSIDE):
        LOADERS["episode store"].load(path)


@pytest.mark.parametrize("way", ["external data", "external link", "soft link", "virtual"])
def test_hdf5_keeps_its_data_in_the_file(home: Path, way: str) -> None:
    h5py = pytest.importorskip("h5py")
    secret = home.parent / "secret" / "s"
    with h5py.File(f"{secret}.hdf5", "w") as file:
        file["a"] = np.zeros((4, 7))
    secret.write_bytes(bytes(4 * 7 * 8))
    with h5py.File(valid.robosuite(home) / "a.hdf5", "r+") as file:
        demo = file["data/demo_0"]
        del demo["actions"]
        if way == "external data":
            demo.create_dataset("actions", (4, 7), "f8", external=[(str(secret), 0, 224)])
        elif way == "external link":
            demo["actions"] = h5py.ExternalLink(f"{secret}.hdf5", "a")
        elif way == "soft link":
            demo["actions"] = h5py.SoftLink("/data/demo_0/obs/joint_states")
        else:
            layout = h5py.VirtualLayout((4, 7), "f8")
            layout[:] = h5py.VirtualSource(f"{secret}.hdf5", "a", (4, 7))
            demo.create_virtual_dataset("actions", layout)
    with pytest.raises(InputError, match="elsewhere"):
        LOADERS["robosuite"].load(home)


def test_a_playlist_is_no_video(home: Path) -> None:
    from kin4d.export.video import read_video, write_video

    frames = np.zeros((4, 16, 16, 3), np.uint8)
    write_video(frames, home.parent / "secret" / "a.mp4", fps=10)
    target = (home.parent / "secret" / "a.mp4").as_posix()
    for name in ("a.mp4", "a.m3u8"):
        text = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.4,\n{target}\n#EXT-X-ENDLIST\n"
        (home / name).write_text(text)
        with pytest.raises(InputError, match="not a readable video"):
            read_video(home / name)


def test_indexed_weights_stay_in_their_folder(home: Path) -> None:
    from kin4d.world.diffusion.wan_weights import _WEIGHTS, _base_tensors

    index = {"weight_map": {"a": "../secret/a.safetensors"}}
    (home / f"{_WEIGHTS}.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=OUTSIDE):
        list(_base_tensors(home))


def star(corners: int) -> str:
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    radius = np.where(np.arange(corners) % 2, 1.0, 0.6)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], 1)
    lines = [f"v {x:.5f} {y:.5f} {z:.0f}" for x, y, z in points]
    return "\n".join([*lines, "f " + " ".join(str(i + 1) for i in range(corners))]) + "\n"


def test_a_polygon_of_thousands_of_corners(home: Path) -> None:
    (home / "a.obj").write_text(star(8))
    Mesh.load(home / "a.obj")  # compiles
    (home / "a.obj").write_text(star(4000))
    start = time.perf_counter()
    mesh = Mesh.load(home / "a.obj")
    assert time.perf_counter() - start < 10
    assert len(mesh.faces) == 3998
    area = np.linalg.norm(
        np.cross(*np.diff(mesh.vertices[mesh.faces], axis=1).swapaxes(0, 1)), axis=1
    )
    expected = 2000 * 0.6 * np.sin(2 * np.pi / 4000)
    assert area.sum() / 2 == pytest.approx(expected, rel=1e-3)
    text = star(4000)
    (home / "a.obj").write_text(
        text + text.splitlines()[-1] * 1 + "\n" + (text.splitlines()[-1] + "\n") * 99
    )
    with pytest.raises(InputError, match="too many corners"):
        Mesh.load(home / "a.obj")


def png_of(width: int, height: int) -> bytes:
    """A PNG of zeros, 16 bits a channel, packed a thousand to one."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    packed = zlib.compressobj(9)
    row = bytes(1 + 8 * width)
    rows = b"".join(packed.compress(row) for _ in range(8)) + packed.flush()
    head = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_small_image_cannot_ask_for_much_memory(home: Path) -> None:
    from kin4d.export.video import read_image

    (home / "a.png").write_bytes(png_of(13_000, 13_000))
    assert (home / "a.png").stat().st_size < 21_000
    with pytest.raises(InputError, match=r"a\.png.*too many pixels"):
        read_image(home / "a.png")
    stream = BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "EPS")  # other programs would be run for it
    (home / "a.png").write_bytes(stream.getvalue())
    with pytest.raises(InputError, match="not a readable image"):
        read_image(home / "a.png")


@pytest.mark.parametrize(
    "change", [{"width": 65_536}, {"octaves": 10**9}, {"refinements": 10**9}, {"tokens": 10**9}]
)
def test_the_config_of_weights_cannot_ask_for_much(home: Path, change: dict[str, int]) -> None:
    from kin4d.neurok.pretrained import from_pretrained
    from kin4d.training import load_tensors, save_tensors

    path = LOADERS["neurok weights"].write(home)
    tensors, metadata = load_tensors(path)
    metadata["config"] |= change
    save_tensors(path, tensors, metadata)
    with pytest.raises(InputError, match=r"config|match"):
        from_pretrained(path)


def test_sparse_and_repeated_accessors_are_counted(home: Path) -> None:
    tree = json.loads(LOADERS["gltf"].write(home).read_text())
    spec = tree["accessors"][0]
    for count, repeats in ((10**8, 1), (3 * 10**6, 20)):
        one = {key: spec[key] for key in ("componentType", "type", "sparse")} | {"count": count}
        primitive = {"attributes": {"POSITION": 0}, "mode": 4}
        nodes = [{"mesh": 0}] * repeats
        changed = tree | {
            "accessors": [one],
            "meshes": [{"primitives": [primitive]}],
            "nodes": nodes,
            "scenes": [{"nodes": [*range(repeats)]}],
            "animations": [],
        }
        (home / "a.gltf").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=r"a\.gltf"):
            Mesh.load(home / "a.gltf")


def test_collada_nodes_that_double_at_every_level(home: Path) -> None:
    nodes = "".join(
        f'<node id="k{i}">' + f'<instance_node url="#k{i + 1}"/>' * 2 + "</node>" for i in range(40)
    )
    text = valid.DAE.replace('<node id="n">', '<node id="n"><instance_node url="#k0"/>')
    library = f"<library_nodes>{nodes}</library_nodes><library_visual_scenes>"
    (home / "a.dae").write_text(text.replace("<library_visual_scenes>", library))
    with pytest.raises(InputError, match="too many others"):
        Mesh.load(home / "a.dae")
    text = valid.DAE.replace('<node id="n">', '<node id="n"><instance_node url="#n"/>')
    (home / "a.dae").write_text(text)
    with pytest.raises(InputError, match="instance of itself"):
        Mesh.load(home / "a.dae")


@pytest.mark.parametrize("name", ["robosuite", "rlds"])
def test_one_broken_file_does_not_stop_the_others(home: Path, name: str) -> None:
    from kin4d.episodes.formats.reader import open_dataset

    pytest.importorskip("h5py")
    LOADERS[name].write(home)
    suffix = {"robosuite": "hdf5", "rlds": "tfrecord"}[name]
    (home / f"b.{suffix}").write_bytes((home / f"a.{suffix}").read_bytes()[:40])
    reader = open_dataset(home)
    assert reader.read(0).motions
    with pytest.raises(InputError, match=rf"b\.{suffix}"):
        reader.read(len(reader) - 1)
