"""Manners of a worker process: one thread for itself, and no life after its parent's."""

from __future__ import annotations

import multiprocessing
import os
import threading


def init_worker() -> None:
    """Call first in a spawned worker process."""
    import torch

    torch.set_num_threads(1)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    # A parent killed by -9 cannot tell anyone; its end is seen here.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
