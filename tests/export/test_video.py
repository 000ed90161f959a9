"""Videos, read back by FFmpeg and Pillow."""

from __future__ import annotations

import av
import numpy as np
import pytest
from PIL import Image

from kin4d.errors import InputError, OutputError
from kin4d.export import video
from kin4d.export.video import read_frames, read_video, write_image, write_video


def moving_square(frames: int, height: int, width: int) -> np.ndarray:
    """A red square that moves right over a grey shade."""
    shade = np.linspace(40, 200, width).astype(np.uint8)
    pixels = np.broadcast_to(shade[None, None, :, None], (frames, height, width, 3)).copy()
    for i, frame in enumerate(pixels):
        frame[8:24, 4 + 2 * i : 20 + 2 * i] = (220, 30, 30)
    return pixels


def error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(int) - b).mean())


@pytest.mark.parametrize(("height", "width"), [(48, 64), (47, 63)])
def test_mp4_comes_back(tmp_path, height, width):
    frames = moving_square(10, height, width)
    path = write_video(frames, tmp_path / "a.mp4", fps=12.5)
    again, fps = read_video(path)
    assert fps == pytest.approx(12.5)
    assert again.shape == (10, 48, 64, 3)
    assert error(again[:, :height, :width], frames) < 6
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"


def test_gif_comes_back(tmp_path):
    frames = moving_square(12, 47, 63)
    path = write_video(frames, tmp_path / "a.gif", fps=30)
    with Image.open(path) as gif:
        assert (gif.n_frames, gif.info["loop"]) == (12, 0)
        durations = []
        for i in range(gif.n_frames):
            gif.seek(i)
            durations.append(gif.info["duration"])
            assert error(np.asarray(gif.convert("RGB")), frames[i]) < 4
    assert sum(durations) == pytest.approx(400, abs=10)


def test_still_frames_do_not_shorten_a_gif(tmp_path):
    frames = np.repeat(moving_square(1, 32, 32), 10, 0)
    with Image.open(write_video(frames, tmp_path / "a.gif", fps=10)) as gif:
        total = 0
        for i in range(gif.n_frames):
            gif.seek(i)
            total += gif.info["duration"]
    assert total == 1000


def test_a_picture_comes_back(tmp_path):
    frame = moving_square(1, 9, 11)[0]
    np.testing.assert_array_equal(
        np.asarray(Image.open(write_image(frame, tmp_path / "a.png"))), frame
    )
    with pytest.raises(InputError, match=r"b\.nonsense"):
        write_image(frame, tmp_path / "b.nonsense")
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    "frames",
    [
        np.zeros((2, 4, 4, 4), np.uint8),
        np.zeros((2, 4, 4, 3)),
        np.zeros((0, 4, 4, 3), np.uint8),
        np.zeros((4, 4, 3), np.uint8),
    ],
)
def test_bad_frames(tmp_path, frames):
    with pytest.raises(InputError, match=r"\[T, H, W, 3\] uint8"):
        write_video(frames, tmp_path / "a.mp4", fps=24)


def test_bad_options(tmp_path):
    frames = moving_square(2, 32, 32)
    for fps in (0, 1e-4, 1e9, np.nan):
        with pytest.raises(InputError, match="fps"):
            write_video(frames, tmp_path / "a.gif", fps=fps)
    with pytest.raises(InputError, match=r"\.gif"):
        write_video(frames, tmp_path / "a.avi", fps=24)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        write_video(frames, tmp_path / "file" / "a.gif", fps=24)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_failure_leaves_the_old_file(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"precious")

    def fail(frames, target, fps, **_):
        target.write_bytes(b"half")
        raise RuntimeError("power cut")

    monkeypatch.setattr(video, f"_write_{suffix[1:]}", fail)
    with pytest.raises(RuntimeError):
        write_video(moving_square(2, 32, 32), path, fps=24)
    assert path.read_bytes() == b"precious"


def test_bad_files_to_read(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_video(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("not a video at all")
    with pytest.raises(InputError, match="not a readable video"):
        read_video(tmp_path / "text.mp4")
    whole = write_video(moving_square(5, 32, 32), tmp_path / "a.mp4", fps=24).read_bytes()
    (tmp_path / "half.mp4").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError):
        read_video(tmp_path / "half.mp4")


@pytest.mark.parametrize("key_every", [2, None])
def test_frames_from_the_middle_and_their_times(tmp_path, key_every):
    frames = moving_square(30, 48, 96)
    path = write_video(frames, tmp_path / "a.mp4", fps=10, key_every=key_every)
    part, times = read_frames(path, start=1.2, count=5)
    np.testing.assert_allclose(times, np.arange(12, 17) / 10, atol=1e-6)
    assert error(part, frames[12:17]) < 6
    whole, times = read_frames(path)
    assert len(whole) == 30
    np.testing.assert_allclose(times, np.arange(30) / 10, atol=1e-6)
    with pytest.raises(InputError, match="cut short: 2 of 9 frames"):
        read_frames(path, start=2.8, count=9)
