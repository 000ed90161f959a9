"""LeRobot folders: written for others to read, and read from what others wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from made_episode import made_episode
from PIL import Image

from kin4d.bodies.robot.registry import load_robot
from kin4d.episodes.converter import RecordingConverter
from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.lerobot import LeRobotFolder
from kin4d.episodes.formats.lerobot_write import write_lerobot
from kin4d.episodes.formats.reader import open_dataset
from kin4d.errors import InputError
from kin4d.export.video import write_video
from kin4d.kinematics.actions import Actions

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def pose_episode(seed: int) -> Episode:
    rng = np.random.default_rng(seed)
    actions = Actions(
        kind="pose_delta",
        values=rng.normal(size=(49, 6)) * 0.01,
        fps=10.0,
        gripper=rng.uniform(size=49),
        link="tip",
    )
    return made_episode(seed, actions=actions, language=f"do {seed % 2}")


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [pose_episode(seed) for seed in range(5)]


@pytest.fixture(scope="module")
def v3(episodes: list[Episode], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lerobot(episodes, tmp_path_factory.mktemp("a") / "v3", per_file=2)


def test_v3_layout_is_the_documented_one(v3: Path) -> None:
    files = {str(p.relative_to(v3)) for p in v3.rglob("*") if p.is_file()}
    assert files == {
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "meta/kin4d.jsonl",
        *(f"data/chunk-000/file-00{i}.parquet" for i in range(3)),
        *(f"videos/observation.images.main/chunk-000/file-00{i}.mp4" for i in range(3)),
    }
    info = json.loads((v3 / "meta" / "info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (5, 245, 2)
    assert info["fps"] == 10
    assert info["splits"] == {"train": "0:5"}
    assert info["data_path"] == "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    assert info["robot_type"] == "kin4d_arm"
    for feature in info["features"].values():
        assert set(feature) >= {"dtype", "shape", "names"}
    assert info["features"]["observation.images.main"]["shape"] == [32, 48, 3]
    assert info["features"]["action"]["names"][-1] == "gripper"


def test_v3_is_read_by_pyarrow_alone(v3: Path, episodes: list[Episode]) -> None:
    tables = [pq.read_table(v3 / f"data/chunk-000/file-00{i}.parquet") for i in range(3)]
    table = pa.concat_tables(tables)
    assert table.num_rows == 245
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    n = len(episodes[0].joint_names)
    assert types["action"].startswith("fixed_size_list")
    assert types["action"].endswith("[7]")
    assert types["observation.state"].endswith(f"[{n}]")
    assert (types["timestamp"], types["index"], types["next.success"]) == ("float", "int64", "bool")
    assert table["index"].to_pylist() == list(range(245))
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert set(features) == set(table.column_names)
    assert features["observation.depth.main"] == {"_type": "Image"}
    state = np.array(table["observation.state"].to_pylist(), np.float32).reshape(5, 49, n)
    np.testing.assert_allclose(state[3], episodes[3].joints, atol=1e-6)
    # A command stands in the frame in which it is given, one before the frame it leads to.
    action = np.array(table["action"].to_pylist()).reshape(5, 49, 7)
    np.testing.assert_allclose(action[2, :-1, :6], episodes[2].actions.values[1:], atol=1e-6)
    np.testing.assert_allclose(action[2, -1, :6], 0, atol=1e-6)
    cell = table["observation.depth.main"][49].as_py()["bytes"]
    depth = np.asarray(Image.open(BytesIO(cell)))
    assert depth.dtype == np.uint16
    assert np.abs(depth / 1000 - episodes[1].video.xyz[0, ..., 2]).max() <= 0.00051
    rows = pq.read_table(v3 / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    key = "videos/observation.images.main"
    assert [row[f"{key}/file_index"] for row in rows] == [0, 0, 1, 1, 2]
    assert [row[f"{key}/from_timestamp"] for row in rows] == [0, 4.9, 0, 4.9, 0]
    assert [row["dataset_from_index"] for row in rows] == [0, 49, 98, 147, 196]
    assert rows[1]["tasks"] == ["do 1"]
    assert len(rows[0]["stats/action/mean"]) == 7
    tasks = pq.read_table(v3 / "meta/tasks.parquet")
    assert tasks.column_names == ["task_index", "task"]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    stats = json.loads((v3 / "meta/stats.json").read_text())
    joints = np.concatenate([one.joints for one in episodes])
    np.testing.assert_allclose(stats["observation.state"]["mean"], joints.mean(0), atol=1e-6)
    np.testing.assert_allclose(stats["observation.state"]["std"], joints.std(0), atol=1e-6)
    assert np.shape(stats["observation.images.main"]["mean"]) == (3, 1, 1)


def test_v3_is_read_by_datasets(v3: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    files = [str(path) for path in sorted(v3.glob("data/*/*.parquet"))]
    found = datasets.Dataset.from_parquet(files, cache_dir=str(tmp_path))
    assert len(found) == 245
    row = found[60]
    assert (row["episode_index"], row["frame_index"]) == (1, 11)
    assert row["observation.depth.main"].size == (48, 32)
    assert len(row["action"]) == 7


@pytest.mark.parametrize("version", ["v3.0", "v2.1"])
def test_there_and_back(version: str, v3: Path, episodes: list[Episode], tmp_path: Path) -> None:
    folder = v3
    if version == "v2.1":
        folder = write_lerobot(episodes, tmp_path / "v2", version=version)
        assert (folder / "data/chunk-000/episode_000004.parquet").is_file()
        assert len((folder / "meta/episodes_stats.jsonl").read_text().splitlines()) == 5
    found = open_dataset(folder)
    assert len(found) == 5
    for index in (0, 3, 4):
        back, put = found.read(index), episodes[index]
        assert isinstance(back, Episode)
        assert (back.name, back.language, back.success) == (put.name, put.language, put.success)
        assert np.abs(back.video.rgb.astype(int) - put.video.rgb).mean() < 4
        assert (back.video.mask == put.video.mask).all()
        assert np.abs(back.video.xyz - put.video.xyz).max() < 0.0007
        np.testing.assert_allclose(back.joints, put.joints, atol=1e-6)
        np.testing.assert_allclose(back.actions.values[1:], put.actions.values[1:], atol=1e-6)
        np.testing.assert_allclose(back.actions.gripper[1:], put.actions.gripper[1:], atol=1e-6)
        assert (back.actions.kind, back.actions.link) == ("pose_delta", "tip")


def test_without_geometry_the_camera_is_still_known(tmp_path: Path) -> None:
    base = np.eye(4)
    base[:3, 3] = 0.1, 0.2, 0.3
    put = made_episode(0, base=base)
    write_lerobot([put], tmp_path / "a", geometry=False)
    found = open_dataset(tmp_path / "a").read(0)
    camera = found.view()[1].camera
    np.testing.assert_allclose(base @ camera.pose, put.video.camera.pose, atol=1e-12)
    episode = RecordingConverter(robot="kin4d_arm").episode(found, load_robot("kin4d_arm"))
    np.testing.assert_allclose(episode.joints, put.joints, atol=1e-6)


def test_what_cannot_be_written(episodes: list[Episode], tmp_path: Path) -> None:
    slow = replace(
        episodes[1],
        video=replace(episodes[1].video, fps=4.0),
        actions=replace(episodes[1].actions, fps=4.0),
    )
    with pytest.raises(InputError, match=r"different rates.*give fps"):
        write_lerobot([episodes[0], slow], tmp_path / "a")
    assert not (tmp_path / "a").exists()
    write_lerobot([episodes[0], slow], tmp_path / "a", fps=5.0)
    assert [row["length"] for row in LeRobotFolder(tmp_path / "a").episodes] == [25, 61]
    with pytest.raises(InputError, match="exists already"):
        write_lerobot(episodes, tmp_path / "a")
    with pytest.raises(InputError, match="differs from the first in action"):
        write_lerobot([episodes[0], made_episode(7)], tmp_path / "b")
    with pytest.raises(InputError, match="unknown version"):
        write_lerobot(episodes, tmp_path / "b", version="v1")


def by_hand(folder: Path, *, rows: int = 60, drop: str = "", nan: bool = False) -> Path:
    """A v2.1 folder as others record it: an arm in degrees with a gripper, one camera."""
    rng = np.random.default_rng(0)
    meta = folder / "meta"
    meta.mkdir(parents=True)
    state = rng.uniform(-40, 40, (rows, 6)).astype(np.float32)
    if nan:
        state[7, 2] = np.nan
    motors = ["shoulder_pan.pos", "shoulder_lift.pos", "elbow_flex.pos", "wrist_flex.pos",
              "wrist_roll.pos", "gripper.pos"]  # fmt: skip
    info = {
        "codebase_version": "v2.1",
        "robot_type": "so100",
        "total_episodes": 2,
        "fps": 30,
        "chunks_size": 1000,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/"
        "episode_{episode_index:06d}.mp4",
        "features": {
            "action": {"dtype": "float32", "shape": [6], "names": motors},
            "observation.state": {"dtype": "float32", "shape": [6], "names": {"motors": motors}},
            "observation.images.front": {"dtype": "video", "shape": [32, 48, 3], "names": None},
            "timestamp": {"dtype": "float32", "shape": [1], "names": None},
            "frame_index": {"dtype": "int64", "shape": [1], "names": None},
            "episode_index": {"dtype": "int64", "shape": [1], "names": None},
        },
    }
    (meta / "info.json").write_text(json.dumps(info))
    lines = [{"episode_index": i, "tasks": ["lift the cup"], "length": rows} for i in range(2)]
    (meta / "episodes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (meta / "tasks.jsonl").write_text('{"task_index": 0, "task": "lift the cup"}\n')
    for i in range(2):
        columns = {
            "action": (state + i).tolist(),
            "observation.state": (state + i).tolist(),
            "timestamp": (np.arange(rows) / 30).tolist(),
            "frame_index": list(range(rows)),
            "episode_index": [i] * rows,
        }
        columns.pop(drop, None)
        path = folder / f"data/chunk-000/episode_{i:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
        rgb = np.full((rows, 32, 48, 3), 50 * i + 40, np.uint8)
        write_video(
            rgb, folder / f"videos/chunk-000/observation.images.front/episode_{i:06d}.mp4", fps=30
        )
    return folder


def test_a_v21_folder_made_by_hand(tmp_path: Path) -> None:
    folder = by_hand(tmp_path / "pick")
    found = open_dataset(folder, degrees=True, gripper=-1, gripper_range=(-40.0, 40.0))
    assert len(found) == 2
    recording = found.read(1)
    assert (recording.language, recording.robot, recording.source) == (
        "lift the cup", "so100", "pick",
    )  # fmt: skip
    state = recording.motions["state_joint"]
    table = pq.read_table(folder / "data/chunk-000/episode_000001.parquet")
    raw = np.array(table["observation.state"].to_pylist())
    np.testing.assert_allclose(state.values, np.radians(raw[:, :5]), atol=1e-6)
    assert state.names is None
    assert 0 <= state.gripper.min() < state.gripper.max() <= 1
    assert (
        open_dataset(folder, ignore_joint_names=True).read(0).motions["state_joint"].names is None
    )
    frames, times = recording.view()[1].read()
    assert frames.shape == (60, 32, 48, 3)
    np.testing.assert_allclose(times, np.arange(60) / 30, atol=1e-4)
    assert abs(int(frames.mean()) - 90) < 4
    with pytest.raises(InputError, match=r"no such view.*front"):
        recording.view("wrist")


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lacks columns .* action"):
        open_dataset(by_hand(tmp_path / "a", drop="action")).read(0)
    with pytest.raises(InputError, match=r"observation.state.*NaN.*row 7"):
        open_dataset(by_hand(tmp_path / "b", nan=True)).read(0)
    folder = by_hand(tmp_path / "c")
    video = next(folder.rglob("episode_000000.mp4"))
    video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    with pytest.raises(InputError, match=r"episode_000000.mp4 is not a readable video"):
        open_dataset(folder).read(0).view()[1].read()
    table = next(folder.rglob("episode_000001.parquet"))
    table.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable parquet"):
        open_dataset(folder).read(1)
    with pytest.raises(InputError, match="no such option"):
        open_dataset(folder, colour="red")
    info = json.loads((folder / "meta/info.json").read_text())
    (folder / "meta/info.json").write_text(json.dumps(info | {"codebase_version": "v1.6"}))
    with pytest.raises(InputError, match=r"v1.6.*v3"):
        open_dataset(folder)
    (folder / "meta/info.json").write_text("{}")
    with pytest.raises(InputError, match="not of a LeRobotDataset"):
        open_dataset(folder)
    with pytest.raises(InputError, match="in no layout"):
        open_dataset(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        open_dataset(tmp_path / "gone")
