"""`kin4d data import` and `export`: episodes from and to the layouts of others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tyro
from made_episode import made_episode
from PIL import Image

from kin4d.cli.data import data_command
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError
from kin4d.export.video import write_video

pytest.importorskip("pyarrow")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    tyro.cli(data_command, args=[str(argument) for argument in (*arguments, "--json")])
    return json.loads(capsys.readouterr().out)


def test_a_store_goes_out_and_comes_back(capsys, tmp_path: Path) -> None:
    store = tmp_path / "store"
    EpisodeStore.write(store, [made_episode(seed) for seed in range(3)])
    assert run(capsys, "verify", store)["episodes"] == 3
    found = run(capsys, "stats", store)
    assert (found["episodes"], found["tasks"]) == (3, {"reach": 3})
    run(
        capsys,
        "preview",
        "--output",
        tmp_path / "previews",
        "--source",
        f"store:{store}",
        "--tile",
        48,
    )
    image = np.asarray(Image.open(tmp_path / "previews" / "reach.jpg"))
    assert image.shape == (3 * 32, 6 * 48, 3)
    for layout in ("lerobot", "lerobot-v2.1", "robo4d"):
        out, back = tmp_path / layout, tmp_path / f"{layout} back"
        wrote = run(capsys, "export", store, "--output", out, "--layout", layout, "--limit", 2)
        assert (wrote["episodes"], wrote["layout"]) == (2, layout)
        made = run(capsys, "import", out, "--output", back)
        assert (made["episodes"], made["rejected"]) == (2, {})
        episode = EpisodeStore.open(back).episode(1)
        assert episode.name == "000001"
        np.testing.assert_allclose(episode.joints, made_episode(1).joints, atol=1e-6)
    with pytest.raises(InputError, match="unknown layout"):
        run(capsys, "export", store, "--output", tmp_path / "x", "--layout", "zip")
    with pytest.raises(InputError, match="no such episodes"):
        run(capsys, "export", store, "--output", tmp_path / "x", "--split", "unseen_arm")


def droid(folder: Path, frames: int = 60) -> Path:
    """A recording of the shipped arm in the layout of DROID, which knows no camera."""
    episode = made_episode(0, frames=frames)
    (folder / "annotation").mkdir(parents=True)
    annotation = {"texts": ["wave"], "episode_id": 0, "success": 1}
    for key in ("observation.state", "action"):
        annotation |= {
            f"{key}.joint_position": np.pad(episode.joints, ((0, 0), (0, 7)))[:, :7].tolist(),
            f"{key}.cartesian_position": [[0.4, 0, 0.5, 3.1, 0, 0]] * frames,
            f"{key}.gripper_position": [0.0] * frames,
        }
    (folder / "annotation" / "0.json").write_text(json.dumps(annotation))
    write_video(episode.video.rgb, folder / "videos" / "0" / "0.mp4", fps=15.0)
    return folder


def test_a_recording_needs_a_camera(capsys, tmp_path: Path) -> None:
    folder = droid(tmp_path / "droid")
    with pytest.raises(InputError, match="kin4d calibrate panda"):
        run(capsys, "import", folder, "--output", tmp_path / "s")
    camera = made_episode(0).video.camera
    camera.save(tmp_path / "camera.json")
    # The shipped arm has no joints of these names: nothing can become an episode.
    with pytest.raises(InputError, match=r"nothing of .*droid became an episode: unreadable 1"):
        run(capsys, "import", folder, "--output", tmp_path / "s", "--camera",
            tmp_path / "camera.json", "--robot", "kin4d_arm")  # fmt: skip
