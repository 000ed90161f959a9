"""Annotators load the user's weights (here: tiny and random) and bring depth to metres."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_episode import made_episode

from kin4d.episodes.annotators.caption import CaptionModel, template_caption
from kin4d.episodes.annotators.depth import DepthModel, to_metres
from kin4d.episodes.annotators.segment import Sam2Masks, mask_boxes
from kin4d.errors import InputError

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def rgb() -> np.ndarray:
    return made_episode(0).video.rgb[::16]


def depth_weights(folder: Path) -> Path:
    backbone = transformers.Dinov2Config(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=28,
        patch_size=14,
        out_features=["stage1", "stage2"],
        reshape_hidden_states=False,
        apply_layernorm=True,
    )
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone,
        reassemble_hidden_size=16,
        reassemble_factors=[1, 0.5],
        neck_hidden_sizes=[8, 8],
        fusion_hidden_size=8,
        head_hidden_size=4,
        depth_estimation_type="relative",
    )
    transformers.DepthAnythingForDepthEstimation(config).save_pretrained(folder)
    transformers.DPTImageProcessor(
        size={"height": 28, "width": 28}, keep_aspect_ratio=False
    ).save_pretrained(folder)
    return folder


def sam_weights(folder: Path) -> Path:
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[128, 128],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[8, 4, 4, 4],
        global_attention_blocks=[3],
        window_positional_embedding_background_size=[7, 7],
    )
    vision = transformers.Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=32,
        num_feature_levels=3,
    )
    config = transformers.Sam2Config(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 32, "image_size": 128, "patch_size": 16},
        mask_decoder_config={
            "hidden_size": 32,
            "mlp_dim": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        },
    )
    transformers.Sam2Model(config).save_pretrained(folder)
    return folder


def caption_weights(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = [
        "<unk>",
        "<pad>",
        "<s>",
        "</s>",
        "<image>",
        "the",
        "robot",
        "arm",
        "moves",
        "USER",
        ":",
    ]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<image>"],
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=28,
            patch_size=14,
        ),
        text_config=transformers.LlamaConfig(
            vocab_size=len(words),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            pad_token_id=1,
        ),
        image_token_id=4,
        vision_feature_layer=-1,
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    template = (
        "{% for m in messages %}USER : {% for c in m['content'] %}"
        "{% if c['type'] == 'image' %}<image> {% else %}{{ c['text'] }}{% endif %}"
        "{% endfor %}{% endfor %}"
    )
    transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessor(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
        ),
        tokenizer=fast,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template,
    ).save_pretrained(folder)
    return folder


def test_depth_from_weights_in_a_folder(rgb: np.ndarray, tmp_path: Path) -> None:
    model = DepthModel(depth_weights(tmp_path))
    assert model.kind == "inverse"
    depth = model(rgb)
    assert depth.shape == rgb.shape[:3]
    assert np.isfinite(depth).all()
    assert DepthModel(tmp_path, kind="metric").kind == "metric"
    with pytest.raises(InputError, match="unknown kind"):
        DepthModel(tmp_path, kind="feet")


def test_robot_masks_from_weights_in_a_folder(rgb: np.ndarray, tmp_path: Path) -> None:
    sam = Sam2Masks(sam_weights(tmp_path))
    boxes = mask_boxes(made_episode(0).robot_mask[::16])
    boxes[2] = np.nan
    masks = sam(rgb, boxes)
    assert masks.shape == rgb.shape[:3]
    assert masks.dtype == bool
    with pytest.raises(InputError, match="first frame"):
        sam(rgb, np.full((len(rgb), 4), np.nan))


def test_captions_from_weights_in_a_folder(rgb: np.ndarray, tmp_path: Path) -> None:
    caption = CaptionModel(caption_weights(tmp_path), frames=2, max_tokens=3)
    assert isinstance(caption(rgb), str)


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot load .*config.json"):
        DepthModel(tmp_path)
    depth_weights(tmp_path)
    with pytest.raises(InputError, match="cannot load"):
        CaptionModel(tmp_path)


def test_the_robot_gives_depth_its_scale() -> None:
    episode = made_episode(0)
    depth = episode.video.xyz[..., 2]
    exact = np.where(episode.robot_mask, depth, np.nan)
    np.testing.assert_allclose(to_metres(depth / 3, exact, kind="metric"), depth, rtol=1e-5)
    inverse = 5 / depth - 0.3
    # A tenth of the robot is badly wrong, and does not matter.
    wrong = inverse.copy()
    wrong[::10][episode.robot_mask[::10]] = 40.0
    found = to_metres(wrong, exact, kind="inverse")
    right = wrong == inverse
    np.testing.assert_allclose(found[right], depth[right], rtol=0.02)
    with pytest.raises(InputError, match="too little of the robot"):
        to_metres(depth, np.full_like(depth, np.nan), kind="metric")
    with pytest.raises(InputError, match="does not agree"):
        to_metres(depth, exact, kind="inverse")


def test_boxes_and_words() -> None:
    masks = np.zeros((2, 5, 7), bool)
    masks[1, 2:4, 3] = True
    boxes = mask_boxes(masks)
    assert np.isnan(boxes[0]).all()
    assert boxes[1].tolist() == [3, 2, 4, 4]
    assert template_caption("open_drawer") == "open the drawer"
    assert template_caption("reach", seed=2) == "please reach"
    assert template_caption("") == ""
