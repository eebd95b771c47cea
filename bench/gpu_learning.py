"""Learning curves on a GPU: PPO in PyTorch over environments whose steps, with native physics, are one recording each.

    PYTHONPATH=build/python python3 bench/gpu_learning.py train --out bench/results/NAME.json --work FOLDER
        [--runs cartpole,cartpole_pixels,hand,hand_pixels,quadruped] [--seconds 480] [--jobs 4] [--device cuda]
        [--seeds 1]
    python3 bench/gpu_learning.py draw bench/results/NAME.json doc/NAME.png

Runs go side by side, `--jobs` processes on one GPU, the longest first. A run ends after its share of `--seconds`, of
wall-clock time (`SHARE`). Each evaluation is a printed line and a row in FOLDER/RUN.json; these files become the result
file whenever one of them changes. FOLDER/RUN.pt is where a run can go on from: the same command with the same FOLDER
continues all of them (--fresh: begins anew).

An evaluation: the mean return and length of the episodes that ended since the last one, under the policy with its
chance (null: none ended), and the mean reward of a step. `steps` are those of all worlds together.
"""

import argparse
import importlib.metadata
import json
import math
import multiprocessing
import sys
import time
from pathlib import Path

from origin import machine, write

WORLDS = {"cartpole": 1024, "cartpole_pixels": 512, "hand": 2048, "hand_pixels": 1024, "quadruped": 4096}
SHARE = {"quadruped": 1.0, "hand": 1.0, "hand_pixels": 1.0, "cartpole_pixels": 0.7, "cartpole": 0.2}  # of the seconds
TITLES = {"cartpole": "cart-pole", "cartpole_pixels": "cart-pole, 64 × 64 pixels", "hand": "hand that turns a cube",
          "hand_pixels": "the hand, 64 × 64 pixels", "quadruped": "quadruped with a joystick"}
# Settings of all runs, which nobody tuned: as in Rudin and others, "Learning to walk in minutes" (2021).
SETTINGS = {"rollout": 24, "epochs": 5, "batches": 4, "discount": 0.99, "trace": 0.95, "clip": 0.2, "entropy": 0.003,
            "rate": 1e-3, "divergence": 0.01, "spread": 0.6, "hidden": [256, 128, 64]}
SIZE = 64  # of a picture
EVALUATE = 10.0  # seconds from one evaluation to the next


def make_env(run, worlds, device):
    """An environment with episodes on the device, and whether its policy sees pictures."""
    from gymnasium.vector import AutoresetMode

    import stet.gym
    from stet.gym.robots import HandRotateVectorEnv, QuadrupedJoystickVectorEnv

    more = {"autoreset_mode": AutoresetMode.NEXT_STEP, "physics": "native"}
    run, _, pixels = run.partition("_")
    if pixels:
        more |= {"render_mode": "rgb_array", "width": SIZE, "height": SIZE}
    if run == "cartpole":
        return stet.gym.CartPoleVectorEnv(worlds, device, continuous=True, **more)
    kind = {"hand": HandRotateVectorEnv, "quadruped": QuadrupedJoystickVectorEnv}[run]
    return stet.gym.TensorVectorEnv(kind(worlds, device, **more))


def make_policy(seen, actions, pixels):
    """PyTorch's module: observation → mean of the action, value; `spread`: the action's log standard deviation."""
    import torch
    from torch import nn

    def layers(sizes, last):
        pairs = list(zip(sizes[:-1], sizes[1:]))
        return [part for pair in pairs for part in (nn.Linear(*pair), nn.ELU())] + [nn.Linear(sizes[-1], last)]

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            hidden = SETTINGS["hidden"]
            if pixels:  # 64 x 64: 15 x 15, 6 x 6, 4 x 4
                self.eye = nn.Sequential(nn.Conv2d(2, 16, 8, 4), nn.ELU(), nn.Conv2d(16, 32, 4, 2), nn.ELU(),
                                         nn.Conv2d(32, 32, 3), nn.ELU(), nn.Flatten(), nn.Linear(512, 128), nn.ELU())
                hidden = [128, 64]
            else:
                self.eye, hidden = nn.Identity(), [seen, *hidden]
            self.actor = nn.Sequential(*layers(hidden, actions))
            self.critic = nn.Sequential(*layers(hidden, 1))
            self.spread = nn.Parameter(torch.full((actions,), math.log(SETTINGS["spread"])))
            self.register_buffer("mean", torch.zeros(seen))
            self.register_buffer("square", torch.ones(seen))
            self.register_buffer("count", torch.tensor(1e-4))
            nn.init.normal_(self.actor[-1].weight, std=0.01)
            nn.init.zeros_(self.actor[-1].bias)

        def see(self, x):
            """Observations as the networks take them: pictures in [-1, 1], states by the mean and spread so far."""
            if pixels:
                return x.float() / 127.5 - 1
            return ((x - self.mean) / (self.square - self.mean.square()).clamp(min=1e-8).sqrt()).clamp(-10, 10)

        def learn_scale(self, x):
            if pixels:
                return
            x, share = x.flatten(0, -2), 1 / (1 + self.count / (x.numel() / x.shape[-1]))
            self.mean.lerp_(x.mean(0), share)
            self.square.lerp_(x.square().mean(0), share)
            self.count += len(x)

        def forward(self, x):
            hidden = self.eye(self.see(x))
            return self.actor(hidden), self.critic(hidden).squeeze(-1)

    return Policy()


class Seen:
    """What the policy sees now: the environment's observation, or its last two pictures in grey, uint8."""

    def __init__(self, env, pixels):
        import torch

        self.torch, self.env, self.now, self.pixels = torch, env, env.tensors(torch.from_dlpack), pixels
        self.last = None
        self.look(None)

    def picture(self):
        frame = self.env.sim.render()
        rgb = self.torch.from_dlpack(self.env.sim.tensor("rgb", frame=frame))
        return rgb.float().mean(-1).to(self.torch.uint8)

    def look(self, fresh):
        """After a step; in worlds that are fresh an episode begins, so the picture before is the same one."""
        if not self.pixels:
            self.seen = self.now.observation
            return
        picture = self.picture()
        before = picture if self.last is None else self.last
        if fresh is not None:
            before = self.torch.where(fresh[:, None, None], picture, before)
        self.last, self.seen = picture, self.torch.stack((before, picture), 1)


def log_chance(torch, action, mean, spread):
    """Of actions under normal distributions."""
    return (-0.5 * ((action - mean) / spread.exp()).square() - spread - 0.5 * math.log(2 * math.pi)).sum(-1)


class Learner:
    """Proximal policy optimisation (Schulman and others, 2017) with a rate that follows the divergence."""

    def __init__(self, env, pixels, seed):
        import torch

        self.torch = torch
        torch.manual_seed(seed)
        env.reset(seed=seed)
        self.env, self.now = env, env.tensors(torch.from_dlpack)
        self.device = self.now.action.device
        if self.device.type == "cuda":
            torch.cuda.set_stream(torch.cuda.Stream(self.device))
            env.sim.use_stream(torch.cuda.current_stream().cuda_stream)
        self.seen = Seen(env, pixels)
        n, actions, steps = env.num_envs, self.now.action.shape[-1], SETTINGS["rollout"]
        shape = self.seen.seen.shape[1:]
        self.policy = make_policy(shape[-1], actions, pixels).to(self.device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), SETTINGS["rate"])
        self.observation = torch.zeros(steps + 1, n, *shape, dtype=self.seen.seen.dtype, device=self.device)
        self.action, self.mean = torch.zeros(2, steps, n, actions, device=self.device)
        self.chance, self.reward, self.terminated, self.over, self.counts = torch.zeros(5, steps, n, device=self.device)
        self.value = torch.zeros(steps + 1, n, device=self.device)
        self.fresh = torch.zeros(n, dtype=torch.bool, device=self.device)  # this step begins an episode
        self.return_, self.length = torch.zeros(2, n, device=self.device)
        self.totals = torch.zeros(5, device=self.device)  # episodes, returns, lengths; steps that count, their rewards
        self.steps = 0

    def roll(self):
        """The rollout: steps of all worlds under the policy."""
        torch, policy, now = self.torch, self.policy, self.now
        with torch.no_grad():
            for i in range(SETTINGS["rollout"]):
                self.observation[i] = self.seen.seen
                self.mean[i], self.value[i] = policy(self.observation[i])
                self.action[i] = self.mean[i] + policy.spread.exp() * torch.randn_like(self.mean[i])
                self.chance[i] = log_chance(torch, self.action[i], self.mean[i], policy.spread)
                now.action.copy_(self.action[i].clamp(-1, 1).reshape(now.action.shape))
                self.env.step_tensors()
                self.seen.look(self.fresh)
                self.note(i)
            self.observation[-1] = self.seen.seen
            self.value[-1] = policy(self.observation[-1])[1]
        self.steps += SETTINGS["rollout"] * len(self.fresh)

    def note(self, i):
        """What the step was worth, and which episodes it ended. A step that begins an episode counts for nothing."""
        torch, now = self.torch, self.now
        counts = (~self.fresh).float()
        over = (now.terminated.bool() | now.truncated.bool()) & ~self.fresh
        self.reward[i], self.terminated[i] = now.reward * counts, now.terminated.float() * counts
        self.over[i], self.counts[i], self.fresh = over, counts, over
        self.return_ += self.reward[i]
        self.length += counts
        ended = over.float()
        self.totals += torch.stack((ended.sum(), self.return_ @ ended, self.length @ ended, counts.sum(),
                                    self.reward[i].sum()))
        self.return_ *= 1 - ended
        self.length *= 1 - ended

    def advantages(self):
        torch, s = self.torch, SETTINGS
        advantage, sum_ = torch.zeros_like(self.reward), torch.zeros_like(self.value[0])
        for i in reversed(range(s["rollout"])):
            gain = self.reward[i] + s["discount"] * (1 - self.terminated[i]) * self.value[i + 1] - self.value[i]
            sum_ = gain + s["discount"] * s["trace"] * (1 - self.over[i]) * sum_
            advantage[i] = sum_
        return advantage

    def update(self):
        torch, policy, s = self.torch, self.policy, SETTINGS
        self.policy.learn_scale(self.observation[:-1])
        advantage = self.advantages()
        return_ = advantage + self.value[:-1]
        counts = self.counts.flatten()
        n = counts.sum()
        centre = (self.counts * advantage).sum() / n
        width = ((self.counts * (advantage - centre).square()).sum() / n).sqrt() + 1e-8
        scale = ((self.counts * (return_ - return_.mean()).square()).sum() / n).clamp(min=1e-6)
        flat = [x.flatten(0, 1) for x in (self.observation[:-1], self.action, self.mean, self.chance,
                                          (advantage - centre) / width, return_)]
        before = policy.spread.detach().clone()
        for _ in range(s["epochs"]):
            for part in torch.randperm(len(counts), device=self.device).chunk(s["batches"]):
                seen, action, mean, chance, gain, goal = (x[part] for x in flat)
                weight = counts[part] / counts[part].sum()
                at, value = policy(seen)
                ratio = (log_chance(torch, action, at, policy.spread) - chance).exp()
                better = torch.min(ratio * gain, ratio.clamp(1 - s["clip"], 1 + s["clip"]) * gain)
                loss = (weight * (0.5 * (value - goal).square() / scale - better)).sum()
                loss = loss - s["entropy"] * policy.spread.sum()
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
                self.optimizer.step()
            with torch.no_grad():  # how far the last part's policy is from the one that acted
                spread = policy.spread
                far = (spread - before + ((2 * before).exp() + (mean - at).square()) / (2 * (2 * spread).exp()) - 0.5)
                self.follow((weight * far.sum(-1)).sum().item())

    def follow(self, divergence):
        group = self.optimizer.param_groups[0]
        if divergence > 2 * SETTINGS["divergence"]:
            group["lr"] = max(group["lr"] / 1.5, 1e-5)
        elif divergence < SETTINGS["divergence"] / 2:
            group["lr"] = min(group["lr"] * 1.5, 3e-3)

    def take_totals(self):
        """Of the steps since the last call: returns and lengths of episodes that ended, the reward of a step."""
        episodes, returns, lengths, steps, rewards = self.totals.tolist()
        self.totals.zero_()
        mean = [x / episodes if episodes else None for x in (returns, lengths)]
        return {"episodes": int(episodes), "return": mean[0], "length": mean[1], "reward": rewards / max(steps, 1)}

    def state(self):
        return {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state):
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])


def keep(path, write):
    """The whole file or the old one: a run may be ended at any time."""
    write(path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def learn(run, options):
    """One run, in this process."""
    import torch

    torch.set_num_threads(1)
    name = f"{run}-{options.seed}"
    path, kept = options.work / f"{name}.json", options.work / f"{name}.pt"
    begun = time.perf_counter()
    env = make_env(run, options.worlds or WORLDS[run], options.device)
    learner = Learner(env, run.endswith("pixels"), options.seed)
    row = {"name": f"learning/{run}/ppo/seed_{options.seed}", "value": None, "unit": "return", "better": "higher",
           "goal": None, "run": run, "seed": options.seed, "worlds": env.num_envs, "samples": [], "curve": [],
           "seconds": 0.0, "note": ""}
    if kept.exists() and not options.fresh:
        state = torch.load(kept, map_location=learner.device, weights_only=True)
        learner.load(state)
        row = json.loads(path.read_text())
        learner.steps = row["curve"][-1]["steps"]
    before, device, updates = row["seconds"], env.sim.device.name, 0
    last = ready = time.perf_counter()
    print(f"{name}: {env.num_envs} worlds on {device}, ready after {ready - begun:.1f} s", flush=True)
    stop = begun + options.seconds
    while True:
        learner.roll()
        learner.update()
        updates += 1
        now = time.perf_counter()
        if updates == 1:  # what comes later has all been set up
            env.sim.clear_counters()
            first = learner.steps
        if now - last < options.evaluate and now < stop:
            continue
        last = now
        row["seconds"] = round(before + now - ready, 1)
        row["curve"].append({"seconds": row["seconds"], "steps": learner.steps, **learner.take_totals()})
        row["samples"] = [point["return"] for point in row["curve"]]
        row["value"] = next((x for x in reversed(row["samples"]) if x is not None), None)
        row["copied"] = env.sim.counters()["total"]["bytes_copied"]  # to or from the host
        row["replays"] = env.sim.counters()["graph_replay"]["hits"]
        row["env_steps"] = (learner.steps - first) // env.num_envs
        row["note"] = f"{learner.steps / row['seconds']:,.0f} steps a second, learning included; {device}"
        keep(kept, lambda new: torch.save(learner.state(), new))
        keep(path, lambda new: new.write_text(json.dumps(row)))
        point = row["curve"][-1]
        shown = " ".join(f"{what} {point[what]:.3f}" for what in ("return", "length", "reward")
                         if point[what] is not None)
        print(f"{name}: {row['seconds']:6.1f} s, {learner.steps / 1e6:7.2f} million steps, {shown}", flush=True)
        if now >= stop:
            break
    env.close()


def gather(options, device):
    """The result file, of what runs have written so far."""
    rows = [json.loads(path.read_text()) for path in sorted(options.work.glob("*.json"))]
    write(options.out, machine(device), rows, versions={"torch": importlib.metadata.version("torch")},
          settings=SETTINGS)


def device_name(device):
    import stet

    with stet.Sim("<mujoco/>", device=device, physics="external") as sim:
        return sim.device.name


def train(options):
    """All runs, each in a process."""
    options.work.mkdir(parents=True, exist_ok=True)
    device = device_name(options.device)
    known = options.runs.split(",")
    for run in known:
        if run not in SHARE:
            sys.exit(f"--runs: there is no run {run!r}; known are {', '.join(SHARE)}")
    todo = [(run, seed) for seed in range(1, options.seeds + 1) for run in SHARE if run in known]
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["torch._dynamo", "stet.gym"])  # once, for all runs
    running, failed, written = {}, [], 0
    while todo or running:
        while todo and len(running) < options.jobs:
            run, seed = todo.pop(0)
            own = argparse.Namespace(**{**vars(options), "seed": seed, "seconds": options.seconds * SHARE[run]})
            del own.run
            running[run, seed] = processes.Process(target=learn, args=(run, own))
            running[run, seed].start()
        time.sleep(0.05)
        for key in [key for key, process in running.items() if not process.is_alive()]:
            if running.pop(key).exitcode:
                failed.append("-".join(map(str, key)))
        latest = max((path.stat().st_mtime for path in options.work.glob("*.json")), default=0)
        if latest > written:
            written = latest
            gather(options, device)
    if failed:
        sys.exit(f"these runs failed: {', '.join(failed)}")


def draw(options):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = json.loads(Path(options.result).read_text())["results"]
    runs = [run for run in TITLES if any(row["run"] == run for row in rows)]
    figure, axes = plt.subplots(1, len(runs), figsize=(3.6 * len(runs), 3.2), layout="constrained", squeeze=False)
    for axis, run in zip(axes[0], runs):
        for row in (row for row in rows if row["run"] == run):
            known = [point for point in row["curve"] if point["return"] is not None]
            axis.plot([p["seconds"] for p in known], [p["return"] for p in known], color="#35608d", lw=1.2)
        most = max(row["curve"][-1]["steps"] for row in rows if row["run"] == run)
        axis.set_title(TITLES[run], fontsize=10)
        axis.set_xlabel(f"seconds, of {most / 1e6:,.3g} million steps", fontsize=9)
    axes[0][0].set_ylabel("return of an episode")
    figure.savefig(options.picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    many = commands.add_parser("train", help="runs side by side")
    many.add_argument("--runs", default=",".join(SHARE))
    many.add_argument("--seeds", type=int, default=1)
    many.add_argument("--jobs", type=int, default=4, help="processes at a time")
    many.add_argument("--out", type=Path, required=True)
    many.add_argument("--work", type=Path, required=True, help="folder of what runs write")
    many.add_argument("--seconds", type=float, default=480, help="of wall-clock time, of the longest run")
    many.add_argument("--device", default="cuda")
    many.add_argument("--worlds", type=int, default=0, help="0: those of the table WORLDS")
    many.add_argument("--evaluate", type=float, default=EVALUATE, help="seconds from one evaluation to the next")
    many.add_argument("--fresh", action="store_true", help="does not go on from where runs were")
    many.set_defaults(run=train)
    one = commands.add_parser("draw", help="the chart of a result file")
    one.add_argument("result")
    one.add_argument("picture")
    one.set_defaults(run=draw)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
