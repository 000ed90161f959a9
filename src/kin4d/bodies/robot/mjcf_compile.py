"""Compile strangers' MJCF: in a child process, which may crash or run out of time or memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.isolation import Answer, Ask, isolated


def compile_mjcf(mujoco: Any, path: Path) -> Any:
    """The compiled model; what MuJoCo refuses, or breaks on, is an `InputError`."""

    @contextmanager
    def compiler() -> Iterator[Ask]:
        yield lambda: _compiled(mujoco, path)

    with isolated(path, "MuJoCo", compiler) as ask:
        _, model = ask()
    return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": bytes(model)})


def _compiled(mujoco: Any, path: Path) -> Answer:
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise InputError(f"MuJoCo cannot compile {path}: {error}") from None
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return None, buffer.tobytes()
