"""TrainingLog: what a training run reports, to TensorBoard and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kin4d.errors import OutputError
from kin4d.extras import require


class TrainingLog:
    """TensorBoard's events in a folder, and lines for people.

    Args:
        folder: Of the events.
        step: At which the run begins; events after it, which a killed run left, are hidden.
        say: Takes the lines.
    """

    def __init__(self, folder: Path, step: int, say: Callable[[str], None]) -> None:
        tensorboard = require("torch.utils.tensorboard", extra="train", purpose="logging training")
        self._folder, self._say = folder, say
        with self._writing():
            self._writer = tensorboard.SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, step: int, numbers: dict[str, float], *, group: str = "") -> None:
        """Log numbers by name to TensorBoard."""
        with self._writing():
            for name, number in numbers.items():
                self._writer.add_scalar(group + name, number, step)

    def line(self, begin: str, numbers: dict[str, float], end: str) -> None:
        """Say numbers by name, with words around them."""
        words = "  ".join(f"{name} {number:.4g}" for name, number in numbers.items())
        self._say(f"{begin} {words}  {end}")

    def close(self) -> None:
        """Write what is still in memory."""
        with self._writing():
            self._writer.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"cannot write {self._folder}: {error.strerror or error}",
                hint="free some space or choose another folder, then run again: it resumes",
            ) from error
