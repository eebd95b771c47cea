"""A run of the command as a source: another process, asked on a socket (src/cli/run/watch.h). It answers between two
frames, and is only looked at.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any

import numpy as np

from .. import _core
from ..info import info
from ..sim import load
from .source import DYNAMICS, Sample, Source, Wants, plot_row

_DRAWN = ("qpos", "mocap_pos", "mocap_quat")
_MOST_FAULTS = 64  # worlds of which the page gets the faults


class Attached(Source):
    """The run at the other end of a socket: EOFError or ConnectionError if it ends before its first frame is
    done. Its own thread asks it.
    """

    def __init__(self, run: socket.socket) -> None:
        self._run, self._file = run, run.makefile("rb")
        head, _ = self._ask_run(0, 0, [], [])
        super().__init__(load(head["scene"]), head["worlds"], _DRAWN)
        self._names = [*_core.SimBase.fields, *_core.SimBase.quantities]
        self._fault_bits = info()["faults"]
        self._faulty: dict[int, int] = {}  # by world, the frame in which its faults were first seen
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="stet.view run", daemon=True)
        self._thread.start()

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"control": False, "actuators": [], "fields": self._names, "frames": 0}

    def close(self) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        with contextlib.suppress(OSError):
            self._run.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._file.close()

    def tell(self, kind: str, entries: dict[str, Any]) -> None:
        raise ValueError("a run of the command goes on by itself; stet view and sim.view() can be paused and changed")

    def pull(self, reader: object, world: int, body: int, point: Any, target: Any) -> None:
        self.tell("pull", {})

    def _ask_run(self, first, count, fields, whole):
        """The head of the run's answer, and its arrays."""
        request = {"first": first, "count": count, "fields": fields, "whole": whole}
        self._run.sendall(json.dumps(request).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise EOFError
        head = json.loads(line)
        data = self._file.read(head["bytes"])
        if len(data) < head["bytes"]:
            raise EOFError
        arrays, at = [], 0
        for _, worlds, items, kind in head["arrays"]:
            size = worlds * items * np.dtype(kind).itemsize
            arrays.append(np.frombuffer(data, kind, worlds * items, at).reshape(worlds, items))
            at += size
        return head, arrays

    def _serve(self):
        with contextlib.suppress(EOFError, OSError):  # it has ended, or close() was called
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self._asked or self._closed)
                    if self._closed:
                        return
                    self.number += 1
                self.answer()

    def take(self, wants: Wants) -> Sample:
        fields = [*self.fields, *(DYNAMICS if wants.dynamics else ())]
        whole = [name for name, _ in wants.plots if name in self._names]
        head, arrays = self._ask_run(wants.first, wants.count, [*fields, "time"], list(dict.fromkeys(whole)))
        state, plotted = dict(zip(fields, arrays)), dict(zip(dict.fromkeys(whole), arrays[len(fields) + 1:]))
        facts = {
            "steps": head["frame"], "time": [float(t) for t in arrays[len(fields)][:, 0]], "paused": False, "speed": 0,
            "plots": [plot_row(plotted[name], wants.first, item) if name in plotted else None
                      for name, item in wants.plots],
            "faults": self._faults(head)}
        return Sample(self.number, wants, state, facts)

    def _faults(self, head):
        bits = dict(head["faults"])
        self._faulty = {w: self._faulty.get(w, head["frame"]) for w in bits}
        names = self._fault_bits.items()
        return {"count": len(bits), "first": [[w, [name for name, bit in names if bits[w] & bit], self._faulty[w]]
                                              for w in list(bits)[:_MOST_FAULTS]]}
