"""The public base of vector environments whose task is functions over arrays; doc/environments.md shows one.

A step is: action → control → physics → observation, reward, terminated → the worlds that begin again.

Invariants:
    V1  worlds with the same number, seed and actions have the same trajectory, whatever num_envs is
    V2  what functions return is copied where the environment keeps it; what they see is valid during the call
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
from stet._arrays import find_arrays
from stet._convert import unknown_keyword
from stet._errors import ArgumentTypeError, add_note
from stet.sim import SimOptions
from stet.state import State

from ._base import Base, count, final_info, lost_faults
from .draws import Draws
from .randomize import Randomize, Randomizer

if TYPE_CHECKING:
    from typing_extensions import Unpack


_NEVER = 2**62  # steps


class Rebound:
    """Within `with`: which of a function's arguments, `names` behind self, are bound anew (`x = …`, but not `x += …`)
    when its call ends. Nothing is found while a profiler runs.
    """

    def __init__(self, function: Callable[..., Any], names: Sequence[str]) -> None:
        self.names: list[str] = []
        self._code, self._given, self._among = getattr(inspect.unwrap(function), "__code__", None), None, names

    def __enter__(self) -> Rebound:
        self._on = self._code is not None and sys.getprofile() is None
        if self._on:
            sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        if self._on:
            sys.setprofile(None)

    def _see(self, frame, event, _):
        if frame.f_code is not self._code or event not in ("call", "return"):
            return
        own = self._code.co_varnames[1:1 + len(self._among)]
        now = [frame.f_locals.get(name) for name in own]
        if event == "call":
            self._given = now
        elif self._given:
            self.names = [name for name, old, new in zip(self._among, self._given, now) if old is not new]


class VectorEnv(Base):
    """Base of vector environments of one's own. A subclass has `observation` and `reward`, and may have `terminated`,
    `begin`, `control`, `actuate`, `track` and `info`.

    scene, num_envs, device   as of stet.Sim (its worlds are the sub-environments), and so are all further keywords
    frame_skip                time steps of the physics in a step
    single_observation_space  None: a Box without bounds, of what `observation` returns
    single_action_space       None: a Box of the actuators' ranges
    max_episode_steps         after which an episode is truncated; 0: never
    autoreset_mode            gymnasium's NEXT_STEP, SAME_STEP or DISABLED
    arrays                    what functions see and return: "numpy", "torch" or "jax"
    episodes                  "host", or, with arrays="torch" or "jax", "device": ends, resets, initial states and
                              statistics are such arrays, too; `begin` then sees those of all worlds
    graph                     with arrays="torch" and episodes="device" on a GPU: a step is captured as one graph, whose
                              tensors the next step writes over
    randomize                 rows of domain randomisation (Randomize); None: those of the class
    pixels                    True: an observation is not what `observation` returns but the picture of the sim's first
                              camera (`cameras`), uint8 [height, width, 3]
    render_mode               "rgb_array": `render` gives pictures of width x height
    width, height             of pictures; None: 64 with pixels, else 480
    """

    randomize: Sequence[Randomize] = ()
    """The table of domain randomisation of a class; the keyword of this name replaces it."""
    device: Any
    """Where the functions' arrays are: torch.zeros(…, device=self.device). "cpu" for NumPy."""
    dt: float
    """Seconds of a step."""
    home: np.ndarray
    """[nq] The state that episodes begin at, before `begin` changes it."""
    substep: int = 0
    """In `actuate`: which of the step's time steps begins."""
    steps: Any
    """[num_envs] Steps of each world's episode; 0: it has just begun. A tensor with episodes="device"."""

    def __init__(self, scene: str | os.PathLike[str] | stet.Model, num_envs: int = 1, device: str = "auto", *,
                 frame_skip: int = 1, single_observation_space: spaces.Space[Any] | None = None,
                 single_action_space: spaces.Space[Any] | None = None, max_episode_steps: int = 0,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP, arrays: str = "numpy",
                 episodes: str = "host", graph: bool = False, randomize: Sequence[Randomize] | None = None,
                 pixels: bool = False, render_mode: str | None = None, width: int | None = None,
                 height: int | None = None, **sim: Unpack[SimOptions]) -> None:
        self._check_keywords(sim)
        self.frame_skip = count("frame_skip", frame_skip, 1)
        self._pixels, size = pixels, 64 if pixels else 480
        width, height = (size if x is None else count(name, x, 1) for name, x in (("width", width), ("height", height)))
        pictures = {"outputs": ("rgb",), "width": width, "height": height}
        pictures = pictures if pixels or render_mode is not None else {}
        sim = stet.Sim(scene, count("num_envs", num_envs, 1), device, **{**pictures, **sim})
        super().__init__(sim, autoreset_mode=autoreset_mode, max_episode_steps=max_episode_steps,
                         render_mode=render_mode)
        self.dt = self.frame_skip * sim.model.timestep
        self.metadata["render_fps"] = round(1 / self.dt)
        n = self.num_envs
        self.steps, self._over = np.zeros(n, np.int64), np.zeros(n, np.bool_)
        self._everywhere = np.ones(n, np.bool_)
        self._key, self._episode = np.zeros((n, 2), np.uint32), np.zeros(n, np.int64)
        self._arrays, self._library = arrays, find_arrays(arrays, sim)
        self._state, self.home = State(sim, self._library), sim.qpos.numpy()[0]
        self.before = self.after = None
        self._began = False  # `begin` was called
        self._actuates = type(self).actuate is not VectorEnv.actuate
        self.device = self._library.device
        self._nowhere = self._library.from_numpy(np.zeros(n, np.bool_))
        self._table = self._make_table(self.randomize if randomize is None else randomize, episodes)
        self._make_kernels()
        self._device = self._make_device_episodes(episodes, graph)
        self.setup()
        if pixels:
            single_observation_space = spaces.Box(0, 255, (pictures["height"], pictures["width"], 3), np.uint8)
        self._set_spaces(single_observation_space or self._guess_space(), single_action_space or self._control_space())
        self._table.add_signals()

    def _check_keywords(self, more):
        """Those that Sim takes are left; a misspelt one may have been meant for either."""
        known = [*getattr(self, "_defaults", ()), *SimOptions.__annotations__]
        known += [name for base in type(self).__mro__ if "__init__" in base.__dict__
                 for name, one in inspect.signature(base.__init__).parameters.items()
                 if name != "self" and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        for name in more:
            if name == "worlds":
                raise ArgumentTypeError(f"{type(self).__name__} has no argument 'worlds'; their number is num_envs")
            if name not in SimOptions.__annotations__:
                raise ArgumentTypeError(unknown_keyword(type(self).__name__, name, list(dict.fromkeys(known))))

    def _make_kernels(self):
        """What a base with another kind of functions needs; nothing has been observed yet."""

    def _make_table(self, rows, episodes):
        if episodes != "device" or self._arrays == "numpy":
            return Randomizer(self, rows)
        from ._device_rows import DeviceRandomizer

        return DeviceRandomizer(self, rows)

    def _make_device_episodes(self, episodes, graph):
        name, mode = type(self).__name__, self.metadata["autoreset_mode"]
        if episodes not in ("host", "device"):
            raise ValueError(f"episodes is {episodes!r}; use 'host' or 'device'")
        if episodes == "host":
            if graph:
                raise ValueError(f"{name}: graph=True needs episodes='device'")
            return None
        if self._arrays == "numpy":
            raise ValueError(f"{name}: episodes='device' is for functions over tensors; give arrays='torch' or 'jax'")
        if graph and self._arrays != "torch":
            raise ValueError(f"{name}: graph=True is for arrays='torch'; functions over JAX's arrays call what jax.jit "
                             "compiled")
        if self.sim.device.type != "cpu" and self.sim.physics != "native":
            raise ValueError(f"{name}: with physics={self.sim.physics!r} a step is not on the device; use 'native'")
        if graph and self._pixels and mode is AutoresetMode.SAME_STEP:
            raise ValueError(f"{name}: with pixels graph=True needs autoreset_mode NEXT_STEP or DISABLED")
        if graph:
            self._table.check_graph()
        from ._device import DeviceEpisodes

        return DeviceEpisodes(self, graph, type(self).begin is not VectorEnv.begin)

    @property
    def captured(self) -> bool:
        """Whether a step is the replay of one graph (graph=True) by now."""
        return self._device is not None and self._device.graph is not None and self._device.graph.captured

    def _guess_space(self):
        try:
            seen = self.observation(self._state)
        except AttributeError as error:
            if getattr(error, "obj", self) is self:
                add_note(error, f"VectorEnv.__init__ calls {type(self).__name__}.observation to find its space; make "
                                "what it uses in a method `setup`, or before super().__init__")
            raise
        if isinstance(seen, dict):
            return spaces.Dict({name: self._box_of(part, name) for name, part in seen.items()})
        return self._box_of(seen)

    def _box_of(self, seen, part=None):
        seen = self._library.to_numpy(self._given("observation", seen, term=part))
        return spaces.Box(-np.inf, np.inf, seen.shape[1:], seen.dtype)

    def _control_space(self):
        low, high = (self.sim.control_table(name).numpy()[: self.sim.model.nu] for name in ("low", "high"))
        return spaces.Box(low.astype(np.float32), high.astype(np.float32))

    @property
    def randomized(self) -> dict[str, np.ndarray]:
        """What the rows of `randomize` drew last, by their names, [num_envs, numbers], read-only. sim.parameter(name)
        has the values that the physics has now.
        """
        return self._table.seen()

    # ---- the task ---------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Makes what the functions keep and use. Called once by __init__, when self.sim, self.num_envs and self.device
        are there, and before `observation` is asked for the first time.
        """

    def observation(self, state: State) -> Any:
        """[num_envs, …] What the policy sees; or a dict of such arrays, for which the space is a Dict."""
        raise NotImplementedError(f"{type(self).__name__} has no function `observation`")

    def reward(self, state: State, action: Any) -> Any:
        """[num_envs] What the step was worth; or a dict of such terms, whose sum it is, and which `info` then has."""
        raise NotImplementedError(f"{type(self).__name__} has no function `reward`")

    def terminated(self, state: State) -> Any:
        """[num_envs] bool: where the episode ends. By default nowhere."""
        return self._nowhere

    def begin(self, qpos: Any, qvel: Any, draws: Draws) -> tuple[Any, Any] | None:
        """Changes the initial states of the worlds that begin an episode, in place, or returns both: qpos [k, nq], qvel
        [k, nv], which are those of the keyframe, always in NumPy. Random numbers come from `draws`:
        draws.uniform(low, high, size), draws.normal(size), both [k, size]; draws.worlds are the worlds' numbers.

        With episodes="device" these are arrays of the library, of all worlds; what it does to those that do not begin
        now (draws.begins is False) is undone, also in arrays [num_envs, …] that are attributes of the environment.
        """

    def control(self, action: Any) -> Any:
        """[num_envs, nu] The controls of an action; by default the action."""
        return action

    def actuate(self, state: State, action: Any) -> Any:
        """[num_envs, nu] The controls of one time step of the physics: for models of actuators that look at the state
        more often than the policy acts (a PD at the motor, delays and friction of a gear, a network). `action` is what
        `control` made of the policy's action. A class that has this function gets it called before each of the
        frame_skip time steps; self.substep counts them from 0.
        """
        raise NotImplementedError(f"{type(self).__name__} has no function `actuate`")

    def track(self, state: State) -> Any:
        """[num_envs, …] What `reward` wants to know of the state before the step: then self.before has it, and
        self.after the same of the state after the step.
        """
        return None

    def info(self, state: State) -> dict[str, Any]:
        """Further arrays for the info of a step, [num_envs, …] by name."""
        return {}

    def _given(self, function, x, shape=None, term=None):
        """What a function of the task returned (as this term), which is numbers of all worlds, [num_envs, …], or has
        this shape.
        """
        library, given = self._library, self._library.given(x)
        known = isinstance(given, library.type)
        has = tuple(given.shape) if known else ()
        fits = known and given.dtype != object and (has[:1] == (self.num_envs,) if shape is None else has == shape)
        if fits and (function != "terminated" or given.dtype == library.bool):
            return given
        returned = f"{given.dtype} of shape {list(has)}" if known and np.shape(x) else f"a {type(x).__name__!r}"
        returned = "a dict without terms" if isinstance(x, dict) and not x else returned
        wanted = f"[{self.num_envs}, …]" if shape is None else list(shape)
        kind = "a torch.Tensor" if self._arrays == "torch" else "an array"
        returned += f" as {term!r}" if term else ""
        raise ValueError(f"{type(self).__name__}.{function} returned {returned}; return {kind}"
                         f"{' of bool' if function == 'terminated' else ''} of shape {wanted}")

    # ---- gymnasium's interface --------------------------------------------------------------------------------------

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in all worlds, or in those of options["reset_mask"], bool [num_envs].

        A seed decides about all episodes of these worlds from now on; without one they go on with their next episode.
        """
        if self._device is not None:
            return self._device.reset(seed, options)
        mask = options.get("reset_mask") if isinstance(options, dict) else None
        if isinstance(mask, self._library.type):
            options = {**options, "reset_mask": self._library.to_numpy(mask)}
        mask, seeded = self._begin_reset(seed, options, self._key)
        self._episode[seeded] = 0
        self._begin(mask)
        whole = mask.all()
        self.after = self._keep(self._track(), None if whole else mask, self.after)
        self._ready = True
        return self._copy(self._observe()), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """A step of all worlds: observation, reward, terminated, truncated and info."""
        if self._device is not None:
            return self._device.step(actions)
        self._check_ready()
        actions = self._check_actions(actions)
        mode, state = self.metadata["autoreset_mode"], self._state
        fresh = None  # worlds that begin with this step
        if mode is AutoresetMode.NEXT_STEP and np.count_nonzero(self._over):
            fresh = self._over.copy()
        if self._table:
            self._table.before_step()
            self._advance(self._controls(self._table.act(actions)))
        else:
            self._advance(self._controls(actions))
        self.steps += 1
        if self._table:
            self._table.after_step()
        self.before, self.after = self.after, self._copy(self._track())
        reward, terms = self._rate(state, actions)
        failed = self._given("terminated", self.terminated(state), (self.num_envs,))
        faults = lost_faults(self.sim)
        terminated = self._library.to_numpy(failed) | (faults != 0)
        truncated = self.steps >= (self.max_episode_steps or _NEVER)
        if fresh is not None:
            reward = self._where(fresh, 0.0, reward)
            terminated &= ~fresh
            truncated &= ~fresh
            faults[fresh] = 0
        np.logical_or(terminated, truncated, out=self._over)
        again = fresh
        if mode is AutoresetMode.SAME_STEP and np.count_nonzero(self._over):
            again = self._over.copy()
        seen = self._copy(self._observe())
        info = self._list_terms(terms, self._everywhere if again is None else ~again)
        if np.count_nonzero(faults):
            info |= {"faults": faults, "_faults": faults != 0}
        if again is not None:
            if mode is AutoresetMode.SAME_STEP:
                info |= final_info(again, seen, self._list_terms(terms, again))
            self._begin(again)
            self.after = self._keep(self._track(), again, self.after)
            seen = self._keep(self._observe(), again, seen)
        return seen, reward, *map(self._library.from_numpy, (terminated, truncated)), info

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the sim, and forgets a captured step with its memory."""
        self._device = None
        super().close_extras(**kwargs)

    def _controls(self, actions):
        return self._given("control", self.control(actions), None if self._actuates else self.sim.ctrl.shape)

    def _check_actions(self, actions):
        name, given = type(self).__name__, type(actions).__name__
        try:
            actions = self._library.act(actions)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{name}.step: the actions are a {given!r} that holds no numbers; the action space is "
                             f"{self.action_space}") from error
        if getattr(actions.dtype, "kind", "f") not in "fiub" or getattr(actions.dtype, "is_complex", False):
            raise ValueError(f"{name}.step: the actions are {actions.dtype}; give numbers of the action space "
                             f"{self.action_space}")
        if tuple(actions.shape) != self.action_space.shape:
            raise ValueError(f"{name}.step: the actions have shape {list(actions.shape)}; the action space is "
                             f"{self.action_space}")
        return actions

    def _track(self):
        tracked = self.track(self._state)
        return None if tracked is None else self._given("track", tracked)

    def _observe(self):
        if not self._pixels:
            seen = self._take_seen(self.observation(self._state))
            return self._table.observe(seen) if self._table else seen
        frame = self.sim.render()
        return self._library.see_picture(self.sim, "rgb", frame)

    def _take_seen(self, seen):
        """What `observation` returned, as the space says."""
        space = self.observation_space
        if not isinstance(space, spaces.Dict):
            return self._given("observation", seen, space.shape)
        if not isinstance(seen, dict) or seen.keys() != space.keys():
            has = f"a dict of {list(seen)}" if isinstance(seen, dict) else f"a {type(seen).__name__!r}"
            raise ValueError(f"{type(self).__name__}.observation returned {has}; return a dict of {list(space)}")
        return {name: self._given("observation", seen[name], space[name].shape, name) for name in space}

    def _advance(self, controls, before_last=None):
        """The physics of a step. before_last: called before the sim's last step in it."""
        count, steps = (self.frame_skip, 1) if self._actuates else (1, self.frame_skip)
        for self.substep in range(count):
            if self._actuates:
                made = self._given("actuate", self.actuate(self._state, controls), self.sim.ctrl.shape)
                self._write_controls(made)
            else:
                self._write_controls(controls)
            if before_last is not None and self.substep == count - 1:
                before_last()
            self.sim.step(steps)

    def _write_controls(self, controls):
        if self._device is None:
            self.sim.ctrl.write(controls)
        else:
            self._library.write(self.sim.ctrl, controls)

    def _rate(self, state, actions):
        """The reward, and what info has by name."""
        worth, shape = self.reward(state, actions), (self.num_envs,)
        parts, more = worth.items() if isinstance(worth, dict) else (), self.info(state)
        if not isinstance(more, dict):
            raise ValueError(f"{type(self).__name__}.info returned a {type(more).__name__!r}; return a dict of arrays")
        terms = {name: self._given("reward", part, shape, name) for name, part in parts}
        reward = sum(terms.values()) if terms else self._copy(self._given("reward", worth, shape))
        terms |= {name: self._given("info", x, term=name) for name, x in more.items()}
        return reward, {name: self._copy(term) for name, term in terms.items()}

    def _list_terms(self, terms, mask):
        """The info of the worlds in the mask, as gymnasium has it."""
        info, marked = {}, np.count_nonzero(mask) if terms else 0
        whole = marked == len(mask)
        for name, term in terms.items() if marked else ():
            info[name], info["_" + name] = term if whole else self._where(~mask, 0.0, term), mask.copy()
        return info

    def _begin(self, mask):
        """The initial states of the marked worlds' next episodes."""
        worlds = np.flatnonzero(mask)
        self.sim.reset(mask=mask)
        self._table.begin(worlds)
        qpos, qvel = self.sim.qpos.numpy(), self.sim.qvel.numpy()
        first = [x[worlds].astype(np.float64) for x in (qpos, qvel)]
        first = self._call_begin(first, self._draws(worlds))
        qpos[worlds], qvel[worlds] = self._table.begin_state(first, worlds)
        self.sim.qpos.write(qpos)
        self.sim.qvel.write(qvel)
        self._episode[worlds] += 1
        self.steps[worlds] = 0
        self._over[worlds] = False

    def _call_begin(self, first, draws):
        """The initial states by `begin`. What it does that would be lost is said."""
        states = self.sim.qpos, self.sim.qvel
        written = [x.generation for x in states]
        before = () if self._began else self._numpy_of(first)
        rebound = Rebound(type(self).begin, ("qpos", "qvel"))
        try:
            with contextlib.nullcontext() if self._began else rebound:
                returned = self.begin(*first, draws)
        except Exception as error:
            what = ("'host' it sees NumPy's arrays of the worlds that begin" if type(first[0]) is np.ndarray else
                    "'device' it sees the arrays of all worlds")
            if self._arrays != "numpy":
                add_note(error, f"{type(self).__name__}.begin: with episodes={what} (doc/environments.md)")
            raise
        for state, generation in zip(states, written):
            if state.generation != generation:
                raise ValueError(f"{type(self).__name__}.begin wrote into sim.{state.name}, where its arguments qpos "
                                 "and qvel are written afterwards; change these instead")
        self._began = True
        for name, old, new in zip(("qpos", "qvel"), before, self._numpy_of(first) if before else ()):
            if returned is None and name in rebound.names and np.array_equal(old, new):
                warnings.warn(f"{type(self).__name__}.begin binds {name} to another array and returns nothing, so "
                              f"episodes begin with the old one; change it in place ({name}[:] = …, {name} += …), or "
                              "return qpos, qvel", RuntimeWarning, stacklevel=4)
        return self._take_begun(first, returned)

    def _numpy_of(self, states):
        """Copies."""
        return [np.array(x if isinstance(x, np.ndarray) else self._library.to_numpy(x)) for x in states]

    def _take_begun(self, first, returned):
        """The initial states: what `begin` returned, or else what it changed."""
        kind, name = type(first[0]), type(self).__name__
        if returned is None and (kind is np.ndarray or self._library.changes):
            return first
        if returned is None:
            raise ValueError(f"{name}.begin returned nothing; JAX's arrays cannot be changed in place: return qpos, "
                             "qvel")
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2
        if pair and kind is not np.ndarray and not all(isinstance(x, self._library.type) for x in returned):
            raise ValueError(f"{name}.begin returned a {type(returned[0]).__name__!r} and a "
                             f"{type(returned[1]).__name__!r}; return two of {self._library.type.__name__!r}")
        wanted, has = (", ".join(str(list(np.shape(x))) for x in some) for some in (first, returned if pair else ()))
        if pair and has == wanted:
            return [np.array(x, np.float64) for x in returned] if kind is np.ndarray else returned
        raise ValueError(f"{name}.begin returned {has or f'a {type(returned).__name__!r}'}; return nothing, or both "
                         f"states, {wanted}")

    def _draws(self, worlds, before=0):
        """Random numbers of these worlds in the episode that begins; before=1: in the one before, which is running."""
        return Draws(self._key[worlds], worlds, self._episode[worlds] - before)

    # ---- of any library ---------------------------------------------------------------------------------------------

    def _copy(self, x):
        if isinstance(x, dict):
            return {name: self._library.own(part) for name, part in x.items()}
        return x if x is None else self._library.own(x)

    def _where(self, mask, x, other):
        """Rows of x where the mask is set, of the other elsewhere."""
        if isinstance(x, dict):
            return {name: self._where(mask, part, other[name]) for name, part in x.items()}
        mask = mask if isinstance(mask, self._library.type) else self._library.from_numpy(mask)
        return self._library.where_rows(mask, x, other)

    def _keep(self, x, mask, other):
        return self._copy(x) if mask is None or x is None else self._where(mask, x, other)
