"""Physics-guided imagination: what mechanics decided, as motions that a world model paints.

A world model that sees the robot alone has to guess how bodies react. Here their motion is
given, by clips of a simulation: which pixels of the first frame show which rigid link follows from
drawing the clips, and every link takes its pixels with it. The world model fills in the rest: what
the bodies uncover, light, shadows, surfaces that the first frame shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh_ops import submesh
from kin4d.geometry.skin import Skin
from kin4d.render.pointmaps import MeshInstance, render_instances
from kin4d.world.model import WorldModel
from kin4d.world.object_world.model import ObjectWorldModel, PartMotion
from kin4d.world.object_world.segmentation import BACKGROUND
from kin4d.world.observation import Observation

CONTROLS = ("robot", "scene")
"""What says how the bodies of an imagined video move: the model, or mechanics."""

_NEAR = 0.03  # m from the measured surface within which a pixel shows the body drawn there
_MOST = 254  # links, by the mask ids of a drawn image


def scene_clips(
    control: str,
    scene: str | Path | Clip | Sequence[Clip] | None,
    model: WorldModel,
    *,
    alone: bool,
) -> Sequence[Clip]:
    """The bodies whose motion is given; none if the model decides.

    Args:
        control: "robot" or "scene".
        scene: Clips, or the .npz of one.
        model: That is to paint them.
        alone: Whether nothing else decides about parts and motions.
    """
    if control not in CONTROLS:
        raise InputError("control of imagination", value=control, allowed=", ".join(CONTROLS))
    if (control == "scene") != (scene is not None):
        raise InputError(
            "control 'scene' and a scene go together",
            value=f"control '{control}' and {'no' if scene is None else 'a'} scene",
            allowed="--control scene --scene FILE, or neither",
        )
    if scene is None:
        return ()
    if not isinstance(model, ObjectWorldModel) or not alone:
        raise InputError(
            "a scene decides how parts move",
            allowed="the weights of an object world model, no masks and one sample",
        )
    clips = Clip.load(scene) if isinstance(scene, str | Path) else scene
    return [clips] if isinstance(clips, Clip) else list(clips)


def scene_motion(observation: Observation, clips: Sequence[Clip]) -> PartMotion:
    """Parts and motions of an observation, of the rigid links in clips.

    Args:
        observation: The first frame; where its geometry was measured, only pixels near the bodies
            count, and never those of the robot.
        clips: Bodies in the world of the observation's camera; the first frames are the same
            moment. A clip that is shorter stays as it ends.
    """
    links, motions = [], []
    times = np.arange(len(observation)) * observation.seconds
    to_camera = observation.camera.world_to_camera
    for clip in clips:
        skin = clip.skin
        if skin is None or not skin.is_rigid:
            raise InputError(
                f"'{clip.mesh.name}' deforms: a world model moves rigid parts",
                allowed="clips of rigid and articulated bodies",
                hint="leave it out of the scene that is given",
            )
        moves = to_camera @ _at(skin.transforms, times * clip.fps) @ np.linalg.inv(to_camera)
        moves = moves @ np.linalg.inv(moves[0])
        of_face = skin.joints[clip.mesh.faces[:, 0], 0]
        for joint in np.unique(of_face):
            mesh = submesh(clip.mesh, of_face == joint, name=skin.names[joint])
            still = Skin.rigid(np.zeros(len(mesh.vertices), int), (skin.names[joint],))
            links.append(
                MeshInstance(
                    name=mesh.name,
                    mesh=mesh,
                    frames=1,
                    skin=still,
                    transforms=skin.transforms[:1, joint : joint + 1],
                )
            )
            motions.append(moves[:, joint])
    if not 0 < len(links) <= _MOST:
        raise InputError("rigid links in the scene", value=len(links), allowed=f"1 to {_MOST}")
    drawn = render_instances(links, observation.camera, fps=1.0, threads=1)
    part = np.where(drawn.mask[0] > 0, drawn.mask[0].astype(int) - 1, BACKGROUND)
    part[observation.robot.mask[0] > 0] = BACKGROUND
    # Comparisons with NaN are false: where nothing was measured, the clips are believed.
    part[np.abs(drawn.xyz[0, ..., 2] - observation.xyz[..., 2]) > _NEAR] = BACKGROUND
    return PartMotion(part=part, motions=np.stack(motions, axis=1))


def _at(transforms: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """[T, J, 4, 4] rigid motions between the frames of `transforms` [F, J, 4, 4]."""
    rows = np.clip(rows, 0, len(transforms) - 1)
    first = np.minimum(rows.astype(int), max(len(transforms) - 2, 0))
    share = (rows - first)[:, None, None, None]
    between = (1 - share) * transforms[first] + share * transforms[
        np.minimum(first + 1, len(transforms) - 1)
    ]
    # The rotation nearest to the mean of two is the one half-way between them.
    u, _, vh = np.linalg.svd(between[..., :3, :3])
    between[..., :3, :3] = u @ vh
    return between
