"""Steps of all worlds a second: `python -m stet.gym.bench [--device auto] [--seconds 1]`.

The cart-pole through tensors (nothing comes to the host) and through NumPy (everything does), beside gymnasium's own
vector environment, which is written in NumPy; and the hand with its pictures. Random actions are drawn before the clock
starts; each row is the best of three.
"""

import argparse
import time

import gymnasium
import numpy as np

from stet.gym import CartPoleVectorEnv, HandPixelsVectorEnv

ROUNDS = 3


def _rate(step, finish, seconds):
    """Calls of step a second, the best of ROUNDS."""
    step(), finish()
    best, calls = 0.0, 1
    for _ in range(ROUNDS):
        while True:
            begin = time.perf_counter()
            for _ in range(calls):
                step()
            finish()
            took = time.perf_counter() - begin
            if took >= seconds / ROUNDS:
                break
            calls *= 2
        best = max(best, calls / took)
    return best


def _of(env, through, seconds):
    """(what, worlds, world steps a second) of one environment; through: "tensors" or "NumPy"."""
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = env.action_space.sample()
    finish = env.unwrapped.sim.synchronize if hasattr(env.unwrapped, "sim") else (lambda: None)
    step = env.step_tensors if through == "tensors" else (lambda: env.step(actions))
    if through == "tensors":
        env._write_actions(actions)
    rate = _rate(step, finish, seconds)
    name = type(env.unwrapped).__module__.split(".")[0] + " " + type(env.unwrapped).__name__
    env.close()
    return f"{name}, {through}", env.num_envs, rate * env.num_envs


def rows(device, seconds):
    """All rows, as they are measured."""
    for worlds in (64, 1024, 16384):
        yield _of(CartPoleVectorEnv(worlds, device), "tensors", seconds)
        yield _of(CartPoleVectorEnv(worlds, device), "NumPy", seconds)
        yield _of(gymnasium.make_vec("CartPole-v1", worlds, vectorization_mode="vector_entry_point"), "NumPy", seconds)
    for worlds in (16, 64):
        yield _of(HandPixelsVectorEnv(worlds, device), "tensors", seconds)
        yield _of(HandPixelsVectorEnv(worlds, device), "NumPy", seconds)


def main():
    parser = argparse.ArgumentParser(prog="python -m stet.gym.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each row")
    options = parser.parse_args()
    with CartPoleVectorEnv(1, options.device).sim as sim:
        print(f"{sim.device}; steps of a world a second, NumPy {np.__version__}")
    for what, worlds, rate in rows(options.device, options.seconds):
        print(f"  {rate:14,.0f}  {what}, {worlds} worlds")


if __name__ == "__main__":
    main()
