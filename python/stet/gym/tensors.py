"""Tasks as kernels whose episodes are kernels, too: nothing of a step comes to the host (_episodes.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ._episodes import Episodes, _float32
from ._base import space_of, split
from .kernels import KernelVectorEnv


class TensorVectorEnv(Episodes):
    """The environment of a KernelVectorEnv, with episodes that end and begin on the device, for training with PyTorch
    or JAX: with native physics on a GPU a step is one recording.

        envs = stet.gym.TensorVectorEnv(stet.gym.robots.QuadrupedJoystickVectorEnv(4096, "cuda"))
        now = envs.tensors(torch.from_dlpack)
        envs.reset(seed=1)
        now.action[:] = policy(now.observation)
        envs.step_tensors()                         # now.observation, now.reward … are those after the step

    It takes the environment over, which is not to be used by itself any more. Observations and rewards are float32, and
    the reward is the sum of the terms, which `info` does not have. Episodes begin as the environment's `widths` and
    `drawn` say, with other random numbers than those of the environment by itself. An observation of parts is one
    tensor of all its numbers (`parts` says where each is); reset and step give a dict. Rows of `randomize` are of
    parameters and looks with every="world", which a reset with a seed sets. With pixels an observation is the picture,
    which is drawn after the step; then autoreset_mode is NEXT_STEP or DISABLED.
    """

    def __init__(self, env: KernelVectorEnv) -> None:
        if not isinstance(env, KernelVectorEnv):
            raise TypeError(f"TensorVectorEnv takes a KernelVectorEnv, not {type(env).__name__}; functions over "
                            "tensors have episodes='device'")
        name, mode = type(env).__name__, env.metadata["autoreset_mode"]
        for row in env._table.rows:
            if not row.is_parameter or row.every != "world":
                raise ValueError(f"{name}: {row.who}: the host draws nothing in a step; TensorVectorEnv takes "
                                 "parameters of the physics and looks with every='world', which reset(seed=…) draws "
                                 "again")
        if env._pixels and mode is AutoresetMode.SAME_STEP:
            raise ValueError(f"{name}: with pixels TensorVectorEnv needs autoreset_mode NEXT_STEP or DISABLED")
        if env._each_step:
            raise ValueError(f"{name}: its `actuators` run in each time step, and TensorVectorEnv runs kernels once a "
                             "step; use the environment as it is, or a frame_skip of 1 and `controls`")
        widths = np.asarray(env.widths())
        if not env._in_step:
            raise ValueError(f"{name}: with physics={env.sim.physics!r} its kernels are not a part of one step; "
                             "use 'native'")
        env.take_from_step()
        self.env, self._substeps, self._pixels = env, env.frame_skip, env._pixels
        self.parts: dict[str, slice] = {} if env._pixels else env.parts
        self._observes_array = not env._pixels and not self.parts
        seen = spaces.Box(-np.inf, np.inf, (env.observed.shape[1],), np.float32)
        seen = env.single_observation_space if env._pixels else space_of(self.parts) if self.parts else seen
        super().__init__(env.sim, single_observation_space=seen,
                         single_action_space=env.single_action_space, autoreset_mode=mode,
                         max_episode_steps=env.max_episode_steps, render_mode=env.render_mode)
        self.metadata = {**self.metadata, "render_fps": env.metadata["render_fps"]}
        self._make_task(widths)

    def _make_task(self, widths):
        env, sim, n = self.env, self.sim, self.num_envs
        seen = env.observed.shape[1]
        self._action = sim.zeros(sim.ctrl.shape, "real", name="action")
        self._seen = sim.zeros((n, seen), "real", name="observation")
        same_step = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._final = sim.zeros((n, seen), "real", name="final observation") if same_step else None
        self._failed, env.begun = env.failed, self._again
        show = self._task_kernel("k_show")
        take = self._task_kernel("k_take"), (self._action, sim.ctrl, sim.model.nu, n)
        total = self._task_kernel("k_total"), (env.worth, self._worth, len(env._rewards))
        begin = self._begin_launch(sim.qpos, sim.qvel, np.concatenate([env.home, np.zeros(sim.model.nv)]), widths)
        self._set_launches(
            before=[take, *env.controls()],
            after=[*env.kernels(False), total, self._episode_launch(),
                   (show, (env.observed, self._again, self._seen, seen, 0, n))],
            final=[(show, (env.observed, self._again, self._final, seen, 0, n))],
            begin=[*self._draw_launches(), begin, *self._disturb_launches(), *env.kernels(True),
                   (show, (env.observed, self._again, self._seen, seen, 1, n))])

    def _seed_worlds(self, mask):
        super()._seed_worlds(mask)
        env = self.env
        env._key[mask], env._episode[mask] = self._key_host.view(np.uint32)[mask], 0
        env._table.begin(np.flatnonzero(mask))
        env.forget(mask)

    @property
    def randomized(self) -> dict[str, np.ndarray]:
        """As of VectorEnv."""
        return self.env.randomized

    def _task_kernel(self, name):
        return self._kernel(name, "episode.k.h")

    def _disturb_launches(self):
        """Normal noise of positions and velocities; the episodes' numbers are those of the next ones by then."""
        spreads, out, first = self.env.spreads(), [], 0
        for row, state in enumerate((self.sim.qpos, self.sim.qvel), 1):
            n = state.shape[1]
            part = None if spreads is None else np.asarray(spreads, np.float32)[first : first + n]
            first += n
            if part is None or not part.any():
                continue
            spread = self.sim.zeros((n,), "real", name=f"spread of {state.name}")
            spread.write(part)
            out.append((self._task_kernel("k_disturb"), (self._again, self._key, self._episode, spread, state, n,
                                                         -row)))
        return out

    def _draw_launches(self):
        out = []
        for row, (array, *bounds) in enumerate(self.env.drawn(), 1):
            n, plain = array.shape[1], []
            for what, values in zip(("least", "most"), bounds):
                plain.append(self.sim.zeros((n,), "real", name=f"{what} of {array.name}"))
                plain[-1].write(np.broadcast_to(np.asarray(values, np.float32), (n,)))
            out.append((self._task_kernel("k_draw"), (self._again, self._key, self._episode, *plain, array, n, row)))
        return out

    # ---- what is seen -----------------------------------------------------------------------------------------------

    @property
    def observation(self) -> Any:
        """What the policy sees, on the device: [num_envs, …], or the picture, which lasts until the next step."""
        return self.sim.tensor("rgb", frame=self._frame) if self._pixels else self._seen

    def _observe(self):
        if not self._pixels:
            return
        self._frame = self.sim.render()
        if self._views is not None:
            from_dlpack, seen = self._views
            self._views = from_dlpack, seen._replace(observation=self._import_observation(from_dlpack))

    def _import_observation(self, from_dlpack):
        return from_dlpack(self.observation) if self._pixels else super()._import_observation(from_dlpack)

    def _observation(self):
        if self._pixels:
            return self.sim.read("rgb", frame=self._frame)
        return self._split(_float32(self._seen.numpy()))

    def _split(self, seen):
        return split(seen, self.parts)
