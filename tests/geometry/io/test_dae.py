"""COLLADA meshes: units, scene transforms, materials, textures that lead nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.io.dae import load_dae
from kin4d.geometry.material import linear_color
from kin4d.geometry.mesh import Mesh

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="u" meter="{unit}"/><up_axis>{up}</up_axis></asset>
  <library_effects><effect id="e"><profile_COMMON>{params}<technique sid="c"><phong>
    <diffuse>{diffuse}</diffuse></phong></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene"><node id="n">
    <translate>10 0 0</translate>
    <instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="s" target="#m"/></technique_common></bind_material>
    </instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>"""
RED = "<color>1 0 0 1</color>"


def write(folder, *, unit="1", up="Z_UP", params="", diffuse=RED, head=""):
    path = folder / "part.dae"
    text = DAE.format(unit=unit, up=up, params=params, diffuse=diffuse)
    path.write_text(text.replace("<COLLADA", head + "<COLLADA", 1))
    return path


def test_scene_and_unit_are_applied(tmp_path) -> None:
    mesh = load_dae(write(tmp_path, unit="0.01"))
    assert mesh.bounds == pytest.approx(np.array([[0.10, 0, 0], [0.11, 0.02, 0.03]]))
    assert len(mesh.vertices) == 4, "corners of flat faces are joined again"
    assert len(mesh.faces) == 4
    assert mesh.materials[0].base_color == pytest.approx(linear_color((1, 0, 0, 1)))


def test_up_axis_does_not_turn_link_meshes(tmp_path) -> None:
    upright = load_dae(write(tmp_path, up="Z_UP")).vertices
    assert np.array_equal(upright, load_dae(write(tmp_path, up="Y_UP")).vertices)
    assert np.array_equal(upright, Mesh.load(tmp_path / "part.dae", up="z").vertices)


def test_up_axis_turns_other_meshes(tmp_path) -> None:
    x, y, z = Mesh.load(write(tmp_path, up="Z_UP")).vertices.T
    turned = Mesh.load(write(tmp_path, up="Y_UP"))
    assert turned.source_up == "y"
    assert np.array_equal(turned.vertices.T, (x, -z, y))


def test_mesh_with_a_broken_texture_is_still_there(tmp_path) -> None:
    params = '<newparam sid="sampler"><sampler2D><source>nowhere</source></sampler2D></newparam>'
    mesh = load_dae(write(tmp_path, params=params, diffuse='<texture texture="sampler"/>'))
    assert len(mesh.faces) == 4
    assert mesh.materials[0].textures == {}


def textured(folder, image: str):
    params = (
        '<newparam sid="surface"><surface type="2D"><init_from>i</init_from></surface></newparam>'
        '<newparam sid="sampler"><sampler2D><source>surface</source></sampler2D></newparam>'
    )
    path = write(folder, params=params, diffuse='<texture texture="sampler" texcoord="t"/>')
    images = (
        f'<library_images><image id="i"><init_from>{image}</init_from></image></library_images>'
    )
    path.write_text(path.read_text().replace("<library_effects>", images + "<library_effects>"))
    return path


def test_textures_beside_the_file_are_read_and_no_others(tmp_path) -> None:
    from PIL import Image

    folder = tmp_path / "robot" / "meshes"
    folder.mkdir(parents=True)
    for place in (folder, tmp_path):
        Image.new("RGB", (4, 2), "red").save(place / "paint.png")
    image = load_dae(textured(folder, "paint.png")).materials[0].textures["base_color"]
    assert image.size == (4, 2)
    with pytest.warns(UserWarning, match="outside its folder"):
        mesh = load_dae(textured(folder, "../../paint.png"))
    assert mesh.materials[0].textures == {}


def test_bad_files_say_what_is_wrong(tmp_path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    with pytest.raises(InputError, match="entities"):
        load_dae(write(tmp_path, head=bomb))
    path = tmp_path / "bad.dae"
    path.write_text("<COLLADA/>")
    with pytest.raises(InputError, match=r"COLLADA|no triangles"):
        load_dae(path)
    path.write_text("")
    with pytest.raises(InputError, match="empty"):
        load_dae(path)
