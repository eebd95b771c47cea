"""A data set in LeRobot's layout, version 3.0: rows in Parquet files, pictures in them as PNG.

Each episode of each world is one of LeRobot's, world by world. `ctrl` is `action`, `qpos` is `observation.state`,
colours of a camera are `observation.images.<camera>`, `reward` is `next.reward`, all others `observation.<name>`.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidArgumentError
from .._libraries import check_libraries, progress

_NAMES = {"ctrl": "action", "qpos": "observation.state", "reward": "next.reward"}
_INDICES = ("timestamp", "frame_index", "episode_index", "index", "task_index")
_FILE_BYTES = 100 << 20
_FILES_IN_CHUNK = 1000
_PIECE = 256  # frames that are in memory


class _Stats:
    """Of one feature: least, greatest, mean and deviation over frames; of pictures over pixels, too, 0 to 1."""

    def __init__(self, picture: bool) -> None:
        self._picture, self._sums = picture, None

    def add(self, values: Any) -> None:
        values = values.astype(float)
        rows = values.reshape(-1, values.shape[-1]) / 255 if self._picture else values.reshape(len(values), -1)
        new = [rows.min(0), rows.max(0), rows.sum(0), (rows**2).sum(0), len(rows), len(values)]
        old = self._sums
        self._sums = new if old is None else [
            np.minimum(old[0], new[0]), np.maximum(old[1], new[1]), *(a + b for a, b in zip(old[2:], new[2:]))]

    def table(self) -> dict[str, Any]:
        least, most, total, squares, rows, frames = self._sums
        mean = total / rows
        std = np.sqrt(np.maximum(squares / rows - mean**2, 0))
        form = (lambda x: x.reshape(-1, 1, 1).tolist()) if self._picture else (lambda x: x.tolist())
        return {"min": form(least), "max": form(most), "mean": form(mean), "std": form(std), "count": [frames]}


class _Rows:
    """Writes tables to files of a limited size; an episode is in one file."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._writer, self._bytes, self.number = folder, None, 0, 0

    @property
    def place(self) -> tuple[int, int]:
        """Chunk and file."""
        return divmod(self.number, _FILES_IN_CHUNK)

    def next_episode(self) -> None:
        if self._bytes >= _FILE_BYTES:
            self.close()
            self.number += 1

    def write(self, table: Any) -> None:
        import pyarrow.parquet

        if self._writer is None:
            chunk, file = self.place
            path = self._folder / f"chunk-{chunk:03d}" / f"file-{file:03d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer, self._bytes = pyarrow.parquet.ParquetWriter(path, table.schema), 0
        self._writer.write_table(table)
        self._bytes += table.nbytes

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _features(data):
    """By name of an array of the data set its name and form in LeRobot's, and the names of arrays that are left out."""
    out, left = {}, []
    for name in data.names:
        one = data.read(name, 0, 1)[0, 0]
        output, _, camera = name.partition(":")
        if name in ("time", "episode") or one.size == 0:
            continue
        if camera and one.dtype == np.uint8 and one.ndim == 3 and output in ("rgb", "rgba"):
            key = f"observation.images.{camera}" if output == "rgb" else f"observation.images.{camera}.{output}"
            out[name] = key, {"dtype": "image", "shape": [*one.shape[:2], 3], "names": ["height", "width", "channels"]}
        elif one.ndim <= 1:
            out[name] = _NAMES.get(name, f"observation.{name}"), {"dtype": str(one.dtype), "shape": [one.size],
                                                                  "names": None}
        else:
            left.append(name)
    return out, left


def _column(feature, values):
    import pyarrow as pa

    if feature["dtype"] == "image":
        from PIL import Image

        def png(pixels):
            file = io.BytesIO()
            Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(file, "PNG", compress_level=1)
            return {"bytes": file.getvalue(), "path": None}

        return pa.array([png(one) for one in values], pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return flat if feature["shape"] == [1] else pa.FixedSizeListArray.from_arrays(flat, feature["shape"][0])


def _write_tasks(path, task):
    """A table whose index is the task's sentence, as pandas writes it."""
    import pyarrow as pa
    import pyarrow.parquet

    def column(name, kind, numpy):
        return {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}

    note = {"index_columns": ["task"], "column_indexes": [], "pandas_version": "2.0.0",
            "columns": [column("task_index", "int64", "int64"), column("task", "unicode", "object")]}
    table = pa.table({"task_index": pa.array([0], pa.int64()), "task": [task]})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"pandas": json.dumps(note)}), path)


def _episodes(data):
    """World, first frame and the frame behind the last of each."""
    numbers = data.read("episode")
    for world in range(numbers.shape[1]):
        ends = [*(np.flatnonzero(np.diff(numbers[:, world])) + 1), len(numbers)]
        yield from ((world, int(first), int(end)) for first, end in zip([0, *ends], ends))


def export(data: Any, out: Path, task: str) -> str:
    """Writes a data set to a new folder; returns a sentence about it."""
    check_libraries("stet data export --format lerobot", pyarrow="pyarrow", PIL="pillow")
    import pyarrow as pa

    if out.exists() and any(out.iterdir()):
        raise InvalidArgumentError(f"{out}: it is not empty; choose another folder")
    features, left = _features(data)
    seconds = np.diff(data.read("time", world=0)[:, 0])
    fps = max(1, round(1 / np.median(seconds[seconds > 0]))) if (seconds > 0).any() else 50
    stats = {key: _Stats(feature["dtype"] == "image") for key, feature in features.values()}
    stats |= {name: _Stats(False) for name in _INDICES}
    rows, episodes, total = _Rows(out / "data"), [], 0
    for number, (world, first, end) in enumerate(progress(list(_episodes(data)), "episodes")):
        rows.next_episode()
        chunk, file = rows.place
        episodes.append({
            "episode_index": number, "tasks": [task], "length": end - first, "data/chunk_index": chunk,
            "data/file_index": file, "dataset_from_index": total, "dataset_to_index": total + end - first,
            "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        for at in range(first, end, _PIECE):
            n = min(_PIECE, end - at)
            frames = np.arange(at - first, at - first + n)
            index = {"timestamp": (frames / fps).astype(np.float32), "frame_index": frames,
                     "episode_index": np.full(n, number), "index": total + frames, "task_index": np.zeros(n, int)}
            columns = {}
            for name, (key, feature) in features.items():
                values = data.read(name, at, n, world)
                values = values[..., :3] if feature["dtype"] == "image" else values
                stats[key].add(values)
                columns[key] = _column(feature, values)
            for name, values in index.items():
                stats[name].add(values)
            rows.write(pa.table({**columns, **index}))
        total += end - first
    rows.close()
    indices = {name: {"dtype": "float32" if name == "timestamp" else "int64", "shape": [1], "names": None}
               for name in _INDICES}
    info = {
        "codebase_version": "v3.0", "robot_type": None, "total_episodes": len(episodes), "total_frames": total,
        "total_tasks": 1, "chunks_size": _FILES_IN_CHUNK, "data_files_size_in_mb": _FILE_BYTES >> 20,
        "video_files_size_in_mb": 200, "fps": fps, "splits": {"train": f"0:{len(episodes)}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path": None,
        "features": {**dict(features.values()), **indices}}
    meta = _Rows(out / "meta" / "episodes")
    meta.write(pa.Table.from_pylist(episodes))
    meta.close()
    _write_tasks(out / "meta" / "tasks.parquet", task)
    (out / "meta" / "stats.json").write_text(json.dumps({name: one.table() for name, one in stats.items()}, indent=2))
    (out / "meta" / "info.json").write_text(json.dumps(info, indent=2) + "\n")
    without = f", without {', '.join(left)}, which it has no place for" if left else ""
    return f"{out}: {len(episodes)} episodes, {total} frames at {fps} a second in LeRobot's layout v3.0{without}"
