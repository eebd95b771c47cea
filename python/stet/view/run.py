"""A run in progress as a source of pictures: sim.step is followed by a look at who asks, in the caller's own thread.

Invariants:
  RUN-1  the sim is touched in the thread that steps it, behind a step, and never by a reader's thread
  RUN-2  without control=True nothing of the sim is written: with and without viewers a run has the same bits
  RUN-3  while nobody looks, a step costs a few tests more
  RUN-4  a pause and a speed last as long as somebody looks: readers who are gone hold no run
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..info import info
from .._errors import Error
from .._watch import watch
from .pull import Pull
from .source import DYNAMICS, Sample, Source, Wants, plot_row

_FAULT_SECONDS, _COUNTER_SECONDS, _TIMELINE_SECONDS = 0.25, 0.25, 0.25
_MOST_FAULTS = 64  # worlds of which the page gets the faults
_MOST_EVENTS = 300  # of a frame
_ALONE_SECONDS = 2.0  # after which a run goes on that nobody looks at any more; a page that is loaded again is quicker


class Run(Source):
    """Attached to a sim until close(). control: may readers reset worlds and write controls? speed: seconds of the
    simulation in one of the clock, 0: as fast as it goes.
    """

    def __init__(self, sim: Any, control: bool = False, speed: float = 0.0) -> None:
        external = sim.physics == "external"
        super().__init__(sim.model, sim.nworld, ("xpos", "xquat") if external else ("qpos", "mocap_pos", "mocap_quat"))
        self.control, self.speed, self.paused, self.steps = control, speed, False, 0
        self._sim = weakref.ref(sim)
        self.on_close: Callable[[], None] = self.close  # when the sim is closed
        self._closed, self._single = False, 0
        self._pace = (False, speed)  # paused and speed, as samples have them
        self._own_speed = speed
        self._alone = 0.0  # on the clock, when the last of them went
        self._todo: list[tuple[str, dict]] = []
        self._pulls: dict[object, Pull] = {}  # by reader
        self._released: list[Pull] = []  # whose force has to go
        self._due = time.monotonic()
        self._tracing, self._timeline_due = False, 0.0
        self._timeline: list[Any] = []
        self._timeline_until = 0.0  # on the clock
        self._counted: deque[tuple[float, dict[str, Any]]] = deque()
        self._faulty: dict[int, int] = {}  # by world, the step at which its faults were first seen
        self._old: dict[str, tuple[float, Any]] = {}  # facts that are not taken for each sample, and when they were
        self._names = [*sim.fields, *sim.quantities]
        self._ranges = self._control_ranges(sim)
        self._equalities = sim.eq_active.numpy()[0]  # as they were
        self._fault_bits = info()["faults"]
        self._stop = watch(sim, self._after_step, lambda: self.on_close())

    @staticmethod
    def _control_ranges(sim):
        """[name, least, most, hold] of each actuator; without a range -1 to 1 around where it holds."""
        low, high, hold = (sim.control_table(name).numpy() for name in ("low", "high", "hold"))
        rows = []
        for i, name in enumerate(sim.model.actuators):
            limited = np.isfinite(low[i]) and np.isfinite(high[i])
            ends = (low[i], high[i]) if limited else (hold[i] - 1, hold[i] + 1)
            rows.append([name or f"actuator {i}", *(float(x) for x in ends), float(hold[i])])
        return rows

    def facts(self) -> dict[str, Any]:
        out = super().facts()
        out |= {"control": self.control, "actuators": self._ranges, "fields": self._names, "frames": 0,
                "device": True,
                "equalities": [name or f"equality {k}" for k, name in enumerate(self.model.equalities)],
                "equalities_on": [bool(x) for x in self._equalities]}
        return out

    def close(self) -> None:
        """The sim is as it was before; a step that waits goes on."""
        sim = self._sim()
        with self.changed:
            if self._closed:
                return
            self._closed = True
            self._released += self._pulls.values()
            self._pulls.clear()
            self.changed.notify_all()
        if sim is not None:
            self._stop()
            if not sim.closed:
                self._push(sim, 0)
                self._end_frame(sim)

    def forget(self, reader: object) -> None:
        super().forget(reader)
        self._alone = time.monotonic()

    def tell(self, kind: str, entries: dict[str, Any]) -> None:
        with self.changed:
            if kind == "pause":
                self.paused, self._single = entries["on"], 0
            elif kind == "step":
                self.paused, self._single = True, self._single + 1
            elif kind == "speed":
                self.speed = entries["factor"]
            elif kind in ("seek", "loop"):
                raise ValueError("a run cannot go back; a recording can (stet replay)")
            else:
                self._check_control()
                self._check(kind, entries)
                self._todo.append((kind, entries))
            self.changed.notify_all()

    def pull(self, reader: object, world: int, body: int, point: Any, target: Any) -> None:
        with self.changed:
            self._check_control()
            held = self._pulls.get(reader)
            if held is None or (held.world, held.body) != (world, body):
                self.release(reader)
                self._pulls[reader] = Pull(world, body, point, target)
            else:
                held.target = target

    def release(self, reader: object) -> None:
        with self.changed:
            held = self._pulls.pop(reader, None)
            if held is not None:
                self._released.append(held)

    def _check_control(self):
        if not self.control:
            raise ValueError("this run is only looked at: sim.view(control=True) lets you change it")

    def _check(self, kind, entries):
        if entries["world"] >= self.nworld:
            raise ValueError(f"there is no world {entries['world']}")
        if kind == "control" and entries["actuator"] >= self.model.nu:
            raise ValueError(f"there is no actuator {entries['actuator']}")
        if kind == "equality" and entries["equality"] >= self.model.neq:
            raise ValueError(f"there is no equality constraint {entries['equality']}")
        if kind == "reset" and entries["keyframe"] >= self.model.nkey:
            raise ValueError(f"there is no keyframe {entries['keyframe']}")

    # ---- in the thread that steps ------------------------------------------------------------------------------------

    def _after_step(self, sim, n):
        self.steps += 1
        self.number += 1
        self._pace = self.paused, self.speed
        self._end_frame(sim)
        if self._todo or self._asked:
            self._serve(sim)
        if self.paused or self.speed > 0:
            self._wait(sim, n * self.model.timestep)
        if self._pulls or self._released:
            self._push(sim, n * self.model.timestep)
        if self._timeline_until > time.monotonic() > self._timeline_due:
            self._begin_frame(sim)

    def _begin_frame(self, sim):
        """A frame goes from behind a step to behind the next, if nobody else traces the device."""
        self._timeline_due = time.monotonic() + _TIMELINE_SECONDS
        try:
            sim.trace_begin()
            self._tracing = True
        except Error:
            self._timeline = []

    def _end_frame(self, sim):
        if not self._tracing:
            return
        self._tracing = False
        try:
            events = [(e["kind"], e["name"], 1e3 * e["begin"], 1e3 * e["seconds"]) for e in sim.trace_end()]
        except Error:
            return
        longest = sorted(events, key=lambda event: -event[3])[:_MOST_EVENTS]
        self._timeline = sorted((event for event in longest if event[3] > 0), key=lambda event: event[2])

    def _push(self, sim, seconds):
        """Forces of those who pull, for the next step, which is taken to be as long as the last."""
        with self.changed:
            released, self._released = self._released, []
            pulls = list(self._pulls.values())
        try:
            for pull in released + pulls:
                force = pull.force(sim, seconds) if pull in pulls else 0
                forces = sim.xfrc_applied.read_worlds(pull.world, 1)
                forces.reshape(-1, 6)[pull.body] = force
                sim.xfrc_applied.write_worlds(pull.world, forces)
        except Error:  # as in _serve
            self._released += released

    def _serve(self, sim):
        with self.changed:
            todo, self._todo = self._todo, []
        for kind, entries in todo:
            self._do(sim, kind, entries)
            self.number += 1
        try:
            self.answer()
        except Error:  # while a stream is captured into a graph states cannot be read: after another step
            pass

    def _do(self, sim, kind, entries):
        world = entries["world"]
        if kind == "reset":
            key = entries["keyframe"]
            sim.reset(worlds=None if world < 0 else [world], keyframe=None if key < 0 else key)
        elif kind == "control":
            self._put(sim.ctrl, world, entries["actuator"], entries["value"])
        elif kind == "equality":
            self._put(sim.eq_active, world, entries["equality"], int(entries["on"]))

    @staticmethod
    def _put(array, world, item, value):
        """In one world, or in all."""
        values = array.numpy()
        values[slice(None) if world < 0 else world, item] = value
        array.write(values)

    def _wait(self, sim, seconds):
        """Until the clock is where the simulation is, and nobody has paused it."""
        now = time.monotonic()
        speed = self.speed
        # What was late is not made up for by running faster.
        self._due = max(self._due + (seconds / speed if speed > 0 else 0), now - 0.1)
        while not self._closed:
            with self.changed:
                if self.paused and self._single:
                    self._single -= 1
                    self._due = time.monotonic()
                    return
                now = time.monotonic()
                if not self.readers and now > self._alone + _ALONE_SECONDS:  # RUN-4
                    self.paused, self._single, self.speed = False, 0, self._own_speed
                if not self.paused and (now >= self._due or self.speed != speed):
                    return
                if self._pace != (self.paused, self.speed):
                    self._pace = self.paused, self.speed
                    self.number += 1
                if not self._todo and not self._new_asked():
                    self.changed.wait(0.1 if self.paused else min(self._due - now, 0.1))
            self._serve(sim)

    def take(self, wants: Wants) -> Sample:
        sim = self._sim()
        state = {name: sim.array(name).read_worlds(wants.first, wants.count)
                 for name in (*self.fields, *(DYNAMICS if wants.dynamics else ()))}
        seconds = sim.time.read_worlds(wants.first, wants.count)[:, 0]
        facts = {
            "steps": self.steps,
            "time": [float(t) for t in seconds],
            "paused": self._pace[0],
            "speed": self._pace[1],
            "plots": [self._plot(sim, wants.first, *plot) for plot in wants.plots],
            "faults": self._aged("faults", _FAULT_SECONDS, lambda: self._faults(sim)),
            "counters": self._aged("counters", _COUNTER_SECONDS, lambda: self._counters(sim)),
        }
        if wants.timeline:
            self._timeline_until = time.monotonic() + 1
            facts["timeline"] = self._timeline
        return Sample(self.number, wants, state, facts)

    def _aged(self, name, seconds, make):
        now = time.monotonic()
        at, value = self._old.get(name, (None, None))
        if at is None or now - at > seconds:
            value = make()
            self._old[name] = now, value
        return value

    def _plot(self, sim, world, name, item):
        if name not in self._names:
            return None
        return plot_row(sim.array(name).host().reshape(self.nworld, -1), world, item)

    def _faults(self, sim):
        """How many worlds have faults, and those of the first of them: [[world, [names], step]]."""
        bits = sim.faults()
        worlds = [int(w) for w in np.flatnonzero(bits)]
        self._faulty = {w: self._faulty.get(w, self.steps) for w in worlds}
        names = self._fault_bits.items()
        return {"count": len(worlds), "first": [
            [w, [name for name, bit in names if bits[w] & bit], self._faulty[w]] for w in worlds[:_MOST_FAULTS]]}

    def _counters(self, sim):
        """[hits, misses, launches and bytes spared] a second of each mechanism that ever did something, over the last
        second.
        """
        now, all = time.monotonic(), sim.counters()
        rows = {name: (row["hits"], row["misses"], row["saved_launches"], row["saved_bytes"])
                for name, row in all.items() if name != "total" and row["hits"] + row["misses"]}
        self._counted.append((now, rows))
        while len(self._counted) > 2 and self._counted[1][0] < now - 1:
            self._counted.popleft()
        at, before = self._counted[0]
        none = (0, 0, 0, 0)
        return {name: [max(n - b, 0) / max(now - at, 1e-3) for n, b in zip(row, before.get(name, none))]
                for name, row in rows.items()}
