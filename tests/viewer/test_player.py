"""The page stays up: a port that is taken, a simulation that diverges, an error in a tick."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from kin4d.bodies import hinge
from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.page import Page
from kin4d.viewer.player import show

pytest.importorskip("viser")


def until(condition, what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"waited for: {what}"
        time.sleep(0.02)


def test_of_a_port_that_is_taken_the_next_is_used_and_said(monkeypatch, capsys) -> None:
    pages = []
    monkeypatch.setattr(Page, "run", lambda page: pages.append(page))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        show(hinge(), port=port)
    (page,) = pages
    page.close()
    assert page.port != port
    said = capsys.readouterr()
    assert f"port {port} is taken" in said.err
    assert f"localhost:{page.port}" in said.out


def test_a_simulation_that_diverges_is_said_and_the_page_goes_on(monkeypatch) -> None:
    page = Page(port=0)
    thread = threading.Thread(target=page.run, daemon=True)
    thread.start()
    views: list[BodyView] = []

    def diverge(*_):
        raise DivergedStep("the energy grew without bound")

    def start() -> None:
        views.append(BodyView(page, hinge()))
        views[0].mechanics.go()
        monkeypatch.setattr(views[0].mechanics.simulation._simulator, "step", diverge)

    try:
        page.loop.post(start)
        until(lambda: page.problems, "the report")
        assert "the simulation stopped" in page.problems[-1]
        assert "the energy grew without bound" in page.problems[-1]
        assert page._notice.visible
        assert "simulation stopped" in page._notice.content
        assert not views[0].mechanics.running
        # Reset and pose: everything goes on, and the notice is gone.
        page.loop.post(views[0].mechanics.back)
        page.loop.post(lambda: views[0]._posed(views[0].body.q0.numpy() + 0.3))
        until(lambda: views[0].q[0] == pytest.approx(0.3), "the pose")
        assert not page._notice.visible
        assert thread.is_alive()
    finally:
        page.close()
