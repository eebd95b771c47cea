"""mjlab's tasks on stet beside the same on mujoco_warp, each in a process of its own (mjlab_steps.py): what is seen and
rewarded, step by step. It runs in an environment with mjlab 1.6 (make test-clients), on CPUs, in minutes.
"""

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

# Tasks, steps, worlds, and how near the policy's observations and the rewards are.
NEAR = [
    ("Mjlab-Cartpole-Balance", 20, 4, 1e-5),
    ("Mjlab-Velocity-Flat-Unitree-G1", 5, 8, 1e-4),
    ("Mjlab-Tracking-Flat-Unitree-G1", 5, 4, 1e-4),
]
# The others load and step, and one whose physics stet refuses would say so.
ALL = ["Mjlab-Cartpole-Swingup", "Mjlab-Lift-Cube-Yam", "Mjlab-Lift-Cube-Yam-Depth", "Mjlab-Lift-Cube-Yam-Rgb",
       "Mjlab-Multi-Cube-Seg-Yam", "Mjlab-Tracking-Flat-Unitree-G1-No-State-Estimation",
       "Mjlab-Velocity-Flat-Unitree-Go1", "Mjlab-Velocity-Rough-Unitree-G1", "Mjlab-Velocity-Rough-Unitree-Go1"]


@functools.cache
def run(task, on, steps, worlds):
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out.npz"
        done = subprocess.run([sys.executable, Path(__file__).with_name("mjlab_steps.py"), task, out, "--on", on,
                               "--steps", str(steps), "--worlds", str(worlds)], capture_output=True, text=True,
                              cwd=folder, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        assert done.returncode == 0, done.stderr[-2000:]
        with np.load(out) as arrays:
            return {name: arrays[name] for name in arrays.files}


@pytest.mark.parametrize(("task", "steps", "worlds", "near"), NEAR)
def test_a_task_sees_and_is_rewarded_as_on_mujoco_warp(task, steps, worlds, near):
    ours, theirs = (run(task, on, steps, worlds) for on in ("stet", "warp"))
    assert (ours["done"] == theirs["done"]).all() and (ours["ctrl"] == theirs["ctrl"]).all()
    for name in ("seen_actor", "reward"):
        assert ours[name].shape == theirs[name].shape and len(ours[name]) >= steps
        assert np.abs(ours[name] - theirs[name]).max() <= near, name


@pytest.mark.parametrize("task", ALL)
def test_a_task_steps(task):
    seen = run(task, "stet", 2, 2)
    assert len(seen["reward"]) == 2 and np.isfinite(seen["reward"]).all() and np.isfinite(seen["qpos"]).all()
    assert any((seen["qpos"][0] != seen["qpos"][-1]).ravel())
