"""Robot data: episodes of colour, metric geometry, masks, joints, actions and language.

Four episodes come with the package. Make thousands in simulation with
`kin4d data episodes -o DIR`, or import LeRobot, RLDS and DROID data with `kin4d data import`.
"""

from pathlib import Path

import numpy as np

from kin4d.episodes.preview import episode_preview
from kin4d.episodes.store import EpisodeStore, shipped_episodes
from kin4d.export.video import write_image


def main(output: Path = Path("out/examples")) -> None:
    store = shipped_episodes()
    episodes = [store.episode(index) for index in range(len(store))]
    for episode in episodes:
        video = episode.video
        robot = episode.robot_mask.mean()
        depth = np.nanmedian(video.xyz[..., 2])
        print(f"{episode.task}: '{episode.language}', success {episode.success}")
        print(f"  {len(video)} frames, robot in {robot:.0%} of the pixels, {depth:.2f} m deep")

    one = episodes[0]
    assert one.actions is not None
    assert one.joints is not None
    print(f"actions: {one.actions.kind} {one.actions.values.shape}, joints {one.joints.shape}")

    # A store of one's own: shards with checksums.
    copy = EpisodeStore.write(output / "episodes", [e for e in episodes if e.success])
    print(f"{len(copy)} episodes in {output / 'episodes'}, problems: {copy.verify() or 'none'}")
    write_image(episode_preview(episodes, tile=110), output / "09_episodes.png")


if __name__ == "__main__":
    main()
