"""Videos of a sim's steps, or of an environment's: .mp4, .gif or .webp, or .png (animated), encoded by ffmpeg as they
come.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import StateError
from ._libraries import check_libraries
from ._watch import watch
from .sim import Sim
from .view.pictures import colours, mosaic

__all__ = ["Recording", "record"]


def __dir__() -> list[str]:
    return __all__


_ENCODE = {  # .mp4, .gif and .webp as `--video` has them: src/cli/pictures/video.c
    ".mp4": ("mp4", "-c:v libx264 -crf 16 -pix_fmt yuv420p -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -movflags +faststart"),
    ".gif": ("gif", "-filter_complex split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1 -loop 0"),
    ".webp": ("webp", "-c:v libwebp -quality 90 -loop 0"),
    ".png": ("apng", "-plays 0"),
}


def record(source: Sim | Any, path: str | Path, *, output: str | None = None, camera: int | str = 0, fps: float = 30,
           speed: float = 1, worlds: int = 16, titles: bool = False, auto: bool = True) -> Recording:
    """A video of a sim's steps, or of an environment's, which records by itself:

        with record(sim, "run.mp4"):
            for _ in range(500):
                sim.step()

    A picture is taken behind a step whenever the simulation has moved on by speed / fps seconds, so that the video
    plays at `speed` times the simulation's rate, however long a step is. Without a block it ends with `close()`, with
    the sim's close(), or with the program. It is an error if it ends without a picture.

    source     a stet.Sim with outputs: its pictures are those of Sim.image, an output (None: the sim's first) of the
               first `worlds` as a mosaic. Or an environment of gymnasium's, alone or a vector of them, made with
               render_mode="rgb_array"
    path       .mp4, .gif, .webp, or .png (animated)
    titles     each picture says which world it is of, its time, and the return of its episode (of a sim: if add() gets
               rewards)
    auto       False: pictures are those of Recording.add(), fps a second
    """
    if Path(path).suffix.lower() not in _ENCODE:
        raise ValueError(f"record: {path}: the name says no format; end it in .mp4, .gif, .webp or .png")
    if not (fps > 0 and speed > 0):
        raise ValueError(f"record: fps is {fps} and speed {speed}, and both must be above 0")
    if worlds < 1:
        raise ValueError(f"record: worlds is {worlds}, and must be above 0")
    if not shutil.which("ffmpeg"):
        raise RuntimeError("record: there is no ffmpeg on the PATH; install it (Debian: apt-get install ffmpeg)")
    if titles:
        check_libraries("stet.video", PIL="pillow")
    if isinstance(source, Sim):
        recording = Recording(lambda: _sim_pictures(source, output, camera, worlds), source, Path(path), fps, titles,
                              speed)
        return recording._watch_sim(source) if auto else recording
    if not callable(getattr(source, "render", None)):
        raise TypeError(f"record: a {type(source).__name__!r} is neither a stet.Sim nor an environment")
    if getattr(source, "render_mode", None) != "rgb_array":
        raise ValueError('record: the environment renders no pictures; make it with render_mode="rgb_array"')
    inner = getattr(source, "unwrapped", source)
    sim = getattr(getattr(inner, "vector", inner), "sim", None)
    recording = Recording(lambda: _env_pictures(source, worlds), sim, Path(path), fps, titles, speed)
    return recording._watch_env(source) if auto else recording


def _sim_pictures(sim, output, camera, worlds):
    """[world, height, width, 3] Bytes of the present picture."""
    if not sim.outputs:
        raise StateError("record: the sim has no outputs; give it some: stet.Sim(…, outputs=('rgb',))")
    output = output or sim.outputs[0]
    return colours(sim.tensor(output, camera).read_worlds(0, min(worlds, sim.nworld)), output)


def _env_pictures(env, worlds):
    pictures = env.render()
    return np.stack(pictures[:worlds]) if isinstance(pictures, (tuple, list)) else np.asarray(pictures)[None]


def _with_title(pixels, text):
    """One world's picture, with a text in its corner."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.fromarray(np.ascontiguousarray(pixels))
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(max(8, min(picture.height // 12, 24)))
    left, top, right, bottom = pen.textbbox((4, 3), text, font=font)
    pen.rectangle((left - 2, top - 2, right + 2, bottom + 2), fill=(0, 0, 0))
    pen.text((4, 3), text, font=font, fill=(255, 255, 255))
    return np.asarray(picture)


class Recording:
    """A video that record() began. The file appears when it is complete; one that was there stays until then, and
    stays if the block ends with an error.
    """

    def __init__(self, pictures: Callable[[], Any], sim: Any, path: Path, fps: float, titles: bool,
                 speed: float = 1) -> None:
        self._pictures, self._sim, self._path, self._fps, self._titles = pictures, sim, path, fps, titles
        self._part = path.with_name(path.name + ".part")
        self._said = tempfile.TemporaryFile()
        self._child: subprocess.Popen[bytes] | None = None
        self._return: Any = None  # of each world's episode
        self._over: Any = False  # it ended with the frame before
        self._open = self._added = self._auto = False
        self._seconds, self._taken, self._rate = 0.0, 0, fps / speed  # of the simulation; pictures; a second of it
        self._stop: Callable[[], None] = lambda: None

    def __enter__(self) -> Recording:
        self._open = True
        return self

    def _begin_auto(self):
        self._open = self._auto = True
        atexit.register(self.close)
        return self

    def _watch_sim(self, sim):
        """Pictures behind steps of a sim."""
        if not sim.outputs:
            raise StateError("record: the sim has no outputs; give it some: stet.Sim(…, outputs=('rgb',))")
        self._stop = watch(sim, lambda sim, n: self._pass(n * sim.model.timestep), self.close)
        return self._begin_auto()

    def _watch_env(self, env):
        """Pictures behind steps of an environment, whose method step is replaced meanwhile."""
        inner = getattr(env, "unwrapped", env)
        dt = getattr(getattr(inner, "vector", inner), "dt", None) or getattr(inner, "dt", None)
        dt = dt or 1 / (env.metadata.get("render_fps") or self._fps)
        step, close = env.step, env.close

        def stop():
            for name in ("step", "close"):
                vars(env).pop(name, None)

        def recorded_step(action):
            out = step(action)
            self._rate_step(out[1], np.logical_or(out[2], out[3]))
            self._pass(dt)
            return out

        def recorded_close(**more):
            self.close()
            return close(**more)

        vars(env).update(step=recorded_step, close=recorded_close)
        self._stop = stop
        return self._begin_auto()

    def _pass(self, seconds):
        """The simulation has moved on: as many pictures as are due by now."""
        self._seconds += seconds
        due = int(self._seconds * self._rate + 1e-6) - self._taken
        if due > 0 and self._open:
            self._taken += due
            self._write(self._take(), due)

    def add(self, reward: Any = None, done: Any = None) -> None:
        """With auto=False: adds a picture of the worlds as they are now. reward: of each world in the step before it;
        done: whether its episode ended with it: the next reward is the first of another return.
        """
        if self._auto:
            raise StateError("record: it takes pictures by itself; leave add() out, or give record(…, auto=False)")
        if not self._open:
            raise StateError(f"record: {self._path} is written in a block: with stet.video.record(…) as video: … "
                             "video.add()")
        if reward is not None:
            self._rate_step(reward, done)
        self._write(self._take(), 1)

    def close(self) -> None:
        """Completes the file. StateError: it has no picture."""
        if self._open:
            self.__exit__(None)

    def _rate_step(self, reward, done):
        reward = np.atleast_1d(np.asarray(reward, float))
        self._return = np.where(self._over, 0, 0 if self._return is None else self._return) + reward
        self._over = False if done is None else np.atleast_1d(np.asarray(done)) != 0

    def _take(self):
        pixels = self._pictures()
        if self._titles:
            pixels = np.stack([_with_title(*each) for each in zip(pixels, self._texts(len(pixels)))])
        return mosaic(pixels, math.ceil(math.sqrt(len(pixels))))

    def _write(self, picture, times):
        self._added = True
        child = self._child = self._child or self._start(picture.shape[1], picture.shape[0])
        assert child.stdin
        try:
            for _ in range(times):
                child.stdin.write(picture.tobytes())
        except BrokenPipeError:
            self._end(child, keep=False)

    def _texts(self, n):
        texts = [f"world {k}" for k in range(n)] if n > 1 else [""]
        if self._sim is not None:
            times = self._sim.time.read_worlds(0, n)[:, 0]
            texts = [f"{text}  {time:.2f} s" for text, time in zip(texts, times)]
        if self._return is not None:
            texts = [f"{text}  return {value:.1f}" for text, value in zip(texts, self._return)]
        return [text.strip() for text in texts]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._open:
            return
        self._open = False
        self._stop()
        if self._auto:
            atexit.unregister(self.close)
        if self._child:
            self._end(self._child, keep=kind is None)
        elif kind is None and not self._added:
            why = ("the simulation did not move on by a picture's time" if self._auto else
                   "call add() for each picture")
            raise StateError(f"record: nothing was recorded for {self._path}, so there is none; {why}")

    def _start(self, width: int, height: int) -> subprocess.Popen[bytes]:
        name, options = _ENCODE[self._path.suffix.lower()]
        return subprocess.Popen(
            ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pixel_format", "rgb24",
             "-video_size", f"{width}x{height}", "-framerate", str(self._fps), "-i", "pipe:0", *options.split(),
             "-f", name, f"file:{self._part}"], stdin=subprocess.PIPE, stderr=self._said)

    def _end(self, child: subprocess.Popen[bytes], keep: bool) -> None:
        self._child = None
        assert child.stdin
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        failed = child.wait() != 0
        if keep and not failed:
            self._part.replace(self._path)
            return
        self._part.unlink(missing_ok=True)
        if failed:
            self._said.seek(0)
            raise RuntimeError(f"record: ffmpeg: {self._said.read(400).decode(errors='replace').strip()}")
