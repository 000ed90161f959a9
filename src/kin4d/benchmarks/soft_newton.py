"""Newton (on Warp) behind our interface of soft engines, for comparison alone.

At its defaults on the processor: contact, wind and pokes are left out, so only scenes that are
held or free in the air are run on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kin4d.objects.soft.scene import SoftScene


class NewtonEngine:
    """A scene in the making; see `kin4d.objects.soft.simulate.Engine`.

    Args:
        scene: Cloth or a solid.
        solver: ``"vbd"`` or ``"xpbd"``.
        iterations: Of the solver in each step.
    """

    def __init__(self, scene: SoftScene, *, solver: str, iterations: int = 10) -> None:
        # Neither is a dependency: whoever wants these rows installs newton, which brings warp.
        import newton  # pyright: ignore[reportMissingImports]
        import warp  # pyright: ignore[reportMissingImports]

        self.scene = scene
        build = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=warp.vec3(*scene.gravity))
        common: dict[str, Any] = {
            "pos": warp.vec3(0, 0, 0),
            "rot": warp.quat_identity(),
            "scale": 1.0,
            "vel": warp.vec3(0, 0, 0),
            "vertices": [warp.vec3(*place) for place in scene.nodes.tolist()],
            "indices": scene.elements.ravel().tolist(),
        }
        young, poisson = scene.material["young"], scene.material["poisson"]
        density, damping = scene.material["density"], scene.material["damping"]
        shear = young / (2 * (1 + poisson))
        if scene.dimension == 3:
            bulk = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
            solid = {"density": density, "k_mu": shear, "k_lambda": bulk, "k_damp": damping}
            build.add_soft_mesh(**common, **solid, particle_radius=1e-3)
        else:
            thick = scene.material["thickness"]
            bend = young * thick**3 / (12 * (1 - poisson**2))
            sheet = {"tri_ke": shear * thick, "tri_ka": young * poisson / (1 - poisson**2) * thick}
            sheet |= {"tri_kd": damping, "edge_ke": bend, "edge_kd": damping}
            build.add_cloth_mesh(**common, **sheet, density=density * thick, particle_radius=1e-3)
        for node, mass in enumerate(scene.masses):
            build.particle_mass[node] = float(mass)
        for node in scene.pins:
            build.particle_mass[node] = 0.0
        if solver == "vbd":
            build.color()
        solvers = {"vbd": newton.solvers.SolverVBD, "xpbd": newton.solvers.SolverXPBD}
        model = build.finalize(device="cpu")
        self._solver = solvers[solver](model, iterations=iterations)
        self._now, self._next, self._control = model.state(), model.state(), model.control()

    @property
    def nodes(self) -> np.ndarray:
        """[N, 3] m."""
        return self._now.particle_q.numpy().astype(np.float64)

    @property
    def speeds(self) -> np.ndarray:
        """[N, 3] m/s."""
        return self._now.particle_qd.numpy().astype(np.float64)

    def step(self, forces: np.ndarray, held: np.ndarray, length: float) -> None:
        """Go on by `length` s, the pins at `held` [P, 3] m."""
        self._now.clear_forces()
        self._now.particle_f.assign(forces.astype(np.float32))
        if len(self.scene.pins):
            places = self._now.particle_q.numpy()
            places[self.scene.pins] = held
            self._now.particle_q.assign(places)
        self._solver.step(self._now, self._next, self._control, None, length)
        self._now, self._next = self._next, self._now
