"""Poses as numbers on a command line."""

import numpy as np
import pytest

from kin4d.cli.pose_numbers import pose_of_numbers
from kin4d.errors import InputError


def test_three_seven_and_sixteen_numbers():
    np.testing.assert_allclose(pose_of_numbers((1, 2, 3))[:3, 3], (1, 2, 3))
    turned = pose_of_numbers((0, 0, 1, np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    np.testing.assert_allclose(turned @ (1, 0, 0, 1), (0, 1, 1, 1), atol=1e-12)
    np.testing.assert_allclose(pose_of_numbers(turned.ravel()), turned)
    for wrong in ((1, 2), (0, 0, 0, 0, 0, 0, 0)):
        with pytest.raises(InputError, match="numbers of a pose"):
            pose_of_numbers(wrong)
