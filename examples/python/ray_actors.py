"""A run's worlds in actors of Ray, one GPU (or processor) each; an actor that is lost is made again, and goes on.

    python3 ray_actors.py [--actors 4] [--worlds 64] [--frames 20] [--device cpu|cuda] [--lose]

Worlds are numbered over all actors (first_world), so that the state does not depend on how many there are, nor on which
of them were lost: each call returns a snapshot of the actor's worlds, and a new actor begins with the last one. --lose
kills one actor on the way. At the end the state is compared with that of one sim of all worlds.
"""

import argparse
import sys

import numpy as np
import ray

import stet

SCENE = stet.scenes / "quadruped.xml"


@ray.remote(max_restarts=0)
class Block:
    """Worlds first to first + worlds - 1 of a run."""

    def __init__(self, first, worlds, device, snapshot=None):
        self.sim = stet.Sim(SCENE, worlds=worlds, first_world=first, device=device, threads=1, physics="native", seed=5)
        if snapshot is not None:
            self.sim.restore(snapshot)

    def frame(self, number):
        """One frame; the state after it."""
        self.sim.control_noise(0.4, number)
        self.sim.step(5)
        return self.sim.snapshot()

    def qpos(self):
        return self.sim.qpos.numpy()


def main():
    words = argparse.ArgumentParser(description="A run's worlds in actors of Ray.")
    words.add_argument("--actors", type=int, default=4)
    words.add_argument("--worlds", type=int, default=64)
    words.add_argument("--frames", type=int, default=20)
    words.add_argument("--device", default="cpu")
    words.add_argument("--lose", action="store_true")
    words = words.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False)
    bounds = [words.worlds * k // words.actors for k in range(words.actors + 1)]
    need = {"num_gpus": 1} if words.device == "cuda" else {"num_cpus": 0.1}

    def make(k, snapshot=None):
        return Block.options(**need).remote(bounds[k], bounds[k + 1] - bounds[k], words.device, snapshot)

    blocks, states = [make(k) for k in range(words.actors)], [None] * words.actors
    for number in range(words.frames):
        if words.lose and number == words.frames // 2:
            ray.kill(blocks[-1])
        waiting = [block.frame.remote(number) for block in blocks]
        for k, answer in enumerate(waiting):
            while True:
                try:
                    states[k] = ray.get(answer)
                    break
                except ray.exceptions.RayActorError:
                    print(f"frame {number}: actor {k} is lost; another one goes on with its worlds")
                    blocks[k] = make(k, states[k])
                    answer = blocks[k].frame.remote(number)
    found = np.concatenate(ray.get([block.qpos.remote() for block in blocks]))
    ray.shutdown()
    with stet.Sim(SCENE, worlds=words.worlds, device=words.device, physics="native", seed=5) as sim:
        for number in range(words.frames):
            sim.control_noise(0.4, number)
            sim.step(5)
        same = np.array_equal(found, sim.qpos.numpy())
    print(f"{words.actors} actors, {words.worlds} worlds, {words.frames} frames: "
          f"{'the same bits as one sim' if same else 'OTHER bits than one sim'}")  # fmt: skip
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
