"""gymnasium's MuJoCo environments, version 5, with the models of the installed gymnasium: from the same state and
action the same observation, reward and end. gymnasium's documentation says what they are; kernels: mujoco.k.h.

Observations of gymnasium's are what mj_step leaves, some of it of the state before the last time step or of a stage in
it; Sim.step_quantity is the same. After a reset it is that of the state, and there are no contact forces.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from gymnasium.vector import AutoresetMode

import stet

from . import _files
from ._base import pick_device, say_difference
from .env import Env
from .kernels import KernelVectorEnv

_ANY = -np.inf, np.inf


def _find_model(name):
    """The path of a model: gymnasium's own, or one that begins with '/', '.' or '~'."""
    if name[0] in "/.~":
        return str(Path(name).expanduser())
    path = Path(importlib.util.find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets" / name
    if not path.exists():
        raise FileNotFoundError(f"the installed gymnasium has no model {name!r} ({path}); "
                                "pip install 'gymnasium>=1.1', or give xml_file a path")
    return str(path)


def _norm(x):
    return np.sqrt(np.sum(np.square(x), axis=1))


class MujocoVectorEnv(KernelVectorEnv):
    """Base of gymnasium's MuJoCo environments over num_envs worlds of stet.

    Keywords are those of gymnasium's environment of the same name, with its defaults (`options` has them; xml_file,
    frame_skip), but for those of its renderer; and max_episode_steps, autoreset_mode, render_mode, width, height and
    all others as of VectorEnv. physics: "auto", stet's native physics where it covers the model and is as fast, which
    says once how its numbers differ; or "mujoco", with which they are gymnasium's to rounding (to that of float; of
    double with isa="f64"). device None: "auto", but with physics="mujoco" the processor, where that runs. `info` of a
    step has what gymnasium's has.
    """

    _model: str
    _frame_skip = 5
    _most_steps = 1000
    _noise = "uniform"  # of initial velocities
    _defaults: dict
    _rewards_of: tuple
    _native = "2e-3", "1e-4"  # greatest errors of observation and reward of a step of native physics
    _parts = ()  # of what is observed: (quantity, first, how many, (least, most)); what a kernel does alone: none

    def __init__(self, num_envs=1, device=None, *, xml_file=None, frame_skip=None, max_episode_steps=None,
                 autoreset_mode=AutoresetMode.NEXT_STEP, physics="auto", render_mode=None, **more):
        self.options = SimpleNamespace(**{name: more.pop(name, value) for name, value in self._defaults.items()})
        model = stet.load(_find_model(xml_file or self._model))
        self._parts = self._list_parts(model)
        device = pick_device(device, physics)
        super().__init__(model, num_envs, device, physics=physics, keyframe="qpos0", observed=self._count_observed(),
                         rewards=self._rewards_of, shown=self._list_shown(model),
                         frame_skip=self._frame_skip if frame_skip is None else frame_skip,
                         max_episode_steps=self._most_steps if max_episode_steps is None else max_episode_steps,
                         autoreset_mode=autoreset_mode, render_mode=render_mode, **more)
        say_difference(self, physics, "gymnasium", *self._native)

    def _list_parts(self, model):
        return []

    def _count_observed(self):
        return sum(part[2] for part in self._parts)

    def _list_shown(self, model):
        return ()

    def begin(self, qpos, qvel, draws):
        scale = self.options.reset_noise_scale
        qpos += draws.uniform(-scale, scale, qpos.shape[1])
        qvel += self._velocities(draws, scale, qvel.shape[1])

    def _velocities(self, draws, scale, nv):
        return draws.uniform(-scale, scale, nv) if self._noise == "uniform" else scale * draws.normal(nv)

    def widths(self):
        return super().widths() if type(self).begin is not MujocoVectorEnv.begin else self._scales(uniform=True)

    def spreads(self):
        return self._scales(uniform=False)

    def _scales(self, uniform):
        """Of noise of one kind: positions' is uniform, velocities' is of the task's kind."""
        own = (self._noise == "uniform") == uniform
        return self.options.reset_noise_scale * np.repeat([uniform, own], [self.sim.model.nq, self.sim.model.nv])

    # ---- kernels ----------------------------------------------------------------------------------------------------

    def _kernel(self, name):
        return _files.load_kernel(self.sim, "mujoco.k.h", name)

    def _make_kernels(self):
        self._offsets = self._plain("offsets of bodies", self.sim.parameter("body_ipos")[0])
        self._prepare()
        super()._make_kernels()

    def _prepare(self):
        """Makes arrays for kernels."""

    def _plain(self, name, values):
        array = self.sim.zeros(values.shape, "real", name=name)
        array.write(values)
        return array

    def _zeros(self, name, items):
        return self.sim.zeros((self.num_envs, items), "real", worlds=True, name=name)

    def _source(self, name):
        """A field, or a quantity as the step left it."""
        if self.sim.physics == "mujoco" and name in stet.Sim.quantities:
            return self.sim.step_quantity(name)
        return self.sim.array(name)

    def kernels(self, begins):
        return [*self._observe_parts(begins), *self._judge(begins)]

    def _observe_parts(self, begins):
        part, at, out = self._kernel("k_part"), 0, []
        for name, first, count, (least, most) in self._parts:
            out.append((part, (self._source(name), self.begun, self.observed, first, count, at, least, most,
                               int(begins and name == "cfrc_ext"))))
            at += count
        return out

    def _judge(self, begins):
        """What gives the terms of the reward, and the ends."""
        raise NotImplementedError


class _Runner(MujocoVectorEnv):
    """Those that are worth how fast they go along x."""

    _skip = 1  # positions that are not observed
    _clip = np.inf  # of observed velocities
    _risen = 0  # the position of which info says how far it is from where it begins
    _rewards_of = "reward_forward", "reward_ctrl"

    def _list_parts(self, model):
        skip = self._skip if self.options.exclude_current_positions_from_observation else 0
        return [("qpos", skip, model.nq - skip, _ANY), ("qvel", 0, model.nv, (-self._clip, self._clip)),
                *self._list_more(model)]

    def _list_more(self, model):
        return []

    def _list_shown(self, model):
        plane = ["y_position", "y_velocity", "distance_from_origin"] if self._skip == 2 else []
        return ["x_position", "x_velocity", *plane, *(["z_distance_from_origin"] if self._risen else [])]

    def _prepare(self):
        self._moved = self._zeros("progress", 2)
        self._make_mover()

    def _make_mover(self):
        last = self._zeros("last positions", self._skip)
        self._mover = self._kernel("k_move_state"), (self.sim.qpos, last, self._moved, self._skip)

    def _judge(self, begins):
        return [self._mover, *self._rate_speed(), *self._rate_health(), *self._rate_impact(), self._tell()]

    def _rate_speed(self):
        o = self.options
        return [(self._kernel("k_run"), (self._moved, self.action, self.worth, o.forward_reward_weight,
                                         o.ctrl_cost_weight, self.dt, self.sim.model.nu))]

    def _tell(self):
        return self._kernel("k_tell"), (self.sim.qpos, self._moved, self.worth, len(self._rewards_of), self._skip,
                                        self._risen, self.home[self._risen], self.dt)

    def _rate_health(self):
        return []

    def _survive(self, z, *, closed=False, angle=None, states=None):
        """z: the height's place in qpos. angle: the range of position 2; states: from which position on numbers are in
        their range, and the range.
        """
        o, model = self.options, self.sim.model
        first, limits = states or (-1, _ANY)
        return [(self._kernel("k_survive"), (
            self.sim.qpos, self.sim.qvel, self.worth, self.failed, o.healthy_reward, z, *o.healthy_z_range, int(closed),
            int(angle is not None), *(angle or _ANY), first, *limits, model.nq, model.nv,
            int(o.terminate_when_unhealthy)))]

    def _rate_impact(self):
        return []

    def _impact(self, weight, forces=_ANY, cost=_ANY):
        force = self._source("cfrc_ext")
        return [(self._kernel("k_impact"), (force, self.worth, weight, *forces, *cost, force.shape[1]))]


class HalfCheetahVectorEnv(_Runner):
    _model, _noise = "half_cheetah.xml", "normal"
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=0.1, reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True)


class SwimmerVectorEnv(_Runner):
    _model, _frame_skip, _skip = "swimmer.xml", 4, 2
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-4, reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True)


class HopperVectorEnv(_Runner):
    _model, _frame_skip, _clip, _risen = "hopper.xml", 4, 10, 1
    _rewards_of = *_Runner._rewards_of, "reward_survive"
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-3, healthy_reward=1.0,
                     terminate_when_unhealthy=True, healthy_state_range=(-100.0, 100.0),
                     healthy_z_range=(0.7, float("inf")), healthy_angle_range=(-0.2, 0.2), reset_noise_scale=5e-3,
                     exclude_current_positions_from_observation=True)

    def _rate_health(self):
        return self._survive(1, angle=self.options.healthy_angle_range, states=(2, self.options.healthy_state_range))


class Walker2dVectorEnv(_Runner):
    _model, _frame_skip, _clip, _risen = "walker2d_v5.xml", 4, 10, 1
    _rewards_of = HopperVectorEnv._rewards_of
    _defaults = dict(forward_reward_weight=1.0, ctrl_cost_weight=1e-3, healthy_reward=1.0,
                     terminate_when_unhealthy=True, healthy_z_range=(0.8, 2.0), healthy_angle_range=(-1.0, 1.0),
                     reset_noise_scale=5e-3, exclude_current_positions_from_observation=True)

    def _rate_health(self):
        return self._survive(1, angle=self.options.healthy_angle_range)


class AntVectorEnv(_Runner):
    _native = "1e-4 (but contact forces at impacts)", "0.1"
    _model, _noise, _skip = "ant.xml", "normal", 2
    _rewards_of = *HopperVectorEnv._rewards_of, "reward_contact"
    _defaults = dict(forward_reward_weight=1, ctrl_cost_weight=0.5, contact_cost_weight=5e-4, healthy_reward=1.0,
                     main_body=1, terminate_when_unhealthy=True, healthy_z_range=(0.2, 1.0),
                     contact_force_range=(-1.0, 1.0), reset_noise_scale=0.1,
                     exclude_current_positions_from_observation=True, include_cfrc_ext_in_observation=True)

    def _list_more(self, model):
        if not self.options.include_cfrc_ext_in_observation:
            return []
        return [("cfrc_ext", 6, 6 * (model.nbody - 1), self.options.contact_force_range)]

    def _make_mover(self):
        body, model = self.options.main_body, self.sim.model
        number = model.find("bodies", body) if isinstance(body, str) else body
        self._mover = self._kernel("k_move_body"), (self._source("xipos"), self._source("xmat"), self._offsets,
                                                    self._zeros("last frames", 8), self._moved, number)

    def _rate_health(self):
        return self._survive(2, closed=True, states=(0, _ANY))

    def _rate_impact(self):
        return self._impact(self.options.contact_cost_weight, self.options.contact_force_range)


class _Human(_Runner):
    _skip = 2
    _include = dict(exclude_current_positions_from_observation=True, include_cinert_in_observation=True,
                    include_cvel_in_observation=True, include_qfrc_actuator_in_observation=True,
                    include_cfrc_ext_in_observation=True)

    def _list_more(self, model):
        bodies = model.nbody - 1
        parts = [("cinert", 10, 10 * bodies), ("cvel", 6, 6 * bodies), ("qfrc_actuator", 6, model.nv - 6),
                 ("cfrc_ext", 6, 6 * bodies)]
        return [(*part, _ANY) for part in parts if getattr(self.options, f"include_{part[0]}_in_observation")]

    def _list_shown(self, model):
        n = len(model.tendons)
        return [*super()._list_shown(model), ("tendon_length", n), ("tendon_velocity", n)]

    def _judge(self, begins):
        part, n = self._kernel("k_part"), len(self.sim.model.tendons)
        tendons = [(part, (self._source(of), self.begun, self.worth, 0, n, self._columns[name][0], *_ANY, 0))
                   for name, of in (("tendon_length", "ten_length"), ("tendon_velocity", "ten_velocity"))]
        return super()._judge(begins) + tendons


class HumanoidVectorEnv(_Human):
    _native = "0.1 (but inertias, velocities and forces of bodies)", "0.5"
    _model = "humanoid.xml"
    _rewards_of = AntVectorEnv._rewards_of
    _defaults = dict(forward_reward_weight=1.25, ctrl_cost_weight=0.1, contact_cost_weight=5e-7,
                     contact_cost_range=(-np.inf, 10.0), healthy_reward=5.0, terminate_when_unhealthy=True,
                     healthy_z_range=(1.0, 2.0), reset_noise_scale=1e-2, **_Human._include)

    def _make_mover(self):
        mass = self.sim.parameter("body_mass")[0]
        self._mover = self._kernel("k_move_mass"), (
            self._source("xipos"), self._plain("shares of mass", mass / mass.sum()),
            self._zeros("last centres", 2 * len(mass)), self._moved, len(mass))

    def _rate_health(self):
        return self._survive(2)

    def _rate_impact(self):
        return self._impact(self.options.contact_cost_weight, cost=self.options.contact_cost_range)


class HumanoidStandupVectorEnv(_Human):
    _native = "1e-3 (but inertias, velocities and forces of bodies)", "0.05"
    _model, _risen = "humanoidstandup.xml", 2
    _rewards_of = "reward_linup", "reward_quadctrl", "reward_survive", "reward_impact"
    _defaults = dict(uph_cost_weight=1, ctrl_cost_weight=0.1, impact_cost_weight=0.5e-6,
                     impact_cost_range=(-np.inf, 10.0), reset_noise_scale=1e-2, **_Human._include)

    def _rate_speed(self):
        model = self.sim.model
        return [(self._kernel("k_stand_up"), (self.sim.qpos, self.action, self.worth, model.timestep,
                                              self.options.ctrl_cost_weight, model.nu))]

    def _rate_impact(self):
        return self._impact(self.options.impact_cost_weight, cost=self.options.impact_cost_range)


class InvertedPendulumVectorEnv(MujocoVectorEnv):
    _model, _frame_skip = "inverted_pendulum.xml", 2
    _rewards_of = ("reward_survive",)
    _defaults = dict(reset_noise_scale=0.01)

    def _list_parts(self, model):
        return [("qpos", 0, model.nq, _ANY), ("qvel", 0, model.nv, _ANY)]

    def _judge(self, begins):
        return [(self._kernel("k_pendulum"), (self.sim.qpos, self.sim.qvel, self.worth, self.failed, 0.2))]


class InvertedDoublePendulumVectorEnv(MujocoVectorEnv):
    _native = "1e-4", "1e-3"
    _model, _noise = "inverted_double_pendulum.xml", "normal"
    _rewards_of = "reward_survive", "distance_penalty", "velocity_penalty"
    _defaults = dict(healthy_reward=10.0, reset_noise_scale=0.1)

    def _count_observed(self):
        return 9

    def _judge(self, begins):
        return [(self._kernel("k_double_pendulum"), (
            self.sim.qpos, self.sim.qvel, self._source("site_xpos"), self._source("qfrc_constraint"), self.observed,
            self.worth, self.failed, self.options.healthy_reward))]


class _Arm(MujocoVectorEnv):
    """Those that look at where bodies are."""

    _bodies: tuple

    def _prepare(self):
        self._places = self._zeros("places", 3 * len(self._bodies))

    def _find_places(self, begins):
        kernel, model, frames = self._kernel("k_place"), self.sim.model, (self._source("xipos"), self._source("xmat"))
        return [(kernel, (*frames, self._offsets, self.begun, self._places, model.find("bodies", name), 3 * i,
                          int(begins)))
                for i, name in enumerate(self._bodies)]

    def _judge(self, begins):
        sim = self.sim
        return [*self._find_places(begins),
                (self._kernel(self._judge_name), (sim.qpos, sim.qvel, self.action, self._places, self.observed,
                                                  self.worth, *self._weights(), sim.model.nu))]


class ReacherVectorEnv(_Arm):
    _native = "0.02", "0.02"
    _model, _frame_skip, _most_steps = "reacher.xml", 2, 50
    _bodies, _judge_name, _rewards_of = ("fingertip", "target"), "k_reach", ("reward_dist", "reward_ctrl")
    _defaults = dict(reward_dist_weight=1, reward_control_weight=1)

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-0.1, 0.1, qpos.shape[1])
        qvel += draws.uniform(-0.005, 0.005, qvel.shape[1])
        qpos[:, -2:] = draws.until(lambda x: _norm(x) < 0.2, lambda d: d.uniform(-0.2, 0.2, 2))
        qvel[:, -2:] = 0

    def _count_observed(self):
        return 10

    def _weights(self):
        return self.options.reward_dist_weight, self.options.reward_control_weight


class PusherVectorEnv(_Arm):
    _model, _most_steps = "pusher_v5.xml", 100
    _bodies, _judge_name = ("tips_arm", "object", "goal"), "k_push"
    _rewards_of = "reward_dist", "reward_ctrl", "reward_near"
    _defaults = dict(reward_near_weight=0.5, reward_dist_weight=1, reward_control_weight=0.1)

    def begin(self, qpos, qvel, draws):
        qpos[:, -4:-2] = draws.until(lambda x: _norm(x) > 0.17,
                                      lambda d: d.uniform([-0.3, -0.2], [0, 0.2], 2))
        qpos[:, -2:] = 0
        qvel += draws.uniform(-0.005, 0.005, qvel.shape[1])
        qvel[:, -4:] = 0

    def _count_observed(self):
        return 23

    def _weights(self):
        o = self.options
        return o.reward_dist_weight, o.reward_control_weight, o.reward_near_weight

    # With Euler's method a step leaves poses of the state before its last time step. Native physics does not keep them:
    # they are taken between two calls.

    def _add_to_step(self):
        if self.sim.physics == "mujoco":
            super()._add_to_step()

    def _advance(self, controls, before_last=None):
        if self.sim.physics == "mujoco":
            return super()._advance(controls, before_last)
        self._write_controls(controls)
        places = len(self._bodies)  # launches
        self.sim.step(self.frame_skip - 1)
        self._launch(self._after_step[:places])
        self.sim.step(1)
        self._launch(self._after_step[places:])


TASKS = {cls.__name__.removesuffix("VectorEnv"): cls
         for cls in (AntVectorEnv, HalfCheetahVectorEnv, HopperVectorEnv, HumanoidVectorEnv, HumanoidStandupVectorEnv,
                     InvertedPendulumVectorEnv, InvertedDoublePendulumVectorEnv, PusherVectorEnv, ReacherVectorEnv,
                     SwimmerVectorEnv, Walker2dVectorEnv)}
"""The vector environments by name."""

for _name, _cls in TASKS.items():  # AntEnv …: one alone
    _parts = {"vector_type": _cls, "__doc__": f"One {_name}; keywords as of {_cls.__name__}.", "__module__": __name__}
    globals()[_name + "Env"] = type(_name + "Env", (Env,), _parts)
