"""What the environments have in common: worlds of a sim as sub-environments, with episodes kept on the device
(episode.k.h).

A step is: the caller's actions → the task's kernels and the physics → k_episode (what ended) → k_begin (what begins
again). With MuJoCo's physics these kernels are a part of the sim's step; with external physics they are one recorded
list, and nothing of a step comes to the host.

Invariants:
    G1  worlds with the same number, seed and actions have the same trajectory, whatever num_envs is
    G2  observation, reward, terminated, truncated and the actions are plain arrays on the device, the same ones for the
        life of the environment: a tensor library imports them once. step() and reset() give copies of them in NumPy
    G3  an array of the caller's is never kept
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode

from stet import _core

from . import _files
from ._base import LOST, Base, final_info


class Tensors(NamedTuple):
    """An environment's arrays as a tensor library sees them; `final_observation` is None unless autoreset is SAME_STEP.
    """

    action: Any
    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    final_observation: Any


class Episodes(Base):
    """Base of environments that are kernels. A subclass makes the sim and says what its kernels are."""

    _source: str  # the file of the task's kernels
    _observes_array = False  # `observation` is an array that lasts
    _team = {}  # threads of a world on a GPU, as of Sim.kernel

    def __init__(
        self, sim, *, single_observation_space, single_action_space, autoreset_mode, max_episode_steps, render_mode
    ):
        super().__init__(sim, autoreset_mode=autoreset_mode, max_episode_steps=max_episode_steps,
                         render_mode=render_mode)
        self._set_spaces(single_observation_space, single_action_space)
        space = self.action_space
        self._bounds = (space.low, space.high) if hasattr(space, "low") else (space.start, space.start + space.nvec - 1)
        self._external = sim.physics == "external"  # it is one of the kernels
        self._views = self._call = None
        self._make_arrays()

    def _make_arrays(self):
        zeros, n = self.sim.zeros, self.num_envs
        self._key = zeros((n, 2), "int32", worlds=True, name="key")
        self._key_host = np.zeros((n, 2), np.int32)
        self._episode = zeros((n, 1), "int32", worlds=True, name="episode")
        self._steps = zeros((n, 1), "int32", worlds=True, name="steps")
        self._ended = zeros((n, 1), "int32", worlds=True, name="ended")
        self._again = zeros((n, 1), "int32", worlds=True, name="again")
        self._worth = zeros((n, 1), "real", worlds=True, name="worth")
        self._failed = zeros((n, 1), "int32", worlds=True, name="failed")
        self.reward = zeros((n,), "real", name="reward")
        self.terminated = zeros((n,), "uint8", name="terminated")
        self.truncated = zeros((n,), "uint8", name="truncated")
        self._step_faults = self.sim.step_faults
        self._broke = zeros((n, 1), "int32", worlds=True, name="faults that end episodes")

    # ---- kernels: a launch is (kernel, arguments) -----------------------------------------------------------------

    def _kernel(self, name, source=None):
        return _files.load_kernel(self.sim, source or self._source, name, **self._team)

    def _episode_launch(self):
        mode = self.metadata["autoreset_mode"]
        known = self._step_faults is not None
        args = (self._worth, self._failed, self._step_faults if known else self._failed, self._broke, self._steps,
                self._ended, self._again, self.reward, self.terminated, self.truncated, int(LOST) if known else 0,
                int(mode is AutoresetMode.SAME_STEP), int(mode is AutoresetMode.NEXT_STEP), self.max_episode_steps,
                self.num_envs)
        return self._kernel("k_episode", "episode.k.h"), args

    def _begin_launch(self, q, v, home, width):
        """home, width: of q and then v; an episode begins at home + width * a number in [-1, 1)."""
        nq, nv = q.shape[1], v.shape[1]
        self._home = self.sim.zeros((nq + nv,), "real", name="home")
        self._width = self.sim.zeros((nq + nv,), "real", name="width")
        self._home.write(np.asarray(home, np.float32))
        self._width.write(np.asarray(width, np.float32))
        args = (self._again, self._key, self._episode, self._steps, self._ended, self._home, self._width, q, v, nq, nv)
        return self._kernel("k_begin", "episode.k.h"), args

    def _launch(self, launches):
        for kernel, args in launches:
            kernel(self.num_envs, *args)

    def _set_launches(self, before, after, final, begin):
        """Launches before the physics; after it; of the last observation of an episode; and for worlds that begin."""
        self._begin = begin
        if self.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            final = []
        self._list = None
        if self._external:
            self._list = [*before, *after, *final, *begin]
            return
        for phase, launches in (("before_physics", before), ("after_physics", after + final), ("after_reset", begin)):
            for kernel, args in launches:
                self.sim.add_kernel(phase, kernel, args)
        self.sim.set_reset(self._again)

    def _advance(self):
        if self._list is None:
            self.sim.step(self._substeps)
        else:
            with self.sim.record("a step of the environment"):
                self._launch(self._list)

    # ---- gymnasium's face -----------------------------------------------------------------------------------------

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in all worlds, or in those of options["reset_mask"], bool [num_envs].

        A seed decides about all episodes of these worlds from now on; without one they go on with their next episode.
        """
        mask, seeded = self._begin_reset(seed, options, self._key_host.view(np.uint32))
        if seeded.any():
            self._seed_worlds(seeded)
        self._again.write(mask.astype(np.int32)[:, None])
        if self._list is None:
            self.sim.reset(mask=mask)
        self._launch(self._begin)
        self._ready = True
        self._observe()
        self._call = self._call or self._make_call()
        return self._observation(), {}

    def _seed_worlds(self, mask):
        self._key.write(self._key_host)
        episode = self._episode.numpy()
        episode[mask] = 0
        self._episode.write(episode)

    def _make_call(self):
        """The step in the extension, where what it returns is what kernels wrote."""
        if self._final is not None or not self._observes_array:
            return None
        low, high = (np.broadcast_to(x, self.action_space.shape).astype(np.float64) for x in self._bounds)
        seen = [self.observation, self.reward, self.terminated, self.truncated]
        call = _core._EpisodeStep(self._action, seen, low, high, getattr(self, "_substeps", 1))
        for kernel, args in self._list or ():
            call.add_launch(kernel, args)
        return call

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """A step of all worlds: observation, reward, terminated, truncated and info, in NumPy."""
        call = self._call
        if call is not None and "step" not in self.sim.__dict__:
            out = call(actions)
            if out is not None:
                return *out, self._fault_info(out[2])
        self._check_ready()
        self._write_actions(actions)
        self._advance()
        self._observe()
        terminated, truncated = self.terminated.numpy().view(np.bool_), self.truncated.numpy().view(np.bool_)
        info = self._final_info(terminated | truncated) | self._fault_info(terminated)
        return self._observation(), _float32(self.reward.numpy()), terminated, truncated, info

    def _write_actions(self, actions):
        """Checks what the space's contains() would, which is a third of a step of one cart-pole."""
        actions, (low, high) = np.asarray(actions), self._bounds
        if actions.dtype.kind == "f":
            actions = actions.astype(np.float32, copy=False)
        fits = actions.shape == low.shape and actions.dtype.kind in ("f" if low.dtype.kind == "f" else "iu")
        if not fits or not ((actions >= low) & (actions <= high)).all():
            raise ValueError(
                f"{type(self).__name__}.step: the actions ({actions.dtype} {list(actions.shape)}) are not in "
                f"the action space {self.action_space}"
            )
        self._action.write(actions.astype(self._action.dtype, copy=False).reshape(self._action.shape))

    def _fault_info(self, terminated):
        """What broke worlds whose episode it ends, if any did."""
        if self._step_faults is None or not terminated.any():
            return {}
        faults = self._broke.numpy()[:, 0].astype(np.uint32)
        return {"faults": faults, "_faults": faults != 0} if faults.any() else {}

    def _final_info(self, over):
        if self.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            return {}
        return final_info(over, self._split(_float32(self._final.numpy())) if over.any() else ())

    def _split(self, seen):
        """An observation as the space has it."""
        return seen

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the sim; tensors that were imported from it go on living."""
        self._views = self._call = None
        super().close_extras()

    # ---- the tensors' face ----------------------------------------------------------------------------------------

    def tensors(self, from_dlpack: Any) -> Tensors:
        """The environment's arrays, imported once by a library's from_dlpack (torch.from_dlpack,
        jax.dlpack.from_dlpack).

        Nothing is copied: step_tensors() writes into the same memory each time. `action` is for writing. The library's
        stream is to be handed over once (`env.sim.use_stream`), or ordered by `env.sim.wait_stream` and
        `signal_stream`.
        """
        self._check_open()
        if self._views is None or self._views[0] is not from_dlpack:
            seen = [None if array is None else from_dlpack(array.export(writable=False))
                    for array in (self.reward, self.terminated, self.truncated, self._final)]
            action = from_dlpack(self._action.export(writable=True, announced=True))
            self._views = from_dlpack, Tensors(action, self._import_observation(from_dlpack), *seen)
        return self._views[1]

    def _import_observation(self, from_dlpack):
        return from_dlpack(self.observation.export(writable=False))

    def step_tensors(self, actions: Any = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """A step whose arrays stay on the device: observation, reward, terminated, truncated, info.

        actions: a tensor on the device of the same type and shape as `tensors(…).action`, which is copied; or None:
        they were written there. Out of range they count as the nearest that is allowed. What comes back are the tensors
        of `tensors`, if it was called, else arrays with __dlpack__; the next step overwrites them.
        """
        self._check_ready()
        if actions is None:
            self._action.mark_written()
        else:
            self._action.write(actions)
        self._advance()
        self._observe()
        seen = self if self._views is None else self._views[1]
        return seen.observation, seen.reward, seen.terminated, seen.truncated, {}


def _float32(numbers):
    return numbers.astype(np.float32, copy=False)  # a device with isa "f64" has doubles
