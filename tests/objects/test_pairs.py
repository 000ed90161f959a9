"""Pairs: motions are exact, parts stay rigid under any augmentation, streams repeat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.geometry.dual_quaternion import dq_apply
from kin4d.objects.augmentation import Augmentation
from kin4d.objects.pairs import PairBatch, make_pairs
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.objects.sources import FileSource, articulated_source, make_articulated
from kin4d.objects.stream import PairStream
from kin4d.storage.sample_id import SampleId
from kin4d.storage.splits import split_of

NOTHING = Augmentation.none()
EACH = [
    Augmentation(),
    NOTHING,
    replace(NOTHING, max_yaw=np.pi),
    replace(NOTHING, tilt=0.3),
    replace(NOTHING, stretch=0.4),
    replace(NOTHING, mirror=1.0),
    replace(NOTHING, scale=(0.5, 2.0)),
    replace(NOTHING, unevenness=1.0),
    replace(NOTHING, one_sided=1.0),
    replace(NOTHING, noise=0.01),
    replace(NOTHING, fuse=1.0),
]


def cabinet_pairs(
    augmentation: Augmentation, *, category: str = "cabinet", seed: int = 0
) -> PairBatch:
    rng = np.random.default_rng(seed)
    return make_pairs(make_articulated(category, 3), 6, rng, points=128, augmentation=augmentation)


@pytest.mark.parametrize("augmentation", EACH)
def test_motions_are_exact_and_parts_rigid(augmentation: Augmentation) -> None:
    pairs = cabinet_pairs(augmentation)
    moved = dq_apply(torch.from_numpy(pairs.dq), torch.from_numpy(pairs.points0)).numpy()
    np.testing.assert_allclose(moved, pairs.points1, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(pairs.dq[..., :4], axis=-1), 1, atol=1e-6)
    assert (pairs.dq[..., 0] >= 0).all()
    assert pairs.exact.all()
    for row in range(len(pairs)):
        for part in np.unique(pairs.part[row]):
            inside = pairs.part[row] == part
            gaps = [
                np.linalg.norm(p[row, inside][:, None] - p[row, inside], axis=-1)
                for p in (pairs.points0, pairs.points1)
            ]
            np.testing.assert_allclose(*gaps, atol=3e-6)


def test_boxes_are_unit_and_lead_back_to_metres() -> None:
    pairs = cabinet_pairs(NOTHING)
    low, high = pairs.points0.min(1), pairs.points0.max(1)
    np.testing.assert_allclose((high - low).max(1), 1, atol=1e-6)
    np.testing.assert_allclose(high + low, 0, atol=1e-6)
    sample = make_articulated("cabinet", 3)
    metres = pairs.points0 / pairs.scale[:, None, None] + pairs.centre[:, None]
    rest = sample.vertices(sample.states(np.random.default_rng(0), 50)).reshape(-1, 3)
    assert (metres.reshape(-1, 3) >= rest.min(0) - 0.1).all()
    assert (metres.reshape(-1, 3) <= rest.max(0) + 0.1).all()


def test_something_moves_in_every_pair() -> None:
    for category in ("laptop", "cabinet", "pliers"):
        pairs = cabinet_pairs(Augmentation(), category=category)
        motion = np.linalg.norm(pairs.points1 - pairs.points0, axis=-1)
        assert (motion.max(1) > 0).all()


def test_the_first_state_is_not_always_rest() -> None:
    pairs = make_pairs(
        make_articulated("laptop", 0), 20, np.random.default_rng(0), augmentation=NOTHING
    )
    assert len(np.unique(pairs.centre.round(6), axis=0)) > 10


def test_one_sided_pairs_show_one_side() -> None:
    pairs = cabinet_pairs(replace(NOTHING, one_sided=1.0))
    for normals in pairs.normals0:
        directions = np.random.default_rng(0).normal(size=(4000, 3))
        assert (normals @ directions.T > -1e-6).all(0).any()


def test_fusing_joins_components_across_parts() -> None:
    def joined(pairs: PairBatch) -> int:
        return sum(
            len(np.unique(part[component == c])) > 1
            for part, component in zip(pairs.part, pairs.component, strict=True)
            for c in np.unique(component)
        )

    assert joined(cabinet_pairs(replace(NOTHING, fuse=1.0))) > joined(cabinet_pairs(NOTHING))


def test_components_are_counted_from_zero() -> None:
    for row in cabinet_pairs(Augmentation()).component:
        assert set(row) == set(range(row.max() + 1))


def test_soft_pairs_move_their_points_exactly(bent_sheet: SequenceSample) -> None:
    pairs = make_pairs(bent_sheet, 3, np.random.default_rng(0), points=64)
    moved = dq_apply(torch.from_numpy(pairs.dq), torch.from_numpy(pairs.points0)).numpy()
    np.testing.assert_allclose(moved, pairs.points1, atol=2e-6)
    assert not pairs.exact.any()
    assert (pairs.part == -1).all()


@pytest.fixture
def bent_sheet() -> SequenceSample:
    from kin4d.objects.sequence import VertexSequence

    x = np.linspace(0, 1, 20)
    rows = [np.stack([x, np.full(20, y), k * x**2], -1) for k in (0.0, 0.5, 1.0) for y in (0, 0.2)]
    vertices = np.array(rows).reshape(3, 40, 3)
    i = np.arange(19)
    faces = np.concatenate(
        [np.stack([i, i + 1, i + 20], -1), np.stack([i + 1, i + 21, i + 20], -1)]
    )
    return SequenceSample(
        VertexSequence(
            name="strip",
            category="strip",
            source="test",
            licence="CC0-1.0",
            seed=0,
            vertices=vertices,
            faces=faces,
            fps=1.0,
        )
    )


def stream(**options: object) -> PairStream:
    defaults = {"points": 32, "batch": 4, "seed": 5, "reuse": 3, "pool": 8}
    return PairStream([articulated_source(["laptop", "door", "pliers"])], **(defaults | options))  # pyright: ignore[reportArgumentType]


def same(a: PairBatch, b: PairBatch) -> bool:
    arrays = [(x, b.arrays()[name]) for name, x in a.arrays().items()]
    return a.identities == b.identities and all(np.array_equal(x, y) for x, y in arrays)


def test_streams_repeat_themselves_and_resume_anywhere() -> None:
    whole = [batch for batch, _ in zip(stream(), range(9), strict=False)]
    resumed = stream()
    resumed.index = 5
    for expected, got in zip(whole[5:], resumed, strict=False):
        assert same(expected, got)
    assert resumed.index == 9 or resumed.index == 10
    assert same(stream()[7], whole[7])
    assert not same(whole[0], stream(seed=6)[0])


def test_pairs_do_not_depend_on_the_batch_size() -> None:
    small = PairBatch.concatenate([stream(batch=2)[0], stream(batch=2)[1]])
    assert same(stream()[0], small)


def test_objects_are_reused_so_often_and_never_within_a_batch() -> None:
    keys = [
        who.key for batch, _ in zip(stream(), range(60), strict=False) for who in batch.identities
    ]
    counts = {key: keys.count(key) for key in keys}
    assert max(counts.values()) == 3
    assert np.mean([*counts.values()]) > 2.5
    for start in range(0, len(keys), 4):
        assert len(set(keys[start : start + 4])) == 4


@pytest.mark.parametrize("split", ["train", "test", "unseen"])
def test_streams_keep_to_their_split(split: str) -> None:
    batch = stream(split=split)[0]
    assert {split_of(who) for who in batch.identities} == {split}


def test_workers_give_the_same_batches() -> None:
    batches = stream(workers=2)
    got = iter(batches)
    ahead = [next(got) for _ in range(3)]
    got.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert batches.index == 3
    for i, batch in enumerate(ahead):
        assert same(batch, stream()[i])


def test_restricted_sources_are_refused_for_training_only() -> None:
    secret = SampleId(source="pm", category="door", name="1", licence="research use only")
    source = FileSource("pm", [secret], lambda _: make_articulated("door", 1))
    with pytest.raises(InputError, match="may not be trained on"):
        PairStream([source], split="train")
    PairStream([source], split="train", allow_restricted=True)
    assert len(PairStream([source], split=None, batch=2, points=16)[0]) == 2


@pytest.mark.parametrize(
    "options", [{"weights": [0.0]}, {"weights": [1.0, 2.0]}, {"batch": 0}, {"split": "exam"}]
)
def test_impossible_streams_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        stream(**options)


@pytest.mark.parametrize("wrong", [{"noise": -1.0}, {"mirror": 2.0}, {"scale": (2.0, 1.0)}])
def test_impossible_augmentations_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="augmentation"):
        Augmentation(**wrong)  # pyright: ignore[reportArgumentType]
