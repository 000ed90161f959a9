"""Part surfels: quads, edge colours, guessed hidden sides, relighting, cavities, drawers."""

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
    """An observation of a red box of 10 x 12 x 14 cm on a white table, and the box's mask."""
    import trimesh

    from kin4d.render.rasterizer import rasterize
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    observation = episode_observation(make_episode(EpisodeSpec(task="push", seed=12), frames=5))
    camera = replace(observation.camera, pose=np.eye(4))
    box = trimesh.creation.box((0.10, 0.12, 0.14))
    table = trimesh.creation.box((4, 4, 0.01))
    target = observation.to_support(observation.xyz[40, 48].astype(np.float64))
    box.apply_translation([target[0], target[1], 0.07])
    table.apply_translation([0, 0, -0.005])
    both = trimesh.util.concatenate([box, table])
    base = observation.support_in_camera
    visible = rasterize(both.vertices @ base[:3, :3].T + base[:3, 3], both.faces, camera)
    part_mask = (visible.face >= 0) & (visible.face < len(box.faces))
    image = np.where(part_mask[..., None], [200, 20, 20], 230).astype(np.uint8)
    robot = replace(observation.robot, mask=np.zeros_like(observation.robot.mask))
    return replace(observation, image=image, xyz=visible.xyz, robot=robot), part_mask, box


def _rotation_about_box(observation, box, angle):
    """A rotation about the vertical axis of the box, in the camera frame."""
    import torch

    motion = np.eye(4)
    motion[:3, :3] = rotvec_to_matrix(torch.tensor([0.0, 0.0, angle], dtype=torch.float64)).numpy()
    centre = box.centroid
    motion[:3, 3] = centre - motion[:3, :3] @ centre
    return observation.support_in_camera @ motion @ np.linalg.inv(observation.support_in_camera)


def test_normals_are_those_of_the_sides_that_are_seen(boxed):
    observation, part_mask, _ = boxed
    normals = (
        surface_normals(observation.xyz, part_mask)[part_mask]
        @ observation.support_in_camera[:3, :3]
    )
    straight = np.abs(normals).max(1)
    assert (straight > 0.99).mean() > 0.7  # all but edges
    assert np.percentile(normals[:, 2], 2) > -0.1
    assert (surface_normals(observation.xyz, part_mask)[~part_mask] == 0).all()


def test_quads_lie_on_the_surface(boxed):
    observation, part_mask, box = boxed
    vertices, faces, source = pixel_quads(
        part_mask, surface_normals(observation.xyz, part_mask), observation
    )
    placed = observation.to_support(vertices)
    off = np.abs(placed - box.centroid) - [0.05, 0.06, 0.07]
    assert np.percentile(np.abs(off.max(1)), 80) < 0.002
    assert np.isin(source, np.flatnonzero(part_mask)).all()
    assert 0.9 < len(faces) / (8 * part_mask.sum()) < 1.1


def test_edge_pixels_take_inner_colours(boxed):
    _, part_mask, _ = boxed
    mixed = np.where(part_mask[..., None], [0.8, 0.1, 0.1], 0.9)
    edge = part_mask & dilate(~part_mask)
    mixed[edge] = 0.5
    clean = clean_colours(mixed, part_mask)
    np.testing.assert_allclose(clean[~part_mask], 0.9)
    assert np.abs(clean[part_mask] - [0.8, 0.1, 0.1]).max(1).mean() < 0.05


def test_without_motion_the_part_is_rendered_as_observed(boxed):
    observation, part_mask, _ = boxed
    surfels = PartSurfels.of([part_mask], [None], observation, LIGHT)
    rendered = surfels.render(np.eye(4)[None], np.full(part_mask.shape, 9.0))
    assert (rendered.visible & part_mask).sum() / (rendered.visible | part_mask).sum() > 0.95
    both = rendered.visible & part_mask
    assert np.median(np.abs(rendered.xyz[both] - observation.xyz[both])) < 1e-3
    inner = rendered.coverage[..., 0] == 1
    np.testing.assert_allclose(rendered.rgb[inner].mean(0), [200, 20, 20], atol=3)


def test_rotated_by_half_a_turn_the_hidden_side_is_rendered(boxed):
    observation, part_mask, box = boxed
    pose = _rotation_about_box(observation, box, np.pi)
    whole = PartSurfels.of([part_mask], [None], observation, LIGHT)
    rendered = whole.render(pose[None], np.full(part_mask.shape, 9.0))
    # A rotation of 180 degrees maps a box onto itself.
    assert (rendered.visible & part_mask).sum() / (rendered.visible | part_mask).sum() > 0.85
    both = rendered.visible & part_mask
    assert np.percentile(np.abs(rendered.xyz[both] - observation.xyz[both]).max(1), 80) < 0.006


def test_no_copies_where_the_first_frame_shows_free_space(boxed):
    observation, part_mask, _ = boxed
    half = part_mask & (np.arange(part_mask.shape[1]) < np.flatnonzero(part_mask.any(0)).mean())
    surfels = PartSurfels.of([half], [None], observation, LIGHT)
    rendered = surfels.render(np.eye(4)[None], np.full(part_mask.shape, 9.0))
    assert not (rendered.visible & ~dilate(dilate(part_mask))).any()


def test_a_side_rotated_to_the_light_gets_brighter(boxed):
    observation, part_mask, box = boxed
    surfels = PartSurfels.of([part_mask], [None], observation, LIGHT)
    dark = replace(surfels, light=Light(LIGHT.direction, 0.0))
    pose, far = _rotation_about_box(observation, box, 0.8), np.full(part_mask.shape, 9.0)
    lit, flat = (one.render(pose[None], far) for one in (surfels, dark))
    sides = (
        np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0, 1.0]]) @ observation.support_in_camera[:3, :3].T
    )
    bright = brightness(sides, observation, LIGHT)
    assert bright[0] > bright[1]
    spread = [one.rgb[one.coverage[..., 0] == 1][:, 0].std() for one in (lit, flat)]
    assert spread[0] > 5 > spread[1]


def test_the_cavity_behind_a_lid_is_inside_its_box(boxed):
    observation, part_mask, box = boxed
    placed = observation.to_support(observation.xyz.astype(np.float64))
    lid = part_mask & (placed[..., 2] > 0.13)
    walls = part_mask & ~lid
    linear = np.where(part_mask[..., None], [0.5, 0.1, 0.1], 0.8)
    parent = parent_part(lid, [np.zeros_like(part_mask), walls], observation.xyz)
    assert parent is walls
    found = cavity_behind(lid, parent, linear, observation, LIGHT)
    assert found is not None
    assert (found.where & lid).sum() > 0.6 * lid.sum()
    visible = observation.to_support(observation.camera.rays()[found.where] * found.depth[:, None])
    inside = np.abs(visible - box.centroid) < [0.06, 0.07, 0.08]
    assert inside.all(1).mean() > 0.9
    assert (found.depth > observation.xyz[found.where][:, 2]).mean() > 0.95
    assert (found.colour[:, 0] > 2 * found.colour[:, 1]).all()


def test_a_separate_object_has_no_parent(boxed):
    observation, part_mask, _ = boxed
    corner = np.zeros_like(part_mask)
    corner[:4, :4] = True
    assert parent_part(part_mask, [], observation.xyz) is None
    assert parent_part(part_mask, [corner], observation.xyz) is None


def _front(observation, part_mask, box):
    """The side of the box that faces the camera the most, the rest, and its outward direction."""
    normals = surface_normals(observation.xyz, part_mask) @ observation.support_in_camera[:3, :3]
    sides = [np.array(side, float) for side in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))]
    visible = [part_mask & (normals @ side > 0.9) for side in sides]
    best = int(np.argmax([one.sum() for one in visible]))
    return visible[best], part_mask & ~dilate(visible[best]), sides[best]


def test_a_drawer_interior_lies_within_its_cabinet(boxed):
    observation, part_mask, box = boxed
    front, rest, _ = _front(observation, part_mask, box)
    interior = drawer_interior_behind(front, rest, observation)
    assert interior is not None
    off = np.abs(observation.to_support(interior.vertices) - box.centroid) - [0.05, 0.06, 0.07]
    assert off.max() < 0.012
    assert np.ptp(observation.to_support(interior.vertices), axis=0).min() > 0.04
    np.testing.assert_allclose(np.linalg.norm(interior.normals, axis=1), 1)


def test_a_drawer_interior_is_rendered_for_slides_and_not_for_rotations(boxed):
    observation, part_mask, box = boxed
    front, rest, out = _front(observation, part_mask, box)
    slid = np.eye(4)
    slid[:3, 3] = observation.support_in_camera[:3, :3] @ (0.08 * out)
    far = np.full(part_mask.shape, 9.0)
    alone, held = (PartSurfels.of([front], [parent], observation, LIGHT) for parent in (None, rest))
    assert held.interior.any()
    areas = {
        name: [one.render(pose[None], far).visible.sum() for one in (alone, held)]
        for name, pose in (("slid", slid), ("turned", _rotation_about_box(observation, box, 0.5)))
    }
    assert areas["slid"][1] > 1.2 * areas["slid"][0]
    assert areas["turned"][1] == areas["turned"][0]
