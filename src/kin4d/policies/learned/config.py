"""PolicyConfig: what a learned policy sees, how it decides, how large it is."""

from __future__ import annotations

from dataclasses import dataclass

from kin4d.errors import InputError

KINDS = ("bc", "act", "diffusion")
"""Regression by a perceptron, an action-chunking transformer, a diffusion policy."""
OBSERVATIONS = ("states", "images")
"""Poses and sizes of the bodies, or colours and points that a camera sees."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Sizes of a policy.

    Attributes:
        kind: One of `KINDS`.
        observations: One of `OBSERVATIONS`.
        proprioception: Numbers of the robot's state.
        bodies: Numbers of the bodies' state.
        horizon: Actions that are predicted.
        executed: Actions of these that are carried out.
        width: Of hidden layers.
        layers: Of the transformer, or blocks of the denoiser.
        latent: Numbers of the transformer's style variable.
        diffusion_steps: In training.
        inference_steps: When it acts.
    """

    kind: str = "bc"
    observations: str = "states"
    proprioception: int = 16
    bodies: int = 54
    horizon: int = 16
    executed: int = 8
    width: int = 256
    layers: int = 3
    latent: int = 8
    diffusion_steps: int = 50
    inference_steps: int = 8

    def __post_init__(self) -> None:
        for name, allowed in (("kind", KINDS), ("observations", OBSERVATIONS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} of a policy", value=getattr(self, name), allowed=", ".join(allowed)
                )
        if not 1 <= self.executed <= self.horizon:
            raise InputError(
                "actions that a policy carries out",
                value=self.executed,
                allowed=f"1 to its horizon {self.horizon}",
            )
