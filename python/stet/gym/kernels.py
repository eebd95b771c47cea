"""The public base of vector environments whose task is kernels; doc/environments.md shows one.

A step is one call into the extension: actions → physics → the task's kernels → NumPy. On a device whose physics are
kernels, too, all of it is listed and replayed as one thing.

Invariants:
    K1  the functions of VectorEnv (observation, reward …) show what the kernels wrote, so that a subclass may use and
        replace them, and pixels, tensors and domain randomisation work as in any other environment
    K2  where nothing of that is in use, step() is the call into the extension alone (_EnvStep), with the same results
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
from stet import _core

from ._base import count, final_info, reset_mask, space_of, split
from .vector import State, VectorEnv

_FUNCTIONS = ("observation", "reward", "terminated", "control", "info", "track")
_MODES = [AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]  # by their numbers in env.cpp


class KernelVectorEnv(VectorEnv):
    """Base of vector environments whose task is kernels. A subclass has `kernels`, and may have `begin`.

    observed   how many numbers the policy sees; the observation space is a Box without bounds of that many, float64
               (another single_observation_space may be float32). {"policy": 48, "critic": 72}: an observation is a dict
               of parts, float32, whose numbers kernels write side by side
    rewards    names of the terms whose sum is the reward
    shown      what else info has: names, or (name, how many numbers)

    All others as of VectorEnv. An action is written to the actuators as it is, if there are no `controls`.
    """

    action: stet.Array
    """[num_envs, actions] for kernels: what the policy did."""
    target: stet.Array
    """[num_envs, nu] With `actuators`, for these: the same, as noise and delays of `randomize` left it."""
    observed: stet.Array
    """[num_envs, observed], which kernels write."""
    worth: stet.Array
    """[num_envs, terms], which kernels write: those of the reward, then those shown, side by side."""
    failed: stet.Array
    """[num_envs, 1], int32, which kernels write if episodes may end by it: not 0 where it ends."""
    parts: dict[str, slice]
    """Which of the observed numbers are which part; empty where an observation is one array."""
    begun: stet.Array
    """[num_envs, 1], int32: 1 where an episode has just begun. Valid in kernels that run for such worlds."""

    def __init__(self, scene: str | os.PathLike[str] | stet.Model, num_envs: int = 1, device: str = "auto", *,
                 observed: int | dict[str, int], rewards: Sequence[str], shown: Sequence[str | tuple[str, int]] = (),
                 **more: Any) -> None:
        sizes = observed if isinstance(observed, dict) else {"": observed}
        ends = np.cumsum([count("observed", size, 1) for size in sizes.values()]).tolist()
        self._observed = ends[-1]
        self.parts = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends) if name}
        self._rewards = [rewards] if isinstance(rewards, str) else list(rewards)
        self._columns, first = {}, 0  # (first, width) by name; width 0: a number
        for one in (*self._rewards, *shown):
            name, width = (one, 0) if isinstance(one, str) else one
            if name in self._columns:
                raise ValueError(f"{type(self).__name__}: two terms are named {name!r}; give each a name of its own")
            self._columns[name] = first, width
            first += max(width, 1)
        self._nterm = max(first, 1)
        self._call = None  # the step in the extension, where it is all (K2)
        space = space_of(self.parts) if self.parts else spaces.Box(-np.inf, np.inf, (self._observed,), np.float64)
        self._seen_type = more.setdefault("single_observation_space", space).dtype or np.dtype(np.float32)
        super().__init__(scene, num_envs, device, **more)

    def kernels(self, begins: bool) -> Sequence[tuple[stet.Kernel, Sequence[object]]]:
        """Launches, (kernel, arguments) each, that write `observed`, `worth` and `failed` of all worlds: after the
        physics of each step, and, with `begins`, after some worlds have begun an episode, which `begun` marks; then
        what they write for other worlds is not looked at.
        """
        raise NotImplementedError(f"{type(self).__name__} has no function `kernels`")

    def controls(self) -> Sequence[tuple[stet.Kernel, Sequence[object]]]:
        """Launches before the physics of each step, which make controls of what the policy did, in place, in
        `sim.ctrl`. Other kernels see the controls there.
        """
        return ()

    def actuators(self) -> Sequence[tuple[stet.Kernel, Sequence[object]]]:
        """Launches before each of the frame_skip time steps, for models of actuators that look at the state more often
        than the policy acts (a PD at the motor, friction of a gear): they read `target` and the state, and write
        `sim.ctrl`. `controls`, if there are any, run once before them, and change `target`.
        """
        return ()

    def widths(self) -> np.ndarray:
        """[nq + nv] For episodes that begin on the device (TensorVectorEnv): each number of qpos, then of qvel, is
        within its width of `home` (of 0), uniformly.
        """
        raise NotImplementedError(f"{type(self).__name__} has no function `widths`, so its episodes cannot begin on "
                                  "the device")

    def spreads(self) -> np.ndarray | None:
        """[nq + nv] For the same: standard deviations of normal noise that is added to it. None: there is none."""
        return None

    def forget(self, mask: np.ndarray) -> None:
        """The worlds of the mask get a seed: what lasts from episode to episode is as it was in the beginning."""

    def drawn(self) -> Sequence[tuple[stet.Array, Any, Any]]:
        """For the same: arrays of worlds that are drawn for each episode, and their least and greatest numbers."""
        return ()

    # ---- made once ---------------------------------------------------------------------------------------------------

    def _make_device_episodes(self, episodes, graph):
        if episodes != "host" or graph:
            raise ValueError(f"{type(self).__name__}: its task is kernels; for episodes on the device use "
                             "stet.gym.TensorVectorEnv")

    def _make_kernels(self):
        sim, n = self.sim, self.num_envs
        if self._actuates:
            raise ValueError(f"{type(self).__name__}: its task is kernels, which run once a step, so it has no "
                             "`actuate`; write `actuators`, kernels that run in each time step, or use a VectorEnv")
        self.observed = sim.zeros((n, self._observed), "real", worlds=True, name="observed")
        self.worth = sim.zeros((n, self._nterm), "real", worlds=True, name="worth")
        self.failed = sim.zeros((n, 1), "int32", worlds=True, name="failed")
        self.begun = sim.zeros((n, 1), "int32", worlds=True, name="begun")
        self._steered = type(self).actuators is not KernelVectorEnv.actuators
        self._apart = self._table.changes_actions()  # what the actuators get is not what the policy did
        self.targets = sim.zeros(sim.ctrl.shape, "real", worlds=True, name="target") if self._steered else sim.ctrl
        self.action = sim.zeros(sim.ctrl.shape, "real", worlds=True, name="action") if self._apart else self.targets
        self._each_step = self._list_launches("actuators", self.actuators())
        self._before_step, self._in_step = self._list_launches("controls", self.controls()), []
        self._after_step, self._after_begin = (self._list_launches("kernels", self.kernels(begins))
                                               for begins in (False, True))
        if not self._steered:
            self._add_to_step()

    def _list_launches(self, function, launches):
        try:
            launches = [(kernel, list(arguments)) for kernel, arguments in launches]
        except TypeError:
            launches = None
        if launches is None or not all(isinstance(kernel, stet.Kernel) for kernel, _ in launches):
            raise ValueError(f"{type(self).__name__}.{function} returned no list of launches; return "
                             "[(kernel, arguments), …]")
        return launches

    def _add_to_step(self):
        self._in_step = [self.sim.add_kernel(phase, kernel, arguments)
                         for phase, launches in (("before_physics", self._before_step),
                                                 ("after_physics", self._after_step))
                         for kernel, arguments in launches]

    def take_from_step(self) -> None:
        """Takes the kernels out of the sim's step; the caller launches them."""
        for number in self._in_step:
            self.sim.remove_kernel(number)
        self._in_step = []

    def _launch(self, launches, name="the task"):
        with self.sim.record(name):
            for kernel, arguments in launches:
                kernel(self.num_envs, *arguments)

    def _advance(self, controls, before_last=None):
        if not self._steered:
            super()._advance(controls, before_last)
            return
        self.targets.write(controls)
        self._launch(self._before_step, "controls")
        for self.substep in range(self.frame_skip):
            self._launch(self._each_step, "actuators")
            self.sim.step(1)
        self._launch(self._after_step)

    def _make_call(self):
        """The step in the extension, if it is all that a step does."""
        own = all(getattr(type(self), name) is getattr(KernelVectorEnv, name) for name in _FUNCTIONS)
        more = self._table.rows or self._pixels or self.parts
        if not own or not self._in_step or more or self._arrays != "numpy":
            return None
        call = _core._EnvStep(self.action, self.observed, self.worth, self.failed, self.steps, self._over,
                              self._seen_type == np.float64)
        call.set_episodes(self.frame_skip, len(self._rewards), self.max_episode_steps,
                          _MODES.index(self.metadata["autoreset_mode"]))
        for name, (first, width) in self._columns.items():
            call.add_term(name, first, width)
        return call

    # ---- what kernels wrote, as the functions of VectorEnv (K1) -----------------------------------------------------

    def _see(self, array):
        return self._state.see(array.name, lambda: array)

    def observation(self, state: State) -> Any:
        seen = self._see(self.observed)
        return split(seen.astype(self._seen_type) if self._arrays == "numpy" else seen, self.parts)

    def _terms(self, names):
        worth, terms = self._see(self.worth), {}
        worth = worth.astype(np.float64) if self._arrays == "numpy" else worth
        for name in names:
            first, width = self._columns[name]
            terms[name] = worth[:, first : first + width] if width else worth[:, first]
        return terms

    def reward(self, state: State, action: Any) -> Any:
        return self._terms(self._rewards)

    def info(self, state: State) -> dict[str, Any]:
        return self._terms([name for name in self._columns if name not in self._rewards])

    def terminated(self, state: State) -> Any:
        return self._see(self.failed)[:, 0] != 0

    def _check_actions(self, actions):
        actions = super()._check_actions(actions)
        if self._apart:
            self.action.write(actions)
        return actions

    # ---- gymnasium's interface --------------------------------------------------------------------------------------

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self._ready and seed is not None:
            seeded = [one is not None for one in seed] if np.iterable(seed) else self._everywhere
            self.forget(np.asarray(seeded) & reset_mask(options, self.num_envs))
        seen = super().reset(seed=seed, options=options)
        self._call = self._call or self._make_call()
        return seen

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        call = self._call
        if call is None or "step" in self.sim.__dict__:  # somebody watches the sim (Sim.view)
            return super().step(actions)
        out = call(actions)
        if out is None:
            out = call(np.ascontiguousarray(self._check_actions(actions), np.float64))
        return out if len(out) == 5 else self._go_on(*out)

    def _go_on(self, seen, reward, terminated, truncated, terms, again):
        """The worlds that begin again now do."""
        faults = {name: terms.pop(name) for name in ("faults", "_faults") if name in terms}
        info = self._list_terms(terms, ~again) | faults
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            info |= final_info(again, seen, self._list_terms(terms, again))
        self._begin(again)
        return self._keep(self.observation(self._state), again, seen), reward, terminated, truncated, info

    def _begin(self, mask):
        super()._begin(mask)
        self.begun.write((self.steps == 0)[:, None])
        self._launch(self._after_begin)

    def close_extras(self, **kwargs: Any) -> None:
        self._call = None
        super().close_extras(**kwargs)
