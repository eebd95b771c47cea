"""A recording as a source of pictures: a folder of `stet run --record qpos --out FOLDER`, a data set, or arrays.

Positions are enough: poses are computed from them for what is drawn, as in a run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidArgumentError
from ..sim import load
from .source import DYNAMICS, Sample, Source, Wants, plot_row

_POSITIONS = ("qpos", "mocap_pos", "mocap_quat")
_POSES = ("xpos", "xquat")
_MOST_SEARCHED = 1 << 28  # numbers in which faults are looked for
_MOST_FAULTS = 64  # worlds of which the page gets them


def _check(model, recording):
    """Number of frames and of worlds, and the fields from which it is drawn."""
    names = _POSITIONS if "qpos" in recording else _POSES
    if not set(names[:1] if "qpos" in recording else names) <= recording.keys():
        raise InvalidArgumentError("a recording has qpos, or xpos and xquat")
    shapes = {name: np.shape(array) for name, array in recording.items()}
    frames, worlds = shapes[names[0]][:2]
    items = {"qpos": model.nq, "mocap_pos": 3 * model.nmocap, "mocap_quat": 4 * model.nmocap,
             "xpos": 3 * model.nbody, "xquat": 4 * model.nbody}
    for name, shape in shapes.items():
        if len(shape) < 3 or shape[:2] != (frames, worlds) or 0 in shape[:2]:
            raise InvalidArgumentError(f"{name}: an array [frame, world, item] is needed, this one is {shape}")
        if name in names and int(np.prod(shape[2:])) != items[name]:
            raise InvalidArgumentError(f"{name}: the scene has {items[name]} of it, the recording {shape[2:]}")
    return frames, worlds, tuple(name for name in names if name in shapes and items[name] > 0)


class Replay(Source):
    """Plays arrays [frame, world, item] by the names of fields; what is drawn needs qpos, or xpos and xquat. Its own
    thread moves the frame on and answers readers. other: a recording of the same worlds that is shown beside it.
    """

    def __init__(self, scene: Any, recording: Mapping[str, Any], seconds: float = 0.02, speed: float = 1.0,
                 other: Mapping[str, Any] | None = None) -> None:
        model = load(scene)
        frames, worlds, drawn = _check(model, recording)
        if other is not None:
            more_frames, *form = _check(model, other)
            if form != [worlds, drawn]:
                raise InvalidArgumentError(f"recordings of other things: one has {worlds} worlds, drawn from "
                                           f"{', '.join(drawn)}; one has {form[0]}, from {', '.join(form[1])}")
            frames = min(frames, more_frames)
        super().__init__(model, worlds, drawn)
        self.frames, self.seconds, self.speed, self.paused = frames, seconds, speed, False
        self._recording, self._other = recording, other
        self._dynamics = [name for name in DYNAMICS if name in recording]
        self._faults = self._find_faults()
        self._parted = next((k for k in range(frames) if self._apart(k)["most"] > 0), None) if other else None
        self._at = 0.0  # frames
        self._loop = True
        self._seen = 0
        self._closed = False
        self._thread = threading.Thread(target=self._play, name="stet.view replay", daemon=True)
        self._thread.start()

    def _apart(self, frame):
        """The largest difference between the two recordings in a frame, and where it is."""
        assert self._other is not None
        out = {"most": 0.0}
        for name in self.fields:
            a, b = (np.asarray(of[name][frame]).reshape(self.nworld, -1) for of in (self._recording, self._other))
            apart = np.nan_to_num(abs(a - b), nan=0.0) + (np.isnan(a) != np.isnan(b))
            if apart.max() > out["most"]:
                world, item = np.unravel_index(apart.argmax(), apart.shape)
                out = {"most": float(apart.max()), "field": name, "world": int(world), "item": int(item)}
        return out

    def _find_faults(self):
        """As a run's: of each world that has one, the first frame with a bit in `faults`, if that was recorded, or
        with positions that are not finite.
        """
        first: dict[int, tuple[int, str]] = {}
        for name, of, said in (("faults", lambda x: x != 0, "faults"),
                               (self.fields[0], lambda x: ~np.isfinite(x), "not finite")):
            array = self._recording.get(name)
            if array is None or array.size > _MOST_SEARCHED:
                continue
            bad = np.stack([of(np.asarray(frame).reshape(self.nworld, -1)).any(axis=1) for frame in array])
            for world in np.flatnonzero(bad.any(axis=0)):
                first.setdefault(int(world), (int(bad[:, world].argmax()), said))
        return {"count": len(first),
                "first": [[world, [said], frame] for world, (frame, said) in sorted(first.items())[:_MOST_FAULTS]]}

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"control": False, "actuators": [], "fields": list(self._recording),
                                  "frames": self.frames}

    def close(self) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        self._thread.join()

    def tell(self, kind: str, entries: dict[str, Any]) -> None:
        with self.changed:
            if kind == "pause":
                self.paused = entries["on"]
                if not self.paused and int(self._at) == self.frames - 1:
                    self._at = 0.0
            elif kind == "step":
                self.paused, self._at = True, float(min(int(self._at) + 1, self.frames - 1))
            elif kind == "speed":
                self.speed = entries["factor"] or 1.0
            elif kind == "seek":
                self.paused, self._at = True, float(min(entries["frame"], self.frames - 1))
            elif kind == "loop":
                self._loop = entries["on"]
            else:
                raise ValueError("a recording is what it is: it cannot be changed")
            self.number += 1
            self.changed.notify_all()

    def _play(self):
        last = time.monotonic()
        while True:
            with self.changed:
                now = time.monotonic()
                if not self.paused:
                    self._go_on((now - last) * self.speed / self.seconds)
                last = now
                self.number += int(self._at) != self._seen
                self._seen = int(self._at)
                if self._closed:
                    return
                if not self._new_asked():
                    self.changed.wait(0.1 if self.paused else 1 / 120)
            self.answer()

    def _go_on(self, frames):
        """The last frame is shown as long as the others; then it begins again, or ends."""
        self._at += frames
        if self._loop:
            self._at %= self.frames
        elif self._at >= self.frames - 1.0:
            self._at, self.paused = self.frames - 1.0, True

    def take(self, wants: Wants) -> Sample:
        worlds = slice(wants.first, wants.first + wants.count)
        with self.changed:
            number, frame, paused, speed = self.number, int(self._at), self.paused, self.speed

        def of(name):
            return np.asarray(self._recording[name][frame]).reshape(self.nworld, -1)

        state = {name: of(name)[worlds] for name in (*self.fields, *(self._dynamics if wants.dynamics else ()))}
        plots = [plot_row(of(name), wants.first, item) if name in self._recording else None
                 for name, item in wants.plots]
        facts = {"steps": frame, "time": [frame * self.seconds] * wants.count, "paused": paused,
                 "speed": speed, "plots": plots, "faults": self._faults}
        other = None
        if self._other:
            other = {name: np.asarray(self._other[name][frame]).reshape(self.nworld, -1)[worlds]
                     for name in self.fields}
            facts["apart"] = self._apart(frame) | {"first": self._parted}
        return Sample(number, wants, state, facts, other)


def open_folder(folder: str | os.PathLike, scene: Any = None, other: str | os.PathLike | None = None) -> Replay:
    """A recording of `stet run`, whose summary says which scene and how long a frame is; or a data set. other: one that
    is shown beside it.
    """
    its_scene, fields, seconds = _read(Path(folder), scene)
    return Replay(its_scene, fields, seconds, other=None if other is None else _read(Path(other), its_scene)[1])


def _read(folder, scene):
    """Scene, fields, and seconds of a frame."""
    from ..data.run import read_run

    if (folder / "manifest.json").exists():
        return _read_data(folder, scene)
    summary, scene, fields = read_run(folder, scene)
    return scene, fields, summary["substeps"] * scene.timestep


def _read_data(folder, scene):
    """Of a data set (stet.data) the fields; a frame is as long as most are."""
    from ..data import Reader

    data = Reader(folder)
    fields = {name: data.read(name) for name in data.manifest["fields"]}
    seconds = np.diff(fields["time"][:, 0, 0])
    return scene or data.manifest["scene"], fields, float(np.median(seconds)) if len(seconds) else 0.02
