"""Runs a task of mjlab's for a few steps with drawn actions, and writes all that it saw to a file.

    python mjlab_steps.py TASK OUT.npz [--on stet|warp] [--worlds 8] [--steps 5] [--seed 1] [--play]

It needs an environment with mjlab 1.6 (and its MuJoCo, mujoco_warp and PyTorch); `--on warp` is mjlab as it is, `--on
stet` the same with stet.mjlab. Seeds, states and actions are the same for both: draws are PyTorch's on the CPU. Tasks
that imitate a motion get one that is made here.
`mjlab_test.py` compares two such files.
"""

import argparse
import importlib.metadata
import json
import os

import numpy as np

KEPT = ("qpos", "qvel", "ctrl", "xpos", "cvel", "site_xpos", "subtree_com", "qacc", "actuator_force")


def write_motion(robot, file, frames=250):
    """A motion in mjlab's format, 50 frames a second: the robot of a config sways with all joints on one spot."""
    import mujoco

    model = robot.spec_fn().compile()
    data, joints = mujoco.MjData(model), model.njnt - 1  # the first is free
    amplitudes = np.random.default_rng(1).uniform(-0.1, 0.1, joints)
    home = np.array(model.qpos0[7:])
    rows = {name: [] for name in ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w",
                                  "body_ang_vel_w")}
    for frame in range(frames):
        angle = 2 * np.pi * frame / 100
        data.qpos[:7], data.qvel[:6] = (0, 0, robot.init_state.pos[2], 1, 0, 0, 0), 0
        data.qpos[7:], data.qvel[6:] = home + amplitudes * np.sin(angle), amplitudes * np.pi * np.cos(angle)
        mujoco.mj_forward(model, data)
        twists = np.zeros((model.nbody, 6))
        for body in range(model.nbody):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twists[body], 0)
        for name, row in (("joint_pos", data.qpos[7:]), ("joint_vel", data.qvel[6:]), ("body_pos_w", data.xpos[1:]),
                          ("body_quat_w", data.xquat[1:]), ("body_lin_vel_w", twists[1:, 3:]),
                          ("body_ang_vel_w", twists[1:, :3])):
            rows[name].append(row.copy())
    np.savez(file, fps=[50], **rows)


def make_environment(words):
    if words.on == "stet":
        import stet.mjlab  # noqa: F401  mjlab's environments are stet's from here on
    import mjlab.tasks  # noqa: F401  registers the tasks
    import torch
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.tasks.registry import load_env_cfg

    torch.set_num_threads(1)
    config = load_env_cfg(words.task, play=words.play)
    config.scene.num_envs, config.seed = words.worlds, words.seed
    if "motion" in config.commands:
        config.commands["motion"].motion_file = words.out + ".motion.npz"
        write_motion(config.scene.entities["robot"], words.out + ".motion.npz")
    return ManagerBasedRlEnv(config, device="cpu")


def snapshot(env, observation):
    """What a learner sees, and what the simulation holds."""
    seen = {f"seen_{group}": value for group, value in observation.items()}
    kept = [name for name in KEPT if name != "site_xpos" or env.sim.mj_model.nsite > 0]
    return seen | {name: getattr(env.sim.data, name) for name in kept}


def run(env, words):
    import torch

    draws = torch.Generator().manual_seed(words.seed)
    observation, _ = env.reset(seed=words.seed)
    steps = [snapshot(env, observation)]
    rows = [{name: value.detach().clone().numpy() for name, value in steps[0].items()}]
    for _ in range(words.steps):
        action = torch.randn(env.action_space.shape, generator=draws) * words.scale
        observation, reward, terminated, timed_out, _ = env.step(action)
        all_of_it = snapshot(env, observation) | {"reward": reward, "done": terminated | timed_out}
        rows.append({name: value.detach().clone().numpy() for name, value in all_of_it.items()})
    return {name: np.stack([row[name] for row in rows if name in row]) for name in rows[-1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("out")
    parser.add_argument("--on", choices=("stet", "warp"), default="stet")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="of the actions, which are normal")
    parser.add_argument("--play", action="store_true", help="the task's config for playing")
    words = parser.parse_args()
    os.environ.setdefault("WANDB_MODE", "disabled")
    names = ("mjlab", "mujoco", "mujoco-warp", "warp-lang", "torch")
    wheels = {name: importlib.metadata.version(name) for name in names}
    arrays = run(make_environment(words), words)
    np.savez_compressed(words.out, made_by=json.dumps(vars(words) | wheels), **arrays)


if __name__ == "__main__":
    main()
