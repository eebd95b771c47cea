"""A body that a reader pulls: a damped spring from a point of the body to where the pointer is, as in MuJoCo's viewer
(mjv_applyPerturbForce): stiffness and damping go by the mass that the point has there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_STIFFNESS, _TWIST = 100.0, 500.0  # MuJoCo's visual/map stiffness and stiffnessrot, by default, 1/s²
_SOFT = 0.5  # the spring's rate times the seconds for which its force holds


class Pull:
    """Of a point [3] of a body, in its frame. target [3]: of the world. Used in the thread that steps the sim."""

    def __init__(self, world: int, body: int, point: Any, target: Any) -> None:
        self.world, self.body, self.point, self.target = world, body, np.asarray(point, float), target
        self._mass: tuple[float, float] | None = None  # of the point, and what turning the body takes

    def force(self, sim: Any, seconds: float) -> Any:
        """[6] Force and torque on the body's centre of mass, for a step of so many seconds."""
        def row(name):
            return sim.array(name).read_worlds(self.world, 1)[0].astype(float)

        at = 3 * self.body
        turn, middle = row("xmat")[3 * at:3 * at + 9].reshape(3, 3), row("xipos")[at:at + 3]
        point = row("xpos")[at:at + 3] + turn @ self.point
        arm = point - middle
        jacobian = sim.jacobian("body_com", self.body).read_worlds(self.world, 1)[0].astype(float).reshape(6, -1)
        along, spin = jacobian[:3] - np.cross(arm, jacobian[3:], axis=0), jacobian[3:]  # of the point; of the body
        if self._mass is None:
            inertia = row("qM").reshape(along.shape[1], -1)
            self._mass = _mass(along, inertia), _mass(spin, inertia)
        rate = min(np.sqrt(_STIFFNESS), _SOFT / seconds)
        velocity = row("qvel")
        away = point - self.target
        force = -self._mass[0] * (rate * rate * away + rate * (along @ velocity))
        away /= max(np.linalg.norm(away), 1e-12)
        twist = min(np.sqrt(_TWIST), _SOFT / seconds) * self._mass[1] * (away @ (spin @ velocity))
        out = np.concatenate([force, np.cross(arm, force) - twist * away])
        return out if np.isfinite(out).all() else np.zeros(6)


def _mass(jacobian, inertia):
    """What moves with a point, [3, nv], on the average of three directions."""
    weight = np.trace(jacobian @ np.linalg.solve(inertia, jacobian.T))
    return 3 / weight if weight > 1e-12 else 1.0
