"""The flow: an oracle is followed to the truth, whatever the start, target and number of steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.diffusion.batch import condition_of, encode_videos
from kin4d.world.diffusion.codec import PcaCodec
from kin4d.world.diffusion.conditioning import Condition, fuse
from kin4d.world.diffusion.rectified_flow import flow_loss, sample_flow, schedule, shift_schedule


@pytest.mark.parametrize("start", ["noise", "composite"])
@pytest.mark.parametrize("target", ["velocity", "x0"])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_an_oracle_is_followed_to_the_truth(
    start: str, target: str, steps: int, toy: Callable, clips: Callable, pca: PcaCodec
) -> None:
    config = toy(init=start, target=target, shift=3.0)
    encoded = encode_videos(clips([1, 2]), config, pca)
    truth = fuse(encoded.rgb, encoded.xyz, config)

    def oracle(x: Tensor, times: Tensor, condition: Condition) -> Tensor:
        if target == "velocity":
            return (x - truth) / (times / 1000).view(-1, 1, 1, 1, 1)
        return truth - condition.latents if start == "composite" else truth

    condition = condition_of(encoded, config, soft=False)
    torch.testing.assert_close(
        sample_flow(oracle, condition, config, steps=steps), truth, atol=1e-3, rtol=1e-3
    )
    loss, logs = flow_loss(oracle, encoded, config, torch.ones(1))
    assert float(loss) == pytest.approx(0, abs=1e-6)
    assert set(logs) == {"rgb", "xyz"}


def test_seeds_are_futures(toy: Callable, clips: Callable, pca: PcaCodec) -> None:
    config = toy(init="noise", target="velocity")
    condition = condition_of(encode_videos(clips([0]), config, pca), config, soft=False)
    a, b, c = (
        sample_flow(lambda x, t, controlled: 0 * x, condition, config, steps=1, seed=seed)
        for seed in (0, 0, 1)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_guidance_goes_beyond_what_happens_without_a_robot(
    toy: Callable, clips: Callable, pca: PcaCodec
) -> None:
    config = toy(init="noise", target="x0", control="rgb+pointmap")
    condition = condition_of(encode_videos(clips([0]), config, pca), config, soft=False)
    calls = []

    def network(x: Tensor, times: Tensor, controlled: Condition) -> Tensor:
        calls.append(float(controlled.robot_mask.sum()))
        return torch.full_like(x, 2.0 if controlled.robot.any() else 1.0)

    guided = sample_flow(network, condition, config, steps=1, guidance=3.0)
    assert torch.equal(guided, torch.full_like(guided, 4.0))
    assert calls[0] > 0
    assert calls[1] == 0
    sample_flow(network, condition, config, steps=1)
    assert len(calls) == 3


def test_what_moves_weighs_more(toy: Callable, clips: Callable, pca: PcaCodec) -> None:
    config = toy(target="x0", soft_mask=0.0)
    encoded = encode_videos(clips([2]), config, pca)
    assert encoded.loss_weight.max() > 1

    def wrong_where(cells: Tensor) -> float:
        truth = fuse(encoded.rgb, encoded.xyz, config)

        def network(x: Tensor, times: Tensor, controlled: Condition) -> Tensor:
            return truth - controlled.latents + cells.float()

        return float(flow_loss(network, encoded, config, torch.ones(1))[0])

    moving, still = encoded.loss_weight > 1, encoded.loss_weight == 1
    still[:, :, 0] = False
    heavier = float(encoded.loss_weight[moving].sum() / encoded.loss_weight[still].sum())
    assert heavier > 1.2
    assert wrong_where(moving) / wrong_where(still) == pytest.approx(heavier, rel=1e-3)


def test_times_are_shifted_towards_the_start() -> None:
    times = schedule(4, 1.0)
    assert (float(times[0]), float(times[-1])) == (1.0, 0.0)
    assert (schedule(4, 3.0)[1:-1] > times[1:-1]).all()
    assert float(shift_schedule(torch.tensor(0.5), 3.0)) == pytest.approx(0.75)
    with pytest.raises(InputError, match="steps"):
        schedule(0, 1.0)


def test_clips_without_a_future_teach_nothing(
    toy: Callable, clips: Callable, pca: PcaCodec
) -> None:
    config = toy()
    encoded = encode_videos(clips([0], truth=False), config, pca)
    with pytest.raises(InputError, match="need the true rgb and xyz"):
        flow_loss(lambda x, t, controlled: x, encoded, config, torch.ones(1))
