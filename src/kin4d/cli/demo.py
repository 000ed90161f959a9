"""`kin4d demo`: the main jobs on what ships with the package, in under a minute."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from kin4d.cli.output import print_result
from kin4d.files import write_bytes

if TYPE_CHECKING:
    from kin4d.bodies.segmented import SegmentedBody
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh

_ASSETS = Path(__file__).parents[1] / "assets" / "demo"
_NEXT = (
    "kin4d animate YOUR_MESH.glb --output moving.glb",
    "kin4d simulate drawer_unit --output fall.mp4",
    "kin4d imagine --help",
)
_FORCE = 10.0  # N
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>kin4d demo</title><style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:1060px;margin:2em auto;padding:0 1em;color:#223}}
main{{display:grid;grid-template-columns:repeat(3,1fr);gap:1.5em}}
h1,h2{{margin:.4em 0;line-height:1.2}}main{{margin:1.2em 0}}h2{{font-size:1.2em}}p{{margin:.3em 0}}
video,img{{width:100%;border-radius:6px;background:#eee;image-rendering:pixelated;display:block}}
.wide{{grid-column:1/-1}}.row{{display:grid;grid-template-columns:1fr 2fr;gap:.5em}}
code{{font-size:.9em}}@media(max-width:700px){{main{{grid-template-columns:1fr}}}}
</style><h1>kin4d demo</h1><p>Still things that move: geometry over time that obeys kinematics.</p>
<main>{cards}</main><h2>Try next</h2><pre>{next}</pre></html>"""
_CARD = "<section{attributes}>{media}<h2>{title}</h2><p>{text}</p><p>{links}</p></section>"


def demo_command(
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo"),
    json: bool = False,
) -> None:
    """Articulate a mesh, push it, bend a soft character and imagine a robot's world.

    Args:
        output: Folder for the results; index.html shows all of them.
        json: Print JSON for machines.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    began = time.perf_counter()
    # Two processes: most of a first run is compilation, which takes one core each.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        parts = [pool.submit(part, output) for part in (_character_part, _cooler_part, _world_part)]
        character, cooler, world = (part.result() for part in parts)
    page = output / "index.html"
    cards = cooler + character + world
    write_bytes(page, _PAGE.format(cards=cards, next="\n".join(_NEXT)).encode())
    seconds = time.perf_counter() - began
    text = f"open {page} in a browser ({seconds:.0f} s)\ntry next: {_NEXT[0]}"
    files = sorted(str(path.relative_to(output)) for path in output.rglob("*") if path.is_file())
    print_result(text, {"output": str(output), "files": files, "seconds": seconds}, as_json=json)


def _cooler_part(output: Path) -> str:
    """Articulate a mesh without joints, open it, then push it and let go."""
    from kin4d.bodies import bake, sweep_joints
    from kin4d.neurok.articulate import articulate

    body = articulate(_cooler(), mass=4.0)
    opened = bake(body, sweep_joints(body, frames=48))
    text = "From a mesh without joints, a network predicts the parts that move and their hinges."
    first = _clip_card(output, "cooler_opens", opened, "Articulate", text)
    text = f"{_FORCE:.0f} N for 0.3 s at the edge of the lid. Then it is let go and falls shut."
    return first + _clip_card(output, "cooler_pushed", _push(body), "Push", text)


def _character_part(output: Path) -> str:
    """Push a soft character at its head."""
    text = "An elastic solid in twelve modes; its feet are pinned and its head is pushed."
    return _clip_card(output, "character", _bend(), "Bend", text)


def _world_part(output: Path) -> str:
    """Imagine how a scene reacts to a robot."""
    from kin4d.cli.imagine import save_imagined
    from kin4d.render.preview import depth_range
    from kin4d.world.imagine import imagine

    image = _ASSETS / "first.png"
    video = imagine(
        image,
        "kin4d_arm",
        _ASSETS / "joints.npz",
        _ASSETS / "camera.json",
        depth=_ASSETS / "depth.png",
    )
    save_imagined(video, output / "world")
    low, high = depth_range(video)
    text = (
        "From one image (left) and the joint motion of a robot, a world model predicts the video: "
        f"colour (middle) and depth (right, {low:.2f} m white to {high:.2f} m black)."
    )
    given = f'<img src="data:image/png;base64,{_base64(image)}" alt="the given image">'
    files = ["world/imagined.mp4", "world/pointmap.npz"]
    media = f'<div class="row">{given}{_video(output / files[0])}</div>'
    return _card(media, "Imagine", text, files, attributes=' class="wide"')


def _clip_card(output: Path, name: str, clip: Clip, title: str, text: str) -> str:
    clip.save(output / f"{name}.glb")
    film = clip.save(output / f"{name}.mp4", width=480, height=320)
    return _card(_video(film), title, text, [f"{name}.glb", f"{name}.mp4"])


def _card(media: str, title: str, text: str, files: list[str], *, attributes: str = "") -> str:
    links = " ".join(f'<a href="{file}"><code>{file}</code></a>' for file in files)
    return _CARD.format(attributes=attributes, media=media, title=title, text=text, links=links)


def _video(path: Path) -> str:
    source = f"data:video/mp4;base64,{_base64(path)}"
    return f'<video autoplay loop muted playsinline src="{source}"></video>'


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _cooler() -> Mesh:
    """A mesh without joints; its category and seed are ones the network articulates well."""
    from kin4d.objects.procedural.categories import make_object

    return make_object("cooler", 1).body().rest


def _push(body: SegmentedBody) -> Clip:
    """A push at the point that the joint moves farthest, in the direction it moves."""
    from kin4d.dynamics.forces import Damping, Push
    from kin4d.dynamics.scene import Actor, Scene
    from kin4d.dynamics.simulate import simulate

    reach = [(body.vertices(q) - body.vertices(body.q0)).numpy() for q in body.limits.T]
    moved = max(reach, key=lambda change: np.linalg.norm(change, axis=1).max())
    tip = int(np.linalg.norm(moved, axis=1).argmax())
    force = _FORCE * moved[tip] / np.linalg.norm(moved[tip])
    push = Push(body.rest.vertices[tip], force=force, duration=0.3)
    actor = Actor(body, forces=[push, Damping(0.2)])
    return simulate(Scene([actor]), seconds=2.0, fps=24).clip


def _bend() -> Clip:
    from kin4d.bodies.modal import ModalBody
    from kin4d.dynamics.forces import Damping, Push, Spring
    from kin4d.dynamics.scene import Actor, Scene
    from kin4d.dynamics.simulate import simulate

    mesh = _character()
    feet = np.flatnonzero(mesh.vertices[:, 2] < 0.03)
    body = ModalBody.solid(mesh, young=6e4, density=400.0, pinned=feet)
    top = mesh.vertices[mesh.vertices[:, 2].argmax()]
    forces = [
        Spring(body.stiffness.numpy()),
        Push(top, force=(12.0, -6.0, 0.0), duration=0.5),
        Damping(1.0),
    ]
    return simulate(Scene([Actor(body, forces=forces)], gravity=False), seconds=2.5, fps=24).clip


def _character() -> Mesh:
    """Two legs, a trunk, arms and a head of overlapping capsules and spheres; 0.5 m tall."""
    from kin4d.geometry.mesh import Mesh
    from kin4d.geometry.primitives import capsule, sphere

    parts = [
        (capsule(0.045, 0.12, color="#35618f"), (-0.07, 0, 0.1), 0.0),
        (capsule(0.045, 0.12, color="#35618f"), (0.07, 0, 0.1), 0.0),
        (capsule(0.1, 0.08, color="#e07030"), (0, 0, 0.26), 0.0),
        (capsule(0.035, 0.14, color="#e07030"), (-0.14, 0, 0.3), 0.9),
        (capsule(0.035, 0.14, color="#e07030"), (0.14, 0, 0.3), -0.9),
        (sphere(0.09, color="#f2c9a0"), (0, 0, 0.45), 0.0),
    ]
    meshes = []
    for mesh, where, angle in parts:
        c, s = np.cos(angle), np.sin(angle)
        matrix = np.eye(4)
        matrix[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
        matrix[:3, 3] = where
        meshes.append(mesh.transformed(matrix))
    return Mesh.concatenate(meshes, name="character")
