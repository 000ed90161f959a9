"""PolicyNetwork: an encoder of observations and one of three ways to decide.

Actions are scaled to -1 to 1 inside. `loss` is what training minimises, `act` what the policy does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kin4d.extras import require
from kin4d.policies.learned.config import PolicyConfig
from kin4d.policies.learned.inputs import FAR, PROMPT

_ACTION = 7
_POINTS = 16  # points in space that an image encoder looks at
_HEADS = 4


class PolicyInputs(NamedTuple):
    """B observations.

    Attributes:
        proprioception: [B, P].
        prompt: [B, W].
        bodies: [B, S]; None for policies from images.
        rgb: [B, h, w, 3] uint8; None for policies from states.
        points: [B, h, w, 3] m; None likewise.
    """

    proprioception: Tensor
    prompt: Tensor
    bodies: Tensor | None = None
    rgb: Tensor | None = None
    points: Tensor | None = None


def perceptron(inputs: int, width: int, outputs: int, *, layers: int = 2) -> nn.Sequential:
    """Linear layers with SiLU between them."""
    sizes = [inputs] + [width] * layers
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*parts, nn.Linear(width, outputs))


class PointAttention(nn.Module):
    """Where in space an image shows what matters: points that a network picks by its attention."""

    outputs = 6 * _POINTS + 32

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(6, 32, 5, padding=2),
            nn.SiLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(48, 48, 3, padding=2, dilation=2),
            nn.SiLU(),
        )
        self.pick, self.summary = nn.Conv2d(48, _POINTS, 1), nn.Linear(48, 32)

    def forward(self, rgb: Tensor, points: Tensor, grasp: Tensor) -> Tensor:
        """[B, outputs] of colours, points (m) and the grasp frame's position [B, 3] (m)."""
        space = points.float().permute(0, 3, 1, 2)
        colours = rgb.permute(0, 3, 1, 2).float() / 127.5 - 1
        features = self.look(torch.cat([colours, 2 * space / FAR], 1))
        attention = self.pick(features).flatten(2).softmax(-1)
        positions = torch.einsum("bkn,bcn->bkc", attention, space[..., ::2, ::2].flatten(2))
        relative = positions - grasp[:, None]
        summary = self.summary(features.mean((2, 3)))
        return torch.cat([5 * positions.flatten(1), 5 * relative.flatten(1), summary], -1)


class Encoder(nn.Module):
    """[B, width] of observations."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        seen = PointAttention.outputs if config.observations == "images" else config.bodies
        self.look = PointAttention() if config.observations == "images" else None
        self.register_buffer("mean", torch.zeros(config.proprioception + config.bodies))
        self.register_buffer("scale", torch.ones(config.proprioception + config.bodies))
        self.joints = config.proprioception
        inputs = config.proprioception + seen + PROMPT
        self.join = perceptron(inputs, config.width, config.width)

    def forward(self, inputs: PolicyInputs) -> Tensor:
        """Features of what is observed."""
        mean, scale = self.get_buffer("mean"), self.get_buffer("scale")
        own = (inputs.proprioception - mean[: self.joints]) / scale[: self.joints]
        if self.look is None:
            assert inputs.bodies is not None
            seen = (inputs.bodies - mean[self.joints :]) / scale[self.joints :]
        else:
            # The grasp frame's position comes before the six numbers of its axes.
            grasp = inputs.proprioception[:, -9:-6]
            seen = self.look(inputs.rgb, inputs.points, grasp)
        return self.join(torch.cat([own, seen.clamp(-10, 10), inputs.prompt], -1))


class PolicyNetwork(nn.Module, ABC):
    """A policy's network.

    Args:
        config: Its sizes.
    """

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config, self.encoder = config, Encoder(config)
        self.register_buffer("low", -torch.ones(_ACTION))
        self.register_buffer("high", torch.ones(_ACTION))

    def normalise(self, actions: Tensor) -> Tensor:
        """Actions as -1 to 1."""
        low, high = self.get_buffer("low"), self.get_buffer("high")
        return 2 * (actions - low) / (high - low) - 1

    def act(self, inputs: PolicyInputs, generator: torch.Generator) -> Tensor:
        """[B, H, 7] actions."""
        low, high = self.get_buffer("low"), self.get_buffer("high")
        values = self.predict(self.encoder(inputs), generator).clamp(-1, 1)
        return low + (values + 1) / 2 * (high - low)

    def loss(self, inputs: PolicyInputs, actions: Tensor) -> Tensor:
        """What training minimises, of the actions [B, H, 7] that an expert took."""
        return self.error(self.encoder(inputs), self.normalise(actions))

    @abstractmethod
    def predict(self, seen: Tensor, generator: torch.Generator) -> Tensor:
        """[B, H, 7] normalised actions for features [B, width]."""

    @abstractmethod
    def error(self, seen: Tensor, actions: Tensor) -> Tensor:
        """The loss of normalised actions."""


class BehaviourCloning(PolicyNetwork):
    """Regression: the mean chunk of actions."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__(config)
        self.decide = perceptron(config.width, config.width, config.horizon * _ACTION)

    def predict(self, seen: Tensor, generator: torch.Generator) -> Tensor:
        """One pass."""
        return self.decide(seen).unflatten(-1, (self.config.horizon, _ACTION))

    def error(self, seen: Tensor, actions: Tensor) -> Tensor:
        """Mean absolute error."""
        predicted = self.decide(seen).unflatten(-1, (self.config.horizon, _ACTION))
        return (predicted - actions).abs().mean()


class ActionChunkTransformer(PolicyNetwork):
    """A transformer with a query for each action and a style variable (ACT, arXiv 2304.13705)."""

    _DIVERGENCE = 0.02

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__(config)
        width = config.width // 2
        self.queries = nn.Parameter(0.02 * torch.randn(config.horizon, width))
        self.remember = nn.Linear(config.width, 4 * width)
        self.styled = nn.Linear(config.latent, width)
        layer = nn.TransformerDecoderLayer(
            width, _HEADS, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.decoder = nn.TransformerDecoder(layer, config.layers)
        self.leave = nn.Linear(width, _ACTION)
        self.style = perceptron(
            config.width + config.horizon * _ACTION, config.width, 2 * config.latent
        )

    def predict(self, seen: Tensor, generator: torch.Generator) -> Tensor:
        """With the mean style."""
        return self._decode(seen, seen.new_zeros(len(seen), self.config.latent))

    def error(self, seen: Tensor, actions: Tensor) -> Tensor:
        """Mean absolute error, with the style of these actions, and its divergence."""
        mean, spread = self.style(torch.cat([seen, actions.flatten(1)], -1)).chunk(2, -1)
        spread = spread.clamp(-6, 3)
        style = mean + (spread / 2).exp() * torch.randn_like(mean)
        divergence = 0.5 * (mean.square() + spread.exp() - 1 - spread).sum(-1).mean()
        return (self._decode(seen, style) - actions).abs().mean() + self._DIVERGENCE * divergence

    def _decode(self, seen: Tensor, style: Tensor) -> Tensor:
        memory = self.remember(seen).unflatten(-1, (4, -1))
        memory = torch.cat([memory, self.styled(style)[:, None]], 1)
        queries = self.queries.expand(len(seen), -1, -1)
        return self.leave(self.decoder(queries, memory))


class DiffusionPolicy(PolicyNetwork):
    """A chunk of actions is denoised, given what is seen (arXiv 2303.04137)."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__(config)
        schedulers = require("diffusers.schedulers", extra="train", purpose="diffusion policies")
        self._scheduler = schedulers.DDIMScheduler(
            num_train_timesteps=config.diffusion_steps,
            beta_schedule="squaredcos_cap_v2",
            prediction_type="sample",
            clip_sample=True,
        )
        flat, width = config.horizon * _ACTION, 2 * config.width
        self.enter = nn.Linear(flat, width)
        self.given = nn.Linear(config.width + 32, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width)
            )
            for _ in range(config.layers)
        )
        self.leave = nn.Linear(width, flat)

    def predict(self, seen: Tensor, generator: torch.Generator) -> Tensor:
        """Denoised from Gaussian noise."""
        shape = (len(seen), self.config.horizon, _ACTION)
        values = torch.randn(shape, generator=generator)
        self._scheduler.set_timesteps(self.config.inference_steps)
        for step in self._scheduler.timesteps:
            clean = self._denoise(values, step.expand(len(seen)), seen)
            values = self._scheduler.step(clean, step, values).prev_sample
        return values

    def error(self, seen: Tensor, actions: Tensor) -> Tensor:
        """Mean squared error of the clean actions."""
        steps = torch.randint(self.config.diffusion_steps, (len(actions),))
        noise = torch.randn_like(actions)
        noisy = self._scheduler.add_noise(actions, noise, steps)
        return (self._denoise(noisy, steps, seen) - actions).square().mean()

    def _denoise(self, noisy: Tensor, steps: Tensor, seen: Tensor) -> Tensor:
        rates = torch.exp(-math.log(1000) * torch.arange(16) / 15)
        angles = steps[:, None].float() * rates
        time = torch.cat([angles.sin(), angles.cos()], -1)
        given = self.given(torch.cat([seen, time], -1))
        hidden = self.enter(noisy.flatten(1))
        for block in self.blocks:
            hidden = hidden + block(hidden + given)
        return self.leave(hidden).view_as(noisy)


NETWORKS: dict[str, type[PolicyNetwork]] = {
    "bc": BehaviourCloning,
    "act": ActionChunkTransformer,
    "diffusion": DiffusionPolicy,
}
