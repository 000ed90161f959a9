"""A membrane resists what stretches it, gives way to what presses it, and obeys its energy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d import Actor, Scene, simulate
from kin4d.bodies.body import require_coordinates
from kin4d.dynamics.forces import Membrane
from kin4d.dynamics.forces.membrane import _inverse_sides, _strain_energy
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh

YOUNG, THICKNESS, POISSON = 2e5, 1e-3, 0.3


class Rag:
    """A square metre of cloth, 100 g: q = (stretch along x, stretch along y)."""

    coordinates = ("along", "across")
    skin, name = None, "rag"
    q0 = torch.zeros(2, dtype=torch.float64)
    limits = torch.tensor([[-torch.inf, torch.inf]] * 2, dtype=torch.float64)

    def __init__(self) -> None:
        x, y = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 6), indexing="ij")
        vertices = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3)
        a = (6 * np.arange(5)[:, None] + np.arange(5)).ravel()
        faces = np.concatenate([np.stack([a, a + 6, a + 7], 1), np.stack([a, a + 7, a + 1], 1)])
        self.rest = Mesh(vertices=vertices, faces=faces, name="rag")
        self.mass = torch.full((36,), 0.1 / 36, dtype=torch.float64)

    def vertices(self, q):
        require_coordinates(q, 2)
        rest = torch.from_numpy(np.array(self.rest.vertices))
        return rest * torch.nn.functional.pad(1 + q, (0, 1), value=1.0)[..., None, :]

    points = vertices

    def jacobian(self, q):
        columns = torch.func.jacfwd(self.points)(torch.zeros(2, dtype=q.dtype))
        return columns.expand(*q.shape[:-1], *columns.shape)

    def skin_transforms(self, q):
        raise NotImplementedError


def stored(q: list[float]) -> float:
    """J in a rag that is held at q."""
    membrane = Membrane(young=YOUNG, thickness=THICKNESS, poisson=POISSON)
    actor = Actor(Rag(), q=q, forces=[membrane], contacts=0)
    run = simulate(Scene([actor], gravity=False), seconds=1 / 60)
    return float(run.clips[0].diagnostics["potential"][0])


def test_the_energy_is_that_of_plane_stress_where_taut() -> None:
    along, across = 0.5 * (1.1**2 - 1), 0.5 * (1.05**2 - 1)
    plate = YOUNG * THICKNESS / (1 - POISSON**2)
    expected = 0.5 * plate * (along**2 + across**2 + 2 * POISSON * along * across)
    assert stored([0.1, 0.05]) == pytest.approx(expected, rel=1e-3)


def test_it_pulls_like_a_strip_where_wrinkled_and_not_at_all_where_slack() -> None:
    strip = 0.5 * YOUNG * THICKNESS * (0.5 * (1.1**2 - 1)) ** 2
    assert stored([0.1, -0.3]) == pytest.approx(strip, rel=1e-3)
    assert stored([-0.2, -0.3]) == pytest.approx(0.0, abs=1e-12)


def test_a_closed_form_swing_in_which_energy_is_kept() -> None:
    membrane = Membrane(young=YOUNG, thickness=THICKNESS, poisson=POISSON)
    actor = Actor(Rag(), q=[0.02, -0.3], forces=[membrane], contacts=0)
    run = simulate(Scene([actor], gravity=False), seconds=0.1, dt=1 / 960, fps=480)
    q = run.clips[0].q
    assert q is not None
    # A bar of mass m, held at one end, stretched evenly: as much as m / 3 (here of lumps) moves.
    moving = float((actor.body.mass * actor.body.points(actor.body.q0)[:, 0] ** 2).sum())
    rate = np.sqrt(YOUNG * THICKNESS / moving)
    swings = run.clips[0].times < 0.5 * np.pi / rate
    np.testing.assert_allclose(
        q[swings, 0], 0.02 * np.cos(rate * run.clips[0].times[swings]), atol=1e-3
    )
    assert np.ptp(run.energy) < 0.01 * run.energy[0]
    slack = q[:, 0] < 0
    assert slack.any()
    np.testing.assert_allclose(run.clips[0].diagnostics["potential"][slack], 0.0, atol=1e-12)


def test_damping_takes_energy_from_stretching() -> None:
    actor = Actor(
        Rag(),
        q=[0.02, 0.02],
        forces=[Membrane(young=YOUNG, thickness=THICKNESS, damping=0.01)],
        contacts=0,
    )
    run = simulate(Scene([actor], gravity=False), seconds=0.1, dt=1 / 960)
    assert run.energy[-1] < 0.5 * run.energy[0]


@pytest.mark.parametrize(
    "spans", [((1.1, 0.1), (0.0, 1.05)), ((1.1, 0.2), (0.1, 0.8)), ((0.8, 0.1), (0.0, 0.7))]
)
def test_force_and_stiffness_derive_from_the_energy(spans) -> None:
    """Corners that move linearly: the stiffness is then the energy's whole second derivative."""
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(5, 3, 2))
    rest = np.concatenate([flat, np.zeros((5, 3, 1))], -1)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    start = flat @ np.array(spans) @ turn[:2]
    moving = rng.normal(size=(5, 3, 3, 4))
    known = (_inverse_sides(rest), rng.uniform(1, 2, 5), POISSON)

    def at(q: np.ndarray):
        return _strain_energy(start + moving @ q, moving, *known)

    def slope(part: int) -> np.ndarray:
        step = 1e-6
        both = [(at(step * axis)[part], at(-step * axis)[part]) for axis in np.eye(4)]
        return np.stack([(ahead - behind) / (2 * step) for ahead, behind in both], -1)

    _, force, stiffness = at(np.zeros(4))
    np.testing.assert_allclose(-slope(0), force, atol=1e-6)
    np.testing.assert_allclose(-slope(1), stiffness, atol=1e-5)
    assert np.linalg.eigvalsh(stiffness).min() > -1e-9


@pytest.mark.parametrize(
    "wrong", [{"young": 0.0}, {"thickness": -1.0}, {"poisson": 0.5}, {"damping": np.nan}]
)
def test_what_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Membrane(**({"young": YOUNG, "thickness": THICKNESS} | wrong))
