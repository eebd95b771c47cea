"""An environment as it is at a time: Base.save and Base.restore.

Invariants:
    SAVED-1  after restore the environment goes on, to the bit, as it did after save, with the same actions
    SAVED-2  arrays are written where they are: kernels, graphs and tensors of the caller's go on with the same memory
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

import stet
from stet._arrays import tensor_type

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
# What does not change, or belongs to others: the sim is a snapshot, spaces draw for the policy.
_APART = ("sim", "observation_space", "action_space", "single_observation_space", "single_action_space", "metadata",
          "spec", "_state", "_library", "library", "_env", "_sim", "_of", "render_mode", "closed", "step", "close",
          "graph", "_step_faults")


class _Length(NamedTuple):
    """Of a list, whose elements are values of their own."""

    n: int


class _OfArray(NamedTuple):
    """Content of an array of the sim's."""

    values: Any


class Saved:
    """What Base.save returned; it can be pickled. It fits environments that were made in the same way."""

    def __init__(self, env: Any) -> None:
        sim = env.sim
        self._kind, self._worlds = type(env).__qualname__, env.num_envs
        self._snapshot = sim.snapshot()
        self._parameters = {name: sim.parameter(name) for name in sim.parameters if sim._has_parameter(name)}
        self._values: dict[tuple[Any, ...], Any] = {}
        for path, _, _, value in _walk(env):
            self._values[path] = _copy(value)

    def put_back(self, env: Any) -> None:
        """The environment becomes as it was."""
        if (self._kind, self._worlds) != (type(env).__qualname__, env.num_envs):
            raise stet.InvalidArgumentError(
                f"restore: it was saved by a {self._kind} of {self._worlds} worlds, and this is a "
                f"{type(env).__qualname__} of {env.num_envs}; make both alike")
        sim = env.sim
        given = {name for name in sim.parameters if sim._has_parameter(name)}
        for name in given - set(self._parameters):
            sim.set_parameter(name, None)
        for name, values in self._parameters.items():
            sim.set_parameter(name, values)
        sim.restore(self._snapshot)
        now = {path: (owner, key, value) for path, owner, key, value in _walk(env)}
        for path, saved in self._values.items():
            owner, key, value = now.get(path, (_find_owner(env, path), path[-1], None))
            if owner is not None and not _write(value, saved):
                _set(owner, key, _copy(saved))
        for path in now.keys() - self._values.keys():  # what came into being since
            owner, key, _ = now[path]
            if isinstance(owner, dict):
                owner.pop(key, None)

    def __repr__(self) -> str:
        return f"<stet.gym.Saved: {self._kind} of {self._worlds} worlds>"


def _walk(env):
    """(path, owner, key, value) of all values of an environment that a step may change, and of its parts'."""
    seen: set[int] = set()

    def look(path, owner, key, value):
        if _is_value(value):
            yield path, owner, key, value
        elif isinstance(value, stet.Array):
            # Those of the state are in the snapshot; "xpos of the step", Jacobians follow from it.
            name = value.name.split()[0]
            if name not in (*env.sim.fields, *env.sim.quantities) and not name.startswith("jac_"):
                yield path, owner, key, value
        elif id(value) in seen:
            return
        elif isinstance(value, dict):
            seen.add(id(value))
            for name, one in list(value.items()):
                yield from look((*path, name), value, name, one)
        elif isinstance(value, (list, tuple)):
            seen.add(id(value))
            if isinstance(value, list) and all(map(_is_value, value)):
                yield path, owner, key, value
            for number, one in enumerate(value):
                yield from look((*path, number), value, number, one)
        elif type(value).__module__.startswith("stet.gym.") or getattr(value, "sim", None) is env.sim:
            seen.add(id(value))
            for name, one in list(getattr(value, "__dict__", {}).items()):
                if name not in _APART:
                    yield from look((*path, name), value, name, one)

    return look((), None, None, env)


def _is_value(value):
    tensor = tensor_type(value) is not None and not getattr(value, "requires_grad", False)
    return tensor or isinstance(value, (*_PLAIN, np.ndarray, np.random.Generator))


def _find_owner(env, path):
    """Of a value that is there no more: what held it, if that is."""
    owner = env
    for key in path[:-1]:
        if isinstance(owner, dict):
            owner = owner.get(key)
        elif isinstance(owner, (list, tuple)):
            owner = owner[key] if key < len(owner) else None
        else:
            owner = getattr(owner, key, None)
    return owner


def _copy(value):
    if isinstance(value, list):
        return _Length(len(value))
    if isinstance(value, stet.Array):
        return _OfArray(value.numpy())
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    return value.detach().clone() if tensor_type(value) == "torch" else value


def _write(value, saved):
    """Into an array that there is; False: there is none that could be written."""
    if isinstance(saved, _Length):
        if isinstance(value, list):
            value[saved.n:] = [None] * (saved.n - len(value))
        return True
    if isinstance(saved, _OfArray):  # one that is not there yet is made when it is needed
        if isinstance(value, stet.Array) and not np.array_equal(value.host(), saved.values):
            value.write(saved.values)
        return True
    if isinstance(value, _PLAIN):
        return type(value) is type(saved) and value == saved
    if isinstance(value, np.random.Generator):
        value.bit_generator.state = saved.bit_generator.state
        return True
    shape = getattr(value, "shape", None)
    if value is None or shape is None or shape != getattr(saved, "shape", None) or value.dtype != saved.dtype:
        return False
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = saved
        return True
    if tensor_type(value) == "torch":
        value.copy_(saved)
        return True
    return False


def _set(owner, key, value):
    if isinstance(owner, (dict, list)):
        owner[key] = value
    elif not isinstance(owner, tuple):
        setattr(owner, key, value)
