"""Benchmarks: one file each, all run through `kin4d bench NAME`.

A benchmark is a module with ``run(*, quick: bool, seed: int) -> Report``. Options of its own
(``objects``, ``weights``) are further keywords of `run`.
"""

BENCHMARKS: dict[str, str] = {
    "data": "object data: pairs per second, sound objects, a store that survives kill -9",
    "episodes": "robot episodes: speed, expert success, graded failures, geometry",
    "dynamics": "motion under forces, contact and friction, against MuJoCo and closed forms",
    "export": "writing a large clip, against writing the same bytes with numpy",
    "startup": "the time to import kin4d and to get help",
    "object-pose": "inverse kinematics of objects: learned, against baselines and ablations",
    "prior": "how a mesh can move, without a target: learned, against baselines",
    "doors": "a gripper opens doors of bare meshes, against MuJoCo",
    "creatures": "skeletons of animals and characters, against their own clips and joints",
    "world": "what a world model imagines, against what happened",
    "world-outside": "what a world model imagines in scenes of other simulators",
    "scene-control": "imagination given what mechanics decided, against given the robot alone",
    "envs": "steps per second of the environments, alone and eight in parallel",
    "policy": "policies from the same starts in truth and in imagination",
    "reliability": "damaged files, kills, servers under load, long runs, same bits, workers",
    "viewer": "from the command to an interactive page, and frames a second in a browser",
    "robot": "forward and inverse kinematics, pointmaps and scans, against other libraries",
}
