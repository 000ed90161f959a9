"""Rectified flow: straight paths from where imagining starts to what happened.

x(s) = (1 - s) z + s e, with z what happened and e the start: noise, or the composite plus noise.
The network tells the velocity e - z, or z itself; one step from s = 1 is then plain regression.
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
"""The network counts the flow's time in these."""

Network = Callable[[Tensor, Tensor, Condition], Tensor]
"""Noisy latents, times [B] in 0..1000 and a condition, to an output like the latents."""


def shift_schedule(share: Tensor, shift: float) -> Tensor:
    """Flow times in 0..1, moved towards the start by a shift above 1."""
    return shift * share / (1 + (shift - 1) * share)


def schedule(steps: int, shift: float) -> Tensor:
    """[steps + 1] from 1 to 0: the times a sampler visits."""
    if steps < 1:
        raise InputError("sampling steps", value=steps, allowed=">= 1")
    diffusers = require("diffusers", extra="world", purpose="sampling")
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(shift=shift)
    scheduler.set_timesteps(steps)
    return scheduler.sigmas


def flow_init(condition: Condition, config: DiffusionConfig, noise: Tensor) -> Tensor:
    """Where the flow begins, s = 1.

    Args:
        condition: Whose latents are the composite, if that is the start.
        config: Of the model.
        noise: [B, m C, t, h, w'] of unit size.
    """
    if config.init == "noise":
        return noise
    return condition.latents + config.init_noise * noise


def flow_target(
    output: Tensor, x: Tensor, s: Tensor, condition: Condition, config: DiffusionConfig
) -> Tensor:
    """Where the network believes that the flow ends, s = 0.

    Args:
        output: Of the network.
        x: [B, m C, t, h, w'] where the flow is.
        s: Its time, one number or [B, 1, 1, 1, 1].
        condition: As given to the network.
        config: Of the model.
    """
    if config.target == "velocity":
        return x - s * output
    # An untrained network, whose output is zero, then leaves the composite as it is.
    return condition.latents + output if config.init == "composite" else output


def flow_loss(
    network: Network,
    encoded: LatentBatch,
    config: DiffusionConfig,
    importance: Tensor,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Squared error of the network's output at random times, and what to log.

    Args:
        network: Called once.
        encoded: Clips with what happened.
        config: Of the model.
        importance: [1, m C, 1, 1, w'] weight of each number.
    """
    if encoded.rgb is None or encoded.xyz is None:
        raise InputError("there is nothing to learn from clips without what happened")
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
        1.0 if encoded.loss_weight is None else _weights(encoded.loss_weight, config)
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
    """Latents of what the model imagines [B, m C, t, h, w'], by Euler's method.

    Args:
        network: Called once a step, or twice with guidance.
        condition: What is known.
        config: Of the model.
        steps: One is regression.
        seed: Of the start's noise.
        guidance: How much farther to go from what would happen without a robot towards what
            happens with it; 1 asks nothing of the kind.
        progress: Wraps the iterable of steps.
    """
    like = condition.latents
    rng = torch.Generator().manual_seed(seed)
    # In single precision whatever the network's: many small steps add up.
    x = flow_init(condition, config, torch.randn(like.shape, generator=rng).to(like.device)).float()
    no_robot = condition.without_robot() if guidance != 1 else None
    times = schedule(steps, config.shift).to(like.device)
    for step in progress(range(steps)):
        s, following = times[step], times[step + 1]
        if config.init == "composite":
            x = _keep_first(x, condition)
        clock = s.expand(len(x)) * STEPS
        output = network(x.to(like.dtype), clock, condition).float()
        if no_robot is not None:
            without = network(x.to(like.dtype), clock, no_robot).float()
            output = without + guidance * (output - without)
        end = flow_target(output, x, s, condition, config)
        x = end + (x - end) * (following / s)
    return _keep_first(x, condition) if config.init == "composite" else x


def _keep_first(x: Tensor, condition: Condition) -> Tensor:
    """The first latent frame is known."""
    return torch.cat([condition.latents[:, :, :1], x[:, :, 1:]], 2)


def _weights(loss_weight: Tensor, config: DiffusionConfig) -> Tensor:
    return loss_weight if config.fusion == "channel" else torch.cat([loss_weight, loss_weight], -1)
