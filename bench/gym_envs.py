"""gymnasium's MuJoCo environments: steps of all worlds a second, stet's beside gymnasium's own vector environment.

    PYTHONPATH=build/python python3 bench/gym_envs.py [--tasks Ant,Humanoid,HalfCheetah] [--worlds 256] [--threads 2]
    [--against sync,async] [--samples 5] [--out FILE]

Both take the same random actions, from NumPy and into NumPy, and begin their episodes again as they end; samples are
taken in turns. gymnasium's has 16 worlds (a world a process with async, as many as processors): its rate does not grow
with their number. `pip install "gymnasium[mujoco]"`.
"""

import argparse
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import numpy as np
from origin import commit, machine

import stet.gym

SECONDS = 0.5  # of a sample


def rate(envs, actions):
    """Steps of a world a second, one sample."""
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        envs.step(actions[done % len(actions)])
        done += 1
    return done * envs.num_envs / (time.perf_counter() - begin)


def ready(envs):
    """The environment after some steps, with random actions for the next ones."""
    envs.reset(seed=1)
    space = envs.single_action_space
    actions = np.random.default_rng(1).uniform(space.low, space.high, (16, envs.num_envs, *space.shape))
    actions = actions.astype(np.float32)
    for action in actions:
        envs.step(action)
    return envs, actions


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="Ant,Humanoid,HalfCheetah")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2, help="of stet, and processes of gymnasium's async")
    parser.add_argument("--against", default="sync,async")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, device = [], ""
    for task in options.tasks.split(","):
        theirs = {how: ready(gymnasium.make_vec(f"{task}-v5", {"sync": 16, "async": options.threads}[how],
                                                vectorization_mode=how)) for how in options.against.split(",")}
        for physics in ("mujoco", "native"):
            try:
                ours = ready(gymnasium.make_vec(f"stet/{task}-v5", options.worlds, device="cpu", physics=physics,
                                                threads=options.threads))
            except stet.UnsupportedError as error:
                print(f"gym/{task}/{physics}: {error}")
                continue
            device = ours[0].unwrapped.sim.device.name
            taken = [{"ours": rate(*ours), **{how: rate(*envs) for how, envs in theirs.items()}}
                     for _ in range(options.samples)]
            for how in theirs:
                samples = [row["ours"] / row[how] for row in taken]
                mine, other = (statistics.median(row[name] for row in taken) for name in ("ours", how))
                rows.append({"name": f"gym/{task}/{physics}/ratio_to_gymnasium_{how}",
                             "value": statistics.median(samples), "unit": "times as fast", "better": "higher",
                             "goal": None, "samples": samples,
                             "note": f"{mine:,.0f} steps of {options.worlds} worlds a second, "
                                     f"{options.threads} threads; gymnasium's {other:,.0f}"})
                print(f"{rows[-1]['name']:46} {rows[-1]['value']:8.3g}  {rows[-1]['note']}")
            ours[0].close()
        for envs, _ in theirs.values():
            envs.close()
    if options.out:
        Path(options.out).write_text(json.dumps(
            {"machine": machine(device), "commit": commit(), "gymnasium": gymnasium.__version__,
             "command": " ".join(sys.argv), "results": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
