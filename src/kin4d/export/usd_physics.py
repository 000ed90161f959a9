"""Articulated bodies as USD with physics: rigid bodies, revolute and prismatic joints."""

# usd-core ships no type information.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError, OutputError
from kin4d.export.link_assets import LinkAssets
from kin4d.export.textures import TextureFolder
from kin4d.export.usd import define_mesh
from kin4d.export.usd_material import bind_materials
from kin4d.extras import require
from kin4d.files import atomic_path
from kin4d.geometry.mesh import Mesh


def write_usd_physics(assets: LinkAssets, path: Path) -> Path:
    """Write a body with its root fixed to the world; textures go to ``<stem>_textures/``.

    Joint limits are in degrees or metres, as UsdPhysics has them. It knows no joints that follow
    others: a body with some is refused.
    """
    require("pxr.UsdPhysics", extra="usd", purpose="writing USD")
    from pxr import Tf, Usd, UsdGeom, UsdPhysics

    body = assets.body
    followers = [joint.name for joint in body.joints if joint.mimic is not None]
    if followers:
        raise InputError(
            f"joint '{followers[0]}' follows another, which USD physics cannot state",
            hint="write .urdf or .xml",
        )
    folder = path.with_name(f"{path.stem}_textures")
    textures = TextureFolder(body.rest, folder.name)
    beside = atomic_path(folder) if textures.files else nullcontext()
    try:
        with beside as texture_target, atomic_path(path) as temporary:
            if texture_target is not None:
                textures.write(texture_target)
            stage = Usd.Stage.CreateNew(str(temporary))
            UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
            UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.LinearUnits.meters)
            UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
            _Stage(stage, assets, textures).write()
            stage.Save()
    except Tf.ErrorException as error:
        raise OutputError(f"USD could not write {path}: {error}") from error
    return path


class _Stage:
    """The prims of a body."""

    def __init__(self, stage: Any, assets: LinkAssets, textures: TextureFolder) -> None:
        from pxr import Tf

        self.stage, self.assets, self.textures = stage, assets, textures
        self.root = f"/{Tf.MakeValidIdentifier(assets.body.name)}"
        self.paths: dict[str, str] = {}
        for link in assets.body.links:
            name = Tf.MakeValidIdentifier(link.name)
            while f"{self.root}/{name}" in self.paths.values() or name == "Joints":
                name += "_"
            self.paths[link.name] = f"{self.root}/{name}"

    def write(self) -> None:
        """All links, joints and pairs that do not collide."""
        from pxr import UsdGeom, UsdPhysics

        body = self.assets.body
        top = UsdGeom.Xform.Define(self.stage, self.root)
        self.stage.SetDefaultPrim(top.GetPrim())
        UsdPhysics.ArticulationRootAPI.Apply(top.GetPrim())
        poses = body.link_poses(body.q0).numpy()
        for link, pose in zip(body.links, poses, strict=True):
            self._link(link.name, link.mesh, pose)
        UsdGeom.Scope.Define(self.stage, f"{self.root}/Joints")
        anchor = UsdPhysics.FixedJoint.Define(self.stage, f"{self.root}/Joints/root")
        anchor.CreateBody1Rel().SetTargets([self.paths[body.order[0]]])
        _set_frame(anchor, 0, poses[body.link_index(body.order[0])])
        for joint in body.joints:
            self._joint(joint)
        for first, second in self.assets.excluded:
            prim = self.stage.GetPrimAtPath(self.paths[first])
            pairs = UsdPhysics.FilteredPairsAPI.Apply(prim)
            pairs.CreateFilteredPairsRel().AddTarget(self.paths[second])

    def _link(self, name: str, mesh: Mesh | None, pose: np.ndarray) -> None:
        from pxr import Gf, UsdGeom, UsdPhysics

        path = self.paths[name]
        xform = UsdGeom.Xform.Define(self.stage, path)
        # USD multiplies row vectors, so its matrices are transposed.
        xform.AddTransformOp().Set(Gf.Matrix4d(pose.T.tolist()))
        UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
        if name in self.assets.inertials:
            _set_inertial(xform.GetPrim(), self.assets.inertials[name])
        if mesh is None:
            return
        seen = define_mesh(self.stage, f"{path}/visual", mesh)
        _set_points(seen, mesh)
        bind_materials(self.stage, seen, mesh, self.textures, scope=f"{path}/Materials")
        hull = self.assets.hulls[name]
        solid = define_mesh(self.stage, f"{path}/collision", hull)
        _set_points(solid, hull)
        solid.CreatePurposeAttr(UsdGeom.Tokens.guide)
        UsdPhysics.CollisionAPI.Apply(solid.GetPrim())
        shape = UsdPhysics.MeshCollisionAPI.Apply(solid.GetPrim())
        shape.CreateApproximationAttr(UsdPhysics.Tokens.convexHull)

    def _joint(self, joint: Joint) -> None:
        from pxr import Tf, UsdPhysics

        schema = {
            "fixed": UsdPhysics.FixedJoint,
            "revolute": UsdPhysics.RevoluteJoint,
            "prismatic": UsdPhysics.PrismaticJoint,
        }[joint.kind]
        path = f"{self.root}/Joints/{Tf.MakeValidIdentifier(joint.name)}"
        while self.stage.GetPrimAtPath(path):
            path += "_"
        prim = schema.Define(self.stage, path)
        prim.CreateBody0Rel().SetTargets([self.paths[joint.parent]])
        prim.CreateBody1Rel().SetTargets([self.paths[joint.child]])
        # The schema has axes x, y and z alone: the joint's frames are turned so that it is x.
        turn = np.eye(4)
        if joint.kind != "fixed":
            turn[:3, :3] = Rotation.align_vectors(joint.axis[None], [[1.0, 0.0, 0.0]])[
                0
            ].as_matrix()
            prim.CreateAxisAttr(UsdPhysics.Tokens.x)
            unit = 180 / np.pi if joint.kind == "revolute" else 1.0
            for create, bound in zip(
                (prim.CreateLowerLimitAttr, prim.CreateUpperLimitAttr), joint.limits, strict=True
            ):
                create(float(unit * bound))
        _set_frame(prim, 0, joint.origin @ turn)
        _set_frame(prim, 1, turn)


def _set_frame(joint: Any, side: int, pose: np.ndarray) -> None:
    """The joint's frame in its first (0) or second (1) body."""
    from pxr import Gf

    place = joint.CreateLocalPos1Attr if side else joint.CreateLocalPos0Attr
    turn = joint.CreateLocalRot1Attr if side else joint.CreateLocalRot0Attr
    w, x, y, z = Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True).tolist()
    place(Gf.Vec3f(*pose[:3, 3].tolist()))
    turn(Gf.Quatf(w, x, y, z))


def _set_inertial(prim: Any, inertial: Inertial) -> None:
    from pxr import Gf, UsdPhysics

    moments, axes = np.linalg.eigh(inertial.inertia)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    w, x, y, z = Rotation.from_matrix(axes).as_quat(scalar_first=True).tolist()
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(inertial.mass)
    mass.CreateCenterOfMassAttr(Gf.Vec3f(*inertial.center.tolist()))
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments.tolist()))
    mass.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))


def _set_points(prim: Any, mesh: Mesh) -> None:
    from pxr import Vt

    prim.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(mesh.vertices.astype(np.float32)))
    prim.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(mesh.bounds.astype(np.float32)))
