"""A hand that turns a cube, seen through a camera; the task and its kernels are in hand.k.h."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet

from . import _files
from ._base import count
from ._episodes import Episodes
from .env import Env

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stet.sim import SimOptions

_FARTHEST = 0.1  # m, of the cube from where it lies
_JOINT, _CUBE = 0.02, 0.003  # widths of initial states, rad and m


class HandPixelsVectorEnv(Episodes):
    """num_envs hands with a cube (scenes/hand.xml, MuJoCo's physics), seen by a camera. The task: turn the cube without
    dropping it.

    Observation: the picture, uint8 [height, width, 3]; with depth=True a dict of that as "rgb" and "depth", float32
    [height, width, 1], metres. Action: float32 [20] in [-1, 1], of each servo the hold position (keyframe `home`) plus
    the action times half of its range, kept in the range. Reward: how fast the cube turns about the vertical,
    counter-clockwise from above, in rad/s and at most 5 either way; -10 for dropping it. Terminated: the cube was
    dropped (it is farther than 0.1 m from where it lay). Truncated: after max_episode_steps of 20 ms (0: never). An
    episode begins at `home`, with joints within 0.02 rad and the cube within 3 mm of it.

    device, and all further keywords: as of stet.Sim. autoreset_mode: NEXT_STEP or DISABLED.
    """

    _source = "hand.k.h"
    _substeps = 10
    _autoreset_modes = (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)
    _final = None

    def __init__(self, num_envs=1, device="auto", *, depth=False, camera="main", width=64, height=64,
                 max_episode_steps=250, autoreset_mode=AutoresetMode.NEXT_STEP, render_mode=None,
                 **sim: Unpack[SimOptions]):
        self._outputs = ("rgb", "depth") if depth else ("rgb",)
        sim = stet.Sim(_files.scene("hand.xml"), worlds=count("num_envs", num_envs, 1), device=device,
                       physics="mujoco", keyframe="home", cameras=[camera], outputs=self._outputs, width=width,
                       height=height, **sim)
        rgb = spaces.Box(0, 255, (height, width, 3), np.uint8)
        far = spaces.Box(0, np.inf, (height, width, 1), np.float32)
        super().__init__(sim, single_observation_space=spaces.Dict(rgb=rgb, depth=far) if depth else rgb,
                         single_action_space=spaces.Box(-1, 1, (sim.model.nu, ), np.float32),
                         autoreset_mode=autoreset_mode, max_episode_steps=max_episode_steps, render_mode=render_mode)
        self._make_task()

    def _make_task(self):
        sim, n = self.sim, self.num_envs
        nu, nq, nv = sim.model.nu, sim.model.nq, sim.model.nv
        self._action = sim.zeros((n, nu), "real", name="action")
        home, width = np.zeros(nq + nv), np.zeros(nq + nv)
        home[:nq] = sim.qpos.numpy()[0]
        width[: nq - 7], width[nq - 7 : nq - 5] = _JOINT, _CUBE  # the cube is pushed aside, not turned or lifted
        tables = [sim.control_table(name) for name in ("hold", "half", "low", "high")]
        begin = self._begin_launch(sim.qpos, sim.qvel, home, width)
        judge = sim.qpos, sim.qvel, self._home, self._worth, self._failed, nq, nv, _FARTHEST
        self._set_launches(before=[(self._kernel("k_act"), (self._action, *tables, sim.ctrl, nu, n))],
                           after=[(self._kernel("k_judge"), judge), self._episode_launch()], final=[], begin=[begin])

    @property
    def observation(self):
        """The picture on the device, [num_envs, height, width, channels]; with depth a dict of both. Until the next
        step.
        """
        seen = {name: self.sim.tensor(name, frame=self._frame) for name in self._outputs}
        return seen if len(seen) > 1 else seen["rgb"]

    def _observe(self):
        """A picture is of its frame: what was imported before stays, until the sim's frames in flight are used up."""
        self._frame = self.sim.render()
        if self._views is not None:
            from_dlpack, seen = self._views
            self._views = from_dlpack, seen._replace(observation=self._import_observation(from_dlpack))

    def _import_observation(self, from_dlpack):
        seen = self.observation
        return {name: from_dlpack(a) for name, a in seen.items()} if isinstance(seen, dict) else from_dlpack(seen)

    def _observation(self):
        seen = {name: self.sim.read(name, frame=self._frame) for name in self._outputs}
        return seen if len(seen) > 1 else seen["rgb"]

    def _picture(self):
        return self.sim.read("rgb", frame=self._frame)


class HandPixelsEnv(Env):
    """One hand with its cube; keywords as of HandPixelsVectorEnv. Without a limit of steps: gymnasium.make adds it."""

    vector_type = HandPixelsVectorEnv
