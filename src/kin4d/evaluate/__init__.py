"""Benchmarks: one file each, all run through `kin4d bench NAME`.

A benchmark is a module with ``run(*, quick: bool, seed: int) -> Report``.
"""

BENCHMARKS: dict[str, str] = {
    "export": "writing a large clip, against writing the same bytes with numpy",
    "robot": "forward and inverse kinematics, pointmaps and scans, against other libraries",
}
