"""`kin4d train joint-prior`: a tiny run, resumed, gives weights that articulate a mesh."""

from __future__ import annotations

from pathlib import Path

import pytest

import kin4d
from kin4d.cli import main
from kin4d.neurok.joint_pretrained import joint_prior_from_pretrained
from kin4d.objects.procedural.categories import make_object


@pytest.mark.slow
def test_a_tiny_run_can_be_resumed(tmp_path: Path) -> None:
    run = ["train", "joint-prior", "-o", str(tmp_path), "--preset", "tiny", "--each", "1"]
    assert main([*run, "--batch", "4", "--steps", "4"]) in (0, None)
    first = joint_prior_from_pretrained(tmp_path)
    assert main([*run, "--batch", "4", "--steps", "8"]) in (0, None)
    second = joint_prior_from_pretrained(tmp_path)
    a, b = first.model.state_dict(), second.model.state_dict()
    assert any((a[name] != b[name]).any() for name in a)
    body = kin4d.articulate(make_object("box", 1).body().rest, tmp_path)
    assert all(0 <= joint.probability <= 1 for joint in body.joint_specs)
