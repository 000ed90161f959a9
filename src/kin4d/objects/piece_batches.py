"""Batches of piece scenes as tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from kin4d.neurok.piece_batch import JointTargets, Parts, PieceBatch
from kin4d.objects.piece_scene import PieceScene


def collate(scenes: Sequence[PieceScene]) -> tuple[PieceBatch, JointTargets]:
    """Scenes, each in a unit box, as one batch with its truth."""
    width = max(len(scene.link) for scene in scenes)

    def padded(rows: Sequence[np.ndarray], dtype: type) -> torch.Tensor:
        out = np.zeros((len(rows), width, *rows[0].shape[1:]), dtype)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return torch.from_numpy(out)

    pieces = [scene.pieces for scene in scenes]
    batch = PieceBatch(
        points=padded([one.points for one in pieces], np.float32),
        normals=padded([one.normals for one in pieces], np.float32),
        supports=padded([one.supports for one in pieces], np.float32),
        area=padded([one.area for one in pieces], np.float32),
        component=padded([one.component for one in pieces], np.int64),
        mask=padded([np.ones(len(one), bool) for one in pieces], bool),
    )
    relation = np.zeros((len(scenes), width, width), bool)
    rows: dict[str, list] = {"shape": [], "members": [], "carried": [], "joint": []}
    for number, scene in enumerate(scenes):
        count, own = len(scene.link), scene.own[scene.link]
        moved = np.concatenate([scene.carried, np.zeros((len(scene.carried), 1), bool)], 1)
        relation[number, :count, :count] = moved[scene.link][:, own]
        for joint in np.unique(own[own >= 0]):
            members, carried = np.zeros(width, bool), np.zeros(width, bool)
            members[:count], carried[:count] = own == joint, scene.carried[scene.link, joint]
            rows["shape"].append(number)
            rows["members"].append(members)
            rows["carried"].append(carried)
            rows["joint"].append((scene, joint))

    def truth(name: str, dtype: type, *shape: int) -> torch.Tensor:
        values = [getattr(scene, name)[joint] for scene, joint in rows["joint"]]
        return torch.from_numpy(np.array(values, dtype).reshape(-1, *shape))

    targets = JointTargets(
        moves=padded([scene.own[scene.link] >= 0 for scene in scenes], bool),
        relation=torch.from_numpy(relation),
        parts=Parts(
            shape=torch.tensor(rows["shape"], dtype=torch.int64),
            members=torch.from_numpy(np.array(rows["members"], bool).reshape(-1, width)),
            carried=torch.from_numpy(np.array(rows["carried"], bool).reshape(-1, width)),
        ),
        slides=truth("slides", bool),
        pivot=truth("pivot", np.float32, 3),
        axis=truth("axis", np.float32, 3),
        range=truth("range", np.float32, 2),
        endless=truth("endless", bool),
    )
    return batch, targets
