"""What stet's vector environments have in common: spaces, modes, seeds of worlds, pictures, what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

import stet
from stet import _core
from stet._convert import unknown_keyword

from ._saved import Saved

LOST = np.uint32(sum(bit for name, bit in _core._tables()["faults"].items()
                      if name in ("bad_qpos", "bad_qvel", "bad_qacc", "physics_error")))


class Base(VectorEnv):
    """Worlds of a sim as gymnasium's sub-environments."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50, "autoreset_mode": AutoresetMode.NEXT_STEP}
    _autoreset_modes = tuple(AutoresetMode)
    sim: stet.Sim
    """The `stet.Sim` behind the environment: its counters, timing, streams, arrays."""
    max_episode_steps: int
    """After which an episode is truncated; 0: never."""

    def __init__(self, sim, *, autoreset_mode, max_episode_steps, render_mode):
        self.sim = sim
        self.num_envs = sim.nworld
        self.render_mode = pick_render_mode(render_mode, self.metadata["render_modes"])
        self.max_episode_steps = count("max_episode_steps", max_episode_steps, 0)
        self.metadata = {**self.metadata, "autoreset_mode": self._pick_autoreset(autoreset_mode)}
        self._ready = False  # reset was called

    def _set_spaces(self, observation, action):
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = batch_space(observation, self.num_envs)
        self.action_space = batch_space(action, self.num_envs)

    def _pick_autoreset(self, mode):
        known = {x: m for m in self._autoreset_modes for x in (m, m.value, m.name)}
        if mode not in known:
            names = ", ".join(m.name for m in self._autoreset_modes)
            mode = getattr(mode, "name", mode)
            raise ValueError(f"{type(self).__name__}: there is no autoreset_mode {mode} here; use "
                             f"gymnasium.vector.AutoresetMode's {names}")
        return known[mode]

    def _begin_reset(self, seed, options, keys):
        """The worlds that a reset is of, bool [num_envs], and those of them that a seed is for, which get new keys
        (two numbers, for the initial states of episodes) in keys [num_envs, 2].
        """
        self._check_open()
        check_options(options, type(self).__name__)
        mask = reset_mask(options, self.num_envs)
        if not self._ready and not mask.all():
            raise ResetNeeded(f"{type(self).__name__}.reset: the first reset is of all worlds, without reset_mask")
        seeds = seed if np.iterable(seed) else [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ValueError(f"{type(self).__name__}.reset: {len(seeds)} seeds for {self.num_envs} worlds")
        for one in seeds if np.iterable(seed) else [seed]:
            if one is not None and (not isinstance(one, (int, np.integer)) or one < 0):
                raise ValueError(f"{type(self).__name__}.reset: a seed is {one!r}; give a whole number of at least 0, "
                                 "one for each world, or None")
        super().reset(seed=None if seed is None or np.iterable(seed) else int(seed))
        seeded = mask & (not self._ready or seeds is not seed and seed is not None)
        if seeded.any():
            keys[seeded] = self.np_random.integers(0, 2**32, 2, np.uint32)
        for world in (w for w in np.flatnonzero(mask) if seeds[w] is not None):
            keys[world] = np.random.SeedSequence(seeds[world]).generate_state(2)
            seeded[world] = True
        return mask, seeded

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """When a world whose episode ended begins again, also under metadata["autoreset_mode"]."""
        return self.metadata["autoreset_mode"]

    def save(self) -> Saved:
        """The whole of the environment as it is now: the sim's state and parameters, episodes, commands, delays, what
        was drawn and what will be. Of a subclass these are its attributes that are numbers, texts, arrays (of NumPy,
        PyTorch, JAX, or the sim's), and dicts, lists and tuples of them. It can be pickled.
        """
        self._check_ready()
        return Saved(self)

    def restore(self, saved: Saved) -> None:
        """Puts the environment back to what save() returned, also of another environment that was made in the same
        way: from here on it gives, to the bit, what it gave then, if it gets the same actions.
        """
        self._check_open()
        if not isinstance(saved, Saved):
            raise stet.ArgumentTypeError(f"restore takes what save() returned, not a {type(saved).__name__!r}")
        saved.put_back(self)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of each world, a tuple of uint8 [height, width, 3]; None without render_mode "rgb_array"."""
        self._check_ready()
        if self.render_mode is None:
            return None
        return tuple(self._picture())

    def _picture(self):
        return self.sim.read("rgb", frame=self.sim.render())

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the sim; tensors that were imported from it go on living."""
        self.sim.close()

    def _check_open(self):
        if self.closed:
            raise ClosedEnvironmentError(f"{type(self).__name__} was closed; make another one")

    def _check_ready(self):
        self._check_open()
        if not self._ready:
            raise ResetNeeded(f"{type(self).__name__}: call reset() before the first step or picture")


def final_info(over, rows, info=None):
    """info of SAME_STEP: the last observations of the worlds that are over, from all rows, which nobody writes any
    more; and their last info.
    """
    if not over.any():
        return {}
    final = np.full(len(over), None, object)
    for world in np.flatnonzero(over):
        final[world] = row_of(rows, world)
    return {"final_obs": final, "_final_obs": over.copy(), "final_info": info or {}, "_final_info": over.copy()}


def split(seen, parts):
    """The parts of an observation whose numbers lie side by side, [num_envs, all]: slices by name; none: it is one."""
    return {name: seen[:, at] for name, at in parts.items()} if parts else seen


def space_of(parts):
    """Of such parts: boxes without bounds."""
    return spaces.Dict({name: spaces.Box(-np.inf, np.inf, (at.stop - at.start,), np.float32)
                        for name, at in parts.items()})


def row_of(rows, world):
    """A world's part of an observation of all, which may be a dict."""
    return {name: part[world] for name, part in rows.items()} if isinstance(rows, dict) else rows[world]


def lost_faults(sim):
    """[num_envs] The faults of worlds that did not go on: the physics put them back, or could not compute them; else 0.
    """
    return sim.faults() & LOST


def count(name, value, least):
    """A whole number of at least `least`."""
    if not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; give a whole number of at least {least}")
    return int(value)


def pick_device(device, physics):
    """Where physics is as it was asked for: MuJoCo's runs on the processor."""
    return device if device is not None else "cpu" if physics == "mujoco" else "auto"


_said: set[str] = set()


def say_difference(env, physics, whose, observation, reward):
    """Once a class: physics that stet chose is its own, whose numbers are not those of the task's home. observation,
    reward: greatest errors in a step.
    """
    name = type(env).__name__
    if physics != "auto" or env.sim.physics != "native" or name in _said:
        return
    _said.add(name)
    warnings.warn(f"{name} has stet's native physics, which is faster. From the same state a step gives {whose}'s "
                  f"observation within {observation} and reward within {reward}; physics=\"mujoco\" gives its very "
                  "numbers, physics=\"native\" asks for this without a warning", stacklevel=4)


def pick_render_mode(mode, known):
    """A known mode, or None."""
    if mode is not None and mode not in known:
        raise ValueError(f"render_mode is {mode!r}; use one of {known}, or None")
    return mode


def check_options(options, who, known=("reset_mask",)):
    """Refuses options of a reset that are unknown."""
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options is a {type(options).__name__!r}; give a dict, or None")
    for name in options or ():
        if name not in known:
            raise ValueError(unknown_keyword(f"{who}.reset", str(name), known, "option"))


def reset_mask(options, n):
    """options["reset_mask"] of a reset, or all worlds."""
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return np.ones(n, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        has = f"an array of {mask.dtype}" if isinstance(mask, np.ndarray) else f"a {type(mask).__name__!r}"
        raise TypeError(f"options['reset_mask'] is {has}; give an array of bool [{n}]")
    if mask.shape != (n,):
        raise ValueError(f"options['reset_mask'] has shape {mask.shape}; give ({n},)")
    if not mask.any():
        raise ValueError("options['reset_mask'] is False everywhere; at least one world is to be reset")
    return mask
