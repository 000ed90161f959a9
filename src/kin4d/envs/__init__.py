"""Environments of gymnasium, registered on import: `kin4d/MuJoCo-v0`, `kin4d/Scene-v0` and
`kin4d/Imagined-v0`.

All have the same spaces, tasks and starts: a seed gives the same first observation in each.
"""

from typing import Any

from kin4d.extras import require

_gymnasium: Any = require("gymnasium", extra="envs", purpose="making environments")

MUJOCO, SCENE, IMAGINED = "kin4d/MuJoCo-v0", "kin4d/Scene-v0", "kin4d/Imagined-v0"
ENVS = (MUJOCO, SCENE, IMAGINED)

_gymnasium.register(id=MUJOCO, entry_point="kin4d.envs.mujoco_env:MujocoEnv")
_gymnasium.register(id=SCENE, entry_point="kin4d.envs.scene_env:SceneEnv")
_gymnasium.register(id=IMAGINED, entry_point="kin4d.envs.imagined_env:ImaginedEnv")
