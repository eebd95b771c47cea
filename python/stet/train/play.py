"""A trained policy in its task."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from stet._errors import InvalidArgumentError

from .task import make_task


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


def play(folder: str | Path, *, num_envs: int = 4, device: str = "auto", seed: int = 1, steps: int = 0,
         record: str | Path | None = None, page: Any = None, **keywords: Any) -> dict[str, float]:
    """Runs the policy of a folder of `train`, and returns the mean return and length of the episodes that ended, how
    many they were, and the part of them that ended before their time ("failed").

    steps      of the environment; 0: until it is interrupted
    record     a video of the worlds
    page       called with the sim first; what it returns is a context of the run, such as stet.view's page
    keywords   of the environment, in place of those of the run
    """
    folder = Path(folder)
    if not (folder / "run.json").exists():
        raise InvalidArgumentError(f"{folder}: it has no run.json; give a folder that `stet train` made")
    about, policy = json.loads((folder / "run.json").read_text()), Policy(folder / "policy.onnx")
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
