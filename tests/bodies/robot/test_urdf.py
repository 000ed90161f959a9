"""Robots from URDF: what is read, where files are looked for, and every way it can be bad."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies import RobotBody
from kin4d.errors import InputError
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.material import linear_color
from kin4d.geometry.primitives import box

BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'


def robot(content: str, *, head: str = "") -> str:
    return f'<?xml version="1.0"?>{head}<robot name="r">{content}</robot>'


def link(name: str, inside: str = BOX) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    if kind in ("revolute", "prismatic") and "limit" not in inside:
        inside += '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def read(folder: Path, text: str, **options) -> RobotBody:
    path = folder / "robot.urdf"
    path.write_text(text)
    return RobotBody.from_urdf(path, **options)


def mesh(uri: str, more: str = "") -> str:
    return f'<visual>{more}<geometry><mesh filename="{uri}"/></geometry></visual>'


def test_primitives_stand_where_the_file_puts_them(tmp_path) -> None:
    shapes = {
        "box": ('<box size="1 2 3"/>', (1, 2, 3)),
        "cylinder": ('<cylinder radius="0.5" length="3"/>', (1, 1, 3)),
        "sphere": ('<sphere radius="0.5"/>', (1, 1, 1)),
        "capsule": ('<capsule radius="0.5" length="2"/>', (1, 1, 3)),
    }
    for shape, size in shapes.values():
        visual = (
            f'<visual><origin xyz="10 0 0" rpy="0 1.5707963267948966 0"/>'
            f"<geometry>{shape}</geometry></visual>"
        )
        bounds = read(tmp_path, robot(link("a", visual))).rest.bounds
        assert np.allclose(bounds.mean(0), (10, 0, 0), atol=0.01)
        assert np.allclose(np.ptp(bounds, axis=0), (size[2], size[1], size[0]), rtol=0.01)


def test_all_kinds_of_joints_are_read(tmp_path) -> None:
    kinds = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating")
    text = robot(
        link("l0")
        + "".join(link(f"l{i + 1}") for i in range(len(kinds)))
        + "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}", kind=kind) for i, kind in enumerate(kinds))
    )
    body = read(tmp_path, text)
    assert body.coordinates == (
        *("j1", "j2", "j3"),
        *("j4.x", "j4.y", "j4.rz"),
        *("j5.x", "j5.y", "j5.z", "j5.rx", "j5.ry", "j5.rz"),
    )
    assert body.limits[0].tolist() == [-1, 1]
    assert body.limits[1].isinf().all()
    q = torch.zeros(len(body.coordinates), dtype=torch.float64)
    q[6:9] = torch.tensor([1.0, 2.0, 3.0])
    q[11] = torch.pi / 2
    pose = body.link_poses(q)[body.link_index("l6")]
    assert torch.allclose(pose[:3, 3], torch.tensor([1.0, 2.0, 3.0]).double())
    assert torch.allclose(pose[:3, 0], torch.tensor([0.0, 1.0, 0.0]).double(), atol=1e-12)


def test_planar_joint_stays_in_its_plane(tmp_path) -> None:
    text = robot(link("a") + link("b") + joint("p", "a", "b", '<axis xyz="0 1 0"/>', "planar"))
    body = read(tmp_path, text)
    pose = body.link_poses(torch.tensor([0.3, -0.4, 0.5], dtype=torch.float64))[1]
    assert pose[1, 3].item() == pytest.approx(0.0)
    assert pose[:3, 3].norm().item() == pytest.approx(0.5)
    assert torch.allclose(pose[:3, 1], torch.tensor([0.0, 1.0, 0.0]).double())


def test_mimic_joints_follow(tmp_path) -> None:
    text = robot(
        "".join(link(n) for n in "abc")
        + joint("first", "a", "b")
        + joint("second", "b", "c", '<mimic joint="first" multiplier="-2" offset="0.5"/>')
    )
    body = read(tmp_path, text)
    assert body.coordinates == ("first",)
    assert body.joint_values(torch.tensor([0.2]).double()).tolist() == pytest.approx([0.2, 0.1])


def test_inertials_are_turned_into_the_links_frame(tmp_path) -> None:
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    body = read(tmp_path, robot(link("a", BOX + inertial)))
    found = body.links[0].inertial
    assert found is not None
    assert found.mass == 2
    assert np.allclose(found.center, (1, 2, 3))
    assert np.allclose(found.inertia, np.diag([2, 1, 2.5]))
    weightless = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    assert read(tmp_path, robot(link("a", BOX + weightless))).links[0].inertial is None


def test_materials_colour_what_has_no_look_of_its_own(tmp_path) -> None:
    visual = '<visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>'
    text = robot('<material name="red"><color rgba="1 0 0 0.5"/></material>' + link("a", visual))
    (material,) = read(tmp_path, text).rest.materials
    assert material.base_color == linear_color((1, 0, 0, 0.5))
    # A material defined in one place can be used by name in another.
    defined = visual.replace('name="red"/>', 'name="x"><color rgba="0 1 0 1"/></material>')
    used = visual.replace('name="red"/>', 'name="x"/>')
    text = robot(link("a", used) + link("b", defined) + joint("j", "a", "b"))
    assert {m.base_color for m in read(tmp_path, text).rest.materials} == {(0.0, 1.0, 0.0, 1.0)}


def test_textures_are_read(tmp_path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 2), "red").save(tmp_path / "paint.png")
    visual = (
        '<visual><geometry><box size="1 1 1"/></geometry>'
        '<material name="m"><texture filename="paint.png"/></material></visual>'
    )
    (material,) = read(tmp_path, robot(link("a", visual))).rest.materials
    assert material.textures["base_color"].size == (4, 2)
    assert material.base_color == (1.0, 1.0, 1.0, 1.0)
    gone = visual.replace("paint", "gone")
    with pytest.raises(InputError, match="needs a texture"):
        read(tmp_path, robot(link("a", gone)))
    assert read(tmp_path, robot(link("a", gone)), missing="skip").missing == ("gone.png",)


def test_meshes_keep_their_own_look_and_are_scaled(tmp_path) -> None:
    mesh = box((1, 1, 1), color="#ff0000")
    mesh.save(tmp_path / "part.glb")
    visual = (
        '<visual><geometry><mesh filename="part.glb" scale="0.1 0.2 -0.3"/></geometry>'
        '<material name="m"><color rgba="0 0 1 1"/></material></visual>'
    )
    body = read(tmp_path, robot(link("a", visual)))
    assert np.allclose(np.ptp(body.rest.bounds, axis=0), (0.1, 0.2, 0.3))
    assert body.rest.materials[0].base_color[:3] == pytest.approx((1, 0, 0))
    # A mirrored mesh still faces outwards.
    corners = body.rest.vertices[body.rest.faces]
    assert np.einsum("fi,fi->f", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]).sum() > 0


def package(tmp_path: Path) -> Path:
    """A package with meshes and a description in their usual folders."""
    folder = tmp_path / "my_robot"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    save_mesh(box((1, 1, 1)), folder / "meshes" / "part.obj")
    return folder


@pytest.mark.parametrize(
    "uri",
    [
        "package://my_robot/meshes/part.obj",
        "package:///my_robot/meshes/part.obj",
        "package://other_name/meshes/part.obj",
        "../meshes/part.obj",
        "meshes/part.obj",
        "file://{folder}/meshes/part.obj",
    ],
)
def test_files_are_found_in_the_descriptions_package(tmp_path, uri) -> None:
    folder = package(tmp_path)
    body = read(folder / "urdf", robot(link("a", mesh(uri.format(folder=folder)))))
    assert len(body.rest.faces) == 12


def test_search_roots_are_looked_in(tmp_path) -> None:
    package(tmp_path / "elsewhere")
    text = robot(link("a", mesh("package://my_robot/meshes/part.obj")))
    with pytest.raises(InputError, match="not there"):
        read(tmp_path, text)
    assert read(tmp_path, text, search_roots=[tmp_path / "elsewhere"]).missing == ()
    assert read(tmp_path, text, search_roots=[tmp_path / "elsewhere" / "my_robot"]).missing == ()
    with pytest.raises(InputError, match="not a folder"):
        read(tmp_path, text, search_roots=[tmp_path / "nowhere"])


def test_missing_mesh_says_where_it_was_looked_for(tmp_path) -> None:
    text = robot(link("a") + link("b", mesh("package://arm/x.stl")) + joint("j", "a", "b"))
    (tmp_path / "roots").mkdir()
    with pytest.raises(InputError, match=r"package://arm/x\.stl.*roots"):
        read(tmp_path, text, search_roots=[tmp_path / "roots"])
    assert read(tmp_path, text, missing="skip").missing == ("package://arm/x.stl",)
    with pytest.raises(InputError, match="error, skip"):
        read(tmp_path, text, missing="ignore")


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.obj",
        "../../secret.obj",
        "sub/../../secret.obj",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://inside/../secret.obj",
        "package://../secret.obj",
        "{outside}",
    ],
)
def test_files_outside_the_roots_are_never_read(tmp_path, uri) -> None:
    save_mesh(box((1, 1, 1)), tmp_path / "secret.obj")
    (tmp_path / "inside").mkdir()
    text = robot(link("a", mesh(uri.format(outside=tmp_path / "secret.obj"))))
    with pytest.raises(InputError, match=r"outside its folder|not there"):
        read(tmp_path / "inside", text)


def test_links_that_lead_outside_are_not_followed(tmp_path) -> None:
    save_mesh(box((1, 1, 1)), tmp_path / "secret.obj")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "part.obj").symlink_to(tmp_path / "secret.obj")
    with pytest.raises(InputError, match="outside its folder"):
        read(tmp_path / "inside", robot(link("a", mesh("part.obj"))))


def test_other_schemes_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="package://NAME/PATH"):
        read(tmp_path, robot(link("a", mesh("http://example.org/part.obj"))))


def test_entity_bombs_are_refused_before_they_go_off(tmp_path) -> None:
    levels = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    bomb = f'<!DOCTYPE robot [<!ENTITY e0 "boom">{levels}]>'
    with pytest.raises(InputError, match="entities"):
        read(tmp_path, robot(link("&e12;"), head=bomb))
    stolen = '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    with pytest.raises(InputError, match="entities"):
        read(tmp_path, robot("<link name='a'>&e;</link>", head=stolen))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("not XML at all", "not well-formed XML"),
        ("<robot><link></robot>", "not well-formed XML"),
        ("<mujoco/>", "not a URDF"),
        ("<robot/>", "no links"),
        (robot("<link/>"), "line 1: <link> has no name"),
        (robot(link("a") + link("b")), "2 root links"),
        (robot(link("a") + link("b") + joint("j", "a", "b") + joint("k", "b", "a")), "cycle"),
        (
            robot("".join(map(link, "abc")) + joint("j", "b", "c") + joint("k", "c", "b")),
            "cycle",
        ),
        (
            robot(link("a") + link("b") + joint("j", "a", "b", kind="helical")),
            "unknown type",
        ),
        (robot(link("a") + joint("j", "a", "z")), "'z' which does not exist"),
        (
            robot(link("a") + link("b") + joint("j", "a", "b", '<axis xyz="0 0 0"/>')),
            "axis without direction",
        ),
        (
            robot(link("a") + link("b") + joint("j", "a", "b", '<limit lower="nan" upper="1"/>')),
            "impossible limits",
        ),
        (
            robot(
                link("a")
                + link("b")
                + joint("j", "a", "b", '<limit lower="nan" upper="1"/>', "continuous")
            ),
            "impossible limits",
        ),
        (
            robot(link("a") + link("b") + joint("j", "a", "b", '<limit lower="2" upper="1"/>')),
            "impossible limits",
        ),
        (robot(link("a") + '<joint name="j" type="fixed"/>'), "names no parent link"),
        (robot(link("a", "<visual/>")), "<visual> has no shape"),
        (robot(link("a", "<visual><geometry/></visual>")), "<visual> has no shape"),
        (robot(link("a", BOX.replace("1 1 1", "1 one 1"))), "not a readable URDF"),
        (robot(link("a", BOX.replace("1 1 1", "1 0 1"))), "must be positive"),
        (robot(link("a", BOX.replace("box", "teapot"))), "not a readable URDF"),
        (
            robot(link("a", BOX + '<inertial><mass value="-1"/></inertial>')),
            "link 'a': mass must be positive",
        ),
        (
            robot(link("a") + link("b") + joint("j", "a", "b", '<mimic joint="x"/>')),
            "mimics 'x'",
        ),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, text, message) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        RobotBody.from_urdf(tmp_path / "none.urdf")
    with pytest.raises(InputError, match="is a folder"):
        RobotBody.from_urdf(tmp_path)


def test_end_effector_is_a_tool_or_the_deepest_link(tmp_path) -> None:
    chain = "".join(map(link, "abc")) + joint("j", "a", "b") + joint("k", "b", "c")
    assert read(tmp_path, robot(chain)).end_effector == "c"
    assert read(tmp_path, robot(chain), end_effector="b").end_effector_index == 1
    tool = link("tool0", "") + joint("t", "b", "tool0", kind="fixed")
    assert read(tmp_path, robot(chain + tool)).end_effector == "tool0"
    fingers = "".join(link(f) + joint(f"j{f}", "c", f) for f in ("left", "right"))
    assert read(tmp_path, robot(chain + fingers)).end_effector == "c"
    with pytest.raises(InputError, match="no link 'z'"):
        read(tmp_path, robot(chain), end_effector="z")
