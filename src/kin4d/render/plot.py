"""Line plots, drawn with nothing but Pillow: quantities over time, for a first look."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_INK = ("#0f766e", "#c2410c", "#4338ca", "#a16207", "#be185d", "#475569")
_PAPER, _GRID, _TEXT = "#ffffff", "#e2e8f0", "#334155"


def plot_lines(
    times: np.ndarray,
    lines: Mapping[str, np.ndarray],
    *,
    title: str = "",
    unit: str = "",
    width: int = 900,
    height: int = 480,
) -> np.ndarray:
    """An image [height, width, 3] uint8 of lines over time.

    Args:
        times: [T] s.
        lines: Values [T] by name; what is not finite is left out.
        title: Above.
        unit: Of the values.
        width: Pixels.
        height: Pixels.
    """
    from PIL import Image, ImageDraw, ImageFont

    scale = 2  # drawn large and shrunk: smooth lines
    size = (width * scale, height * scale)
    font = ImageFont.load_default(15 * scale)
    image = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = 90 * scale, 50 * scale, size[0] - 20 * scale, size[1] - 50 * scale
    values = np.concatenate([np.ravel(line) for line in lines.values()])
    rows = _ticks(values[np.isfinite(values)], 6)
    columns = _ticks(np.asarray(times, np.float64), 8)
    low, high, start, end = (
        rows[0],
        rows[-1],
        float(times[0]),
        float(max(times[-1], times[0] + 1e-9)),
    )

    def x(time):
        return left + (right - left) * (time - start) / (end - start)

    def y(value):
        return bottom - (bottom - top) * (value - low) / (high - low)

    for tick in rows:
        draw.line([(left, y(tick)), (right, y(tick))], fill=_GRID, width=scale)
        draw.text((left - 8 * scale, y(tick)), f"{tick:g}", _TEXT, font, anchor="rm")
    for tick in columns[(columns >= start) & (columns <= end)]:
        draw.line([(x(tick), top), (x(tick), bottom)], fill=_GRID, width=scale)
        draw.text((x(tick), bottom + 8 * scale), f"{tick:g}", _TEXT, font, anchor="ma")
    for ink, line in zip(_ink(len(lines)), lines.values(), strict=True):
        whole = np.isfinite(line)
        path = np.stack([x(np.asarray(times)), y(np.asarray(line, np.float64))], -1)[whole]
        if len(path) > 1:
            draw.line([tuple(point) for point in path], fill=ink, width=2 * scale, joint="curve")
    at = float(left)
    for ink, name in zip(_ink(len(lines)), lines, strict=True):
        draw.rectangle([at, 26 * scale, at + 14 * scale, 32 * scale], fill=ink)
        draw.text((at + 20 * scale, 29 * scale), name, _TEXT, font, anchor="lm")
        at += 44 * scale + draw.textlength(name, font)
    draw.text((left, 10 * scale), title, _TEXT, font, anchor="lm")
    draw.text((left - 8 * scale, 29 * scale), unit, _TEXT, font, anchor="rm")
    draw.text(((left + right) / 2, size[1] - 12 * scale), "time (s)", _TEXT, font, anchor="ms")
    return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))


def _ink(count: int) -> list[str]:
    return [_INK[i % len(_INK)] for i in range(count)]


def _ticks(values: np.ndarray, count: int) -> np.ndarray:
    """Round numbers, evenly spaced, from at or below the least value to at or above the largest."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-12):
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough)
    return np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
