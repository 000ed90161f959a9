"""Digests of what is computed with a seed: the same in every process of a machine."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from kin4d.benchmarks.reliability.kill_jobs import JOBS


def _files(name: str) -> Iterator[bytes]:
    """What a job leaves: tensors of training, without its times; all bytes of the rest."""
    from kin4d.training import load_tensors

    with tempfile.TemporaryDirectory() as home:
        episodes, folder = Path(home) / "episodes", Path(home) / "job"
        for one in (episodes, folder):
            one.mkdir()
        if JOBS[name].needs_episodes:
            JOBS["data episodes"].run(episodes, episodes)
        JOBS[name].run(folder, episodes / "result")
        for path in sorted(folder.rglob("*")):
            if path.suffix == ".safetensors":
                for key, tensor in sorted(load_tensors(path)[0].items()):
                    yield key.encode()
                    yield tensor.numpy().tobytes()
            elif path.is_file() and "logs" not in path.parts:
                yield path.read_bytes()


def _simulation() -> Iterator[bytes]:
    """A wooden block and a rubber ball fall on each other, and a door is pushed."""
    import kin4d
    from kin4d.geometry.primitives import box

    block = kin4d.load(box((0.2, 0.3, 0.1)), body_type="rigid", pose=_lifted(0.3))
    other = kin4d.load(box((0.1, 0.1, 0.1)), body_type="rigid", pose=_lifted(0.6))
    door = kin4d.load("hinge")
    push = kin4d.Push((0.7, 0.0, 1.0), force=(0.0, 20.0, 0.0), duration=0.2)
    scene = kin4d.Scene(
        [kin4d.Actor(block, name="block"), kin4d.Actor(other, name="other")], ground=0.0
    )
    for run in (
        kin4d.simulate(scene, seconds=0.5),
        kin4d.simulate(kin4d.Actor(door, forces=[push]), seconds=0.5),
    ):
        yield np.ascontiguousarray(run.clip.vertices).tobytes()
        yield np.ascontiguousarray(run.energy).tobytes()


def _lifted(height: float) -> np.ndarray:
    pose = np.eye(4)
    pose[2, 3] = height
    return pose


def _articulation() -> Iterator[bytes]:
    """Joints of a bare mesh, a random motion of its body and a fit to a state of it; states drawn
    from a learned body."""
    import kin4d
    from kin4d.kinematics.random_motion import random_motion

    mesh = kin4d.load("laptop", seed=3).rest
    body = kin4d.articulate(mesh)
    yield body.limits.numpy().tobytes()
    q = random_motion(body, 2, frames=4, seed=1)
    yield q.numpy().tobytes()
    target = body.vertices(q[-1]).detach().numpy()
    yield np.ascontiguousarray(kin4d.fit(body, target).q).tobytes()
    learned = kin4d.LearnedBody.from_mesh(mesh)
    yield learned.sample(4, seed=1).detach().numpy().tobytes()


def _imagination() -> Iterator[bytes]:
    """What the shipped world model imagines from a made episode, with a seed."""
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation
    from kin4d.world.model import load_world_model

    observation = episode_observation(make_episode(EpisodeSpec(task="push", seed=0)))
    video = load_world_model("tiny").imagine(observation, seed=4)
    yield np.ascontiguousarray(video.rgb).tobytes()
    yield np.ascontiguousarray(video.xyz).tobytes()


DIGESTS: dict[str, Callable[[], Iterator[bytes]]] = {
    **{
        name: partial(_files, name) for name in JOBS if name.startswith(("data", "train", "export"))
    },
    "simulation": _simulation,
    "joints, sampling and fit": _articulation,
    "imagination": _imagination,
}


def main() -> None:
    """Argument: a name in `DIGESTS`. The last line printed is the digest."""
    digest = hashlib.sha256()
    for part in DIGESTS[sys.argv[1]]():
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    print(f"\n{digest.hexdigest()}")


if __name__ == "__main__":
    main()
