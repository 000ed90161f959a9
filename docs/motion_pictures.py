"""Make the pictures of docs/motion.md: python docs/motion_pictures.py [NAME ...]."""

from __future__ import annotations

import sys
from pathlib import Path

from kin4d.benchmarks.dynamics.scenes import SCENES
from kin4d.export.video import write_video
from kin4d.render.pointmaps import render_clip

FOLDER = Path(__file__).parent / "images" / "motion"


def main(names: list[str]) -> None:
    """Run the scenes and draw them."""
    for name in names or SCENES:
        run = SCENES[name].run(fps=20)
        video = render_clip(run.clip, width=360, height=270, checker=True)
        print(write_video(video.rgb, FOLDER / f"{name}.gif", fps=20), f"{run.real_time_factor:.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
