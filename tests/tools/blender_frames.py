"""Runs in a Python that has bpy: opens a file in Blender and writes what it shows of each frame.

python blender_frames.py FILE FRAMES OUTPUT.npz [BACK.glb]: `points` [T, N, 3] (m, z up), and with
BACK.glb a GLB that Blender itself exported. A PC2 file is played on the OBJ beside it.
"""

import sys
from pathlib import Path

import bpy
import numpy as np


def main(file: str, frames: str, output: str, back: str = "") -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 24
    suffix = Path(file).suffix
    if suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=file)
    elif suffix == ".pc2":
        bpy.ops.wm.obj_import(filepath=str(Path(file).with_suffix(".obj")))
    else:
        bpy.ops.wm.usd_import(filepath=file)
    # The importer of glTF adds a mesh that stands for bones; it does not belong to the scene.
    meshes = [o for o in scene.objects if o.type == "MESH" and not o.name.startswith("Icosphere")]
    if suffix == ".pc2":
        cache = meshes[0].modifiers.new("motion", "MESH_CACHE")
        cache.cache_format, cache.filepath = "PC2", file
    count = int(frames)
    scene.frame_start, scene.frame_end = 0, count - 1
    shown = []
    for frame in range(count):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        shown.append(np.concatenate([points(o.evaluated_get(graph)) for o in meshes]))
    np.savez(output, points=np.stack(shown), skinned=any(o.find_armature() for o in meshes))
    if back:
        bpy.ops.export_scene.gltf(filepath=back, export_frame_range=True)


def points(shown) -> np.ndarray:
    """[N, 3] vertices of an object as it is shown, in the world."""
    mesh = shown.to_mesh()
    local = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", local)
    pose = np.array(shown.matrix_world)
    return local.reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]


main(*sys.argv[1:])
