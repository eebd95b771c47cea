"""Where a page begins to look: at what moves, through the model's tracking camera if it has one, and from above the
floor.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import sim as _sim

_MOST_BEGUN = 16  # worlds that a page shows at first
_FREE, _TRACK, _TRACKCOM = 0, 1, 2  # types of joints, modes of cameras
_HFIELD, _SPHERE, _CAPSULE, _CYLINDER = 1, 2, 3, 5  # types of geoms; planes are below


def _find_moving(model):
    """[nbody] bool: bodies that joints or mocap move, by themselves or with what they are on."""
    moving = np.zeros(model.nbody, np.bool_)
    moving[model.jnt_bodyid] = True
    moving |= model.body_mocapid >= 0
    for body in range(1, model.nbody):  # parents come first
        moving[body] |= moving[model.body_parentid[body]]
    return moving


def _find_root(model):
    """The body of the only free joint, if all that moves by joints is on it: a robot that walks; else -1."""
    free = np.flatnonzero(model.jnt_type == _FREE)
    if len(free) != 1:
        return -1
    root, top = int(model.jnt_bodyid[free[0]]), list(range(model.nbody))
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        top[body] = body if body == root or parent == 0 else top[parent]
    return root if all(top[body] == root for body in model.jnt_bodyid) else -1


def first_look(model: Any, nworld: int) -> dict[str, Any]:
    """Entries of the message "look" that a page begins with."""
    tracking = np.flatnonzero((model.cam_mode == _TRACK) | (model.cam_mode == _TRACKCOM))
    named = [model.cameras[camera] for camera in tracking if model.cameras[camera]]
    return {"count": min(_MOST_BEGUN, nworld), "camera": named[0] if named else "",
            "follow": -1 if named else _find_root(model)}


@functools.lru_cache(maxsize=8)
def find_floor(model: Any) -> float | None:
    """The height of the highest level plane (or foot of a height field) that does not move, below which a camera sees
    nothing of use; None: there is none.
    """
    planes = np.flatnonzero((model.geom_type <= _HFIELD) & ~_find_moving(model)[model.geom_bodyid])
    if not len(planes):
        return None
    with _sim.Sim(model, 1, "cpu", physics="mujoco", threads=1) as sim:
        up = sim.geom_xmat.numpy().reshape(-1, 3, 3)[planes, 2, 2]
        heights = sim.geom_xpos.numpy().reshape(-1, 3)[planes, 2]
    level = heights[up > 0.999]
    return float(level.max()) if len(level) else None


def _radii(kinds, sizes):
    """Of spheres around geoms."""
    across = np.where(kinds == _CAPSULE, sizes[:, 0] + sizes[:, 1], np.linalg.norm(sizes, axis=1))
    across = np.where(kinds == _CYLINDER, np.hypot(sizes[:, 0], sizes[:, 1]), across)
    return np.where(kinds == _SPHERE, sizes[:, 0], across)


def frame_moving(sim: Any) -> tuple[float, ...] | None:
    """A view (azimuth, elevation, distance, x, y, z) of the sim's free camera that shows what moves of its first world,
    with a margin; None: nothing visible moves, or the places of the geoms are not known.
    """
    model = sim.model
    shown = _find_moving(model)[model.geom_bodyid] & (model.geom_type > _HFIELD)
    if sim.physics == "external" or not shown.any():
        return None
    at = sim.geom_xpos.read_worlds(0, 1).reshape(-1, 3)[shown].astype(float)
    radii = _radii(model.geom_type[shown], sim.parameter("geom_size")[0].reshape(-1, 3)[shown])[:, None]
    low, high = (at - radii).min(axis=0), (at + radii).max(axis=0)
    if not np.isfinite([low, high]).all():
        return None
    azimuth, elevation, *_ = sim.place_camera("free:fit")
    lens = sim.lens()
    narrow = min(lens["top"], lens["right"])
    half = {"perspective": math.atan(narrow), "fisheye": narrow}.get(lens["kind"], 0.4)
    centre = (low + high) / 2
    around = float((np.linalg.norm(at - centre, axis=1) + radii[:, 0]).max())  # all of it is so near the centre
    # Not nearer than the near plane, which in a large scene is farther away than a small robot is large.
    distance = max(max(around, 1e-3) / math.sin(min(half, math.pi / 2)) * 1.05, 1.05 * (lens["near"] + around))
    return (azimuth, elevation, distance, *map(float, centre))
