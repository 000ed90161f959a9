"""Make the GIFs of README.md: python docs/readme_pictures.py [NAME ...].

Everything is made by the package and the weights that ship. Objects are of the test split, one of
each of four categories evenly spread over the alphabet; scenes for the world model are the first of
seeds that no training store has. Of the four fits two are shown, one good and one bad.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.Image import Dither

from kin4d import Camera, Clip, LearnedBody, articulate, fit, load_robot, load_world_model
from kin4d.benchmarks.dynamics.scenes import SCENES
from kin4d.benchmarks.object_pose.cases import Case, case_specs
from kin4d.benchmarks.object_pose.images import chosen_cases, sweep_frames
from kin4d.benchmarks.world.images import point_colours
from kin4d.benchmarks.world.metrics import WorldMetrics
from kin4d.kinematics.random_motion import random_motion
from kin4d.render.pointmaps import render_bodies, render_clip
from kin4d.tasks.record import EpisodeSpec, make_episode

FOLDER = Path(__file__).parent / "images" / "readme"
FPS = 12
SEED = 910_000_000
"""Scenes of seeds from here on are in no training store."""


def objects() -> list[Case]:
    """Four objects of the test split."""
    return chosen_cases(case_specs(each=1, unseen=0, objects=(), seed=0), 4, seed=0)


def articulated() -> np.ndarray:
    """Predicted joints of four meshes, the first two swept from limit to limit."""
    bodies = [articulate(case.mesh) for case in objects()]
    return two_rows(sweep_frames(bodies, frames=16, tile=150))


def fitted() -> np.ndarray:
    """Two fits (the middle two objects): the mesh moving to the fitted pose, beside the target."""
    rows = []
    for case in objects()[1:3]:
        found = fit(LearnedBody.from_mesh(case.mesh), case.target(0)).vertices
        share = np.concatenate([np.linspace(0, 1, 12), np.ones(8)])[:, None, None]
        moving = case.mesh.vertices + share * (found - case.mesh.vertices)
        both = np.concatenate([moving, case.goals[:1]]).astype(np.float32)
        clip = Clip(mesh=case.mesh, vertices=both, fps=FPS)
        rgb = render_clip(clip, width=150, height=150, threads=1).rgb
        rows.append(np.concatenate([rgb[:-1], rgb[-1:].repeat(len(share), 0)], axis=2))
    return np.concatenate(rows, axis=1)


def simulated() -> np.ndarray:
    """A thrown ball and a door; a cloth in the wind."""
    columns = []
    for name in ("collision", "curtain"):
        clip = SCENES[name].run(seconds=2.5, fps=FPS).clip
        columns.append(render_clip(clip, width=150, height=300).rgb)
    return np.concatenate(columns, axis=2)


def rendered() -> np.ndarray:
    """The shipped arm between random states: colour, and XYZ in camera metres as colours."""
    arm = load_robot("kin4d_arm")
    camera = Camera.look_at((1.2, -1.2, 0.8), (0, 0, 0.35), width=150, height=300)
    video = render_bodies([arm], [random_motion(arm, 3, frames=12)], camera, antialias=2)
    shown = video.xyz[video.mask > 0].reshape(1, -1, 3)
    return np.concatenate([video.rgb, point_colours(video.xyz, shown)], axis=2)


def imagined() -> np.ndarray:
    """Two scenes: simulated truth, prediction from the first frame, predicted XYZ."""
    model = load_world_model("tiny")
    columns = []
    for task in ("open_drawer", "pick_and_place"):
        metrics = WorldMetrics(make_episode(EpisodeSpec(task=task, seed=SEED)))
        predicted = model.imagine(metrics.observation)
        truth = metrics.episode.video
        shown = point_colours(predicted.xyz, truth.xyz[0])
        columns.append(np.concatenate([truth.rgb, predicted.rgb, shown], axis=1)[::2])
    return np.concatenate(columns, axis=2).repeat(2, 1).repeat(2, 2)


def recorded() -> np.ndarray:
    """Four tasks of the episode generator, with the scripted expert."""
    specs = [
        EpisodeSpec(task=task, seed=SEED) for task in ("push", "stack", "open_door", "close_lid")
    ]
    videos = [make_episode(spec, frames=25, width=180, height=180).video for spec in specs]
    return two_rows(np.concatenate([video.rgb for video in videos], axis=2))


def write_gif(frames: np.ndarray, path: Path) -> None:
    """Write frames [T, H, W, 3] uint8 without dithering: a third of the size of `write_video`'s."""
    palette = Image.fromarray(frames.reshape(-1, *frames.shape[2:])).quantize(256)
    images = [Image.fromarray(one).quantize(palette=palette, dither=Dither.NONE) for one in frames]
    path.parent.mkdir(parents=True, exist_ok=True)
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=round(1000 / FPS), loop=0
    )


def two_rows(frames: np.ndarray) -> np.ndarray:
    """Frames [T, H, W, 3] whose right half is moved below the left one."""
    return np.concatenate(np.split(frames, 2, axis=2), axis=1)


PICTURES = {
    "articulate": articulated,
    "fit": fitted,
    "simulate": simulated,
    "robot": rendered,
    "imagine": imagined,
    "episodes": recorded,
}


def main(names: list[str]) -> None:
    """Draw the pictures with these names, or all."""
    for name in names or PICTURES:
        path = FOLDER / f"{name}.gif"
        write_gif(PICTURES[name](), path)
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1:])
