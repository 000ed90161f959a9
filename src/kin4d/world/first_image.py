"""Is the first image what the camera, the robot and the depth say it is? What is wrong, if not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError
from kin4d.render.pointmaps import MeshInstance
from kin4d.world.observation import Observation, make_observation
from kin4d.world.robot_fit import RobotFit, fit_robot, robot_mask

POOR_FIT = 0.7
"""IoU below which a cause is looked for and the user is warned."""
_REFUSED = 0.25  # IoU below which nothing is imagined, unless the robot is aligned
_EXPLAINS = 0.8  # IoU of the robot after a change that explains a poor fit
_LINK_EXPLAINS = 0.5  # least share of a link whose depth agrees after it
_SUPPORTED = {"depth": 0.85, "edges": 0.75, "none": 1.0}  # support of the robot after it
_UNITS = {
    1000.0: "in millimetres",
    100.0: "in centimetres",
    1 / 0.0254: "in inches",
    1 / 0.3048: "in feet",
    0.001: "in kilometres",
}
_UNIT_TOLERANCE = 0.05
_MIN_SCALE = 0.03  # of a depth off the robot's, below which it is calibration, not a unit


class FirstImageError(InputError):
    """The first image does not show what the robot, its camera and the depth say.

    Attributes:
        picture: [H, W, 3] uint8: the robot drawn over the image.
    """

    picture: np.ndarray | None = None


def check_first_image(
    observation: Observation, body: RobotBody, q: np.ndarray, *, align: bool = False
) -> RobotFit:
    """The fit of the robot over an observation's image; an error if it is hopeless.

    Args:
        observation: The first frame alone.
        body: Its robot.
        q: [k] coordinates of the robot in it.
        align: Whether the robot will be aligned, so that a wrong place is no reason to refuse.
    """
    fit = fit_robot(observation)
    if fit.iou >= POOR_FIT:
        return fit
    cause = None
    if fit.evidence != "none":
        cause = _depth_unit(observation, fit) or _image_flip(observation, fit)
    cause = cause or _joint_convention(observation, body, q, fit)
    if cause is None and (fit.hopeless or (fit.iou < _REFUSED and not align)):
        cause = (
            f"the robot does not fit the first image (IoU {fit.iou:.2f} by {fit.evidence})",
            "check the camera, its convention (--camera-convention), the robot, its base "
            "(--base-pose) and the order of its joints"
            + ("" if fit.hopeless else "; or let it be aligned: --align"),
        )
    if cause is not None:
        error = FirstImageError(cause[0], hint=cause[1])
        error.picture = fit.picture
        raise error
    return fit


def _depth_unit(observation: Observation, fit: RobotFit) -> tuple[str, str] | None:
    """Depth in another unit: its factor to the robot's own depth is the same everywhere."""
    if fit.evidence != "depth":
        return None
    mask = robot_mask(observation)
    ratio = observation.xyz[..., 2][mask] / observation.robot.xyz[0, ..., 2][mask]
    ratio = ratio[np.isfinite(ratio)]
    factor = float(np.median(ratio))
    if not len(ratio) or not factor > 0 or abs(np.log(factor)) < _MIN_SCALE:
        return None
    for unit in _UNITS:
        if abs(factor / unit - 1) < _UNIT_TOLERANCE:
            factor = unit
    scaled = fit_robot(replace(observation, xyz=(observation.xyz / factor).astype(np.float32)))
    if scaled.iou < _EXPLAINS:
        return None
    unit = _UNITS.get(factor, "in another unit or scale")
    return (
        f"the depth is not in metres: it is {factor:.4g} times the robot's own depth ({unit})",
        f"divide it by {factor:.4g}",
    )


def _image_flip(observation: Observation, fit: RobotFit) -> tuple[str, str] | None:
    """An image that is mirrored or upside down."""
    for axis, name in ((1, "mirrored"), (0, "upside down")):
        image = np.ascontiguousarray(np.flip(observation.image, axis))
        xyz = np.flip(observation.xyz[..., 2:], axis) * observation.camera.rays()
        flipped = fit_robot(replace(observation, image=image, xyz=xyz.astype(np.float32)))
        if _is_explanation(flipped, fit):
            return f"the first image is {name}", "flip it (and its depth) back"
    return None


def _joint_convention(
    observation: Observation, body: RobotBody, q: np.ndarray, fit: RobotFit
) -> tuple[str, str] | None:
    """Joint positions in another order or unit."""
    names = list(body.coordinates)
    by_name = np.argsort(names)
    changes = {
        "in degrees": np.radians(q),
        "in reversed order": q[::-1],
        "in alphabetical order of their names": q[np.argsort(by_name)],
        "with the first and the third joint swapped (elbow first)": _swapped(q, 0, 2),
    }
    for name, values in changes.items():
        if np.allclose(values, q):
            continue
        actor = MeshInstance.of_body(body, values[None].copy(), name="robot")
        image, xyz, camera = observation.image, observation.xyz, observation.camera
        other = make_observation(image, xyz, actor, camera, fps=observation.robot.fps)
        if _is_explanation(fit_robot(other), fit):
            return f"the joint positions are {name}", "give them in the robot's own order, in rad"
    return None


def _is_explanation(changed: RobotFit, fit: RobotFit) -> bool:
    least = max(_SUPPORTED[changed.evidence], np.nan_to_num(fit.support))
    return (
        changed.iou >= _EXPLAINS
        and changed.support > least
        and changed.worst_link >= _LINK_EXPLAINS
    )


def _swapped(q: np.ndarray, a: int, b: int) -> np.ndarray:
    values = q.copy()
    if max(a, b) < len(q):
        values[[a, b]] = q[[b, a]]
    return values
