"""RemoteEnv: an environment behind `kin4d serve-env`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kin4d.envs.chunk_env import ChunkEnv, StepResult, WorldError
from kin4d.policies.message_client import MessageClient


class RemoteEnv(ChunkEnv):
    """A task in another process or on another machine.

    A time-out or a lost connection ends the episode with a `WorldError`; the next `reset` connects
    again. Observations that do not fit the spaces are errors.

    Args:
        address: "ws://host:port".
        timeout: s that the server may take for an answer.
        connect_timeout: s that it may take to accept a connection.
        api_key: For a server that asks for one.
        options: As for `ChunkEnv`; images have the server's size by default.
    """

    def __init__(
        self,
        address: str,
        *,
        timeout: float = 60.0,
        connect_timeout: float = 10.0,
        api_key: str | None = None,
        **options: Any,
    ) -> None:
        self._client = MessageClient(
            address,
            error=WorldError,
            serves="environment",
            start="kin4d serve-env --env kin4d/MuJoCo-v0 --port 8001",
            attempts=1,
            timeout=timeout,
            connect_timeout=connect_timeout,
            api_key=api_key,
        )
        metadata = self._client.metadata
        if metadata.get("serves") != "environment":
            self._client.close()
            raise WorldError("refused", f"{address} does not serve an environment")
        for side in ("height", "width"):
            options.setdefault(side, int(metadata[side]))
        super().__init__(**options)
        self._make()

    @property
    def remote(self) -> str:
        """Id of the environment that is served."""
        return str(self._client.metadata.get("env"))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a seed."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(2**31)) if seed is None else seed
        self._scene_seed = None
        if not self._client.is_connected:
            self._client.connect()
            self._make()
        answer = self._ask("reset", seed=chosen)
        observation, info = self._observation(answer), self._info(answer)
        self.task_description = str(answer.get("task_description", self.task_description))
        self._scene_seed, self._steps, self._success = chosen, 0, False
        return observation, info

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def render(self) -> np.ndarray | None:
        """[H, W, 3] uint8: what the camera saw last."""
        return self._last if self.render_mode == "rgb_array" else None

    def _advance(self, actions: np.ndarray) -> StepResult:
        try:
            answer = self._ask("step", actions=actions)
            observation, info = self._observation(answer), self._info(answer)
            reward, terminated = float(answer["reward"]), bool(answer["terminated"])
            truncated = bool(answer["truncated"])
        except KeyError as error:
            self._scene_seed = None
            raise WorldError(
                "shape", f"the answer of {self._client.address} has no {error}"
            ) from None
        except WorldError:
            self._scene_seed = None  # this episode cannot go on
            raise
        self._steps, self._success = info["steps"], info["is_success"]
        return observation, reward, terminated, truncated, info

    def _make(self) -> None:
        self._ask(
            "make",
            task=self.task,
            arm=self.arm.name,
            control=self.control,
            height=self.height,
            width=self.width,
            max_steps=self._max_episode_steps,
        )

    def _ask(self, endpoint: str, **message: Any) -> dict[str, Any]:
        if not self._client.is_connected:
            raise WorldError("disconnected", "the connection was lost", hint="call reset()")
        answer = self._client.ask({"endpoint": endpoint, **message})
        if not isinstance(answer, dict):
            raise WorldError("shape", f"the answer of {self._client.address} is not a mapping")
        return answer

    def _observation(self, answer: dict[str, Any]) -> dict[str, Any]:
        observation = answer.get("observation")
        if not self.observation_space.contains(observation):
            raise WorldError(
                "shape", f"{self._client.address} sent an observation that does not fit the spaces"
            )
        assert isinstance(observation, dict)
        self._last = np.array(observation["pixels"]["front"])
        return observation

    def _info(self, answer: dict[str, Any]) -> dict[str, Any]:
        info = answer.get("info")
        if not isinstance(info, dict) or not {"is_success", "steps", "clipped_actions"} <= set(
            info
        ):
            raise WorldError("shape", f"{self._client.address} sent no info of the episode")
        return {**info, "is_success": bool(info["is_success"]), "steps": int(info["steps"])}
