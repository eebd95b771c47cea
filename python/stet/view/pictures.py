"""Pictures of a sample of a run's states: rendered by sims of the viewer's own, which are never stepped, and encoded.

The run itself renders nothing for its viewers, and nothing of it is written.
"""

from __future__ import annotations

import dataclasses
import io
import math
import threading
from typing import Any

import numpy as np

from .. import sim as _sim
from .camera import Camera
from .framing import frame_moving
from .overlay import contact_marks

OUTPUTS = ("rgb", "depth", "distance", "normal", "albedo", "seg_geom", "seg_body", "seg_type", "motion",
           "body_point")
_PICKED = ("seg_body", "body_point")
FREE = "free"


@dataclasses.dataclass(frozen=True)
class Look:
    """What is looked at, and how: the entries of the message "look"."""

    camera: str = ""
    view: tuple[float, ...] | None = None
    whole: bool = False
    output: str = "rgb"
    first: int = 0
    count: int = 1
    width: int = 640
    height: int = 360
    full: bool = True  # all of these pixels, also of what moves and is slow to draw
    follow: int = -1
    groups: tuple[int, ...] = (0, 1, 2)
    show: tuple[str, ...] = ()  # decorations, as a Sim's
    fisheye: float = 0.0
    trail: int = -1
    contacts: bool = False
    forces: bool = False
    timeline: bool = False
    plots: tuple[tuple[str, int], ...] = ()

    @property
    def dynamics(self) -> bool:
        """Whether it shows more of a state than positions."""
        return self.count == 1 and self.forces

    @property
    def columns(self) -> int:
        """Worlds in a row of the mosaic."""
        return math.ceil(math.sqrt(self.count))

    def tile_at(self, x: float, y: float) -> tuple[int, float, float]:
        """The number of the world at a place of the picture, 0 to 1 from the left and the top, and where in its own
        picture that is; the number may be beyond the last.
        """
        rows = -(-self.count // self.columns)
        column, row = (min(max(int(at * n), 0), n - 1) for at, n in ((x, self.columns), (y, rows)))
        return row * self.columns + column, x * self.columns - column, y * rows - row

    @property
    def tile(self) -> tuple[int, int]:
        """Width and height of one world's picture."""
        rows = -(-self.count // self.columns)
        return max(8, self.width // self.columns), max(8, self.height // rows)


def _grey(x, least, most):
    return np.clip((x - least) * (255 / max(most - least, 1e-9)), 0, 255).astype(np.uint8)


def colours(pixels: Any, output: str) -> Any:
    """[…, 3] Bytes that show an output: depth near is bright, ids have a colour each, the sky is black."""
    if output in ("rgb", "rgba", "albedo"):
        return pixels[..., :3]
    if output == "normal":
        return _grey(pixels, -1, 1)
    if output in ("depth", "distance"):
        near = 1 / np.maximum(pixels, 1e-6)  # of the sky 0
        return np.repeat(_grey(near, 0, near.max()), 3, axis=-1)
    if output in ("motion", "body_point"):  # as `stet run` has them in its mosaics
        hit = np.isfinite(pixels)
        most = np.max(abs(pixels), where=hit, initial=0) or 1
        shown = np.where(hit, _grey(np.where(hit, pixels, 0), -most, most), 0)
        return shown if output == "body_point" else np.concatenate([shown, np.full_like(shown[..., :1], 128)], axis=-1)
    ids = pixels.astype(np.int64) + 1
    spread = np.concatenate([(ids * k + b) % 200 + 56 for k, b in ((89, 31), (131, 97), (47, 151))], axis=-1)
    return np.where(pixels == -1, 0, spread).astype(np.uint8)


def mosaic(pixels: Any, columns: int) -> Any:
    """[world, height, width, 3] as one picture, worlds in rows."""
    n, height, width, _ = pixels.shape
    rows = -(-n // columns)
    out = np.zeros((rows, columns, height, width, 3), np.uint8)
    out.reshape(rows * columns, height, width, 3)[:n] = pixels
    return out.swapaxes(1, 2).reshape(rows * height, columns * width, 3)


def difference(pixels: Any, other: Any) -> Any:
    """Bytes [..., 3] of `other`, red where they differ from `pixels`."""
    apart = abs(pixels.astype(np.int16) - other).max(axis=-1, keepdims=True)
    red = np.minimum(apart * (4 / 255), 0.8)
    return (other * (1 - red) + red * np.array([255, 30, 30])).astype(np.uint8)


def encode(pixels: Any, format: str = "JPEG", quality: int = 85) -> bytes:
    """[height, width, 3] Bytes as a file of this format."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, format, quality=quality)
    return out.getvalue()


@dataclasses.dataclass
class Picture:
    """What was drawn. Poses of bodies and cameras are those of each world that is in it."""

    pixels: Any  # [height, width, 3] bytes
    view: tuple[float, ...] | None  # of the free camera
    cameras: list[Camera]
    xpos: Any  # [count, nbody, 3]
    xquat: Any
    marks: list[Any]  # over it: overlay.py


@dataclasses.dataclass
class Hit:
    """What is at a place of a picture: a world, -1: none; a body of it, -1: none; and a point of it, in its frame."""

    world: int
    body: int
    point: Any
    depth: float  # of that point
    camera: Camera | None


def body_point(picture: Picture, k: int, body: int, point: Any) -> Any:
    """[3] Where in the k-th world of a picture a point of a body is."""
    w, *v = picture.xquat[k, body].astype(float)
    v, point = np.array(v), np.asarray(point, float)
    t = 2 * np.cross(v, point)
    return picture.xpos[k, body] + point + w * t + np.cross(v, t)


class Painter:
    """Draws looks at samples of a model's states. Any thread may call it; one is drawn at a time."""

    MOST_SIMS = 6

    def __init__(self, model: Any, fields: tuple[str, ...]) -> None:
        self._model, self._fields = model, fields
        self._lock = threading.Lock()
        self._sims: dict[tuple, Any] = {}  # the one that was used last comes last

    def close(self) -> None:
        with self._lock:
            for sim in self._sims.values():
                sim.close()
            self._sims.clear()

    def paint(self, look: Look, state: dict[str, Any], samples: int = 1) -> Picture:
        """Draws what is looked at. samples: rays a pixel, as a Sim's."""
        with self._lock:
            sim, view = self._placed(look, (look.output,), state, samples)
            sim.render()
            picture = self._picture(sim, view, mosaic(colours(sim.read(look.output), look.output), look.columns))
            if look.count == 1 and (look.contacts or look.forces) and sim.physics != "external":
                picture.marks += contact_marks(picture.cameras[0], sim, look.forces)
            return picture

    def pick(self, look: Look, state: dict[str, Any], x: float, y: float) -> Hit:
        """What is at a place of the picture, 0 to 1 from the left and the top."""
        k, x, y = look.tile_at(x, y)
        if k >= look.count:
            return Hit(-1, -1, None, 0.0, None)
        width, height = look.tile
        with self._lock:
            sim, view = self._placed(dataclasses.replace(look, show=()), _PICKED, state)
            sim.render()
            body, point = (sim.read(output)[k, min(int(y * height), height - 1), min(int(x * width), width - 1)]
                           for output in _PICKED)
            picture = self._picture(sim, view, None)
        if body[0] < 0:
            return Hit(look.first + k, -1, None, 0.0, None)
        depth = picture.cameras[k].depth(body_point(picture, k, body[0], point))
        return Hit(look.first + k, int(body[0]), point, depth, picture.cameras[k])

    @staticmethod
    def _picture(sim, view, pixels):
        lens = sim.lens()
        return Picture(pixels, view, [Camera(pose.astype(float), lens) for pose in sim.camera_poses()],
                       sim.xpos.numpy().reshape(sim.nworld, -1, 3), sim.xquat.numpy().reshape(sim.nworld, -1, 4), [])

    def _placed(self, look, outputs, state, samples=1):
        sim = self._sim(look, outputs, samples)
        for name, values in state.items():
            array = sim.array(name)
            if array.shape == values.shape:  # qacc_warmstart of native physics is empty
                array.write(values)
        if look.camera:
            return sim, None
        view = look.view or (None if look.whole else frame_moving(sim)) or sim.place_camera("free:fit")
        if look.follow >= 0:
            at = 3 * look.follow
            view = (*view[:3], *(float(x) for x in sim.xpos.read_worlds(0, 1)[0, at:at + 3]))
        return sim, sim.place_camera("free:" + ",".join(map(repr, view)))

    def _sim(self, look, outputs, samples):
        key = (look.camera, look.count, look.tile, look.groups, look.show, look.fisheye, outputs, samples)
        sim = self._sims.pop(key, None)
        if sim is None:
            while len(self._sims) >= self.MOST_SIMS:
                self._sims.pop(next(iter(self._sims))).close()
            width, height = look.tile
            sim = _sim.Sim(
                self._model, look.count, "cpu", physics="external" if "xpos" in self._fields else "mujoco",
                cameras=look.camera or FREE, width=width, height=height, outputs=outputs, groups=look.groups,
                fisheye=look.fisheye, samples=samples, frames_in_flight=1)
        if sim.physics != "external":
            sim.show(*look.show)
        self._sims[key] = sim
        return sim
