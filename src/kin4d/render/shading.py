"""Shading: what colour the surface has at each pixel, under one key light and a soft sky.

Colours are linear RGB inside and sRGB bytes outside. The look is that of a product on a light
grey sweep: an even hemisphere of sky and floor light, one key light over the viewer's left
shoulder, and a faint highlight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.camera import Camera
from kin4d.geometry.material import linear_to_srgb
from kin4d.render.jit import jit
from kin4d.render.kernels import X, Y, Z
from kin4d.render.rasterizer import Fragments, parallel_rows
from kin4d.render.render_scene import RenderScene, to_linear

_LINEAR = to_linear(np.arange(256, dtype=np.uint8))
_LEVELS = np.linspace(0, 1, 16385)
_SRGB = np.round(255 * linear_to_srgb(_LEVELS)).astype(np.uint8)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lights:
    """Where light comes from, in the world frame.

    Attributes:
        key: [3] unit vector towards the key light.
        up: [3] unit vector towards the sky.
        key_power: Light a white surface facing the key light sends back.
        sky_power: The same for the sky above it.
        floor_power: The same for the floor below it.
    """

    key: np.ndarray
    up: np.ndarray
    key_power: float = 0.56
    sky_power: float = 0.42
    floor_power: float = 0.17

    @classmethod
    def studio(
        cls, camera: Camera, *, up: np.ndarray | tuple[float, float, float] = (0.0, 0.0, 1.0)
    ) -> Lights:
        """A key light above, to the left of and behind the viewer."""
        up = np.asarray(up, np.float64) / np.linalg.norm(up)
        right, _, forward = camera.pose[:3, :3].T
        key = 1.25 * up - 0.75 * right - 0.8 * forward
        # Seen from below or from straight above, the light still comes from above.
        key = key + max(0.0, 0.5 - float(key @ up)) * up
        return cls(key=key / np.linalg.norm(key), up=up)

    def in_camera(self, camera: Camera) -> np.ndarray:
        """[3, 3]: key and up in the camera frame, then the three powers."""
        rotation = camera.world_to_camera[:3, :3]
        powers = (self.key_power, self.sky_power, self.floor_power)
        return np.stack([rotation @ self.key, rotation @ self.up, powers])


def interpolate_normals(
    surface: RenderScene,
    fragments: Fragments,
    *,
    normals: np.ndarray,
    rotation_index: np.ndarray,
    rotations: np.ndarray,
    threads: int | None = None,
) -> np.ndarray:
    """[H, W, 3] float32 unit normals in the camera frame, towards the camera; NaN where empty.

    Args:
        surface: What is drawn.
        fragments: What each pixel sees of it.
        normals: [G, 3] normals of the smoothing groups.
        rotation_index: [G] int32: which of `rotations` [J, 3, 3] brings each to the camera frame.
        rotations: See `rotation_index`.
        threads: As in `rasterize`.
    """
    out = np.empty((*fragments.face.shape, 3), np.float32)
    weights = fragments.weights
    rotations = np.ascontiguousarray(rotations)

    def band(top: int, bottom: int) -> None:
        _interpolate_normals(
            fragments.face[top:bottom],
            weights[top:bottom],
            fragments.projected,
            fragments.faces,
            surface.corner_group,
            normals,
            rotation_index,
            rotations,
            out[top:bottom],
        )

    parallel_rows(band, len(out), threads)
    return out


def shade(
    surface: RenderScene,
    fragments: Fragments,
    normals: np.ndarray,
    lights: np.ndarray,
    background: np.ndarray,
    *,
    threads: int | None = None,
) -> np.ndarray:
    """Colour [H, W, 3] uint8 sRGB of every pixel.

    Args:
        surface: What is drawn.
        fragments: What each pixel sees of it.
        normals: [H, W, 3] from `interpolate_normals`.
        lights: [3, 3] from `Lights.in_camera`.
        background: [H, W, 3] uint8 sRGB, shown where nothing is seen.
        threads: As in `rasterize`.
    """
    rgb = np.empty((*fragments.face.shape, 3), np.uint8)
    weights = fragments.weights

    def band(top: int, bottom: int) -> None:
        _shade(
            fragments.face[top:bottom],
            weights[top:bottom],
            fragments.xyz[top:bottom],
            normals[top:bottom],
            surface.corner,
            surface.uv,
            surface.color,
            surface.face_material,
            surface.materials,
            surface.textures,
            surface.texels,
            _LINEAR,
            _SRGB,
            lights,
            background[top:bottom],
            rgb[top:bottom],
        )

    parallel_rows(band, len(rgb), threads)
    return rgb


def to_srgb(linear: np.ndarray) -> np.ndarray:
    """Linear values (clipped to [0, 1]) to sRGB bytes."""
    return _SRGB[np.round(16384 * np.clip(linear, 0, 1)).astype(np.int64)]


@jit
def _interpolate_normals(
    face, weights, projected, faces, corner_group, normals, rotation_index, rotations, out
):
    for row in range(face.shape[0]):
        for column in range(face.shape[1]):
            f = face[row, column]
            if f < 0:
                out[row, column, 0] = out[row, column, 1] = out[row, column, 2] = np.nan
                continue
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            # The side seen is the face's, not the interpolated normal's: at a silhouette the
            # latter may already point away.
            facing = (
                projected[X, i]
                * (projected[Y, j] * projected[Z, k] - projected[Z, j] * projected[Y, k])
                + projected[Y, i]
                * (projected[Z, j] * projected[X, k] - projected[X, j] * projected[Z, k])
                + projected[Z, i]
                * (projected[X, j] * projected[Y, k] - projected[Y, j] * projected[X, k])
            )
            sign = -1.0 if facing > 0.0 else 1.0
            x, y, z = 0.0, 0.0, 0.0
            for side in range(3):
                group = corner_group[f, side]
                n0, n1, n2 = normals[group, 0], normals[group, 1], normals[group, 2]
                length = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
                if length > 0.0:
                    matrix = rotations[rotation_index[group]]
                    scale = sign * weights[row, column, side] / length
                    x += scale * (matrix[0, 0] * n0 + matrix[0, 1] * n1 + matrix[0, 2] * n2)
                    y += scale * (matrix[1, 0] * n0 + matrix[1, 1] * n1 + matrix[1, 2] * n2)
                    z += scale * (matrix[2, 0] * n0 + matrix[2, 1] * n1 + matrix[2, 2] * n2)
            length = np.sqrt(x * x + y * y + z * z)
            if length > 1e-12:
                out[row, column, 0] = x / length
                out[row, column, 1] = y / length
                out[row, column, 2] = z / length
            else:
                out[row, column, 0], out[row, column, 1], out[row, column, 2] = 0.0, 0.0, -1.0


@jit
def _shade(
    face, weights, xyz, normals, corner, uv, color, face_material, materials, textures, texels,
    linear, srgb, lights, background, rgb,
):  # fmt: skip
    key, up, powers = lights[0], lights[1], lights[2]
    key_power, sky_power, floor_power = powers[0], powers[1], powers[2]
    base = np.empty(3, np.float32)
    for row in range(face.shape[0]):
        for column in range(face.shape[1]):
            f = face[row, column]
            if f < 0:
                for channel in range(3):
                    rgb[row, column, channel] = background[row, column, channel]
                continue
            m = face_material[f]
            for channel in range(3):
                base[channel] = materials[m, channel]
            w = weights[row, column]
            a, b, c = corner[f, 0], corner[f, 1], corner[f, 2]
            if len(color):
                for channel in range(3):
                    tint = w[0] * color[a, channel] + w[1] * color[b, channel]
                    base[channel] *= tint + w[2] * color[c, channel]
            if textures[m, 1]:
                u = w[0] * uv[a, 0] + w[1] * uv[b, 0] + w[2] * uv[c, 0]
                v = w[0] * uv[a, 1] + w[1] * uv[b, 1] + w[2] * uv[c, 1]
                _tint(base, texels, textures[m], linear, u, v)
            n = normals[row, column]
            p = xyz[row, column]
            far = np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
            towards_key = n[0] * key[0] + n[1] * key[1] + n[2] * key[2]
            height = 0.5 + 0.5 * (n[0] * up[0] + n[1] * up[1] + n[2] * up[2])
            light = floor_power + (sky_power - floor_power) * height
            light += key_power * max(towards_key, 0.0)
            # Blinn-Phong, with the half vector between the key light and the viewer and Schlick's
            # rational stand-in for the power.
            h0, h1, h2 = key[0] - p[0] / far, key[1] - p[1] / far, key[2] - p[2] / far
            half = n[0] * h0 + n[1] * h1 + n[2] * h2
            half = max(half, 0.0) / np.sqrt(h0 * h0 + h1 * h1 + h2 * h2)
            metallic, roughness = materials[m, 3], max(materials[m, 4], 0.2)
            sharpness = 2.0 / (roughness * roughness * roughness * roughness)
            glint = half / (sharpness - sharpness * half + half) if towards_key > 0.0 else 0.0
            glint *= (0.1 + 0.4 * metallic) * (1.0 - 0.7 * roughness)
            for channel in range(3):
                tint = 1.0 - metallic + metallic * base[channel]
                value = base[channel] * light + tint * glint
                rgb[row, column, channel] = srgb[int(16384.0 * min(max(value, 0.0), 1.0) + 0.5)]


@jit
def _tint(base, texels, texture, linear, u, v):
    """Multiply `base` by the texture at (u, v): bilinear, repeating, v up."""
    start, width, height = texture[0], texture[1], texture[2]
    x = u * width - 0.5
    y = (1.0 - v) * height - 0.5
    x0, y0 = np.floor(x), np.floor(y)
    fx, fy = x - x0, y - y0
    left, right = np.int64(x0) % width, (np.int64(x0) + 1) % width
    upper, lower = np.int64(y0) % height, (np.int64(y0) + 1) % height
    for channel in range(3):
        above = (1.0 - fx) * linear[texels[start + upper * width + left, channel]] + fx * linear[
            texels[start + upper * width + right, channel]
        ]
        below = (1.0 - fx) * linear[texels[start + lower * width + left, channel]] + fx * linear[
            texels[start + lower * width + right, channel]
        ]
        base[channel] *= (1.0 - fy) * above + fy * below
