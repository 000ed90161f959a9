"""The condition: published mask codes, published places, and nothing a control hides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.world.diffusion.batch import condition_of, encode_videos
from kin4d.world.diffusion.codec import PcaCodec
from kin4d.world.diffusion.conditioning import (
    first_frame_mask,
    fuse,
    pool_mask,
    ramp,
    soften,
    split,
)
from kin4d.world.diffusion.control import CONTROLS, hash_words


@pytest.mark.parametrize("fusion", ["width", "channel"])
def test_first_frames_are_known_and_half_known(fusion: str, toy: Callable) -> None:
    config = toy(fusion=fusion)
    rgb, xyz = split(first_frame_mask(config), config)
    assert (rgb[:, :, 0] == 1).all()
    assert (xyz[:, :, 0] == 0.5).all()
    assert not rgb[:, :, 1:].any()
    assert not xyz[:, :, 1:].any()
    assert torch.equal(fuse(rgb, xyz, config), first_frame_mask(config))


def test_masks_pool_any_of_four_frames() -> None:
    mask = torch.zeros(1, 9, 16, 32)
    mask[0, 3, 8, 16] = 1
    pooled = pool_mask(mask)
    assert pooled.shape == (1, 1, 3, 2, 4)
    assert pooled.nonzero().tolist() == [[0, 0, 1, 1, 2]]


def test_soft_masks_are_a_share_of_the_robot() -> None:
    torch.manual_seed(0)
    mask = (torch.rand(1, 1, 20, 40, 40) < 0.5).float()
    soft = soften(mask, 0.1)
    assert float((soft == 0.5).sum() / mask.sum()) == pytest.approx(0.1, abs=0.01)
    assert torch.equal(soft == 0, mask == 0)
    assert soften(mask, 0.0) is mask


def test_the_ramp_is_the_published_one() -> None:
    x, y, z = ramp(4, 6)
    assert (x[0, 0], x[0, -1]) == (-1, 1)
    assert (y[0, 0], y[-1, 0]) == (-1, 1)
    assert (z[0, 0], z[-1, 0]) == (1, -1)


@pytest.mark.parametrize("control", sorted(CONTROLS))
def test_controls_show_no_more_than_they_say(
    control: str, toy: Callable, clips: Callable, pca: PcaCodec
) -> None:
    """Robots that differ in colours only are the same to a model that gets no colours."""
    config = toy(control=control)
    before = clips([1])
    controlled = {"rgb": "rgb" in control, "xyz": "pointmap" in control or control == "depth"}
    for name in ("rgb", "xyz"):
        other = getattr(before, f"robot_{name}") * (1 if name == "xyz" else 0)
        if name == "xyz":
            other = other + np.float32([0, 0, -0.05])
        changed = {**vars(before), f"robot_{name}": other}
        a, b = (
            condition_of(encode_videos(c, config, pca), config, soft=False)
            for c in (before, type(before)(**changed))
        )
        same = torch.allclose(a.latents, b.latents, atol=1e-3) and (
            a.robot is None or torch.allclose(a.robot, b.robot, atol=1e-3)
        )
        assert same != controlled[name], name


def test_the_future_is_not_looked_at(toy: Callable, clips: Callable, pca: PcaCodec) -> None:
    config = toy()
    with_future = encode_videos(clips([1]), config, pca)
    without = encode_videos(clips([1], truth=False), config, pca)
    assert torch.equal(with_future.known_xyz, without.known_xyz)
    assert torch.equal(with_future.scale, without.scale)


def test_the_published_form_encodes_one_wide_picture(
    toy: Callable, clips: Callable, pca: PcaCodec
) -> None:
    config = toy(init="noise", first_frame_geometry="ramp", fusion="width", control="pointmap")
    encoded = encode_videos(clips([0]), config, pca)
    geometry = ramp(16, 32)[None, :, None]
    video = torch.cat([geometry, torch.zeros(1, 3, 8, 16, 32)], 2)
    torch.testing.assert_close(encoded.known_xyz, pca.encode(video, "rgb"), atol=1e-3, rtol=1e-3)
    assert encoded.robot_rgb is None


def test_samples_are_silenced_one_by_one(toy: Callable, clips: Callable, pca: PcaCodec) -> None:
    config = toy(control="text")
    condition = condition_of(encode_videos(clips([0, 1]), config, pca), config, soft=False)
    no_robot = condition.without_robot(torch.tensor([True, False]))
    assert no_robot.control_input is not None
    assert not no_robot.control_input[0].any()
    assert torch.equal(no_robot.control_input[1], condition.control_input[1])
    assert condition.control_input[0].any()


def test_clips_of_other_sizes_are_refused(toy: Callable, clips: Callable, pca: PcaCodec) -> None:
    with pytest.raises(InputError, match="first_rgb"):
        encode_videos(clips([0]), toy(height=32), pca)
    with pytest.raises(InputError, match="actions"):
        encode_videos(
            type(c)(**{**vars(c), "actions": None}) if (c := clips([0])) else c,
            toy(control="embedding"),
            pca,
        )


def test_words_are_the_same_everywhere() -> None:
    ids = hash_words(["Push the RED block!", "push"], length=4)
    assert ids[0, 0] == ids[1, 0]
    assert ids[1].tolist()[1:] == [0, 0, 0]
    assert ids.tolist()[0] == [int(i) for i in hash_words(["push the red block"], length=4)[0]]
