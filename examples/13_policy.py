"""A policy in another process, judged from the same starts in MuJoCo and in imagination.

The server speaks openpi's websocket protocol, so any policy behind that protocol takes its place.
On the command line: kin4d evaluate-policy --policy ws://localhost:8000
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from kin4d.envs import IMAGINED, MUJOCO
from kin4d.export.video import write_video
from kin4d.policies.evaluate import compare_worlds, evaluate_policies
from kin4d.policies.websocket_policy import WebsocketPolicy

SERVE = [sys.executable, "-c", "from kin4d.cli import main; main()", "serve-policy"]
SERVE += ["--policy", "expert:0.001", "--port", "0", "--json"]  # 1 mm of noise per action


def main(output: Path = Path("out/examples")) -> None:
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        stated = "".join(iter(server.stdout.readline, "}\n")) + "}"  # the JSON it prints
        address = json.loads(stated)["address"]
        policy = WebsocketPolicy(address, timeout=300)
        episodes: list[list[np.ndarray]] = []

        def watched(observation) -> np.ndarray:  # a plain function is a policy, too
            if observation["episode/step"] == 0:
                episodes.append([])
            episodes[-1].append(observation["observation/image"])
            return policy(observation)

        outcomes = evaluate_policies(
            {"noisy expert": watched},
            envs=[MUJOCO, IMAGINED],
            tasks=["lift"],
            episodes=1,
            seed=920_000_000,  # the world model was not trained on seeds from 900 million on
        )
        server.terminate()
    for one in outcomes:
        print(
            f"{one.env:18} {one.task}: {'done' if one.success else 'failed'} in {one.steps} steps"
        )
    found = compare_worlds(outcomes, simulated=IMAGINED, real=MUJOCO)
    print(f"same outcome in {found['accuracy']:.0%} of {found['episodes']} episodes")
    count = max(map(len, episodes))
    rows = [np.stack(frames + frames[-1:] * (count - len(frames))) for frames in episodes]
    write_video(np.concatenate(rows, axis=2), output / "13_policy.gif", fps=3)


if __name__ == "__main__":
    main()
