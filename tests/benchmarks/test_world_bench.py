"""The world benchmark end to end, on a store of toy episodes and untrained weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pushed_block import FRAMES, pushed_block

from kin4d.benchmarks import world
from kin4d.benchmarks.world import cases
from kin4d.benchmarks.world import experiments as trials
from kin4d.benchmarks.world.baselines import BARE, COMPOSITE, COPY, MODEL, load_rows
from kin4d.benchmarks.world.tables import WorldResult, tables
from kin4d.benchmarks.world.thresholds import check_thresholds
from kin4d.episodes.episode import Episode
from kin4d.episodes.splits import episode_split
from kin4d.episodes.store import EpisodeStore
from kin4d.export.video import read_video
from kin4d.world.diffusion.codec import PcaCodec
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.latent_video import LatentVideoModel, save_latent_video_model
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.object_world.refinement import RefineConfig, RefineNet
from kin4d.world.object_world.segmentation import PartSegmenter, SegmenterConfig


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two test episodes that are a hit and a miss, and two to train on."""
    found: dict[str, list[int]] = {"test": [], "train": []}
    for seed in range(2000):
        who = {"robot": "kin4d_arm", "task": "push", "source": "kin4d", "seed": seed}
        split = episode_split(who)
        if split in found:
            found[split].append(seed)
        if found["test"] and len(found["train"]) >= 2:
            break
    seed = found["test"][0]
    every = [_episode(seed, "near_hit"), _episode(seed, "near_miss")]
    every += [_episode(one, "noisy") for one in found["train"][:2]]
    path = tmp_path_factory.mktemp("world") / "store"
    EpisodeStore.write(path, every)
    return path


def _episode(seed: int, kind: str) -> Episode:
    return pushed_block(
        0,
        speed=0 if kind == "near_miss" else 2,
        name=f"{seed}-{kind}",
        seed=seed,
        task="push",
        factors={},
        meta={"kind": kind},
    )


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    segmenter = PartSegmenter(SegmenterConfig(parts=2, widths=(8, 8)))
    refiner = RefineNet(RefineConfig(widths=(8, 8)))
    file = tmp_path_factory.mktemp("weights") / "toy.safetensors"
    ObjectWorldModel(segmenter, PartDynamics(DynamicsConfig(width=8, memory=8)), refiner).save(
        file, {}
    )
    return file


def test_everything_is_measured(
    store: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "_has_robots", lambda: False)
    report = world.run(quick=True, seed=0, episodes=store, weights=[str(weights)], images=tmp_path)
    kinds = {next(iter(row)) for row in report.rows}
    assert kinds == {
        "set",
        "parts looked for",
        "near misses by",
        "near misses in",
        "robot",
        "stretches",
        "speed of",
    }
    by_task = [row for row in report.rows if "near misses in" in row]
    predicted = next(row for row in report.rows if row.get("near misses by") == MODEL)
    assert sum(row["pairs"] for row in by_task) == predicted["pairs"]
    right = sum(row["pairs"] * row["right"] for row in by_task)
    assert right == pytest.approx(predicted["pairs"] * predicted["right"])
    names = {row["row"] for row in report.rows if "row" in row}
    assert {COPY, COMPOSITE, BARE, MODEL} <= names
    tracker = next(row for row in report.rows if "parts looked for" in row)
    assert tracker["truth, off px"] == tracker["copied first frame, off px"] == 0
    composite = next(row for row in report.rows if row.get("near misses by") == COMPOSITE)
    assert composite["right"] == 0.5
    ceiling = next(row for row in report.rows if row.get("near misses by") == world.CEILING)
    assert ceiling["right"] == 1
    assert len(report.checks) == 4 + 1 + 4 + 1
    assert report.weights.keys() == {"toy"}
    frames, _ = read_video(tmp_path / "world_0.gif")
    assert frames.shape == ((FRAMES + 1) // 2, 64, 2 * (3 * 48 + 4), 3)


def test_sets_come_from_splits(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "_has_robots", lambda: False)
    with cases.open_cases(store, each=1, seed=0) as chosen:
        assert {name: len(some) for name, some in chosen.chosen.items()} == {"test": 1}
        assert len(chosen.training(5)) == 2
        assert len(list(chosen.pairs(5, seed=0))) == 1


def test_further_weights_are_rows_of_their_own(weights: Path, tmp_path: Path) -> None:
    run = tmp_path / "other" / "weights.safetensors"
    run.parent.mkdir()
    run.write_bytes(weights.read_bytes())
    rows, digests = load_rows([str(weights), str(run.parent)])
    assert [*rows] == [BARE, MODEL, "other"]
    assert digests["toy"] == digests["other"]


def test_a_generator_is_a_row_like_any_other_and_its_steps_are_counted(
    store: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "_has_robots", lambda: False)
    torch.manual_seed(0)
    config = DiffusionConfig(
        frames=FRAMES,
        height=32,
        width=48,
        latent_channels=8,
        layers=1,
        heads=2,
        head_dim=16,
        ffn=32,
        robot_patch=2,
        robot_width=8,
        text_dim=8,
        frequencies=16,
    )
    save_latent_video_model(
        tmp_path / "flow.safetensors", LatentVideoModel(config, PcaCodec(8)), {}
    )
    models, _ = load_rows([str(weights), str(tmp_path / "flow.safetensors")])
    with cases.open_cases(store, each=1, seed=0) as chosen:
        report = trials.few_steps(chosen, models, 1)
        assert [row["steps of the flow"] for row in report.rows] == [*trials.STEPS]
        assert {row["row"] for row in report.rows} == {"flow"}
        results = world.score_rows(chosen, {"flow": models["flow"].imagine})
    assert {one.row for one in results} == {"flow", world.CEILING}


def test_bars_of_control_and_geometry_need_their_rows() -> None:
    def row(name: str, psnr: float, far: float) -> WorldResult:
        figures = {"PSNR": psnr, "PSNR moving": psnr, "PSNR touched": psnr, "CD-L1": far}
        return WorldResult("test", name, {**figures, "off last": far, "sharpness": 0.9})

    few = check_thresholds([row(COMPOSITE, 12, 10), row(MODEL, 18, 3)])
    assert [check.passed for check in few.checks] == [True] * 4
    rows = [row(COMPOSITE, 12, 10), row(MODEL, 18, 3), row("text", 10, 6), row("pointmap", 9, 6)]
    checks = {check.name: check for check in check_thresholds(rows).checks}
    assert checks["CD-L1, of the text-controlled model's"].passed
    assert not checks["control: PSNR of pointmap above text (dB)"].passed


def test_tables_show_a_dash_for_what_is_not_there() -> None:
    rows = tables([WorldResult("test", COPY, {"PSNR": 20.0, "SSIM": float("nan")})])
    assert rows[0] == {"set": "all", "row": COPY, "clips": 1, "PSNR": 20.0, "SSIM": "-"}
