"""`kin4d demo`: the main jobs on files that ship with the package, in under a minute."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from kin4d.cli.output import print_result, save_clip_output

if TYPE_CHECKING:
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh

_ASSETS = Path(__file__).parents[1] / "assets" / "demo"
_NEXT = (
    "kin4d animate YOUR_MESH.glb --help, kin4d simulate drawer_unit --help, kin4d imagine --help"
)
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>kin4d demo</title><style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:1060px;margin:2em auto;padding:0 1em;color:#223}}
main{{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:1.5em}}
video{{width:100%;border-radius:6px;background:#eee;image-rendering:pixelated}}h2{{margin:.3em 0}}
p{{margin:.3em 0}}</style><h1>kin4d demo</h1><main>{cards}</main><p>Try next: <code>{next}</code>
</p></html>"""
_CARD = """<section><video autoplay loop muted playsinline controls
src="data:video/mp4;base64,{data}"></video><h2>{title}</h2><p>{text}</p></section>"""


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
    began = time.perf_counter()
    cards = []
    clips = {"fridge_opens": _sweep(), "fridge_pushed": _push(), "character": _bend()}
    for name, (clip, title, text) in clips.items():
        save_clip_output(clip, output / f"{name}.glb")
        film = save_clip_output(clip, output / f"{name}.mp4", width=480, height=320)
        cards.append(_card(film, title, f"{text} <code>{name}.glb</code>"))
    cards.append(_imagine(output))
    page = output / "index.html"
    page.write_text(_PAGE.format(cards="".join(cards), next=_NEXT), encoding="utf-8")
    seconds = time.perf_counter() - began
    text = f"open {page} in a browser ({seconds:.0f} s)\ntry next: {_NEXT}"
    files = sorted(str(path.relative_to(output)) for path in output.rglob("*") if path.is_file())
    print_result(text, {"output": str(output), "files": files, "seconds": seconds}, as_json=json)


def _card(film: Path, title: str, text: str) -> str:
    data = base64.b64encode(film.read_bytes()).decode()
    return _CARD.format(data=data, title=title, text=text)


def _fridge() -> Mesh:
    """A mesh without joints; its category and seed are ones the network articulates well."""
    from kin4d.objects.procedural.categories import make_object

    return make_object("refrigerator", 8).body().rest


def _sweep() -> tuple[Clip, str, str]:
    from kin4d.bodies import bake, sweep_joints
    from kin4d.neurok.articulate import articulate

    body = articulate(_fridge(), mass=40.0)
    clip = bake(body, sweep_joints(body, frames=49))
    return clip, "Articulate", "The network predicts the moving part and its joint from the mesh."


def _push() -> tuple[Clip, str, str]:
    from kin4d.dynamics.forces import Damping, Push
    from kin4d.dynamics.scene import Actor, Scene
    from kin4d.dynamics.simulate import simulate
    from kin4d.neurok.articulate import articulate

    body = articulate(_fridge(), mass=40.0)
    reach = [(body.vertices(q[None])[0] - body.vertices(body.q0)).numpy() for q in body.limits.T]
    moved = max(reach, key=lambda change: np.linalg.norm(change, axis=1).max())
    tip = int(np.linalg.norm(moved, axis=1).argmax())
    direction = moved[tip]
    force = 25.0 * direction / np.linalg.norm(direction)
    push = Push(body.rest.vertices[tip], force=force, duration=0.3)
    actor = Actor(body, forces=[push, Damping(0.4)])
    run = simulate(Scene([actor], gravity=True), seconds=2.5, fps=24)
    return run.clip, "Push and let go", "25 N for 0.3 s at the door's edge, then only mechanics."


def _bend() -> tuple[Clip, str, str]:
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
    run = simulate(Scene([Actor(body, forces=forces)], gravity=False), seconds=2.5, fps=24)
    return run.clip, "A soft character bends", "Twelve elastic modes; the feet are pinned."


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
    placed = []
    for mesh, where, angle in parts:
        c, s = np.cos(angle), np.sin(angle)
        matrix = np.eye(4)
        matrix[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
        matrix[:3, 3] = where
        placed.append(mesh.transformed(matrix))
    return Mesh.concatenate(placed, name="character")


def _imagine(output: Path) -> str:
    from kin4d.cli.imagine import imagine_command

    folder = output / "world"
    imagine_command(
        image=_ASSETS / "first.png",
        robot="kin4d_arm",
        actions=_ASSETS / "joints.npz",
        camera=_ASSETS / "camera.json",
        depth=_ASSETS / "depth.png",
        output=folder,
    )
    text = "Left colour, right depth in metres, from one image and the robot's joint motion."
    return _card(folder / "imagined.mp4", "Imagine", f"{text} <code>world/pointmap.npz</code>")
