"""Every category: sound, repeatable, moving, and the same object as arrays and as a body."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.objects.procedural.categories import CATEGORIES, make_object
from kin4d.objects.procedural.validate import CLEARANCE, validate_object

SEEDS = range(20)
REQUIRED = [
    "laptop",
    "bucket",
    "table",
    "safe",
    "box",
    "faucet",
    "microwave",
    "toaster",
    "suitcase",
    "dishwasher",
    "window",
    "pot",
    "coffee_machine",
    "stapler",
    "trash_can",
    "oven",
    "bottle",
    "door",
    "refrigerator",
    "switch",
    "toilet",
    "washing_machine",
    "scissors",
    "pliers",
    "lamp",
    "swivel_chair",
    "fan",
    "cabinet",
]


def test_the_promised_categories_exist() -> None:
    assert set(REQUIRED) <= set(CATEGORIES)
    assert len(CATEGORIES) >= 28


@pytest.mark.parametrize("category", CATEGORIES)
def test_objects_are_sound_with_room_to_spare(category: str) -> None:
    problems = {}
    for seed in SEEDS:
        obj = make_object(category, seed)
        if found := validate_object(obj, points=100, configurations=2, clearance=CLEARANCE / 2):
            problems[seed] = found
    assert problems == {}


@pytest.mark.parametrize(
    ("category", "seed"),
    [
        ("bucket", 7000138),  # A hoop that bent inwards below the rim.
        ("microwave", 7000139),  # A thick door whose inner corner swung into the panel.
        ("folding_ruler", 1940016794),  # Corners rounded by less than a vertex's precision.
        ("gate", 688586114),  # A leaf hinged behind the front of its post.
        ("ladder", 1660476484),  # Frames that folded about different lines.
    ],
)
def test_once_broken_objects_stay_repaired(category: str, seed: int) -> None:
    obj = make_object(category, seed)
    assert validate_object(obj, points=600, configurations=16, clearance=CLEARANCE / 2) == []


@pytest.mark.parametrize("category", CATEGORIES)
def test_same_seed_same_object(category: str) -> None:
    first, again, other = (make_object(category, seed) for seed in (3, 3, 4))
    assert first.seed == 3
    assert first.category == category
    assert [link.name for link in first.links] == [link.name for link in again.links]
    for a, b in zip(first.links, again.links, strict=True):
        np.testing.assert_array_equal(a.vertices, b.vertices)
        np.testing.assert_array_equal(a.faces, b.faces)
        np.testing.assert_array_equal(a.colors, b.colors)
    np.testing.assert_array_equal(first.limits, again.limits)
    np.testing.assert_array_equal(first.q0, again.q0)
    shapes = [np.concatenate([link.vertices for link in obj.links]) for obj in (first, other)]
    assert shapes[0].shape != shapes[1].shape or not np.array_equal(*shapes)


def test_seeds_do_not_depend_on_the_process() -> None:
    """Made again in a fresh interpreter, with other hash seeds, the object is the same."""
    code = (
        "import numpy as np; from kin4d.objects.procedural.categories import make_object; "
        "o = make_object('safe', 7); "
        "print(float(o.vertices(o.q0[None]).sum()).hex(), len(o.faces))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    obj = make_object("safe", 7)
    here = f"{float(obj.vertices(obj.q0[None]).sum()).hex()} {len(obj.faces)}"
    assert out.stdout.strip() == here


@pytest.mark.parametrize("category", CATEGORIES)
def test_body_agrees_with_arrays(category: str) -> None:
    obj = make_object(category, 1)
    body = obj.body()
    rng = np.random.default_rng(0)
    q = obj.limits[:, 0] + np.ptp(obj.limits, axis=1) * rng.random((3, len(obj.q0)))
    assert body.coordinates == tuple(joint.name for joint in obj.free_joints)
    np.testing.assert_allclose(body.q0.numpy(), obj.q0)
    np.testing.assert_allclose(body.limits.numpy(), obj.limits)
    np.testing.assert_allclose(
        body.link_poses(torch.from_numpy(q)).numpy(), obj.poses(q), atol=1e-9
    )
    np.testing.assert_allclose(
        body.vertices(torch.from_numpy(q)).numpy(), obj.vertices(q), atol=1e-9
    )
    np.testing.assert_allclose(body.rest.vertices, obj.vertices(obj.q0[None])[0], atol=1e-9)


@pytest.mark.parametrize("category", CATEGORIES)
def test_seeds_vary(category: str) -> None:
    made = [make_object(category, seed) for seed in range(12)]
    diameters = [round(obj.bbox_diagonal, 7) for obj in made]
    counts = {sum(len(link.faces) for link in obj.links) for obj in made}
    assert len(set(diameters)) == len(diameters)
    assert len(counts) >= 3
    assert all(1 <= len(obj.q0) <= 12 for obj in made)


def test_joint_layouts_vary_between_seeds() -> None:
    hinges = set()
    for seed in range(30):
        joint = make_object("cabinet", seed).free_joints[0]
        hinges.add((joint.kind, tuple(np.round(joint.axis).astype(int))))
    assert {("revolute", (0, 0, 1)), ("revolute", (0, 0, -1)), ("prismatic", (0, -1, 0))} <= hinges
    assert max(len(make_object("drawer_unit", seed).q0) for seed in range(30)) >= 8


def test_rest_poses_are_closed_and_open() -> None:
    rest = np.concatenate([make_object("microwave", seed).q0[:1] for seed in range(20)])
    assert (rest == 0).any()
    assert (rest > 0.3).any()


def test_touching_parts_may_share_points() -> None:
    """As in real meshes, a closed door sometimes touches its frame in the very same vertices."""
    touching = 0
    for seed in range(20):
        obj = make_object("refrigerator", seed)
        placed = obj.vertices(np.zeros((1, len(obj.q0))))[0]
        still = {tuple(v) for v in placed[obj.vertex_link == 0]}
        touching += any(tuple(v) in still for v in placed[obj.vertex_link > 0])
    assert 1 <= touching <= 19


def test_unknown_category_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="laptop"):
        make_object("lapdog", 0)


def test_making_is_fast_enough_to_stream() -> None:
    for category in CATEGORIES:
        make_object(category, 0)
    start = time.process_time()
    for seed in range(1, 4):
        for category in CATEGORIES:
            make_object(category, seed)
    each = (time.process_time() - start) / (3 * len(CATEGORIES))
    # About 1.5 ms on one core; the bound leaves room for a busy machine.
    assert each < 0.012
