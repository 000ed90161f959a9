"""Contact sheets show every state of every object."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.preview import ROWS, procedural_preview


def test_a_sheet_has_a_tile_for_every_seed_and_state() -> None:
    sheet = np.asarray(procedural_preview("safe", seeds=(0, 1), tile=64))
    assert sheet.shape == (64 * len(ROWS), 128, 3)
    tiles = sheet.reshape(3, 64, 2, 64, 3).swapaxes(1, 2)
    assert all(tile.std() > 5 for row in tiles for tile in row)
    # The ends of the range look different from each other.
    assert np.abs(tiles[1].astype(int) - tiles[2]).mean() > 1
