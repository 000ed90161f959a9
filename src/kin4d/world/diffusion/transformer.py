"""WorldTransformer: Wan's video transformer, conditioned on the robot.

Parameters have the names of Wan and of Kinema4D (arXiv 2603.16669), so that published weights load
by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.extras import require
from kin4d.world.diffusion.conditioning import Condition, check_condition, control_cells
from kin4d.world.diffusion.config import MASK, DiffusionConfig
from kin4d.world.diffusion.control import CONTROLS, ActionEncoder, TextEncoder

require("diffusers", extra="world", purpose="the world model")

from diffusers.models.transformers.transformer_wan import (  # noqa: E402
    WanRotaryPosEmbed,
    WanTransformer3DModel,
)

ADDED = (
    "learnable_domain_embeddings",
    "patch_embedding_arm",
    "arm_ln",
    "arm_pos_emb",
    "arm_domain_emb",
    "arm_patch_proj",
    "arm_cond_proj",
)
"""Parameters, or modules of them, that are not Wan's."""


class Context(NamedTuple):
    """Context of cross-attention.

    Attributes:
        image: [B, N, inner] tokens of an image encoder, which have separate keys and values.
        tokens: [B, M, inner] all other tokens.
    """

    image: Tensor | None
    tokens: Tensor


class SplitContext:
    """Attention processor for a `Context`, with any number of image and other tokens."""

    def __call__(
        self,
        attn: Any,
        hidden_states: Tensor,
        encoder_hidden_states: Context,
        attention_mask: Tensor | None = None,
        rotary_emb: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        def by_head(x: Tensor) -> Tensor:
            return x.unflatten(2, (attn.heads, -1)).transpose(1, 2)

        query = by_head(attn.norm_q(attn.to_q(hidden_states)))
        image, tokens = encoder_hidden_states
        key, value = by_head(attn.norm_k(attn.to_k(tokens))), by_head(attn.to_v(tokens))
        attended = F.scaled_dot_product_attention(query, key, value)
        if image is not None:
            key = by_head(attn.norm_added_k(attn.add_k_proj(image)))
            value = by_head(attn.add_v_proj(image))
            attended = attended + F.scaled_dot_product_attention(query, key, value)
        out = attended.transpose(1, 2).flatten(2).to(query.dtype)
        return attn.to_out[1](attn.to_out[0](out))


class SharedRope(WanRotaryPosEmbed):
    """Rotary positions of RGB and XYZ latents side by side: corresponding cells have equal ones."""

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor]:
        half = hidden_states[..., : hidden_states.shape[-1] // 2]
        t, h, w = (n // p for n, p in zip(half.shape[2:], self.patch_size, strict=True))

        def twice(angles: Tensor) -> Tensor:
            grid = angles.unflatten(1, (t, h, w))
            return torch.cat([grid, grid], 3).flatten(1, 3)

        cos, sin = super().forward(half)
        return twice(cos), twice(sin)


class WorldTransformer(WanTransformer3DModel):
    """Noisy latents, flow time and condition -> velocity or end state of the flow.

    With "width" fusion and 16 latent channels of the VAE the input has the published 36 channels:
    16 noisy, 4 mask, 16 condition.
    """

    blocks: Any
    condition_embedder: Any
    _gradient_checkpointing_func: Any

    def __init__(self, world: DiffusionConfig) -> None:
        inner = world.inner
        super().__init__(
            patch_size=(1, world.patch, world.patch),
            num_attention_heads=world.heads,
            attention_head_dim=world.head_dim,
            in_channels=world.in_channels,
            out_channels=world.fused[0],
            text_dim=world.text_dim,
            freq_dim=world.frequencies,
            ffn_dim=world.ffn,
            num_layers=world.layers,
            image_dim=world.image_dim or None,
            added_kv_proj_dim=inner if world.image_dim else None,
        )
        self.world = world
        self.control = CONTROLS[world.control]
        for block in self.blocks:
            block.attn2.set_processor(SplitContext())
        if world.fusion == "width":
            self.share_positions()
            self.learnable_domain_embeddings = nn.Parameter(torch.zeros(2, inner))
        if self.control.modalities:
            self._add_robot(len(self.control.modalities))
        if self.control.token_source == "actions":
            self.condition_encoder = ActionEncoder(world)
        if self.control.token_source == "words":
            self.condition_encoder = TextEncoder(world, self.condition_embedder.text_embedder)
        else:
            del self.condition_embedder.text_embedder
        nn.init.zeros_(self.proj_out.weight)
        nn.init.zeros_(self.proj_out.bias)

    def share_positions(self) -> None:
        """Compute rotary positions, which are not part of the weights."""
        sizes = (1, self.world.patch, self.world.patch)
        kind = SharedRope if self.world.fusion == "width" else WanRotaryPosEmbed
        self.rope = kind(self.world.head_dim, sizes, 1024)

    def _add_robot(self, modalities: int) -> None:
        world, side = self.world, self.world.robot_patch
        stacked = world.latent_channels * (modalities if world.fusion == "channel" else 1)
        self.patch_embedding_arm = nn.Conv3d(
            MASK + stacked, world.robot_width, (1, side, side), stride=(1, side, side)
        )
        self.arm_ln = nn.LayerNorm(world.robot_width)
        self.arm_pos_emb = nn.Parameter(torch.empty(1, world.robot_width, *world.robot_grid))
        nn.init.trunc_normal_(self.arm_pos_emb, std=0.02)
        if world.fusion == "width" and modalities == 2:
            self.arm_domain_emb = nn.Parameter(torch.zeros(2, world.robot_width))
        self.arm_patch_proj = nn.Linear(world.robot_width, world.inner)
        self.arm_cond_proj = nn.Linear(stacked, stacked)
        for layer in (self.arm_patch_proj, self.arm_cond_proj):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, noisy: Tensor, times: Tensor, condition: Condition) -> Tensor:
        """Predict the velocity or end state; see `DiffusionConfig.target`.

        Args:
            noisy: [B, m C, t, h, w'].
            times: [B] of the flow, 0 (data) to 1000 (initial state).
            condition: The condition.

        Returns:
            [B, m C, t, h, w'].
        """
        check_condition(condition, self.world)
        mask, latents = self._add_control(condition)
        x = torch.cat([noisy, mask, latents], 1)
        angles = self.rope(x)
        tokens = self.patch_embedding(x)
        if self.world.fusion == "width":
            domain = self.learnable_domain_embeddings.repeat_interleave(tokens.shape[-1] // 2, 0)
            tokens = tokens + domain.T[None, :, None, None]
        grid = tokens.shape[2:]
        tokens = tokens.flatten(2).transpose(1, 2).contiguous()
        time, modulation = self._time(times, tokens.dtype)
        context = self._context(condition, tokens)
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                tokens = self._gradient_checkpointing_func(
                    block, tokens, context, modulation, angles
                )
            else:
                tokens = block(tokens, context, modulation, angles)
        shift, scale = (self.scale_shift_table + time[:, None]).chunk(2, 1)
        out = (self.norm_out(tokens.float()) * (1 + scale) + shift).type_as(tokens)
        p = self.world.patch
        cells = self.proj_out(out).unflatten(2, (p, p, -1)).unflatten(1, grid)
        return cells.permute(0, 6, 1, 2, 4, 3, 5).flatten(5, 6).flatten(3, 4)

    def _add_control(self, condition: Condition) -> tuple[Tensor, Tensor]:
        """Mask and latents of the condition, with the robot or its actions."""
        mask, latents = condition.mask, condition.latents
        if condition.control_input is not None and self.control.token_source:
            shift = self.condition_encoder.channels(condition.control_input)
            return mask, latents if shift is None else latents + shift
        if condition.robot is None or condition.robot_mask is None:
            return mask, latents
        controlled = control_cells(self.world).to(mask.device)
        cells = condition.robot_mask.expand(-1, MASK, -1, -1, -1)
        doubled = (1, 2, 1, 1, 1) if self.world.fusion == "channel" else (1, 1, 1, 1, 2)
        mask = torch.where(controlled, cells.repeat(doubled), mask)
        robot = self.arm_cond_proj(condition.robot.movedim(1, -1)).movedim(-1, 1)
        missing = [full - part for full, part in zip(latents.shape, robot.shape, strict=True)]
        # A single modality is XYZ, the second one, so RGB is padded with zeros.
        robot = F.pad(robot, (missing[4], 0, 0, 0, 0, 0, missing[1], 0))
        frames = torch.arange(latents.shape[2], device=latents.device) >= self.control.from_frame
        return mask, latents + robot * frames.view(-1, 1, 1).to(robot.dtype)

    def _time(self, times: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        embed = self.condition_embedder
        frequencies = embed.timesteps_proj(times).to(embed.time_embedder.linear_1.weight.dtype)
        time = embed.time_embedder(frequencies).to(dtype)
        return time, embed.time_proj(embed.act_fn(time)).unflatten(1, (6, -1))

    def _context(self, condition: Condition, like: Tensor) -> Context:
        image = None
        if condition.image is not None and self.world.image_dim:
            image = self.condition_embedder.image_embedder(condition.image)
        if condition.control_input is not None and self.control.token_source:
            return Context(image, self.condition_encoder.tokens(condition.control_input))
        if condition.robot is None or condition.robot_mask is None:
            return Context(image, like.new_zeros(len(like), 1, like.shape[2]))
        robot, cells = condition.robot, condition.robot_mask.expand(-1, MASK, -1, -1, -1)
        modalities = robot.shape[-1] // cells.shape[-1]
        x = self.patch_embedding_arm(torch.cat([cells.repeat(1, 1, 1, 1, modalities), robot], 1))
        x = F.gelu(self.arm_ln(x.movedim(1, -1))).movedim(-1, 1)
        x = x + self.arm_pos_emb.repeat(1, 1, 1, 1, modalities)
        if modalities == 2:
            domain = self.arm_domain_emb.repeat_interleave(x.shape[-1] // 2, 0)
            x = x + domain.T[None, :, None, None]
        return Context(image, self.arm_patch_proj(x.flatten(2).transpose(1, 2)))
