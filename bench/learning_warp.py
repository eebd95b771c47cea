"""PPO on gymnasium's Ant over stet and over mujoco_warp: wall-clock time until its episodes have a return.

    PYTHONPATH=build/python python3 bench/learning_warp.py [--sides stet,mujoco_warp] [--goal 3000] [--seconds 300]
    [--worlds 4096] [--seed 1] [--evaluate 5] [--contacts 32] [--rows 128] [--device cuda] [--out FILE]

The learner, its networks and its settings are those of gpu_learning.py but for SETTINGS below, the same for both.
stet's side is TensorVectorEnv of AntVectorEnv. mujoco_warp's is the same task over its step: a graph of five steps and
contact forces of bodies, and a graph of PyTorch's operations for observations, rewards, ends and beginnings of
episodes. The clock of a side begins when all is compiled, and stops at the first evaluation that has the goal: the mean
return of the episodes that ended since the last one, under the policy with its chance. --seconds are of both sides
together: half of them are the first side's, and what it leaves is the second's. --contacts and --rows are mujoco_warp's
capacities a world; it ends where they do not suffice.
"""

import argparse
import importlib.metadata
import sys
import time
from pathlib import Path

import gpu_learning
from origin import machine, write

gpu_learning.SETTINGS |= {"entropy": 0.0, "rate": 3e-4}
SETTINGS = gpu_learning.SETTINGS
EPISODE, SUBSTEPS = 1000, 5


def make_stet(options):
    from gymnasium.vector import AutoresetMode

    import stet.gym
    from stet.gym.mujoco import AntVectorEnv

    return stet.gym.TensorVectorEnv(AntVectorEnv(options.worlds, options.device, physics="native",
                                                 autoreset_mode=AutoresetMode.NEXT_STEP))


class WarpAnt:
    """gymnasium's Ant, version 5, as a Learner takes it: TensorVectorEnv's part of it that it calls."""

    def __init__(self, options):
        import gymnasium
        import mujoco
        import mujoco_warp
        import torch
        import warp

        warp.config.log_level = warp.LOG_WARNING
        warp.set_device("cpu" if options.device == "cpu" else "cuda:0")
        self.torch, self.warp, self.to, self.num_envs = torch, warp, mujoco_warp, options.worlds
        assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
        model = mujoco.MjModel.from_xml_path(str(assets / "ant.xml"))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self.m = mujoco_warp.put_model(model)
        self.d = mujoco_warp.put_data(model, data, nworld=self.num_envs, nconmax=options.contacts, njmax=options.rows)
        self.overflows, self.m.opt.warn_overflow = self.m.opt.warn_overflow, 0
        self.dt = SUBSTEPS * model.opt.timestep
        self.qpos, self.qvel, self.ctrl, self.warm, self.force = (
            warp.to_torch(array) for array in (self.d.qpos, self.d.qvel, self.d.ctrl, self.d.qacc_warmstart,
                                               self.d.cfrc_ext))
        n, device = self.num_envs, self.qpos.device
        self.home = torch.tensor(model.qpos0, dtype=torch.float32, device=device)
        self.observation = torch.zeros(n, model.nq - 2 + model.nv + 6 * (model.nbody - 1), device=device)
        self.action, self.reward, self.steps, self.last = self.ctrl, *torch.zeros(3, n, device=device)
        self.terminated, self.truncated, self.over = torch.ones(3, n, dtype=torch.bool, device=device)
        self.sim = self  # of which a Learner takes use_stream
        self._advance(), self._judge()  # compiles
        self.advance, self.judge = self._advance, self._judge
        if device.type == "cuda":
            warp.synchronize()
            with warp.ScopedCapture() as capture:
                self._advance()
            self.advance = lambda: warp.capture_launch(capture.graph)
            self._judge_graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            with torch.cuda.graph(self._judge_graph):
                self._judge()
            self.judge = self._judge_graph.replay

    def _advance(self):
        for _ in range(SUBSTEPS):
            self.to.step(self.m, self.d)
        self.to.rne_postconstraint(self.m, self.d)

    def _judge(self):
        """All of the task, after the physics; in worlds whose episode had ended, the next one begins instead."""
        torch, fresh = self.torch, self.over.clone()
        force = self.force[:, 1:].flatten(1).clamp(-1, 1)
        state = torch.cat((self.qpos, self.qvel), 1)
        healthy = state.isfinite().all(1) & (self.qpos[:, 2] >= 0.2) & (self.qpos[:, 2] <= 1)
        reward = (self.qpos[:, 0] - self.last) / self.dt + healthy - 0.5 * self.ctrl.square().sum(1)
        reward = (reward - 5e-4 * force.square().sum(1)).nan_to_num(0, 0, 0)
        self.reward.copy_(reward * ~fresh)
        self.steps.add_(1)
        self.terminated.copy_(~healthy & ~fresh)
        self.truncated.copy_((self.steps >= EPISODE) & ~fresh)
        self.over.copy_(self.terminated | self.truncated)
        begins = fresh[:, None]
        self.qpos.copy_(torch.where(begins, self.home + 0.2 * torch.rand_like(self.qpos) - 0.1, self.qpos))
        self.qvel.copy_(torch.where(begins, 0.1 * torch.randn_like(self.qvel), self.qvel))
        self.warm.copy_(torch.where(begins, 0, self.warm))
        self.steps.mul_(~fresh)
        self.last.copy_(self.qpos[:, 0])
        seen = torch.cat((self.qpos[:, 2:], self.qvel, torch.where(begins, 0, force)), 1)
        self.observation.copy_(seen.nan_to_num(0, 0, 0))

    def use_stream(self, stream):
        self.warp.set_stream(self.warp.stream_from_torch(self.torch.cuda.current_stream()))

    def tensors(self, from_dlpack):
        return self

    def reset(self, seed):
        self.over.fill_(True)
        self.judge()

    def step_tensors(self):
        self.advance()
        self.judge()

    def close(self):
        over = int(((self.d.overflow.numpy() & self.overflows) != 0).sum())
        if over:
            raise RuntimeError(f"mujoco_warp had no room in {over} worlds; give more with --contacts, --rows")


MAKERS = {"stet": make_stet, "mujoco_warp": WarpAnt}


def learn(side, options, seconds):
    """Seconds until all was compiled and made, which are none of `seconds`, and the curve."""
    import torch

    begun = time.perf_counter()
    env = MAKERS[side](options)
    env.reset(seed=0)
    env.step_tensors()
    learner = gpu_learning.Learner(env, False, options.seed)
    wait = torch.cuda.synchronize if learner.device.type == "cuda" else lambda: None
    wait()
    ready = last = time.perf_counter()
    stop = ready + seconds
    print(f"{side}: {env.num_envs} worlds, ready after {ready - begun:.1f} s", flush=True)
    curve, rolling = [], 0.0
    while not curve or (curve[-1]["return"] or 0) < options.goal and time.perf_counter() < stop:
        before = time.perf_counter()
        learner.roll()
        wait()
        rolling += time.perf_counter() - before
        learner.update()
        wait()
        now = time.perf_counter()
        if now - last < options.evaluate and now < stop:
            continue
        last = now
        curve.append({"seconds": now - ready, "rolling": rolling, "steps": learner.steps, **learner.take_totals()})
        spread = learner.policy.spread.exp().mean().item()
        print(f"{side}: {now - ready:6.1f} s, {learner.steps / 1e6:7.2f} million steps, return "
              f"{curve[-1]['return'] or 0:8.1f}, length {curve[-1]['length'] or 0:6.1f}, spread {spread:.2f}, rate "
              f"{learner.optimizer.param_groups[0]['lr']:.1e}", flush=True)
    env.close()
    return ready - begun, curve


def rows_of(side, first, curve, options):
    """The time to the goal, and steps a second with and without learning."""
    last = curve[-1]
    reached = (last["return"] or 0) >= options.goal
    rate = last["steps"] / last["seconds"]
    note = (f"{options.worlds} worlds, seed {options.seed}; last return {last['return'] or 0:.0f} after "
            f"{last['seconds']:.1f} s and {last['steps'] / 1e6:.1f} million steps; ready after {first:.1f} s")
    name, of = "learning/Ant/ppo", {"better": "higher", "goal": None}
    return [
        {"name": f"{name}/{side}/seconds_to_{options.goal:g}", "value": last["seconds"] if reached else None,
         "unit": "s", "better": "lower", "goal": None, "samples": [point["return"] for point in curve], "curve": curve,
         "note": note if reached else f"not reached; {note}"},
        {"name": f"{name}/{side}/frames_per_s", "value": rate, "unit": "steps of a world a second", **of,
         "samples": [rate], "note": "learning included"},
        {"name": f"{name}/{side}/rollout_frames_per_s", "value": last["steps"] / last["rolling"],
         "unit": "steps of a world a second", **of, "samples": [last["steps"] / last["rolling"]],
         "note": "of the rollouts alone: physics, task and policy"}]


def compare(found):
    """Rows of ratios: stet's figure over mujoco_warp's, so that more is better."""
    ours, theirs = found["stet"], found["mujoco_warp"]
    for mine, other in zip(ours, theirs):
        if mine["value"] and other["value"]:
            pair = (other, mine) if mine["better"] == "lower" else (mine, other)
            ratio = pair[0]["value"] / pair[1]["value"]
            what = mine["name"].rpartition("/")[2]
            yield {"name": f"learning/Ant/ppo/{what}/ratio_to_mujoco_warp", "value": ratio, "unit": "times as fast",
                   "better": "higher", "goal": None, "samples": [ratio],
                   "note": f"{mine['value']:,.4g}; mujoco_warp {other['value']:,.4g}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sides", default="stet,mujoco_warp")
    parser.add_argument("--goal", type=float, default=3000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate", type=float, default=5, help="seconds from one evaluation to the next")
    parser.add_argument("--contacts", type=int, default=32)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out")
    options = parser.parse_args()
    sides = options.sides.split(",")
    if not set(sides) <= MAKERS.keys():
        parser.error(f"--sides takes names of {', '.join(MAKERS)}, not {options.sides!r}")
    device, left, found = gpu_learning.device_name(options.device), options.seconds, {}
    versions = {"torch": importlib.metadata.version("torch")}
    for side in sides:
        first, curve = learn(side, options, left / (len(sides) - len(found)))
        left -= curve[-1]["seconds"]
        found[side] = rows_of(side, first, curve, options)
        versions |= {"mujoco_warp": importlib.metadata.version("mujoco-warp")} if side == "mujoco_warp" else {}
        rows = [row for some in found.values() for row in some]
        rows += compare(found) if len(found) == 2 else []
        for row in rows:
            value = "-" if row["value"] is None else f"{row['value']:.4g}"
            print(f"{row['name']:60} {value:>12} {row['unit']}  {row['note']}", flush=True)
        if options.out:
            write(options.out, machine(device), rows, versions=versions, settings=SETTINGS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
