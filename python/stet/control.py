"""Control of robots in all worlds at once: what a limb is (poses, Jacobians, mass matrix), inverse kinematics, and PD
and operational-space controllers. doc/control.md shows them at work.

    from stet.control import InverseKinematics, Limb

    limb = Limb(sim, site="grasp")
    ik = InverseKinematics(limb)
    q, error = ik.solve(position=[0.5, 0, 0.6], quaternion=[0, 1, 0, 0])        # [worlds, joints]

Units are SI: metres, radians, newtons, newton metres. Poses, velocities and Jacobians are in the world's frame: three
numbers of the translation, then three of the rotation. Quaternions are w x y z. Targets are for each world ([worlds,
…]) or one for all. What comes back is float64: NumPy's arrays, or PyTorch's tensors where the state is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import find_arrays
from ._errors import ArgumentTypeError, InvalidArgumentError, NotFoundError, UnsupportedError
from .sim import Sim
from .state import State

__all__ = ["InStep", "InverseKinematics", "JointPD", "Limb", "OperationalSpace", "rotation_error"]


def __dir__() -> list[str]:
    return __all__


_BALL = 1  # joints of this type and below have quaternions
_EXACT = 1e-4  # damping of the null space: hardly any
_RESISTANCE = "qM", "qfrc_bias", "qfrc_passive"
_KINDS = {"site": "sites", "body": "bodies", "geom": "geoms"}


# ---- rotations -------------------------------------------------------------------------------------------------------


def rotation_error(xp: Any, quaternion: Any, target: Any) -> Any:
    """[…, 3] The rotation that turns one orientation into the other, at most a half turn: axis times angle, in the
    world's frame. xp: numpy or torch.
    """
    w, v = quaternion[..., :1], quaternion[..., 1:]
    tw, tv = target[..., :1], target[..., 1:]
    real = tw * w + (tv * v).sum(-1)[..., None]  # of target * conjugate(quaternion)
    cross = tv[..., [1, 2, 0]] * v[..., [2, 0, 1]] - tv[..., [2, 0, 1]] * v[..., [1, 2, 0]]
    turn = w * tv - tw * v - cross
    turn = xp.where(real < 0, -turn, turn)
    size = xp.sqrt((turn * turn).sum(-1))[..., None]
    small = size < 1e-9
    angle = 2 * xp.arctan2(size, abs(real))
    return turn * xp.where(small, 2.0, angle / xp.where(small, 1.0, size))


# ---- limbs -----------------------------------------------------------------------------------------------------------


class Limb:
    """Joints of a robot that move a site, a body or a geom: its end.

    sim       whose worlds they are of
    site, body, geom   the end, by name or number; one of the three
    joints    hinges and slides by name or regular expression, one or a list; None: those between the world and the end
    arrays    "numpy", or "torch": PyTorch's tensors, on the sim's GPU where it has one

    Its properties are those of the present state. n is the number of joints. Other joints of the model are taken as
    standing still.
    """

    def __init__(self, sim: Sim, *, site: str | int | None = None, body: str | int | None = None,
                 geom: str | int | None = None, joints: str | Iterable[str] | None = None,
                 arrays: str = "numpy") -> None:
        if not isinstance(sim, Sim):
            raise ArgumentTypeError(f"Limb: sim is a stet.Sim, not a {type(sim).__name__!r}")
        self.sim = sim
        given = {kind: x for kind, x in (("site", site), ("body", body), ("geom", geom)) if x is not None}
        if len(given) != 1:
            raise InvalidArgumentError(f"Limb: {' and '.join(given) or 'no end'} given; give one of site, body, geom")
        ((self.kind, end),) = given.items()
        self.end = self._find_end(end)
        self.arrays = arrays
        library = find_arrays(arrays, sim, ("numpy", "torch"))
        self._xp = library.module
        self._torch = None if arrays == "numpy" else self._xp
        self._state = State(sim, library)
        chosen = self._find_joints(joints)
        model = sim.model
        self.joints: list[str] = [model.joints[j] for j in chosen]
        """Names of the joints."""
        self._joint_ids = chosen
        self.coordinates, self.dofs = model.jnt_qposadr[chosen].tolist(), model.jnt_dofadr[chosen].tolist()
        """Where the joints are in qpos, and in qvel."""
        self._jacobian = sim.jacobian(self.kind, self.end)

    def __repr__(self) -> str:
        name = getattr(self.sim.model, _KINDS[self.kind])[self.end] or self.end
        return f"<stet.control.Limb, {', '.join(map(str, self.joints))} to {self.kind} {name!r}>"

    def _find_end(self, end):
        model, names = self.sim.model, _KINDS[self.kind]
        if isinstance(end, str):
            return model.find(names, end)
        count = len(getattr(model, names))
        if not isinstance(end, (int, np.integer)) or not 0 <= end < count:
            raise NotFoundError(f"Limb: there is no {self.kind} {end!r}; give a name, or a number, 0 to {count - 1}")
        return int(end)

    def _find_joints(self, joints):
        model = self.sim.model
        moves = [j for j in range(model.njnt) if model.jnt_type[j] > _BALL]
        if joints is None:
            bodies = {"site": lambda: model.site_bodyid, "geom": lambda: model.geom_bodyid}
            body = bodies[self.kind]()[self.end] if self.kind in bodies else self.end
            above = set()
            while body > 0:
                above.add(int(body))
                body = model.body_parentid[body]
            found = [j for j in moves if model.jnt_bodyid[j] in above]
            if not found:
                raise InvalidArgumentError(f"Limb: no hinge or slide moves {self.kind} {self.end}; name joints=")
            return found
        found = set()
        for pattern in [joints] if isinstance(joints, str) else joints:
            one = [j for j in moves if model.joints[j] == pattern]
            one = one or [j for j in moves if model.joints[j] and re.fullmatch(pattern, model.joints[j])]
            if not one:
                names = ", ".join(model.joints[j] for j in moves if model.joints[j])
                raise NotFoundError(f"Limb: no hinge or slide is named {pattern!r} or matches it; there are {names}")
            found.update(one)
        return sorted(found)

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _take(self, array, columns=None):
        """float64 of what the state shows, [worlds, …]."""
        array = array if columns is None else array[:, columns]
        return array.astype(np.float64) if self._torch is None else array.double()

    def _own(self, what, x, *shape):
        """A caller's numbers as [worlds, …]: given for each world or for all."""
        like = self._state.qpos
        try:
            if self._torch is None:
                return np.broadcast_to(np.asarray(x, np.float64), (len(like), *shape))
            x = self._torch.as_tensor(x, dtype=self._torch.float64, device=like.device)
            return x.broadcast_to((len(like), *shape))
        except (RuntimeError, TypeError, ValueError):
            has = f"has shape {list(x.shape)}" if hasattr(x, "shape") else f"is {x!r}"
            raise InvalidArgumentError(f"{what} {has}; give numbers {list(shape)}, or one such for each of the "
                                       f"{len(like)} worlds") from None

    def _parameter(self, name):
        x = self.sim.parameter(name)
        return x if self._torch is None else self._torch.from_numpy(x).to(self._state.qpos.device)

    # ---- what it is now ----------------------------------------------------------------------------------------------

    @property
    def q(self) -> Any:
        """[worlds, n] Positions of the joints."""
        return self._take(self._state.qpos, self.coordinates)

    @property
    def v(self) -> Any:
        """[worlds, n] Velocities of the joints."""
        return self._take(self._state.qvel, self.dofs)

    @property
    def position(self) -> Any:
        """[worlds, 3] Where the end is."""
        at = slice(3 * self.end, 3 * self.end + 3)
        name = "xpos" if self.kind == "body" else f"{self.kind}_xpos"
        return self._take(getattr(self._state, name), at)

    @property
    def quaternion(self) -> Any:
        """[worlds, 4] How the end is turned."""
        at = slice(4 * self.end, 4 * self.end + 4)
        name = "xquat" if self.kind == "body" else f"{self.kind}_xquat"
        return self._take(getattr(self._state, name), at)

    @property
    def jacobian(self) -> Any:
        """[worlds, 6, n] Velocity of the end by those of the joints."""
        rows = self._state.see(f"{self.kind} {self.end}", lambda: self._jacobian)
        return self._take(rows.reshape(len(rows), 6, -1)[:, :, self.dofs])

    @property
    def velocity(self) -> Any:
        """[worlds, 6] Of the end, as far as it is due to the joints."""
        return _apply(self.jacobian, self.v)

    @property
    def mass_matrix(self) -> Any:
        """[worlds, n, n] The joints' part of the mass matrix."""
        rows = self._state.qM.reshape(self.sim.nworld, self.sim.model.nv, -1)
        return self._take(rows[:, self.dofs][:, :, self.dofs])

    @property
    def resistance(self) -> Any:
        """[worlds, n] The forces that hold the joints against gravity, Coriolis forces, springs, dampers and all else
        that is passive: qfrc_bias - qfrc_passive.
        """
        return self._take(self._state.qfrc_bias - self._state.qfrc_passive, self.dofs)

    @property
    def limits(self) -> tuple[Any, Any]:
        """([worlds, n], [worlds, n]) The least and the greatest position of each joint; infinite without limits."""
        ranges = self._parameter("jnt_range").reshape(self.sim.nworld, -1, 2)[:, self._joint_ids]
        low, high = ranges[:, :, 0], ranges[:, :, 1]
        limited = self._own("jnt_limited", self.sim.model.jnt_limited[self._joint_ids], len(self.joints)) != 0
        return self._xp.where(limited, low, -np.inf), self._xp.where(limited, high, np.inf)

    def error(self, position: Any = None, quaternion: Any = None) -> Any:
        """[worlds, 6] (3, if only one is given) From the end to a pose: the way, then the rotation."""
        if position is None and quaternion is None:
            raise InvalidArgumentError("a pose: give a position, a quaternion or both")
        parts = []
        if position is not None:
            parts.append(self._own("position", position, 3) - self.position)
        if quaternion is not None:
            target = self._own("quaternion", quaternion, 4)
            size = self._xp.sqrt((target * target).sum(-1))[:, None]
            if not bool((size > 0).all()):
                raise InvalidArgumentError("quaternion is 0 or not a number in some world; give w x y z of a rotation")
            parts.append(rotation_error(self._xp, self.quaternion, target / size))
        return self._xp.concatenate(parts, 1)

    def _rows(self, position, quaternion):
        """Rows of the Jacobian that belong to such an error."""
        return slice(0 if position is not None else 3, 6 if quaternion is not None else 3)

    # ---- forces and actuators ----------------------------------------------------------------------------------------

    def applied(self, force: Any) -> Any:
        """[worlds, nv] Forces of the joints as qfrc_applied has them, 0 elsewhere: `sim.qfrc_applied.write(…)`."""
        out = 0 * self._take(self._state.qvel)
        out[:, self.dofs] = self._own("force", force, len(self.joints))
        return out

    @functools.cached_property
    def actuators(self) -> list[int]:
        """[n] Numbers of the joints' actuators in ctrl."""
        model = self.sim.model
        if len(model.actuator_trntype) != model.nu or model.na:
            raise UnsupportedError("Limb: actuators with several controls or with dynamics (act) are not covered; "
                                   "apply forces: sim.qfrc_applied.write(limb.applied(force))")
        target = model.actuator_trnid.reshape(-1, 2)[:, 0]
        out = []
        for name, joint in zip(self.joints, self._joint_ids):
            found = np.flatnonzero((model.actuator_trntype < 2) & (target == joint))  # on joints
            if len(found) != 1:
                raise UnsupportedError(f"Limb: joint {name!r} has {len(found)} actuators; give each joint one, or "
                                       "apply forces: sim.qfrc_applied.write(limb.applied(force))")
            out.append(int(found[0]))
        return out

    def controls(self, force: Any) -> Any:
        """[worlds, nu] Controls by which the joints' actuators (motors or servos, without dynamics of their own) have
        these forces; the others keep theirs. An actuator's own range still holds.
        """
        motor, chosen = self._motors(), self.actuators
        out = self._take(self._state.ctrl) + 0
        force = self._own("force", force, len(self.joints))
        out[:, chosen] = motor[:, 0] * force + motor[:, 1] + motor[:, 2] * self.q + motor[:, 3] * self.v
        return out

    def _motors(self):
        """[worlds, 4, n] An actuator's control is [0] force + [1] + [2] q + [3] v."""
        chosen = self.actuators
        gain, bias, gear = (
            self._parameter(name).reshape(self.sim.nworld, self.sim.model.nu, -1)[:, chosen]
            for name in ("actuator_gainprm", "actuator_biasprm", "actuator_gear"))
        if bool((gain[:, :, 0] == 0).any()) or bool((gain[:, :, 1:3] != 0).any()):
            raise UnsupportedError("Limb: the gain of an actuator is not constant; apply forces instead: "
                                   "sim.qfrc_applied.write(limb.applied(force))")
        gain, gear = gain[:, :, 0], gear[:, :, 0]
        return self._xp.stack((1 / (gear * gain), -bias[:, :, 0] / gain, -gear * bias[:, :, 1] / gain,
                               -gear * bias[:, :, 2] / gain), 1)


def _apply(matrix, vector):
    """Of each world."""
    return (matrix @ vector[..., None])[..., 0]


def _turn_over(matrix):
    return matrix.swapaxes(-1, -2)


def _solve(xp, matrix, vector):
    return xp.linalg.solve(matrix, vector[..., None])[..., 0]


def _damped(jacobian, damping):
    """J J^T + damping^2."""
    square = jacobian @ _turn_over(jacobian)
    diagonal = range(square.shape[1])
    square[:, diagonal, diagonal] += damping**2
    return square


# ---- inverse kinematics ----------------------------------------------------------------------------------------------


class InverseKinematics:
    """Differential inverse kinematics by damped least squares, with limits of joints and a posture in the null space.

    damping   least singular value of the Jacobian that counts fully, metres or radians a radian: greater is smoother
              near singular poses, and slower
    posture   [n] positions that the joints go to as far as the end's pose leaves them free; None: the middle of their
              ranges where they have some, else where they are
    posture_gain   the part of the way to the posture that a step takes; 0: none
    max_step  greatest change of a joint in a step, radians or metres; None: no bound
    """

    def __init__(self, limb: Limb, *, damping: float = 0.05, posture: Any = None, posture_gain: float = 0.0,
                 max_step: float | None = None) -> None:
        if not damping > 0:
            raise InvalidArgumentError(f"InverseKinematics: damping is {damping!r}; give a number above 0")
        self.limb, self.damping, self.posture_gain, self.max_step = limb, damping, posture_gain, max_step
        self.posture = posture
        if posture is not None:
            limb._own("posture", posture, len(limb.joints))

    def __repr__(self) -> str:
        return f"<stet.control.InverseKinematics of {self.limb!r}>"

    def step(self, position: Any = None, quaternion: Any = None) -> Any:
        """[worlds, n] How far the joints move from where they are towards a pose of the end: the dq with the least
        |J dq - error|^2 + damping^2 |dq|^2, and what of the way to the posture does not move the end. Joints that would
        leave their limits go up to them, and the others are computed again.
        """
        return self._step(self.limb, position, quaternion)

    def _step(self, limb, position, quaternion):
        error = limb.error(position, quaternion)
        jacobian = limb.jacobian[:, limb._rows(position, quaternion)]
        low, high = self._room(limb)
        return self._within(limb, jacobian, error, self._to_posture(limb), low, high)

    def _to_posture(self, limb):
        q = limb.q
        if self.posture_gain == 0:
            return 0 * q
        if self.posture is not None:
            return self.posture_gain * (limb._own("posture", self.posture, len(limb.joints)) - q)
        low, high = limb.limits
        bounded = limb._xp.isfinite(low + high)
        return self.posture_gain * limb._xp.where(bounded, (low + high) / 2 - q, 0 * q)

    def _room(self, limb):
        """How far each joint can move; one beyond its limits may come back."""
        q, (low, high) = limb.q, limb.limits
        low, high = low - q, high - q
        most = np.inf if self.max_step is None else self.max_step
        return low.clip(-most, 0), high.clip(0, most)

    def _within(self, limb, jacobian, error, wish, low, high):
        xp = limb._xp
        fixed = low > high  # none
        dq = 0 * wish
        for _ in range(len(limb.joints) + 1):
            moving = jacobian * ~fixed[:, None]
            rest = error - _apply(jacobian, xp.where(fixed, dq, 0 * dq))
            free = self._solve_free(xp, moving, rest, xp.where(fixed, 0 * wish, wish))
            dq = xp.where(fixed, dq, free)
            over = ~fixed & ((dq < low) | (dq > high))
            if not bool(over.any()):
                break
            dq = xp.where(over, xp.minimum(xp.maximum(dq, low), high), dq)
            fixed = fixed | over
        return dq

    def _solve_free(self, xp, jacobian, error, wish):
        task = _solve(xp, _damped(jacobian, self.damping), error)
        disturbed = _solve(xp, _damped(jacobian, _EXACT), _apply(jacobian, wish))  # by the posture
        return wish + _apply(_turn_over(jacobian), task - disturbed)

    @functools.cached_property
    def _scratch(self):
        """The limb in a sim of its own, whose joints can be moved without moving the robot."""
        limb = self.limb
        sim = Sim(limb.sim.model, limb.sim.nworld, "cpu", physics="external", isa="f64")
        return Limb(sim, **{limb.kind: limb.end}, joints=[re.escape(name) for name in limb.joints])

    def solve(self, position: Any = None, quaternion: Any = None, *, iterations: int = 100,
              tolerance: float = 1e-6) -> tuple[Any, Any]:
        """([worlds, n], [worlds]) Positions of the joints at which the end has a pose, found from where they are, and
        what is left of the error: the norm of `Limb.error`. Ends after so many iterations, or once no world's error is
        above the tolerance. Joints stay within their limits. The sim is not moved. Runs on the host.
        """
        limb, scratch = self.limb, self._scratch
        model = limb.sim.model
        for name in ("qpos", "mocap_pos", "mocap_quat"):
            scratch.sim.array(name).write(limb.sim.array(name).numpy())
        for name in ("body_pos", "body_quat", "geom_pos", "geom_quat", "jnt_range"):
            now = limb.sim.parameter(name)
            if (now != scratch.sim.parameter(name)).any():
                scratch.sim.set_parameter(name, now)
        qpos = scratch.sim.qpos.numpy()
        given = [x if limb._torch is None or x is None else np.asarray(limb._torch.as_tensor(x).cpu())
                 for x in (position, quaternion)]
        best, left = scratch.q, np.full(limb.sim.nworld, np.inf)
        for _ in range(iterations + 1):
            norm = np.linalg.norm(scratch.error(*given), axis=1)
            better = norm < left
            best, left = np.where(better[:, None], scratch.q, best), np.where(better, norm, left)
            if (left <= tolerance).all():
                break
            qpos[:, limb.coordinates] += self._step(scratch, *given)
            scratch.sim.qpos.write(qpos)
        if limb._torch is None:
            return best, left
        return limb._own("q", best, len(limb.joints)), limb._own("error", left)


# ---- controllers -----------------------------------------------------------------------------------------------------


class InStep(NamedTuple):
    """A controller in the step of a sim: `add_to_step`."""

    target: _core.Array
    """[worlds, …] What the caller writes; in the beginning it is how things are."""
    kernel: int
    """For Sim.remove_kernel, which takes it out of the step."""


def _add_to_step(name, limb, to, target, gains, limit, quantities=(), work=0, more=()):
    """Adds a kernel of control.k.h. target, gains [worlds, …]; work: how many numbers it needs; more: its last
    arguments.
    """
    if to not in ("ctrl", "qfrc_applied"):
        raise InvalidArgumentError(f"add_to_step: to is {to!r}; give 'ctrl' or 'qfrc_applied'")
    sim, n = limb.sim, len(limb.joints)
    if to == "ctrl":
        motor, places = limb._motors(), limb.actuators
    else:
        motor, places = limb._own("motor", np.eye(4)[0][:, None] * np.ones(n), 4, n), limb.dofs

    def array(name, x, worlds=True):
        x = x if isinstance(x, np.ndarray) else x.cpu().numpy()
        made = sim.zeros(x.shape, "real" if worlds else "int32", worlds=worlds, name=name)
        made.write(x)
        return made

    limit = limb._own("limit", np.inf if limit is None else limit, n)
    arrays = [array(name, x) for name, x in (("target", target), ("gains", gains), ("limit", limit),
                                             ("motor", motor.reshape(sim.nworld, 4 * n)))]
    at = array("at", np.array([*limb.coordinates, *limb.dofs, *places], np.int32), worlds=False)
    work = [sim.zeros((sim.nworld, work), "real", worlds=True, name="work")] if work else []
    kernel = sim.kernel(path=Path(__file__).resolve().with_name("control.k.h"), name=name,
                        shipped_folder=Path(_core.__file__).with_name("kernels"))
    return InStep(arrays[0], sim.add_kernel("before_physics", kernel, [
        sim.qpos, sim.qvel, *quantities, *arrays, at, *work, sim.array(to), *more]))


def _squash(limb, force, limit):
    if limit is None:
        return force
    limit = limb._own("limit", limit, len(limb.joints))
    return limb._xp.minimum(limb._xp.maximum(force, -limit), limit)


class JointPD:
    """Joints go to positions: force = kp (target - q) + kd (its velocity - v), at most `limit` (N or N m) either way.

    kp, kd    for all joints, or one each: N m / rad and N m s / rad (N / m …)
    feedforward   True: the above are accelerations, 1/s^2 and 1/s, that the joints get whatever their inertia and load
                  (computed torque): force = mass matrix (acceleration + kp … + kd …) + resistance
    """

    def __init__(self, limb: Limb, kp: Any, kd: Any, *, limit: Any = None, feedforward: bool = False) -> None:
        self.limb, self.kp, self.kd, self.limit, self.feedforward = limb, kp, kd, limit, feedforward
        self._gains()

    def __repr__(self) -> str:
        return f"<stet.control.JointPD of {self.limb!r}>"

    def _gains(self):
        return [self.limb._own(what, x, len(self.limb.joints)) for what, x in (("kp", self.kp), ("kd", self.kd))]

    def force(self, target: Any, velocity: Any = 0.0, acceleration: Any = 0.0) -> Any:
        """[worlds, n] Forces of the joints now."""
        limb, n = self.limb, len(self.limb.joints)
        kp, kd = self._gains()
        target, velocity, acceleration = (limb._own(what, x, n) for what, x in (
            ("target", target), ("velocity", velocity), ("acceleration", acceleration)))
        force = kp * (target - limb.q) + kd * (velocity - limb.v)
        if self.feedforward:
            force = _apply(limb.mass_matrix, force + acceleration) + limb.resistance
        return _squash(limb, force, self.limit)

    def add_to_step(self, *, to: str = "ctrl") -> InStep:
        """Makes the controller a kernel before the physics of each step, on the device: it reads `target` of what this
        returns, [worlds, 3 n]: positions, velocities, accelerations (in the beginning those of now, 0 and 0), and
        writes the joints' controls, or with to="qfrc_applied" their forces. Gains and what actuators make of a control
        are those of now.
        """
        limb, n, sim = self.limb, len(self.limb.joints), self.limb.sim
        xp, rest = limb._xp, 0 * limb.q
        arguments = limb, to, xp.concatenate((limb.q, rest, rest), 1), xp.concatenate(self._gains(), 1), self.limit
        if not self.feedforward:
            return _add_to_step("k_joints", *arguments, more=(n,))
        return _add_to_step("k_joints_torque", *arguments, [sim.array(name) for name in _RESISTANCE],
                            more=(n, sim.model.nv))


class OperationalSpace:
    """The end goes to a pose as if it were a body of its own (Khatib, "A unified approach for motion and force control
    of robot manipulators: The operational space formulation", 1987), and the joints to a posture in what is left.

    kp, kd    1/s^2 and 1/s, one number or six: the end's acceleration is kp error + kd (velocity - its own)
    posture, posture_kp, posture_kd   the same of the joints in the null space; posture None: they are only damped
    damping   keeps forces finite near singular poses
    """

    def __init__(self, limb: Limb, kp: Any, kd: Any, *, posture: Any = None, posture_kp: float = 0.0,
                 posture_kd: float = 0.0, limit: Any = None, damping: float = 1e-4) -> None:
        self.limb, self.kp, self.kd, self.limit, self.damping = limb, kp, kd, limit, damping
        self.posture, self.posture_kp, self.posture_kd = posture, posture_kp, posture_kd
        self._gains()

    def __repr__(self) -> str:
        return f"<stet.control.OperationalSpace of {self.limb!r}>"

    def _gains(self):
        """kp, kd and the posture."""
        limb = self.limb
        posture = None if self.posture is None else limb._own("posture", self.posture, len(limb.joints))
        return limb._own("kp", self.kp, 6), limb._own("kd", self.kd, 6), posture

    def force(self, position: Any = None, quaternion: Any = None, velocity: Any = 0.0) -> Any:
        """[worlds, n] Forces of the joints now. velocity: [6] that the end shall have at the target, or one number."""
        limb, xp = self.limb, self.limb._xp
        rows = limb._rows(position, quaternion)
        error = limb.error(position, quaternion)
        jacobian, mass, v = limb.jacobian[:, rows], limb.mass_matrix, limb.v
        kp, kd, posture = self._gains()
        aim = limb._own("velocity", velocity, 6) - _apply(limb.jacobian, v)
        wish = kp[:, rows] * error + kd[:, rows] * aim[:, rows]
        eased = xp.linalg.solve(mass, _turn_over(jacobian))  # accelerations of the joints by forces on the end
        mobility = jacobian @ eased
        diagonal = range(mobility.shape[1])
        mobility[:, diagonal, diagonal] += self.damping**2
        still = -self.posture_kd * v
        if posture is not None:
            still = still + self.posture_kp * (posture - limb.q)
        # What the posture would do to the end is taken out of its acceleration.
        end = _solve(xp, mobility, wish - _apply(jacobian, still))
        force = _apply(_turn_over(jacobian), end) + _apply(mass, still) + limb.resistance
        return _squash(limb, force, self.limit)

    def add_to_step(self, *, position: bool = True, quaternion: bool = True, to: str = "ctrl") -> InStep:
        """Makes the controller a kernel before the physics of each step, on the device: it reads `target` of what this
        returns, [worlds, 13]: position, quaternion and velocity of the end (in the beginning the pose of now, and 0),
        and writes the joints' controls, or with to="qfrc_applied" their forces. position, quaternion: whether the end
        goes there. Gains, posture and what actuators make of a control are those of now.
        """
        if not (position or quaternion):
            raise InvalidArgumentError("a pose: give a position, a quaternion or both")
        limb, n, sim, xp = self.limb, len(self.limb.joints), self.limb.sim, self.limb._xp
        rows = limb._rows(position or None, quaternion or None)
        m = rows.stop - rows.start
        kp, kd, posture = self._gains()
        target = xp.concatenate((limb.position, limb.quaternion, 0 * kp), 1)
        gains = xp.concatenate((kp, kd, limb.q if posture is None else posture), 1)
        place, turn = ("xpos", "xquat") if limb.kind == "body" else (f"{limb.kind}_xpos", f"{limb.kind}_xquat")
        mass, *resistance = (sim.array(name) for name in _RESISTANCE)
        quantities = mass, limb._jacobian, sim.array(place), sim.array(turn), *resistance
        return _add_to_step("k_end", limb, to, target, gains, self.limit, quantities, n * n + n * m + m * m + m + n,
                            (self.damping, 0.0 if posture is None else self.posture_kp, self.posture_kd, rows.start, m,
                             limb.end, n, sim.model.nv))
