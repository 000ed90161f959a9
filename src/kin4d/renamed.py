"""What old public names, commands and flags are called now, for error messages alone."""

from __future__ import annotations

from collections.abc import Sequence

NAMES = {
    "Floating": "FloatingBase",
    "World": "load_world_model",
    "data": "objects, kin4d.tasks or kin4d.episodes",
    "evaluate": "benchmarks",
    "motion": "kinematics, kin4d.dynamics or kin4d.fitting",
    "play": "bake",
    "sweep": "sweep_joints",
}
"""Attributes of the package `kin4d`."""

COMMANDS = {
    "bench ik": "bench object-pose",
    "data sheet": "data preview",
    "train generator": "train diffusion",
    "train objects": "train neurok",
    "train world": "train object-world",
}

ROBOTS = {"sketch": "kin4d_arm"}

FLAGS = {
    "animate": {
        "--coordinates": "--dof",
        "--articulate": "--body-type",
        "--joints": "--body-type",
        "--model": "--weights",
        "--walk": "--random-states",
    },
    "fit": {"--model": "--weights"},
    "simulate": {
        "--drop": "--height",
        "--hold": "--pin",
        "--kind": "--body-type",
        "--start": "--init-q",
    },
    "robot": {
        "--kind": "--action-type",
        "--motion": "--stream",
        "--search-root": "--package-path",
    },
    "bench": {"--pictures": "--images"},
    "calibrate": {
        "--matches": "--correspondences",
        "--search-root": "--package-path",
        "--without": "--remove-link",
    },
    "imagine": {
        "--futures": "--num-samples",
        "--measured": "--measured-gripper",
        "--motion": "--stream",
    },
    "data objects": {"--out": "--output"},
    "data preview": {"--out": "--output"},
    "data export": {"--out": "--output"},
    "data episodes": {"--kind": "--variants"},
    "data import": {
        "--by-order": "--ignore-joint-names",
        "--out": "--output",
        "--search-root": "--package-path",
        "--without": "--remove-link",
    },
    "train": {"--out": "--output", "--rate": "--lr"},
    "train neurok": {
        "--motion": "--output-type",
        "--shares": "--mix",
        "--start": "--init-weights",
    },
    "train object-world": {
        "--length": "--window-frames",
        "--start": "--init-weights",
        "--windows": "--window-batch",
        "gauge": "depth",
        "mover": "dynamics",
        "painter": "refinement",
        "seer": "segmentation",
    },
    "train diffusion": {"--begin": "--init-weights", "--start": "--flow-init"},
    "train codec": {"--form": "--codec-type"},
}
"""Flags, and values of flags, by command."""


def renamed_arguments(arguments: Sequence[str]) -> list[str]:
    """One line for each old command, robot or flag among the arguments of ``kin4d``."""
    line = " ".join(arguments)
    found = [
        f"'kin4d {old}' is called 'kin4d {new}' now"
        for old, new in COMMANDS.items()
        if f"{line} ".startswith(f"{old} ")
    ]
    given = {argument.partition("=")[0] for argument in arguments}
    found += [f"robot '{old}' is called '{new}' now" for old, new in ROBOTS.items() if old in given]
    given = {word.replace("_", "-") for word in given}
    for command, flags in FLAGS.items():
        if f"{line} ".startswith(f"{command} "):
            found += [f"{old} is called {new} now" for old, new in flags.items() if old in given]
    return found
