"""kin4d makes still things move: 4D geometry that obeys kinematics."""

__version__ = "0.1.0"
