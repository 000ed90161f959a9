"""The robot over the first image: its fit, and what is wrong with an image that it does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.episodes.store import shipped_episodes
from kin4d.render.pointmaps import MeshInstance
from kin4d.world.episode_observation import episode_body, episode_observation
from kin4d.world.first_image import FirstImageError, check_first_image
from kin4d.world.observation import Observation, make_observation, with_robot_offset
from kin4d.world.robot_fit import align_to_fit, fit_robot

EPISODE = shipped_episodes().episode(1)
BODY = episode_body(EPISODE)
Q = np.asarray(EPISODE.joints)[0]


@pytest.fixture(scope="module")
def first() -> Observation:
    return episode_observation(EPISODE).slice_frames(slice(1))


def without_depth(observation: Observation) -> Observation:
    return replace(observation, xyz=np.full_like(observation.xyz, np.nan))


def rolled(observation: Observation) -> Observation:
    """Seen by a camera that is turned by four degrees."""
    c, s = np.cos(np.radians(4)), np.sin(np.radians(4))
    return with_robot_offset(observation, np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]))


@pytest.mark.parametrize("depth", [True, False])
def test_the_fit_is_reported_and_a_wrong_camera_is_found_and_aligned(first, depth):
    observation = first if depth else without_depth(first)
    right = fit_robot(observation)
    assert right.evidence == ("depth" if depth else "edges")
    assert right.iou > 0.95
    assert not right.shift.any()
    wrong = rolled(observation)
    fit = fit_robot(wrong)
    assert fit.iou < 0.6
    assert not fit.hopeless
    aligned = align_to_fit(wrong, fit)
    truth = observation.robot.mask[0] > 0
    for moved, least in ((wrong, 0.0), (aligned, 0.8)):
        mask = moved.robot.mask[0] > 0
        iou = (mask & truth).sum() / (mask | truth).sum()
        assert iou >= least
    assert (truth ^ (aligned.robot.mask[0] > 0)).sum() < (
        truth ^ (wrong.robot.mask[0] > 0)
    ).sum() / 2


@pytest.mark.parametrize(
    ("factor", "said"), [(1000, "millimetres"), (100, "centi"), (1.4, "1.4 times")]
)
def test_depth_in_another_unit_is_refused_with_its_factor(first, factor, said):
    scaled = replace(first, xyz=(first.xyz * factor).astype(np.float32))
    with pytest.raises(FirstImageError, match=said) as caught:
        check_first_image(scaled, BODY, Q)
    assert caught.value.picture.shape == first.image.shape


@pytest.mark.parametrize("depth", [True, False])
@pytest.mark.parametrize(("axis", "said"), [(1, "mirrored"), (0, "upside down")])
def test_flipped_images_are_refused(first, depth, axis, said):
    image = np.ascontiguousarray(np.flip(first.image, axis))
    xyz = (np.flip(first.xyz[..., 2:], axis) * first.camera.rays()).astype(np.float32)
    flipped = replace(first, image=image, xyz=xyz)
    with pytest.raises(FirstImageError, match=said):
        check_first_image(flipped if depth else without_depth(flipped), BODY, Q)


def with_joints(first: Observation, body, q: np.ndarray) -> Observation:
    actor = MeshInstance.of_body(body, q[None], name="robot")
    return make_observation(first.image, first.xyz, actor, first.camera, fps=1.0, threads=1)


def test_joints_by_another_convention_are_named(first):
    given = Q[::-1].copy()
    with pytest.raises(FirstImageError, match="reversed"):
        check_first_image(with_joints(first, BODY, given), BODY, given)
    given = np.degrees(Q)
    with pytest.raises(FirstImageError, match="degrees"):
        check_first_image(with_joints(first, BODY, given), BODY, given)


def test_another_robot_is_refused_with_the_picture(first):
    wrong = Q.copy()
    wrong[:3] += (1.3, -0.9, 1.2)
    with pytest.raises(FirstImageError, match="does not fit the first image") as caught:
        check_first_image(with_joints(first, BODY, wrong), BODY, wrong)
    assert (caught.value.picture != first.image).any()


def test_too_little_of_the_robot_says_nothing(first):
    hidden = replace(first, robot=replace(first.robot, mask=np.zeros_like(first.robot.mask)))
    fit = fit_robot(hidden)
    assert fit.evidence == "none"
    assert not fit.hopeless
    assert "too little" in str(fit)
