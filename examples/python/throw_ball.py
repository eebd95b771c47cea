"""Throws balls through rings: finds with which velocity, by gradient descent through 200 steps of flight over a floor
that the balls bounce on.

    python3 throw_ball.py [--rings N] [--device auto|cpu|cuda] [--iterations N] [--seed N] [--numpy]

All throws are made at once, four a ring, that begin low, or high, or towards the floor. PyTorch sees a flight (the
kernels in ../throw.k.h) as one function. --numpy: no PyTorch; the tape is used as it is, and Adam is a kernel, too.
Exit code 1: some ring was missed by all four.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import stet

KERNELS = Path(__file__).parents[1]
NOTHING = "<mujoco><worldbody/></mujoco>"
STEPS, TRIES, TIMESTEP = 200, 4, 1 / 128


class Throws:
    """A ball in each world: `run` takes it from `launch`, its velocity, to `miss`."""

    def __init__(self, rings, device, seed):
        random = np.random.default_rng(seed)
        self.worlds = rings * TRIES
        self.sim = sim = stet.Sim(NOTHING, worlds=self.worlds, device=device, physics="external")
        sizes = {"launch": 3, "ring": 3, "pos": 3, "vel": 3, "near": 1, "miss": 1}
        for name, size in sizes.items():
            setattr(self, name, sim.zeros((self.worlds, size), worlds=True, name=name))
        self.through = sim.zeros((self.worlds, 1), "int32", worlds=True, name="through")
        self.origin = sim.zeros(3, name="from")
        self.origin[:] = np.float32([0, 0, 1.5])
        self.ring[:] = np.repeat(random.uniform([3, -2, 0.4], [6, 2, 2], (rings, 3)), TRIES, axis=0).astype(np.float32)
        launch = random.uniform([2, -1, 0], [4, 1, 0], (self.worlds, 3))
        launch[:, 2] = 2 * (np.arange(self.worlds) % TRIES) - 1
        self.first = launch.astype(np.float32)
        for name in ("k_throw", "k_fly", "k_near", "k_miss", "k_through"):
            setattr(self, name, sim.kernel(path=KERNELS / "throw.k.h", name=name))
        self.tape, self.sharp = stet.Tape(sim), 0.2

    def fly(self):
        self.k_fly(self.worlds, self.pos, self.vel, TIMESTEP, 9.81, 0.1, 2000.0, 2.0, 0.02)

    def run(self):
        """On the tape."""
        self.k_throw(self.worlds, self.origin, self.launch, self.pos, self.vel, self.near)
        for _ in range(STEPS):
            self.tape.step()
            self.fly()
            self.k_near(self.worlds, self.pos, self.ring, self.near, self.sharp)
        self.k_miss(self.worlds, self.near, self.miss, self.sharp)

    def count(self, iteration):
        """Throws once more; how many rings some ball goes through."""
        self.through[:] = 0
        self.k_throw(self.worlds, self.origin, self.launch, self.pos, self.vel, self.near)
        for _ in range(STEPS):
            self.fly()
            self.k_through(self.worlds, self.pos, self.vel, self.ring, self.through, TIMESTEP, 0.2)
        through = self.through.numpy().reshape(-1, TRIES) != 0
        rings = int(through.any(axis=1).sum())
        print(
            f"iteration {iteration:3}: {through.sum()} of {self.worlds} balls go through their rings; "
            f"{rings} of {len(through)} rings"
        )
        return rings


def schedule(throws, iteration, iterations):
    """The rate of the optimizer; how sharp the loss is."""
    throws.sharp = 0.2 * 100 ** (iteration / iterations)
    return 0.25 if iteration < iterations * 3 // 5 else 0.05


def find_torch(throws, iterations):
    import torch

    import stet.torch

    flight = stet.torch.function(throws.tape, throws.run, inputs=[throws.launch], outputs=[throws.miss])
    device = torch.from_dlpack(throws.launch.export()).device
    launch = torch.tensor(throws.first, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([launch], eps=1e-12)
    for i in range(iterations):
        optimizer.param_groups[0]["lr"] = schedule(throws, i, iterations)
        optimizer.zero_grad()
        flight(launch).sum().backward()
        if i % 25 == 0:
            throws.count(i)
        optimizer.step()
    throws.launch[:] = launch.detach().cpu().numpy()
    return throws.count(iterations)


def find_numpy(throws, iterations):
    adam = throws.sim.kernel(path=KERNELS / "adam.k.h")
    mean, square = (throws.sim.zeros((throws.worlds, 3), worlds=True, name=name) for name in ("mean", "square"))
    throws.launch[:] = throws.first
    for i in range(iterations):
        rate, t = schedule(throws, i, iterations), i + 1
        with throws.tape:
            throws.run()
        throws.tape.zero()
        throws.tape.gradient(throws.miss)[:] = 1.0
        throws.tape.backward()
        if i % 25 == 0:
            throws.count(i)
        adam(throws.worlds, throws.launch, throws.tape.gradient(throws.launch), mean, square, rate, 1 - 0.9**t,
             1 - 0.999**t, 3)
    return throws.count(iterations)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rings", type=int, default=64)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--numpy", action="store_true", help="no PyTorch")
    options = parser.parse_args()
    throws = Throws(options.rings, options.device, options.seed)
    return (find_numpy if options.numpy else find_torch)(throws, options.iterations) < options.rings


if __name__ == "__main__":
    sys.exit(main())
