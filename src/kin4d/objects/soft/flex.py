"""FlexEngine: MuJoCo's flexes simulate ropes, cloth and solids.

Since MuJoCo 4 the elastic constants of cloth and solids are those of the material (Young's modulus,
Poisson's ratio, thickness), integrated implicitly by ``integrator="discrete"``; older versions are
refused. Edges of ropes keep their length (equality constraints), and their bending is a force on
three neighbouring nodes. One body with three slide joints per node, so that each has its own mass.
Pins are heavy bodies whose positions are set before each step.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.objects.soft.scene import SoftScene

_HEAVY = 1e3  # mass of a pin over that of its node


class FlexEngine:
    """A running soft scene.

    Args:
        scene: A rope, cloth or a solid.
        length: Seconds of each step.
    """

    def __init__(self, scene: SoftScene, *, length: float) -> None:
        mujoco = require("mujoco", extra="sim", purpose="simulating soft objects")
        if int(mujoco.__version__.partition(".")[0]) < 4:
            raise InputError(
                "MuJoCo is too old for elastic flexes", value=mujoco.__version__, allowed=">= 4"
            )
        self.scene, self._mujoco = scene, mujoco
        # The bending of ropes is explicit, so it needs short steps.
        self._substeps = 4 if scene.dimension == 1 else 1
        self._length = length / self._substeps
        spec = mujoco.MjSpec.from_string(_xml(scene, self._length))
        # Neo-Hookean: the other material, Saint Venant-Kirchhoff's, collapses under compression.
        spec.flexes[0].elastic3d = int(scene.dimension == 3)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        if scene.velocity is not None:
            self._data.qvel[:] = np.asarray(scene.velocity).ravel()
        self._rest = np.array(scene.nodes)
        self._last = scene.held(0.0)

    @property
    def nodes(self) -> np.ndarray:
        """[N, 3] m."""
        return self._rest + self._data.qpos.reshape(-1, 3)

    @property
    def speeds(self) -> np.ndarray:
        """[N, 3] m/s."""
        return self._data.qvel.reshape(-1, 3).copy()

    def step(self, forces: np.ndarray, held: np.ndarray) -> None:
        """Advance by `length` s under forces [N, 3] N; the pins end at `held` [P, 3] m."""
        start = self._last
        for i in range(self._substeps):
            self._substep(forces, start + (i + 1) / self._substeps * (held - start))

    def _substep(self, forces: np.ndarray, held: np.ndarray) -> None:
        pins, rate = self.scene.pins, (held - self._last) / self._length
        applied = forces + rope_bending(self.scene, self.nodes, self.speeds)
        # A heavy pin must not sag within a step.
        heavy = _HEAVY * self.scene.masses[pins, None]
        applied[pins] = -heavy * np.array(self.scene.gravity)
        self._data.qfrc_applied[:] = applied.ravel()
        self._data.qpos.reshape(-1, 3)[pins] = self._last - self._rest[pins]
        self._data.qvel.reshape(-1, 3)[pins] = rate
        # MuJoCo writes a log file when a solve is inexact; divergence is checked by the caller.
        previous = self._mujoco.get_mju_user_warning()
        self._mujoco.set_mju_user_warning(_ignore)
        try:
            self._mujoco.mj_step(self._model, self._data)
        finally:
            self._mujoco.set_mju_user_warning(previous)
        self._data.qpos.reshape(-1, 3)[pins] = held - self._rest[pins]
        self._data.qvel.reshape(-1, 3)[pins] = rate
        self._last = held


def rope_bending(scene: SoftScene, nodes: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """[N, 3] N with which a rope's nodes resist bending (Bergou et al. 2006); 0 for the rest."""
    force = np.zeros_like(nodes)
    if scene.dimension > 1:
        return force
    material, radius = scene.material, 0.5 * scene.material["thickness"]
    edge = np.linalg.norm(np.diff(scene.nodes, axis=0), axis=-1).mean()
    rigidity = material["young"] * np.pi * radius**4 / 4 * material.get("bending", 1.0)
    moved = nodes + material.get("damping", 0.0) * speeds
    bend = rigidity / edge**3 * (moved[:-2] - 2 * moved[1:-1] + moved[2:])
    force[:-2] -= bend
    force[1:-1] += 2 * bend
    force[2:] -= bend
    return force


def _xml(scene: SoftScene, step: float) -> str:
    material, dimension = scene.material, scene.dimension
    masses = scene.masses.copy()
    masses[scene.pins] *= _HEAVY
    slide = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body name="n{k}" pos="{_text(position)}">'
        f'<inertial pos="0 0 0" mass="{mass:.9g}" diaginertia="1e-6 1e-6 1e-6"/>{slide}</body>'
        for k, (position, mass) in enumerate(zip(scene.nodes, masses, strict=True))
    )
    # Edges of ropes and their contacts are as stiff as the step allows.
    stiff = f'solref="{2 * step:.9g} 1"' if dimension == 1 else ""
    geoms = "".join(
        f'<geom type="{o.shape}" pos="{_text(o.position)}" condim="3" {stiff} '
        f'size="{_text(o.size if o.shape != "plane" else (0, 0, 1))}"/>'
        for o in scene.obstacles
    )
    elasticity = equality = ""
    if dimension == 1:
        equality = f'<equality><flex flex="soft" {stiff}/></equality>'
    else:
        elasticity = (
            f'<elasticity young="{material["young"]:.9g}" poisson="{material["poisson"]:.9g}" '
            f'damping="{material.get("damping", 0.0):.9g}" '
        )
        if dimension == 2:
            elasticity += f'thickness="{material["thickness"]:.9g}" elastic2d="both"'
        elasticity += "/>"
    friction = material.get("friction", 0.5)
    radius = 1e-3 if dimension == 3 else 0.5 * material["thickness"]
    return f"""
<mujoco>
  <option integrator="discrete" solver="CG" timestep="{step:.9g}" iterations="50"
          tolerance="1e-7" gravity="{_text(scene.gravity)}"/>
  <size memory="256M"/>
  <worldbody>{geoms}{bodies}</worldbody>
  <deformable>
    <flex name="soft" dim="{dimension}" radius="{radius:.9g}"
          body="{" ".join(f"n{k}" for k in range(len(scene.nodes)))}"
          element="{" ".join(map(str, scene.elements.ravel().tolist()))}">
      <contact selfcollide="none" condim="3" friction="{friction:.9g}" {stiff}/>
      {elasticity}
    </flex>
  </deformable>
  {equality}
</mujoco>"""


def _ignore(message: str) -> None:
    """MuJoCo's warnings are not shown."""


def _text(values: Iterable[float]) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
