"""Animated assets: glTF skins, moving nodes and morph targets as vertex sequences.

Vertices come in the order of `Mesh.load`, so a sequence can wear the file's own look:
``load_animation(path, "Walk").clip(mesh=Mesh.load(path))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.io.gltf import joint_matrices, scene_nodes, shared_vertices, skin_weights
from kin4d.geometry.io.gltf_document import GltfDocument, local_matrix
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.up_axis import to_z_up
from kin4d.objects.sequence import VertexSequence
from kin4d.reading import reading

_STILL = 1e-3  # deformation, relative to the diameter, below which a clip shows nothing


@dataclass(frozen=True, eq=False)
class DrawnPiece:
    """The vertices that one node draws: morph targets added, then moved by joints or by the node.

    Attributes:
        node: Its index.
        base: [V, 3] as stored.
        targets: [M, V, 3] morph displacements.
        skin: Index of the skin, or None.
        joints: [V, K]; None without a skin.
        shares: [V, K] weights of these joints; None without a skin.
    """

    node: int
    base: np.ndarray
    targets: np.ndarray
    skin: int | None = None
    joints: np.ndarray | None = None
    shares: np.ndarray | None = None

    def posed(
        self, document: GltfDocument, world: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        """[T, V, 3] for node matrices [T, N, 4, 4] and morph weights [T, M]."""
        points = np.broadcast_to(self.base, (len(world), *self.base.shape))
        if weights is not None and len(self.targets):
            count = min(weights.shape[1], len(self.targets))
            points = points + np.tensordot(weights[:, :count], self.targets[:count], 1)
        if self.skin is None:
            matrix = world[:, self.node]
            return points @ matrix[:, :3, :3].mT + matrix[:, None, :3, 3]
        motions = joint_matrices(document, self.skin, world)
        total = np.zeros_like(points)
        for joints, shares in zip(self.joints.T, self.shares.T, strict=True):  # pyright: ignore[reportOptionalMemberAccess]
            matrix = motions[:, joints]
            moved = (matrix[..., :3, :3] @ points[..., None])[..., 0] + matrix[..., :3, 3]
            total += shares[:, None] * moved
        return total


@dataclass(frozen=True, eq=False)
class _Asset:
    """A file opened once for all of its clips."""

    document: GltfDocument
    names: tuple[str, ...]
    licence: str
    faces: np.ndarray
    pieces: tuple[DrawnPiece, ...]

    @classmethod
    def open(cls, path: str | Path, licence: str | None) -> _Asset:
        document = GltfDocument.open(path)
        if not document.items("animations"):
            raise _no_deformation(document)
        # The reader of still meshes checks the surface and orders the vertices as we do.
        faces = Mesh.load(document.path).faces
        pieces = tuple(drawn_pieces(document))
        return cls(document, _names(document), _licence(document, licence), faces, pieces)

    def sequence(self, number: int, fps: float) -> VertexSequence:
        """The clip of that number, whether it deforms or not."""
        if not (np.isfinite(fps) and fps > 0):
            raise InputError("fps must be positive", value=fps)
        document, name = self.document, self.names[number]
        animation = document.items("animations")[number]
        keys = [document.accessor(sampler["input"]) for sampler in animation["samplers"]]
        start, end = min(k[0] for k in keys), max(k[-1] for k in keys)
        times = start + np.arange(int((end - start) * fps + 1e-4) + 1) / fps
        local, weights = node_motion(document, animation, times)
        world = document.world_matrices(local)
        posed = [piece.posed(document, world, weights.get(piece.node)) for piece in self.pieces]
        return VertexSequence(
            name=f"{document.path.stem}/{name}",
            category=document.path.stem,
            source=document.path.name,
            licence=self.licence,
            seed=0,
            vertices=to_z_up(np.concatenate(posed, axis=1), "y"),  # glTF is y-up
            faces=self.faces,
            fps=fps,
            meta={"clip": name, "up": "z"},
        )


def animation_names(path: str | Path) -> tuple[str, ...]:
    """Names of a file's clips, made unique; unnamed ones are numbered."""
    with reading(path, "glTF file"):
        return _names(GltfDocument.open(path))


def load_animation(
    path: str | Path, clip: str | int = 0, *, fps: float = 30.0, licence: str | None = None
) -> VertexSequence:
    """One clip of a .gltf or .glb, sampled at `fps`.

    A clip that leaves the shape as it is, still or moved as one rigid piece, is an `InputError`.

    Args:
        path: The file.
        clip: Name or number of the clip.
        fps: Frames per second.
        licence: Terms of use; by default what the file says of itself in ``asset.copyright``.
    """
    with reading(path, "glTF file"):
        asset = _Asset.open(path, licence)
        number = asset.names.index(clip) if clip in asset.names else clip
        if not isinstance(number, int) or not 0 <= number < len(asset.names):
            raise InputError(f"{path} has no such clip", value=clip, allowed=", ".join(asset.names))
        sequence = asset.sequence(number, fps)
    if sequence.deformation < _STILL:
        raise _no_deformation(asset.document, clip=asset.names[number])
    return sequence


def load_animations(
    path: str | Path, *, fps: float = 30.0, licence: str | None = None
) -> Iterator[VertexSequence]:
    """Every clip of a file that deforms, in order; clips that hold one pose are left out.

    Arguments as for `load_animation`. A file without any such clip is an `InputError`.
    """
    with reading(path, "glTF file"):
        asset = _Asset.open(path, licence)
    found = False
    for number in range(len(asset.names)):
        with reading(path, "glTF file"):
            sequence = asset.sequence(number, fps)
        if sequence.deformation >= _STILL:
            found = True
            yield sequence
    if not found:
        raise _no_deformation(asset.document)


def drawn_pieces(document: GltfDocument) -> Iterator[DrawnPiece]:
    """What the nodes of a file draw, in the order of `Mesh.load`."""
    nodes = document.items("nodes")
    for index in scene_nodes(document):
        if "mesh" not in nodes[index]:
            continue
        for primitives in shared_vertices(document, document.items("meshes")[nodes[index]["mesh"]]):
            primitive, skin = primitives[0], nodes[index].get("skin")
            base = document.accessor(primitive["attributes"]["POSITION"]).astype(np.float64)
            targets = np.zeros((len(primitive.get("targets", ())), *base.shape))
            for k, target in enumerate(primitive.get("targets", ())):
                if "POSITION" in target:
                    targets[k] = document.accessor(target["POSITION"])
            joints, shares = None, None
            if skin is not None:
                joints, shares = skin_weights(document, primitive["attributes"])
            yield DrawnPiece(index, base, targets, skin, joints, shares)


def node_motion(
    document: GltfDocument, animation: dict[str, Any], times: np.ndarray
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Node-to-parent matrices [T, N, 4, 4] and morph weights [T, M] by node, at `times` [T]."""
    nodes = document.items("nodes")
    meshes = document.items("meshes")
    local = np.tile(np.stack([local_matrix(node) for node in nodes]), (len(times), 1, 1, 1))
    weights: dict[int, np.ndarray] = {}
    for index, node in enumerate(nodes):
        rest = node.get("weights") or ("mesh" in node and meshes[node["mesh"]].get("weights"))
        if rest:
            weights[index] = np.tile(np.asarray(rest, np.float64), (len(times), 1))
    moved: dict[int, dict[str, np.ndarray]] = {}
    for channel in animation["channels"]:
        node, kind = channel["target"].get("node"), channel["target"]["path"]
        if node is None or kind not in ("translation", "rotation", "scale", "weights"):
            continue  # extensions animate looks, which are not geometry
        values = _sampled(document, animation["samplers"][channel["sampler"]], kind, times)
        if kind == "weights":
            weights[node] = values
        else:
            moved.setdefault(node, {})[kind] = values
    for node, tracks in moved.items():
        local[:, node] = _matrices({**_rest(nodes[node]), **tracks}, len(times))
    return local, weights


def _sampled(
    document: GltfDocument, sampler: dict[str, Any], kind: str, times: np.ndarray
) -> np.ndarray:
    """[T, n] values of a channel at `times`, held before its first key and after its last."""
    keys = document.accessor(sampler["input"]).astype(np.float64)
    mode = sampler.get("interpolation", "LINEAR")
    per_key = 3 if mode == "CUBICSPLINE" else 1
    values = document.accessor(sampler["output"]).astype(np.float64)
    values = values.reshape(len(keys), per_key, -1)
    after = np.clip(np.searchsorted(keys, times, side="right"), 1, max(len(keys) - 1, 1))
    before, after = after - 1, np.minimum(after, len(keys) - 1)
    span = keys[after] - keys[before]
    share = np.clip((times - keys[before]) / np.where(span > 0, span, 1), 0, 1)[:, None]
    if mode == "STEP":
        return np.where(share < 1, values[before, 0], values[after, 0])
    if mode == "CUBICSPLINE":
        s2, s3 = share**2, share**3
        blended = (2 * s3 - 3 * s2 + 1) * values[before, 1] + (3 * s2 - 2 * s3) * values[after, 1]
        slopes = (s3 - 2 * s2 + share) * values[before, 2] + (s3 - s2) * values[after, 0]
        return blended + span[:, None] * slopes
    first, second = values[before, 0], values[after, 0]
    if kind != "rotation":
        return first + share * (second - first)
    cosine = (first * second).sum(-1, keepdims=True)
    second, cosine = np.where(cosine < 0, -second, second), np.minimum(abs(cosine), 1)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    near = sine < 1e-6
    sine = np.where(near, 1, sine)
    left = np.where(near, 1 - share, np.sin((1 - share) * angle) / sine)
    right = np.where(near, share, np.sin(share * angle) / sine)
    return left * first + right * second


def _rest(node: dict[str, Any]) -> dict[str, np.ndarray]:
    defaults = {"translation": (0, 0, 0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
    return {key: np.array(node.get(key, value), np.float64) for key, value in defaults.items()}


def _matrices(tracks: dict[str, np.ndarray], frames: int) -> np.ndarray:
    """[T, 4, 4] of translations, quaternions (x, y, z, w) and scales, each over time or fixed."""
    from scipy.spatial.transform import Rotation

    matrices = np.tile(np.eye(4), (frames, 1, 1))
    rotations = Rotation.from_quat(np.broadcast_to(tracks["rotation"], (frames, 4))).as_matrix()
    matrices[:, :3, :3] = rotations * np.broadcast_to(tracks["scale"], (frames, 3))[:, None]
    matrices[:, :3, 3] = tracks["translation"]
    return matrices


def _names(document: GltfDocument) -> tuple[str, ...]:
    names: list[str] = []
    for index, animation in enumerate(document.items("animations")):
        name = str(animation.get("name") or f"animation {index}")
        names.append(f"{name} {index}" if name in names else name)
    return tuple(names)


def _licence(document: GltfDocument, given: str | None) -> str:
    asset = document.tree["asset"]
    extras = asset.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    licence = given or asset.get("copyright") or extras.get("license") or extras.get("licence")
    if not licence:
        raise InputError(
            f"{document.path} does not say under which licence it is",
            hint="find its terms and pass them, e.g. licence='CC0-1.0'",
        )
    return str(licence)


def _no_deformation(document: GltfDocument, clip: str | None = None) -> InputError:
    where = f"clip '{clip}' of {document.path}" if clip else str(document.path)
    return InputError(
        f"{where} has no deformation: it is still, or moves as one rigid piece",
        hint="choose a file with a skin, morph targets or moving nodes",
    )
