"""Tasks by name: stet's environments in gymnasium's registry."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium

import stet
from stet._convert import unknown_keyword
from stet._errors import InvalidArgumentError


def find_task(name: str) -> str:
    """The id in gymnasium's registry: the name itself, "stet/" in front of it, and the newest version behind it, may be
    left out; "module:id" imports the module first.
    """
    module, _, name = name.rpartition(":")
    importlib.import_module("stet.gym")
    if module:
        importlib.import_module(module)
    known = [key for key, spec in gymnasium.registry.items() if spec.vector_entry_point is not None]
    if name in known:
        return name
    short = {key.removeprefix("stet/").rsplit("-v", 1)[0]: key for key in known if key.startswith("stet/")}
    if name not in short:
        raise InvalidArgumentError(unknown_keyword("stet.gym", name, sorted(short), "task"))
    return short[name]


def find_class(task: str) -> Any:
    """The class of the task's vector environment."""
    entry = gymnasium.registry[find_task(task)].vector_entry_point
    return gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry


def make_task(task: str, num_envs: int, device: str = "auto", *, tensors: bool = True, **more: Any) -> Any:
    """The task's vector environment. tensors: with its episodes on the device, where it can have them."""
    env = gymnasium.make_vec(find_task(task), num_envs, device=device, **more)
    if not tensors:
        return env
    try:
        return stet.gym.TensorVectorEnv(env)
    except (TypeError, ValueError, NotImplementedError):  # its task is functions, or not in one step
        return env
