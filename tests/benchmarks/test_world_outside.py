"""`kin4d bench world-outside` on a store that ships; it is made for those of other simulators."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kin4d
from kin4d.benchmarks.world.regions import copied
from kin4d.benchmarks.world_outside import outside_episodes, run, score
from kin4d.benchmarks.world_outside.outcomes import LIFTED, MISSED, MOVED, Target, is_right, outcome
from kin4d.benchmarks.world_outside.rows import rows_of, supported, without_depth
from kin4d.errors import InputError
from kin4d.world.episode_observation import episode_observation

STORE = Path(kin4d.__file__).parent / "assets" / "episodes"
UP = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("motion", "expected"),
    [((0.01, 0.0, 0.01), MISSED), ((0.0, 0.1, 0.04), LIFTED), ((0.0, 0.1, 0.01), MOVED)],
)
def test_outcomes(motion: tuple[float, ...], expected: str):
    assert outcome(np.array(motion), UP) == expected


def test_what_is_moved_must_go_in_the_right_direction():
    true = np.array([0.1, 0.0, 0.0])
    assert is_right(np.array([0.05, 0.02, 0.0]), true, UP)
    assert not is_right(-true, true, UP)
    assert not is_right(np.zeros(3), true, UP)
    assert is_right(np.zeros(3), np.array([0.001, 0, 0]), UP)


def test_the_truth_is_right_and_a_copied_frame_is_not_where_something_moves():
    moved = 0
    for episode in outside_episodes(STORE, None):
        observation = episode_observation(episode)
        target = Target.of(episode, observation)
        assert target is not None
        truth = score(episode, target, episode.video)
        assert truth["right"]
        copy = score(episode, target, copied(observation))
        assert copy["right"] == (truth["outcome"] == MISSED)
        if truth["outcome"] != MISSED:
            moved += 1
            assert truth["off"] < 1 < copy["off"]
    assert moved


def test_rows_see_what_they_are_named_after():
    observation = episode_observation(next(outside_episodes(STORE, 1)))
    assert not np.isfinite(without_depth(observation).xyz).any()
    raised = replace(observation, support=np.diag([1.0, 1.0, 1.0, 1.0]) + np.eye(4, k=3) * 0.3)
    assert supported(raised).support[2, 3] == pytest.approx(0, abs=0.004)
    assert len(rows_of(None)) == 2


def test_the_report_has_every_row_and_goes_on_from_its_results(tmp_path):
    report = run(quick=False, seed=0, episodes=STORE, count=1, results=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 1
    again = run(quick=False, seed=0, episodes=STORE, count=1, results=tmp_path)
    assert again.rows == report.rows
    rows = [row for row in report.rows if row["set"] == "all"]
    assert len(rows) == 7
    assert all(row["clips"] == 1 for row in rows)
    assert len(report.checks) == 6
    with pytest.raises(InputError, match="another simulator"):
        run(quick=True, seed=0)
