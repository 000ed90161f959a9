"""Turn recorded rollouts into a store of episodes for `kin4d bench world-outside`.

    python make_store.py rollouts -o episodes

Runs where kin4d is installed. The robots' models are copied into the store's folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

from kin4d import Camera, Episode, PointmapVideo, load_robot
from kin4d.episodes.part_tracks import PartTracks
from kin4d.episodes.store import EpisodeStore

FIRST_PART = 2
FARTHEST = 4.0  # m: beyond it a depth camera sees nothing


def read_rollout(path: Path) -> Episode:
    """The episode of a recorded rollout; its world is the frame of the robot's base."""
    with np.load(path) as file:
        data = dict(file)
    about = json.loads(str(data["about"]))
    to_base = np.linalg.inv(data["base_pose"])
    height, width = data["depth"].shape[1:]
    camera = Camera(data["K"], to_base @ data["camera_pose"], width, height)
    depth = np.where(data["depth"] < FARTHEST, data["depth"], np.nan)
    label = data["label"]
    body = load_robot(path.parent / about["robot"])
    columns = [about["joint_names"].index(name) for name in body.coordinates]
    poses = data["part_poses"]
    from_camera = np.linalg.inv(data["camera_pose"])
    moved = from_camera @ poses @ np.linalg.inv(poses[:1]) @ data["camera_pose"]
    count = poses.shape[1]
    video = PointmapVideo(
        rgb=data["rgb"],
        xyz=(depth[..., None] * camera.rays()).astype(np.float32),
        mask=label,
        camera=camera,
        fps=about["fps"],
        names=("robot", *about["part_names"]),
    )
    return Episode(
        name=about["name"],
        video=video,
        parts=PartTracks(
            mask=label, motions=moved, object_ids=tuple(range(FIRST_PART, FIRST_PART + count))
        ),
        robot=about["robot"],
        joints=data["joints"][:, columns],
        joint_names=tuple(body.coordinates),
        task=about["task"],
        success=about["success"],
        seed=about["seed"],
        source=about["source"],
        licence=about["licence"],
        meta={"kind": about["variant"], "aim": about["aim"]},
    )


def main() -> None:
    """Read all rollouts of a folder and write the store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rollouts", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    episodes = [read_rollout(path) for path in sorted(options.rollouts.glob("*.npz"))]
    EpisodeStore.write(options.output, episodes)
    shutil.copytree(options.rollouts / "robots", options.output / "robots", dirs_exist_ok=True)
    print(f"{len(episodes)} episodes in {options.output}")


if __name__ == "__main__":
    main()
