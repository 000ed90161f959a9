"""`kin4d simulate`: a body under forces and contact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kin4d.cli.body_loader import read_push
from kin4d.cli.output import check_memory, print_choice, print_result, print_warning
from kin4d.cli.ranges import Fps, Height, Metres, Seconds, Seed, Speed, Step
from kin4d.cli.simulate_scene import run_scene_file, write_run
from kin4d.errors import InputError
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import BodyType, load

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.dynamics.simulation import Simulation


def simulate_command(
    what: Annotated[str, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    push: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    gravity: bool = False,
    ground: bool = False,
    height: Height = 0.0,
    wind: tuple[Speed, Speed, Speed] | None = None,
    material: str = "",
    body_type: BodyType = "auto",
    pin: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    floating: bool = False,
    init_q: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    seconds: Seconds | None = None,
    fps: Fps | None = None,
    dt: Step | None = None,
    integrator: Literal["variational", "rk4", "semi_implicit", "implicit_euler"] = "variational",
    up: UpAxis | None = None,
    weights: str = "small",
    size: Metres | None = None,
    seed: Seed = 0,
    camera: str = "",
    plot: Path | None = None,
    json: bool = False,
) -> None:
    """Simulate a body, or a scene of several, under forces and contact, and write the motion.

    The scene is in metres with z up and the front towards -y.

    Args:
        what: A scene file (.yaml or .json, see the docs' "Act in a scene"); a mesh file; a URDF or
            MJCF file; a robot's name; hinge, slider_chain or pendulum; or a category of objects,
            such as drawer_unit (see the docs' "Object gallery").
        output: GLB, USD, PC2, NPZ (with energies, contacts and coordinates), MP4, GIF, or a folder.
        push: "point, force, time": three metres, a side (top, bottom, left, right, front, back) or
            a link's name; three newtons; seconds it lasts, or start and length. May be repeated.
        gravity: Let it fall.
        ground: Put a floor under it.
        height: Metres above that floor at which it starts.
        wind: Velocity of the air, m/s.
        material: rubber, foam, cloth, paper, wood, steel or jelly: friction, bounce and damping,
            and of mesh files weight and stiffness too.
        body_type: What a mesh file becomes: a skeleton in a skin (free in space), a learned body,
            articulated (rigid parts on predicted joints), rigid, a soft solid, or a thin sheet.
            Auto is a skeleton for a smooth shape with branches, articulated where a joint is
            probable, a soft solid if it is smooth and --material is soft, else rigid.
        pin: A side of a soft solid or a sheet that is fixed. May be repeated.
        floating: Set a body with joints free, which otherwise stands fast.
        init_q: "coordinate=value" (rad or m) where a joint is at the start. May be repeated.
        seconds: How long; 3, or what the scene file says.
        fps: Frames per second of the result; 30, or what the scene file says.
        dt: Longest time step, s; 1/240, 1/120 for a skeleton, or what the scene file says.
        integrator: variational, unless to compare.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        weights: Of learned and articulated bodies: a name that ships, a file, a folder or a hub id.
        size: Metres of the diagonal of a mesh file's bounding box; the file's own if not given.
        seed: Of an object category.
        camera: Of a scene file: the view that a movie shows; its first one if not given.
        plot: Draw the energies over time into this image.
        json: Print JSON for machines.
    """
    import kin4d.dynamics.simulate as mechanics
    from kin4d.bodies.capabilities import BlendedTree, FloatingRoot, modal_stiffness
    from kin4d.bodies.floating import FloatingBase
    from kin4d.dynamics import forces, materials
    from kin4d.dynamics.scene import Actor, Scene
    from kin4d.dynamics.simulation import DivergedError

    if Path(what).suffix.lower() in (".yaml", ".yml", ".json"):
        given = {
            "push": push, "gravity": gravity, "ground": ground, "height": height, "wind": wind,
            "material": material, "pin": pin, "floating": floating, "init-q": init_q, "up": up,
            "size": size,
        }  # fmt: skip
        refused = [f"--{name}" for name, value in given.items() if value]
        if refused:
            raise InputError(
                "a scene file says what takes part and what acts on it",
                value=", ".join(refused),
                allowed="--output, --seconds, --fps, --dt, --integrator, --camera, --plot, --json",
            )
        run_scene_file(
            Path(what),
            output,
            seconds=seconds,
            fps=fps,
            dt=dt,
            integrator=integrator,
            camera=camera,
            plot=plot,
            as_json=json,
        )
        return
    if camera:
        raise InputError("cameras are named in scene files", value=camera)
    seconds, fps = 3.0 if seconds is None else seconds, 30.0 if fps is None else fps
    chosen = materials.material(material) if material else None
    body = load(
        what,
        body_type=body_type,
        weights=weights,
        material=chosen,
        up=up,
        size=size,
        pin=pin,
        seed=seed,
        report=print_choice,
    )
    if dt is None:
        dt = 1 / 120 if isinstance(body, BlendedTree) else 1 / 240
    free = floating or height > 0 or isinstance(body, BlendedTree)
    if free and not isinstance(body, FloatingRoot):
        body = FloatingBase(body)
    check_memory(int(max(seconds * fps, 0)) + 1, vertices=len(body.rest.vertices))
    acting: list[forces.Force] = [read_push(text, body) for text in push]
    stiffness = modal_stiffness(body)
    if stiffness is not None:
        acting.append(forces.Spring(stiffness.numpy()))
    if wind is not None:
        acting.append(forces.Wind(wind))
    actor = Actor(body, forces=acting, q=_initial_q(body, init_q))
    if chosen is not None:
        actor = replace(actor, material=chosen)
    floor = float(body.rest.bounds[0, 2]) - height if ground else None
    scene = Scene([actor], gravity=gravity, ground=floor)
    if not (acting or gravity):
        print_warning("nothing acts on it: add --gravity or --push")
    try:
        run = mechanics.simulate(scene, seconds=seconds, dt=dt, fps=fps, integrator=integrator)
    except DivergedError as error:
        write_run(error.simulation, output, plot)
        print_warning(f"the {len(error.simulation.clip)} frames so far are in {output}")
        raise
    write_run(run, output, plot)
    _report(run, body, output, plot, as_json=json)


def _initial_q(body: Body, texts: tuple[str, ...]):
    """[k] coordinates, with those of "name=value" changed."""
    q = body.q0.numpy().copy()
    for text in texts:
        name, _, value = text.partition("=")
        try:
            index = body.coordinates.index(name.strip())
            q[index] = float(value)
        except ValueError:
            raise InputError(
                "an initial value is a coordinate's name and its value",
                value=text,
                allowed="NAME=NUMBER, where NAME is one of " + ", ".join(body.coordinates),
            ) from None
        low, high = body.limits[index].tolist()
        if not low <= q[index] <= high:
            raise InputError(
                f"'{name}' starts outside its limits",
                value=q[index],
                allowed=f"{low:g} to {high:g}",
            )
    return q


def _report(run: Simulation, body: Body, output: Path, plot: Path | None, *, as_json: bool) -> None:
    tracks = run.clip.diagnostics
    touched = int((tracks["contacts"] > 0).sum())
    deepest = float(tracks["penetration"].max())
    data = {
        "body": run.names[0],
        "coordinates": list(body.coordinates),
        "mass_kg": float(body.mass.sum()),
        "frames": len(run.clip),
        "steps": run.steps,
        "dt": run.dt,
        "real_time_factor": run.real_time_factor,
        "energy_j": [float(run.energy[0]), float(run.energy[-1])],
        "frames_in_contact": touched,
        "deepest_penetration_m": deepest,
        "written": str(output),
        "plot": None if plot is None else str(plot),
    }
    text = (
        f"{run.names[0]}: {len(body.coordinates)} coordinates, {data['mass_kg']:.3g} kg, "
        f"{len(run.clip)} frames in {output}; {run.real_time_factor:.0f} times faster than real "
        f"time; energy {run.energy[0]:.4g} J at the start, {run.energy[-1]:.4g} J at the end"
    )
    if touched:
        text += f"; touching in {touched} frames, at most {1e3 * deepest:.2g} mm deep"
    print_result(text, data, as_json=as_json)
