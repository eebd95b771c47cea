"""Videos of a sim's frames: .mp4, .gif or .webp, or .png (animated), encoded by ffmpeg as they come."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .sim import Sim

_ENCODE = {  # .mp4, .gif and .webp as `--video` has them: src/cli/pictures/video.c
    ".mp4": ("mp4", "-c:v libx264 -crf 16 -pix_fmt yuv420p -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -movflags +faststart"),
    ".gif": ("gif", "-filter_complex split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1 -loop 0"),
    ".webp": ("webp", "-c:v libwebp -quality 90 -loop 0"),
    ".png": ("apng", "-plays 0"),
}


def record(sim: Sim, path: str | Path, *, output: str | None = None, camera: int | str = 0, fps: float = 30,
           worlds: int = 16) -> Recording:
    """A video of a sim's frames: `with record(sim, "run.mp4") as video:`, and `video.add()` after each render. Its
    pictures are those of Sim.image: an output (None: the sim's first) of the first worlds as a mosaic.
    """
    if Path(path).suffix.lower() not in _ENCODE:
        raise ValueError(f"record: {path}: the name says no format; end it in .mp4, .gif, .webp or .png")
    if not fps > 0:
        raise ValueError(f"record: fps is {fps}, and must be above 0")
    if not shutil.which("ffmpeg"):
        raise RuntimeError("record: there is no ffmpeg on the PATH; install it (Debian: apt-get install ffmpeg)")
    return Recording(lambda: sim.image(output, camera, worlds), Path(path), fps)


class Recording:
    """A video that record() began. The file appears when the block ends without an error; one that was there stays
    until then."""

    def __init__(self, image: Callable[[], Any], path: Path, fps: float) -> None:
        self._image, self._path, self._fps = image, path, fps
        self._part = path.with_name(path.name + ".part")
        self._said = tempfile.TemporaryFile()
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Recording:
        return self

    def add(self) -> None:
        """Adds the sim's latest frame."""
        picture = self._image().convert("RGB")
        child = self._child = self._child or self._start(*picture.size)
        assert child.stdin
        try:
            child.stdin.write(picture.tobytes())
        except BrokenPipeError:
            self._end(child, keep=False)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._child:
            self._end(self._child, keep=kind is None)

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
