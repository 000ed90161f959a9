"""Several stores are read as if they were one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_episode import made_episode

from kin4d.episodes.concat import open_episodes
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError


def test_numbers_run_through_the_stores_in_order(tmp_path) -> None:
    names = [["a", "b", "c"], ["d", "e"]]
    for folder, some in zip(("one", "two"), names, strict=True):
        made = [replace(made_episode(), name=name) for name in some]
        EpisodeStore.write(tmp_path / folder, made)
    joined = open_episodes([tmp_path / "one", tmp_path / "two"])
    assert len(joined) == 5
    assert joined.numbers() == [0, 1, 2, 3, 4]
    assert [joined.episode(n).name for n in joined.numbers()] == ["a", "b", "c", "d", "e"]
    apart = [EpisodeStore.open(tmp_path / folder).numbers("train") for folder in ("one", "two")]
    assert joined.numbers("train") == apart[0] + [3 + n for n in apart[1]]
    assert isinstance(open_episodes([tmp_path / "two"]), EpisodeStore)


def test_no_store_is_refused() -> None:
    with pytest.raises(InputError, match="one or more"):
        open_episodes([])
