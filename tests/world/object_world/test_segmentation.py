"""Seers: parts without strays, and what they are told."""

import numpy as np
import torch

from kin4d.world.object_world.segmentation import (
    NOBODY,
    PartSegmenter,
    SegmenterConfig,
    frame_features,
    split_components,
)


def test_strays_are_let_go_and_pieces_are_kept():
    part = np.full((10, 16), NOBODY)
    part[2:8, 3:9] = 0
    xyz = np.stack([*np.meshgrid(np.arange(16), np.arange(10)), np.zeros((10, 16))], -1) * 0.01
    part[0, 15] = 0  # far off in the picture
    xyz[2, 3, 2] = 0.5  # far behind
    tidy = split_components(part, xyz)
    assert tidy[0, 15] == NOBODY
    assert tidy[2, 3] == NOBODY
    assert (tidy == 0).sum() == 35


def test_a_mirror_image_changes_nothing_but_sides():
    torch.manual_seed(0)
    segmenter = PartSegmenter(SegmenterConfig(parts=3, widths=(8, 16)))
    torch.nn.init.normal_(segmenter.network.leave.weight)
    view = torch.randn(8, 16, 32)
    view[7] = 0
    told, mirrored = segmenter.parts(view), segmenter.parts(view.flip(-1))[:, ::-1]
    # The names of parts may differ; what belongs together does not.
    named = {(a, b) for a, b in zip(told.ravel().tolist(), mirrored.ravel().tolist(), strict=True)}
    assert len(named) == len({a for a, _ in named}) == len({b for _, b in named}) > 1


def test_what_is_far_apart_is_not_one_part():
    xyz = np.zeros((8, 40, 3))
    xyz[..., 0] = np.arange(40) * 0.006
    xyz[..., 1] = np.arange(8)[:, None] * 0.006
    part = np.full((8, 40), NOBODY)
    part[:, 2:8] = part[:, 30:36] = 3  # 13 cm between them
    part[:, 12:16] = part[:, 20:24] = 5  # something 3 cm wide in front
    tidy = split_components(part, xyz)
    labels = [set(tidy[:, some].ravel().tolist()) for some in (np.s_[2:8], np.s_[30:36])]
    assert labels[0] != labels[1]
    assert all(len(one) == 1 for one in labels)
    assert len(set(tidy[part == 5].tolist())) == 1
    assert sorted(set(tidy.ravel().tolist())) == [NOBODY, 0, 1, 2]


def test_the_robot_is_no_part_and_crumbs_are_none():
    torch.manual_seed(0)
    segmenter = PartSegmenter(SegmenterConfig(parts=2, widths=(8, 16)))
    torch.nn.init.normal_(segmenter.network.leave.weight)
    robot = np.zeros((16, 32), bool)
    robot[:, :9] = True
    image = np.random.default_rng(0).integers(0, 255, (16, 32, 3)).astype(np.uint8)
    xyz = np.full((16, 32, 3), np.nan, np.float32)
    label = segmenter.parts(frame_features(image, xyz, robot))
    assert (label[:, :9] == NOBODY).all()
    assert all((label == one).sum() == 0 or (label == one).sum() >= 4 for one in range(2))
