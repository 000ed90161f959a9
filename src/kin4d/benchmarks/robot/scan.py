"""Registering scanned robots: joint angles and triangle labels found in synthetic scans."""

from __future__ import annotations

import time

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.robot.synthetic_scan import SyntheticScan, free_pose, synthetic_scan
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.robot.registry import load_robot
from kin4d.calibration.scan_registration.register import register_scan
from kin4d.errors import InputError

ROBOT, POSES = "panda", 50


def run(*, quick: bool, seed: int) -> Report:
    """Register synthetic scans of a robot in random poses that do not touch themselves."""
    report = Report()
    body = load_robot(ROBOT)
    for pose in range(3 if quick else POSES):
        rng = np.random.default_rng([seed, pose])
        scan = synthetic_scan(body, free_pose(body, rng), rng=rng)
        report.rows.append({"robot": ROBOT, "pose": pose, **_row(body, scan, seed)})
    errors = [row["worst joint error (deg)"] for row in report.rows]
    labels = [row["right link (%)"] for row in report.rows]
    median, mean = float(np.median(errors)), float(np.mean(labels))
    report.checks = [
        Check("scan: error of the worst joint, median over poses (deg)", median, 1.0),
        Check("scan: triangles on the right link, mean (%)", mean, 98.0, at_least=True),
    ]
    report.notes = [
        "Scans are synthetic: remeshed to 6 mm triangles, hidden ones dropped, 1 mm of noise on "
        "every vertex, scaled 0.1 to 10 times, at a random place and orientation, of which the "
        "search is given nothing.",
        "Joint error is that of the worst revolute joint, those reported undetermined excepted; a "
        "scan that was refused counts as 180 degrees and no triangle right.",
    ]
    return report


def joint_error(
    body: ArticulatedBody, true: np.ndarray, found: np.ndarray, undetermined: tuple[str, ...] = ()
) -> float:
    """Largest error (degrees) of the determined revolute coordinates, whole turns aside."""
    kinds = {joint.name: joint.kind for joint in body.joints}
    determined = [
        kinds[name] == "revolute" and name not in undetermined for name in body.coordinates
    ]
    error = (found - true)[determined]
    return float(np.degrees(np.abs(np.angle(np.exp(1j * error)))).max(initial=0.0))


def _row(body: ArticulatedBody, scan: SyntheticScan, seed: int) -> dict[str, object]:
    start = time.process_time()
    try:
        found = register_scan(scan.mesh, body, seed=seed)
    except InputError:
        found = None
    return {
        "scan triangles": len(scan.mesh.faces),
        "scale error (%)": 100 * abs(found.scale / scan.scale - 1) if found else float("nan"),
        "worst joint error (deg)": joint_error(body, scan.q, found.q, found.undetermined)
        if found
        else 180.0,
        "undetermined": ", ".join(found.undetermined) if found else "refused",
        "right link (%)": 100 * float((found.triangle_link == scan.triangle_link).mean())
        if found
        else 0.0,
        "residual (mm)": 1e3 * found.residual if found else float("nan"),
        "processor time (s)": time.process_time() - start,
    }
