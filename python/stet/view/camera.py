"""Between points of the world and places of a picture, 0 to 1 from its left and its top."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Camera:
    """A camera of a sim in one world: pose [3, 4] of Sim.camera_poses, and what Sim.lens says."""

    pose: Any
    lens: dict[str, Any]

    def local(self, points: Any) -> Any:
        """[n, 3] Points in its frame: right, up, ahead."""
        out = (np.asarray(points, float).reshape(-1, 3) - self.pose[:, 3]) @ self.pose[:, :3]
        out[:, 2] *= -1
        return out

    def depth(self, point: Any) -> float:
        """How far ahead a point is; of a fisheye, how far away."""
        right, up, ahead = self.local(point)[0]
        return float(np.hypot(np.hypot(right, up), ahead) if self.lens["kind"] == "fisheye" else ahead)

    def places(self, points: Any) -> Any:
        """[n, 2] Where points are in the picture, or beside it; NaN where they are behind the near plane."""
        lens, at = self.lens, self.local(points)
        side, ahead = at[:, :2], at[:, 2:]
        with np.errstate(divide="ignore", invalid="ignore"):
            if lens["kind"] == "fisheye":
                across = np.linalg.norm(side, axis=1, keepdims=True)
                uv = np.where(across > 0, side / across, 0) * np.arctan2(across, ahead)
            else:
                uv = np.where(ahead > max(lens["near"], 1e-6), side if lens["kind"] == "orthographic" else side / ahead,
                              np.nan)
        return np.stack([(uv[:, 0] - lens["left"]) / (lens["right"] - lens["left"]),
                         (lens["top"] - uv[:, 1]) / (lens["top"] - lens["bottom"])], axis=1)

    def point(self, x: float, y: float, depth: float) -> Any:
        """[3] The point at a place of the picture, so far ahead (of a fisheye: away)."""
        lens = self.lens
        u = lens["left"] + x * (lens["right"] - lens["left"])
        v = lens["top"] - y * (lens["top"] - lens["bottom"])
        if lens["kind"] == "fisheye":
            angle = np.hypot(u, v)
            side = depth * np.sinc(angle / np.pi)  # the sine over the angle
            at = [u * side, v * side, depth * np.cos(angle)]
        elif lens["kind"] == "orthographic":
            at = [u, v, depth]
        else:
            at = [u * depth, v * depth, depth]
        return self.pose[:, 3] + self.pose[:, :3] @ [at[0], at[1], -at[2]]
