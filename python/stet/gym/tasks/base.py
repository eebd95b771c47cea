"""What the tasks have in common: an action is where servos hold their joints, an observation has a part for the policy,
with noise, and one for its critic, and random numbers within an episode follow from its dice (common.k.h).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

import stet
from stet._convert import unknown_keyword
from stet._errors import InvalidArgumentError
from stet.gym import _files
from stet.gym.kernels import KernelVectorEnv

MOST = 10.0
"""An action's greatest number."""


class TaskVectorEnv(KernelVectorEnv):
    """Base of the tasks. An action is a number for each joint with a servo, within 10: how far its angle is from the
    keyframe's, in quarters of its greatest torque over its stiffness. (With `_step` it is how far to go from there, in
    that many radians.) Keywords as of VectorEnv, and

    disturb   False: no pushes, and no noise in what the policy sees
    weights   of terms of the reward, in place of the task's: {"change": -0.01}
    """

    terms: tuple[str, ...]
    """Terms of the reward, in the order of the task's kernel."""
    measured: tuple[str, str, float]
    """What an episode that does not fail has at most, on average ("mean") or at its end ("last"): stet play --measure.
    """
    measured_with: dict[str, Any] = {"disturb": False}
    training: dict[str, Any] = {"obs_groups": {"actor": ["policy"], "critic": ["critic"]},
                                "algorithm": {"entropy_coef": 0.01}}
    """What replaces parts of stet.train.SETTINGS."""
    training_keywords: dict[str, Any] = {}
    """Keywords of the environment while a policy is trained, where none are given."""
    previous: stet.Array
    """[num_envs, nu] The last actions; 0 when an episode begins."""
    change: stet.Array
    """[num_envs, nu] How far they are from those before."""
    dice: stet.Array
    """[num_envs, 2] What random numbers of the episode follow from."""
    tick: stet.Array
    """[num_envs, 1] Steps of the episode."""
    _usual: dict[str, float]  # weights
    _step: float | None = None  # rad: an action moves what the servos hold by this; None: from the keyframe
    _defaults: dict[str, Any] = {"frame_skip": 4, "max_episode_steps": 1000}

    def __init__(self, model: stet.Model, num_envs: int, device: str, policy: int, critic: int, disturb: bool,
                 weights: Mapping[str, float] | None, **more: Any) -> None:
        self._disturb, self.weights = int(disturb), {**dict.fromkeys(self.terms, 0.0), **self._usual, **(weights or {})}
        for name in self.weights:
            if name not in self.terms:
                raise InvalidArgumentError(unknown_keyword(type(self).__name__, name, self.terms, "term of the reward"))
        super().__init__(model, num_envs, device, observed={"policy": policy, "critic": critic}, rewards=self.terms,
                         shown=[self.measured[0]],
                         single_action_space=spaces.Box(-MOST, MOST, (model.nu,), np.float32),
                         **{**self._defaults, **more})

    # ---- what kernels read and write ---------------------------------------------------------------------------------

    def _make_kernels(self):
        nu = self.sim.model.nu
        self._scale = self._plain("scale", self._scales(nu))
        self._range = self._plain("range", self.sim.parameter("actuator_ctrlrange")[0])
        self._own(previous=nu, change=nu, held=nu, dice=2)
        self._own("int32", tick=1)
        self._make_task(nu)
        super()._make_kernels()

    def _scales(self, nu):
        """[nu] What an action of 1 is, rad."""
        effort = self.sim.parameter("actuator_forcerange")[0].reshape(-1, 2)[:, 1]
        return 0.25 * effort / self.sim.parameter("actuator_kp")[0]

    def _make_task(self, nu):
        """Makes the arrays and tables of a task, among them _hold [nu], the angles that the action 0 stands for."""

    def _plain(self, name, values):
        """A table that is the same for all worlds."""
        values = np.asarray(values, float)
        out = self.sim.zeros(values.shape, "real", name=name)
        out.write(values)
        return out

    def _own(self, dtype="real", **items):
        """Arrays of worlds, which become attributes."""
        for name, count in items.items():
            setattr(self, name, self.sim.zeros((self.num_envs, count), dtype, worlds=True, name=name))

    def _kernel(self, file, name):
        return _files.load_kernel(self.sim, f"tasks/{file}.k.h", name)

    def _limits(self, joints, part=0.9):
        """Of joints, as a slice: the lower and the upper end of this part of their ranges."""
        low, high = self.sim.parameter("jnt_range")[0].reshape(-1, 2)[joints].T
        middle, half = (low + high) / 2, (high - low) / 2
        return middle - part * half, middle + part * half

    def controls(self):
        if self._step is not None:
            return [(self._kernel("common", "k_nudge"), (
                self.sim.ctrl, self.previous, self.change, self.held, self.tick, self._hold, self._range, self._step,
                MOST, self.sim.model.nu))]
        return [(self._kernel("common", "k_act"), (self.sim.ctrl, self.previous, self.change, self._hold, self._scale,
                                                   MOST, self.sim.model.nu))]

    # ---- how episodes begin: kernels do it, from the dice ------------------------------------------------------------

    def widths(self):
        return np.zeros(self.sim.model.nq + self.sim.model.nv)

    def drawn(self):
        return [(self.dice, 0, 2**24)]

    def begin(self, qpos, qvel, draws):
        for array, low, high in self.drawn():
            values = array.numpy()
            values[draws.worlds] = draws.uniform(low, high, array.shape[1])
            array.write(values)


def pick(table: Mapping[str, float], names: Sequence[str]) -> list[float]:
    """Of each name the number of the first expression that matches the whole of it."""
    return [next(x for expression, x in table.items() if re.fullmatch(expression, name)) for name in names]


def noise_of(*parts: tuple[float, int]) -> np.ndarray:
    """Widths of noise: (width, how many numbers), one after the other."""
    return np.concatenate([np.full(n, width) for width, n in parts])
