"""Splits never move: these golden values must hold for ever, or test objects leak into training."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.objects.sources import FileSource, articulated_source, make_articulated
from kin4d.storage.sample_id import SampleId
from kin4d.storage.splits import (
    SHARES,
    SPLITS,
    UNSEEN_CATEGORIES,
    check_trainable,
    is_trainable,
    split_of,
)


def who(category: str = "laptop", name: str = "0", **more: str) -> SampleId:
    fields = {"source": "articulated", "licence": "Apache-2.0", **more}
    return SampleId(category=category, name=name, **fields)  # pyright: ignore[reportArgumentType]


def test_golden_splits() -> None:
    held_out = {
        seed: split for seed in range(60) if (split := split_of(who(name=str(seed)))) != "train"
    }
    assert held_out == {
        4: "test",
        13: "test",
        15: "dev",
        17: "test",
        20: "dev",
        38: "test",
        49: "test",
        52: "test",
    }
    assert split_of(who("Globe", "3")) == "unseen"
    assert split_of(who("globe", "3", source="elsewhere")) == "unseen"


def test_shares_are_kept() -> None:
    splits = [split_of(who("door", str(seed))) for seed in range(4000)]
    for split, share in SHARES.items():
        assert splits.count(split) / 4000 == pytest.approx(share, abs=0.015)  # pyright: ignore[reportArgumentType]


def test_clips_of_one_instance_and_versions_of_one_maker_stay_together() -> None:
    for name in map(str, range(50)):
        clips = {split_of(who(name=f"{name}/{clip}", instance=name)) for clip in "abc"}
        assert len(clips) == 1
        old, new = who(name=name, source="mujoco 3.3"), who(name=name, source="mujoco 4.0")
        assert split_of(old) == split_of(new)


@pytest.mark.parametrize("split", SPLITS)
def test_draws_come_from_their_split(split: str) -> None:
    source, rng = articulated_source(), np.random.default_rng(0)
    for _ in range(40):
        category, seed = source.choose(rng, split)
        assert split_of(source.identity(category, seed)) == split
        assert (category in UNSEEN_CATEGORIES) == (split == "unseen")


def test_unseen_categories_exist() -> None:
    assert set(articulated_source().categories) >= UNSEEN_CATEGORIES


def test_listed_sources_draw_by_split_and_say_when_they_have_none() -> None:
    identities = [who(name=str(seed)) for seed in range(30)]
    source = FileSource("list", identities, lambda i: make_articulated("laptop", i))
    drawn = source.sample(np.random.default_rng(0), "train")
    assert split_of(drawn.identity) == "train"
    with pytest.raises(InputError, match="nothing in split 'unseen'"):
        source.sample(np.random.default_rng(0), "unseen")
    with pytest.raises(InputError, match="no such split"):
        source.sample(np.random.default_rng(0), "training")


def test_terms() -> None:
    assert is_trainable("CC0-1.0 and CC-BY-4.0")
    assert not is_trainable("")
    assert not is_trainable("CC-BY-NC-4.0")
    check_trainable([who()])
    with pytest.raises(InputError, match="may not be trained on"):
        check_trainable([who(), who(source="pm", licence="research only")])


def test_categories_can_be_chosen() -> None:
    assert articulated_source(["door"]).categories == ("door",)
    with pytest.raises(InputError, match="no such category"):
        articulated_source(["spaceship"])
