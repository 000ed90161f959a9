"""`kin4d serve-policy`: a policy over the openpi websocket protocol."""

from __future__ import annotations

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Port, Timeout
from kin4d.cli.serving import steady_memory


def serve_policy_command(
    *,
    policy: str,
    host: str = "127.0.0.1",
    port: Port = 8000,
    api_key: str | None = None,
    timeout: Timeout = 30.0,
    json: bool = False,
) -> None:
    """Answer observations with a policy's actions, in the protocol of openpi, until Ctrl-C.

    Args:
        policy: module:callable, expert, expert:SIGMA (noise in m per action), lerobot:PATH, or the
            ws://host:port of another server.
        host: Address to listen on; 0.0.0.0 for other machines too.
        port: Port; 0 takes a free one and prints it.
        api_key: Refuse connections without it; by default there is none on this machine, and a
            random one, which is printed, on other addresses.
        timeout: s that another server may take for an answer.
        json: Print the address as JSON.
    """
    from kin4d.policies.load import load_policy
    from kin4d.policies.server import PolicyServer

    loaded = load_policy(policy, timeout=timeout)
    steady_memory()
    server = PolicyServer(loaded, host=host, port=port, api_key=api_key)
    data = {"address": server.address, "api_key": server.api_key, "policy": policy}
    data["control"] = server.metadata["control"]
    key = "" if server.api_key is None else f" with --api-key {server.api_key}"
    text = f"{policy} at {server.address}{key}; Ctrl-C ends it"
    print_result(text, data, as_json=json, flush=True)
    try:
        server.serve_forever()
    finally:
        server.close()
