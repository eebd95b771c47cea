"""Videos of a sim's frames, or of an environment's: .mp4, .gif or .webp, or .png (animated), encoded by ffmpeg as they
come.
"""

from __future__ import annotations

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
           worlds: int = 16, titles: bool = False) -> Recording:
    """A video of a sim's frames: `with record(sim, "run.mp4") as video:`, and `video.add()` after each step. Its
    pictures are those of Sim.image: an output (None: the sim's first) of the first worlds as a mosaic. Or of an
    environment of gymnasium's, alone or a vector of them, made with render_mode="rgb_array": add() renders it. titles:
    each picture says which world it is of, its time, and the return of its episode, if add() gets rewards.
    """
    if Path(path).suffix.lower() not in _ENCODE:
        raise ValueError(f"record: {path}: the name says no format; end it in .mp4, .gif, .webp or .png")
    if not fps > 0:
        raise ValueError(f"record: fps is {fps}, and must be above 0")
    if worlds < 1:
        raise ValueError(f"record: worlds is {worlds}, and must be above 0")
    if not shutil.which("ffmpeg"):
        raise RuntimeError("record: there is no ffmpeg on the PATH; install it (Debian: apt-get install ffmpeg)")
    if titles:
        check_libraries("stet.video", PIL="pillow")
    if isinstance(source, Sim):
        return Recording(lambda: _sim_pictures(source, output, camera, worlds), source, Path(path), fps, titles)
    if not callable(getattr(source, "render", None)):
        raise TypeError(f"record: a {type(source).__name__!r} is neither a stet.Sim nor an environment")
    if getattr(source, "render_mode", None) != "rgb_array":
        raise ValueError('record: the environment renders no pictures; make it with render_mode="rgb_array"')
    inner = getattr(source, "unwrapped", source)
    sim = getattr(getattr(inner, "vector", inner), "sim", None)
    return Recording(lambda: _env_pictures(source, worlds), sim, Path(path), fps, titles)


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
    """A video that record() began. The file appears when the block ends without an error; one that was there stays
    until then."""

    def __init__(self, pictures: Callable[[], Any], sim: Any, path: Path, fps: float, titles: bool) -> None:
        self._pictures, self._sim, self._path, self._fps, self._titles = pictures, sim, path, fps, titles
        self._part = path.with_name(path.name + ".part")
        self._said = tempfile.TemporaryFile()
        self._child: subprocess.Popen[bytes] | None = None
        self._return: Any = None  # of each world's episode
        self._over: Any = False  # it ended with the frame before
        self._open = self._added = False

    def __enter__(self) -> Recording:
        self._open = True
        return self

    def add(self, reward: Any = None, done: Any = None) -> None:
        """Adds a picture of the worlds as they are now. reward: of each world in the step before it; done: whether its
        episode ended with it: the next reward is the first of another return.
        """
        if not self._open:
            raise StateError(f"record: {self._path} is written in a block: with stet.video.record(…) as video: … "
                             "video.add()")
        if reward is not None:
            reward = np.atleast_1d(np.asarray(reward, float))
            self._return = np.where(self._over, 0, 0 if self._return is None else self._return) + reward
            self._over = False if done is None else np.atleast_1d(np.asarray(done)) != 0
        pixels = self._pictures()
        if self._titles:
            pixels = np.stack([_with_title(*each) for each in zip(pixels, self._texts(len(pixels)))])
        self._added = True
        picture = mosaic(pixels, math.ceil(math.sqrt(len(pixels))))
        child = self._child = self._child or self._start(picture.shape[1], picture.shape[0])
        assert child.stdin
        try:
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
        self._open = False
        if self._child:
            self._end(self._child, keep=kind is None)
        elif kind is None and not self._added:
            raise StateError(f"record: nothing was added to {self._path}, so there is no such file; call add() for "
                             "each picture")

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
