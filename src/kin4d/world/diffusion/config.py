"""DiffusionConfig: sizes and options of a diffusion world model, saved as JSON with its weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from kin4d.errors import InputError
from kin4d.training.config import config_of

CodecForm = Literal["pca", "vae"]
FlowInit = Literal["noise", "composite"]
Fusion = Literal["width", "channel"]
ControlKind = Literal["pointmap", "rgb+pointmap", "mask", "depth", "embedding", "text", "none"]
Target = Literal["velocity", "x0"]
FirstGeometry = Literal["ramp", "pointmap"]
Modality = Literal["rgb", "xyz"]

CELL = (4, 8, 8)
"""Frames, rows and columns of a latent cell; the first frame has cells of its own."""

MASK = 4
"""Mask channels of a modality: one per frame of a cell."""


@dataclass(frozen=True, kw_only=True)
class DiffusionConfig:
    """Sizes and options of a diffusion world model; all grids and token counts follow from these.

    Attributes:
        frames: T = 4 k + 1.
        height, width: Of images, px; multiples of 8 times the patch.
        codec: "pca": a fixed linear basis of patches. "vae": AutoencoderKLWan.
        latent_channels: Channels of a latent cell, for each modality.
        vae_width: Channels of the VAE's first layer.
        init: Initial state of the flow. "noise": as in the paper. "composite": the rendered robot
            over the first frame, plus noise, so that only changes have to be learned.
        init_noise: Standard deviation of the noise on the composite, in normalised latents.
        fusion: RGB and XYZ latents side by side on "width" (the paper) or stacked on "channel",
            with half the tokens.
        control: How the robot enters the condition; see `kin4d.world.diffusion.control`.
        first_frame_geometry: Of the condition: a uniform "ramp" (the paper) or the true "pointmap".
        layers, heads, head_dim, ffn: Sizes of the transformer.
        patch: Rows and columns of cells in a token.
        robot_patch: Rows and columns of cells in a context token of the robot.
        robot_width: Channels of the bottleneck of these tokens.
        text_dim: Features per word of the text embedding.
        image_dim: Features per token of an image encoder, 0 for none.
        frequencies: Of the embedding of the flow time.
        actions: Numbers per frame of `embedding` control.
        soft_mask: Share of the robot's cells whose mask is 0.5 instead of 1 in training, so that
            the model does not rely on the rendering alone.
        drop_control: Share of training samples without the robot in their condition, as
            classifier-free guidance needs.
        target: Prediction target: the "velocity" of the flow, or its end state "x0".
        shift: Shift of flow times towards noise, in training and sampling.
    """

    frames: int = 49
    height: int = 64
    width: int = 96
    codec: CodecForm = "pca"
    latent_channels: int = 48
    vae_width: int = 16
    init: FlowInit = "composite"
    init_noise: float = 0.5
    fusion: Fusion = "channel"
    control: ControlKind = "rgb+pointmap"
    first_frame_geometry: FirstGeometry = "pointmap"
    layers: int = 5
    heads: int = 4
    head_dim: int = 64
    ffn: int = 1024
    patch: int = 2
    robot_patch: int = 4
    robot_width: int = 64
    text_dim: int = 64
    image_dim: int = 0
    frequencies: int = 128
    actions: int = 8
    soft_mask: float = 0.1
    drop_control: float = 0.0
    target: Target = "x0"
    shift: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int":
                least = 0 if field.name == "image_dim" else 1
                if not isinstance(value, int) or value < least:
                    raise _wrong(field.name, value, f"an integer >= {least}")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in get_args(allowed):
                raise _wrong(name, getattr(self, name), ", ".join(get_args(allowed)))
        for name in ("soft_mask", "drop_control"):
            if not 0 <= getattr(self, name) < 1:
                raise _wrong(name, getattr(self, name), "a share, 0 <= share < 1")
        if self.init_noise < 0 or self.shift <= 0:
            raise InputError(
                "world config 'init_noise' and 'shift'",
                value=(self.init_noise, self.shift),
                allowed="init_noise >= 0 and shift > 0",
            )
        if self.init == "composite" and self.first_frame_geometry == "ramp":
            raise _wrong(
                "first_frame_geometry",
                self.first_frame_geometry,
                "'pointmap', since init 'composite' contains the true geometry",
            )
        if self.frames % CELL[0] != 1 or self.frames < 5:
            raise _wrong("frames", self.frames, "4 k + 1, at least 5")
        for name, cells in (("height", self.grid[1]), ("width", self.grid[2])):
            step = CELL[1] * self.patch
            if getattr(self, name) % step:
                raise _wrong(name, getattr(self, name), f"a multiple of {step}")
            if cells % self.robot_patch:
                raise _wrong(
                    "robot_patch", self.robot_patch, f"a divisor of {cells} cells of {name}"
                )
        if self.head_dim % 2 or self.head_dim < 12:
            raise _wrong("head_dim", self.head_dim, "even, at least 12")

    @property
    def grid(self) -> tuple[int, int, int]:
        """Frames, rows and columns of the latents of one modality."""
        return (
            1 + (self.frames - 1) // CELL[0],
            self.height // CELL[1],
            self.width // CELL[2],
        )

    @property
    def stacked(self) -> int:
        """Number of modalities stacked on channels."""
        return 2 if self.fusion == "channel" else 1

    @property
    def fused(self) -> tuple[int, int, int, int]:
        """Channels, frames, rows and columns of RGB and XYZ latents together."""
        t, h, w = self.grid
        return self.latent_channels * self.stacked, t, h, w * (2 // self.stacked)

    @property
    def in_channels(self) -> int:
        """Input channels of the transformer: noisy latents, mask, condition."""
        return (2 * self.latent_channels + MASK) * self.stacked

    @property
    def inner(self) -> int:
        """Features per token."""
        return self.heads * self.head_dim

    @property
    def tokens(self) -> int:
        """Number of tokens in the transformer."""
        _, t, h, w = self.fused
        return t * (h // self.patch) * (w // self.patch)

    @property
    def robot_grid(self) -> tuple[int, int, int]:
        """Context tokens of the robot in one modality: frames, rows, columns."""
        t, h, w = self.grid
        return t, h // self.robot_patch, w // self.robot_patch

    def to_dict(self) -> dict[str, int | float | str]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> DiffusionConfig:
        """The config of `to_dict`; unknown keys, which newer versions write, are refused."""
        return config_of(cls, {_ON_DISK.get(name, name): value for name, value in values.items()})


# Field names in the headers of earlier weights.
_ON_DISK: dict[str, str] = {
    "start": "init",
    "start_noise": "init_noise",
    "first": "first_frame_geometry",
    "arm_patch": "robot_patch",
    "arm_width": "robot_width",
}

_CHOICES = {
    "codec": CodecForm,
    "init": FlowInit,
    "fusion": Fusion,
    "control": ControlKind,
    "first_frame_geometry": FirstGeometry,
    "target": Target,
}


def _wrong(name: str, value: object, allowed: str) -> InputError:
    return InputError(f"world config '{name}'", value=value, allowed=allowed)


PRESETS = {
    "tiny": DiffusionConfig(),
    "small": DiffusionConfig(
        height=128,
        width=192,
        layers=12,
        heads=6,
        ffn=1536,
        robot_patch=8,
        frequencies=256,
    ),
    "wan14b": DiffusionConfig(
        height=480,
        width=720,
        codec="vae",
        latent_channels=16,
        vae_width=96,
        init="noise",
        fusion="width",
        first_frame_geometry="ramp",
        layers=40,
        heads=40,
        head_dim=128,
        ffn=13824,
        robot_patch=15,
        robot_width=128,
        text_dim=4096,
        image_dim=1280,
        frequencies=256,
        target="velocity",
    ),
}
