"""PPO over stet and over mujoco_warp: wall-clock time until episodes have a return.

    PYTHONPATH=build/python python3 bench/learning_warp.py [--task Ant|hand_pixels] [--sides stet,mujoco_warp]
    [--goal 3000|10] [--seconds 300] [--worlds 4096|1024] [--seed 1] [--evaluate 5] [--contacts 32|64]
    [--rows 128|256] [--device cuda] [--out FILE]

Ant is gymnasium's, hand_pixels the shipped hand that turns a cube, seen in two grey pictures of 64 x 64. The learner,
its networks and its settings are those of gpu_learning.py, but for two of the Ant (main), the same for both sides.
stet's side is a TensorVectorEnv. mujoco_warp's is the same task over its step: a graph of its steps (the Ant's with
contact forces of bodies), one of its renderer for pictures, and graphs of PyTorch's operations for controls,
observations, rewards, ends and beginnings of episodes. The clock of a side begins when all is compiled, and stops at
the first evaluation that has the goal: the mean return of the episodes that ended since the last one, under the policy
with its chance. --seconds are of both sides together: half of them are the first side's, and what it leaves is the
second's. --contacts and --rows are mujoco_warp's capacities a world; it ends where they do not suffice.
"""

import argparse
import importlib.metadata
import math
import sys
import time
from pathlib import Path

import gpu_learning
from origin import machine, write

SETTINGS = gpu_learning.SETTINGS


def make_stet(options):
    if options.task != "Ant":
        return gpu_learning.make_env(options.task, options.worlds, options.device)
    from gymnasium.vector import AutoresetMode

    import stet.gym
    from stet.gym.mujoco import AntVectorEnv

    return stet.gym.TensorVectorEnv(AntVectorEnv(options.worlds, options.device, physics="native",
                                                 autoreset_mode=AutoresetMode.NEXT_STEP))


class Warp:
    """A task over mujoco_warp as a Learner takes it: TensorVectorEnv's part of it that it calls."""

    def __init__(self, options, file, episode):
        import mujoco
        import mujoco_warp
        import torch
        import warp

        warp.config.log_level = warp.LOG_WARNING
        warp.set_device("cpu" if options.device == "cpu" else "cuda:0")
        self.torch, self.warp, self.to, self.num_envs, self.episode = torch, warp, mujoco_warp, options.worlds, episode
        self.model = model = mujoco.MjModel.from_xml_path(str(file))
        self.data = data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        self.m = mujoco_warp.put_model(model)
        self.d = mujoco_warp.put_data(model, data, nworld=self.num_envs, nconmax=options.contacts, njmax=options.rows)
        self.overflows, self.m.opt.warn_overflow = self.m.opt.warn_overflow, 0
        self.qpos, self.qvel, self.ctrl, self.warm, self.force = (
            warp.to_torch(array) for array in (self.d.qpos, self.d.qvel, self.d.ctrl, self.d.qacc_warmstart,
                                               self.d.cfrc_ext))
        n, self.device = self.num_envs, self.qpos.device
        self.home = self._on_device(data.qpos)
        self.action, self.reward, self.steps, self.last = self.ctrl, *torch.zeros(3, n, device=self.device)
        self.terminated, self.truncated, self.over = torch.ones(3, n, dtype=torch.bool, device=self.device)
        self.sim = self  # of which a Learner takes use_stream, and pictures
        self._make()
        for part in (self._control, self._advance, self._judge):  # compiles
            part()
        self.judge = self._torch_graph(self._judge)
        self.control = self._control if type(self)._control is Warp._control else self._torch_graph(self._control)
        self.advance = self._warp_graph(self._advance)

    def _on_device(self, x):
        return self.torch.tensor(x, dtype=self.torch.float32, device=self.device)

    def _warp_graph(self, run):
        """A function that runs it: on a GPU a graph, recorded once."""
        if self.device.type != "cuda":
            return run
        self.warp.synchronize()
        with self.warp.ScopedCapture() as capture:
            run()
        return lambda: self.warp.capture_launch(capture.graph)

    def _torch_graph(self, run):
        if self.device.type != "cuda":
            return run
        graph = self.torch.cuda.CUDAGraph()
        self.torch.cuda.synchronize()
        with self.torch.cuda.graph(graph):
            run()
        return graph.replay

    def _make(self):
        """What the task needs."""

    def _control(self):
        """Controls of the action."""

    def _count(self, fresh, reward, failed):
        """What a step was worth, and which episodes it ended; `fresh` begin with it."""
        self.reward.copy_(reward * ~fresh)
        self.steps.add_(1)
        self.terminated.copy_(failed & ~fresh)
        self.truncated.copy_((self.steps >= self.episode) & ~fresh)
        self.over.copy_(self.terminated | self.truncated)
        self.steps.mul_(~fresh)
        self.warm.copy_(self.torch.where(fresh[:, None], 0, self.warm))

    def use_stream(self, stream):
        self.warp.set_stream(self.warp.stream_from_torch(self.torch.cuda.current_stream()))

    def tensors(self, from_dlpack):
        return self

    def reset(self, seed):
        self.over.fill_(True)
        self.judge()

    def step_tensors(self):
        self.control()
        self.advance()
        self.judge()

    def close(self):
        over = int(((self.d.overflow.numpy() & self.overflows) != 0).sum())
        if over:
            raise RuntimeError(f"mujoco_warp had no room in {over} worlds; give more with --contacts, --rows")


class WarpAnt(Warp):
    """gymnasium's Ant, version 5."""

    def __init__(self, options):
        import gymnasium

        super().__init__(options, Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml", 1000)

    def _make(self):
        m, self.dt = self.model, 5 * self.model.opt.timestep
        self.observation = self.torch.zeros(self.num_envs, m.nq - 2 + m.nv + 6 * (m.nbody - 1), device=self.device)

    def _advance(self):
        for _ in range(5):
            self.to.step(self.m, self.d)
        self.to.rne_postconstraint(self.m, self.d)

    def _judge(self):
        torch, fresh = self.torch, self.over.clone()
        force = self.force[:, 1:].flatten(1).clamp(-1, 1)
        state = torch.cat((self.qpos, self.qvel), 1)
        healthy = state.isfinite().all(1) & (self.qpos[:, 2] >= 0.2) & (self.qpos[:, 2] <= 1)
        reward = (self.qpos[:, 0] - self.last) / self.dt + healthy - 0.5 * self.ctrl.square().sum(1)
        self._count(fresh, (reward - 5e-4 * force.square().sum(1)).nan_to_num(0, 0, 0), ~healthy)
        begins = fresh[:, None]
        self.qpos.copy_(torch.where(begins, self.home + 0.2 * torch.rand_like(self.qpos) - 0.1, self.qpos))
        self.qvel.copy_(torch.where(begins, 0.1 * torch.randn_like(self.qvel), self.qvel))
        self.last.copy_(self.qpos[:, 0])
        seen = torch.cat((self.qpos[:, 2:], self.qvel, torch.where(begins, 0, force)), 1)
        self.observation.copy_(seen.nan_to_num(0, 0, 0))


class WarpHand(Warp):
    """stet/HandRotate-v0 from pictures, by mujoco_warp's renderer. They show bodies as the last substep found them, so
    an episode's first picture is still of the one before: kinematics after it would be more work.
    """

    def __init__(self, options):
        super().__init__(options, Path(__file__).parents[1] / "scenes" / "hand.xml", 500)

    def _make(self):
        import mujoco

        torch, m, n, size = self.torch, self.model, self.num_envs, gpu_learning.SIZE
        self.dt, cube = 10 * m.opt.timestep, mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, "cube")
        self.place, self.spin = int(m.jnt_qposadr[cube]), int(m.jnt_dofadr[cube])
        low, high = m.actuator_ctrlrange.T
        self.hold, self.half, self.low, self.high = map(self._on_device, (self.data.ctrl, (high - low) / 2, low, high))
        self.width = self._on_device([0.02 if m.jnt_type[j] >= 2 else 0 for j in range(m.njnt)
                                      for _ in range({0: 7, 1: 4}.get(int(m.jnt_type[j]), 1))])
        self.action, self.previous, self.change = torch.zeros(3, n, m.nu, device=self.device)
        self.rc = self.to.create_render_context(
            m, nworld=n, cam_res=(size, size), render_rgb=True, render_depth=False,
            render_skybox=bool((m.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX).any()),
            cam_active=[k == 0 for k in range(m.ncam)], use_shadows=True)
        self._draw()
        self.render_graph = self._warp_graph(self._draw)
        self.packed = self.warp.to_torch(self.rc.rgb_data).view(torch.int32).reshape(n, size, size)

    def _draw(self):
        self.to.refit_bvh(self.m, self.d, self.rc)
        self.to.render(self.m, self.d, self.rc)

    def _control(self):
        torch, u = self.torch, self.action.clamp(-1, 1)
        self.change.copy_(u - self.previous)
        self.previous.copy_(u)
        self.ctrl.copy_(torch.clamp(self.hold + 0.5 * self.half * u, self.low, self.high))

    def _advance(self):
        for _ in range(10):
            self.to.step(self.m, self.d)

    def _judge(self):
        torch, fresh, p, v = self.torch, self.over.clone(), self.place, self.spin
        away = self.qpos[:, p : p + 3] - self.home[p : p + 3]
        w, x, y, z = self.qpos[:, p + 3 : p + 7].unbind(1)
        up = torch.stack((2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z), 1)
        turning = (up * self.qvel[:, v + 3 : v + 6]).sum(1).clamp(-5, 5)
        kept = (away.square().sum(1) <= 0.01) & self.qvel.isfinite().all(1)
        reward = self.dt * turning - 0.01 * self.dt * self.change.square().sum(1) - ~kept * 1.0
        self._count(fresh, reward.nan_to_num(0, 0, 0), ~kept)
        begins = fresh[:, None]
        noise = self.width * (2 * torch.rand_like(self.qpos) - 1)
        self.qpos.copy_(torch.where(begins, self.home + noise, self.qpos))
        self.qvel.copy_(torch.where(begins, 0, self.qvel))
        self.previous.copy_(torch.where(begins, 0, self.previous))

    def render(self):
        self.render_graph()

    def tensor(self, output, frame):
        """uint8 [world, height, width, 3] of pixels 0xAARRGGBB."""
        return self.torch.stack([self.packed >> shift & 255 for shift in (16, 8, 0)], -1).to(self.torch.uint8)


TASKS = {  # mujoco_warp's side, and defaults of options
    "Ant": (WarpAnt, {"goal": 3000, "worlds": 4096, "contacts": 32, "rows": 128}),
    "hand_pixels": (WarpHand, {"goal": 10, "worlds": 1024, "contacts": 64, "rows": 256}),
}
SIDES = "stet", "mujoco_warp"


def learn(side, options, seconds):
    """Seconds until all was compiled and made, which are none of `seconds`, and the curve."""
    import torch

    begun = time.perf_counter()
    env = make_stet(options) if side == "stet" else TASKS[options.task][0](options)
    env.reset(seed=0)
    env.step_tensors()
    learner = gpu_learning.Learner(env, options.task.endswith("pixels"), options.seed)
    wait = torch.cuda.synchronize if learner.device.type == "cuda" else lambda: None
    wait()
    ready = last = time.perf_counter()
    stop = ready + seconds
    print(f"{side}: {env.num_envs} worlds, ready after {ready - begun:.1f} s", flush=True)
    curve, rolling = [], 0.0
    while not curve or (curve[-1]["return"] or -math.inf) < options.goal and time.perf_counter() < stop:
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
    reached = last["return"] is not None and last["return"] >= options.goal
    rate = last["steps"] / last["seconds"]
    note = (f"{options.worlds} worlds, seed {options.seed}; last return {last['return'] or 0:.4g} after "
            f"{last['seconds']:.1f} s and {last['steps'] / 1e6:.1f} million steps; ready after {first:.1f} s")
    name, of = f"learning/{options.task}/ppo", {"better": "higher", "goal": None}
    return [
        {"name": f"{name}/{side}/seconds_to_{options.goal:g}", "value": last["seconds"] if reached else None,
         "unit": "s", "better": "lower", "goal": None, "samples": [point["return"] for point in curve], "curve": curve,
         "note": note if reached else f"not reached; {note}"},
        {"name": f"{name}/{side}/frames_per_s", "value": rate, "unit": "steps of a world a second", **of,
         "samples": [rate], "note": "learning included"},
        {"name": f"{name}/{side}/rollout_frames_per_s", "value": last["steps"] / last["rolling"],
         "unit": "steps of a world a second", **of, "samples": [last["steps"] / last["rolling"]],
         "note": "of the rollouts alone: physics, task and policy"}]


def compare(found, task):
    """Rows of ratios: stet's figure over mujoco_warp's, so that more is better."""
    ours, theirs = found["stet"], found["mujoco_warp"]
    for mine, other in zip(ours, theirs):
        if mine["value"] and other["value"]:
            pair = (other, mine) if mine["better"] == "lower" else (mine, other)
            ratio = pair[0]["value"] / pair[1]["value"]
            what = mine["name"].rpartition("/")[2]
            yield {"name": f"learning/{task}/ppo/{what}/ratio_to_mujoco_warp", "value": ratio, "unit": "times as fast",
                   "better": "higher", "goal": None, "samples": [ratio],
                   "note": f"{mine['value']:,.4g}; mujoco_warp {other['value']:,.4g}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", default="Ant", choices=TASKS)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--goal", type=float)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--worlds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate", type=float, default=5, help="seconds from one evaluation to the next")
    parser.add_argument("--contacts", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out")
    options = parser.parse_args()
    for name, value in TASKS[options.task][1].items():
        setattr(options, name, value if getattr(options, name) is None else getattr(options, name))
    if options.task == "Ant":
        SETTINGS.update(entropy=0.0, rate=3e-4)
    sides = options.sides.split(",")
    if not set(sides) <= set(SIDES):
        parser.error(f"--sides takes names of {', '.join(SIDES)}, not {options.sides!r}")
    device, left, found = gpu_learning.device_name(options.device), options.seconds, {}
    versions = {"torch": importlib.metadata.version("torch")}
    for side in sides:
        first, curve = learn(side, options, left / (len(sides) - len(found)))
        left -= curve[-1]["seconds"]
        found[side] = rows_of(side, first, curve, options)
        versions |= {"mujoco_warp": importlib.metadata.version("mujoco-warp")} if side == "mujoco_warp" else {}
        rows = [row for some in found.values() for row in some]
        rows += compare(found, options.task) if len(found) == 2 else []
        for row in rows:
            value = "-" if row["value"] is None else f"{row['value']:.4g}"
            print(f"{row['name']:60} {value:>12} {row['unit']}  {row['note']}", flush=True)
        if options.out:
            write(options.out, machine(device), rows, versions=versions, settings=SETTINGS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
