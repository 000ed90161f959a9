"""Tasks with loose objects: reach, push, lift, pick and place, stack, knock over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.objects.procedural.parts import PartShapes
from kin4d.objects.procedural.profiles import rounded_rectangle
from kin4d.tasks.catalog.placement import (
    CARRY,
    clutter,
    grasp_yaw,
    looked_at,
    pick,
    sample_placements,
)
from kin4d.tasks.props import SQUAT, Geom, any_prop, block, bottle_prop, mesh_of, prop_material
from kin4d.tasks.scene_builder import SceneBuilder
from kin4d.tasks.task_scene import TaskSpec, TaskState
from kin4d.tasks.trajectory import Trajectory, above, grasp_pose

_SHAPES = PartShapes(sides=16)


def reach(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Bring the open hand around a ball on a stick."""
    rng = builder.rng
    positions = sample_placements(rng, 3)
    height, radius = rng.uniform(0.06, 0.16), rng.uniform(0.018, 0.024)
    name, color = prop_material(rng)
    parts = [
        _SHAPES.cylinder(0.03, 0, 0.008, (70, 72, 78)),
        _SHAPES.cylinder(0.005, 0, height, (150, 152, 158)),
        _SHAPES.sphere(radius, color).moved(z=height),
    ]
    geoms = (Geom("cylinder", (0.005, height / 2), (0, 0, height / 2)),)
    builder.add_fixed("target", mesh_of(parts, "target"), geoms, [*positions[0], 0])
    others = clutter(builder, positions[1:], besides=[name])
    goal = np.array([*positions[0], height])
    yaw = rng.uniform(-0.7, 0.7)
    trajectory.go(grasp_pose(above(goal, 0.09), yaw=yaw), speed=0.25)
    trajectory.go(grasp_pose(above(goal, 0.004), yaw=yaw), speed=0.2).wait(0.3)
    return TaskSpec(
        instruction=f"reach for the {name} ball",
        trajectory=trajectory,
        success=lambda s: float(np.linalg.norm(s.grasp - goal)) < 0.022,
        objects=("ball", *others),
        focus=looked_at(positions[0], height=0.09),
        span=0.46,
    )


def push(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Push an object onto a round mark."""
    rng, arm = builder.rng, builder.arm
    prop = any_prop(rng, SQUAT)
    while prop.half > 0.037:  # What is tall tips over instead.
        prop = any_prop(rng, SQUAT)
    while True:
        at, goal = sample_placements(rng, 2, gap=0.11, x=0.1, y=0.16)
        direction = goal - at
        length, heading = (
            float(np.linalg.norm(direction)),
            float(np.arctan2(direction[1], direction[0])),
        )
        if length < 0.19 and abs(heading) < 1.9:
            break
    # The hand looks along the push, or against it: its two sides are alike.
    hand = (heading + np.pi / 2) % np.pi - np.pi / 2
    yaw = heading if prop.round else heading + rng.uniform(-0.15, 0.15)
    builder.add_prop("object", prop, at, yaw=yaw)
    name, color = prop_material(rng, besides=(prop.color,))
    mark = [
        _SHAPES.cylinder(0.045, 0, 0.0025, color),
        _SHAPES.cylinder(0.03, 0, 0.003, (235, 235, 230)),
    ]
    builder.add_fixed("mark", mesh_of(mark, "mark"), (), [*goal, 0])
    along = direction / length
    touching = 0.5 * prop.grip + 0.011
    height = max(arm.tip + 0.007, min(prop.half, 0.03))
    behind, end = at - along * (touching + 0.03), goal - along * (touching - 0.002)
    trajectory.grip(0.3, seconds=0.1)
    trajectory.go(
        grasp_pose(np.array([*behind, max(CARRY - 0.03, 2 * prop.half + 0.05)]), yaw=hand),
        speed=0.45,
    )
    trajectory.go(grasp_pose(np.array([*behind, height]), yaw=hand), speed=0.3)
    trajectory.go(grasp_pose(np.array([*end, height]), yaw=hand), speed=0.16).wait(0.1)
    trajectory.translate((*(-0.03 * along), 0.05), speed=0.3)

    def done(state: TaskState) -> bool:
        return float(np.linalg.norm(state.position("object")[:2] - goal)) < 0.04

    return TaskSpec(
        instruction=f"push {prop.phrase} onto the {name} mark",
        trajectory=trajectory,
        success=done,
        objects=(prop.kind,),
        focus=looked_at(at, goal, height=0.05),
        span=0.46,
    )


def lift(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Pick an object up."""
    rng = builder.rng
    prop = any_prop(rng)
    positions = sample_placements(rng, 3, gap=0.12)
    yaw, hand = grasp_yaw(rng, prop)
    start = builder.add_prop("object", prop, positions[0], yaw=yaw)
    others = clutter(builder, positions[1:], besides=[prop.color])
    pick(trajectory, builder.arm, prop, start, hand, lift=rng.uniform(0.1, 0.14))
    trajectory.wait(0.2)
    return TaskSpec(
        instruction=f"lift {prop.phrase}",
        trajectory=trajectory,
        success=lambda s: bool(s.position("object")[2] > start[2] + 0.06),
        objects=(prop.kind, *others),
        focus=looked_at(positions[0], height=0.1),
        span=0.46,
    )


def pick_and_place(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Put an object into a tray or onto a plate."""
    rng = builder.rng
    prop = any_prop(rng)
    at, goal = sample_placements(rng, 2, gap=0.17, x=0.09, y=0.17)
    yaw, hand = grasp_yaw(rng, prop)
    start = builder.add_prop("object", prop, at, yaw=yaw)
    name, color = prop_material(rng, besides=(prop.color,))
    inner = rng.uniform(0.055, 0.07)
    kind = str(rng.choice(["tray", "plate"]))
    if kind == "tray":
        wall = rng.uniform(0.02, 0.035)
        outline = rounded_rectangle(2 * inner + 0.012, 2 * inner + 0.012, 0.012, 16)
        mesh = mesh_of([_SHAPES.tub(outline, 0, wall, 0.006, color)], kind)
        geoms = [Geom("box", (inner, inner, 0.003), (0, 0, 0.003))]
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            size = (0.003, inner, wall / 2) if x else (inner, 0.003, wall / 2)
            geoms.append(Geom("box", size, (x * inner, y * inner, wall / 2)))
    else:
        plate = [(0, 0), (0.7 * inner, 0), (inner, 0.012), (0.95 * inner, 0.014)]
        mesh = mesh_of([_SHAPES.lathe([*plate, (0.68 * inner, 0.006), (0, 0.006)], color)], kind)
        geoms = [Geom("cylinder", (0.7 * inner, 0.003), (0, 0, 0.003))]
    builder.add_fixed(
        "goal", mesh, geoms, [*goal, 0], yaw=rng.uniform(-0.5, 0.5) if kind == "plate" else 0.0
    )
    lifted = 0.09
    height = pick(trajectory, builder.arm, prop, start, hand, lift=lifted)
    trajectory.go(grasp_pose(np.array([*goal, height + lifted]), yaw=hand), speed=0.4)
    trajectory.go(grasp_pose(np.array([*goal, height + 0.012]), yaw=hand), speed=0.25)
    trajectory.grip(1.0, seconds=0.3)
    trajectory.translate((0, 0, 0.1), speed=0.4)

    def done(state: TaskState) -> bool:
        where = state.position("object")
        near = float(np.linalg.norm(where[:2] - goal)) < inner
        return near and 0.004 < where[2] < prop.half + 0.03 and state.opening > 0.6

    where = "into" if kind == "tray" else "onto"
    return TaskSpec(
        instruction=f"put {prop.phrase} {where} the {name} {kind}",
        trajectory=trajectory,
        success=done,
        objects=(prop.kind, kind),
        focus=looked_at(at, goal, height=0.08),
        span=0.47,
    )


def stack(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Put one cube on another."""
    rng = builder.rng
    upper = block(rng, cube=True, size=rng.uniform(0.042, 0.05))
    lower = block(rng, cube=True, size=rng.uniform(0.05, 0.06), besides=(upper.color,))
    at, goal, *rest = sample_placements(rng, 3, gap=0.13, x=0.09, y=0.15)
    yaw, hand = grasp_yaw(rng, upper)
    start = builder.add_prop("object", upper, at, yaw=yaw)
    builder.add_prop("base", lower, goal, yaw=rng.uniform(-np.pi, np.pi))
    others = clutter(builder, np.array(rest), besides=[upper.color, lower.color], most=1)
    top = 2 * lower.half
    height = pick(trajectory, builder.arm, upper, start, hand, lift=top + 0.05)
    trajectory.go(grasp_pose(np.array([*goal, height + top + 0.05]), yaw=hand), speed=0.35)
    trajectory.go(grasp_pose(np.array([*goal, height + top + 0.002]), yaw=hand), speed=0.2)
    trajectory.grip(1.0, seconds=0.3)
    trajectory.translate((0, 0, 0.09), speed=0.4)

    def done(state: TaskState) -> bool:
        above = state.position("object") - state.position("base")
        level = abs(above[2] - upper.half - lower.half) < 0.01
        return level and float(np.linalg.norm(above[:2])) < 0.035 and state.opening > 0.6

    return TaskSpec(
        instruction=f"stack {upper.phrase} on {lower.phrase}",
        trajectory=trajectory,
        success=done,
        objects=("cube", "cube", *others),
        focus=looked_at(at, goal, height=0.08),
        span=0.45,
    )


def knock_over(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Tip a bottle or a tower over."""
    rng = builder.rng
    prop = bottle_prop(rng) if rng.random() < 0.6 else _tower(rng)
    # Smooth, so that the finger slides up its side: a pad that sticks would hold it upright.
    prop = replace(prop, geoms=tuple(replace(geom, slippery=True) for geom in prop.geoms))
    (at,) = sample_placements(rng, 1, x=0.07, y=0.14)
    builder.add_prop("object", prop, at, yaw=rng.uniform(-np.pi, np.pi))
    heading = rng.uniform(-2.2, 2.2)
    along = np.array([np.cos(heading), np.sin(heading)])
    # Side on: the outside of one finger pushes. A neck would catch between the tips of two.
    hand = heading % np.pi - np.pi / 2
    height = 2 * prop.half * rng.uniform(0.78, 0.9)
    behind, end = at - along * (0.5 * prop.grip + 0.05), at + along * rng.uniform(0.07, 0.1)
    trajectory.grip(0.0, seconds=0.1)
    trajectory.go(grasp_pose(np.array([*behind, 2 * prop.half + 0.05]), yaw=hand), speed=0.4)
    trajectory.go(grasp_pose(np.array([*behind, height]), yaw=hand), speed=0.3)
    trajectory.go(grasp_pose(np.array([*end, height]), yaw=hand), speed=0.28)
    trajectory.translate((*(-0.06 * along), 0.0), speed=0.5).wait(0.45)
    return TaskSpec(
        instruction=f"knock over {prop.phrase}",
        trajectory=trajectory,
        success=lambda s: bool(abs(s.pose("object")[2, 2]) < 0.5),
        objects=(prop.kind,),
        focus=looked_at(at, height=0.07),
        span=0.46,
    )


def _tower(rng: np.random.Generator):
    """A tall, narrow box."""
    made = block(rng, cube=True, size=rng.uniform(0.042, 0.05))
    tall, x = rng.uniform(0.12, 0.15), made.grip / 2
    scale = np.diag([1, 1, tall / made.grip, 1])
    return replace(
        made,
        kind="tower",
        mesh=made.mesh.transformed(scale),
        geoms=(Geom("box", (x, x, tall / 2)),),
        half=tall / 2,
    )
