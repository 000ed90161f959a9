"""The player: rigid parts are moved, deforming surfaces sent anew."""

from __future__ import annotations

import urllib.request
from dataclasses import replace

import numpy as np
import pytest

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.errors import InputError
from kin4d.viewer.player import Player

pytest.importorskip("viser")


@pytest.fixture
def swing():
    return bake(hinge(), sweep_joints(hinge(), frames=5))


@pytest.fixture
def open_player():
    players = []

    def start(clip):
        players.append(Player(clip, port=0))
        return players[-1]

    yield start
    for player in players:
        player.close()


def surfaces(player):
    """Handles of the shown meshes by name."""
    handles = player._server.scene._handle_from_node_name
    return {name: handle for name, handle in handles.items() if hasattr(handle, "vertices")}


def test_rigid_parts_are_moved(swing, open_player):
    player = open_player(swing)
    before = {name: handle.vertices for name, handle in surfaces(player).items()}
    player.show(1)
    after = surfaces(player)
    assert all(after[name].vertices is vertices for name, vertices in before.items())
    doors = [handle for name, handle in after.items() if name.startswith("/body/door/")]
    turned = swing.skin.transforms[1, swing.skin.names.index("door"), :3, :3]
    angle = np.arccos((np.trace(turned) - 1) / 2)
    assert angle > 0.1
    for door in doors:
        np.testing.assert_allclose(2 * np.arccos(door.wxyz[0]), angle, atol=1e-6)


def test_deforming_surfaces_follow(swing, open_player):
    player = open_player(replace(swing, skin=None))
    player.show(2)
    shown = np.concatenate([handle.vertices for handle in surfaces(player).values()])
    distinct = np.unique(swing.vertices[2], axis=0)
    np.testing.assert_array_equal(np.unique(shown, axis=0), distinct)
    player.show(99)  # beyond the end: the last frame


def test_the_page_is_served_to_this_machine_alone(swing, open_player):
    player = open_player(swing)
    with urllib.request.urlopen(f"http://127.0.0.1:{player.port}", timeout=10) as page:
        assert page.status == 200
        assert b"<html" in page.read(200)
    assert player._server.get_host() == "127.0.0.1"


def test_a_taken_port_is_passed_over(swing, open_player):
    first = open_player(swing)
    second = Player(swing, port=first.port)
    try:
        assert second.port != first.port
    finally:
        second.close()


def test_a_still_clip_can_be_shown(swing, open_player):
    open_player(replace(swing, vertices=swing.vertices[:1], q=swing.q[:1], skin=None))


@pytest.mark.parametrize("port", [-5, 70_000])
def test_ports_that_do_not_exist(swing, port):
    with pytest.raises(InputError, match=str(port)):
        Player(swing, port=port)
