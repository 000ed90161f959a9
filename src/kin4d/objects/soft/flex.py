"""MuJoCo's flexes: cloth and solids by finite elements, implicit in time; the engine to trust.

Since MuJoCo 4 the elastic constants are those of the material (Young's modulus, Poisson's ratio,
thickness), and stiff ones are stepped by ``integrator="discrete"``; older ones are refused. One
body with three sliders carries each node, so that each has its own mass. Pins are heavy bodies
put where they belong before each step.
"""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.objects.soft.scene import SoftScene

_HEAVY = 1e3


class FlexEngine:
    """One scene in the making; see `kin4d.objects.soft.simulate.Engine`.

    Args:
        scene: Cloth or a solid.
        length: Seconds of each step, fixed at the start.
    """

    def __init__(self, scene: SoftScene, *, length: float) -> None:
        mujoco = require("mujoco", extra="sim", purpose="simulating with MuJoCo")
        if int(mujoco.__version__.partition(".")[0]) < 4:
            raise InputError(
                "MuJoCo is too old for elastic flexes", value=mujoco.__version__, allowed=">= 4"
            )
        if scene.dimension == 1:
            raise InputError("ropes and chains are not simulated with MuJoCo", hint="use 'xpbd'")
        self.scene, self._mujoco = scene, mujoco
        spec = mujoco.MjSpec.from_string(_xml(scene, length))
        # Neo-Hookean: the other material, Saint Venant-Kirchhoff's, gives way when pressed.
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

    def step(self, forces: np.ndarray, held: np.ndarray, length: float) -> None:
        """Go on by `length` s, under forces [N, 3] N, the pins ending at `held` [P, 3] m."""
        pins, rate = self.scene.pins, (held - self._last) / length
        applied = forces.copy()
        # What a pin weighs is no one's business: it must not sag within a step.
        heavy = _HEAVY * self.scene.masses[pins, None]
        applied[pins] = -heavy * np.array(self.scene.gravity)
        self._data.qfrc_applied[:] = applied.ravel()
        self._data.qpos.reshape(-1, 3)[pins] = self._last - self._rest[pins]
        self._data.qvel.reshape(-1, 3)[pins] = rate
        # It warns, into a file where one stands, of solves that are merely inexact.
        heard = self._mujoco.get_mju_user_warning()
        self._mujoco.set_mju_user_warning(_ignore)
        try:
            self._mujoco.mj_step(self._model, self._data)
        finally:
            self._mujoco.set_mju_user_warning(heard)
        self._data.qpos.reshape(-1, 3)[pins] = held - self._rest[pins]
        self._data.qvel.reshape(-1, 3)[pins] = rate
        self._last = held


def _xml(scene: SoftScene, length: float) -> str:
    material = scene.material
    masses = scene.masses.copy()
    masses[scene.pins] *= _HEAVY
    slide = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body name="n{k}" pos="{_text(place)}">'
        f'<inertial pos="0 0 0" mass="{mass:.9g}" diaginertia="1e-6 1e-6 1e-6"/>{slide}</body>'
        for k, (place, mass) in enumerate(zip(scene.nodes, masses, strict=True))
    )
    geoms = "".join(
        f'<geom type="{o.shape}" pos="{_text(o.position)}" condim="3" '
        f'size="{_text(o.size if o.shape != "plane" else (0, 0, 1))}"/>'
        for o in scene.obstacles
    )
    sheet = ""
    radius = 1e-3
    if scene.dimension == 2:
        sheet = f'thickness="{material["thickness"]:.9g}" elastic2d="both"'
        radius = 0.5 * material["thickness"]
    return f"""
<mujoco>
  <option integrator="discrete" solver="CG" timestep="{length:.9g}" iterations="50"
          tolerance="1e-7" gravity="{_text(scene.gravity)}"/>
  <size memory="256M"/>
  <worldbody>{geoms}{bodies}</worldbody>
  <deformable>
    <flex name="soft" dim="{scene.dimension}" radius="{radius:.9g}"
          body="{" ".join(f"n{k}" for k in range(len(scene.nodes)))}"
          element="{" ".join(map(str, scene.elements.ravel().tolist()))}">
      <contact selfcollide="none" condim="3" friction="{material.get("friction", 0.5):.9g}"/>
      <elasticity young="{material["young"]:.9g}" poisson="{material["poisson"]:.9g}"
                  damping="{material.get("damping", 0.0):.9g}" {sheet}/>
    </flex>
  </deformable>
</mujoco>"""


def _ignore(message: str) -> None:
    """Divergence is noticed by what happens, not by what is warned of."""


def _text(values) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
