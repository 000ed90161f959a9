"""A policy behind a server: answers, errors, lost connections, time-outs and busy ports."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve

from kin4d.cli import main
from kin4d.errors import InputError
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.policies.policy import PolicyError, check_actions
from kin4d.policies.server import PolicyServer
from kin4d.policies.websocket_policy import WebsocketPolicy

OBSERVATION = {
    "observation/image": np.zeros((64, 96, 3), np.uint8),
    "observation/joint_position": np.zeros(7, np.float32),
    "observation/gripper_position": np.ones(1, np.float32),
    "observation/eef_pose": np.zeros(6, np.float32),
    "prompt": "lift",
    "episode/task": "lift",
    "episode/seed": 3,
}


def doubling(observation) -> np.ndarray:
    if observation["prompt"] == "fail":
        raise ValueError("no such prompt")
    return 2 * np.asarray(observation["observation/gripper_position"])[None].repeat(7, 1)


@pytest.fixture
def server() -> Iterator[PolicyServer]:
    with PolicyServer(doubling, port=0) as running:
        yield running


def test_actions_come_back(server: PolicyServer) -> None:
    policy = WebsocketPolicy(server.address)
    assert policy.preset.name == "kin4d"
    assert policy.control == "pose_delta"
    np.testing.assert_array_equal(policy(OBSERVATION), np.full((1, 7), 2.0))
    np.testing.assert_array_equal(policy(OBSERVATION), np.full((1, 7), 2.0))
    policy.close()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz") as answer:
        assert (answer.status, answer.read()) == (200, b"OK\n")


def test_garbage_fills_no_log(server: PolicyServer, caplog, capfd) -> None:
    for garbage in (b"GET / HT", b"\x00\xff" * 500, b"POST / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port)) as stream:
            stream.sendall(garbage)
            stream.shutdown(socket.SHUT_WR)
            stream.settimeout(10)
            while stream.recv(4096):  # until the server has given it up
                pass
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_an_exception_is_named_and_the_next_request_is_answered(server: PolicyServer) -> None:
    policy = WebsocketPolicy(server.address)
    with pytest.raises(PolicyError, match="no such prompt") as caught:
        policy({**OBSERVATION, "prompt": "fail"})
    assert caught.value.reason == "error"
    assert policy(OBSERVATION).shape == (1, 7)
    policy.close()


def test_api_key() -> None:
    with PolicyServer(doubling, port=0, api_key="secret") as running:
        with pytest.raises(PolicyError, match="refused"):
            WebsocketPolicy(running.address)
        policy = WebsocketPolicy(running.address, api_key="secret")
        assert policy(OBSERVATION).shape == (1, 7)
        policy.close()


def refused(server: PolicyServer, **headers: str) -> str:
    with pytest.raises(InvalidStatus) as caught:
        connect(f"ws://127.0.0.1:{server.port}", additional_headers=headers, proxy=None)
    return f"{caught.value.response.status_code} {caught.value.response.body.decode()}"


def test_pages_of_other_sites_are_refused(server: PolicyServer) -> None:
    assert "403 kin4d: the Origin" in refused(server, Origin="http://evil.example")
    with connect(f"ws://127.0.0.1:{server.port}", proxy=None) as own:
        assert unpack_message(own.recv())["preset"] == "kin4d"
    rebound = b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        stream.sendall(rebound)
        assert b"403" in stream.recv(100)


def test_other_machines_need_a_key() -> None:
    with PolicyServer(doubling, host="0.0.0.0", port=0) as running:
        assert len(running.api_key or "") >= 32
        assert refused(running).startswith("401")
        assert refused(running, Authorization="Api-Key ").startswith("401")
        key = f"Api-Key {running.api_key}"
        assert refused(running, Authorization=key, Origin="http://evil.example").startswith("403")
        policy = WebsocketPolicy(f"ws://127.0.0.1:{running.port}", api_key=running.api_key)
        assert policy(OBSERVATION).shape == (1, 7)
        policy.close()


def test_slow_garbage_and_many_clients_stall_no_other() -> None:
    with PolicyServer(doubling, port=0, max_size=10_000, max_connections=8) as running:
        streams = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(40)]
        for number, stream in enumerate(streams):
            stream.sendall((b"GET / HT", b"\x00\xff" * 500, b"", b"\r\n" * 40)[number % 4])
        address = f"ws://127.0.0.1:{running.port}"
        for message in (b"\xc1", "text", b"\x00" * 20_000):
            with connect(address, proxy=None) as client:
                client.recv()
                client.send(message)
                with pytest.raises(ConnectionClosed):
                    list(client)
        idle = [connect(address, proxy=None) for _ in range(8)]
        for one in idle:
            one.recv()  # what the server says when it has taken a client
        assert refused(running).startswith("503")
        for one in (*idle, *streams):
            one.close()
        begun = time.monotonic()
        policy = WebsocketPolicy(address, connect_timeout=20)
        assert policy({**OBSERVATION, "observation/image": np.zeros(3)}).shape == (1, 7)
        assert time.monotonic() - begun < 10
        policy.close()


def test_a_restarted_server_is_found_again_and_a_dead_one_is_an_error() -> None:
    with PolicyServer(doubling, port=0) as first:
        policy = WebsocketPolicy(first.address, connect_timeout=1.0)
        policy(OBSERVATION)
    with PolicyServer(doubling, port=first.port):
        assert policy(OBSERVATION).shape == (1, 7)
    with pytest.raises(PolicyError, match="no policy server") as caught:
        policy(OBSERVATION)
    assert caught.value.reason == "disconnected"


def test_a_server_that_dies_at_every_request_is_an_error() -> None:
    requests = []

    def die(connection) -> None:
        connection.send(pack_message({"preset": "kin4d"}))
        requests.append(connection.recv())
        connection.close(1011)

    with _serving(die) as address:
        policy = WebsocketPolicy(address)
        with pytest.raises(PolicyError, match="twice") as caught:
            policy(OBSERVATION)
    assert caught.value.reason == "disconnected"
    assert len(requests) == 2


def test_a_late_answer_is_a_timeout_and_not_the_next_answer() -> None:
    delays = [0.6, 0.0]

    def slow(connection) -> None:
        connection.send(pack_message({"preset": "kin4d"}))
        for data in connection:
            value = float(unpack_message(data)["episode/seed"])
            time.sleep(delays.pop(0))
            connection.send(pack_message({"actions": np.full((1, 7), value)}))

    with _serving(slow) as address:
        policy = WebsocketPolicy(address, timeout=0.3)
        with pytest.raises(PolicyError, match=r"within 0\.3 s") as caught:
            policy({**OBSERVATION, "episode/seed": 1})
        assert caught.value.reason == "timeout"
        assert policy({**OBSERVATION, "episode/seed": 2})[0, 0] == 2
        policy.close()


@pytest.mark.parametrize("answer", [{"action": 1}, {"actions": "none"}, 5, b"\xc1"])
def test_an_answer_without_actions(answer) -> None:
    def wrong(connection) -> None:
        connection.send(pack_message({"preset": "kin4d"}))
        for _ in connection:
            connection.send(answer if isinstance(answer, bytes) else pack_message(answer))

    with _serving(wrong) as address:
        policy = WebsocketPolicy(address)
        with pytest.raises(PolicyError, match=r"actions|not a message"):
            policy(OBSERVATION)
        policy.close()


def test_two_servers_on_one_port(server: PolicyServer, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(InputError, match="another with --port"):
        PolicyServer(doubling, port=server.port)
    assert main(["serve-policy", "--policy", "expert", "--port", str(server.port)]) == 2
    assert "cannot listen" in capsys.readouterr().err


def test_no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PolicyError, match="no policy server"):
        WebsocketPolicy(f"ws://127.0.0.1:{port}", connect_timeout=0.3)
    with pytest.raises(InputError, match="not the address"):
        WebsocketPolicy("ws://")


def test_another_process_serves_a_module_and_ends(tmp_path: Path) -> None:
    (tmp_path / "resting.py").write_text(
        "def act(observation):\n    return [[0.0] * 6 + [1.0]] * 4\n"
    )
    command = [sys.executable, "-c", "from kin4d.cli import main; main()", "serve-policy"]
    command += ["--policy", "resting:act", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            lines = ""
            for line in process.stdout:
                lines += line
                if line.startswith("}"):
                    break
            policy = WebsocketPolicy(json.loads(lines)["address"])
            assert policy(OBSERVATION).tolist() == [[0.0] * 6 + [1.0]] * 4
            process.terminate()
            assert process.wait(timeout=10) is not None
            policy.connect_timeout = 0.5
            with pytest.raises(PolicyError) as caught:
                policy(OBSERVATION)
            assert caught.value.reason == "disconnected"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (np.full((2, 7), np.nan), "not_finite"),
        (np.zeros((2, 6)), "shape"),
        (np.zeros((0, 7)), "shape"),
        (np.zeros((1, 2, 7)), "shape"),
        (None, "not_finite"),
        ("words", "shape"),
    ],
)
def test_useless_actions(actions, reason: str) -> None:
    actions = [actions] * 7 if actions is None else actions
    with pytest.raises(PolicyError) as caught:
        check_actions(actions, 7)
    assert caught.value.reason == reason


def test_one_action_is_a_chunk_of_one() -> None:
    assert check_actions([0.0] * 7, 7).shape == (1, 7)


class _serving:
    """A server with a handler of its own, in a thread."""

    def __init__(self, handler) -> None:
        self._server = serve(handler, "127.0.0.1", 0, compression=None, max_size=None)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._thread.join(timeout=5)
