"""Finds the constants of a net of springs from how it was seen to move: PyTorch's Adam, through stet's simulation of
it.

    python3 fit_springs.py [--worlds N] [--device auto|cpu|cuda] [--iterations N] [--seed N] [--numpy]

Each world is an attempt that begins with another guess, up to three times too high or too low. PyTorch sees a whole run
of the net (301 launches of the kernels in ../springs.k.h) as one function, whose backward pass is a tape's. --numpy: no
PyTorch; the tape is used as it is, and Adam is a kernel, too. Exit code 1: not every attempt came within 2 % of the
truth.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import stet

KERNELS = Path(__file__).parents[1]
NOTHING = "<mujoco><worldbody/></mujoco>"
SHEET, STEPS = 4, 100
TRUTH = np.array([120.0, 50.0, 0.4])  # N/m along and across, N s/m


class Net:
    """A sheet of masses on springs in each world: `run` takes it from its guess to what it missed."""

    def __init__(self, worlds, device):
        self.sim = sim = stet.Sim(NOTHING, worlds=worlds, device=device, physics="external")
        self.worlds, masses = worlds, SHEET * SHEET
        springs = [
            (row * SHEET + column, (row + down) * SHEET + column + right)
            for row in range(SHEET)
            for column in range(SHEET)
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
            if row + down < SHEET and 0 <= column + right < SHEET
        ]
        ends = np.array(springs)
        apart = np.stack([ends % SHEET, ends // SHEET], -1)[:, 1] - np.stack([ends % SHEET, ends // SHEET], -1)[:, 0]
        edges = np.hypot(*apart.T)
        sides = [np.flatnonzero(ends.ravel() == mass) for mass in range(masses)]  # 2 * spring + which of its ends
        mass = np.arange(masses)
        start = np.stack([1.2 * (mass % SHEET) / 8, 0.9 * (mass // SHEET) / 8, 0.1 + 0.02 * (mass * 7 % 5)], -1)
        self.spring, self.kind = self.table(ends.ravel()), self.table(edges > 1.1)
        self.first, self.side = self.table(np.cumsum([0, *map(len, sides)])), self.table(np.concatenate(sides))
        self.rest, self.start = self.table(edges / 8, "real"), self.table(start.ravel(), "real")
        self.seen = sim.zeros(STEPS * masses * 3, name="seen")
        sizes = {
            "guess": 3, "constant": 3, "pos": masses * 3, "vel": masses * 3, "pull": len(springs) * 3, "miss": masses
        }
        for name, size in sizes.items():
            setattr(self, name, sim.zeros((worlds, size), worlds=True, name=name))
        kernel = lambda name: sim.kernel(path=KERNELS / "springs.k.h", name=name)
        self.begin, self.springs, self.masses, self.missed = map(kernel, ("k_begin", "k_springs", "k_masses", "k_miss"))
        self.nspring, self.nmass = len(springs), masses
        self.tape = stet.Tape(sim)

    def table(self, values, dtype="int32"):
        values = np.asarray(values)
        array = self.sim.zeros(len(values), dtype)
        array[:] = values.astype(array.dtype)
        return array

    def start_over(self):
        self.begin(self.worlds, self.guess, self.start, self.constant, self.pos, self.vel, self.miss, self.nmass)

    def step(self):
        self.springs(
            self.worlds, self.pos, self.vel, self.constant, self.spring, self.rest, self.kind, self.pull, self.nspring
        )
        numbers = 0.002, 0.0625, 9.81, 1000.0, 0.5, self.nmass
        self.masses(self.worlds, self.pull, self.first, self.side, self.pos, self.vel, *numbers)

    def run(self):
        """On the tape: what the net missed, in `miss`."""
        self.start_over()
        for i in range(STEPS):
            self.tape.step()
            self.step()
            self.missed(self.worlds, self.pos, self.seen, self.miss, i, self.nmass)

    def see(self):
        """What the net does with the true constants is what was seen."""
        self.guess[:] = np.log(TRUTH)
        self.start_over()
        seen = []
        for _ in range(STEPS):
            self.step()
            seen.append(self.pos.read_worlds(0, 1)[0])
        self.seen[:] = np.concatenate(seen)

    def report(self, iteration):
        """How many attempts are within 2 %."""
        constant = self.constant.numpy()
        off = np.abs(constant / TRUTH - 1).max(axis=1)
        found = int((off < 0.02).sum())
        print(
            f"iteration {iteration:3}: loss {self.miss.numpy().sum() / self.worlds:.3e}, "
            f"worst constant {100 * off.max():5.1f} % off; {found} found"
        )
        return found


def rate(iteration, iterations):
    return 0.05 if iteration < iterations * 2 // 3 else 0.01


def fit_torch(net, guesses, iterations):
    import torch

    import stet.torch

    rollout = stet.torch.function(net.tape, net.run, inputs=[net.guess], outputs=[net.miss])
    device = torch.from_dlpack(net.guess.export()).device
    guess = torch.tensor(guesses, dtype=torch.float32, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([guess])
    for i in range(iterations + 1):
        optimizer.param_groups[0]["lr"] = rate(i, iterations)
        optimizer.zero_grad()
        rollout(guess).sum().backward()
        if i % 25 == 0 or i == iterations:
            found = net.report(i)
        optimizer.step()
    return found


def fit_numpy(net, guesses, iterations):
    adam = net.sim.kernel(path=KERNELS / "adam.k.h")
    mean, square = (net.sim.zeros(net.guess.shape, worlds=True, name=name) for name in ("mean", "square"))
    net.guess[:] = guesses
    for i in range(iterations + 1):
        with net.tape:
            net.run()
        net.tape.zero()
        net.tape.gradient(net.miss)[:] = 1.0
        net.tape.backward()
        if i % 25 == 0 or i == iterations:
            found = net.report(i)
        t = i + 1
        adam(net.worlds, net.guess, net.tape.gradient(net.guess), mean, square, rate(i, iterations), 1 - 0.9**t,
             1 - 0.999**t, 3)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--numpy", action="store_true", help="no PyTorch")
    options = parser.parse_args()
    net = Net(options.worlds, options.device)
    net.see()
    guesses = np.log(TRUTH) + np.random.default_rng(options.seed).uniform(-np.log(3), np.log(3), (options.worlds, 3))
    found = (fit_numpy if options.numpy else fit_torch)(net, guesses.astype(np.float32), options.iterations)
    info = net.tape.info
    print(f"a tape of {info['launches']} launches; {found} of {options.worlds} attempts found {TRUTH}")
    return found < options.worlds


if __name__ == "__main__":
    sys.exit(main())
