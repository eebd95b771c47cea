"""Teaches a policy to balance cart-poles: proximal policy optimisation (Schulman and others, 2017) on stet.gym's
tensors.

    python3 train_cartpole.py [--worlds N] [--device auto|cpu|cuda] [--updates N] [--seed N]

Everything stays on the device: stet steps all worlds as one recording, on PyTorch's stream, and writes into the tensors
that the policy reads; its counters prove it. Says every ten updates how long the episodes were that ended, and at the
end how long the policy, without chance, balances new ones. Exit code 1: it has not learnt to balance nine in ten for
their 500 steps.
"""

import argparse
import sys
import time

import torch
from gymnasium.vector import AutoresetMode
from torch import nn

from stet.gym import CartPoleVectorEnv

STEPS, EPOCHS, BATCHES = 32, 6, 8  # of a rollout; passes over it; parts of a pass
DISCOUNT, TRACE, CLIP, RATE = 0.995, 0.97, 0.2, 3e-3
LIMIT, GOAL, SHARE, WORDS = 500, 450, 0.9, "are balanced"  # steps; a return, and of how many worlds


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.head, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)
        nn.init.zeros_(self.head.weight)  # at first both actions are equally likely

    def forward(self, observation):
        hidden = self.body(observation)
        return torch.distributions.Categorical(logits=self.head(hidden)), self.critic(hidden).squeeze(-1)


class Rollouts:
    """Steps of all worlds under the policy, and the lengths of the episodes that end in them."""

    def __init__(self, env, policy):
        self.env, self.policy, self.now = env, policy, env.tensors(torch.from_dlpack)
        n, device = env.num_envs, self.now.observation.device
        self.observation, self.action = (
            torch.empty(STEPS, *one.shape, dtype=one.dtype, device=device)
            for one in (self.now.observation, self.now.action)
        )
        self.value, self.chance, self.reward, self.last = torch.empty(4, STEPS, n, device=device)
        self.length, self.ended = torch.zeros(n, device=device), torch.zeros(2, device=device)

    @torch.no_grad()
    def run(self):
        """observation, action, log probability, advantage, return of each step; [STEPS * worlds, …]."""
        for i in range(STEPS):
            self.observation[i] = self.now.observation
            choices, self.value[i] = self.policy(self.observation[i])
            self.action[i] = choices.sample()
            self.chance[i] = choices.log_prob(self.action[i])
            self.now.action.copy_(self.action[i].clamp(-1, 1))  # a normal distribution draws beyond
            self.env.step_tensors()
            self.note(i)
        after = self.policy(self.now.observation)[1]
        advantage, sum_ = torch.empty_like(self.value), torch.zeros_like(after)
        for i in reversed(range(STEPS)):
            goes_on = 1 - self.last[i]
            sum_ = self.reward[i] + DISCOUNT * goes_on * after - self.value[i] + DISCOUNT * TRACE * goes_on * sum_
            advantage[i], after = sum_, self.value[i]
        parts = self.observation, self.action, self.chance, advantage, advantage + self.value
        return [part.flatten(0, 1) for part in parts]

    def note(self, i):
        """An episode that was cut off is worth what its last state promises; one that failed, nothing more."""
        terminated, truncated = self.now.terminated.bool(), self.now.truncated.bool()
        promise = self.policy(self.now.final_observation)[1]
        self.reward[i] = self.now.reward + DISCOUNT * promise * (truncated & ~terminated)
        self.last[i] = terminated | truncated
        self.length += 1
        self.ended += torch.stack((self.last[i].sum(), self.length @ self.last[i]))
        self.length *= 1 - self.last[i]


def batches(rollout):
    """What each step of the optimizer takes of a rollout, EPOCHS * BATCHES of them."""
    observation, action, chance, advantage, return_ = rollout
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(action), device=action.device).chunk(BATCHES):
            yield observation[part], action[part], chance[part], advantage[part], return_[part], return_.var()


def loss(policy, observation, action, chance, advantage, return_, scale):
    choices, value = policy(observation)
    ratio = (choices.log_prob(action) - chance).exp()
    gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
    return -gain + 0.5 * (value - return_).square().mean() / scale


def update(policy, optimizer, rollout):
    for batch in batches(rollout):
        optimizer.zero_grad()
        loss(policy, *batch).backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()


@torch.no_grad()
def evaluate(env, policy, seed):
    """The return of each world's first episode, of a cart-pole its steps; the likeliest action is taken."""
    env.reset(seed=seed)
    now = env.tensors(torch.from_dlpack)
    alive, worth = torch.ones_like(now.reward), torch.zeros_like(now.reward)
    for _ in range(LIMIT):
        now.action.copy_(policy(now.observation)[0].mode.clamp(-1, 1))
        env.step_tensors()
        worth += alive * now.reward
        alive *= 1 - now.terminated.float()
    return worth


def train(env, policy, updates, rate):
    optimizer = torch.optim.Adam(policy.parameters(), rate)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, updates)  # so that what was learnt settles
    rollouts, began = Rollouts(env, policy), time.monotonic()
    for i in range(1, updates + 1):
        update(policy, optimizer, rollouts.run())
        slower.step()
        if i == 1:
            env.sim.clear_counters()  # what comes later has all been set up
        if i % 10 == 0:
            n, steps = rollouts.ended.tolist()
            rollouts.ended.zero_()
            print(
                f"update {i:3}: {n:6.0f} episodes ended, after {steps / max(n, 1):5.1f} steps, "
                f"{time.monotonic() - began:.1f} s"
            )
    copied, steps = env.sim.counters()["total"]["bytes_copied"], STEPS * (updates - 1) * env.num_envs
    on_host = rollouts.reward.device.type == "cpu"
    # now and then physics looks at how much room contacts want; a state has far more bytes than one
    assert on_host or copied <= steps, f"{copied} bytes of {steps} steps went over the host"


def environment(worlds, device, **more):
    return CartPoleVectorEnv(worlds, device, max_episode_steps=LIMIT, autoreset_mode=AutoresetMode.SAME_STEP, **more)


def use_stream(env, device):
    """What stet issues comes in PyTorch's order."""
    if device.type == "cuda":
        env.sim.use_stream(torch.cuda.current_stream().cuda_stream)


def main(task):
    words = argparse.ArgumentParser(description=task.__doc__.split(":", maxsplit=1)[0])
    words.add_argument("--worlds", type=int, default=1024)
    words.add_argument("--device", default="auto")
    words.add_argument("--updates", type=int, default=60)
    words.add_argument("--seed", type=int, default=0)
    words = words.parse_args()
    torch.manual_seed(words.seed)
    env = task.environment(words.worlds, words.device)
    env.reset(seed=words.seed)
    device = env.tensors(torch.from_dlpack).observation.device
    if device.type == "cuda":
        torch.cuda.set_stream(torch.cuda.Stream(device))
    use_stream(env, device)
    policy = task.Policy().to(device)
    train(env, policy, words.updates, task.RATE)
    worth, where = evaluate(env, policy, words.seed + 1), env.sim.device
    good = (worth >= task.GOAL).float().mean().item()
    print(f"new episodes are worth {worth.mean().item():.1f} on {where}; {100 * good:.0f} % {task.WORDS}")
    env.close()
    sys.exit(0 if good >= task.SHARE else 1)


if __name__ == "__main__":
    main(sys.modules[__name__])
