"""All work is done in order, the latest of its kind, and no failure ends it."""

from __future__ import annotations

import threading

from kin4d.viewer.work_loop import WorkLoop


def test_only_the_latest_of_a_kind_is_done() -> None:
    done: list[object] = []
    loop = WorkLoop(done.append)
    for value in range(5):
        loop.post(lambda value=value: done.append(value), key="slider")
    loop.post(lambda: done.append("a"))
    loop.post(lambda: done.append("b"))
    loop.drain()
    assert done == [4, "a", "b"]


def test_failures_are_reported_and_it_goes_on() -> None:
    errors, done = [], []
    loop = WorkLoop(errors.append)
    ticks = iter([0.0, ZeroDivisionError("tick"), 0.0])

    def tick() -> float:
        value = next(ticks, None)
        if isinstance(value, Exception):
            raise value
        if value is None:
            loop.stop()
            return 0.0
        return value

    loop.post(lambda: 1 / 0)  # type: ignore[arg-type]
    loop.post(lambda: done.append(1))
    threading.Timer(0.05, lambda: loop.post(lambda: None)).start()  # it waits after a failure
    loop.run(tick)
    assert done == [1]
    assert [type(error) for error in errors] == [ZeroDivisionError] * 2
