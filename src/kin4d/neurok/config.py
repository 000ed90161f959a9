"""Config: sizes and architecture options of a NeuROK model, saved as JSON with its weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from kin4d.errors import InputError
from kin4d.training.config import config_of

DecoderForm = Literal["skinned", "point"]
MotionForm = Literal["dual_quaternion", "offset"]


@dataclass(frozen=True, kw_only=True)
class NeurokConfig:
    """Sizes and architecture of the networks.

    Attributes:
        width: Features per point and per token.
        heads: Attention heads; must divide `width`.
        tokens: T, the maximum number of moving parts of a shape.
        octaves: Frequencies of the Fourier features of points.
        refinements: Slot attention layers of the prior encoder.
        decoder: "skinned": tokens move rigidly, and points blend their motions by skinning weights
            that depend on the mesh alone. "point": every point attends to the tokens, as in the
            paper.
        motion: "dual_quaternion": rigid motions. "offset": displacements, for comparison.
    """

    width: int = 128
    heads: int = 4
    tokens: int = 20
    octaves: int = 6
    refinements: int = 2
    decoder: DecoderForm = "skinned"
    motion: MotionForm = "dual_quaternion"

    def __post_init__(self) -> None:
        for name in ("width", "heads", "tokens", "octaves", "refinements"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InputError(f"model config '{name}'", value=value, allowed="an integer >= 1")
        if self.width % self.heads:
            raise InputError(
                "model config 'heads' must divide 'width'",
                value=self.heads,
                allowed=f"a divisor of {self.width}",
            )
        for name, allowed in (("decoder", DecoderForm), ("motion", MotionForm)):
            if getattr(self, name) not in get_args(allowed):
                raise InputError(
                    f"model config '{name}'",
                    value=getattr(self, name),
                    allowed=", ".join(get_args(allowed)),
                )

    def to_dict(self) -> dict[str, int | str]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> NeurokConfig:
        """The config of `to_dict`; unknown keys, which newer versions write, are refused."""
        return config_of(cls, values)


PRESETS = {
    "tiny": NeurokConfig(width=64, tokens=12),
    "small": NeurokConfig(),
    "base": NeurokConfig(width=384, heads=8, tokens=32, refinements=3),
}
