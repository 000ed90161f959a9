"""Rectified flow: training loss and sampler.

Straight paths x(s) = (1 - s) z + s e lead from the initial state e at s = 1 (noise, or the
composite plus noise) to the data z at s = 0. The network predicts the velocity e - z or the data z;
with the latter, a single step is plain regression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.world.diffusion.batch import LatentBatch, condition_of
from kin4d.world.diffusion.conditioning import Condition, fuse
from kin4d.world.diffusion.config import DiffusionConfig

STEPS = 1000
"""Time of the network at s = 1."""

Network = Callable[[Tensor, Tensor, Condition], Tensor]
"""(noisy latents, times [B] in 0..1000, condition) -> an output like the latents."""


def shift_schedule(share: Tensor, shift: float) -> Tensor:
    """Flow times in 0..1, moved towards s = 1 by a shift above 1."""
    return shift * share / (1 + (shift - 1) * share)


def schedule(steps: int, shift: float) -> Tensor:
    """[steps + 1] times of the sampler, from 1 to 0."""
    if steps < 1:
        raise InputError("sampling steps", value=steps, allowed=">= 1")
    diffusers = require("diffusers", extra="world", purpose="sampling")
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(shift=shift)
    scheduler.set_timesteps(steps)
    return scheduler.sigmas


def flow_init(condition: Condition, config: DiffusionConfig, noise: Tensor) -> Tensor:
    """The initial state of the flow, at s = 1.

    Args:
        condition: Its latents are the composite, if `init` is "composite".
        config: The model's config.
        noise: [B, m C, t, h, w'] of unit variance.
    """
    if config.init == "noise":
        return noise
    return condition.latents + config.init_noise * noise


def flow_target(
    output: Tensor, x: Tensor, s: Tensor, condition: Condition, config: DiffusionConfig
) -> Tensor:
    """The end state of the flow, at s = 0, that the network predicts.

    Args:
        output: Of the network.
        x: [B, m C, t, h, w'] current state.
        s: Current time, one number or [B, 1, 1, 1, 1].
        condition: As given to the network.
        config: The model's config.
    """
    if config.target == "velocity":
        return x - s * output
    # With an output of zero, as of an untrained network, this is the composite.
    return condition.latents + output if config.init == "composite" else output


def flow_loss(
    network: Network,
    encoded: LatentBatch,
    config: DiffusionConfig,
    importance: Tensor,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Squared error of the network's output at random times, and values to log.

    Args:
        network: Called once.
        encoded: A batch with true videos.
        config: The model's config.
        importance: [1, m C, 1, 1, w'] weight of each channel.
    """
    if encoded.rgb is None or encoded.xyz is None:
        raise InputError("training videos need the true rgb and xyz, and these have none")
    z = fuse(encoded.rgb, encoded.xyz, config)
    condition = condition_of(encoded, config, soft=True)
    if config.drop_control:
        no_robot = torch.rand(len(z), device=z.device) < config.drop_control
        condition = condition.without_robot(no_robot)
    s = shift_schedule(1 - torch.rand(len(z), 1, 1, 1, 1, device=z.device), config.shift)
    e = flow_init(condition, config, torch.randn_like(z))
    x = (1 - s) * z + s * e
    if config.init == "composite":
        x = _keep_first(x, condition)
    output = network(x, s.flatten() * STEPS, condition)
    if config.target == "velocity":
        error = (output - (e - z)).square()
    else:
        error = (flow_target(output, x, s, condition, config) - z).square()
    weight = importance * (
        1.0 if encoded.loss_weight is None else _fused_weight(encoded.loss_weight, config)
    )
    if config.init == "composite":
        later = torch.arange(z.shape[2], device=z.device) > 0
        weight = weight * later.view(-1, 1, 1)
    error, weight = error.float(), weight.expand_as(error)
    loss = (error * weight).sum() / weight.sum()
    modalities = error.detach().chunk(2, 1 if config.fusion == "channel" else -1)
    return loss, {"rgb": modalities[0].mean(), "xyz": modalities[1].mean()}


@torch.no_grad()
def sample_flow(
    network: Network,
    condition: Condition,
    config: DiffusionConfig,
    *,
    steps: int,
    seed: int = 0,
    guidance: float = 1.0,
    progress: Callable[[Any], Any] = lambda steps: steps,
) -> Tensor:
    """Latents [B, m C, t, h, w'] sampled by Euler's method.

    Args:
        network: Called once a step, or twice with guidance.
        condition: The condition.
        config: The model's config.
        steps: Number of steps.
        seed: Seed of the initial noise.
        guidance: Scale of classifier-free guidance: outputs are extrapolated from those without the
            robot to those with it; 1 is no guidance.
        progress: Wraps the iterable of steps.
    """
    like = condition.latents
    rng = torch.Generator().manual_seed(seed)
    # In float32 whatever the network's dtype: rounding errors of the steps add up.
    x = flow_init(condition, config, torch.randn(like.shape, generator=rng).to(like.device)).float()
    no_robot = condition.without_robot() if guidance != 1 else None
    times = schedule(steps, config.shift).to(like.device)
    for step in progress(range(steps)):
        s, following = times[step], times[step + 1]
        if config.init == "composite":
            x = _keep_first(x, condition)
        network_time = s.expand(len(x)) * STEPS
        output = network(x.to(like.dtype), network_time, condition).float()
        if no_robot is not None:
            without = network(x.to(like.dtype), network_time, no_robot).float()
            output = without + guidance * (output - without)
        end = flow_target(output, x, s, condition, config)
        x = end + (x - end) * (following / s)
    return _keep_first(x, condition) if config.init == "composite" else x


def _keep_first(x: Tensor, condition: Condition) -> Tensor:
    """The state with the first latent frame, which is known, from the condition."""
    return torch.cat([condition.latents[:, :, :1], x[:, :, 1:]], 2)


def _fused_weight(loss_weight: Tensor, config: DiffusionConfig) -> Tensor:
    return loss_weight if config.fusion == "channel" else torch.cat([loss_weight, loss_weight], -1)
