"""The axes offered to a part hold the one it hangs on."""

from __future__ import annotations

import pytest
import torch

from kin4d.geometry.transforms import rotvec_to_matrix
from kin4d.neurok.axis_candidates import AXES, AxisCandidates, propose_axes
from kin4d.neurok.twists import extents, fit_twists


def _door(ajar: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Points and normals of a door that stands ajar (rad) beside its frame, and which are its."""
    generator = torch.Generator().manual_seed(0)
    door = torch.rand(150, 3, generator=generator) * torch.tensor([0.5, 0.02, 0.9])
    door[::2, 1], door[1::2, 1] = 0.0, 0.02
    frame = torch.rand(100, 3, generator=generator) * torch.tensor([0.1, 0.3, 0.9])
    points = torch.cat([door @ _rotation_about_z(ajar).mT, frame - torch.tensor([0.11, 0.15, 0.0])])
    sides = torch.zeros(250, 3)
    sides[:150:2, 1], sides[1:150:2, 1], sides[150:, 0] = -1, 1, 1
    sides[:150] = sides[:150] @ _rotation_about_z(ajar).mT
    return points, sides, torch.arange(250) < 150


def _rotation_about_z(angle: float) -> torch.Tensor:
    return rotvec_to_matrix(torch.tensor([0.0, 0.0, angle]))


def _found(points: torch.Tensor, normals: torch.Tensor, own: torch.Tensor) -> AxisCandidates:
    centres, _ = extents(own.float()[None, :, None], points[None])
    return propose_axes(points[None], normals[None], own[None], centres[0])


@pytest.mark.parametrize("ajar", [0.0, 0.4, 1.1])
def test_a_door_is_offered_its_hinge(ajar: float) -> None:
    points, normals, own = _door(ajar)
    moved = torch.where(own[:, None], points @ _rotation_about_z(0.5).mT, points)
    assignment = own.float()[None, :, None]
    centres, radii = extents(assignment, points[None])
    twist = fit_twists(assignment, points[None], moved[None], centres, radii)[0][0, 0]
    offered = _found(points, normals, own).twists(centres[0], radii[0])[0]
    assert offered.shape == (AXES, 6)
    torch.testing.assert_close(offered.norm(dim=-1), torch.ones(AXES))
    share = ((offered @ twist).square() / twist.square().sum()).max()
    assert share > 0.99


def test_frames_are_right_handed_and_begin_on_the_axis() -> None:
    candidates = _found(*_door(0.4))
    eye = torch.eye(3).expand(1, AXES, 3, 3)
    torch.testing.assert_close(candidates.frames @ candidates.frames.mT, eye, atol=1e-5, rtol=0)
    assert bool((torch.linalg.det(candidates.frames) > 0).all())
    # A point of the axis enters with nothing but a way along it.
    on_axis = candidates.origins + 0.3 * candidates.frames[..., 2, :]
    local = candidates.to_axis_frames(on_axis)[0].diagonal(dim1=0, dim2=1).mT
    torch.testing.assert_close(
        local, torch.tensor([0.0, 0.0, 0.3]).expand(AXES, 3), atol=1e-5, rtol=0
    )


def test_a_part_alone_has_axes_all_the_same() -> None:
    points, normals, own = _door(0.0)
    candidates = _found(points[own], normals[own], own[own])
    assert bool(torch.isfinite(candidates.frames).all())
    assert bool(torch.isfinite(candidates.origins).all())
