"""What `stet run --out FOLDER` wrote: its recordings, and a data set of these and of its pictures."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._errors import FileError, InvalidArgumentError, MissingFileError
from .._libraries import check_libraries, progress
from ..sim import load


def read_run(folder: Path, scene: Any = None) -> tuple[dict, _core.Model, dict]:
    """Its summary, its scene and its recordings by name, [frame, world, …]."""
    try:
        summary = json.loads((folder / "summary.json").read_text())
        frames, worlds, outputs = summary["frames_done"], summary["worlds"], summary["outputs"]
        arrays = {file.stem: np.load(file, mmap_mode="r") for file in sorted(folder.glob("*.npy"))
                  if file.stem.removeprefix("frames-").split("-")[0] not in outputs}
        scene = load(scene or summary["scene"])
    except FileNotFoundError as error:
        raise MissingFileError(f"{folder}: no recording of stet run --record qpos --out FOLDER: {error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{folder}: no recording of stet run: {error}") from None
    fields = {name: array for name, array in arrays.items() if array.ndim >= 3 and array.shape[:2] == (frames, worlds)}
    return summary, scene, fields


class _Packed:
    """An array of frames.npz, read from its first frame on: as a whole it may not fit into memory."""

    def __init__(self, pack: zipfile.ZipFile, name: str) -> None:
        self._file = pack.open(name)
        np.lib.format.read_magic(self._file)
        self.shape, _, self.dtype = np.lib.format.read_array_header_1_0(self._file)
        self.frame_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:]))

    def read(self, n: int) -> np.ndarray:
        return np.frombuffer(self._file.read(n * self.frame_bytes), self.dtype).reshape(n, *self.shape[1:])


def import_run(run: Path, out: Path) -> str:
    """Makes a data set: with frames.npz of the frames that have pictures, else of all. Returns what it did."""
    from . import frames_of_shard, has_frames, make_manifest, save_manifest, write_shard

    check_libraries("stet.data", h5py="h5py")
    summary, model, fields = read_run(run)
    every = summary.get("tensors_every", 0)
    if "time" not in fields:
        raise InvalidArgumentError(f"{run}: it has no times; record them: stet run --record time,qpos")
    if every and not (run / "frames.npz").exists():
        raise InvalidArgumentError(f"{run}: it has no frames.npz; stet run --save-tensors every:{every}:npz writes it")
    if has_frames(out):
        raise InvalidArgumentError(f"{out}: a data set is there; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    try:
        pictures = {}
        if every:
            pack = zipfile.ZipFile(run / "frames.npz")
            pictures = {name.removesuffix(".npy"): _Packed(pack, name) for name in sorted(pack.namelist())}
        frames, every = summary["frames_done"] // (every or 1), every or 1
        row = sum(array[0].nbytes for array in fields.values()) + sum(one.frame_bytes for one in pictures.values())
        manifest = save_manifest(out, make_manifest(
            model, summary["worlds"], physics=summary["physics"], device=summary["device"], fields=sorted(fields),
            outputs=summary["outputs"] if pictures else [], cameras=summary["cameras"] if pictures else [],
            notes={"run": str(run), "every": every}))
        most = frames_of_shard(row)
        for first in progress(range(0, frames, most), "import"):
            n = min(most, frames - first)
            blocks = {name: array[(first + 1) * every - 1:(first + n) * every:every] for name, array in fields.items()}
            blocks |= {name: one.read(n) for name, one in pictures.items()}
            blocks["episode"] = np.zeros((n, summary["worlds"]), np.int64)
            write_shard(out, first, manifest, blocks)
    except (ValueError, zipfile.BadZipFile) as error:
        raise FileError(f"{run}: {error}") from None
    return f"{out}: {frames} frames of {summary['worlds']} worlds, {len(fields) + len(pictures) + 1} arrays"
