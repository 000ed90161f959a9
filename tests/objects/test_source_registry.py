"""Every named source gives object samples that pairs can be made of, and that carry their terms."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError, Kin4dError
from kin4d.objects.pairs import make_pairs
from kin4d.objects.source_registry import SOURCE_NAMES, named_source
from kin4d.objects.sources import ProceduralSource
from kin4d.storage.splits import is_trainable, split_of

ANIMATED = Path(os.environ.get("KIN4D_DATA", "")) / "animated"


@pytest.mark.parametrize("name", [name for name in SOURCE_NAMES if ":" not in name])
def test_seeded_sources(name: str) -> None:
    source = named_source(name)
    assert isinstance(source, ProceduralSource)
    category = {
        "soft": "rope_swing",
        "elastic": "ball",
        "articulated": "door",
        "creatures": "snake",
    }[name]
    one, two = source.make(category, 3), source.make(category, 3)
    assert one.identity == source.identity(category, 3)
    assert is_trainable(one.identity.licence)
    np.testing.assert_array_equal(
        one.vertices(one.extreme_states()), two.vertices(two.extreme_states())
    )
    pairs = make_pairs(one, 2, np.random.default_rng(0), points=48)
    assert np.isfinite(pairs.dq).all()
    assert np.linalg.norm(pairs.points1 - pairs.points0, axis=-1).max() > 1e-3


def test_what_cannot_be_made_is_drawn_again() -> None:
    calls = []

    def make(category: str, seed: int) -> str:
        calls.append(seed)
        if len(calls) < 3:
            raise Kin4dError("it blew up")
        return f"{category} {seed}"

    source = ProceduralSource(name="x", licence="MIT", categories=("a",), make=make)  # pyright: ignore[reportArgumentType]
    assert source.sample(np.random.default_rng(0), "train") == f"a {calls[2]}"


def test_unknown_names_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such source.*animated:DIR"):
        named_source("nothing")
    with pytest.raises(InputError, match="holds no animated files"):
        named_source(f"animated:{tmp_path}")
    with pytest.raises(InputError, match="not a store"):
        named_source(f"store:{tmp_path}")


@pytest.mark.skipif(not ANIMATED.is_dir(), reason="KIN4D_DATA does not hold animated")
def test_animated_folders(tmp_path: Path) -> None:
    (tmp_path / "Fox.glb").symlink_to(ANIMATED / "Fox.glb")
    (tmp_path / "licences.json").write_text('{"Fox.glb": "CC0-1.0 and CC-BY-4.0"}')
    source = named_source(f"animated:{tmp_path}")
    assert len({split_of(who) for who in source.identities}) == 1
    fox = source.load(0)  # pyright: ignore[reportAttributeAccessIssue]
    assert is_trainable(fox.identity.licence)
    size = np.ptp(fox.vertices(np.array([0]))[0], axis=0)
    assert size[1] > size[0]  # it stands up and looks along y
