"""Part segmenter: masks without stray pixels, split into components."""

import numpy as np
import torch

from kin4d.world.object_world.segmentation import (
    BACKGROUND,
    PartSegmenter,
    SegmenterConfig,
    frame_features,
    split_components,
)


def test_stray_pixels_are_dropped_and_pieces_are_kept():
    part = np.full((10, 16), BACKGROUND)
    part[2:8, 3:9] = 0
    xyz = np.stack([*np.meshgrid(np.arange(16), np.arange(10)), np.zeros((10, 16))], -1) * 0.01
    part[0, 15] = 0  # far away in the image
    xyz[2, 3, 2] = 0.5  # far behind
    split = split_components(part, xyz)
    assert split[0, 15] == BACKGROUND
    assert split[2, 3] == BACKGROUND
    assert (split == 0).sum() == 35


def test_mirrored_images_give_mirrored_parts():
    torch.manual_seed(0)
    segmenter = PartSegmenter(SegmenterConfig(parts=3, widths=(8, 16)))
    torch.nn.init.normal_(segmenter.network.leave.weight)
    view = torch.randn(8, 16, 32)
    view[7] = 0
    labels, mirrored = segmenter.predict(view), segmenter.predict(view.flip(-1))[:, ::-1]
    # Labels may differ; the grouping does not.
    pairs = {
        (a, b) for a, b in zip(labels.ravel().tolist(), mirrored.ravel().tolist(), strict=True)
    }
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) > 1


def test_distant_pieces_are_different_parts():
    xyz = np.zeros((8, 40, 3))
    xyz[..., 0] = np.arange(40) * 0.006
    xyz[..., 1] = np.arange(8)[:, None] * 0.006
    part = np.full((8, 40), BACKGROUND)
    part[:, 2:8] = part[:, 30:36] = 3  # 13 cm between them
    part[:, 12:16] = part[:, 20:24] = 5  # an occluder of 3 cm between them
    split = split_components(part, xyz)
    labels = [set(split[:, some].ravel().tolist()) for some in (np.s_[2:8], np.s_[30:36])]
    assert labels[0] != labels[1]
    assert all(len(one) == 1 for one in labels)
    assert len(set(split[part == 5].tolist())) == 1
    assert sorted(set(split.ravel().tolist())) == [BACKGROUND, 0, 1, 2]


def test_the_robot_and_tiny_pieces_are_no_parts():
    torch.manual_seed(0)
    segmenter = PartSegmenter(SegmenterConfig(parts=2, widths=(8, 16)))
    torch.nn.init.normal_(segmenter.network.leave.weight)
    robot = np.zeros((16, 32), bool)
    robot[:, :9] = True
    image = np.random.default_rng(0).integers(0, 255, (16, 32, 3)).astype(np.uint8)
    xyz = np.full((16, 32, 3), np.nan, np.float32)
    label = segmenter.predict(frame_features(image, xyz, robot))
    assert (label[:, :9] == BACKGROUND).all()
    assert all((label == one).sum() == 0 or (label == one).sum() >= 4 for one in range(2))
