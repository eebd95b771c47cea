"""The policy of train_cartpole.py, taught by several processes, one a GPU (or several on a CPU): PyTorch's
DistributedDataParallel averages their gradients.

    torchrun --nproc-per-node 2 train_ranks.py [--worlds N] [--device auto|cpu|cuda] [--updates N] [--seed N]

Each process has an even share of the worlds. stet.Group says which, and adds up what the last evaluation found, in an
order that the number of processes does not change. Exit code 1: the policy has not learnt to balance nine in ten.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
import train_cartpole as single
from gymnasium.vector import AutoresetMode
from torch.nn.parallel import DistributedDataParallel

import stet
from stet.gym import CartPoleVectorEnv


def main():
    words = argparse.ArgumentParser(description="Teaches a policy to balance cart-poles, with several processes.")
    words.add_argument("--worlds", type=int, default=1024)
    words.add_argument("--device", default="auto")
    words.add_argument("--updates", type=int, default=60)
    words.add_argument("--seed", type=int, default=0)
    words = words.parse_args()
    name = words.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(name)
    dist.init_process_group("nccl" if name.startswith("cuda") else "gloo")
    group = stet.Group.torch(words.worlds)
    if words.worlds % group.nrank:
        sys.exit(f"--worlds {words.worlds}: give a multiple of {group.nrank}, so that all make as many steps")
    if group.rank > 0:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    torch.manual_seed(words.seed)
    policy = single.Policy().to(name)
    torch.manual_seed(words.seed + 1 + group.rank)  # equal policies, unequal chance
    env = CartPoleVectorEnv(group.own, name, max_episode_steps=single.LIMIT, autoreset_mode=AutoresetMode.SAME_STEP,
                            threads=1 if name == "cpu" else 0)  # fmt: skip
    env.reset(seed=words.seed + 1000 * group.rank)
    if name.startswith("cuda"):
        torch.cuda.set_stream(torch.cuda.Stream(name))
        env.sim.use_stream(torch.cuda.current_stream().cuda_stream)
    single.train(env, DistributedDataParallel(policy), words.updates)
    steps = single.evaluate(env, policy, words.seed + 1 + 1000 * group.rank)
    good, length = group.sum(torch.stack((steps >= single.GOAL, steps), 1).double().cpu().numpy()) / words.worlds
    print(f"new episodes last {length:.1f} of {single.LIMIT} steps in {group.nrank} processes; "
          f"{100 * good:.0f} % are balanced")  # fmt: skip
    env.close()
    dist.destroy_process_group()
    sys.exit(0 if good >= 0.9 else 1)


if __name__ == "__main__":
    main()
