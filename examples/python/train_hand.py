"""Teaches a hand to turn a cube that lies in it, with the learner of train_cartpole.py and a policy of 20 motors.

    python3 train_hand.py [--worlds N] [--device auto|cpu|cuda] [--updates N] [--seed N]

Exit code 1: fewer than half of new hands turn the cube as they should, which takes some two million steps.
"""

import sys

import torch
import train_cartpole as learner
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Independent, Normal

from stet.gym import TensorVectorEnv
from stet.gym.robots import HandRotateVectorEnv

RATE = 1e-3
GOAL, SHARE, WORDS = 0.5, 0.5, "turn their cubes"  # a return; of all worlds


class Policy(nn.Module):
    def __init__(self, seen=81, actions=20):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(seen, 256), nn.ELU(), nn.Linear(256, 128), nn.ELU())
        self.head, self.critic = nn.Linear(128, actions), nn.Linear(128, 1)
        self.spread = nn.Parameter(torch.full((actions,), -0.5))  # the logarithm of the standard deviation
        nn.init.zeros_(self.head.weight)  # at first the hand stays as it is

    def forward(self, observation):
        hidden = self.body(observation.sign() * observation.abs().log1p())  # velocities are large now and then
        return Independent(Normal(self.head(hidden), self.spread.exp()), 1), self.critic(hidden).squeeze(-1)


def environment(worlds, device, **more):
    return TensorVectorEnv(HandRotateVectorEnv(worlds, device, max_episode_steps=learner.LIMIT, physics="native",
                                               autoreset_mode=AutoresetMode.SAME_STEP, **more))  # fmt: skip


if __name__ == "__main__":
    learner.main(sys.modules[__name__])
