"""Images over time: MP4 and GIF files; and single images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.files import atomic_path, existing_file
from kin4d.geometry.io.texture import decode_image
from kin4d.isolation import Answer, Ask, isolated
from kin4d.reading import Budget, check_pixels, reading

VIDEO_SUFFIXES = (".mp4", ".gif")
_DEMUXERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif"


def write_video(
    frames: np.ndarray,
    path: str | Path,
    *,
    fps: float,
    lossless: bool = False,
    key_every: int | None = None,
) -> Path:
    """Write `frames` [T, H, W, 3] uint8 as MP4 (H.264) or GIF, by the suffix of `path`.

    MP4 needs even sizes: an odd row or column is repeated once. GIF has one palette of 256
    colours for all frames and loops; its frame times are whole hundredths of a second. `lossless`
    keeps every byte of an MP4's even-sized frames, as RGB; browsers do not play such files.
    `key_every` is the most frames from one that decodes by itself to the next: small for files that
    are read from the middle.
    """
    frames = np.asarray(frames)
    if frames.ndim != 4 or frames.shape[-1] != 3 or frames.dtype != np.uint8 or not frames.size:
        raise InputError(
            "video frames have the wrong form",
            value=(frames.shape, str(frames.dtype)),
            allowed="[T, H, W, 3] uint8",
        )
    if not 0.01 <= fps <= 1000:  # beyond these, files cannot say how long a frame lasts
        raise InputError("video fps out of range", value=fps, allowed="0.01 to 1000")
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in VIDEO_SUFFIXES:
        raise InputError("unknown video suffix", value=suffix, allowed=", ".join(VIDEO_SUFFIXES))
    with atomic_path(path) as temporary:
        if suffix == ".mp4":
            _write_mp4(frames, temporary, fps, lossless=lossless, key_every=key_every)
        else:
            _write_gif(frames, temporary, fps)
    return path


def read_video(path: str | Path) -> tuple[np.ndarray, float]:
    """Frames [T, H, W, 3] uint8 and frames per second of a video file."""
    frames, _, fps = _decode(existing_file(path), 0.0, None)
    if fps <= 0:
        raise InputError(f"{path} holds no video frames")
    return frames, fps


def read_frames(
    path: str | Path, *, start: float = 0.0, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Frames [T, H, W, 3] uint8 of a video file and when each is shown, [T] s from its beginning.

    Args:
        path: The file.
        start: Time (s) of the first frame that is wanted.
        count: How many frames from there; all if None. Fewer than that is an `InputError`.
    """
    frames, times, _ = _decode(existing_file(path), start, count)
    return frames, times


def _decode(path: Path, start: float, count: int | None) -> tuple[np.ndarray, np.ndarray, float]:
    def decoder() -> AbstractContextManager[Ask]:
        return _open_decoder(path, start, count)

    data, shape, budget, times = bytearray(), (0, 0, 3), Budget(path), []
    # In a child: decoders are large programs in C, and files come from anywhere.
    with reading(path, "video"), isolated(path, "FFmpeg", decoder) as ask:
        (fps, expected), _ = ask("open")
        while (answer := ask("frame"))[0] is not None:
            (at, height, width), pixels = answer
            budget.spend(len(pixels), f"frame {len(times)}")
            if times and (height, width, 3) != shape:
                raise ValueError("its frames differ in size")
            shape = height, width, 3
            data += pixels  # grows in place: stacking would take twice as much
            times.append(at)
    if not times:
        raise InputError(f"{path} holds no video frames")
    if len(times) < expected:
        raise InputError(
            f"{path} is cut short: {len(times)} of {expected} frames",
            hint="download or copy the file again",
        )
    frames = np.frombuffer(data, np.uint8).reshape(len(times), *shape)
    return frames, np.array(times), fps


@contextmanager
def _open_decoder(path: Path, start: float, count: int | None) -> Iterator[Ask]:
    """Answers "open" with frame rate and expected number of frames, and "frame" with the next."""
    import av

    # Playlists and the like would have other files opened, here or elsewhere.
    with av.open(str(path), options={"format_whitelist": _DEMUXERS}) as container:
        if not container.streams.video:
            raise InputError(f"{path} holds no video")
        stream = container.streams.video[0]
        check_pixels(stream.width, stream.height)
        fps = float(stream.average_rate or stream.guessed_rate or 0)
        # Headers count a frame or two that players never show.
        expected = stream.frames - 2 if start == 0 and count is None else (count or 0)
        frames = _frames(container, stream, fps, start, count)
        yield lambda what: ((fps, expected), b"") if what == "open" else next(frames, (None, b""))


def _frames(
    container: Any, stream: Any, fps: float, start: float, count: int | None
) -> Iterator[Answer]:
    """Time (s), height and width, and the pixels of each frame that is wanted."""
    origin = (stream.start_time or 0) * float(stream.time_base or 1)
    if start > 0 and stream.time_base:
        container.seek(int((origin + start) / stream.time_base), stream=stream)
    # Half a frame of slack: times are rounded to the file's own clock.
    earliest = origin + start - (0.5 / fps if fps > 0 else 0.0)
    given = 0
    for frame in container.decode(stream):
        at = given / fps if frame.time is None and fps > 0 else frame.time or 0.0
        if at >= earliest:
            check_pixels(frame.width, frame.height)
            pixels = frame.to_ndarray(format="rgb24").tobytes()
            yield (at - origin, frame.height, frame.width), pixels
            given += 1
        if given == count:
            return


def read_image(path: str | Path) -> np.ndarray:
    """[H, W, 3] uint8: an image, of any format that Pillow reads."""
    path = existing_file(path)
    with reading(path, "image"):
        return np.asarray(decode_image(path.read_bytes(), name=str(path)).convert("RGB"))


def write_image(image: np.ndarray, path: str | Path) -> Path:
    """Write `image` [H, W, 3] uint8 as PNG, JPEG or what else the suffix of `path` names."""
    from PIL import Image

    try:
        with atomic_path(path) as temporary:
            Image.fromarray(image).save(temporary)
    except ValueError as error:
        raise InputError(f"cannot write {path}: {error}", allowed=".png, .jpg, ...") from error
    return Path(path)


def _write_mp4(
    frames: np.ndarray, path: Path, fps: float, *, lossless: bool, key_every: int | None
) -> None:
    import av

    _, height, width, _ = frames.shape
    codec = "libx264rgb" if lossless else "libx264"
    if codec not in av.codecs_available:
        if lossless:
            raise InputError(f"this build of PyAV has no {codec}", hint="install PyAV's own wheel")
        codec = "mpeg4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(fps).limit_denominator(1001))
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt = "rgb24" if lossless else "yuv420p"
        if codec != "mpeg4":
            stream.options = {"qp": "0"} if lossless else {"crf": "18"}
        if key_every is not None:
            stream.gop_size = key_every
        for frame in frames:
            even = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), "edge")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")))
        container.mux(stream.encode())


def _write_gif(frames: np.ndarray, path: Path, fps: float) -> None:
    from PIL import Image

    # The palette is that of a few frames stacked: one for all, so that nothing flickers.
    chosen = frames[np.unique(np.linspace(0, len(frames) - 1, 8).astype(int))]
    sample = Image.fromarray(chosen.reshape(-1, *frames.shape[2:]))
    palette = sample.quantize(256, method=Image.Quantize.MEDIANCUT)
    images = [
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
        for frame in frames
    ]
    # Times are rounded as they add up, so that a long clip ends when it should.
    ends = np.rint(np.arange(1, len(frames) + 1) * 100 / fps).astype(int)
    durations = np.maximum(np.diff(ends, prepend=0), 2) * 10
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=durations.tolist(), loop=0
    )
