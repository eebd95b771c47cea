"""Tasks of dm_control's suite, with the models of the installed dm_control: from the same state and action the same
observation (its parts one after the other) and reward. dm_control's paper says what the tasks are (Tassa et al.,
"dm_control: Software and tasks for continuous control", 2020). No task ends but by its time limit. Kernels: suite.k.h.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from gymnasium.vector import AutoresetMode

import stet

from . import _files
from ._base import pick_device, say_difference
from .env import Env
from .kernels import KernelVectorEnv


def _find_model(name):
    """The path of a model of dm_control's suite, which is not imported."""
    found = importlib.util.find_spec("dm_control")
    if found is None:
        raise ModuleNotFoundError("tasks of dm_control's suite need its models: pip install dm_control",
                                  name="dm_control")
    return Path(found.submodule_search_locations[0]) / "suite" / (name + ".xml")


class SuiteVectorEnv(KernelVectorEnv):
    """Base of dm_control's tasks over num_envs worlds of stet. Keywords as of VectorEnv. physics: "auto", stet's
    native physics where it is as fast, which says once how its numbers differ; or "mujoco", with which they are
    dm_control's to rounding. device None: "auto", but with physics="mujoco" the processor, where that runs. info of a
    step has the reward by that name.
    """

    _model: str
    _dt = 0.02  # seconds of a step
    _seconds = 20
    _settle = 0  # time steps that the physics makes before an episode begins
    _turning = ()  # joints without limits that begin at any angle

    def __init__(self, num_envs=1, device=None, *, max_episode_steps=None, autoreset_mode=AutoresetMode.NEXT_STEP,
                 physics="auto", render_mode=None, **more):
        model, device = stet.load(_find_model(self._model)), pick_device(device, physics)
        super().__init__(model, num_envs, device, physics=physics, keyframe="qpos0", rewards=["reward"],
                         observed=self._count_observed(model), frame_skip=round(self._dt / model.timestep),
                         max_episode_steps=self.limit() if max_episode_steps is None else max_episode_steps,
                         autoreset_mode=autoreset_mode, render_mode=render_mode, **more)
        say_difference(self, physics, "dm_control", "1e-3", "1e-3")

    @classmethod
    def limit(cls):
        """Steps of an episode."""
        return round(cls._seconds / cls._dt)

    def _count_observed(self, model):
        return model.nq + model.nv

    def begin(self, qpos, qvel, draws):
        low, high = self.sim.parameter("jnt_range")[0].reshape(-1, 2).T
        limited = low < high
        qpos[:, limited] = draws.uniform(low[limited], high[limited], limited.sum())
        for name in self._turning:
            qpos[:, [self.sim.model.find("joints", name)]] = draws.uniform(-np.pi, np.pi, 1)

    def _begin(self, mask):
        super()._begin(mask)
        if self._settle:
            self.sim.step(self._settle, mask=mask)

    def kernels(self, begins):
        name, arrays, more = self._task(self.sim.model)
        own = "action", "observed", "worth", "target"
        arrays = [getattr(self, array) if array in own else self.sim.array(array) for array in arrays.split()]
        return [(_files.load_kernel(self.sim, "suite.k.h", name), (*arrays, *more))]

    def _task(self, model):
        """The kernel's name, its arrays by theirs, and its further arguments."""
        raise NotImplementedError


class CartpoleVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds = "cartpole", 0.01, 10

    def __init__(self, num_envs=1, device=None, *, swing_up=False, sparse=False, **more):
        self._swing_up, self._sparse = swing_up, sparse
        super().__init__(num_envs, device, **more)

    def _count_observed(self, model):
        return 5

    def begin(self, qpos, qvel, draws):
        if self._swing_up:
            qpos[:] = [0, np.pi] + 0.01 * draws.normal(2)
        else:
            qpos[:] = draws.uniform([-0.1, -0.034], [0.1, 0.034], 2)
        qvel[:] = 0.01 * draws.normal(2)

    def _task(self, model):
        return "k_cartpole", "qpos qvel xmat action observed worth", [int(self._sparse)]


class PendulumVectorEnv(SuiteVectorEnv):
    _model, _turning = "pendulum", ("hinge",)

    def _count_observed(self, model):
        return 3

    def _task(self, model):
        return "k_pendulum", "qvel xmat observed worth", [np.cos(np.radians(8))]


class AcrobotVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _turning = "acrobot", 0.01, 10, ("shoulder", "elbow")
    _radius = 0.2  # of the target

    def __init__(self, num_envs=1, device=None, *, sparse=False, **more):
        self._sparse = sparse
        super().__init__(num_envs, device, **more)

    def _count_observed(self, model):
        return 6

    def _task(self, model):
        target, tip = (model.find("sites", name) for name in ("target", "tip"))
        return "k_acrobot", "qvel xmat site_xpos observed worth", [target, tip, self._radius, int(self._sparse)]


class CheetahVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _settle = "cheetah", 0.01, 10, 200

    def _count_observed(self, model):
        return model.nq - 1 + model.nv

    def _task(self, model):
        return "k_cheetah", "qpos qvel subtree_linvel observed worth", [model.find("bodies", "torso"), model.nq,
                                                                        model.nv]


class WalkerVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _turning = "walker", 0.025, 25, ("rooty",)

    def __init__(self, num_envs=1, device=None, *, move_speed=0, **more):
        self._move_speed = move_speed
        super().__init__(num_envs, device, **more)

    def _count_observed(self, model):
        return 2 * model.nbody - 1 + model.nv

    def _task(self, model):
        return ("k_walker", "qvel xmat xpos subtree_linvel observed worth",
                [self._move_speed, model.nbody, model.nv])


class HopperVectorEnv(SuiteVectorEnv):
    _model, _dt, _turning = "hopper", 0.02, ("rooty",)

    def __init__(self, num_envs=1, device=None, *, hopping=False, **more):
        self._hopping = hopping
        super().__init__(num_envs, device, **more)

    def _count_observed(self, model):
        return model.nq - 1 + model.nv + 2

    def _task(self, model):
        touch = self.sim.sensordata.shape[1] - 2  # touch_toe, touch_heel
        torso, foot = (model.find("bodies", name) for name in ("torso", "foot"))
        return ("k_hopper", "time qpos qvel sensordata step_sensordata xipos subtree_linvel action observed worth",
                [int(self._hopping), touch, torso, foot, model.nq, model.nv, model.nu])


class PointMassVectorEnv(SuiteVectorEnv):
    _model = "point_mass"
    _radius = 0.015  # of the target

    def _task(self, model):
        mass, target = (model.find("geoms", name) for name in ("pointmass", "target"))
        return "k_point", "qpos qvel geom_xpos action observed worth", [mass, target, self._radius, model.nu]


class ReacherVectorEnv(SuiteVectorEnv):
    """Targets are this object's `target` [num_envs, 2], an array of the sim; pictures show the model's own."""

    target: stet.Array
    _model, _turning = "reacher", ("shoulder",)
    _finger = 0.01  # its radius

    def __init__(self, num_envs=1, device=None, *, target_size=0.05, **more):
        self._target_size = target_size
        super().__init__(num_envs, device, **more)

    def _make_kernels(self):
        self.target = self.sim.zeros((self.num_envs, 2), "real", worlds=True, name="target")
        super()._make_kernels()

    def _count_observed(self, model):
        return 6

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        angle, radius = draws.uniform([0, 0.05], [2 * np.pi, 0.2], 2).T
        target = self.target.numpy()
        target[draws.worlds] = np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1)
        self.target.write(target)

    def _task(self, model):
        return "k_reacher", "qpos qvel geom_xpos target observed worth", [model.find("geoms", "finger"),
                                                                           self._target_size + self._finger]


TASKS = {
    "cartpole-balance": (CartpoleVectorEnv, {}),
    "cartpole-balance_sparse": (CartpoleVectorEnv, {"sparse": True}),
    "cartpole-swingup": (CartpoleVectorEnv, {"swing_up": True}),
    "cartpole-swingup_sparse": (CartpoleVectorEnv, {"swing_up": True, "sparse": True}),
    "pendulum-swingup": (PendulumVectorEnv, {}),
    "acrobot-swingup": (AcrobotVectorEnv, {}),
    "acrobot-swingup_sparse": (AcrobotVectorEnv, {"sparse": True}),
    "cheetah-run": (CheetahVectorEnv, {}),
    "walker-stand": (WalkerVectorEnv, {}),
    "walker-walk": (WalkerVectorEnv, {"move_speed": 1}),
    "walker-run": (WalkerVectorEnv, {"move_speed": 8}),
    "hopper-stand": (HopperVectorEnv, {}),
    "hopper-hop": (HopperVectorEnv, {"hopping": True}),
    "point_mass-easy": (PointMassVectorEnv, {}),
    "reacher-easy": (ReacherVectorEnv, {}),
    "reacher-hard": (ReacherVectorEnv, {"target_size": 0.015}),
}
"""The tasks: their vector environments, and its keywords."""

for _cls in {cls for cls, _ in TASKS.values()}:  # CartpoleEnv …: one alone
    _name = _cls.__name__.replace("Vector", "")
    globals()[_name] = type(_name, (Env,), {"vector_type": _cls, "__doc__": f"One of {_cls.__name__}.",
                                            "__module__": __name__})
