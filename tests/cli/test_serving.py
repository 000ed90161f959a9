"""A process that is set up to serve frees what its clients leave behind."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import collections, gc, weakref
from kin4d.cli.serving import steady_memory

class Connection:
    def __init__(self):
        self.me, self.lists = self, [[] for _ in range(50)]

loaded = [[] for _ in range(400_000)]  # what makes full collections rare
gc.collect()
if {steady}:
    steady_memory()
alive, most, here = weakref.WeakSet(), 0, collections.deque(maxlen=400)
for _ in range(4000):
    here.append(Connection())
    alive.add(here[-1])
    most = max(most, len(alive))
print(most)
"""


def _most_alive(*, steady: bool) -> int:
    program = _PROGRAM.format(steady=steady)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_connections_are_freed_although_much_is_loaded() -> None:
    # 400 are here at a time.
    assert _most_alive(steady=True) < 1000
    assert _most_alive(steady=False) > 2000
