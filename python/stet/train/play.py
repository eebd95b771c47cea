"""A trained policy in its task."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from stet._errors import InvalidArgumentError

from .task import find_class, make_task


POLICIES = Path(__file__).with_name("policies")
"""Runs that are shipped, in folders with the tasks' names."""


class Policy:
    """A policy.onnx: a function of NumPy's arrays, observations [n, …] → actions [n, …]."""

    def __init__(self, path: str | Path) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise ModuleNotFoundError("a policy needs onnxruntime: pip install 'stet[play]'") from None
        if not Path(path).exists():
            raise InvalidArgumentError(f"{path}: there is no such file; `stet train` writes it")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, observation: Any) -> np.ndarray:
        seen = observation["policy"] if isinstance(observation, dict) else observation
        return self._session.run(None, {"obs": np.asarray(seen, np.float32)})[0]


def _read(folder):
    """What a run says of itself, and its policy."""
    folder = find_run(folder)
    return json.loads((folder / "run.json").read_text()), Policy(folder / "policy.onnx")


def find_run(name: str | Path) -> Path:
    """The folder of a run; of a task's name the policy that is shipped with stet."""
    shipped = POLICIES / str(name)
    folder = Path(name)
    if not (folder / "run.json").exists() and (shipped / "run.json").exists():
        return shipped
    if not (folder / "run.json").exists():
        known = sorted(one.parent.name for one in POLICIES.glob("*/run.json"))
        raise InvalidArgumentError(f"{folder}: it has no run.json; give a folder that `stet train` made" + (
            f", or a task whose policy is shipped: {', '.join(known)}" if known else ""))
    return folder


def measure(folder: str | Path, *, num_envs: int = 256, device: str = "auto", seed: int = 1,
            **keywords: Any) -> dict[str, Any]:
    """Whether a policy does what its task is for: one episode of each world, without disturbances. The class of the
    task says which number of `info` is looked at, of the last step or on average, and how large it may be (`measured`).
    Returns "good", how many worlds had an episode that did not fail, with a number within the limit; "failed"; and the
    number's "mean" and "worst" among those that did not fail.

    keywords   of the environment, in place of those of the run
    """
    about, policy = _read(folder)
    kind = find_class(about["task"])
    if not hasattr(kind, "measured"):
        raise InvalidArgumentError(f"{about['task']} says nothing of what is measured: its class has no `measured`")
    name, when, most = kind.measured
    made = {"autoreset_mode": "SAME_STEP", **about["keywords"], **kind.measured_with, **keywords}
    env = make_task(about["task"], num_envs, device, tensors=False, **made)
    low, high = env.single_action_space.low, env.single_action_space.high
    runs, failed = np.ones(num_envs, np.bool_), np.zeros(num_envs, np.bool_)
    total, count = np.zeros(num_envs), np.zeros(num_envs)
    with contextlib.closing(env):
        seen, _ = env.reset(seed=seed)
        while runs.any():
            seen, _, terminated, truncated, info = env.step(np.clip(policy(seen), low, high))
            failed |= terminated & runs
            runs &= ~(terminated | truncated)
            if runs.any():  # a last step is that of the next episode in part
                total[runs] = info[name][runs] + (total[runs] if when == "mean" else 0)
                count[runs] += when == "mean" or count[runs] == 0
    value = total / np.maximum(count, 1)
    kept = value[~failed]
    return {"task": about["task"], "what": name, "when": when, "most": most, "worlds": num_envs,
            "seconds": env.unwrapped.max_episode_steps * env.unwrapped.dt,
            "good": int((~failed & (value <= most)).sum()), "failed": int(failed.sum()),
            "mean": float(kept.mean()) if len(kept) else float("nan"),
            "worst": float(kept.max()) if len(kept) else float("nan")}


def play(folder: str | Path, *, num_envs: int = 4, device: str = "auto", seed: int = 1, steps: int = 0,
         record: str | Path | None = None, page: Any = None, **keywords: Any) -> dict[str, float]:
    """Runs the policy of a folder of `train`, or the one that is shipped for a task. Returns the mean return and length
    of the episodes that ended, how many they were, and the part of them that ended before their time ("failed").

    steps      of the environment; 0: until it is interrupted
    record     a video of the worlds
    page       called with the sim first; what it returns is a context of the run, such as stet.view's page
    keywords   of the environment, in place of those of the run
    """
    about, policy = _read(folder)
    made = {"autoreset_mode": "SAME_STEP", **about["keywords"], **keywords}
    if record is not None:
        made["render_mode"] = "rgb_array"
    env = make_task(about["task"], num_envs, device, tensors=False, **made)
    low, high = env.single_action_space.low, env.single_action_space.high
    sums, counts, ended, failed = np.zeros(num_envs), np.zeros(num_envs, np.int64), [], 0
    with contextlib.ExitStack() as stack:
        stack.callback(env.close)
        if record is not None:
            from stet.video import record as begin

            stack.enter_context(begin(env, record))
        seen, _ = env.reset(seed=seed)
        if page is not None:
            stack.enter_context(page(env.unwrapped.sim))
        step = 0
        while steps == 0 or step < steps:
            seen, reward, terminated, truncated, _ = env.step(np.clip(policy(seen), low, high))
            sums, counts, step = sums + reward, counts + 1, step + 1
            over = terminated | truncated
            ended += list(zip(sums[over], counts[over]))
            failed += int((terminated & over).sum())
            sums[over], counts[over] = 0, 0
    returns, lengths = np.array(ended).T if ended else (np.zeros(0), np.zeros(0))
    mean = (float(returns.mean()), float(lengths.mean()), failed / len(ended)) if ended else (float("nan"),) * 3
    return dict(zip(("return", "length", "failed"), mean), episodes=len(ended))
