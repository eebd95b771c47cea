"""Learning curves: PPO of stable-baselines3 over stet's environments and over gymnasium's own, with equal settings.

    PYTHONPATH=build/python python bench/gym_learning.py train --out bench/results/NAME.json [--seeds 3]
    python bench/gym_learning.py draw bench/results/NAME.json doc/learning.png

Training needs stable-baselines3 (and PyTorch), drawing matplotlib. A run is one seed of one task over one kind of
environments: stet's with native physics, stet's with MuJoCo's, gymnasium's. Its samples are its curve: for each part of
the run the mean return of the episodes that ended in it (null: none did), of rewards before normalisation.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from origin import commit, machine

STEPS = {"InvertedPendulum": 60_000, "HalfCheetah": 200_000, "Hopper": 200_000}  # of a run, of all worlds together
PARTS = 12  # of a curve
WORLDS, ROLLOUT = 16, 128
# Settings of stable-baselines3 for all tasks, which nobody tuned; the rest are its defaults.
SETTINGS = {"n_steps": ROLLOUT, "batch_size": 128, "n_epochs": 10, "gamma": 0.99, "gae_lambda": 0.95,
            "learning_rate": 3e-4, "ent_coef": 0.0, "clip_range": 0.2}
KINDS = {"stet, native physics": "native", "stet, MuJoCo's physics": "mujoco", "gymnasium": None}


def make_envs(task, physics, seed):
    """A vector environment of gymnasium's API, as stable-baselines3 wants it."""
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from stable_baselines3.common.vec_env import VecEnv

    import stet.gym  # noqa: F401, registers its environments

    if physics is None:
        envs = gymnasium.make_vec(f"{task}-v5", WORLDS, vectorization_mode="sync",
                                  vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    else:
        envs = gymnasium.make_vec(f"stet/{task}-v5", WORLDS, device="cpu", threads=1, physics=physics,
                                  autoreset_mode=AutoresetMode.SAME_STEP)

    class Envs(VecEnv):
        """Counts the returns of episodes, too: (steps of all worlds so far, return)."""

        def __init__(self):
            super().__init__(WORLDS, envs.single_observation_space, envs.single_action_space)
            self.sums, self.steps, self.episodes = np.zeros(WORLDS), 0, []

        def reset(self):
            return envs.reset(seed=seed)[0].astype(np.float32)

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            seen, reward, terminated, truncated, info = envs.step(self.actions)
            over = terminated | truncated
            self.sums, self.steps = self.sums + reward, self.steps + WORLDS
            said = [{} for _ in range(WORLDS)]
            for world in np.flatnonzero(over):
                said[world] = {"terminal_observation": info["final_obs"][world].astype(np.float32),
                               "TimeLimit.truncated": bool(truncated[world] and not terminated[world])}
                self.episodes.append((self.steps, self.sums[world]))
            self.sums[over] = 0
            return seen.astype(np.float32), reward.astype(np.float32), over, said

        def close(self):
            envs.close()

        def get_attr(self, attr_name, indices=None):
            return [getattr(self, attr_name, None)] * WORLDS

        def set_attr(self, attr_name, value, indices=None):
            raise NotImplementedError(attr_name)

        def env_method(self, method_name, *args, indices=None, **keywords):
            raise NotImplementedError(method_name)

        def env_is_wrapped(self, wrapper_class, indices=None):
            return [False] * WORLDS

    return Envs()


def learn(task, physics, seed):
    """The curve of a run, and its seconds."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)
    envs = make_envs(task, physics, seed)
    begin = time.perf_counter()
    PPO("MlpPolicy", VecNormalize(envs), seed=seed, device="cpu", **SETTINGS).learn(STEPS[task])
    seconds = time.perf_counter() - begin
    envs.close()
    steps, returns = np.array(envs.episodes).T
    part = np.minimum((steps - 1) * PARTS // STEPS[task], PARTS - 1)
    curve = [float(returns[part == k].mean()) if (part == k).any() else None for k in range(PARTS)]
    return {"samples": curve, "seconds": round(seconds, 1), "episodes": len(returns)}


def train(options):
    import gymnasium
    import stable_baselines3
    import torch

    warnings.simplefilter("ignore")
    out = {
        "machine": machine("one thread for stet, one for PyTorch"), "commit": commit(),
        "versions": {m.__name__: m.__version__ for m in (gymnasium, stable_baselines3, torch)},
        "settings": {**SETTINGS, "worlds": WORLDS, "normalised": "observations and rewards"},
        "load": [],  # of a minute, before each run
        "command": " ".join(["bench/gym_learning.py", *sys.argv[1:]]), "results": []}
    for seed in range(1, options.seeds + 1):
        for task in options.tasks.split(","):
            for kind, physics in KINDS.items():
                out["load"].append(round(os.getloadavg()[0], 1))
                run = {"task": task, "kind": kind, "seed": seed, "steps": STEPS[task], **learn(task, physics, seed)}
                last = next(x for x in reversed(run["samples"]) if x is not None)
                out["results"].append({"name": f"learning/{task}/{physics or 'gymnasium'}/seed_{seed}", "value": last,
                                       "unit": "return", "goal": None, **run})
                Path(options.out).write_text(json.dumps(out, indent=1) + "\n")
                print(f"{task:18} {kind:24} seed {seed}: at the end {last:9.1f}, {run['seconds']:6.1f} s", flush=True)


def draw(options):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    runs = json.loads(Path(options.result).read_text())["results"]
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    figure, axes = plt.subplots(1, len(tasks), figsize=(4.2 * len(tasks), 3.4), layout="constrained", squeeze=False)
    for axis, task in zip(axes[0], tasks):
        for kind, colour in zip(KINDS, ("#35608d", "#44a066", "#e0a030")):
            mine = [run for run in runs if run["task"] == task and run["kind"] == kind]
            curves = np.array([run["samples"] for run in mine], float)
            x = (np.arange(PARTS) + 1) / PARTS * mine[0]["steps"] / 1000
            known = ~np.isnan(curves).all(axis=0)
            x, curves = x[known], curves[:, known]
            axis.plot(x, np.nanmean(curves, axis=0), color=colour, label=kind)
            axis.fill_between(x, np.nanmin(curves, axis=0), np.nanmax(curves, axis=0), color=colour, alpha=0.15)
        axis.set_title(task)
        axis.set_xlabel("thousand steps")
    axes[0][0].set_ylabel("return of an episode")
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(options.picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("train")
    one.add_argument("--tasks", default=",".join(STEPS))
    one.add_argument("--seeds", type=int, default=3)
    one.add_argument("--out", required=True)
    one.set_defaults(run=train)
    one = commands.add_parser("draw")
    one.add_argument("result")
    one.add_argument("picture")
    one.set_defaults(run=draw)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
