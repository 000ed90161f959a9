"""EnvServer: environments over the same protocol as policies; one for each connection.

A request is a message with an `endpoint`:

- `make` with `task`, `arm`, `control`, `height`, `width` and `max_steps`, each optional
- `reset` with `seed`: answers `observation`, `info` and `task_description`
- `step` with `actions` [H, D]: answers `observation`, `reward`, `terminated`, `truncated`, `info`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kin4d.envs import IMAGINED
from kin4d.envs.env import make_task_env
from kin4d.envs.task_env import TaskEnv
from kin4d.errors import InputError
from kin4d.policies.message_server import MessageServer

_CHOSEN = {"task", "arm", "control", "height", "width", "max_steps"}
_LARGEST = {"height": 1024, "width": 1024, "max_steps": 100_000}
_MAX_SIZE = 2**22  # bytes of a request


class EnvServer(MessageServer):
    """Answers actions with observations.

    Args:
        env: One of `kin4d.envs.ENVS`.
        env_options: Of the environment; clients choose task, arm, control, size and length.
        max_connections: At a time; each has an environment of its own.
        options: `host`, `port` and `api_key`; see `MessageServer`.
    """

    def __init__(
        self,
        env: str,
        *,
        env_options: Mapping[str, Any] | None = None,
        max_connections: int = 8,
        **options: Any,
    ) -> None:
        self.env, self._options = env, dict(env_options or {})
        if env == IMAGINED and isinstance(weights := self._options.get("weights", "tiny"), str):
            from kin4d.world.model import load_world_model

            self._options["weights"] = load_world_model(weights)  # all connections share it
        example = make_task_env(env, **self._options)
        # What has to be compiled is compiled before the first client waits for it.
        example.reset(seed=0)
        example.step_chunk(np.zeros((1, *example.action_space.shape)))  # pyright: ignore
        super().__init__(
            metadata={
                "serves": "environment",
                "env": env,
                "height": example.height,
                "width": example.width,
            },
            max_size=_MAX_SIZE,
            max_connections=max_connections,
            **options,
        )

    def open_session(self) -> Callable[[Any], Any]:
        """An environment for one connection, made by its first request."""
        return _Session(self.env, self._options)


class _Session:
    def __init__(self, env: str, options: dict[str, Any]) -> None:
        self._kind, self._options = env, options
        self._env: Any = None

    def __call__(self, request: Any) -> dict[str, Any]:
        endpoints = {"make": self._make, "reset": self._reset, "step": self._step}
        endpoint = request.get("endpoint") if isinstance(request, dict) else None
        if endpoint not in endpoints:
            raise InputError(
                "there is no such endpoint", value=endpoint, allowed="make, reset, step"
            )
        return endpoints[endpoint]({k: v for k, v in request.items() if k != "endpoint"})

    def _make(self, options: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(options) - _CHOSEN):
            raise InputError(
                "a client cannot choose this", value=unknown[0], allowed=", ".join(sorted(_CHOSEN))
            )
        for name, most in _LARGEST.items():
            if not isinstance(options.get(name, 1), int) or options.get(name, 1) > most:
                raise InputError(
                    f"{name} of a served environment", value=options[name], allowed=f"1 to {most}"
                )
        self._env = make_task_env(self._kind, **{**self._options, **options})
        return {"max_episode_steps": self._env._max_episode_steps}

    def _reset(self, options: dict[str, Any]) -> dict[str, Any]:
        env = self._made
        observation, info = env.reset(seed=options.get("seed"))
        return {
            "observation": observation,
            "info": info,
            "task_description": env.task_description,
        }

    def _step(self, options: dict[str, Any]) -> dict[str, Any]:
        result = self._made.step_chunk(np.asarray(options.get("actions")))
        names = ("observation", "reward", "terminated", "truncated", "info")
        return dict(zip(names, result, strict=True))

    @property
    def _made(self) -> TaskEnv:
        if self._env is None:
            raise InputError("there is no environment yet", hint="ask for the endpoint make first")
        return self._env
