"""Forward kinematics: against Pinocchio and MuJoCo for exactness, and beside others for speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.robot.registry import list_robots, load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.extras import require
from kin4d.geometry.io.safe_xml import parse_xml

ROBOTS = (
    *("panda", "ur5", "xarm7", "so101", "kinova", "z1", "kin4d_arm"),  # arms
    *("tiago", "pr2", "baxter", "allegro_right_hand", "icub"),  # many joints, some continuous
    *("talos_full_v2", "anymal_c", "go2"),  # legs
)
BATCH = 4096


def run(*, quick: bool, seed: int) -> Report:
    """Compare link poses on random configurations, and time a large batch of them."""
    report = Report()
    configurations = 100 if quick else 1000
    for name in ROBOTS[:4] if quick else ROBOTS:
        report.rows.append(accuracy(name, configurations, seed))
    rows, ratios = throughput(seed, rounds=4 if quick else 15)
    report.rows += rows
    report.ratios = ratios
    exact = [row for row in report.rows if "configurations" in row]
    for quantity, unit in (("position", "m"), ("rotation", "rad")):
        columns = [f"{quantity} against {other} ({unit})" for other in ("pinocchio", "mujoco")]
        worst = max(row[column] for row in exact for column in columns)
        report.checks.append(Check(f"FK: largest {quantity} error ({unit})", worst, 1e-6))
    report.checks += [
        Check("FK: robots compared", len(exact), 4 if quick else 10, at_least=True),
        Check(
            "FK: times faster than pytorch_kinematics", ratios["speed over pk"], 5, at_least=True
        ),
        Check("FK: time relative to looping pinocchio", ratios["time over pinocchio"], 2),
    ]
    report.notes.append(
        f"FK times are for {BATCH} configurations of the Panda, all links, on one thread, the best "
        "of several alternating runs; pinocchio's is a Python loop over its C++ functions."
    )
    return report


def accuracy(name: str, configurations: int, seed: int) -> dict[str, Any]:
    """Largest differences of all link poses of one robot, over random configurations."""
    body = load_robot(name)
    path = list_robots()[name]
    q = random_configurations(body, configurations, seed)
    ours = body.link_poses(q).numpy()
    values = body.joint_values(q).numpy()
    row: dict[str, Any] = {
        "robot": name,
        "links": len(body.links),
        "coordinates": len(body.coordinates),
        "configurations": configurations,
    }
    skeleton = kinematic_skeleton(path)
    for other, poses in (
        ("pinocchio", pinocchio_poses(skeleton, body, values)),
        ("mujoco", mujoco_poses(skeleton, body, values)),
    ):
        known = [i for i, link in enumerate(body.links) if link.name in poses]
        theirs = np.stack([poses[body.links[i].name] for i in known], 1)
        apart = ours[:, known] - theirs
        row[f"links also in {other}"] = len(known)
        row[f"position against {other} (m)"] = float(
            np.linalg.norm(apart[..., :3, 3], axis=-1).max()
        )
        # The chord |R - R'| = 2 sqrt(2) sin(angle / 2) keeps small angles exact.
        chord = np.linalg.norm(apart[..., :3, :3], axis=(-2, -1)).max()
        row[f"rotation against {other} (rad)"] = float(2 * np.arcsin(min(chord / 8**0.5, 1)))
    return row


def random_configurations(body: RobotBody, count: int, seed: int) -> torch.Tensor:
    """[count, k] uniform within limits, or within half a turn or half a metre without."""
    generator = torch.Generator().manual_seed(seed)
    low, high = body.limits.clamp(-torch.pi, torch.pi).unbind(-1)
    unit = torch.rand(count, len(low), generator=generator, dtype=torch.float64)
    return low + unit * (high - low)


def kinematic_skeleton(path: Path) -> etree._Element:
    """A URDF of links and joints alone, so that no library trips over the rest."""
    root = parse_xml(path)
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
    kept = ("origin", "parent", "child", "axis", "limit")
    for element in root.findall("*/*"):
        if element.tag not in kept:
            element.getparent().remove(element)
    return root


def pinocchio_poses(
    skeleton: etree._Element, body: RobotBody, values: np.ndarray
) -> dict[str, np.ndarray]:
    """[T, 4, 4] pose of each link by name, from Pinocchio; `values` [T, J] of all joints."""
    pin = require("pinocchio", extra="bench", purpose="comparing with Pinocchio")
    model = pin.buildModelFromXML(etree.tostring(skeleton, encoding="unicode"))
    data = model.createData()
    q = np.zeros((len(values), model.nq))
    for column, joint in enumerate(body.joints):
        if joint.kind == "fixed" or not model.existJointName(joint.name):
            continue
        theirs = model.joints[model.getJointId(joint.name)]
        if theirs.nq == 2:  # A continuous joint is a point on the unit circle.
            q[:, theirs.idx_q] = np.cos(values[:, column])
            q[:, theirs.idx_q + 1] = np.sin(values[:, column])
        else:
            q[:, theirs.idx_q] = values[:, column]
    frames = {f.name: i for i, f in enumerate(model.frames) if f.type == pin.FrameType.BODY}
    poses = {name: np.empty((len(q), 4, 4)) for name in frames}
    for i, row in enumerate(q):
        pin.framesForwardKinematics(model, data, row)
        for name, frame in frames.items():
            poses[name][i] = data.oMf[frame].homogeneous
    return poses


def mujoco_poses(
    skeleton: etree._Element, body: RobotBody, values: np.ndarray
) -> dict[str, np.ndarray]:
    """[T, 4, 4] pose of each link by name, from MuJoCo; `values` [T, J] of all joints."""
    mujoco = require("mujoco", extra="bench", purpose="comparing with MuJoCo")
    root = etree.fromstring(etree.tostring(skeleton))
    settings = etree.SubElement(etree.SubElement(root, "mujoco"), "compiler")
    for key, value in {
        "fusestatic": "false",
        "boundmass": "0.001",
        "boundinertia": "0.000001",
    }.items():
        settings.set(key, value)
    model = mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))
    data = mujoco.MjData(model)
    columns = {
        int(model.joint(joint.name).qposadr[0]): column
        for column, joint in enumerate(body.joints)
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name) >= 0
    }
    names = [model.body(i).name for i in range(model.nbody)]
    poses = np.tile(np.eye(4), (model.nbody, len(values), 1, 1))
    for i, row in enumerate(values):
        for address, column in columns.items():
            data.qpos[address] = row[column]
        mujoco.mj_kinematics(model, data)
        poses[:, i, :3, :3] = data.xmat.reshape(-1, 3, 3)
        poses[:, i, :3, 3] = data.xpos
    return {name: poses[i] for i, name in enumerate(names) if i}


def throughput(seed: int, *, rounds: int) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Time for a batch, all links of the Panda, on one thread."""
    body = load_robot("panda")
    q = random_configurations(body, BATCH, seed)
    with torch.no_grad(), _one_thread():
        jobs = {("pinocchio", "float64"): _pinocchio_job(body, q)}
        for dtype in (torch.float64, torch.float32):
            label = str(dtype).removeprefix("torch.")
            jobs["kin4d", label] = _our_job(body, q.to(dtype))
            jobs["pytorch_kinematics", label] = _pk_job(body, q.to(dtype))
        best = _best_times(jobs, rounds=rounds)
    rows = [
        {"library": library, "dtype": dtype, "batch": BATCH, "time (ms)": 1e3 * seconds}
        for (library, dtype), seconds in best.items()
    ]
    speed = {d: best["pytorch_kinematics", d] / best["kin4d", d] for d in ("float64", "float32")}
    return rows, {
        "speed over pk": min(speed.values()),
        "time over pinocchio": best["kin4d", "float64"] / best["pinocchio", "float64"],
    }


def _best_times(jobs: dict[Any, Callable[[], Any]], *, rounds: int) -> dict[Any, float]:
    """Shortest run of each job (s). They take turns, so that a busy machine slows them all.

    A turn is several runs, because the first after another job meets cold caches.
    """
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for key, job in jobs.items():
            end = time.perf_counter() + 0.2
            while (start := time.perf_counter()) < end:
                job()
                best[key] = min(best[key], time.perf_counter() - start)
    return best


def _our_job(body: RobotBody, q: torch.Tensor) -> Callable[[], Any]:
    return lambda: body.link_poses(q)


def _pinocchio_job(body: RobotBody, q: torch.Tensor) -> Callable[[], Any]:
    pin = require("pinocchio", extra="bench", purpose="comparing with Pinocchio")
    skeleton = kinematic_skeleton(list_robots()["panda"])
    model = pin.buildModelFromXML(etree.tostring(skeleton, encoding="unicode"))
    data, forward, place = model.createData(), pin.forwardKinematics, pin.updateFramePlacements
    order = {joint.name: i for i, joint in enumerate(body.joints)}
    values = body.joint_values(q)[:, [order[name] for name in list(model.names)[1:]]]
    rows = [np.array(row) for row in values.numpy()]

    def job() -> None:
        for row in rows:
            forward(model, data, row)
            place(model, data)

    return job


def _pk_job(body: RobotBody, q: torch.Tensor) -> Callable[[], Any]:
    pk = require("pytorch_kinematics", extra="bench", purpose="comparing with pytorch_kinematics")
    skeleton = kinematic_skeleton(list_robots()["panda"])
    chain = pk.build_chain_from_urdf(etree.tostring(skeleton)).to(dtype=q.dtype)
    order = {joint.name: i for i, joint in enumerate(body.joints)}
    values = body.joint_values(q)[:, [order[n] for n in chain.get_joint_parameter_names()]]
    return lambda: chain.forward_kinematics(values)


@contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
