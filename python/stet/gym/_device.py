"""Episodes on the device, of a VectorEnv whose functions are over PyTorch's tensors (episodes="device"): ends, resets,
initial states and statistics are tensors, and the host reads nothing of a step.

Invariants:
    D1  a step gives the bits of VectorEnv.step's own, as long as functions treat each world by itself
    D2  what lasts from step to step is written in place, so a captured step (_graph.py) finds it where it was
    D3  `begin` runs for all worlds, but changes neither states nor the environment's tensors of those that do not begin
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from . import _files
from ._graph import Cuda, StepGraph
from .draws import Draws


_OWN = ("steps", "before", "after", "_nowhere")  # tensors of an environment that no function of its task writes


def _version(x):
    """How often a tensor was written; None: nobody counts."""
    return None if x.is_inference() else x._version


class DeviceDraws(Draws):
    """Random numbers of all worlds, as tensors: of the episodes that begin, and once more of those that run."""

    def __init__(self, episodes: Any) -> None:
        self._of, self._library = episodes, episodes.torch
        self.worlds = episodes.worlds
        self._stream = self._streams = self._next = 0

    @property
    def begins(self) -> Any:
        return self._of.begins

    def _unit(self, size):
        blocks = (size + 3) // 4
        words = self._of.draw_words(self._stream, self._next, blocks)
        self._next += blocks
        return words[:, :size]

    def uniform(self, low: Any, high: Any, size: int) -> Any:
        low, high = map(self._of.constant, (low, high))
        return low + (high - low) * self._unit(size)

    def branch(self, row: int, occasion: Any) -> Draws:
        raise NotImplementedError("branches of random numbers are drawn on the host alone; use episodes='host'")


class DeviceEpisodes:
    """The episodes of an environment, in place of its own reset and step."""

    def __init__(self, env: Any, graph: bool, begins: bool) -> None:
        import torch

        sim, n, library = env.sim, env.num_envs, env._library
        self._env, self._sim, self._library, self.torch = env, sim, library, torch
        device = library.device
        self._mode = env.metadata["autoreset_mode"]

        def zeros(dtype, *shape):
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.worlds = torch.arange(n, device=device)
        self.begins, self._over, self._nowhere = zeros(torch.bool), zeros(torch.bool), zeros(torch.bool)
        self._number = zeros(torch.int32) - 1  # of each world's running episode
        self._returns, self._lengths = zeros(torch.float64), zeros(torch.int64)
        self._first = [zeros(torch.float64, x.shape[1]) for x in (sim.qpos, sim.qvel)]  # states before `begin`
        env.steps = zeros(torch.int64)
        self._kernel = _files.load_kernel(sim, "episode.k.h", "k_words")
        self._written = set()  # tensors of the task that `begin` writes
        self._constants, self._words, self._changes_states = {}, {}, begins
        self._mask = sim.zeros((n, 1), "int32", worlds=True, name="worlds that begin")
        self._key = sim.zeros((n, 2), "int32", worlds=True, name="keys of episodes")
        self._drawn = sim.zeros((n, 1), "int32", worlds=True, name="episodes that draw")
        if self._mode is AutoresetMode.NEXT_STEP:
            sim.set_reset(self._mask)
        self._pictures_last = env._pixels and self._mode is not AutoresetMode.SAME_STEP
        written = [sim.ctrl, sim.qpos, sim.qvel, self._mask, self._drawn]
        self._calls = Cuda(sim, device) if device.type == "cuda" else None
        self.graph = StepGraph(env, self._run, written, self._calls) if graph and self._calls else None

    # ---- random numbers ---------------------------------------------------------------------------------------------

    def constant(self, x):
        """Numbers as a tensor on the device, which is made once."""
        if isinstance(x, (int, float, self.torch.Tensor)):
            return x
        x = np.asarray(x)
        key = x.dtype.str, x.shape, x.tobytes()
        if key not in self._constants:
            self._constants[key] = self.torch.from_numpy(x.copy()).to(self.worlds.device)
        return self._constants[key]

    def draw_words(self, stream, first, blocks):
        """[num_envs, 4 * blocks] in [0, 1), multiples of 2**-32."""
        key = stream, first, blocks
        if key not in self._words:
            shape = self._env.num_envs, 4 * blocks
            name = "words {} {} {}".format(*key)
            self._words[key] = self._sim.zeros(shape, "int32", worlds=True, name=name)
        self._launch(self._words[key], *key)
        words = self._library.see(self._words[key]).to(self.torch.float64)
        return self.torch.where(words < 0, words + 2.0**32, words) * 2.0**-32

    def _launch(self, words, *counter):
        self._kernel(self._env.num_envs, self._key, self._drawn, words, *counter)

    # ---- episodes ---------------------------------------------------------------------------------------------------

    def reset(self, seed, options):
        """As VectorEnv.reset."""
        env, library = self._env, self._library
        mask = None if options is None else options.get("reset_mask")
        if isinstance(mask, self.torch.Tensor):
            options = {**options, "reset_mask": library.to_numpy(mask)}
        mask, seeded = env._begin_reset(seed, options, env._key)
        if self._calls is not None:
            self._calls.follow()
        self._key.write(env._key.view(np.int32))
        begins = library.from_numpy(mask)
        self._number.masked_fill_(library.from_numpy(seeded), -1)
        self._sim.reset(mask=mask)
        with self.torch.no_grad():
            self._begin(begins)
            for x in (self._over, self._returns, self._lengths):
                x.masked_fill_(begins, 0)
            self._track(begins)
            env._ready = True
            return env._copy(env._observe()), {}

    def _begin(self, begins):
        """The worlds of the mask, which were put back, begin an episode."""
        env, torch, library = self._env, self.torch, self._library
        self.begins.copy_(begins)
        self._number += begins
        env.steps.masked_fill_(begins, 0)
        if not self._changes_states:
            return
        library.write(self._drawn, self._number[:, None])
        rows, states = begins[:, None], (self._sim.qpos, self._sim.qvel)
        for state, first in zip(states, self._first):
            first.copy_(torch.where(rows, library.see(state), first))
        drawn, kept = [x.clone() for x in self._first], self._copy_tensors()
        try:
            env._check_begun(env.begin(*drawn, DeviceDraws(self)))
            self._put_rows_back(kept, begins)
        except Exception as error:
            error.add_note(f"{type(env).__name__}.begin: with episodes='device' it sees the tensors of all worlds "
                           "(doc/environments.md, Episodes on the device)")
            raise
        for state, x in zip(states, drawn):
            now = library.see(state)
            library.write(state, torch.where(rows, x.to(now.dtype), now))

    def _find_tensors(self):
        """The environment's own, [num_envs, …]: attributes, and what dicts that are attributes hold."""
        for name, value in vars(self._env).items():
            if name in _OWN:
                continue
            for key, x in value.items() if isinstance(value, dict) else [(name, value)]:
                if isinstance(x, self.torch.Tensor) and x.shape[:1] == (self._env.num_envs,):
                    yield value if isinstance(value, dict) else vars(self._env), key, x

    def _copy_tensors(self):
        """Before `begin`: what it may write, how often that was written, and its content; while a step is captured
        only of those that were written before.
        """
        capturing = self.graph is not None and self.graph.capturing
        return [(owner, key, x, _version(x), None if capturing and (id(owner), key) not in self._written else x.clone())
                for owner, key, x in self._find_tensors()]

    def _put_rows_back(self, kept, begins):
        """After `begin`: what it wrote for worlds that do not begin (D3)."""
        for owner, key, x, version, before in kept:
            now = owner[key]
            if now is x and version is not None and _version(x) == version:
                continue
            if before is None:
                raise RuntimeError(f"{key} was not written before the step was captured")
            self._written.add((id(owner), key))
            put = self._where(begins, now, before)
            if now is x:
                x.copy_(put)
            else:
                owner[key] = put

    def _track(self, rows=None):
        """What `track` says of the state now, in these worlds or in all."""
        env, tracked = self._env, self._env._track()
        if tracked is None:
            return
        if env.after is None:
            env.after = tracked.clone()
        else:
            env.after.copy_(tracked if rows is None else self._where(rows, tracked, env.after))

    def step(self, actions):
        """As VectorEnv.step, with tensors on the device alone."""
        env = self._env
        env._check_ready()
        if self._calls is not None:
            self._calls.follow()
        with self.torch.no_grad():
            actions = env._check_actions(actions)
            seen, *out, info = self._run(actions) if self.graph is None else self.graph(actions)
            return env._copy(env._observe()) if self._pictures_last else seen, *out, dict(info)

    def _run(self, action):
        env, torch, sim, library = self._env, self.torch, self._sim, self._library
        next_step = self._mode is AutoresetMode.NEXT_STEP
        fresh = self._over.clone() if next_step else self._nowhere
        library.write(sim.ctrl, env._controls(action))
        if next_step:
            library.write(self._mask, fresh[:, None].to(torch.int32))
        env._advance()
        env.steps += 1
        env.before = env._copy(env.after)
        self._track()
        reward, terms = env._rate(env._state, action)
        reward, live = reward.masked_fill(fresh, 0), ~fresh
        terminated = env._given("terminated", env.terminated(env._state), (env.num_envs,)) & live
        late = env.steps >= env.max_episode_steps if env.max_episode_steps else self._nowhere
        truncated = late & live
        over = terminated | truncated
        self._over.copy_(over)
        info = self._statistics(reward, live, over)
        if self._mode is AutoresetMode.SAME_STEP:
            seen = self._begin_at_once(over, terms, info)
        else:
            if next_step:  # they were put back behind the physics
                self._begin(fresh)
                self._track(fresh)
            seen = None if self._pictures_last else env._copy(env._observe())
            info |= self._list_terms(terms, live)
        return seen, reward, terminated, truncated, info

    def _begin_at_once(self, over, terms, info):
        env, last = self._env, self._env._copy(self._env._observe())
        info |= self._list_terms(terms, ~over)
        info |= {"final_obs": last, "_final_obs": over, "final_info": self._list_terms(terms, over),
                 "_final_info": over}
        if self._calls is None and not over.any():  # on a processor it costs nothing to know
            return last
        self._library.write(self._mask, over[:, None].to(self.torch.int32))
        self._put_back()
        self._begin(over)
        self._track(over)
        return self._where(over, env._observe(), last)

    def _put_back(self):
        self._sim.reset(self._mask)

    def _statistics(self, reward, live, over):
        """Of the episodes that end: their returns and lengths, as gymnasium's RecordEpisodeStatistics has them."""
        self._returns += reward
        self._lengths += live
        ended = {"r": self._returns.masked_fill(~over, 0), "l": self._lengths.masked_fill(~over, 0)}
        self._returns.masked_fill_(over, 0)
        self._lengths.masked_fill_(over, 0)
        return {"episode": ended, "_episode": over}

    def _list_terms(self, terms, mask):
        info = {}
        for name, term in terms.items():
            info[name], info["_" + name] = self._where(mask, term, self.torch.zeros_like(term)), mask
        return info

    def _where(self, mask, x, other):
        return self.torch.where(mask.reshape((-1,) + (1,) * (x.ndim - 1)), x, other)
