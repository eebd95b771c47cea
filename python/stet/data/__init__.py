"""Data sets of trajectories, with pictures, for code that learns: HDF5 files in a folder.

    with stet.data.Writer("reach", sim, fields=("qpos", "ctrl"), outputs=("rgb",), notes={"seed": 7}) as data:
        for step in range(1000):
            sim.step(5)
            done = …
            data.add(done=done, reward=reward)        # a frame of all worlds
    qpos = stet.data.Reader("reach").read("qpos")     # [frame, world, nq]

A data set is a folder: manifest.json says what it is of, and each shard-<first frame>.h5 has the frames from there on
as arrays [frame, world, …], in compressed chunks of one world, or of several where frames are few, with checksums.

Invariants:
  DATA-1  a shard is there with all its frames, or not at all: it is written under another name, and renamed when it is
          on the disk. A run that is killed loses the frames since the last shard, which are those in memory
  DATA-2  the first frame of a shard is the number of frames in all shards before it
  DATA-3  a shard has the manifest, too, if an attribute can hold it: so the manifest need not be on the disk before
          the first shard, and one that a power cut took is read from there
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._errors import Error, FileError, InvalidArgumentError, MissingFileError
from .._libraries import check_libraries, progress

__all__ = ["Reader", "Writer", "scene_hash"]


def __dir__() -> list[str]:
    return __all__


_FORMAT = 1
_SHARD_BYTES = 64 << 20
_CHUNK_BYTES = 128 << 10  # what is read at once; smaller ones cost HDF5 more than compressing them does
_MOST_FRAMES = 1024
_MANIFEST, _OPEN = "manifest.json", "open.tmp"
_ATTRIBUTE_BYTES = 60000  # HDF5's limit is 64 KB
_MODEL_HEAD = 16  # bytes of a pickled model before the compiled one: a mark and a checksum
_KINDS = {"scene": str, "scene_sha256": str, "worlds": int, "timestep": float, "fields": list, "outputs": list,
          "cameras": list}


def _shard_name(first):
    return f"shard-{first:09d}.h5"


def _write_whole(path, text, sync):
    temporary = path.with_suffix(".tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    temporary.replace(path)


def make_manifest(model: _core.Model, worlds: int, **more: Any) -> dict[str, Any]:
    """What manifest.json says; more: physics, device, fields, outputs, cameras, notes."""
    return {"format": _FORMAT, "scene": model.path, "scene_sha256": scene_hash(model), "worlds": worlds,
            "timestep": model.timestep, "stet": _core.__version__, "mujoco": _core.mujoco_version, **more}


def save_manifest(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Returns its text, which shards have, too (DATA-3)."""
    text = json.dumps(manifest, indent=2) + "\n"
    _write_whole(folder / _MANIFEST, text, len(text) > _ATTRIBUTE_BYTES)
    return text


def has_frames(folder: Path) -> bool:
    """Whether a data set has begun there."""
    there = folder / _MANIFEST
    return (folder / _shard_name(0)).exists() or (there.exists() and there.stat().st_size > 0)


def frames_of_shard(frame_bytes: int) -> int:
    """How many have 64 MB together."""
    return max(1, min(_MOST_FRAMES, _SHARD_BYTES // max(1, frame_bytes)))


def write_shard(folder: Path, first: int, manifest: str, arrays: Mapping[str, np.ndarray],
                compression: int = 1) -> None:
    """The shard with the frames from number `first` on: arrays [frame, world, …]."""
    import h5py

    temporary = folder / _OPEN
    with h5py.File(temporary, "w", libver=("v110", "latest")) as file:  # whose own data has checksums, too
        file.attrs["frames"] = len(next(iter(arrays.values())))
        if len(manifest) <= _ATTRIBUTE_BYTES:
            file.attrs["manifest"] = manifest
        for name, block in arrays.items():
            item = max(block[0, 0].nbytes, 1)
            rows = max(1, min(len(block), _CHUNK_BYTES // item))
            worlds = max(1, min(block.shape[1], _CHUNK_BYTES // (rows * item)))
            whole = 0 not in block.shape
            file.create_dataset(name, data=block, **(dict(
                chunks=(rows, worlds, *block.shape[2:]), compression="gzip", compression_opts=compression,
                shuffle=True, fletcher32=True) if whole else {}))
    with open(temporary, "rb") as done:
        os.fsync(done.fileno())
    temporary.replace(folder / _shard_name(first))


def scene_hash(model: _core.Model) -> str:
    """SHA-256 of the compiled model: equal scenes have equal ones, whatever their files are called."""
    return hashlib.sha256(model.__reduce__()[1][0][_MODEL_HEAD:]).hexdigest()


class Reader:
    """A data set, also while it is being written: what it has now. `manifest`: a dict; `frames`: how many."""

    def __init__(self, folder: str | os.PathLike) -> None:
        check_libraries("stet.data", h5py="h5py")
        self.folder = Path(folder)
        try:
            self.manifest: dict[str, Any] = json.loads(self._manifest_text())
            if self.manifest["format"] != _FORMAT:
                raise FileError(f"{folder}: a data set of format {self.manifest['format']}; this stet reads {_FORMAT}")
            for key, kind in _KINDS.items():
                if not isinstance(self.manifest.get(key), kind):
                    raise ValueError(f"{key} in its {_MANIFEST} is {self.manifest.get(key)!r}")
        except FileNotFoundError:
            raise MissingFileError(f"{folder}: no data set: it has no {_MANIFEST}") from None
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise FileError(f"{folder}: no data set: {error}") from None
        self.shards: list[tuple[int, int, Path]] = []
        """First frame, number of frames and file of each."""
        self.frames = 0
        for path in sorted(self.folder.glob("shard-*.h5")):
            if path.name != _shard_name(self.frames):
                raise FileError(f"{self.folder}: {_shard_name(self.frames)} is missing")  # DATA-2
            with self._open(path) as shard:
                frames = int(shard.attrs["frames"])
                if frames < 1:
                    raise ValueError(f"it has {frames} frames")
            self.shards.append((self.frames, frames, path))
            self.frames += frames

    def _manifest_text(self):
        first = self.folder / _shard_name(0)
        try:
            text = (self.folder / _MANIFEST).read_text()
        except FileNotFoundError:
            if not first.exists():
                raise
            text = ""
        if not text and first.exists():
            with self._open(first) as shard:
                text = shard.attrs.get("manifest", "")  # DATA-3
        return text

    @staticmethod
    @contextlib.contextmanager
    def _open(path, name=""):
        """A shard, to read this array; what is damaged in it is a FileError."""
        import h5py

        try:
            with h5py.File(path, "r") as shard:
                yield shard
        except Error:
            raise
        except Exception as error:  # whatever h5py, NumPy and we make of what is damaged
            said = error.args[0] if error.args else type(error).__name__
            raise FileError(f"{path}: {name + ': ' if name else ''}{said}") from None

    @property
    def names(self) -> list[str]:
        """Of its arrays."""
        if not self.shards:
            return []
        with self._open(self.shards[0][2]) as shard:
            return sorted(shard)

    def _rows(self, path, name, frames, rows):
        with self._open(path, name) as shard:
            if name not in list(shard):
                raise InvalidArgumentError(f"{path}: no array {name}; it has {', '.join(sorted(shard))}")
            if len(shard[name]) != frames:
                raise ValueError(f"it has {len(shard[name])} frames, not {frames}")
            return shard[name][rows]

    def read(self, name: str, first: int = 0, n: int | None = None, world: int | None = None) -> Any:
        """[frame, world, …] of an array: n frames (None: all that follow) from `first` on; of one world [frame, …]."""
        end = self.frames if n is None else first + n
        if not 0 <= first < end <= self.frames:
            raise InvalidArgumentError(f"{self.folder}: frames {first} to {end} were asked for; it has {self.frames}")
        of = slice(None) if world is None else world
        return np.concatenate([
            self._rows(path, name, frames, (slice(max(first - at, 0), min(end - at, frames)), of))
            for at, frames, path in self.shards if first < at + frames and at < end])

    def verify(self) -> int:
        """Reads everything, which compares the checksums; returns how many bytes that were. FileError: the first
        damage.
        """
        total = 0
        for _, frames, path in progress(self.shards, "verify"):
            self._verify_manifest(path)
            for name in self.names:
                total += self._rows(path, name, frames, slice(None)).nbytes
        return total

    def _verify_manifest(self, path):
        """What a shard says it is of must be what the data set is (DATA-3), but for notes, which people may change."""
        with self._open(path) as shard:
            own = json.loads(shard.attrs.get("manifest", "{}"))
        for key, value in own.items():
            if key != "notes" and self.manifest.get(key) != value:
                raise FileError(f"{self.folder}: {key} in its {_MANIFEST} is {self.manifest.get(key)!r}, and in "
                                f"{path.name} {value!r}: one of them is damaged")


class Writer:
    """Writes frames of a sim: add() takes one, close() what is left. A folder that has frames of the same scene, fields
    and outputs is continued.

    fields      of the state, or quantities; `time` is always there
    outputs     of the sim's, of all its cameras: arrays <output>:<camera>
    notes       for the manifest: seeds, the policy, whatever JSON can hold
    frames_in_shard   0: as many as have 64 MB together
    """

    def __init__(self, folder: str | os.PathLike, sim: Any, *, fields: Iterable[str] = ("qpos", "ctrl"),
                 outputs: Iterable[str] = (), notes: Mapping[str, Any] | None = None, frames_in_shard: int = 0,
                 compression: int = 1) -> None:
        check_libraries("stet.data", h5py="h5py")
        self.folder, self._sim, self._shard_frames, self._compression = Path(folder), sim, frames_in_shard, compression
        self._fields = list(dict.fromkeys(["time", *fields]))
        self._outputs = list(outputs)
        for name in self._fields:
            sim.array(name)
        for name in self._outputs:
            if name not in sim.outputs:
                raise InvalidArgumentError(f"outputs: the sim renders no {name!r}; it has {', '.join(sim.outputs)}")
        self._blocks: dict[str, Any] = {}  # frames of the open shard; the first _held are there
        self._held = self._most = 0  # frames; most in a shard
        self._form: dict[str, tuple] | None = None
        self._episode = np.zeros(sim.nworld, np.int64)
        self.frames = 0
        self._begin(dict(notes or {}))

    def _begin(self, notes):
        sim = self._sim
        manifest = make_manifest(
            sim.model, sim.nworld, physics=sim.physics, fields=self._fields, outputs=self._outputs,
            cameras=sim.cameras if self._outputs else [], device=str(sim.device.name), notes=notes)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _OPEN).unlink(missing_ok=True)
        if not has_frames(self.folder):
            self._manifest = save_manifest(self.folder, manifest)
            return
        old = Reader(self.folder)
        for key in ("scene_sha256", "worlds", "fields", "outputs", "cameras"):
            if old.manifest[key] != manifest[key]:
                raise InvalidArgumentError(f"{self.folder}: it is of another {key}: {old.manifest[key]}; this run has "
                                           f"{manifest[key]}; choose another folder")
        self._manifest = save_manifest(self.folder, old.manifest)
        self.frames = old.frames
        if self.frames:
            last = {name: old.read(name, self.frames - 1, 1) for name in old.names}
            self._form = {name: (row.dtype, row.shape[1:]) for name, row in last.items()}
            self._episode = last["episode"][0] + 1

    def add(self, done: Any = None, **more: Any) -> None:
        """A frame: the fields and pictures as they are now, and arrays of the caller's by name, [world, …]. done: a
        mask of the worlds whose episode this frame ends; `episode` of their next frame is one more.
        """
        sim, k = self._sim, self._held
        if self._blocks and k == len(self._blocks["episode"]):
            self._blocks = {name: np.concatenate([block, np.empty_like(block)]) for name, block in self._blocks.items()}
        # Once there are blocks, what the sim has is copied right into them.
        row = {name: sim.array(name).numpy(self._blocks[name][k] if self._blocks else None) for name in self._fields}
        for output in self._outputs:
            for camera in sim.cameras:
                name = f"{output}:{camera.replace('/', '_')}"
                row[name] = sim.read(output, camera, out=self._blocks[name][k] if self._blocks else None)
        for name, values in more.items():
            if name in row or name == "episode":
                raise InvalidArgumentError(f"add: {name} is an array of the data set's own")
            row[name] = np.array(values)
            if row[name].shape[:1] != (sim.nworld,):
                raise InvalidArgumentError(f"add: {name} is {row[name].shape}; its first dimension is the worlds")
        row["episode"] = self._episode
        if not self._blocks or more or row.keys() != self._blocks.keys():
            self._check_form(row)
        if not self._blocks:
            size = max(1, sum(values.nbytes for values in row.values()))
            self._most = self._shard_frames or frames_of_shard(size)
            frames = max(1, min(self._most, _SHARD_BYTES // size))
            self._blocks = {name: np.empty((frames, *values.shape), values.dtype) for name, values in row.items()}
        for name in (row if k == 0 else [*more, "episode"]):
            self._blocks[name][k] = row[name]
        self._held += 1
        if done is not None:
            self._episode = self._episode + (np.asarray(done).reshape(sim.nworld) != 0)
        if self._held >= self._most:
            self.flush()

    def _check_form(self, row):
        form = {name: (values.dtype, values.shape) for name, values in row.items()}
        if self._form is None:
            self._form = form
        elif form != self._form:
            names = sorted(name for name in form.keys() | self._form.keys() if form.get(name) != self._form.get(name))
            raise InvalidArgumentError(f"add: {', '.join(names)}: another type or shape than in the frames before")

    def flush(self) -> None:
        """What was added is in a shard afterwards."""
        if not self._held:
            return
        blocks = {name: frames[:self._held] for name, frames in self._blocks.items()}
        write_shard(self.folder, self.frames, self._manifest, blocks, self._compression)
        self.frames += self._held
        self._held = 0

    def close(self) -> None:
        """Writes what is left."""
        self.flush()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
