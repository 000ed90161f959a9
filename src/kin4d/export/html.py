"""HTML: a clip as one page that plays by itself: no other files, no network, no server.

A page holds each vertex once, and per frame only what moves it: a rotation and a translation for
each joint of a skin, or the amounts of a few modes of a surface that deforms freely.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kin4d.errors import InputError
from kin4d.export.mesh_arrays import vertex_colors
from kin4d.files import write_bytes
from kin4d.geometry.clip import Clip
from kin4d.geometry.transforms import matrix_to_quaternion

_STEPS = 65535  # of a position along an axis of the rest pose's box


def clip_html(clip: Clip, *, title: str | None = None, tolerance: float = 1e-3) -> str:
    """A page that plays a clip.

    Args:
        clip: The motion. Colours of textures are those at the vertices.
        title: Shown in the page; the mesh's name if not given.
        tolerance: By how much a vertex of a surface without a skin may be off, relative to the
            clip's bounding-box diagonal: more makes the page smaller.
    """
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise InputError("tolerance of a page", value=tolerance, allowed="> 0, 1e-3 by default")
    vertex, faces, colors = _colored(clip)
    rest = clip.mesh.vertices[vertex]
    low, size = rest.min(0), np.maximum(np.ptp(rest, axis=0), 1e-9)
    arrays: dict[str, np.ndarray] = {
        "faces": np.diff(faces.ravel(), prepend=0).astype(np.int32),
        "positions": np.rint((rest - low) / size * _STEPS).astype(np.uint16),
        "colors": colors,
    }
    modes: list[float] = []
    if clip.skin is not None:
        transforms = clip.skin.transforms
        arrays["carriers"] = clip.skin.joints[vertex].astype(np.uint16)
        weights = np.rint(255 * clip.skin.weights[vertex])
        # Rounded weights add up to one again: the largest takes what is left.
        largest = weights.argmax(1)
        weights[np.arange(len(weights)), largest] += 255 - weights.sum(1)
        arrays["weights"] = weights.astype(np.uint8)
    else:
        transforms = np.broadcast_to(np.eye(4), (len(clip), 1, 4, 4))
        arrays["carriers"] = np.zeros((len(vertex), 1), np.uint16)
        arrays["weights"] = np.full((len(vertex), 1), 255, np.uint8)
        if len(clip) > 1 or np.abs(clip.vertices[0] - clip.mesh.vertices).max() > 0:
            basis, amounts, modes = _modes(clip, vertex, low, size, tolerance)
            arrays |= {"basis": basis, "amounts": amounts}
    turns = matrix_to_quaternion(torch.from_numpy(np.array(transforms[..., :3, :3]))).numpy()
    arrays["turns"] = np.rint(32767 * turns).astype(np.int16)
    arrays["shifts"] = transforms[..., :3, 3].astype(np.float32)
    title = clip.mesh.name if title is None else title
    bounds = clip.bounds
    header = {
        "frames": len(clip),
        "fps": clip.fps,
        "vertices": len(vertex),
        "joints": transforms.shape[1],
        "modes": modes,
        "low": bounds[0].tolist(),
        "high": bounds[1].tolist(),
        "restLow": low.tolist(),
        "restHigh": (low + size).tolist(),
    }
    return fill_page("clip.html", {"title": html.escape(title), **pack_arrays(header, arrays)})


def write_html(
    clip: Clip, path: str | Path, *, title: str | None = None, tolerance: float = 1e-3
) -> Path:
    """Write `clip_html` to a file."""
    return write_bytes(Path(path), clip_html(clip, title=title, tolerance=tolerance).encode())


def fill_page(name: str, values: Mapping[str, str]) -> str:
    """A page that ships, with every ``{{key}}`` replaced; values are put in as they are."""
    text = files("kin4d").joinpath("assets", "page", name).read_text("utf-8")
    # All at once: a value that looks like a key stays as it is.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], text)


def pack_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Values for `fill_page`: a header as JSON, and arrays that it lists, compressed."""
    listed = [[name, array.dtype.str[1:], array.size] for name, array in arrays.items()]
    return {
        "header": json.dumps({**header, "arrays": listed}).replace("<", "\\u003c"),
        "data": base64.b64encode(zlib.compress(_planes(arrays), 9)).decode(),
    }


def _planes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """All first bytes of an array's numbers, then all second ones, ...: they compress better."""
    out = []
    for array in arrays.values():
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        out.append(little.reshape(-1, 1).view(np.uint8).reshape(little.size, -1).T.tobytes())
    return b"".join(out)


def _colored(clip: Clip) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [N] of the mesh, triangles [F, 3] over these, and their colours [N, 3] uint8.

    A vertex where materials meet is there once for each.
    """
    mesh = clip.mesh
    assert mesh.face_material is not None
    count = len(mesh.materials)
    corners = mesh.faces.ravel() * count + np.repeat(mesh.face_material, 3)
    pairs, index = np.unique(corners, return_inverse=True)
    vertex, material = np.divmod(pairs, count)
    return vertex, index.reshape(-1, 3), vertex_colors(mesh, vertex, material)


def _modes(
    clip: Clip, vertex: np.ndarray, low: np.ndarray, size: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Modes [K, N, 3] int16 with steps [K], amounts [T, K]: displacements from rest, relative to
    the rest pose's box, are amounts @ (steps * modes)."""
    moved = (clip.vertices[:, vertex] - low) / size
    quantized = np.rint((clip.mesh.vertices[vertex] - low) / size * _STEPS) / _STEPS
    moves = (moved - quantized).reshape(len(clip), -1).astype(np.float32)
    # Directions of space weigh as much as they are long, so that errors are metres.
    weight = np.tile(size, len(vertex)).astype(np.float32)
    gram = (moves * weight) @ (moves * weight).T
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order]
    allowed = tolerance * float(np.linalg.norm(np.ptp(clip.bounds, axis=0)))
    count, left = 0, moves
    while count < len(clip) and _worst(left * weight) > allowed:
        # A few at once: most motions need many or hardly any.
        count = min(len(clip), max(count + 1, int(1.3 * count)))
        chosen = vectors[:, :count].astype(np.float32)
        left = moves - chosen @ (chosen.T @ moves)
    amounts = vectors[:, :count]
    shapes = amounts.T @ moves
    steps = np.abs(shapes).max(1, initial=0.0) / 32767
    basis = np.rint(shapes / np.maximum(steps, 1e-30)[:, None]).astype(np.int16)
    return basis, amounts.astype(np.float32), steps.tolist()


def _worst(error: np.ndarray) -> float:
    """Greatest length of the vectors in [T, 3 N]."""
    return float(np.sqrt(np.square(error.reshape(-1, 3)).sum(1).max(initial=0.0)))
