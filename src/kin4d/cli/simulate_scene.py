"""`kin4d simulate` on a scene file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kin4d.cli.output import check_memory, print_result, print_warning, save_clip_output
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.dynamics.simulation import Simulation
    from kin4d.geometry.camera import Camera


def run_scene_file(
    path: Path,
    output: Path,
    *,
    seconds: float | None,
    fps: float | None,
    dt: float | None,
    integrator: Literal["variational", "rk4", "semi_implicit", "implicit_euler"],
    camera: str,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Read a scene file, simulate it and write the motion; what is None is as the file says."""
    import kin4d.dynamics.simulate as mechanics
    from kin4d.dynamics.simulation import DivergedError
    from kin4d.scenes.read import load_scene

    loaded = load_scene(path)
    scene = loaded.scene
    if camera and camera not in scene.cameras:
        raise InputError(
            f"{path.name} has no such camera",
            value=camera,
            allowed=", ".join(scene.cameras) or "none: add one under 'cameras'",
        )
    view = scene.cameras[camera] if camera else next(iter(scene.cameras.values()), None)
    seconds = loaded.seconds if seconds is None else seconds
    fps = loaded.fps if fps is None else fps
    meshes = [actor.body.rest for actor in scene.named_actors] + list(scene.obstacles)
    check_memory(int(seconds * fps) + 1, vertices=sum(len(mesh.vertices) for mesh in meshes))
    try:
        run = mechanics.simulate(
            scene,
            seconds=seconds,
            fps=fps,
            dt=loaded.dt if dt is None else dt,
            integrator=integrator,
        )
    except DivergedError as error:
        write_run(error.simulation, output, plot, camera=view)
        print_warning(f"the {len(error.simulation.clip)} frames so far are in {output}")
        raise
    write_run(run, output, plot, camera=view)
    _report_scene(run, output, as_json=as_json)


def write_run(
    run: Simulation, output: Path, plot: Path | None, *, camera: Camera | None = None
) -> None:
    """Write the motion, seen by `camera` if it is a movie, and the plot of energies."""
    save_clip_output(run.clip, output, camera=camera)
    if plot is not None:
        from kin4d.export.video import write_image
        from kin4d.render.plot import plot_lines

        tracks = run.clip.diagnostics
        lines = {name: tracks[name] for name in ("kinetic", "potential")}
        image = plot_lines(run.clip.times, {**lines, "sum": run.energy}, title="energy", unit="J")
        write_image(image, plot)


def _report_scene(run: Simulation, output: Path, *, as_json: bool) -> None:
    bodies = {}
    for name, clip in zip(run.names, run.clips, strict=True):
        assert clip.q is not None
        bodies[name] = {
            "coordinates": int(clip.q.shape[1]),
            "frames_in_contact": int((clip.diagnostics["contacts"] > 0).sum()),
            "deepest_penetration_m": float(clip.diagnostics["penetration"].max()),
            "q_end": clip.q[-1].tolist(),
        }
    data = {
        "bodies": bodies,
        "frames": len(run.clip),
        "steps": run.steps,
        "dt": run.dt,
        "real_time_factor": run.real_time_factor,
        "written": str(output),
    }
    lines = [
        f"{name}: {one['coordinates']} coordinates, touching in {one['frames_in_contact']} frames, "
        f"at most {1e3 * one['deepest_penetration_m']:.2g} mm deep"
        for name, one in bodies.items()
    ]
    lines.append(
        f"{len(run.clip)} frames in {output}, simulated at {run.real_time_factor:.2g} times "
        "real time"
    )
    print_result("\n".join(lines), data, as_json=as_json)
