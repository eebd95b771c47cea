"""Training a policy of a task with rsl_rl, and playing it: the commands `stet train` and `stet play`.

A folder of a run has

    run.json       task, keywords of the environment, settings, seed, versions, and the curve: a row an iteration
    model.pt       where the training goes on from (--resume)
    policy.onnx    the policy: "obs" [n, observation] float32 → "actions" [n, action]

train(task, folder, …) and play(folder, …) are the same from Python.
"""

from .play import Policy, find_run, measure, play
from .task import find_class, find_task, make_task
from .train import SETTINGS, train

__all__ = ["SETTINGS", "Policy", "find_class", "find_run", "find_task", "make_task", "measure", "play", "train"]
