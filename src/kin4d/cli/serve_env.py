"""`kin4d serve-env`: an environment over the protocol of policy servers."""

from __future__ import annotations

from typing import Any

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Port
from kin4d.cli.serving import steady_memory


def serve_env_command(
    *,
    env: str = "kin4d/MuJoCo-v0",
    host: str = "127.0.0.1",
    port: Port = 8001,
    api_key: str | None = None,
    max_connections: Count = 8,
    weights: str = "tiny",
    window: Count = 80,
    json: bool = False,
) -> None:
    """Answer actions with observations until Ctrl-C; each connection has its own episode.

    Clients choose task, robot, control, size and length: `kin4d.envs.remote_env.RemoteEnv`, or
    `kin4d evaluate-policy --env ws://host:port`.

    Args:
        env: kin4d/MuJoCo-v0, kin4d/Scene-v0 or kin4d/Imagined-v0.
        host: Address to listen on; 0.0.0.0 for other machines too.
        port: Port; 0 takes a free one and prints it.
        api_key: Refuse connections without it; by default there is none on this machine, and a
            random one, which is printed, on other addresses.
        max_connections: At a time.
        weights: World model of kin4d/Imagined-v0.
        window: Actions that it predicts from one frame.
        json: Print the address as JSON.
    """
    from kin4d.envs import IMAGINED
    from kin4d.envs.env_server import EnvServer

    options: dict[str, Any] = {"weights": weights, "window": window} if env == IMAGINED else {}
    server = EnvServer(
        env,
        env_options=options,
        max_connections=max_connections,
        host=host,
        port=port,
        api_key=api_key,
    )
    steady_memory()
    data = {"address": server.address, "api_key": server.api_key, "env": env}
    key = "" if server.api_key is None else f" with --api-key {server.api_key}"
    print_result(f"{env} at {server.address}{key}; Ctrl-C ends it", data, as_json=json, flush=True)
    try:
        server.serve_forever()
    finally:
        server.close()
