"""From one image and a robot's actions to a video in colour and metres.

A recorded episode gives the first image and the motion; what the world model imagines is compared
with what happened, and with the trivial answer: the robot drawn over the first image.
"""

from pathlib import Path

import numpy as np

import kin4d
from kin4d.benchmarks.world.image_metrics import psnr
from kin4d.benchmarks.world.regions import composited
from kin4d.episodes.store import shipped_episodes
from kin4d.export.video import write_video
from kin4d.render.preview import color_and_depth
from kin4d.world.episode_observation import episode_observation


def main(output: Path = Path("out/examples")) -> None:
    episode = shipped_episodes().episode(1)
    truth = episode.video
    video = kin4d.imagine_episode(episode)  # kin4d.imagine takes files or arrays instead
    everywhere = np.ones(truth.mask.shape, bool)
    composite = composited(episode_observation(episode))
    print(f"'{episode.language}', {len(video)} frames")
    print(f"imagined:  {psnr(truth.rgb, video.rgb, everywhere):.1f} dB")
    print(f"composite: {psnr(truth.rgb, composite.rgb, everywhere):.1f} dB")

    video.save(output / "imagined.npz")
    rows = [color_and_depth(one, width=96) for one in (truth, video)]
    write_video(np.concatenate(rows, axis=1), output / "10_imagine.gif", fps=video.fps)
    print(f"above what happened, below what was imagined: {output / '10_imagine.gif'}")


if __name__ == "__main__":
    main()
