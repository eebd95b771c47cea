"""Gradients of a net of springs over a floor: stet's tape against JAX's reverse mode of the same computation, in one
run.

    PYTHONPATH=build/python python3 bench/adjoint_jax.py [--device cpu|cuda] [--threads N] [--worlds 1024] [--steps 100]
    [--every 0] [--samples 5] [--out FILE]

100 steps of two halves, each ten small operations on a sheet of 8 x 8 masses (bench/pilot/springs.k.h); the loss is
half the squared length of the last positions. In stet a step is one list, hence one recording; --every sets how many
steps lie from one checkpoint of the tape to the next. In JAX it is a lax.scan over the steps, jit(grad) in single
precision, in three ways of summing what springs pull at masses (scatter, padded gather, product with the incidence
matrix), each with worlds last, which its compilers like best here, with and without jax.checkpoint of a step. Gradients
with respect to stiffness, damping, positions and velocities must agree before anything is timed. Compiling is not in
the times; it is in rows of its own. Samples are taken in turns, with as many processors for both. Exit code 1:
gradients differ, or something that was timed was not replayed.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--device", default="cpu")
parser.add_argument("--threads", type=int, default=1, help="processors that both may use")
parser.add_argument("--worlds", type=int, default=1024)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument(
    "--every", type=int, default=0, help="steps from one checkpoint of stet's tape to the next; 0: it chooses"
)
parser.add_argument("--samples", type=int, default=5)
parser.add_argument("--ways", default="scatter,gather,product")
parser.add_argument("--out")
options = parser.parse_args()
if options.device == "cpu":  # before either library counts processors
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import stet  # noqa: E402
from origin import machine, write  # noqa: E402

KERNELS = Path(__file__).parents[1] / "src" / "kernel" / "pilot" / "springs.k.h"
NOTHING = "<mujoco><worldbody/></mujoco>"
SHEET, MASS, GRAVITY, HALF, RADIUS = 8, 0.0625, 9.8125, 2.0**-11, 0.015625
FLOOR_STIFFNESS, FLOOR_DAMPING, FLOOR_SLIP = 2048.0, 4.0, 1.0
MASSES = SHEET * SHEET


# ---- the net ----


def net():
    """Springs [n, 2], their lengths at rest [n]."""
    spring, rest = [], []
    for row in range(SHEET):
        for column in range(SHEET):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if row + down < SHEET and 0 <= column + right < SHEET:
                    spring.append((row * SHEET + column, (row + down) * SHEET + column + right))
                    rest.append(np.hypot(down, right) / 8)
    return np.array(spring, np.int32), np.array(rest, np.float32)


def start(worlds):
    """pos, vel [world, mass, 3], stiffness, damping [world]."""
    w, mass = np.arange(worlds)[:, None], np.arange(MASSES)
    row, column = mass // SHEET, mass % SHEET
    z = 0.25 + column / 8 * (w % 16) / 64 + (w + mass) % 7 / 1024
    pos = np.stack(np.broadcast_arrays(column / 8, row / 8, z), -1).astype(np.float32)
    stiffness, damping = 128.0 + w[:, 0] % 64, 0.25 + w[:, 0] % 8 / 32
    return pos, np.zeros_like(pos), stiffness.astype(np.float32), damping.astype(np.float32)


SPRING, REST = net()
ENDS = [np.flatnonzero(SPRING.ravel() == mass) for mass in range(MASSES)]  # 2 * spring + which of its ends


# ---- stet ----


class Stet:
    """The net in stet; gradients() is one pass forwards and one back."""

    def __init__(self):
        threads = options.threads if options.device == "cpu" else 0
        self.sim = sim = stet.Sim(
            NOTHING, worlds=options.worlds, device=options.device, physics="external", threads=threads
        )
        n, nspring = options.worlds, len(SPRING)
        worlds = lambda items, name: sim.zeros((options.worlds, items), worlds=True, name=name)
        pos, vel, force = (worlds(MASSES * 3, name) for name in ("pos", "vel", "force"))
        way, length, rate, tension = (
            worlds(k * nspring, name) for k, name in ((3, "way"), (1, "length"), (1, "rate"), (1, "tension"))
        )
        self.stiffness, self.damping = worlds(1, "stiffness"), worlds(1, "damping")
        self.pos, self.vel = pos, vel
        self.start_pos, self.start_vel = worlds(MASSES * 3, "start of pos"), worlds(MASSES * 3, "start of vel")
        spring, rest = self.table(SPRING.ravel()), self.table(REST, "real")
        first, end = self.table(np.cumsum([0, *map(len, ENDS)])), self.table(np.concatenate(ENDS))
        p, v, k, c = start(n)
        for array, values in ((self.start_pos, p), (self.start_vel, v), (self.stiffness, k), (self.damping, c)):
            array[:] = values.reshape(n, -1)
        kernel = lambda name, *constant: sim.kernel(path=KERNELS, name=name, constant=constant)
        self.half = [
            (kernel("k_spring_way"), (pos, spring, way, nspring)),
            (kernel("k_spring_length"), (way, length, nspring)),
            (kernel("k_spring_direction"), (length, way, nspring)),
            (kernel("k_spring_rate"), (vel, way, spring, rate, nspring)),
            (kernel("k_spring_tension", "rest"), (length, rate, rest, self.stiffness, self.damping, tension, nspring)),
            (kernel("k_mass_weight", "weight"), (force, MASS * GRAVITY, MASSES)),
            (kernel("k_mass_pull"), (tension, way, first, end, force, MASSES)),
            (
                kernel("k_mass_contact", "radius", "stiffness", "damping", "slip"),
                (pos, vel, force, RADIUS, FLOOR_STIFFNESS, FLOOR_DAMPING, FLOOR_SLIP, MASSES),
            ),
            (kernel("k_mass_velocity", "scale"), (force, vel, HALF / MASS, MASSES)),
            (kernel("k_mass_position", "timestep"), (vel, pos, HALF, MASSES)),
        ]
        self.tape = stet.Tape(sim, every=options.every)

    def table(self, values, dtype="int32"):
        array = self.sim.zeros(len(values), dtype)
        array[:] = np.asarray(values).astype(array.dtype)
        return array

    def forward(self):
        self.pos.write(self.start_pos)
        self.vel.write(self.start_vel)
        for _ in range(options.steps):
            self.tape.step()
            with self.sim.record("a step"):
                for kernel, args in self.half + self.half:
                    kernel(options.worlds, *args)

    def gradients(self):
        with self.tape:
            self.forward()
        self.tape.zero()
        self.tape.gradient(self.pos).write(self.pos)
        self.tape.backward()
        self.sim.synchronize()

    def replays(self):
        """How many lists were replayed so far, and how many were not."""
        counter = self.sim.counters()["graph_replay"]
        return np.array([counter["hits"], counter["misses"]])

    def values(self):
        """As JAX has them: of pos and vel [mass, 3, world], of stiffness and damping [world]."""
        one = lambda array: self.tape.gradient(array).numpy()
        cube = lambda array: one(array).reshape(options.worlds, MASSES, 3).transpose(1, 2, 0)
        return cube(self.start_pos), cube(self.start_vel), one(self.stiffness)[:, 0], one(self.damping)[:, 0]


# ---- JAX ----

WIDEST = max(map(len, ENDS))
PADDED = np.array([np.pad(ends, (0, WIDEST - len(ends))) for ends in ENDS])
SIGN = np.array([[(1 if end % 2 == 0 else -1) * (k < len(ends))
                  for k, end in enumerate(np.pad(ends, (0, WIDEST - len(ends))))] for ends in ENDS], np.float32)
INCIDENCE = np.zeros((len(SPRING), MASSES), np.float32)
INCIDENCE[np.arange(len(SPRING)), SPRING[:, 0]], INCIDENCE[np.arange(len(SPRING)), SPRING[:, 1]] = -1, 1


def product(matrix, x):
    return jnp.matmul(matrix, x.reshape(x.shape[0], -1), precision="highest").reshape(-1, *x.shape[1:])


def between(x, how):
    """What a spring's second mass has more than its first."""
    return product(INCIDENCE, x) if how == "product" else x[SPRING[:, 1]] - x[SPRING[:, 0]]


def gathered(pull, how):
    """[mass, 3, world]: what the springs pull at each mass."""
    if how == "product":
        return product(-INCIDENCE.T, pull)
    if how == "scatter":
        return jnp.zeros((MASSES, *pull.shape[1:]), pull.dtype).at[SPRING[:, 0]].add(pull).at[SPRING[:, 1]].add(-pull)
    return sum(SIGN[:, k, None, None] * pull[PADDED[:, k] // 2] for k in range(WIDEST))


def half(pos, vel, stiffness, damping, how):
    way = between(pos, how)
    length = jnp.sqrt((way * way).sum(1, keepdims=True))
    way = way * jnp.where(length > 0, 1 / jnp.where(length > 0, length, 1), 0)
    rate = (between(vel, how) * way).sum(1, keepdims=True)
    tension = stiffness * (length - REST[:, None, None]) + damping * rate
    deep = RADIUS - pos[:, 2]
    push = jnp.where(deep > 0, jnp.maximum(FLOOR_STIFFNESS * deep - FLOOR_DAMPING * vel[:, 2], 0), 0)
    drag = jnp.where(deep > 0, -FLOOR_SLIP, 0.0)
    force = gathered(tension * way, how) + jnp.stack([drag * vel[:, 0], drag * vel[:, 1], push - MASS * GRAVITY], 1)
    vel = vel + force * (HALF / MASS)
    return pos + vel * HALF, vel


def loss(pos, vel, stiffness, damping, how, checkpoint):
    def step(state, _):
        for _ in range(2):
            state = half(*state, stiffness, damping, how)
        return state, None

    (pos, _), _ = jax.lax.scan(jax.checkpoint(step) if checkpoint else step, (pos, vel), None, length=options.steps)
    return 0.5 * (pos * pos).sum()


class Jax:
    def __init__(self, how, checkpoint):
        self.name = "jax/" + how + ("_checkpoint" if checkpoint else "")
        pos, vel, stiffness, damping = start(options.worlds)
        self.args = [jnp.asarray(x) for x in (pos.transpose(1, 2, 0), vel.transpose(1, 2, 0), stiffness, damping)]
        self.function = jax.jit(jax.grad(lambda *args: loss(*args, how, checkpoint), argnums=(0, 1, 2, 3)))
        began = time.perf_counter()
        self.compiled = self.function.lower(*self.args).compile()
        self.compiling = time.perf_counter() - began
        memory = self.compiled.memory_analysis()
        self.mib = memory.temp_size_in_bytes / 2**20 if memory else 0

    def gradients(self):
        self.result = jax.block_until_ready(self.compiled(*self.args))

    def values(self):
        return [np.asarray(x) for x in self.result]


# ---- the run ----


def differ(ours, theirs):
    """The greatest difference, relative to the greatest gradient of that kind."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, theirs))


def seconds(work):
    began = time.perf_counter()
    work.gradients()
    return time.perf_counter() - began


def settle(ours):
    """Passes until one is all replays: a list is played one by one when it is new, compared once when it comes back,
    then replayed. At most five.
    """
    for _ in range(5):
        before = ours.replays()
        ours.gradients()
        if ours.replays()[1] == before[1]:
            return


def main():
    rows, ours = [], Stet()
    add = lambda name, samples, unit, note="", goal=None: rows.append({
        "name": name, "value": statistics.median(samples), "unit": unit,
        "better": "higher" if unit == "times as fast" else "lower", "goal": goal, "samples": samples, "note": note
    })
    add(
        "adjoint_jax/stet/first_ms", [1e3 * seconds(ours)], "ms", "kernels and adjoints compiled or read from the cache"
    )
    info = ours.tape.info
    add("adjoint_jax/stet/mib", [sum(value for key, value in info.items() if key.endswith("bytes")) / 2**20], "MiB",
        f"{info['launches']} launches")
    theirs, worst = [Jax(how, checkpoint) for how in options.ways.split(",") for checkpoint in (False, True)], 0
    for way in theirs:
        way.gradients()  # warm
        worst = max(worst, differ(ours.values(), way.values()))
        add(f"adjoint_{way.name}/compile_ms", [1e3 * way.compiling], "ms")
        add(f"adjoint_{way.name}/mib", [way.mib], "MiB", "temporary memory, as its compiler says")
    add("adjoint_jax/difference", [worst], "of 1",
        "greatest difference of a gradient, relative to the greatest of its kind", 1e-3)
    if worst > 1e-3:
        print(f"the gradients differ by {worst:.1e}", file=sys.stderr)
        return 1
    settle(ours)
    before = ours.replays()
    times = {work: [] for work in [ours, *theirs]}
    for _ in range(options.samples):
        for work, samples in times.items():
            samples.append(1e3 * seconds(work))
    add("adjoint_jax/stet/gradients_ms", times[ours], "ms",
        f"{options.steps} steps forwards and back, {options.worlds} worlds")
    for way in theirs:
        add(f"adjoint_{way.name}/gradients_ms", times[way], "ms")
    best = min(theirs, key=lambda way: statistics.median(times[way]))
    ratios = [b / a for a, b in zip(times[ours], times[best])]
    add("adjoint_jax/ratio_to_jax", ratios, "times as fast",
        f"against {best.name}, the fastest of its ways; {options.threads} threads of {ours.sim.device.name}", 1)
    hits, misses = ours.replays() - before
    add("adjoint_jax/stet/replays", [int(hits) / options.samples], "a pass",
        f"lists of a pass that were replayed; {misses} were not")
    for row in rows:
        print(f"{row['name']:46} {row['value']:12.4g} {row['unit']:14} {row['note']}")
    if options.out:
        write(options.out, machine(ours.sim.device.name), rows, jax=jax.__version__)
    if misses:
        print(
            f"{misses} lists of the timed passes were not replayed: the times are not those of the steady state",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
