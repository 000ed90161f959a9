"""Augmentation: how a pair is varied beyond the motion of its object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What is varied, and how much; a zero, or a range of one value, switches it off.

    Every pair draws its own, but for proportions and mirroring, which belong to the object and are
    drawn once for all pairs made of it together. Fresh sample points and a random first state are
    not switches here: every pair has them.

    Attributes:
        max_yaw: Largest rotation about the up axis, in either direction, rad.
        tilt: Standard deviation of the tilt of the up axis, rad.
        stretch: Standard deviation of the logarithm of the proportions along each axis, applied
            before the object moves, so that rigid parts stay rigid.
        mirror: Probability that left and right are swapped.
        scale: Lower and upper size of the first shape's box, in unit boxes.
        unevenness: See `ObjectSample.surface`.
        one_sided: Probability that surfaces facing away from a random viewpoint are missing.
        noise: Standard deviation of the roughness of the surface, in unit boxes: it is part of the
            surface and moves with it.
        fuse: Probability that components of different parts are taken for one, as happens in
            meshes whose parts touch.
    """

    max_yaw: float = np.pi
    tilt: float = 0.05
    stretch: float = 0.15
    mirror: float = 0.5
    scale: tuple[float, float] = (0.9, 1.05)
    unevenness: float = 0.3
    one_sided: float = 0.1
    noise: float = 0.002
    fuse: float = 0.25

    def __post_init__(self) -> None:
        for name in ("max_yaw", "tilt", "stretch", "unevenness", "noise"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InputError(
                    f"augmentation '{name}'", value=getattr(self, name), allowed=">= 0"
                )
        for name in ("mirror", "one_sided", "fuse"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(
                    f"augmentation '{name}'", value=getattr(self, name), allowed="0 to 1"
                )
        low, high = self.scale
        if not 0 < low <= high:
            raise InputError("augmentation 'scale'", value=self.scale, allowed="0 < low <= high")

    @classmethod
    def none(cls) -> Augmentation:
        """Nothing varied."""
        return cls(
            max_yaw=0.0,
            tilt=0.0,
            stretch=0.0,
            mirror=0.0,
            scale=(1.0, 1.0),
            unevenness=0.0,
            one_sided=0.0,
            noise=0.0,
            fuse=0.0,
        )

    def rotations(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, 3, 3]: about z, then a tilt about a random horizontal axis."""
        yaw = rng.uniform(-1, 1, count) * self.max_yaw
        tilt, axis = rng.normal(0, 1, count) * self.tilt, rng.uniform(-np.pi, np.pi, count)
        return _about_z(axis) @ _about_x(tilt) @ _about_z(yaw - axis)

    def proportions(self, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
        """[3] scale along each axis, and whether to mirror."""
        scale = np.exp(np.clip(rng.normal(0, 1, 3), -2.5, 2.5) * self.stretch)
        return scale, bool(rng.random() < self.mirror)


def _about_z(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, o, s, c, o, o, o, i], -1).reshape(-1, 3, 3)


def _about_x(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([i, o, o, o, c, -s, o, s, c], -1).reshape(-1, 3, 3)
