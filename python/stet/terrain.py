"""Terrain for robots that walk: one height field with tiles of growing difficulty, on which each world has a place.

    from stet.terrain import Curriculum, Terrain

    terrain = Terrain(levels=8, columns=10, seed=1)
    sim = stet.Sim(terrain.add_to(stet.scenes / "quadruped.xml", without="floor"), worlds=4096)
    course = Curriculum(terrain, sim.nworld)
    sim.qpos[:, :3] += course.origins                  # robots begin on their tiles
    …
    course.update(up=walked > 4, down=walked < 2)      # of the worlds that begin anew; origins follow

Worlds share the field, and robots are elsewhere on it: 4096 fields of 8 m by 8 m would take 107 MB, one of 80 tiles
takes 2.5 MB. Lengths are in metres; x grows with the level, y with the column.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import InvalidArgumentError, NotFoundError
from .sim import load

__all__ = ["Curriculum", "Terrain", "flat", "gaps", "obstacles", "rough", "slope", "stairs", "stepping_stones", "waves"]

_Tile = Callable[[NDArray[Any], NDArray[Any], float, np.random.Generator], NDArray[Any]]

# ---- tiles -----------------------------------------------------------------------------------------------------------
#
# A tile is a function (x, y, difficulty, draws) → heights: x, y [n, n] are places from the tile's middle, m, difficulty
# is 0 … 1. Its middle is a platform, from which robots begin.


def _outwards(x, y):
    """How far from the middle, in the distance that has squares around it."""
    return np.maximum(abs(x), abs(y))


def flat() -> _Tile:
    """Level ground."""
    return lambda x, y, difficulty, draws: np.zeros_like(x)


def slope(steepest: float = 0.5, platform: float = 1.0, down: bool = False) -> _Tile:
    """A pyramid whose sides rise towards the platform; down: a pit. steepest: rise by run at difficulty 1."""
    def make(x, y, difficulty, draws):
        edge = _outwards(x, y)
        height = steepest * difficulty * (edge.max() - np.maximum(edge, platform))
        return -height if down else height
    return make


def stairs(lowest: float = 0.05, highest: float = 0.23, width: float = 0.3, platform: float = 1.0,
           down: bool = False) -> _Tile:
    """Steps around the platform, from a height of `lowest` at difficulty 0 to `highest` at 1; down: into a pit."""
    def make(x, y, difficulty, draws):
        edge = _outwards(x, y)
        count = np.ceil(np.maximum(edge - platform, 0) / width - 1e-6)
        height = (lowest + (highest - lowest) * difficulty) * (count.max() - count)
        return -height if down else height
    return make


def rough(least: float = 0.02, most: float = 0.1, grain: float = 0.2) -> _Tile:
    """Random heights, each way up to `least` at difficulty 0 and `most` at 1, every `grain` metres, linear between."""
    def make(x, y, difficulty, draws):
        reach = _outwards(x, y).max()
        n = max(2, int(np.ceil(2 * reach / grain)) + 1)
        z = draws.uniform(-1, 1, (n, n)) * (least + (most - least) * difficulty)
        return _between(z, (x + reach) / (2 * reach) * (n - 1), (y + reach) / (2 * reach) * (n - 1))
    return make


def _between(z, u, v):
    """Bilinear values of z [rows along y, columns along x] at the places u, v in cells."""
    c, r = (np.clip(np.floor(w).astype(int), 0, size - 2) for w, size in ((u, z.shape[1]), (v, z.shape[0])))
    fu, fv = u - c, v - r
    low = z[r, c] * (1 - fu) + z[r, c + 1] * fu
    return low * (1 - fv) + (z[r + 1, c] * (1 - fu) + z[r + 1, c + 1] * fu) * fv


def obstacles(lowest: float = 0.05, highest: float = 0.25, count: int = 40, platform: float = 1.0) -> _Tile:
    """Blocks and holes of 0.4 to 1.5 m, up to `lowest` at difficulty 0 and `highest` at 1."""
    def make(x, y, difficulty, draws):
        z, reach = np.zeros_like(x), _outwards(x, y).max()
        most = lowest + (highest - lowest) * difficulty
        for _ in range(count):
            at, half = draws.uniform(-reach, reach, 2), draws.uniform(0.2, 0.75, 2)
            inside = (abs(x - at[0]) <= half[0]) & (abs(y - at[1]) <= half[1])
            z[inside] = most * draws.choice([-1.0, -0.5, 0.5, 1.0])
        return np.where(_outwards(x, y) <= platform, 0, z)
    return make


def stepping_stones(widest: float = 1.0, narrowest: float = 0.3, least: float = 0.05, most: float = 0.35,
                    depth: float = 2.0, platform: float = 1.0) -> _Tile:
    """Stones over a pit of `depth`: from `widest` and `least` apart at difficulty 0 to `narrowest` and `most` at 1."""
    def make(x, y, difficulty, draws):
        size, gap = widest + (narrowest - widest) * difficulty, least + (most - least) * difficulty
        row = np.floor(y / (size + gap))
        shift = draws.uniform(0, size + gap, int(row.max() - row.min()) + 1)[(row - row.min()).astype(int)]
        stone = ((x + shift) % (size + gap) < size) & (y % (size + gap) < size)
        return np.where(stone | (_outwards(x, y) <= platform), 0, -depth)
    return make


def gaps(least: float = 0.1, most: float = 1.0, depth: float = 2.0, platform: float = 1.0) -> _Tile:
    """A trench around the platform, `least` wide at difficulty 0 and `most` at 1."""
    def make(x, y, difficulty, draws):
        edge = _outwards(x, y)
        return np.where((edge > platform) & (edge <= platform + least + (most - least) * difficulty), -depth, 0.0)
    return make


def waves(lowest: float = 0.05, highest: float = 0.3, length: float = 2.0) -> _Tile:
    """Sines along x and y, `lowest` high at difficulty 0 and `highest` at 1."""
    def make(x, y, difficulty, draws):
        k = 2 * np.pi / length
        return (lowest + (highest - lowest) * difficulty) * (np.sin(k * x) + np.cos(k * y) - 1) / 2
    return make


def _usual() -> dict[str, tuple[_Tile, float]]:
    return {"flat": (flat(), 0.1), "slope": (slope(), 0.1), "slope down": (slope(down=True), 0.1),
            "stairs": (stairs(), 0.2), "stairs down": (stairs(down=True), 0.2), "rough": (rough(), 0.1),
            "stepping stones": (stepping_stones(), 0.1), "gaps": (gaps(), 0.1)}


# ---- the field -------------------------------------------------------------------------------------------------------


class Terrain:
    """Tiles in a grid: rows are levels of difficulty, columns are kinds of ground, as many of each as its share says.

    levels, columns   how many tiles along x and y
    size              of a tile, m
    resolution        between elevations, m
    kinds             name: (tile, share), or name: tile; None: flat, slopes, stairs, rough, stepping stones, gaps
    difficulty        of the first and the last level
    border            level ground around all tiles, m
    seed              of what is random
    """

    def __init__(self, levels: int = 10, columns: int = 20, size: float = 8.0, resolution: float = 0.1,
                 kinds: Mapping[str, Any] | None = None, difficulty: tuple[float, float] = (0, 1), border: float = 4.0,
                 seed: int = 0) -> None:
        cells = round(size / resolution)
        if levels < 1 or columns < 1 or cells < 4 or border < 0 or abs(cells * resolution - size) > 1e-6 * size:
            raise InvalidArgumentError("Terrain: at least one level and column, and a size of at least four times the "
                                       f"resolution, which divides it; not {levels}, {columns}, {size}, {resolution}")
        table = {name: kind if isinstance(kind, tuple) else (kind, 1.0) for name, kind in (kinds or _usual()).items()}
        shares = np.array([share for _, share in table.values()], float)
        if not (shares >= 0).all() or not shares.sum() > 0:
            raise InvalidArgumentError(f"Terrain: shares of kinds are at least 0, and not all 0; not {shares.tolist()}")
        self.levels, self.columns, self.size, self.resolution = levels, columns, float(size), float(resolution)
        bounds = np.cumsum(shares / shares.sum())
        names = list(table)
        self.kinds = [names[min(int(np.searchsorted(bounds, (c + 0.5) / columns)), len(names) - 1)]
                      for c in range(columns)]
        """Names of the kinds, [columns]."""
        edge = round(border / resolution)
        shape = columns * cells + 1 + 2 * edge, levels * cells + 1 + 2 * edge
        self.heights: NDArray[Any] = np.zeros(shape)
        """Elevations, m, [rows along y, columns along x]."""
        self.origins: NDArray[Any] = np.zeros((levels, columns, 3))
        """Middles of the tiles, on the ground, in the frame of the field, whose origin is its middle."""
        self.extent = (shape[1] - 1) * resolution, (shape[0] - 1) * resolution
        """Of the field along x and y, m."""
        way = (np.arange(cells + 1) - cells / 2) * resolution
        x, y = np.meshgrid(way, way)
        draws = np.random.default_rng(seed)
        for level in range(levels):
            hard = difficulty[0] + (difficulty[1] - difficulty[0]) * level / max(levels - 1, 1)
            for column, name in enumerate(self.kinds):
                tile = np.asarray(table[name][0](x, y, hard, draws), float)
                if tile.shape != x.shape or not np.isfinite(tile).all():
                    raise InvalidArgumentError(f"Terrain: the tile {name!r} gives {x.shape} finite heights, not "
                                               f"{tile.shape}")
                row, col = edge + column * cells, edge + level * cells
                self.heights[row:row + cells, col:col + cells] = tile[:-1, :-1]
                middle = (level + 0.5) * size + border - self.extent[0] / 2, (column + 0.5) * size + border
                around = tile[cells // 2 - 1:cells // 2 + 2, cells // 2 - 1:cells // 2 + 2]
                self.origins[level, column] = middle[0], middle[1] - self.extent[1] / 2, around.max()

    def height(self, x: ArrayLike, y: ArrayLike) -> NDArray[Any]:
        """How high the ground is at places in the frame of the field, between its elevations as MuJoCo has it."""
        z = self.heights
        u = np.clip((np.asarray(x, float) + self.extent[0] / 2) / self.resolution, 0, z.shape[1] - 1)
        v = np.clip((np.asarray(y, float) + self.extent[1] / 2) / self.resolution, 0, z.shape[0] - 1)
        c, r = np.minimum(u.astype(int), z.shape[1] - 2), np.minimum(v.astype(int), z.shape[0] - 2)
        fu, fv = u - c, v - r
        below = fu > fv
        corner = np.where(below, z[r, c + 1], z[r + 1, c])
        along_x = np.where(below, corner - z[r, c], z[r + 1, c + 1] - corner)
        along_y = np.where(below, z[r + 1, c + 1] - corner, corner - z[r, c])
        return z[r, c] + fu * along_x + fv * along_y

    def add_to(self, scene: str | os.PathLike[str], without: str | Iterable[str] = (), name: str = "terrain",
               friction: Sequence[float] = (1.0, 0.005, 0.0001), rgba: Sequence[float] = (0.55, 0.5, 0.42, 1),
               **options: Any) -> _core.Model:
        """The model of a scene of MJCF, a path or a text, with this field as geom `name` of the world. `without`: geoms
        of the scene's own file that are left out, by name: its floor. options: as of stet.load.
        """
        is_text = isinstance(scene, str) and scene.lstrip().startswith("<")
        path = None if is_text else Path(scene)
        try:
            root = ElementTree.fromstring(scene if path is None else path.read_text())
        except ElementTree.ParseError as error:
            raise InvalidArgumentError(f"terrain: the scene is no MJCF that can be read: {error}") from None
        for geom in [without] if isinstance(without, str) else without:
            found = [(parent, one) for parent in root.iter() for one in parent.findall("geom")
                     if one.get("name") == geom]
            if not found:
                raise NotFoundError(f"terrain: the scene has no geom {geom!r} to leave out")
            for parent, one in found:
                parent.remove(one)
        low, high = self.heights.min(), self.heights.max()
        top = max(high - low, 1e-3)
        data = np.ascontiguousarray((self.heights - low) / top, np.float32)
        sizes = self.extent[0] / 2, self.extent[1] / 2, top, 1.0
        file = f"{name}.hfield"
        if path is not None:
            self._absolute(root, path.parent.resolve())
        ElementTree.SubElement(ElementTree.SubElement(root, "asset"), "hfield", name=name, file=file,
                               content_type="image/vnd.mujoco.hfield", size=_numbers(sizes))
        ElementTree.SubElement(ElementTree.SubElement(root, "worldbody"), "geom", name=name, type="hfield", hfield=name,
                               pos=_numbers((0, 0, low)), friction=_numbers(friction), rgba=_numbers(rgba))
        bytes_ = np.array(data.shape, np.int32).tobytes() + data.tobytes()
        assets = {**dict(options.pop("assets", None) or {}), file: bytes_}
        return load(ElementTree.tostring(root, encoding="unicode"), assets=assets, **options)

    @staticmethod
    def _absolute(root, folder):
        """Files that the scene names beside itself are found from its text, too."""
        compilers = root.findall("compiler") or [ElementTree.SubElement(root, "compiler")]
        for directory in ("assetdir", "meshdir", "texturedir"):
            given = [one for one in compilers if one.get(directory) is not None]
            for one in given:
                one.set(directory, str(folder / one.get(directory)))
            if not given and directory != "assetdir" and not any(one.get("assetdir") for one in compilers):
                compilers[0].set(directory, str(folder))
        for one in root.iter("include"):
            one.set("file", str(folder / one.get("file", "")))


def _numbers(values):
    return " ".join(f"{value:.9g}" for value in values)


# ---- curricula -------------------------------------------------------------------------------------------------------


class Curriculum:
    """On which tile of a terrain each world is. Worlds begin on levels up to `highest` (None: all), drawn at random,
    and go through the columns in turn; `update` promotes and demotes them. A world above the last level begins on a
    random one, so that no level is forgotten.
    """

    def __init__(self, terrain: Terrain, worlds: int, highest: int | None = None, seed: int = 0) -> None:
        self.terrain = terrain
        most = terrain.levels if highest is None else min(highest + 1, terrain.levels)
        if worlds < 1 or most < 1:
            raise InvalidArgumentError(f"Curriculum: worlds is at least 1, highest at least 0; not {worlds}, {highest}")
        self._draws = np.random.default_rng(seed)
        self.level: NDArray[Any] = self._draws.integers(0, most, worlds)
        """[worlds] Rows of tiles."""
        self.column: NDArray[Any] = np.arange(worlds) * terrain.columns // worlds
        """[worlds] Columns of tiles."""

    @property
    def origins(self) -> NDArray[Any]:
        """[worlds, 3] Where each world's robot begins: the middle of its tile."""
        return self.terrain.origins[self.level, self.column]

    def update(self, up: ArrayLike, down: ArrayLike, mask: ArrayLike | None = None) -> NDArray[Any]:
        """One level up where `up`, one down where `down` and not `up` ([worlds] bool), of the worlds of the mask (None:
        all); gives the origins.
        """
        up, down = (np.broadcast_to(np.asarray(flags, np.bool_), self.level.shape) for flags in (up, down))
        mask = np.ones_like(up) if mask is None else np.asarray(mask, np.bool_)
        if mask.shape != self.level.shape:
            raise InvalidArgumentError(f"Curriculum: a mask is [{len(self.level)}], one of each world, not "
                                       f"{list(mask.shape)}")
        level = self.level + (mask & up) - (mask & down & ~up)
        past = level >= self.terrain.levels
        drawn = self._draws.integers(0, self.terrain.levels, len(level))
        self.level = np.where(past, drawn, np.maximum(level, 0))
        return self.origins
