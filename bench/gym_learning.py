"""Learning curves: PPO of stable-baselines3 over stet's environments and over gymnasium's own, with equal settings.

    PYTHONPATH=build/python python bench/gym_learning.py train --out bench/results/NAME.json [--seeds 3]
        [--tasks Ant,Walker2d] [--kinds native,mujoco,gymnasium] [--jobs 14] [--seconds 500]
    python bench/gym_learning.py draw bench/results/NAME.json [MORE.json] doc/learning.png

Training needs stable-baselines3 (and PyTorch), drawing matplotlib. A run is one seed of one task over one kind of
environments: stet's with native physics, stet's with MuJoCo's, gymnasium's. Its samples are its curve: for each part of
the run the mean return of the episodes that ended in it (null: none did), of rewards before normalisation. Runs are
processes, `--jobs` at a time; the result file is written whenever a part of one ends. Where it exists, runs that it has
whole are kept and not made again (--fresh: all are). `--seconds` is wall-clock time of the whole command: what runs
until then is ended, and its parts so far count.
"""

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from origin import machine, write

STEPS = {"InvertedPendulum": 60_000, "HalfCheetah": 200_000, "Hopper": 200_000,  # of a run, of all worlds together
         "InvertedDoublePendulum": 100_000, "Reacher": 200_000, "Walker2d": 200_000}
PARTS = 12  # of a curve
WORLDS, ROLLOUT = 16, 128
# Settings of stable-baselines3 for all tasks, which nobody tuned; the rest are its defaults.
SETTINGS = {"n_steps": ROLLOUT, "batch_size": 128, "n_epochs": 10, "gamma": 0.99, "gae_lambda": 0.95,
            "learning_rate": 3e-4, "ent_coef": 0.0, "clip_range": 0.2}
KINDS = {"stet, native physics": "native", "stet, MuJoCo's physics": "mujoco", "gymnasium": None}


def make_envs(task, physics):
    """A vector environment of gymnasium's API, as stable-baselines3 wants it."""
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from stet.gym.adapters.sb3 import Sb3VecEnvWrapper

    if physics is None:
        envs = gymnasium.make_vec(f"{task}-v5", WORLDS, vectorization_mode="sync",
                                  vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    else:
        envs = gymnasium.make_vec(f"stet/{task}-v5", WORLDS, device="cpu", threads=1, physics=physics,
                                  autoreset_mode=AutoresetMode.SAME_STEP)

    class Envs(Sb3VecEnvWrapper):
        """Keeps the returns of episodes, too: (steps of all worlds so far, return)."""

        def __init__(self):
            super().__init__(envs)
            self.steps, self.episodes = 0, []

        def step_wait(self):
            *out, said = super().step_wait()
            self.steps += WORLDS
            self.episodes += [(self.steps, one["episode"]["r"]) for one in said if one]
            return *out, said

    return Envs()


def curve(episodes, steps):
    """The mean return of each part of a run."""
    when, returns = np.array(episodes).T if episodes else np.zeros((2, 0))
    part = np.minimum((when - 1) * PARTS // steps, PARTS - 1)
    return [float(returns[part == k].mean()) if (part == k).any() else None for k in range(PARTS)]


def learn(row, say):
    """A run, in this process: says what it has so far whenever a part of it has ended."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    steps = row["steps"]
    envs = make_envs(row["task"], KINDS[row["kind"]])
    begin = time.perf_counter()

    def tell(done):
        say.put((row["name"], {"samples": curve(envs.episodes, steps), "seconds": round(time.perf_counter() - begin, 1),
                               "episodes": len(envs.episodes), "done": done}))

    def after_step(seen, _):
        part = envs.steps * PARTS // steps
        if part > after_step.part:
            after_step.part = part
            tell(envs.steps)
        return True

    after_step.part = 0
    PPO("MlpPolicy", VecNormalize(envs), seed=row["seed"], device="cpu", **SETTINGS).learn(steps, callback=after_step)
    tell(envs.steps)
    envs.close()


def train(options):
    about = {
        "versions": {name: importlib.metadata.version(name) for name in ("gymnasium", "stable_baselines3", "torch")},
        "settings": {**SETTINGS, "worlds": WORLDS, "normalised": "observations and rewards"},
        "load": []}  # of a minute, before each run
    path, rows = Path(options.out), {}
    if path.exists() and not options.fresh:
        rows = {row["name"]: row for row in json.loads(path.read_text())["results"]
                if row.get("done", row["steps"]) >= row["steps"]}
    short = {physics or "gymnasium": kind for kind, physics in KINDS.items()}
    todo = []
    for seed in range(1, options.seeds + 1):
        for task in options.tasks.split(","):
            for which in options.kinds.split(","):
                name = f"learning/{task}/{which}/seed_{seed}"
                row = {"name": name, "value": None, "unit": "return", "goal": None, "task": task, "kind": short[which],
                       "seed": seed, "steps": options.steps or STEPS[task], "samples": [None] * PARTS, "seconds": 0,
                       "episodes": 0, "done": 0}
                todo += [row] if name not in rows else []
    stop, running, failed = time.monotonic() + (options.seconds or float("inf")), {}, []
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["stable_baselines3", "torch._dynamo", "stet.gym"])  # once, for all runs
    heard = processes.SimpleQueue()
    while (todo or running) and time.monotonic() < stop:
        while todo and len(running) < options.jobs:
            row = todo.pop(0)
            about["load"].append(round(os.getloadavg()[0], 1))
            running[row["name"]] = row, processes.Process(target=learn, args=(row, heard))
            running[row["name"]][1].start()
        time.sleep(0.1)
        over = [name for name, (_, process) in running.items() if not process.is_alive()]
        while not heard.empty():
            name, now = heard.get()
            row = running[name][0]
            if now["done"] == row["done"]:
                continue
            row |= now
            row["value"] = next((x for x in reversed(row["samples"]) if x is not None), None)
            rows[name] = row
            write(path, machine("one thread for stet, one for PyTorch"), list(rows.values()), **about)
            last = "none ended" if row["value"] is None else f"{row['value']:9.1f}"
            print(f"{row['task']:22} {row['kind']:24} seed {row['seed']}: {row['done']:7} of {row['steps']} steps, "
                  f"{row['seconds']:6.1f} s, return {last}", flush=True)
        failed += [name for name in over if running.pop(name)[1].exitcode]
    for _, process in running.values():
        process.terminate()
    if failed:
        sys.exit(f"these runs failed: {', '.join(failed)}")
    if todo or running:
        print(f"{len(todo)} runs not begun, {len(running)} ended early: --seconds {options.seconds:g} are over")


def draw(options):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    runs = [run for result in options.results for run in json.loads(Path(result).read_text())["results"]]
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    rows = -(-len(tasks) // 3)  # of at most three charts
    wide = -(-len(tasks) // rows)
    figure, axes = plt.subplots(rows, wide, figsize=(4.2 * wide, 3.4 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    for axis, task in zip(axes.flat, tasks):
        for kind, colour in zip(KINDS, ("#35608d", "#44a066", "#e0a030")):
            mine = [run for run in runs if run["task"] == task and run["kind"] == kind]
            if not mine:
                continue
            curves = np.array([run["samples"] for run in mine], float)
            x = (np.arange(PARTS) + 1) / PARTS * mine[0]["steps"] / 1000
            known = ~np.isnan(curves).all(axis=0)
            x, curves = x[known], curves[:, known]
            axis.plot(x, np.nanmean(curves, axis=0), color=colour, label=kind)
            axis.fill_between(x, np.nanmin(curves, axis=0), np.nanmax(curves, axis=0), color=colour, alpha=0.15)
        axis.set_title(task)
        axis.set_xlabel("thousand steps")
    for axis in axes[:, 0]:
        axis.set_ylabel("return of an episode")
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(options.picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train", help="runs side by side")
    command.add_argument("--tasks", default=",".join(STEPS))
    command.add_argument("--kinds", default="native,mujoco,gymnasium", help="of environments")
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--steps", type=int, default=0, help="of a run, of all worlds together; 0: the task's own")
    command.add_argument("--jobs", type=int, default=1, help="processes at a time")
    command.add_argument("--seconds", type=float, default=0, help="of wall-clock time, of all; 0: no limit")
    command.add_argument("--fresh", action="store_true", help="makes runs again that the result file has whole")
    command.add_argument("--out", required=True)
    command.set_defaults(run=train)
    command = commands.add_parser("draw", help="the chart of result files")
    command.add_argument("results", nargs="+")
    command.add_argument("picture")
    command.set_defaults(run=draw)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
