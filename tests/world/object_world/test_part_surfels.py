"""Sheets: squares in space, colours without their surroundings, backs that nobody saw, light."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.geometry.transforms import rotvec_to_matrix
from kin4d.world.object_world.compositor.cavity_fill import cavity_behind, parent_part
from kin4d.world.object_world.compositor.drawer_interior import drawer_interior_behind
from kin4d.world.object_world.compositor.lighting import Light, brightness
from kin4d.world.object_world.compositor.part_surfels import PartSurfels
from kin4d.world.object_world.compositor.pixel_quads import (
    clean_colours,
    dilate,
    pixel_quads,
    surface_normals,
)

pytest.importorskip("mujoco")
LIGHT = Light(np.array([0.6, 0.0, 0.8]), 0.4)


@pytest.fixture(scope="module")
def boxed():
    """A situation that shows a red box of 10 x 12 x 14 cm on a white table, and where it does."""
    import trimesh

    from kin4d.render.rasterizer import rasterize
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.object_world.batches import episode_observation

    situation = episode_observation(make_episode(EpisodeSpec(task="push", seed=12), frames=5))
    camera = replace(situation.camera, pose=np.eye(4))
    box = trimesh.creation.box((0.10, 0.12, 0.14))
    table = trimesh.creation.box((4, 4, 0.01))
    target = situation.to_base(situation.xyz[40, 48].astype(np.float64))
    box.apply_translation([target[0], target[1], 0.07])
    table.apply_translation([0, 0, -0.005])
    both = trimesh.util.concatenate([box, table])
    base = situation.base
    seen = rasterize(both.vertices @ base[:3, :3].T + base[:3, 3], both.faces, camera)
    cut = (seen.face >= 0) & (seen.face < len(box.faces))
    image = np.where(cut[..., None], [200, 20, 20], 230).astype(np.uint8)
    robot = replace(situation.robot, mask=np.zeros_like(situation.robot.mask))
    return replace(situation, image=image, xyz=seen.xyz, robot=robot), cut, box


def _turn(situation, box, angle):
    """A turn about the upright line through the box, in the camera frame."""
    import torch

    motion = np.eye(4)
    motion[:3, :3] = rotvec_to_matrix(torch.tensor([0.0, 0.0, angle], dtype=torch.float64)).numpy()
    middle = box.centroid
    motion[:3, 3] = middle - motion[:3, :3] @ middle
    return situation.base @ motion @ np.linalg.inv(situation.base)


def test_normals_are_those_of_the_sides_that_are_seen(boxed):
    situation, cut, _ = boxed
    normals = surface_normals(situation.xyz, cut)[cut] @ situation.base[:3, :3]
    straight = np.abs(normals).max(1)
    assert (straight > 0.99).mean() > 0.7  # all but edges
    assert np.percentile(normals[:, 2], 2) > -0.1
    assert (surface_normals(situation.xyz, cut)[~cut] == 0).all()


def test_squares_lie_on_the_surface(boxed):
    situation, cut, box = boxed
    vertices, faces, source = pixel_quads(cut, surface_normals(situation.xyz, cut), situation)
    placed = situation.to_base(vertices)
    off = np.abs(placed - box.centroid) - [0.05, 0.06, 0.07]
    assert np.percentile(np.abs(off.max(1)), 80) < 0.002
    assert np.isin(source, np.flatnonzero(cut)).all()
    assert 0.9 < len(faces) / (8 * cut.sum()) < 1.1


def test_edges_lose_what_is_beyond_them(boxed):
    _, cut, _ = boxed
    mixed = np.where(cut[..., None], [0.8, 0.1, 0.1], 0.9)
    edge = cut & dilate(~cut)
    mixed[edge] = 0.5
    clean = clean_colours(mixed, cut)
    np.testing.assert_allclose(clean[~cut], 0.9)
    assert np.abs(clean[cut] - [0.8, 0.1, 0.1]).max(1).mean() < 0.05


def test_where_nothing_moves_it_is_drawn_as_it_was(boxed):
    situation, cut, _ = boxed
    sheet = PartSurfels.of([cut], [None], situation, LIGHT)
    drawn = sheet.draw(np.eye(4)[None], np.full(cut.shape, 9.0))
    assert (drawn.seen & cut).sum() / (drawn.seen | cut).sum() > 0.95
    both = drawn.seen & cut
    assert np.median(np.abs(drawn.xyz[both] - situation.xyz[both])) < 1e-3
    inner = drawn.cover[..., 0] == 1
    np.testing.assert_allclose(drawn.rgb[inner].mean(0), [200, 20, 20], atol=3)


def test_turned_around_it_shows_a_back_where_a_back_must_be(boxed):
    situation, cut, box = boxed
    pose = _turn(situation, box, np.pi)
    whole = PartSurfels.of([cut], [None], situation, LIGHT)
    drawn = whole.draw(pose[None], np.full(cut.shape, 9.0))
    # Half a turn brings a box onto itself.
    assert (drawn.seen & cut).sum() / (drawn.seen | cut).sum() > 0.85
    both = drawn.seen & cut
    assert np.percentile(np.abs(drawn.xyz[both] - situation.xyz[both]).max(1), 80) < 0.006


def test_nothing_is_added_where_the_first_frame_shows_that_nothing_is(boxed):
    situation, cut, _ = boxed
    half = cut & (np.arange(cut.shape[1]) < np.flatnonzero(cut.any(0)).mean())
    sheet = PartSurfels.of([half], [None], situation, LIGHT)
    drawn = sheet.draw(np.eye(4)[None], np.full(cut.shape, 9.0))
    assert not (drawn.seen & ~dilate(dilate(cut))).any()


def test_a_side_that_turns_to_the_light_gets_brighter(boxed):
    situation, cut, box = boxed
    sheet = PartSurfels.of([cut], [None], situation, LIGHT)
    dark = replace(sheet, light=Light(LIGHT.key, 0.0))
    pose, far = _turn(situation, box, 0.8), np.full(cut.shape, 9.0)
    lit, flat = (one.draw(pose[None], far) for one in (sheet, dark))
    sides = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0, 1.0]]) @ situation.base[:3, :3].T
    bright = brightness(sides, situation, LIGHT)
    assert bright[0] > bright[1]
    spread = [one.rgb[one.cover[..., 0] == 1][:, 0].std() for one in (lit, flat)]
    assert spread[0] > 5 > spread[1]


def test_behind_a_lid_is_the_inside_of_its_box(boxed):
    situation, cut, box = boxed
    placed = situation.to_base(situation.xyz.astype(np.float64))
    lid = cut & (placed[..., 2] > 0.13)
    walls = cut & ~lid
    linear = np.where(cut[..., None], [0.5, 0.1, 0.1], 0.8)
    host = parent_part(lid, [np.zeros_like(cut), walls], situation.xyz)
    assert host is walls
    found = cavity_behind(lid, host, linear, situation, LIGHT)
    assert found is not None
    assert (found.where & lid).sum() > 0.6 * lid.sum()
    seen = situation.to_base(situation.camera.rays()[found.where] * found.depth[:, None])
    inside = np.abs(seen - box.centroid) < [0.06, 0.07, 0.08]
    assert inside.all(1).mean() > 0.9
    assert (found.depth > situation.xyz[found.where][:, 2]).mean() > 0.95
    assert (found.colour[:, 0] > 2 * found.colour[:, 1]).all()


def test_what_stands_alone_belongs_to_nothing(boxed):
    situation, cut, _ = boxed
    corner = np.zeros_like(cut)
    corner[:4, :4] = True
    assert parent_part(cut, [], situation.xyz) is None
    assert parent_part(cut, [corner], situation.xyz) is None


def _front(situation, cut, box):
    """The side of the box that faces the camera the most, what is left, and the way out of it."""
    normals = surface_normals(situation.xyz, cut) @ situation.base[:3, :3]
    sides = [np.array(side, float) for side in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))]
    seen = [cut & (normals @ side > 0.9) for side in sides]
    best = int(np.argmax([one.sum() for one in seen]))
    return seen[best], cut & ~dilate(seen[best]), sides[best]


def test_a_tray_lies_within_what_holds_it(boxed):
    situation, cut, box = boxed
    front, rest, _ = _front(situation, cut, box)
    tray = drawer_interior_behind(front, rest, situation)
    assert tray is not None
    off = np.abs(situation.to_base(tray.vertices) - box.centroid) - [0.05, 0.06, 0.07]
    assert off.max() < 0.012
    assert np.ptp(situation.to_base(tray.vertices), axis=0).min() > 0.04
    np.testing.assert_allclose(np.linalg.norm(tray.normals, axis=1), 1)


def test_a_tray_comes_out_with_what_slides_and_not_with_what_turns(boxed):
    situation, cut, box = boxed
    front, rest, out = _front(situation, cut, box)
    slid = np.eye(4)
    slid[:3, 3] = situation.base[:3, :3] @ (0.08 * out)
    far = np.full(cut.shape, 9.0)
    alone, held = (PartSurfels.of([front], [host], situation, LIGHT) for host in (None, rest))
    assert held.tray.any()
    areas = {
        name: [one.draw(pose[None], far).seen.sum() for one in (alone, held)]
        for name, pose in (("slid", slid), ("turned", _turn(situation, box, 0.5)))
    }
    assert areas["slid"][1] > 1.2 * areas["slid"][0]
    assert areas["turned"][1] == areas["turned"][0]
