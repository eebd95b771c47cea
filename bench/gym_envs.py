"""gymnasium's MuJoCo environments: steps of all worlds a second, stet's beside EnvPool's and gymnasium's own.

    PYTHONPATH=build/python:.venv/envpool .venv/bin/python bench/gym_envs.py [--tasks Ant,Humanoid,HalfCheetah]
    [--worlds 256] [--threads 2] [--against envpool,async,sync] [--devices cpu,cuda] [--samples 5] [--out FILE]

All take the same random actions, from NumPy and into NumPy, and begin their episodes again as they end; samples are
taken in turns, in one process, and ratios are medians of theirs: other work on the machine touches both. EnvPool has as
many worlds and threads as stet; the models are those of the installed gymnasium and of EnvPool's wheel. gymnasium's has
16 worlds (a world a process with async, as many as threads): its rate does not grow with their number.
`tools/setup.sh bench-gym` installs EnvPool; --against none measures stet alone. On cuda native physics is measured
alone, through NumPy like the others, which keep their threads of the CPU.

Python's share of a step is the time of step() of one world whose call into the extension is replaced by a function that
returns at once (its own call counts, too).
"""

import argparse
import os
import statistics
import sys
import time
import warnings

import gymnasium
import numpy as np
from origin import machine, write

import stet.gym

SECONDS = 0.5  # of a sample
GOALS = {"envpool": 8, "gymnasium_async": 30}  # of native physics; MuJoCo's is the same mj_step in all of them
OURS = {"mujoco": ("cpu", "mujoco"), "native": ("cpu", "native"), "cuda": ("cuda", "native")}  # device, physics


class EnvPool:
    """EnvPool's environments as gymnasium's vector environments are."""

    def __init__(self, task, worlds, threads):
        import envpool

        self._envs = envpool.make_gymnasium(task, num_envs=worlds, num_threads=threads, seed=1)
        self.num_envs, self.single_action_space = worlds, self._envs.action_space
        self.step, self.close = self._envs.step, self._envs.close

    def reset(self, seed):  # it has one for life
        self._envs.reset()


def make_other(how, task, worlds, threads):
    """The environments that stet's are held against."""
    if how == "envpool":
        return EnvPool(task, worlds, threads)
    kind = how.removeprefix("gymnasium_")
    return gymnasium.make_vec(task, {"sync": 16, "async": threads}[kind], vectorization_mode=kind)


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
    actions = actions.astype(space.dtype)
    for action in actions:
        envs.step(action)
    return envs, actions


def python_share(task, physics, samples):
    """Microseconds, one a sample."""
    env = gymnasium.make_vec(f"stet/{task}-v5", 1, device="cpu", physics=physics, threads=1).unwrapped
    env.reset(seed=1)
    actions = env.action_space.sample()
    out = env.step(actions)
    if env._call is not None:
        env._call = lambda actions: out
    taken = []
    for _ in range(samples):
        begin = time.perf_counter()
        for _ in range(20000):
            env.step(actions)
        taken.append((time.perf_counter() - begin) / 20000 * 1e6)
    env.close()
    return taken


def compare(name, ours, theirs, options):
    """Rows: stet's environments and the others in turns."""
    taken = [{"ours": rate(*ours), **{how: rate(*envs) for how, envs in theirs.items()}}
             for _ in range(options.samples)]
    rows = []
    for how, (envs, _) in theirs.items():
        samples = [row["ours"] / row[how] for row in taken]
        mine, other = (statistics.median(row[key] for row in taken) for key in ("ours", how))
        rows.append({"name": f"{name}/ratio_to_{how}", "value": statistics.median(samples), "unit": "times as fast",
                     "better": "higher", "goal": GOALS.get(how) if name.endswith("native") else None,
                     "samples": samples,
                     "note": f"{mine:,.0f} steps a second of {ours[0].num_envs} worlds; the other's {other:,.0f} of "
                             f"{envs.num_envs}; {options.threads} threads"})
        print(f"{rows[-1]['name']:46} {rows[-1]['value']:8.3g}  {rows[-1]['note']}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="Ant,Humanoid,HalfCheetah")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2, help="of stet, EnvPool, and processes of gymnasium's async")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--against", default="envpool,async,sync")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, devices, load = [], {}, os.getloadavg()[0]
    for task in options.tasks.split(","):
        others = [how if how == "envpool" else "gymnasium_" + how
                  for how in options.against.split(",") if how != "none"]
        theirs = {how: ready(make_other(how, f"{task}-v5", options.worlds, options.threads)) for how in others}
        for name, (device, physics) in OURS.items():
            if device not in options.devices.split(","):
                continue
            try:
                ours = ready(gymnasium.make_vec(f"stet/{task}-v5", options.worlds, device=device, physics=physics,
                                                threads=options.threads))
            except stet.UnsupportedError as error:
                print(f"gym/{task}/{name}: {error}")
                continue
            devices[ours[0].unwrapped.sim.device.name] = None
            rows += compare(f"gym/{task}/{name}", ours, theirs, options)
            ours[0].close()
            if device == "cpu":
                share = python_share(task, physics, options.samples)
                rows.append({"name": f"gym/{task}/{name}/python_us", "value": statistics.median(share), "unit": "us",
                             "better": "lower", "goal": 1, "samples": share, "note": "of a step of one world"})
                print(f"{rows[-1]['name']:46} {rows[-1]['value']:8.3g}  {rows[-1]['note']}")
        for envs, _ in theirs.values():
            envs.close()
        if options.out:  # after each task: a run that is cut off leaves those before
            versions = {"gymnasium": gymnasium.__version__,
                        "envpool": sys.modules["envpool"].__version__ if "envpool" in sys.modules else None}
            write(options.out, machine("; ".join(devices)), rows, **versions,
                  load=[round(x, 1) for x in (load, os.getloadavg()[0])])  # of a minute, before the first task and now
    return 0


if __name__ == "__main__":
    sys.exit(main())
