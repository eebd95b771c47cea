"""Episodes on the device, of a VectorEnv whose functions are over arrays of PyTorch or JAX (episodes="device"): ends,
resets, initial states and statistics are such arrays, and the host reads nothing of a step.

Invariants:
    D1  a step gives the bits of VectorEnv.step's own, as long as functions treat each world by itself
    D2  what lasts from step to step is written in place where arrays can be (library.put), so a captured step
        (_graph.py) finds it where it was
    D3  `begin` runs for all worlds, but changes neither states nor the environment's arrays of those that do not begin
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from . import _files
from ._base import LOST, check_options
from ._graph import Cuda, StepGraph
from .draws import Draws


_OWN = ("steps", "before", "after", "_nowhere")  # arrays of an environment that no function of its task writes


class DeviceDraws(Draws):
    """Random numbers of all worlds, as arrays of the library: of the episodes that begin, and once more of those that
    run.
    """

    def __init__(self, episodes: Any, key: Any) -> None:
        self._of, self.library, self._key = episodes, episodes.library.module, key
        self.worlds = episodes.worlds
        self._stream = self._streams = self._next = 0

    @property
    def begins(self) -> Any:
        return self._of.begins

    def _unit(self, size):
        blocks = (size + 3) // 4
        words = self._of.draw_words(self._key, self._stream, self._next, blocks)
        self._next += blocks
        return words[:, :size]

    def uniform(self, low: Any, high: Any, size: int) -> Any:
        low, high = map(self._of.constant, (low, high))
        return low + (high - low) * self._unit(size)

    def constant(self, x: Any) -> Any:
        return self._of.constant(x)

    def branch(self, row: int, occasion: Any) -> Draws:
        return DeviceDraws(self._of, self._of.draw_key(row, occasion))


def _end(library, limit, failed, fresh, steps, reward, returns, lengths):
    """What a step was worth, and which episodes end with it: by failing, or by their length. `fresh` begin with it. Of
    those that end also returns and lengths (0 elsewhere), as gymnasium's RecordEpisodeStatistics has them; and what is
    left of both.
    """
    live = ~fresh
    reward = library.zero(reward, fresh)
    terminated = failed & live
    truncated = (steps >= limit) & live if limit else live & fresh
    over = terminated | truncated
    returns, lengths = returns + reward, lengths + live
    ended = {"r": library.zero(returns, ~over), "l": library.zero(lengths, ~over)}
    return reward, live, terminated, truncated, over, ended, library.zero(returns, over), library.zero(lengths, over)


def _list_terms(library, terms, mask):
    info = {}
    for name, term in terms.items():
        info[name], info["_" + name] = library.zero(term, ~mask), mask
    return info


class DeviceEpisodes:
    """The episodes of an environment, in place of its own reset and step."""

    def __init__(self, env: Any, graph: bool, begins: bool) -> None:
        sim, n, library = env.sim, env.num_envs, env._library
        self._env, self._sim, self.library, self._table = env, sim, library, env._table
        self._mode = env.metadata["autoreset_mode"]
        self._looks = sim.device.type == "cpu"  # on a processor it costs nothing to know whether any episode ended

        def zeros(dtype, *shape):
            return library.from_numpy(np.zeros((n, *shape), dtype))

        self.worlds = library.from_numpy(np.arange(n))
        self.begins, self._over, self._nowhere = zeros(np.bool_), zeros(np.bool_), zeros(np.bool_)
        self.number = zeros(np.int32) - 1  # of each world's running episode
        self._returns, self._lengths = zeros(np.float64), zeros(np.int64)
        self._first = [zeros(np.float64, x.shape[1]) for x in (sim.qpos, sim.qvel)]  # states before `begin`
        self.doubles = self._first[0]  # an array of their type
        env.steps = zeros(np.int64)
        self._end = library.compile(functools.partial(_end, library, env.max_episode_steps))
        self._list_terms = library.compile(functools.partial(_list_terms, library))
        self._kernels = {name: _files.load_kernel(sim, "episode.k.h", name)
                         for name in ("k_words", "k_branch", "k_lost")}
        self._written = set()  # arrays of the task that `begin` writes
        self._constants, self._words, self._branches, self._begins = {}, {}, {}, begins
        self._changes_states = begins or self._table.changes_states()
        self._mask = sim.zeros((n, 1), "int32", worlds=True, name="worlds that begin")
        self._key = sim.zeros((n, 2), "int32", worlds=True, name="keys of episodes")
        self._drawn = sim.zeros((n, 1), "int32", worlds=True, name="episodes that draw")
        self._step_faults = sim.step_faults
        self._lost = sim.zeros((n, 1), "int32", worlds=True, name="faults that end episodes")
        self.draws = DeviceDraws(self, self._key)
        if self._mode is AutoresetMode.NEXT_STEP:
            sim.set_reset(self._mask)
        self._pictures_last = env._pixels and self._mode is not AutoresetMode.SAME_STEP
        self._written_arrays = [sim.ctrl, sim.qpos, sim.qvel, self._mask, self._drawn, *self._table.written()]
        in_stream = env._arrays == "torch" and library.device.type == "cuda"
        self._calls = Cuda(sim, library.device) if in_stream else None
        self.graph = StepGraph(env, self._run, self._written_arrays, self._calls) if graph and self._calls else None

    # ---- random numbers ---------------------------------------------------------------------------------------------

    def constant(self, x):
        """Numbers as an array on the device, which is made once."""
        if isinstance(x, (int, float, self.library.type)):
            return x
        x = np.asarray(x)
        key = x.dtype.str, x.shape, x.tobytes()
        if key not in self._constants:
            self._constants[key] = self.library.from_numpy(x.copy())
        return self._constants[key]

    def draw_words(self, key, stream, first, blocks):
        """[num_envs, 4 * blocks] in [0, 1), under a key."""
        counter = stream, first, blocks
        if (key.name, counter) not in self._words:
            self._words[key.name, counter] = self._make_array(4 * blocks, "words {} {} {} of {}", *counter, key.name)
        words = self._words[key.name, counter]
        self._launch("k_words", key, self._drawn, words, *counter)
        return self.library.unit(self.library.see(words))

    def draw_key(self, row, occasion):
        """The key of a row of a table, when it is drawn for this occasion: a number, or one a world."""
        if row not in self._branches:
            self._branches[row] = (self._make_array(1, "occasions of row {}", row),
                                   self._make_array(2, "keys of row {}", row))
            self._written_arrays.append(self._branches[row][0])
        occasions, key = self._branches[row]
        self.library.write(occasions, self.library.cast(0 * self.number + occasion, self.number)[:, None])
        self._launch("k_branch", self._key, self._drawn, occasions, key, row)
        return key

    def _make_array(self, width, name, *of):
        return self._sim.zeros((self._env.num_envs, width), "int32", worlds=True, name=name.format(*of))

    def _launch(self, kernel, *arguments):
        self._kernels[kernel](self._env.num_envs, *arguments)

    # ---- episodes ---------------------------------------------------------------------------------------------------

    def reset(self, seed, options):
        """As VectorEnv.reset. A mask on the device stays there, if there are no seeds."""
        env, library = self._env, self.library
        mask = options.get("reset_mask") if isinstance(options, dict) else None
        env._check_open()
        check_options(options, type(env).__name__)
        if self._calls is not None:
            self._calls.follow()
        if isinstance(mask, library.type) and seed is None and env._ready:
            begins, mask = self._check_mask(mask), None
            self._put_rows_of(begins)
        else:
            if isinstance(mask, library.type):
                options = {**options, "reset_mask": library.to_numpy(mask)}
            mask, seeded = env._begin_reset(seed, options, env._key)
            self._key.write(env._key.view(np.int32))
            begins = library.from_numpy(mask)
            self.number = library.put(self.number, library.zero(self.number + 1, library.from_numpy(seeded)) - 1)
            env._episode[seeded] = 0
            self._sim.reset(mask)
        with library.no_grad():
            self._begin(begins, mask)
            for name in ("_over", "_returns", "_lengths"):
                x = getattr(self, name)
                setattr(self, name, library.put(x, library.zero(x, begins)))
            self._track(begins)
            env._ready = True
            return env._copy(env._observe()), {}

    def _check_mask(self, mask):
        n = self._env.num_envs
        if mask.dtype != self.library.bool or tuple(mask.shape) != (n,):
            raise ValueError(f"options['reset_mask'] is {mask.dtype} {list(mask.shape)}; give bool [{n}]")
        return mask

    def _begin(self, begins, mask=None):
        """The worlds of begins, which were put back, begin an episode; mask: the same, if the host knows it."""
        env, library = self._env, self.library
        self.begins = library.put(self.begins, begins)
        self.number = library.put(self.number, self.number + begins)
        env.steps = library.put(env.steps, library.zero(env.steps, begins))
        library.write(self._drawn, self.number[:, None])
        self._table.begin(begins, mask)
        if not self._changes_states:
            return
        rows, states = begins[:, None], (self._sim.qpos, self._sim.qvel)
        self._first = [library.put(first, library.where(rows, library.cast(library.see(state), first), first))
                       for state, first in zip(states, self._first)]
        first = [library.keep(x) for x in self._first]
        first = self._call_begin(first, begins) if self._begins else first
        for state, x in zip(states, self._table.begin_state(first)):
            now = library.see(state)
            library.write(state, library.where(rows, library.cast(x, now), now))

    def _call_begin(self, first, begins):
        kept = self._copy_tensors()
        first = self._env._call_begin(first, DeviceDraws(self, self._key))
        self._put_rows_back(kept, begins)
        return first

    def _find_tensors(self):
        """The environment's own, [num_envs, …]: attributes, and what dicts that are attributes hold."""
        for name, value in vars(self._env).items():
            if name in _OWN:
                continue
            for key, x in value.items() if isinstance(value, dict) else [(name, value)]:
                if isinstance(x, self.library.type) and x.shape[:1] == (self._env.num_envs,):
                    yield value if isinstance(value, dict) else vars(self._env), key, x

    def _copy_tensors(self):
        """Before `begin`: what it may write, how often that was written, and its content; while a step is captured
        only of those that were written before.
        """
        capturing, library = self.graph is not None and self.graph.capturing, self.library
        return [(owner, key, x, library.version(x),
                 None if capturing and (id(owner), key) not in self._written else library.keep(x))
                for owner, key, x in self._find_tensors()]

    def _put_rows_back(self, kept, begins):
        """After `begin`: what it wrote for worlds that do not begin (D3)."""
        library = self.library
        for owner, key, x, version, before in kept:
            now = owner[key]
            if now is x and version is not None and library.version(x) == version:
                continue
            if before is None:
                raise RuntimeError(f"{key} was not written before the step was captured")
            self._written.add((id(owner), key))
            put = library.where_rows(begins, now, before)
            owner[key] = library.put(x, put) if now is x else put

    def _track(self, rows=None):
        """What `track` says of the state now, in these worlds or in all."""
        env, tracked, library = self._env, self._env._track(), self.library
        if tracked is None:
            return
        if env.after is None:
            env.after = library.own(tracked)
        else:
            env.after = library.put(env.after, tracked if rows is None else
                                    library.where_rows(rows, tracked, env.after))

    def step(self, actions):
        """As VectorEnv.step, with arrays on the device alone."""
        env = self._env
        env._check_ready()
        if self._calls is not None:
            self._calls.follow()
        with self.library.no_grad():
            actions = env._check_actions(actions)
            seen, *out, info = self._run(actions) if self.graph is None else self.graph(actions)
            return env._copy(env._observe()) if self._pictures_last else seen, *out, dict(info)

    def _run(self, action):
        env, sim, library = self._env, self._sim, self.library
        next_step = self._mode is AutoresetMode.NEXT_STEP
        fresh = library.keep(self._over) if next_step else self._nowhere
        table = self._table
        if table:
            table.before_step()
        controls = env._controls(table.act(action) if table else action)
        env._advance(controls, (lambda: self._write_mask(fresh)) if next_step else None)
        env.steps = library.put(env.steps, env.steps + 1)
        if table:
            table.after_step()
        env.before = None if env.after is None else library.keep(env.after)
        self._track()
        reward, terms = env._rate(env._state, action)
        failed = env._given("terminated", env.terminated(env._state), (env.num_envs,))
        faults = self._take_faults(fresh)
        failed = failed | (faults != 0)
        reward, live, terminated, truncated, over, ended, *left = self._end(
            failed, fresh, env.steps, reward, self._returns, self._lengths)
        self._over = library.put(self._over, over)
        self._returns, self._lengths = map(library.put, (self._returns, self._lengths), left)
        info = {"episode": ended, "_episode": over, "faults": faults, "_faults": faults != 0}
        if self._mode is AutoresetMode.SAME_STEP:
            seen = self._begin_at_once(over, terms, info)
        else:
            if next_step:  # they were put back behind the physics
                self._begin(fresh)
                self._track(fresh)
            seen = None if self._pictures_last else env._copy(env._observe())
            info |= self._list_terms(terms, live)
        return seen, reward, terminated, truncated, info

    def _take_faults(self, fresh):
        """[num_envs] What broke worlds in this step, which ends their episodes; 0 elsewhere."""
        if self._step_faults is not None:
            self._launch("k_lost", self._step_faults, self._lost, int(LOST))
        return self.library.zero(self.library.see(self._lost)[:, 0], fresh)

    def _begin_at_once(self, over, terms, info):
        env, last = self._env, self._env._copy(self._env._observe())
        info |= self._list_terms(terms, ~over)
        info |= {"final_obs": last, "_final_obs": over, "final_info": self._list_terms(terms, over),
                 "_final_info": over}
        if self._looks and not over.any():
            return last
        self._put_rows_of(over)
        self._begin(over)
        self._track(over)
        return env._where(over, env._observe(), last)

    def _write_mask(self, rows):
        self.library.write(self._mask, rows[:, None])

    def _put_rows_of(self, mask):
        self._write_mask(mask)
        self._put_back()

    def _put_back(self):
        self._sim.reset(self._mask)
