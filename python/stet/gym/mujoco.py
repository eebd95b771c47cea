"""gymnasium's MuJoCo environments, version 5, with the models of the installed gymnasium: from the same state and
action the same observation, reward and end. gymnasium's documentation says what they are.

Observations of gymnasium's are what mj_step leaves, some of it of the state before the last time step or of a stage in
it; State.of_step is the same. After a reset it is that of the state, and there are no contact forces.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from gymnasium.vector import AutoresetMode

from .env import Env
from .vector import VectorEnv


def _find_model(name):
    """The path of a model: gymnasium's own, or one that begins with '/', '.' or '~'."""
    if name[0] in "/.~":
        return str(Path(name).expanduser())
    path = Path(importlib.util.find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets" / name
    if not path.exists():
        raise FileNotFoundError(f"the installed gymnasium has no model {name!r} ({path}); "
                                "pip install 'gymnasium>=1.1', or give xml_file a path")
    return str(path)


def _square(x):
    return np.sum(np.square(x.astype(np.float64)), axis=1)


def _norm(x):
    return np.sqrt(_square(x))


def _within(x, limits):
    return (limits[0] < x) & (x < limits[1])


class MujocoVectorEnv(VectorEnv):
    """Base of gymnasium's MuJoCo environments over num_envs worlds of stet.

    Keywords are those of gymnasium's environment of the same name, with its defaults (`options` has them; xml_file,
    frame_skip), but for those of its renderer; and max_episode_steps, autoreset_mode, render_mode, width, height and
    all others as of VectorEnv. physics: "mujoco", with which numbers are gymnasium's to rounding (to that of float; of
    double with isa="f64"); or as of stet.Sim, "native" being faster where it covers the model. `info` of a step has
    what gymnasium's has.
    """

    _model: str
    _frame_skip = 5
    _most_steps = 1000
    _noise = "uniform"  # of initial velocities
    _defaults: dict
    _skip = 1  # positions that are not observed
    _clip = np.inf  # of observed velocities

    def __init__(self, num_envs=1, device="cpu", *, xml_file=None, frame_skip=None, max_episode_steps=None,
                 autoreset_mode=AutoresetMode.NEXT_STEP, physics="mujoco", render_mode=None, **more):
        self.options = SimpleNamespace(**{name: more.pop(name, value) for name, value in self._defaults.items()})
        super().__init__(_find_model(xml_file or self._model), num_envs, device, physics=physics, keyframe="qpos0",
                         frame_skip=self._frame_skip if frame_skip is None else frame_skip,
                         max_episode_steps=self._most_steps if max_episode_steps is None else max_episode_steps,
                         autoreset_mode=autoreset_mode, render_mode=render_mode, **more)

    def begin(self, qpos, qvel, draws):
        scale = self.options.reset_noise_scale
        qpos += draws.uniform(-scale, scale, qpos.shape[1])
        qvel += self._velocities(draws, scale, qvel.shape[1])

    def _velocities(self, draws, scale, nv):
        return draws.uniform(-scale, scale, nv) if self._noise == "uniform" else scale * draws.normal(nv)

    # ---- what observations and rewards are made of ------------------------------------------------------------------

    def _join(self, *parts):
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def _numbers(self, state, name, width=1):
        """[num_envs, …, width] of a quantity, as the step left it."""
        return state.of_step(name).astype(np.float64).reshape(self.num_envs, -1, width)

    def _contact_forces(self, state):
        """[num_envs, nbody, 6], 0 before the first step."""
        return np.where(self.steps[:, None, None] > 0, self._numbers(state, "cfrc_ext", 6), 0)

    @functools.cached_property
    def _offsets(self):
        return self.sim.parameter("body_ipos")[0].reshape(-1, 3)

    def _body(self, state, body):
        """[num_envs, 3] Where the frame of a body is, given by name or number."""
        b = self.sim.model.find("bodies", body) if isinstance(body, str) else body
        turn = self._numbers(state, "xmat", 9)[:, b].reshape(-1, 3, 3)
        return self._numbers(state, "xipos", 3)[:, b] - turn @ self._offsets[b]


class _Runner(MujocoVectorEnv):
    """Those that are worth how fast they go along x."""

    def observation(self, state):
        skip = self._skip if self.options.exclude_current_positions_from_observation else 0
        return self._join(state.qpos[:, skip:], np.clip(state.qvel, -self._clip, self._clip), *self._more(state))

    def _more(self, state):
        return ()

    def track(self, state):
        return state.qpos[:, : self._skip].astype(np.float64)

    def _velocity(self):
        return (self.after - self.before) / self.dt

    def info(self, state):
        seen = {"x_position": state.qpos[:, 0], "x_velocity": self._velocity()[:, 0]}
        if self._skip == 2:
            seen |= {"y_position": state.qpos[:, 1], "y_velocity": self._velocity()[:, 1],
                     "distance_from_origin": _norm(state.qpos[:, :2])}
        return seen

    def reward(self, state, action):
        o = self.options
        terms = {"reward_forward": o.forward_reward_weight * self._velocity()[:, 0],
                 "reward_ctrl": -o.ctrl_cost_weight * _square(action)}
        if hasattr(o, "healthy_reward"):
            terms["reward_survive"] = o.healthy_reward * self._healthy(state)
        return terms

    def terminated(self, state):
        if getattr(self.options, "terminate_when_unhealthy", False):
            return ~self._healthy(state)
        return super().terminated(state)


class _Risen:
    """Those whose info says how far they are above where they begin."""

    _height = 1  # the position that it is

    def info(self, state):
        return super().info(state) | {"z_distance_from_origin": state.qpos[:, self._height] - self.home[self._height]}


class HalfCheetahVectorEnv(_Runner):
    _model, _noise = "half_cheetah.xml", "normal"
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=0.1, reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True)


class SwimmerVectorEnv(_Runner):
    _model, _frame_skip, _skip = "swimmer.xml", 4, 2
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-4, reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True)


class HopperVectorEnv(_Risen, _Runner):
    _model, _frame_skip, _clip = "hopper.xml", 4, 10
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-3, healthy_reward=1.0,
                     terminate_when_unhealthy=True, healthy_state_range=(-100.0, 100.0),
                     healthy_z_range=(0.7, float("inf")), healthy_angle_range=(-0.2, 0.2), reset_noise_scale=5e-3,
                     exclude_current_positions_from_observation=True)

    def _healthy(self, state):
        o = self.options
        numbers = np.concatenate([state.qpos[:, 2:], state.qvel], axis=1)
        return (_within(state.qpos[:, 1], o.healthy_z_range) & _within(state.qpos[:, 2], o.healthy_angle_range)
                & _within(numbers, o.healthy_state_range).all(axis=1))


class Walker2dVectorEnv(_Risen, _Runner):
    _model, _frame_skip, _clip = "walker2d_v5.xml", 4, 10
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-3, healthy_reward=1.0,
                     terminate_when_unhealthy=True, healthy_z_range=(0.8, 2.0), healthy_angle_range=(-1.0, 1.0),
                     reset_noise_scale=5e-3, exclude_current_positions_from_observation=True)

    def _healthy(self, state):
        o = self.options
        return _within(state.qpos[:, 1], o.healthy_z_range) & _within(state.qpos[:, 2], o.healthy_angle_range)


class AntVectorEnv(_Runner):
    _model, _noise, _skip = "ant.xml", "normal", 2
    _defaults = dict(forward_reward_weight=1, ctrl_cost_weight=0.5, contact_cost_weight=5e-4, healthy_reward=1.0,
                     main_body=1, terminate_when_unhealthy=True, healthy_z_range=(0.2, 1.0),
                     contact_force_range=(-1.0, 1.0), reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True, include_cfrc_ext_in_observation=True)

    def track(self, state):
        return self._body(state, self.options.main_body)[:, :2]

    def _contact_forces(self, state):
        return np.clip(super()._contact_forces(state), *self.options.contact_force_range)

    def _more(self, state):
        if not self.options.include_cfrc_ext_in_observation:
            return ()
        return (self._contact_forces(state)[:, 1:].reshape(self.num_envs, -1),)

    def _healthy(self, state):
        low, high = self.options.healthy_z_range
        finite = np.isfinite(state.qpos).all(axis=1) & np.isfinite(state.qvel).all(axis=1)
        return finite & (low <= state.qpos[:, 2]) & (state.qpos[:, 2] <= high)

    def reward(self, state, action):
        cost = self.options.contact_cost_weight * np.sum(np.square(self._contact_forces(state)), axis=(1, 2))
        return super().reward(state, action) | {"reward_contact": -cost}


class _Human(_Runner):
    _skip = 2
    _include = dict(exclude_current_positions_from_observation=True, include_cinert_in_observation=True,
                    include_cvel_in_observation=True, include_qfrc_actuator_in_observation=True,
                    include_cfrc_ext_in_observation=True)

    def _more(self, state):
        o, parts = self.options, []
        if o.include_cinert_in_observation:
            parts.append(self._numbers(state, "cinert", 10)[:, 1:])
        if o.include_cvel_in_observation:
            parts.append(self._numbers(state, "cvel", 6)[:, 1:])
        if o.include_qfrc_actuator_in_observation:
            parts.append(self._numbers(state, "qfrc_actuator")[:, 6:])
        if o.include_cfrc_ext_in_observation:
            parts.append(self._contact_forces(state)[:, 1:])
        return [part.reshape(self.num_envs, -1) for part in parts]

    def info(self, state):
        tendons = {name: self._numbers(state, of)[:, :, 0]
                   for name, of in (("tendon_length", "ten_length"), ("tendon_velocity", "ten_velocity"))}
        return super().info(state) | tendons

    def _impact(self, state, weight, limits):
        return np.clip(weight * np.sum(np.square(self._contact_forces(state)), axis=(1, 2)), *limits)


class HumanoidVectorEnv(_Human):
    _model = "humanoid.xml"
    _defaults = dict(forward_reward_weight=1.25, ctrl_cost_weight=0.1, contact_cost_weight=5e-7,
                     contact_cost_range=(-np.inf, 10.0), healthy_reward=5.0, terminate_when_unhealthy=True,
                     healthy_z_range=(1.0, 2.0), reset_noise_scale=1e-2, **_Human._include)

    @functools.cached_property
    def _shares(self):
        mass = self.sim.parameter("body_mass")[0]
        return mass / mass.sum()

    def track(self, state):
        return np.einsum("nbx,b->nx", self._numbers(state, "xipos", 3)[:, :, :2], self._shares)

    def _healthy(self, state):
        return _within(state.qpos[:, 2], self.options.healthy_z_range)

    def reward(self, state, action):
        o = self.options
        cost = self._impact(state, o.contact_cost_weight, o.contact_cost_range)
        return super().reward(state, action) | {"reward_contact": -cost}


class HumanoidStandupVectorEnv(_Risen, _Human):
    _model, _height = "humanoidstandup.xml", 2
    _defaults = dict(uph_cost_weight=1, ctrl_cost_weight=0.1, impact_cost_weight=0.5e-6,
                     impact_cost_range=(-np.inf, 10.0), reset_noise_scale=1e-2, **_Human._include)

    def reward(self, state, action):
        o = self.options
        return {"reward_linup": state.qpos[:, 2].astype(np.float64) / self.sim.model.timestep,
                "reward_quadctrl": -o.ctrl_cost_weight * _square(action),
                "reward_impact": -self._impact(state, o.impact_cost_weight, o.impact_cost_range),
                "reward_survive": np.ones(self.num_envs)}


class InvertedPendulumVectorEnv(MujocoVectorEnv):
    _model, _frame_skip = "inverted_pendulum.xml", 2
    _defaults = dict(reset_noise_scale=0.01)

    def observation(self, state):
        return self._join(state.qpos, state.qvel)

    def terminated(self, state):
        seen = self.observation(state)
        return ~np.isfinite(seen).all(axis=1) | (np.abs(seen[:, 1]) > 0.2)

    def reward(self, state, action):
        return {"reward_survive": (~self.terminated(state)).astype(np.float64)}


class InvertedDoublePendulumVectorEnv(MujocoVectorEnv):
    _model, _noise = "inverted_double_pendulum.xml", "normal"
    _defaults = dict(healthy_reward=10.0, reset_noise_scale=0.1)

    def observation(self, state):
        force = self._numbers(state, "qfrc_constraint")[:, 0]
        return self._join(state.qpos[:, :1], np.sin(state.qpos[:, 1:]), np.cos(state.qpos[:, 1:]),
                          np.clip(state.qvel, -10, 10), np.clip(force, -10, 10))

    def _tip(self, state):
        return self._numbers(state, "site_xpos", 3)[:, 0]

    def terminated(self, state):
        return self._tip(state)[:, 2] <= 1

    def reward(self, state, action):
        tip, v = self._tip(state), state.qvel.astype(np.float64)
        return {"reward_survive": self.options.healthy_reward * ~self.terminated(state),
                "distance_penalty": -(0.01 * tip[:, 0] ** 2 + (tip[:, 2] - 2) ** 2),
                "velocity_penalty": -(1e-3 * v[:, 1] ** 2 + 5e-3 * v[:, 2] ** 2)}


class ReacherVectorEnv(MujocoVectorEnv):
    _model, _frame_skip, _most_steps = "reacher.xml", 2, 50
    _defaults = dict(reward_dist_weight=1, reward_control_weight=1)

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-0.1, 0.1, qpos.shape[1])
        qvel += draws.uniform(-0.005, 0.005, qvel.shape[1])
        qpos[:, -2:] = draws.until(lambda x: _norm(x) < 0.2, lambda d: d.uniform(-0.2, 0.2, 2))
        qvel[:, -2:] = 0

    def _gap(self, state):
        return self._body(state, "fingertip") - self._body(state, "target")

    def observation(self, state):
        angles = state.qpos[:, :2]
        return self._join(np.cos(angles), np.sin(angles), state.qpos[:, 2:], state.qvel[:, :2],
                          self._gap(state)[:, :2])

    def reward(self, state, action):
        return {"reward_dist": -self.options.reward_dist_weight * _norm(self._gap(state)),
                "reward_ctrl": -self.options.reward_control_weight * _square(action)}


class PusherVectorEnv(MujocoVectorEnv):
    _model, _most_steps = "pusher_v5.xml", 100
    _defaults = dict(reward_near_weight=0.5, reward_dist_weight=1, reward_control_weight=0.1)
    _late = None

    def begin(self, qpos, qvel, draws):
        qpos[:, -4:-2] = draws.until(lambda x: _norm(x) > 0.17,
                                      lambda d: d.uniform([-0.3, -0.2], [0, 0.2], 2))
        qpos[:, -2:] = 0
        qvel += draws.uniform(-0.005, 0.005, qvel.shape[1])
        qvel[:, -4:] = 0

    def _advance(self):
        """With Euler's method a step leaves poses of the state before its last time step."""
        if self.sim.physics == "mujoco":
            return super()._advance()
        self.sim.step(self.frame_skip - 1)
        self._late = self._find_places(self._state)
        self.sim.step(1)

    def _find_places(self, state):
        return np.stack([self._body(state, name) for name in ("tips_arm", "object", "goal")])

    def _places(self, state):
        now = self._find_places(state)
        return now if self._late is None else np.where(self.steps[:, None] > 0, self._late, now)

    def observation(self, state):
        return self._join(state.qpos[:, :7], state.qvel[:, :7], *self._places(state))

    def reward(self, state, action):
        tips, thing, goal = self._places(state)
        return {"reward_dist": -self.options.reward_dist_weight * _norm(thing - goal),
                "reward_ctrl": -self.options.reward_control_weight * _square(action),
                "reward_near": -self.options.reward_near_weight * _norm(thing - tips)}


TASKS = {cls.__name__.removesuffix("VectorEnv"): cls
         for cls in (AntVectorEnv, HalfCheetahVectorEnv, HopperVectorEnv, HumanoidVectorEnv, HumanoidStandupVectorEnv,
                     InvertedPendulumVectorEnv, InvertedDoublePendulumVectorEnv, PusherVectorEnv, ReacherVectorEnv,
                     SwimmerVectorEnv, Walker2dVectorEnv)}
"""The vector environments by name."""

for _name, _cls in TASKS.items():  # AntEnv …: one alone
    _parts = {"vector_type": _cls, "__doc__": f"One {_name}; keywords as of {_cls.__name__}.", "__module__": __name__}
    globals()[_name + "Env"] = type(_name + "Env", (Env,), _parts)
