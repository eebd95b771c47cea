"""Tasks of dm_control's suite, with the models of the installed dm_control: from the same state and action the same
observation (its parts one after the other) and reward. dm_control's paper says what the tasks are (Tassa et al.,
"dm_control: Software and tasks for continuous control", 2020). No task ends but by its time limit.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from gymnasium.vector import AutoresetMode

import stet

from .env import Env
from .vector import VectorEnv


def _find_model(name):
    """The path of a model of dm_control's suite, which is not imported."""
    found = importlib.util.find_spec("dm_control")
    if found is None:
        raise ModuleNotFoundError("tasks of dm_control's suite need its models: pip install dm_control",
                                  name="dm_control")
    return Path(found.submodule_search_locations[0]) / "suite" / (name + ".xml")


def tolerance(x, low, high, margin=0.0, at_margin=0.1, shape="gaussian"):
    """1 between low and high; beyond, it falls with the distance, to at_margin at `margin`; without a margin to 0."""
    x = np.asarray(x, np.float64)
    distance = np.maximum(np.maximum(low - x, x - high), 0)
    if margin == 0:
        return np.where(distance == 0, 1.0, 0.0)
    d = distance / margin
    if shape == "gaussian":
        return np.exp(np.log(at_margin) * d**2)
    fall = (1 - at_margin) * (d if shape == "linear" else d**2)
    scale = 1 - at_margin if shape == "linear" else np.sqrt(1 - at_margin)
    return np.where(d * scale < 1, 1 - fall, 0.0)


def _small_control(action, size):
    """`size` parts of 1 for a mean control of 0, all but one of them for one at the ends of its range."""
    return (size - 1 + tolerance(action, 0, 0, 1, 0, "quadratic").mean(axis=1)) / size


class SuiteVectorEnv(VectorEnv):
    """Base of dm_control's tasks over num_envs worlds of stet. Keywords as of VectorEnv; physics: "mujoco", with which
    numbers are dm_control's to rounding, or as of stet.Sim.
    """

    _model: str
    _dt = 0.02  # seconds of a step
    _seconds = 20
    _settle = 0  # time steps that the physics makes before an episode begins
    _turning = ()  # joints without limits that begin at any angle

    def __init__(self, num_envs=1, device="cpu", *, max_episode_steps=None, autoreset_mode=AutoresetMode.NEXT_STEP,
                 physics="mujoco", render_mode=None, **more):
        model = stet.load(_find_model(self._model))
        super().__init__(model, num_envs, device, physics=physics, keyframe="qpos0",
                         frame_skip=round(self._dt / model.timestep),
                         max_episode_steps=self.limit() if max_episode_steps is None else max_episode_steps,
                         autoreset_mode=autoreset_mode, render_mode=render_mode, **more)

    @classmethod
    def limit(cls):
        """Steps of an episode."""
        return round(cls._seconds / cls._dt)

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

    def _join(self, *parts):
        return np.concatenate([np.asarray(p).reshape(self.num_envs, -1) for p in parts], axis=1, dtype=np.float64)

    def _turn(self, state, row, column):
        """[num_envs, nbody] An element of each body's rotation; rows and columns by "xyz"."""
        return state.xmat[:, 3 * "xyz".index(row) + "xyz".index(column) :: 9]

    def _speed(self, state, body="torso"):
        """[num_envs] Along x, of the centre of mass of a body and what hangs on it."""
        return state.subtree_linvel[:, 3 * self.sim.model.find("bodies", body)]


class CartpoleVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds = "cartpole", 0.01, 10

    def __init__(self, num_envs=1, device="cpu", *, swing_up=False, sparse=False, **more):
        self._swing_up, self._sparse = swing_up, sparse
        super().__init__(num_envs, device, **more)

    def begin(self, qpos, qvel, draws):
        if self._swing_up:
            qpos[:] = [0, np.pi] + 0.01 * draws.normal(2)
        else:
            qpos[:] = draws.uniform([-0.1, -0.034], [0.1, 0.034], 2)
        qvel[:] = 0.01 * draws.normal(2)

    def observation(self, state):
        return self._join(state.qpos[:, 0], self._turn(state, "z", "z")[:, 2], self._turn(state, "x", "z")[:, 2],
                          state.qvel)

    def reward(self, state, action):
        cart, upright = state.qpos[:, 0], self._turn(state, "z", "z")[:, 2].astype(np.float64)
        if self._sparse:
            return tolerance(cart, -0.25, 0.25) * tolerance(upright, 0.995, 1)
        slow = (1 + tolerance(state.qvel[:, 1], 0, 0, 5)) / 2
        return (upright + 1) / 2 * (1 + tolerance(cart, 0, 0, 2)) / 2 * _small_control(action, 5) * slow


class PendulumVectorEnv(SuiteVectorEnv):
    _model, _turning = "pendulum", ("hinge",)

    def observation(self, state):
        return self._join(self._turn(state, "z", "z")[:, 1], self._turn(state, "x", "z")[:, 1], state.qvel)

    def reward(self, state, action):
        return tolerance(self._turn(state, "z", "z")[:, 1], np.cos(np.radians(8)), 1)


class AcrobotVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _turning = "acrobot", 0.01, 10, ("shoulder", "elbow")
    _radius = 0.2  # of the target

    def __init__(self, num_envs=1, device="cpu", *, sparse=False, **more):
        self._sparse = sparse
        super().__init__(num_envs, device, **more)

    def observation(self, state):
        return self._join(self._turn(state, "x", "z")[:, 1:], self._turn(state, "z", "z")[:, 1:], state.qvel)

    def reward(self, state, action):
        sites = state.site_xpos.reshape(self.num_envs, -1, 3).astype(np.float64)
        target, tip = (sites[:, self.sim.model.find("sites", name)] for name in ("target", "tip"))
        return tolerance(np.linalg.norm(target - tip, axis=1), 0, self._radius, 0 if self._sparse else 1)


class CheetahVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _settle = "cheetah", 0.01, 10, 200

    def observation(self, state):
        return self._join(state.qpos[:, 1:], state.qvel)

    def reward(self, state, action):
        return tolerance(self._speed(state), 10, np.inf, 10, 0, "linear")


class WalkerVectorEnv(SuiteVectorEnv):
    _model, _dt, _seconds, _turning = "walker", 0.025, 25, ("rooty",)

    def __init__(self, num_envs=1, device="cpu", *, move_speed=0, **more):
        self._move_speed = move_speed
        super().__init__(num_envs, device, **more)

    def observation(self, state):
        turns = np.stack([self._turn(state, "x", "x"), self._turn(state, "x", "z")], axis=2)[:, 1:]
        return self._join(turns, state.xpos[:, 5], state.qvel)

    def reward(self, state, action):
        standing = tolerance(state.xpos[:, 5], 1.2, np.inf, 0.6)
        worth = (3 * standing + (1 + self._turn(state, "z", "z")[:, 1].astype(np.float64)) / 2) / 4
        if self._move_speed == 0:
            return worth
        return worth * (5 * tolerance(self._speed(state), self._move_speed, np.inf, self._move_speed / 2, 0.5, "linear")
                        + 1) / 6


class HopperVectorEnv(SuiteVectorEnv):
    """The touch sensors of a first observation are 0."""

    _model, _dt, _turning = "hopper", 0.02, ("rooty",)

    def __init__(self, num_envs=1, device="cpu", *, hopping=False, **more):
        self._hopping = hopping
        super().__init__(num_envs, device, **more)

    def observation(self, state):
        return self._join(state.qpos[:, 1:], state.qvel, np.log1p(state.sensordata[:, -2:]))  # touch_toe, touch_heel

    def reward(self, state, action):
        torso, foot = (state.xipos[:, 3 * self.sim.model.find("bodies", name) + 2] for name in ("torso", "foot"))
        standing = tolerance(torso - foot, 0.6, 2)
        if self._hopping:
            return standing * tolerance(self._speed(state), 2, np.inf, 1, 0.5, "linear")
        return standing * _small_control(action, 5)


class PointMassVectorEnv(SuiteVectorEnv):
    _model = "point_mass"
    _radius = 0.015  # of the target

    def observation(self, state):
        return self._join(state.qpos, state.qvel)

    def reward(self, state, action):
        places = state.geom_xpos.reshape(self.num_envs, -1, 3).astype(np.float64)
        mass, target = (places[:, self.sim.model.find("geoms", name)] for name in ("pointmass", "target"))
        distance = np.linalg.norm(target - mass, axis=1)
        return tolerance(distance, 0, self._radius, self._radius) * _small_control(action, 5)


class ReacherVectorEnv(SuiteVectorEnv):
    """Targets are this object's `target` [num_envs, 2]; pictures show the model's own."""

    _model, _turning = "reacher", ("shoulder",)
    _finger = 0.01  # its radius

    def __init__(self, num_envs=1, device="cpu", *, target_size=0.05, **more):
        self._target_size, self.target = target_size, np.zeros((num_envs, 2))
        super().__init__(num_envs, device, **more)

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        angle, radius = draws.uniform([0, 0.05], [2 * np.pi, 0.2], 2).T
        self.target[draws.worlds] = np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1)

    def _gap(self, state):
        finger = 3 * self.sim.model.find("geoms", "finger")
        return self.target - state.geom_xpos[:, finger : finger + 2]

    def observation(self, state):
        return self._join(state.qpos, self._gap(state), state.qvel)

    def reward(self, state, action):
        return tolerance(np.linalg.norm(self._gap(state), axis=1), 0, self._target_size + self._finger)


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
