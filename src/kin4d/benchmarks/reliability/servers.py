"""Servers under load for a minute: memory stays flat, and garbage stalls no one.

The viewer and a policy have fifty clients each, an environment six of the eight it serves. Clients
ask, leave and come back; others send half a request, noise or nothing, or never read what they are
sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.progress import track

_STAY = 5.0  # s that a client stays before it leaves and comes back
_STRANGE = 20  # clients that send garbage or nothing
_GARBAGE = (b"GET / HT", b"\x00\xff" * 500, b"", b"\r\n" * 40, b"POST / HTTP/1.1\r\n\r\n")
_GROWTH = 0.05  # of memory, from a third of the time to the end
_ANSWER = 5.0  # s
_IMAGE = np.zeros((64, 96, 3), np.uint8)


@dataclass
class Load:
    """What clients met.

    Attributes:
        answers: They had.
        slowest: s that one of these took, connecting included.
        failures: Connections that were lost or refused.
    """

    answers: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)


Client = Callable[[str, Load, float], Awaitable[None]]
"""(address, what is met, when to leave) -> one visit."""


def hold(observation: Any) -> np.ndarray:
    """A policy that does nothing."""
    return np.zeros((8, 7))


def run(*, quick: bool, seed: int) -> Report:
    """A row for each server; three seconds and few clients if quick."""
    seconds = 3.0 if quick else 60.0
    report = Report()
    with tempfile.TemporaryDirectory(prefix="kin4d-servers-") as folder:
        clip = _clip(Path(folder))
        policy = f"{__name__}:hold"
        servers: dict[str, tuple[list[str], Client, int]] = {
            "view": (["view", str(clip), "--port", "0"], _watch, 50),
            "serve-policy": (["serve-policy", "--policy", policy, "--port", "0"], _ask_policy, 50),
            "serve-env": (["serve-env", "--port", "0"], _step_env, 6),
        }
        for name, (command, client, clients) in track(servers.items(), "serving"):
            with _serving(command) as (process, address):
                row = asyncio.run(
                    _measure(process.pid, address, client, 3 if quick else clients, seconds)
                )
            report.rows.append({"server": name, **row})
    for row in report.rows:
        what = row["server"]
        report.checks += [
            Check(f"{what}: growth of memory under load", row["growth"], _GROWTH),
            Check(f"{what}: clients that failed", row["failed"], 0),
            Check(f"{what}: slowest answer, s", row["slowest answer (s)"], _ANSWER),
        ]
    return report


async def _measure(
    process: int, address: str, client: Client, clients: int, seconds: float
) -> dict[str, Any]:
    load, end = Load(), time.monotonic() + seconds
    strange = [_strange(address, number, end) for number in range(_STRANGE)]
    visitors = [_visit(client, address, load, end, number) for number in range(clients)]
    tasks = [asyncio.create_task(one) for one in (*strange, *visitors)]
    memory = []
    while time.monotonic() < end:
        await asyncio.sleep(seconds / 60)
        memory.append(_memory(process))
    await asyncio.gather(*tasks)
    # Largest of each time: memory that is freed between answers is not flat memory.
    early, late = max(memory[10:25]), max(memory[-15:])
    return {
        "clients": clients,
        "seconds": seconds,
        "answers": load.answers,
        "failed": len(load.failures),
        "slowest answer (s)": load.slowest,
        "memory (MB)": late / 1e6,
        "growth": late / early - 1,
        "first failure": load.failures[0] if load.failures else "",
    }


async def _visit(client: Client, address: str, load: Load, end: float, number: int) -> None:
    await asyncio.sleep(0.05 * number)  # they do not all come at once
    while (left := end - time.monotonic()) > 0:
        try:
            await client(address, load, time.monotonic() + min(_STAY, left))
        except Exception as error:
            load.failures.append(f"{type(error).__name__}: {error}"[:200])
            await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def _timed(load: Load):
    begun = time.monotonic()
    yield
    load.answers += 1
    load.slowest = max(load.slowest, time.monotonic() - begun)


async def _watch(address: str, load: Load, leave: float) -> None:
    """A page of the viewer: takes the scene, then what changes."""
    import viser
    from websockets.asyncio.client import connect

    protocol: Any = f"viser-v{viser.__version__}"
    async with contextlib.AsyncExitStack() as stack:
        async with _timed(load):
            page = await stack.enter_async_context(
                connect(address, subprotocols=[protocol], max_size=None, proxy=None)
            )
            await page.recv()
        while (left := leave - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(page.recv(), left)


async def _ask_policy(address: str, load: Load, leave: float) -> None:
    ask = {"observation/image": _IMAGE, "prompt": "lift"}
    await _converse(address, load, leave, lambda number: ask)


async def _step_env(address: str, load: Load, leave: float) -> None:
    first = [
        {"endpoint": "make", "task": "push", "max_steps": 100},
        {"endpoint": "reset", "seed": 1},
    ]
    actions = np.zeros((1, 7))
    actions[:, 6] = 1.0
    step = {"endpoint": "step", "actions": actions}
    await _converse(address, load, leave, lambda number: (*first, step)[min(number, 2)])


async def _converse(
    address: str, load: Load, leave: float, request: Callable[[int], dict[str, Any]]
) -> None:
    from websockets.asyncio.client import connect

    from kin4d.policies.array_messages import pack_message, unpack_message

    async with connect(address, max_size=None, proxy=None, compression=None) as connection:
        await connection.recv()
        number = 0
        while time.monotonic() < leave:
            async with _timed(load):
                await connection.send(pack_message(request(number)))
                answer = await connection.recv()
            if isinstance(answer, str):
                raise RuntimeError(answer.strip().splitlines()[-1])
            unpack_message(answer)
            number += 1
            await asyncio.sleep(0.1)


async def _strange(address: str, number: int, end: float) -> None:
    """Sends garbage, or connects and never reads."""
    host, _, port = address.rpartition("/")[2].partition(":")
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as stream:
            stream.setblocking(False)
            stream.sendall(_GARBAGE[number % len(_GARBAGE)])
            await asyncio.sleep(min(_STAY, max(end - time.monotonic(), 0)))
        await asyncio.sleep(0.1)


def _memory(process: int) -> int:
    """Resident bytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _serving(command: list[str]):
    """A server of the command line and its address."""
    server = subprocess.Popen(
        [sys.executable, "-c", "from kin4d.cli import main; main()", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    )
    assert server.stdout is not None
    try:
        for line in server.stdout:
            if found := re.search(r"(?:http|ws)://[^/\s]+:(\d+)", line):
                yield server, f"ws://127.0.0.1:{found[1]}"
                return
        raise RuntimeError(f"kin4d {' '.join(command)} did not start")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _clip(folder: Path) -> Path:
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.primitives import box

    mesh = box((1.0, 1.0, 1.0))
    moved = np.stack([mesh.vertices * s for s in np.linspace(1, 2, 24)]).astype(np.float32)
    return Clip(mesh=mesh, vertices=moved, fps=24.0).save(folder / "a.npz")
