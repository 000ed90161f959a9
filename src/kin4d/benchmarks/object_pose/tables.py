"""Tables: results as rows to print, and as figures that thresholds apply to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any

import numpy as np

from kin4d.benchmarks.object_pose.run import PoseResult
from kin4d.benchmarks.object_pose.score import Score

_WORST = 10


class Summary:
    """Means of all scores of one method on one set.

    Over goals: every one counts the same. What could not be scored somewhere is left out there.
    """

    def __init__(self, results: Sequence[PoseResult]) -> None:
        self.results = results
        table = np.array([astuple(one.score) for one in results])
        with np.errstate(invalid="ignore"):
            means = [
                float(np.nanmean(column)) if np.isfinite(column).any() else float("nan")
                for column in table.T
            ]
        names = [field.name for field in fields(Score)]
        self.mean = Score(**dict(zip(names, means, strict=True)))
        stretch = table[:, names.index("stretch")]
        self.stretch = float(np.nanmedian(stretch)) if np.isfinite(stretch).any() else float("nan")

    def by_goal(self, what: str) -> dict[tuple[str, str, int], float]:
        """One score by category, instance and number of the goal."""
        return {
            (one.category, one.instance, one.pose): getattr(one.score, what) for one in self.results
        }


class Group:
    """All results of one set of objects."""

    def __init__(self, name: str, results: Iterable[PoseResult], *, rest: str, floor: str) -> None:
        self.name = name
        found: dict[str, list[PoseResult]] = {}
        for one in results:
            if one.group == name:
                found.setdefault(one.method, []).append(one)
        self.summaries = {method: Summary(members) for method, members in found.items()}
        self.rest, self.floor = self.summaries[rest], self.summaries[floor]

    def ratio(self, method: str, other: str, what: str = "cd_l1") -> float:
        """A method's distance to that of another, both above the floor.

        Over the goals that both were given: ablations get fewer.
        """
        own, reference, floor = (
            one.by_goal(what) for one in (self.summaries[method], self.summaries[other], self.floor)
        )
        shared = [
            goal
            for goal in own
            if goal in reference and np.isfinite(own[goal] + reference[goal] + floor[goal])
        ]
        gap = sum(own[goal] - floor[goal] for goal in shared)
        room = sum(reference[goal] - floor[goal] for goal in shared)
        return gap / room if room else float("nan")

    def rows(self) -> list[dict[str, Any]]:
        """A row for every method: of the whole shape."""
        rest = self.rest.results[0].method
        return [
            {
                "objects": self.name,
                "method": method,
                "CD-L1": one.mean.cd_l1,
                "of rest": self.ratio(method, rest),
                "CD-L2": one.mean.cd_l2,
                "IoU": one.mean.iou,
                "points off": one.mean.error,
                "spurious %": 100 * one.mean.spurious,
                "s/mesh": float(np.mean([result.preparing for result in one.results])),
                "s/fit": float(np.mean([result.fitting for result in one.results])),
                "refused": sum(bool(result.refused) for result in one.results),
            }
            for method, one in self.summaries.items()
        ]

    def moved_rows(self) -> list[dict[str, Any]]:
        """A row for every method: of what moves alone."""
        rest = self.rest.results[0].method
        return [
            {
                "objects": self.name,
                "what moves": method,
                "CD-L1": one.mean.moved_cd_l1,
                "of rest": self.ratio(method, rest, "moved_cd_l1"),
                "CD-L2": one.mean.moved_cd_l2,
                "IoU": one.mean.moved_iou,
                "edges %": 100 * one.stretch,
            }
            for method, one in self.summaries.items()
        ]

    def categories(self, method: str) -> list[dict[str, Any]]:
        """A row for every category: one method against rest."""
        return [
            {"objects": self.name, "category": category, "number": len(_instances(members)), **line}
            for category, members, line in self._parts(method, lambda one: one.category)
        ]

    def worst(self, method: str) -> list[dict[str, Any]]:
        """The objects a method is farthest off, above the floor."""
        rows = [
            {"objects": self.name, "worst": f"{members[0].category} {members[0].instance}", **line}
            for _, members, line in self._parts(method, lambda one: one.instance)
        ]
        return sorted(rows, key=lambda row: row["floor CD-L1"] - row["CD-L1"])[:_WORST]

    def _parts(
        self, method: str, key: Callable[[PoseResult], str]
    ) -> list[tuple[str, list[PoseResult], dict[str, float]]]:
        names = sorted({key(one) for one in self.rest.results})
        parts = []
        for name in names:
            own, rest, floor = (
                Summary([one for one in summary.results if key(one) == name])
                for summary in (self.summaries[method], self.rest, self.floor)
            )
            room = rest.mean.cd_l1 - floor.mean.cd_l1
            gap = own.mean.cd_l1 - floor.mean.cd_l1
            line = {
                "rest CD-L1": rest.mean.cd_l1,
                "floor CD-L1": floor.mean.cd_l1,
                "CD-L1": own.mean.cd_l1,
                "of rest": gap / room if room > 0 else float("nan"),
                "rest IoU": rest.mean.iou,
                "IoU": own.mean.iou,
                "moved IoU": own.mean.moved_iou,
                "spurious %": 100 * own.mean.spurious,
            }
            parts.append((name, list(own.results), line))
        return parts


def _instances(results: Iterable[PoseResult]) -> set[str]:
    return {one.instance for one in results}
