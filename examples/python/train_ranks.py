"""The policy of train_cartpole.py or train_hand.py, taught by several processes, one a GPU (or several on a CPU):
PyTorch's DistributedDataParallel averages their gradients.

    torchrun --nproc-per-node 2 train_ranks.py [--task cartpole|hand] [--worlds N] [--device auto|cpu|cuda]
        [--updates N] [--seed N] [--parts P]

Each process has an even share of the worlds. stet.Group says which, and adds up what the last evaluation found, in an
order that the number of processes does not change. With --parts the worlds are divided into P parts, each with its own
environment, chance and gradient, and stet.Group.reduce adds the gradients in that order, too: the policy has the same
bits for any number of processes that divides P, and a line at the end says which (on devices of one kind, where
PyTorch has the same bits twice). Exit code 1: the policy has not learnt enough.
"""

import argparse
import importlib
import os
import sys
import zlib

import torch
import torch.distributed as dist
import train_cartpole as learner
from torch.nn.parallel import DistributedDataParallel

import stet


class Part:
    """Some of the worlds, the same ones for any number of processes."""

    def __init__(self, number, words, policy, device):
        self.number, self.policy, self.seed = number, policy, words.seed
        self.env = make(words.task, words.worlds // words.parts, device, words.seed + 1000 * number)
        self.rollouts = learner.Rollouts(self.env, policy)

    def batches(self, update):
        """Draws by the part's and the update's number alone."""
        torch.manual_seed(self.seed + 1_000_003 * self.number + update)
        return list(learner.batches(self.rollouts.run()))


def make(task, worlds, device, seed):
    env = task.environment(worlds, device, threads=1 if device == "cpu" else 0)
    env.reset(seed=seed)
    learner.use_stream(env, torch.device(device))
    return env


def train_in_parts(words, policy, device):
    """As learner.train, with the gradient of each step added up over all parts."""
    group = stet.Group.torch(words.parts)
    parts = [Part(number, words, policy, device) for number in range(group.first, group.first + group.own)]
    parameters = list(policy.parameters())
    sim, count = parts[0].env.sim, sum(p.numel() for p in parameters)
    own, total = sim.zeros((group.own, count)), sim.zeros(count)
    print(f"gradients cross by {group.link(sim)}")
    gradients, mean = torch.from_dlpack(own), torch.from_dlpack(total)
    optimizer = torch.optim.Adam(parameters, words.task.RATE)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, words.updates)
    for update in range(words.updates):
        for batches in zip(*[part.batches(update) for part in parts]):
            for k, batch in enumerate(batches):
                found = torch.autograd.grad(learner.loss(policy, *batch), parameters)
                gradients[k] = torch.cat([one.flatten() for one in found])
            group.reduce(own, total)
            for parameter, one in zip(parameters, (mean / words.parts).split([p.numel() for p in parameters])):
                parameter.grad = one.reshape(parameter.shape)
            torch.nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
        slower.step()
    bits = b"".join(p.detach().cpu().numpy().tobytes() for p in parameters)
    print(f"policy after {words.updates} updates: {zlib.crc32(bits):08x}")
    for part in reversed(parts):  # the first one's sim has what the group uses
        part.env.close()


def main():
    words = argparse.ArgumentParser(description="Teaches a policy with several processes.")
    words.add_argument("--task", choices=("cartpole", "hand"), default="cartpole")
    words.add_argument("--worlds", type=int, default=1024)
    words.add_argument("--device", default="auto")
    words.add_argument("--updates", type=int, default=60)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--parts", type=int, default=0)
    words = words.parse_args()
    task = words.task = importlib.import_module(f"train_{words.task}")
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
    if words.parts < 0 or words.parts and (words.parts % group.nrank or words.worlds % words.parts):
        sys.exit(f"--parts {words.parts}: give a multiple of {group.nrank} that divides --worlds {words.worlds}")
    if group.rank > 0:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    torch.manual_seed(words.seed)
    policy = task.Policy().to(name)
    if name.startswith("cuda"):
        torch.cuda.set_stream(torch.cuda.Stream(name))
    if words.parts:
        train_in_parts(words, policy, name)
    torch.manual_seed(words.seed + 1 + group.rank)  # equal policies, unequal chance
    env = make(task, group.own, name, words.seed + 1000 * group.rank)
    if not words.parts:
        learner.train(env, DistributedDataParallel(policy), words.updates, task.RATE)
    worth = learner.evaluate(env, policy, words.seed + 1 + 1000 * group.rank)
    good, mean = group.sum(torch.stack((worth >= task.GOAL, worth), 1).double().cpu().numpy()) / words.worlds
    print(f"new episodes are worth {mean:.1f} with {group.nrank} processes; {100 * good:.0f} % {task.WORDS}")
    env.close()
    dist.destroy_process_group()
    sys.exit(0 if good >= task.SHARE else 1)


if __name__ == "__main__":
    main()
