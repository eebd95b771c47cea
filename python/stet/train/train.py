"""Training with rsl_rl's PPO."""

from __future__ import annotations

import contextlib
import copy
import importlib.metadata
import io
import json
import statistics
import sys
import time
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import stet
from stet._errors import InvalidArgumentError

from .task import find_class, find_task, make_task

_LAYERS = {"class_name": "MLPModel", "hidden_dims": [256, 128, 64], "activation": "elu", "obs_normalization": True}
SETTINGS: dict[str, Any] = {
    "num_steps_per_env": 24, "save_interval": 50, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "algorithm": {
        "class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4, "learning_rate": 1e-3,
        "schedule": "adaptive", "desired_kl": 0.01, "gamma": 0.99, "lam": 0.95, "entropy_coef": 0.005,
        "clip_param": 0.2, "value_loss_coef": 1.0, "use_clipped_value_loss": True, "max_grad_norm": 1.0,
        "rnd_cfg": None, "symmetry_cfg": None},
    "actor": {**_LAYERS, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
    "critic": _LAYERS}
"""rsl_rl's configuration, as in Rudin and others, "Learning to walk in minutes" (2021). A class of environments may
replace parts of it (`training`), and `settings` parts of that.
"""
_SIZE = {"cpu": (256, 300), "gpu": (4096, 300)}
"""Worlds and iterations. A class of environments may have others (`training_size`)."""


def train(task: str, folder: str | Path, *, num_envs: int | None = None, device: str = "auto",
          iterations: int | None = None, seconds: float = 0, seed: int = 1, resume: bool = False,
          settings: dict[str, Any] | None = None, **keywords: Any) -> Path:
    """Trains a policy and returns the folder, which has it (stet.train).

    num_envs     None: what the task is trained with, else 256 on processors, 4096 on a GPU
    iterations   updates of the policy, each after 24 steps of all worlds; with resume: that many more. None: what the
                 task is trained with, else 300
    seconds      after which no other iteration begins, compiling included; 0: without a limit
    resume       goes on from what the folder has, with its task, keywords, settings and seed
    settings     replaces parts of SETTINGS, and of the task's own: {"algorithm": {"gamma": 0.97}}
    keywords     of the environment, in place of those that the task is trained with
    """
    torch, runner_of = _need()
    folder = Path(folder)
    about = _begin(task, folder, seed, resume, settings, keywords)
    begun = time.perf_counter()
    from stet.gym.adapters.rsl_rl import RslRlVecEnvWrapper

    made = {"autoreset_mode": "SAME_STEP", **about["keywords"]}
    size = getattr(find_class(about["task"]), "training_size", _SIZE)
    worlds, updates = size["cpu" if _on_processor(device) else "gpu"]
    env = make_task(about["task"], num_envs or worlds, device, **made)
    torch.manual_seed(about["seed"])
    wrapped = RslRlVecEnvWrapper(env, clip_actions=_greatest(env), seed=about["seed"])
    if wrapped.device.type == "cpu":
        torch.set_num_threads(1)  # more wait for each other, and for the sim's, in networks of this size
    with contextlib.redirect_stdout(io.StringIO()):  # which has the networks' layers
        runner = runner_of(wrapped, copy.deepcopy(about["settings"]), None, device=str(wrapped.device))
    if resume:
        runner.load(str(folder / "model.pt"))
        runner.current_learning_iteration += 1
    about["worlds"] = env.num_envs
    runner.logger = _Progress(runner, about, folder, begun, seconds or float("inf"))
    try:
        with contextlib.suppress(_TimeIsUp):
            runner.learn(updates if iterations is None else iterations, init_at_random_ep_len=not resume)
    finally:
        runner.logger.end()
        wrapped.close()
    return folder


def _on_processor(device):
    """Whether a sim of this device is on a processor; "auto" takes a GPU where there is one."""
    found = stet.info()["devices"]
    gpu = any(found[kind].startswith("<") for kind in ("cuda", "hip"))
    return not gpu if device == "auto" else device.startswith("cpu")


def _need():
    try:
        import torch
        from rsl_rl.runners import OnPolicyRunner
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"training needs {error.name}: pip install 'stet[train]' (PyTorch and rsl_rl)",
                                  name=error.name) from None
    return torch, OnPolicyRunner


def _begin(task, folder, seed, resume, settings, keywords):
    """What run.json says; of a run that goes on what it said."""
    path = folder / "run.json"
    if resume:
        if not (folder / "model.pt").exists():
            raise InvalidArgumentError(f"{folder}: there is no model.pt to go on from; train without resume first")
        about = json.loads(path.read_text())
        if find_task(task) != find_task(about["task"]):
            raise InvalidArgumentError(f"{folder}: it has a run of {about['task']}, not of {find_task(task)}")
        return about
    if path.exists():
        raise InvalidArgumentError(f"{folder}: there is a run already; resume it, or give another folder")
    versions = {name: importlib.metadata.version(name) for name in ("torch", "rsl-rl-lib")}
    kind = find_class(task)
    usual = _merge(SETTINGS, getattr(kind, "training", {}), "training")
    keywords = {**getattr(kind, "training_keywords", {}), **keywords}
    module = task.rpartition(":")[0]  # which whoever plays the policy imports, too
    return {"task": ":".join(filter(None, (module, find_task(task)))), "keywords": keywords,
            "settings": _merge(usual, settings or {}), "seed": seed,
            "versions": {"stet": stet.__version__, **versions}, "curve": []}


def _merge(whole, part, where="settings"):
    """A copy of the dict with parts of it replaced, which must be there."""
    out = dict(whole)
    for name, value in part.items():
        if name not in whole:
            raise InvalidArgumentError(f"{where} has no {name!r}; there are {', '.join(whole)}")
        out[name] = _merge(whole[name], value, f"{where}[{name!r}]") if isinstance(value, dict) else value
    return out


def _greatest(env):
    """Where actions are clipped: the same bound for all, or none."""
    space = env.single_action_space
    bound = float(abs(space.high).max())
    return bound if (space.high == bound).all() and (space.low == -bound).all() else None


class _TimeIsUp(Exception):
    """No other iteration begins."""


class _Progress:
    """In place of rsl_rl's logger: a line an iteration, the curve in run.json, and the files of the run."""

    writer = None

    def __init__(self, runner, about, folder, begun, seconds):
        import torch

        self._runner, self._about, self._folder, self._begun = runner, about, folder, begun
        self._seconds = seconds
        self._before = about["curve"][-1]["seconds"] if about["curve"] else 0.0
        self._returns, self._lengths = deque(maxlen=100), deque(maxlen=100)
        n, device = runner.env.num_envs, runner.device
        self._sum, self._count = torch.zeros(n, device=device), torch.zeros(n, device=device)
        self._ended: list[Any] = []
        self._said = 0.0

    def init_logging_writer(self):
        self._folder.mkdir(parents=True, exist_ok=True)

    def save_model(self, path, it):
        """Nothing is uploaded."""

    def process_env_step(self, rewards, dones, extras, intrinsic=None):
        self._sum += rewards
        self._count += 1
        ended = dones > 0
        self._ended.append((ended, self._sum.clone(), self._count.clone()))
        self._sum.masked_fill_(ended, 0)
        self._count.masked_fill_(ended, 0)

    def _take_ended(self):
        """Episodes that ended in an iteration: the host reads them once."""
        import torch

        ended, returns, lengths = (torch.stack(column).cpu() for column in zip(*self._ended))
        self._ended.clear()
        self._returns.extend(returns[ended].tolist())
        self._lengths.extend(lengths[ended].tolist())

    def log(self, it, start_it, total_it, collect_time, learn_time, **_):
        """One row of the curve."""
        self._take_ended()
        worlds, rollout = self._runner.env.num_envs, self._about["settings"]["num_steps_per_env"]
        passed = time.perf_counter() - self._begun
        row = {"iteration": it, "steps": (it + 1) * rollout * worlds, "seconds": round(self._before + passed, 2),
               "return": statistics.fmean(self._returns) if self._returns else None,
               "length": statistics.fmean(self._lengths) if self._lengths else None}
        self._about["curve"].append(row)
        last = it + 1 == total_it or passed >= self._seconds
        left = min(passed / (it + 1 - start_it) * (total_it - it - 1), max(self._seconds - passed, 0))
        rate = rollout * worlds / (collect_time + learn_time)
        self._say(f"{it + 1 - start_it:5} of {total_it - start_it}   {rate:9,.0f} steps/s   "
                  f"return {_number(row['return'])}   length {_number(row['length'])}   {left:5.0f} s left", last)
        if last or (it + 1) % self._about["settings"]["save_interval"] == 0:
            self._save()
        if passed >= self._seconds:
            raise _TimeIsUp

    def _say(self, line, last):
        """On a terminal in one line; elsewhere each ten seconds."""
        now = time.perf_counter()
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if last else "", file=sys.stderr, flush=True)
        elif last or now - self._said >= 10:
            self._said = now
            print(line, file=sys.stderr, flush=True)

    def _save(self):
        """A file is whole, or it is that of before."""
        runner, folder = self._runner, self._folder
        _replace(folder / "model.pt", lambda path: runner.save(str(path)))
        _replace(folder / "policy.onnx", lambda path: _export(runner, path))
        _replace(folder / "run.json", lambda path: path.write_text(json.dumps(self._about, indent=1) + "\n"))

    def end(self):
        """After an interruption, too, the folder has what was learnt."""
        saved = self._folder / "run.json"
        done = self._about["curve"][-1]["iteration"] if self._about["curve"] else -1
        if done >= 0 and (not saved.exists() or json.loads(saved.read_text())["curve"][-1]["iteration"] < done):
            self._save()


def _number(x):
    return "      -" if x is None else f"{x:7.2f}"


def _replace(path, write):
    part = path.with_name(path.name + ".part")
    write(part)
    part.replace(path)


def _export(runner, path):
    """The mean of the policy, for any number of worlds at once."""
    import torch

    policy = runner.alg.get_policy().as_onnx(verbose=False).to("cpu").eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the other exporter takes ten seconds each time
        torch.onnx.export(policy, policy.get_dummy_inputs(), str(path), input_names=["obs"], output_names=["actions"],
                          dynamic_axes={"obs": {0: "n"}, "actions": {0: "n"}}, opset_version=18, dynamo=False)
