"""Videos of a sim's frames: .mp4, .gif or .webp, or .png (animated), encoded by ffmpeg as they come."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_ENCODE = {  # .mp4, .gif and .webp as `--video` has them: src/cli/pictures/video.c
    ".mp4": ("mp4", "-c:v libx264 -crf 16 -pix_fmt yuv420p -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -movflags +faststart"),
    ".gif": ("gif", "-filter_complex split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1 -loop 0"),
    ".webp": ("webp", "-c:v libwebp -quality 90 -loop 0"),
    ".png": ("apng", "-plays 0"),
}


class record:
    """`with record(sim, "run.mp4") as video:` and `video.add()` after each render of the sim: one frame of the video,
    the first worlds as a mosaic. The file appears when the block ends without an error."""

    def __init__(self, sim: Any, path: str | Path, *, output: str | None = None, camera: int | str = 0, fps: float = 30,
                 worlds: int = 16) -> None:
        self._sim, self._path = sim, Path(path)
        self._image = {"output": output, "camera": camera, "worlds": worlds}
        self._fps, self._child = fps, None
        if self._path.suffix.lower() not in _ENCODE:
            raise ValueError(f"record: {path}: the name says no format; end it in .mp4, .gif, .webp or .png")
        if not fps > 0:
            raise ValueError(f"record: fps is {fps}, and must be above 0")
        if not shutil.which("ffmpeg"):
            raise RuntimeError("record: there is no ffmpeg on the PATH; install it (Debian: apt-get install ffmpeg)")

    def __enter__(self) -> record:
        return self

    def add(self) -> None:
        """The sim's latest frame."""
        picture = self._sim.image(**self._image).convert("RGB")
        if self._child is None:
            self._start(picture.size)
        try:
            self._child.stdin.write(picture.tobytes())
        except BrokenPipeError:
            self._end(False)

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._child is not None:
            self._end(kind is None)

    def _start(self, size):
        name, options = _ENCODE[self._path.suffix.lower()]
        self._part = self._path.with_name(self._path.name + ".part")
        self._said = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pixel_format", "rgb24",
             "-video_size", f"{size[0]}x{size[1]}", "-framerate", str(self._fps), "-i", "pipe:0", *options.split(),
             "-f", name, f"file:{self._part}"], stdin=subprocess.PIPE, stderr=self._said)

    def _end(self, keep):
        child, self._child = self._child, None
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass
        failed = child.wait() != 0
        if keep and not failed:
            self._part.replace(self._path)
            return
        self._part.unlink(missing_ok=True)
        if failed:
            self._said.seek(0)
            raise RuntimeError(f"record: ffmpeg: {self._said.read(400).decode(errors='replace').strip()}")
