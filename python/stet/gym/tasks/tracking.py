"""A humanoid that moves as a recorded motion does: `G1Tracking`, as mjlab's Mjlab-Tracking-Flat-Unitree-G1, with these
differences: velocities that are observed are the pelvis', not those at the IMU; episodes begin at any frame of the
motion with equal chance.

An observation has two parts: "policy", with noise: joints' angles and velocities of the motion; where its torso is, and
how it is turned (two columns of the rotation), in the frame of the robot's; velocity and angular velocity of
the pelvis, in its frame; the joints' angles less those of the keyframe, their velocities, the last action; and
"critic": the same without noise, and place and rotation of 14 bodies in the frame of the torso.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import stet
from stet._errors import InvalidArgumentError
from stet.gym.env import Env
from stet.gym.randomize import Randomize

from .base import TaskVectorEnv, noise_of
from .scene import g1_scene

TERMS = ("root", "root_turn", "bodies", "turns", "velocities", "spins", "change", "limits", "itself")
_BODIES = ("pelvis", "left_hip_roll_link", "left_knee_link", "left_ankle_roll_link", "right_hip_roll_link",
           "right_knee_link", "right_ankle_roll_link", "torso_link", "left_shoulder_roll_link", "left_elbow_link",
           "left_wrist_yaw_link", "right_shoulder_roll_link", "right_elbow_link", "right_wrist_yaw_link")
_TIPS = "left_ankle_roll_link", "right_ankle_roll_link", "left_wrist_yaw_link", "right_wrist_yaw_link"
_VELOCITIES = 0.5, 0.5, 0.2, 0.52, 0.52, 0.78  # widths of pushes: m/s, rad/s


class G1TrackingVectorEnv(TaskVectorEnv):
    """Unitree's G1 does as a motion does. Keywords as of TaskVectorEnv, and

    motion   a .npz file of a motion at 50 frames a second, as mjlab has them: joint_pos [frames, 29] in the order of
             the model's joints, and the pelvis' places and quaternions, the first of body_pos_w and body_quat_w
             [frames, n, …]; or qpos [frames, 36] itself. None: it goes down and up and waves its arms

    When the motion is over it begins again. info["error"] is how far 14 bodies are from where they should be around the
    torso, on average, m.
    """

    randomize = (
        Randomize("geom_friction", ".*_foot[1-7]_collision", component=0, uniform=(0.3, 1.2), correlated=True,
                  every="world"),
        Randomize("body_ipos", "torso_link", uniform=([-0.025, -0.05, -0.05], [0.025, 0.05, 0.05]), operation="add",
                  every="world"),
    )
    terms = TERMS
    measured = "error", "mean", 0.1
    training = {**TaskVectorEnv.training, "algorithm": {"entropy_coef": 0.005},
                "actor": {"distribution_cfg": {"init_std": 0.2}}}  # with more of it to lose the motion soon pays
    _usual = {"root": 0.5, "root_turn": 0.5, "bodies": 1, "turns": 1, "velocities": 1, "spins": 1, "change": -0.1,
              "limits": -10, "itself": -40}
    _defaults = {"frame_skip": 4, "max_episode_steps": 500}

    def __init__(self, num_envs: int = 1, device: str = "auto", *,
                 motion: str | Path | NDArray[np.float64] | None = None, disturb: bool = True,
                 weights: dict[str, float] | None = None, **more: object) -> None:
        scene = g1_scene()
        scene.floor()
        for body in _BODIES:
            scene.add("sensor", "framelinvel", name=f"{body}_velocity", objtype="xbody", objname=body)
            scene.add("sensor", "frameangvel", name=f"{body}_spin", objtype="xbody", objname=body)
        scene.add("sensor", "contact", name="itself", subtree1="pelvis", subtree2="pelvis", data="found force",
                  reduce="maxforce")
        model = stet.load(scene.text())
        self._frames = read_motion(model, motion)
        seen = 15 + 5 * model.nu
        super().__init__(model, num_envs, device, seen, seen + 9 * len(_BODIES), disturb, weights, **more)

    def _make_task(self, nu):
        model = self.sim.model
        self._hold = self._plain("hold", self.home[7:])
        self._joint = self._plain("joint", [self.home[7:], *self._limits(slice(1, None))])
        self._noise = self._plain("noise", noise_of((0, 2 * nu), (0.25, 3), (0.05, 6), (0.5, 3), (0.2, 3), (0.01, nu),
                                                    (0.5, nu), (0, nu)))
        self._number = self._plain("numbers", [self.dt, *_VELOCITIES, 1, 3, 0.05, 0.05, 0.01, 0.1, 0.1, 0.2, 0.1, 0.25,
                                               0.8, 0.25, *(self.weights[name] for name in TERMS)])
        self._motion = self._plain("motion", self._frames)
        self._body, self._tip = (self._ints(name, values) for name, values in (
            ("bodies", [model.find("bodies", name) for name in _BODIES]),
            ("hands and feet", [_BODIES.index(name) for name in _TIPS])))
        self._own(clock=1, bias=nu)
        self._own("int32", frame=1)

    def _ints(self, name, values):
        out = self.sim.zeros((len(values),), "int32", name=name)
        out.write(np.array(values, np.int32))
        return out

    def drawn(self):
        return [*super().drawn(), (self.bias, -0.01, 0.01)]

    def kernels(self, begins):
        sim, (nframe, width) = self.sim, self._motion.shape
        model, at = sim.model, sim.columns("step_sensordata", f"{_BODIES[0]}_velocity").start
        nq, nv, nu, ntrack, anchor = model.nq, model.nv, model.nu, len(_BODIES), _BODIES.index("torso_link")
        place, turn = sim.array("xpos"), sim.array("xquat")
        rate = self._kernel("tracking", "k_rate_motion"), (
            sim.qpos, place, turn, sim.array("step_sensordata"), self.change, self.frame, self.tick, self.clock,
            self._motion, self._body, self._tip, self._joint, self._number, self.worth, self.failed, ntrack, len(_TIPS),
            anchor, at, width, nq + nv, nu)
        put = self._kernel("tracking", "k_set_motion"), (
            sim.qpos, sim.qvel, self.previous, self.begun, self.dice, self.frame, self.tick, self.clock, self._motion,
            self._number, nframe, width, nq, nv, nu, self._disturb, int(begins))
        see = self._kernel("tracking", "k_see_motion"), (
            sim.qpos, sim.qvel, place, turn, self.previous, self.dice, self.bias, self.frame, self.tick, self._motion,
            self._body, self._joint, self._noise, self.observed, ntrack, anchor, width, nq, nv, nu, self._disturb)
        return [put, see] if begins else [rate, put, see]


def wave(model: stet.Model) -> NDArray[np.float64]:
    """[frames, nq] Eight seconds: twice down and up, the feet where they are, and an arm that waves, then the other."""
    time = np.arange(400) / 50
    with stet.Sim(model, 1, "cpu", physics="native") as sim:
        qpos = np.repeat(sim.qpos.numpy().astype(float), len(time), axis=0)
    at = {name: 6 + k for k, name in enumerate(model.joints)}  # of the joints behind the free one
    down, length = 0.12 * (1 - np.cos(2 * np.pi * time / 4)) / 2, 0.3  # m; of a thigh and of a shin, nearly
    lift = np.sin(np.pi * time / 4).clip(0), (-np.sin(np.pi * time / 4)).clip(0)
    for side, sign, raised in (("left", 1, lift[0]), ("right", -1, lift[1])):
        hip, knee, ankle = (at[f"{side}_{name}_joint"] for name in ("hip_pitch", "knee", "ankle_pitch"))
        bend = 2 * np.arccos(np.cos(qpos[0, knee] / 2) - down / (2 * length))
        qpos[:, hip] -= (bend - qpos[0, knee]) / 2
        qpos[:, ankle] -= (bend - qpos[0, knee]) / 2
        qpos[:, knee] = bend
        qpos[:, at[f"{side}_shoulder_roll_joint"]] += sign * 1.2 * raised
        qpos[:, at[f"{side}_elbow_joint"]] += 0.3 * raised * np.sin(2 * np.pi * time * 1.5)
    with stet.Sim(model, len(time), "cpu", physics="native") as sim:
        sim.qpos.write(qpos)
        foot = model.find("bodies", "left_ankle_roll_link")
        place = sim.xpos.numpy().reshape(len(time), -1, 3)[:, foot]
    qpos[:, :3] += place[0] - place
    return qpos


def read_motion(model: stet.Model, motion: object) -> NDArray[np.float64]:
    """[frames, …] Of each frame qpos, qvel and the tracked bodies, as tracking.k.h has them."""
    if motion is None:
        qpos = wave(model)
    elif isinstance(motion, np.ndarray):
        qpos = motion
    else:
        with np.load(Path(str(motion))) as file:
            missing = {"joint_pos", "body_pos_w", "body_quat_w"} - set(file)
            if "qpos" not in file and missing:
                raise InvalidArgumentError(f"{motion}: it has neither qpos nor {', '.join(sorted(missing))}")
            qpos = file["qpos"] if "qpos" in file else np.concatenate(
                [file["body_pos_w"][:, 0], file["body_quat_w"][:, 0], file["joint_pos"]], axis=1)
    qpos = np.array(qpos, float)
    if qpos.ndim != 2 or qpos.shape[1] != model.nq or len(qpos) < 3 or not np.isfinite(qpos).all():
        raise InvalidArgumentError(f"motion: it is [frames, {model.nq}] finite numbers, of three frames or more, not "
                                   f"{list(qpos.shape)}")
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    n, rate = len(qpos), 50.0
    with stet.Sim(model, n, "cpu", physics="native") as sim:
        sim.qpos.write(qpos)
        chosen = [model.find("bodies", name) for name in _BODIES]
        place = sim.xpos.numpy().astype(float).reshape(n, -1, 3)[:, chosen]
        turn = sim.xquat.numpy().astype(float).reshape(n, -1, 4)[:, chosen]
    velocity, spin = np.gradient(place, 1 / rate, axis=0), _spin(turn, rate)
    root = np.concatenate([velocity[:, 0], _into(turn[:, 0], spin[:, 0])], axis=1)
    qvel = np.concatenate([root, np.gradient(qpos[:, 7:], 1 / rate, axis=0)], axis=1)
    bodies = np.concatenate([place, turn, velocity, spin], axis=2).reshape(n, -1)
    return np.concatenate([qpos, qvel, bodies], axis=1)


def _times(p, q):
    w = p[..., :1] * q[..., :1] - (p[..., 1:] * q[..., 1:]).sum(-1, keepdims=True)
    return np.concatenate([w, p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])], -1)


def _spin(turn, rate):
    """Angular velocities in the world's frame, from one frame before to one behind."""
    before, behind = np.concatenate([turn[:1], turn[:-1]]), np.concatenate([turn[1:], turn[-1:]])
    step = _times(behind, before * [1, -1, -1, -1])
    step = np.where(step[..., :1] < 0, -step, step)
    length = np.linalg.norm(step[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(length, step[..., :1])
    span = np.full((len(turn), 1, 1), 2 / rate)
    span[[0, -1]] = 1 / rate
    return step[..., 1:] / np.maximum(length, 1e-12) * angle / span


def _into(turn, v):
    """Vectors of the world in the frames of rotations."""
    zero = np.zeros_like(v[..., :1])
    return _times(_times(turn * [1, -1, -1, -1], np.concatenate([zero, v], -1)), turn)[..., 1:]


class G1TrackingEnv(Env):
    """One of G1TrackingVectorEnv."""

    vector_type = G1TrackingVectorEnv


TASKS = {"G1Tracking": G1TrackingVectorEnv}
