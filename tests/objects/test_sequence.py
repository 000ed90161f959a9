"""VertexSequence refuses what is not one object over time."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.objects.sequence import VertexSequence

REST = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def sequence(**changes) -> VertexSequence:
    fields = {
        "name": "tetrahedron",
        "category": "solid",
        "source": "test",
        "licence": "CC0-1.0",
        "seed": 1,
        "vertices": np.stack([REST, REST + 1.0]),
        "faces": FACES,
        "fps": 24.0,
    }
    return VertexSequence(**{**fields, **changes})


def test_a_sequence_becomes_a_clip() -> None:
    made = sequence(velocities=np.ones((2, 4, 3)), pins=[1], meta={"up": "y"})
    clip = made.clip()
    assert len(made) == len(clip) == 2
    assert clip.fps == 24
    x, y, z = np.moveaxis(made.vertices, -1, 0)
    np.testing.assert_array_equal(clip.vertices, np.stack([x, -z, y], -1))
    np.testing.assert_array_equal(clip.mesh.vertices, clip.vertices[0])
    assert made.vertices.dtype == np.float32
    assert made.velocities is not None
    assert made.velocities.dtype == np.float32
    assert not made.vertices.flags.writeable


def test_rigid_motion_is_motion_and_no_deformation() -> None:
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    made = sequence(vertices=np.stack([REST, REST @ turn.T + 2]))
    assert made.motion > 1
    assert made.deformation < 1e-6
    squashed = sequence(vertices=np.stack([REST, REST * [1, 1, 0.5]]))
    assert squashed.deformation > 0.1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"licence": " "}, "licence"),
        ({"fps": 0.0}, "fps"),
        ({"vertices": np.zeros((2, 4))}, "shape"),
        ({"vertices": np.full((2, 4, 3), np.nan)}, "from frame 0"),
        ({"faces": [[0, 1, 4]]}, "do not exist"),
        ({"faces": np.empty((0, 3))}, "faces"),
        ({"pins": [-1]}, "pins"),
        ({"velocities": np.zeros((1, 4, 3))}, "another shape"),
        ({"forces": np.full((2, 4, 3), np.inf)}, "diverged"),
    ],
)
def test_bad_fields_are_named(changes: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        sequence(**changes)
