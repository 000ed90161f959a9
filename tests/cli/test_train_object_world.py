"""`kin4d train object-world` and `kin4d train diffusion`: from a store to weights that imagine."""

import json
from dataclasses import replace

import numpy as np
import pytest

from kin4d.cli import main

pytest.importorskip("mujoco")
pytest.importorskip("diffusers")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    from kin4d.episodes.splits import episode_split
    from kin4d.episodes.store import EpisodeStore, episode_record
    from kin4d.tasks.record import EpisodeSpec, make_episode

    path = tmp_path_factory.mktemp("world") / "episodes"
    kept = []
    for seed in range(20):
        episode = make_episode(EpisodeSpec(task="push", seed=seed))
        if episode_split(episode_record(episode).line) == "train":
            kept.append(episode)
        if len(kept) == 3:
            break
    return EpisodeStore.write(path, kept)


def test_networks_are_trained_joined_and_used(store, tmp_path, capsys):
    from kin4d.export.video import write_image

    run = tmp_path / "run"
    train = ["train", "object-world", "--output", str(run), "--episodes", str(store.path)]
    assert main([*train, "--steps", "2", "--batch", "4", "--json"]) == 0
    weights = json.loads(capsys.readouterr().out)["weights"]
    episode = store.episode(0)
    write_image(episode.video.rgb[0], tmp_path / "first.png")
    camera = episode.video.camera
    in_base = np.linalg.inv(episode.base) @ camera.pose
    replace(camera, pose=in_base).save(tmp_path / "camera.json")
    np.savez(
        tmp_path / "actions.npz",
        joint=episode.joints,
        names=np.array(episode.joint_names),
        fps=episode.fps,
    )
    ask = [
        *("imagine", "--image", str(tmp_path / "first.png"), "--robot", "kin4d_arm"),
        *("--actions", str(tmp_path / "actions.npz"), "--camera", str(tmp_path / "camera.json")),
        *("--weights", weights, "--frames", "5", "--num-samples", "2", "--json"),
    ]
    assert main([*ask, "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert (tmp_path / "out" / "pointmap-1.npz").exists()
    assert json.loads(said.out)["depth"] == "estimated"


def test_a_generator_is_trained_on_kept_latents(store, tmp_path, capsys):
    from kin4d.world.episode_observation import episode_observation
    from kin4d.world.model import load_world_model

    run = tmp_path / "run"
    train = ["train", "diffusion", "--output", str(run), "--episodes", str(store.path)]
    assert main([*train, "--steps", "1", "--batch", "2", "--control", "mask", "--json"]) == 0
    weights = json.loads(capsys.readouterr().out)["weights"]
    assert any((run / "latents").iterdir())
    video = load_world_model(weights).imagine(episode_observation(store.episode(0)))
    assert video.rgb.shape == (49, 64, 96, 3)
    assert np.isfinite(video.xyz).mean() > 0.5


def test_one_network_is_trained_on_and_the_others_stay_as_they_ship(store, tmp_path, capsys):
    from kin4d.training import load_tensors
    from kin4d.training.weights import weights_file

    train = [
        "train",
        "object-world",
        "--output",
        str(tmp_path / "run"),
        "--episodes",
        str(store.path),
    ]
    some = [
        "--networks",
        "segmentation",
        "--init-weights",
        "tiny",
        "--steps",
        "2",
        "--batch",
        "2",
        "--json",
    ]
    assert main([*train, *some]) == 0
    made, about = load_tensors(json.loads(capsys.readouterr().out)["weights"])
    ships, before = load_tensors(weights_file("tiny", "world"))
    assert made.keys() == ships.keys()
    changed = {name.split(".")[0] for name, one in made.items() if not one.equal(ships[name])}
    assert changed == {"segmentation"}
    assert about["about"]["dynamics"] == before["about"]["dynamics"]
    assert about["about"]["segmentation"]["training"]["step"] == 2


def test_a_codec_is_made_and_a_generator_works_in_its_latents(store, tmp_path, capsys):
    from kin4d.world.diffusion.latent_video import load_latent_video_model

    where = ["--episodes", str(store.path), "--steps", "1", "--json"]
    form = ["--codec-type", "pca", "--channels", "4"]
    assert main(["train", "codec", "--output", str(tmp_path / "pca"), *form, *where]) == 0
    lost = json.loads(capsys.readouterr().out)
    assert 0 < lost["metres"] < 1
    shared = ["--codec", lost["codec"], "--batch", "1"]
    assert main(["train", "diffusion", "--output", str(tmp_path / "run"), *shared, *where]) == 0
    config = load_latent_video_model(tmp_path / "run").config
    assert (config.codec, config.latent_channels) == ("pca", 4)


def test_a_vae_learns_from_short_stretches(store, tmp_path, capsys, monkeypatch):
    from kin4d.world.diffusion import train_vae

    seen = []
    loss = train_vae.vae_loss
    monkeypatch.setattr(
        train_vae,
        "vae_loss",
        lambda *given, **k: seen.append(given[1].rgb.shape) or loss(*given, **k),
    )
    monkeypatch.setattr("kin4d.cli.train_codec._DEV", 1)
    train = ["train", "codec", "--output", str(tmp_path / "vae"), "--episodes", str(store.path)]
    train += ["--width", "4", "--channels", "4", "--steps", "1", "--json"]
    assert main([*train, "--frames", "5"]) == 0
    assert json.loads(capsys.readouterr().out)["metres"] > 0
    assert seen == [(1, 5, 64, 96, 3)]
    assert main([*train, "--frames", "6"]) == 2
    assert "49" in capsys.readouterr().err
