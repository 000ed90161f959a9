"""`kin4d data`: stores made, counted, checked and drawn from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tyro
from PIL import Image

from kin4d.cli.data import data_command
from kin4d.errors import InputError


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    tyro.cli(data_command, args=[str(argument) for argument in (*arguments, "--json")])
    return json.loads(capsys.readouterr().out)


def test_a_store_from_beginning_to_end(capsys, tmp_path: Path) -> None:
    store = tmp_path / "store"
    made = run(
        capsys, "objects", "--output", store, "--categories", "door", "globe", "--count", 6,
        "--frames", 3, "--workers", 1,
    )  # fmt: skip
    assert (made["sequences"], made["dropped"]) == (6, 0)
    found = run(capsys, "stats", store)
    assert found["categories"] == {"door": 3, "globe": 3}
    assert found["splits"]["unseen"] == 3
    assert found["licences"] == {"Apache-2.0": 6}
    assert found["frames"] == 18
    assert run(capsys, "verify", store)["problems"] == []
    run(capsys, "preview", "-o", tmp_path / "previews", "--source", f"store:{store}", "--count", 2,
        "--tile", 48)  # fmt: skip
    image = np.asarray(Image.open(tmp_path / "previews" / "globe.jpg"))
    assert image.shape == (3 * 48, 2 * 48, 3)
    assert image.std() > 5
    file = next(store.glob("shards/*/faces.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    with pytest.raises(InputError, match=r"1 problems: 00000000/faces.npy differs"):
        run(capsys, "verify", store)


def test_previews_of_a_source(capsys, tmp_path: Path) -> None:
    run(
        capsys,
        "preview",
        "--output",
        tmp_path,
        "--categories",
        "laptop",
        "--count",
        1,
        "--tile",
        48,
    )
    assert (tmp_path / "laptop.jpg").is_file()
    with pytest.raises(InputError, match="no such category"):
        run(capsys, "preview", "-o", tmp_path, "--categories", "spaceship")
