"""Rays from a body in all worlds at once: height scans and lidar.

    scan = sim.scanner("trunk", stet.GridPattern(size=(1.6, 1.0), resolution=0.1))   # turns with the body's yaw
    scan.read()                                     # [worlds, 187] distances, m
    heights = sim.height_scan("trunk")
    heights.read()                                  # [worlds, 187] the body's height above the ground, less 0.5 m

Rays hit planes, height fields (their surface), spheres, capsules, ellipsoids, cylinders and boxes, in each world where
they are there; by default those that no joint moves. They are computed when they are read, on the sim's device, with
the same bits on each.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import ArgumentTypeError, InvalidArgumentError, NotFoundError, UnsupportedError

__all__ = ["GridPattern", "LidarPattern", "RayPattern", "Scanner"]

_ALIGN = {"base": 0, "yaw": 1, "world": 2}
_HFIELD, _BOX = 1, 6
_BLOCK = 8  # cells of a block of a height field, as scan.k.h has it
_TYPES = ["plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "signed distance field"]


class _Pattern(Protocol):
    align: str

    def rays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """[n, 3] starts and [n, 3] directions in the frame of the scan."""


class RayPattern:
    """Rays of one's own: starts and directions, [n, 3] or [3] for all, in the frame of the body.

    align   how that frame is turned: "base": as the body; "yaw": about the vertical, as the body's x axis points; or
            "world": not at all
    """

    def __init__(self, starts: ArrayLike, directions: ArrayLike, align: str = "base") -> None:
        start, way = np.broadcast_arrays(np.atleast_2d(np.asarray(starts, float)),
                                         np.atleast_2d(np.asarray(directions, float)))
        length = np.linalg.norm(way, axis=1, keepdims=True) if way.shape[1:] == (3,) else np.zeros(1)
        if way.ndim != 2 or way.shape[1] != 3 or not np.isfinite(start).all() or not (length > 0).all():
            raise InvalidArgumentError("RayPattern: starts and directions are [n, 3] or [3], finite, and no direction "
                                       "is 0")
        if align not in _ALIGN:
            raise InvalidArgumentError(f"RayPattern: align is one of {', '.join(map(repr, _ALIGN))}, not {align!r}")
        self.align = align
        self._rays = np.array(start), way / length

    def rays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._rays


class GridPattern(RayPattern):
    """Rays straight down from a grid around the body, which turns with its yaw.

    size        along the body's x and y, m
    resolution  between neighbours, m: size (1.6, 1.0) and 0.1 are 17 times 11 rays
    height      of the starts above the body, m
    ordering    "xy": rays along x follow each other, row by row along y; "yx": the other way round
    """

    def __init__(self, size: tuple[float, float] = (1.6, 1.0), resolution: float = 0.1, height: float = 20.0,
                 ordering: str = "xy", align: str = "yaw") -> None:
        if not (resolution > 0 and len(size) == 2 and min(size) >= 0 and ordering in ("xy", "yx")):
            raise InvalidArgumentError("GridPattern: size is two lengths, resolution is above 0 (m), ordering is 'xy' "
                                       f"or 'yx'; not {size}, {resolution}, {ordering!r}")
        x, y = (np.arange(round(length / resolution) + 1) * resolution - length / 2 for length in size)
        grid = np.meshgrid(x, y, indexing="xy" if ordering == "xy" else "ij")
        starts = np.stack([grid[0].ravel(), grid[1].ravel(), np.full(grid[0].size, float(height))], axis=1)
        super().__init__(starts, [0, 0, -1], align)
        self.height = float(height)
        self.shape = grid[0].shape
        """Of the grid: a scan of a world can be reshaped to it."""


class LidarPattern(RayPattern):
    """Rays of a lidar that turns about the body's z axis.

    channels            rings of rays, one above the other
    vertical_fov        elevation of the lowest and the highest ring, degrees
    horizontal_fov      azimuth of the first and the last ray of a ring, degrees; a whole turn has its ends once
    resolution          between neighbours of a ring, degrees, at most
    position            of the lidar in the body's frame, m
    """

    def __init__(self, channels: int = 16, vertical_fov: tuple[float, float] = (-15, 15),
                 horizontal_fov: tuple[float, float] = (-180, 180), resolution: float = 1.0,
                 position: ArrayLike = (0, 0, 0), align: str = "base") -> None:
        span = horizontal_fov[1] - horizontal_fov[0]
        if channels < 1 or not resolution > 0 or not 0 <= span <= 360:
            raise InvalidArgumentError("LidarPattern: at least one channel, a resolution above 0, and a horizontal "
                                       f"field of at most 360 degrees; not {channels}, {resolution}, {horizontal_fov}")
        count = int(np.ceil(span / resolution - 1e-9)) + 1
        around = np.radians(np.linspace(*horizontal_fov, count)[: count - (span == 360) or 1])
        up = np.radians(np.linspace(*vertical_fov, channels))[:, None]
        way = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up) + 0 * around], axis=-1)
        super().__init__(position, way.reshape(-1, 3), align)
        self.shape = channels, len(around)
        """Rings and rays of a ring: a scan of a world can be reshaped to it."""


def load_kernel(sim: Any, name: str) -> Any:
    """A kernel of scan.k.h, which includes the library's own functions of rays."""
    here = Path(__file__).resolve().parent
    places = here, here.parents[1] / "src"
    includes = next((str(folder) for folder in places if (folder / "geom" / "ray.k.h").exists()), None)
    if includes is None:
        raise FileNotFoundError(f"{here / 'geom' / 'ray.k.h'} is missing from this installation of stet; install it "
                                "again")
    return sim.kernel(path=here / "scan.k.h", name=name, includes=includes,
                      shipped_folder=Path(_core.__file__).with_name("kernels"))


def _still(model):
    """[nbody] bool: bodies that nothing moves."""
    still = np.ones(model.nbody, np.bool_)
    still[model.jnt_bodyid] = False
    still[model.body_mocapid >= 0] = False
    for body in range(1, model.nbody):
        still[body] &= still[model.body_parentid[body]]
    return still


def _choose(model, geoms):
    """The geoms that rays may hit."""
    if geoms is None:
        chosen = np.flatnonzero(_still(model)[model.geom_bodyid]).tolist()
        if not chosen:
            raise NotFoundError("scanner: the model has no geom that stands still; name geoms=")
    else:
        named = [geoms] if isinstance(geoms, (str, int, np.integer)) else geoms
        chosen = [model.find("geoms", geom) if isinstance(geom, str) else int(geom) for geom in named]
        if any(not 0 <= geom < model.ngeom for geom in chosen):
            raise NotFoundError(f"scanner: geoms are names or numbers, 0 to {model.ngeom - 1}; not {geoms}")
    for geom in chosen:
        if model.geom_type[geom] > _BOX:
            raise UnsupportedError(f"scanner: geom {model.geoms[geom] or geom!r} is a {_TYPES[model.geom_type[geom]]}, "
                                   "which rays of a scan do not hit; name others, geoms=")
    return chosen


def _bounds(heights):
    """[blocks along y, along x, 2] The highest and the lowest elevation at each block of cells."""
    rows, columns = (-(-(count - 1) // _BLOCK) for count in heights.shape)
    out = np.empty((rows, columns, 2))
    for row in range(rows):
        for column in range(columns):
            part = heights[row * _BLOCK:(row + 1) * _BLOCK + 1, column * _BLOCK:(column + 1) * _BLOCK + 1]
            out[row, column] = part.max(), part.min()
    return out


def _bundle(starts, ways):
    """[7] Of rays side by side: their middle, their direction, how far they are from it; else the last is -1."""
    middle = (starts.max(axis=0) + starts.min(axis=0)) / 2
    way = ways[0]
    if (ways.astype(np.float32) != way.astype(np.float32)).any():
        return np.array([*middle, *way, -1.0])
    off = starts - middle
    return np.array([*middle, *way, np.linalg.norm(off - np.outer(off @ way, way), axis=1).max()])


class Scanner:
    """Rays from a body, in all worlds: Sim.scanner. `array` is what the latest read made, on the device."""

    def __init__(self, sim: Any, body: str | int, pattern: _Pattern, geoms: Iterable[str | int] | str | None = None,
                 far: float = 100.0, scale: float = 1.0, shift: float = 0.0) -> None:
        model = sim.model
        self.sim, self.pattern, self.far = sim, pattern, float(far)
        if not callable(getattr(pattern, "rays", None)):
            raise ArgumentTypeError("scanner: pattern is a GridPattern, a LidarPattern or a RayPattern, not a "
                                    f"{type(pattern).__name__!r}")
        if not 0 < far < 1e6:
            raise InvalidArgumentError(f"scanner: far is above 0 and below 1e6 m, not {far}")
        self.body = model.find("bodies", body) if isinstance(body, str) else int(body)
        if not 0 <= self.body < model.nbody:
            raise NotFoundError(f"scanner: there is no body {body!r}; give a name, or a number, 0 to {model.nbody - 1}")
        self.geoms = _choose(model, geoms)
        starts, ways = pattern.rays()
        self._kernel = load_kernel(sim, "k_scan")
        self._rays = self._plain(np.concatenate([starts, ways], axis=1), "rays of a scan")
        self._bundle = self._plain(_bundle(starts, ways), "the bundle of a scan")
        self._still = bool(_still(model)[model.geom_bodyid[self.geoms]].all())
        self._put_targets(model)
        self.array = sim.zeros((sim.nworld, len(starts)), worlds=True, name="scan")
        """[worlds, rays] on the device."""
        self._numbers = (self.body, _ALIGN[pattern.align], len(starts), len(self.geoms), self.far, float(scale),
                         float(shift))

    def _plain(self, values, name, dtype="real"):
        values = np.ascontiguousarray(values)
        out = self.sim.zeros(values.shape, dtype, name=name)
        out[:] = values
        return out

    def _put_targets(self, model):
        rows, sizes, fields, used = [], [], [np.zeros(1)], 1
        all_sizes = self.sim.parameter("geom_size")[0].reshape(-1, 3)
        for number, geom in enumerate(self.geoms):
            row = [model.geom_type[geom], number if self._still else geom, 0, 0, 0]
            size = [*all_sizes[geom], 0.0]
            if row[0] == _HFIELD:
                (x, y, top, _), elevations = model.hfield(int(model.geom_dataid[geom]))
                heights = elevations.astype(float) * top
                if min(heights.shape) < 2:
                    raise UnsupportedError(f"scanner: the height field of geom {model.geoms[geom] or geom!r} has one "
                                           "row or column; rays need a surface")
                row[2:] = [*heights.shape, used]
                size = [x, y, heights.min(), heights.max()]
                fields += [heights.ravel(), _bounds(heights).ravel()]
                used += sum(len(part) for part in fields[-2:])
            rows.append(row)
            sizes.append(size)
        self._targets = self._plain(np.array(rows, np.int32), "targets of a scan", "int32")
        self._sizes = self._plain(np.array(sizes), "sizes of a scan's targets")
        self._field = self._plain(np.concatenate(fields), "elevations of a scan")
        if self._still:
            n = self.sim.nworld
            self._place = self.sim.zeros((n, 3 * len(self.geoms)), worlds=True, name="places of a scan")
            self._turn = self.sim.zeros((n, 9 * len(self.geoms)), worlds=True, name="turns of a scan")
            self.refresh()

    def refresh(self) -> None:
        """Looks again where targets are that stand still: after set_parameter("geom_pos", …) and the like."""
        if self._still:
            at = np.asarray(self.geoms)
            n = self.sim.nworld
            self._place[:] = self.sim.geom_xpos.host().reshape(n, -1, 3)[:, at].reshape(n, -1)
            self._turn[:] = self.sim.geom_xmat.host().reshape(n, -1, 9)[:, at].reshape(n, -1)

    def arguments(self) -> tuple[Any, tuple[Any, ...]]:
        """The launch that computes `array`: its kernel and arguments, as Sim.add_kernel takes them."""
        place, turn = (self._place, self._turn) if self._still else (self.sim.geom_xpos, self.sim.geom_xmat)
        return self._kernel, (self.sim.xpos, self.sim.xquat, place, turn, self._rays, self._bundle, self._targets,
                              self._sizes, self._field, self.array, *self._numbers)

    def launch(self) -> _core.Array:
        """Computes `array` for the present state, on the device; can be a part of a list (Sim.record)."""
        kernel, arguments = self.arguments()
        kernel(self.sim.nworld, *arguments)
        return self.array

    def read(self) -> NDArray[Any]:
        """[worlds, rays] of the present state: distances of the first hit, m; `far` where there is none nearer."""
        return self.launch().numpy()

    def __repr__(self) -> str:
        name = self.sim.model.bodies[self.body] or self.body
        return f"<stet.Scanner of {name!r}: {self._numbers[2]} rays, {len(self.geoms)} geoms>"
