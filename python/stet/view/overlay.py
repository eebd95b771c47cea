"""What is drawn over a picture of one world: marks, each a colour and places of the picture that a line joins (one
place is a dot). Places are 0 to 1 from the left and the top; what is behind the camera is left out.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

_PULL, _TRAIL, _CONTACT, _FORCE = "#f6c", "#fc5", "#f90", "#6e6"
_MOST_POINTS = 600  # of a trail


def line(colour: str, camera: Any, points: Any) -> list[Any]:
    """Marks of a line through points [n, 3]: pieces of it that can be seen."""
    places = camera.places(points).round(4)
    seen = (abs(places) < 50).all(axis=1)
    pieces = np.split(places, np.flatnonzero(np.diff(seen)) + 1)
    return [[colour, piece.tolist()] for piece in pieces if len(piece) and (abs(piece[0]) < 50).all()]


class Trail:
    """Where a body was in the last seconds of the simulation."""

    def __init__(self, seconds: float = 3.0) -> None:
        self._seconds = seconds
        self._of: object = None
        self._points: deque[tuple[float, Any]] = deque(maxlen=_MOST_POINTS)

    def add(self, of: object, time: float, point: Any) -> None:
        """A point of whatever `of` is; another `of`, or a step back in time, begins anew."""
        if of != self._of or self._points and time < self._points[-1][0]:
            self._points.clear()
            self._of = of
        if not self._points or time > self._points[-1][0]:
            self._points.append((time, point))
        while self._points[0][0] < time - self._seconds:
            self._points.popleft()

    def marks(self, camera: Any) -> list[Any]:
        return line(_TRAIL, camera, [point for _, point in self._points])


def pull_marks(camera: Any, point: Any, target: Any) -> list[Any]:
    return line(_PULL, camera, [point]) + line(_PULL, camera, [point, target])


def contact_marks(camera: Any, sim: Any, forces: bool) -> list[Any]:
    """Of the first world of a sim: its contacts, and the forces on their second geoms. As in MuJoCo's viewer a force
    has the length of 5 mm a newton, over the bodies' mean mass in kg.
    """
    def row(name, items):
        return sim.array(name).read_worlds(0, 1)[0].reshape(-1, items)

    there = row("contact_geom", 2)[:, 0] >= 0
    points = row("contact_pos", 3)[there].astype(float)
    marks = [mark for point in points for mark in line(_CONTACT, camera, [point])]
    if forces:
        frames = row("contact_frame", 9)[there].reshape(-1, 3, 3).astype(float)
        masses = row("cinert", 10)[:, 9]
        pushes = np.einsum("ckx,ck->cx", frames, row("contact_force", 6)[there, :3].astype(float))
        ends = points + pushes * 0.005 / max(masses[masses > 0].mean() if (masses > 0).any() else 1, 1e-6)
        marks += [mark for ends in zip(points, ends) for mark in line(_FORCE, camera, ends)]
    return marks
