"""The cart-pole, of MuJoCo or of its equations of motion; the task and its kernels are in cartpole.k.h."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet

from . import _files
from ._base import count
from ._episodes import Episodes, _float32
from .env import Env

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stet.sim import SimOptions

_FARTHEST = 2.4  # m
_STEEPEST = math.radians(12)
_WIDTH = 0.05  # of initial states, m, rad and their rates
_DT = 0.02  # seconds of a step, and of a step of the scene's


class CartPoleVectorEnv(Episodes):
    """num_envs cart-poles; the task of gymnasium's CartPole-v1.

    Observation, float32 [4]: x of the cart (m), its rate, angle of the pole (rad), its rate. Action: 0 or 1, a force of
    10 N to the left or right; or with continuous=True float32 [1] in [-1, 1] times 10 N. Reward: 1 a step. Terminated:
    the cart is farther than 2.4 m from the middle, or the pole leans more than 12 degrees. Truncated: after
    max_episode_steps (0: never). An episode begins with each number of the state within 0.05 of 0.

    physics: "external", the equations of motion in a kernel, semi-implicit Euler: on a GPU a step is one recording and
    nothing of it comes to the host; or "mujoco", the same cart-pole (scenes/cartpole_classic.xml) stepped by MuJoCo; or
    "native", by stet's own physics, which is one recording on a GPU, too.
    device, and all further keywords: as of stet.Sim. Pictures of width x height with render_mode "rgb_array".
    """

    _source = "cartpole.k.h"
    _observes_array = True
    _substeps = 1
    _team = {"team": 1, "teams": 32}  # a thread a world

    def __init__(self, num_envs=1, device="auto", *, physics="external", continuous=False, max_episode_steps=500,
                 autoreset_mode=AutoresetMode.NEXT_STEP, render_mode=None, width=300, height=200,
                 **sim: Unpack[SimOptions]):
        if physics not in ("external", "mujoco", "native"):
            raise ValueError(f"physics is {physics!r}; use 'external', 'mujoco' or 'native'")
        outputs = () if render_mode is None else ("rgb",)
        sim = stet.Sim(_files.scene("cartpole_classic.xml"), worlds=count("num_envs", num_envs, 1), device=device,
                       physics=physics, outputs=outputs, width=width, height=height, **sim)
        high = np.array([2 * _FARTHEST, np.inf, 2 * _STEEPEST, np.inf], np.float32)
        super().__init__(sim, single_observation_space=spaces.Box(-high, high, dtype=np.float32),
                         single_action_space=_action_space(continuous), autoreset_mode=autoreset_mode,
                         max_episode_steps=max_episode_steps, render_mode=render_mode)
        self._make_task(continuous)

    def _make_task(self, continuous):
        sim, n = self.sim, self.num_envs
        self._action = sim.zeros((n, 1) if continuous else (n,), "real" if continuous else "int32", name="action")
        self.observation = sim.zeros((n, 4), "real", name="observation")
        same_step = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._final = sim.zeros((n, 4), "real", name="final observation") if same_step else None
        q, v, ctrl = sim.qpos, sim.qvel, sim.ctrl
        if self._external:  # its own: the sim would look at what is written to its state
            q, v = (sim.zeros((n, 2), "real", worlds=True, name=name) for name in ("positions", "rates"))
            ctrl = sim.zeros((n, 1), "real", worlds=True, name="force")
            self._make_poses(q)
        choice, push = (None, self._action) if continuous else (self._action, None)
        observe = self._kernel("k_observe")
        before = [(self._kernel("k_push"), (choice, push, ctrl, int(not continuous), n))]
        if self._external:
            before.append((self._kernel("k_move"), (ctrl, q, v, _DT)))
        after = [
            (self._kernel("k_judge"), (q, self._worth, self._failed, _FARTHEST, _STEEPEST)),
            self._episode_launch(),
        ]
        final = [(observe, (q, v, self._final, n))]
        begin = [self._begin_launch(q, v, [0] * 4, [_WIDTH] * 4), (observe, (q, v, self.observation, n))]
        self._set_launches(before, after, final, begin)

    def _make_poses(self, q):
        """With external physics pictures need poses, which are worked out when one is asked for."""
        self._poses = None
        if self.render_mode is None:
            return
        xpos = self.sim.xpos.numpy().reshape(self.num_envs, -1)
        rest = self.sim.zeros((xpos.shape[1],), "real", name="bodies at rest")
        rest.write(xpos[0])
        self._poses = self._kernel("k_poses"), (q, rest, self.sim.xpos, self.sim.xquat, xpos.shape[1] // 3)

    def _observe(self):
        pass  # a part of the step

    def _observation(self):
        return _float32(self.observation.numpy())

    def _picture(self):
        if self._external:
            self._launch([self._poses])
        return self.sim.read("rgb", frame=self.sim.render())


def _action_space(continuous):
    return spaces.Box(-1, 1, (1,), np.float32) if continuous else spaces.Discrete(2)


class CartPoleEnv(Env):
    """One cart-pole; keywords as of CartPoleVectorEnv. Without a limit of steps: gymnasium.make adds it."""

    vector_type = CartPoleVectorEnv
