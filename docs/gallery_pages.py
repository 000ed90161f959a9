"""Make the pages of the gallery: python docs/gallery_pages.py [NAME ...].

Each page is made by one command, which is shown beside it; docs/gallery/index.md lists them all.
Run it at the root of the repository. It needs nothing but the package and the weights that ship.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from kin4d.cli import main

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "gallery"
EPISODES = "src/kin4d/assets/episodes"
TOY, CLOTH = "examples/scenes/toy.obj", "examples/scenes/cloth.obj"


@dataclass(frozen=True)
class GalleryPage:
    """One page.

    Attributes:
        name: Of its file, without suffix.
        caption: What one sees.
        command: That makes it, without the output.
    """

    name: str
    caption: str
    command: str

    @property
    def whole_command(self) -> str:
        """With the output."""
        option = "--html" if self.command.startswith("kin4d view ") else "-o"
        return f"{self.command} {option} {self.name}.html"


SECTIONS: dict[str, tuple[GalleryPage, ...]] = {
    "Articulated objects": (
        GalleryPage("cabinet", "The doors of a cabinet", "kin4d animate cabinet --frames 36"),
        GalleryPage("drawers", "A chest of drawers", "kin4d animate drawer_unit --frames 36"),
        GalleryPage("laptop", "A laptop", "kin4d animate laptop --frames 48"),
        GalleryPage("scissors", "A pair of scissors", "kin4d animate scissors --frames 48"),
        GalleryPage("oven", "An oven", "kin4d animate oven --seed 2 --frames 36"),
        GalleryPage("chair", "A swivel chair", "kin4d animate swivel_chair --frames 36"),
        GalleryPage("lamp", "A desk lamp", "kin4d animate lamp --frames 36"),
        GalleryPage("ruler", "A folding ruler", "kin4d animate folding_ruler --frames 36"),
        GalleryPage("washer", "A washing machine", "kin4d animate washing_machine --frames 36"),
        GalleryPage("pliers", "Pliers", "kin4d animate pliers --frames 48"),
    ),
    "Simulated objects": (
        GalleryPage(
            "door_pushed",
            "A door that is pushed open",
            'kin4d simulate hinge --push "door, 0 40 0, 0.3" --seconds 3',
        ),
        GalleryPage(
            "pendulum",
            "A pendulum with two joints",
            "kin4d simulate pendulum --gravity --seconds 4 --init-q angle1=1.5",
        ),
        GalleryPage(
            "fan_spun",
            "A fan that is blown at",
            "kin4d simulate fan --wind 0 8 0 --seconds 4",
        ),
        GalleryPage(
            "ruler_falls",
            "A folding ruler falls on the floor",
            "kin4d simulate folding_ruler --floating --gravity --ground --height 0.3 --seconds 2",
        ),
        GalleryPage(
            "scissors_fall",
            "Scissors fall on the floor",
            "kin4d simulate scissors --floating --gravity --ground --height 0.2 --seconds 2",
        ),
        GalleryPage(
            "globe_spun",
            "A globe that is pushed",
            'kin4d simulate globe --push "front, 3 0 0, 0.2" --seconds 4',
        ),
    ),
    "Soft bodies and cloth": (
        GalleryPage(
            "toy_modes",
            "The vibration modes of a soft toy",
            f"kin4d view {TOY} --body-type solid",
        ),
        GalleryPage(
            "toy_falls",
            "A jelly toy falls on the floor",
            f"kin4d simulate {TOY} --body-type solid --material jelly --gravity --ground"
            " --height 0.15 --seconds 2",
        ),
        GalleryPage(
            "toy_pushed",
            "A toy that stands fast is pushed",
            f"kin4d simulate {TOY} --body-type solid --material jelly --pin bottom"
            ' --push "top, 0.5 0 0, 0.2" --seconds 2',
        ),
        GalleryPage(
            "flag",
            "A sheet of cloth in the wind",
            f"kin4d simulate {CLOTH} --body-type sheet --material cloth --pin left --gravity"
            " --wind 2 3 0 --seconds 3",
        ),
        GalleryPage(
            "cloth_modes",
            "The modes of a sheet of cloth",
            f"kin4d view {CLOTH} --body-type sheet",
        ),
    ),
    "Learned bodies": (
        GalleryPage(
            "toy_learned",
            "What a network thinks that a mesh can do",
            f"kin4d animate {TOY} --body-type learned --frames 24",
        ),
        GalleryPage(
            "toy_random",
            "Random plausible states of it",
            f"kin4d animate {TOY} --body-type learned --dof 4 --frames 12 --random-states 6",
        ),
    ),
    "Creatures": (
        GalleryPage(
            "toy_skeleton",
            "A skeleton found in the mesh of the toy",
            f"kin4d view {TOY} --body-type skeleton",
        ),
        GalleryPage(
            "toy_walks",
            "Random plausible poses of it",
            f"kin4d animate {TOY} --body-type skeleton --frames 10 --random-states 6",
        ),
    ),
    "Robots": (
        GalleryPage("arm", "The arm that ships", "kin4d animate kin4d_arm --frames 30"),
        GalleryPage(
            "arm_random",
            "Random motions of it",
            "kin4d animate kin4d_arm --frames 8 --random-states 8",
        ),
        GalleryPage(
            "arm_falls",
            "It falls without its motors",
            "kin4d simulate kin4d_arm --gravity --seconds 3",
        ),
    ),
    "Scenes": (
        GalleryPage(
            "open_cabinet",
            "A gripper opens a cabinet",
            "kin4d simulate examples/scenes/open_cabinet.yaml",
        ),
        GalleryPage(
            "open_learned_cabinet",
            "The same cabinet as a bare mesh, with the hinge that a network predicts",
            "kin4d simulate examples/scenes/open_learned_cabinet.yaml",
        ),
        GalleryPage(
            "drag_lamp", "A hand drags a lamp", "kin4d simulate examples/scenes/drag_lamp.yaml"
        ),
        GalleryPage(
            "lift_toy", "A hand lifts a soft toy", "kin4d simulate examples/scenes/lift_toy.yaml"
        ),
    ),
    "Imagined worlds": tuple(
        GalleryPage(
            f"imagined_{name}",
            f"{caption}: what happened, the robot drawn over the first image, and what the shipped"
            " world model imagines",
            f"kin4d view {EPISODES} --episode {number}",
        )
        for number, (name, caption) in enumerate(
            (
                ("stack", "A cube is stacked"),
                ("place", "A mug is put onto a plate"),
                ("button", "A button is pressed"),
                ("drawer", "A drawer is opened"),
            )
        )
    ),
}


def make(page: GalleryPage) -> int:
    """Run the command of a page; returns the page's bytes."""
    words = shlex.split(page.whole_command)[1:]
    words[-1] = str(FOLDER / words[-1])
    if main(words):
        raise SystemExit(f"{page.name}: the command failed")
    return Path(words[-1]).stat().st_size


def index() -> str:
    """The page of the documentation: a frame for each clip, filled when one scrolls to it."""
    parts = [
        "# Gallery",
        "Every clip is a page of its own that `kin4d` wrote: drag to turn, wheel to zoom, space to"
        " play or pause. The command below a clip made it; `python docs/gallery_pages.py` makes"
        " them all again.",
    ]
    for section, pages in SECTIONS.items():
        parts.append(f"## {section}")
        for page in pages:
            parts.append(
                f'<iframe src="{page.name}.html" title="{page.caption}" loading="lazy" '
                'style="width: 100%; height: 360px; border: 1px solid #ddd"></iframe>'
            )
            parts.append(f"{page.caption}:\n\n```bash\n{page.whole_command}\n```")
    return "\n\n".join(parts) + "\n"


def gallery(names: list[str]) -> None:
    """Make the pages with these names, all if there are none, and the list of all."""
    FOLDER.mkdir(exist_ok=True)
    every = [page for pages in SECTIONS.values() for page in pages]
    unknown = set(names) - {page.name for page in every}
    if unknown:
        raise SystemExit(f"there is no page {', '.join(sorted(unknown))}")
    for page in every:
        if not names or page.name in names:
            print(f"{make(page) / 1e3:.0f} kB", flush=True)
    (FOLDER / "index.md").write_text(index())
    whole = sum(file.stat().st_size for file in FOLDER.iterdir())
    print(re.sub(r"\s+", " ", f"{len(every)} pages, {whole / 1e6:.2f} MB"))


if __name__ == "__main__":
    gallery(sys.argv[1:])
