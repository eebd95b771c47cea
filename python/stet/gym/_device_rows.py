"""Domain randomisation of episodes on the device: numbers of states, forces, observations, actions and delays are drawn
there. Parameters of the physics are drawn on the host, which then reads which worlds begin: constants that MuJoCo
derives from parameters are computed there.

Invariants:
    R3  the numbers are those of Randomizer, to the bit but for normal= and loguniform=, whose functions another library
        computes
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .randomize import _FORCES, _STATES, Randomizer, _refuse


class DeviceRandomizer(Randomizer):
    """The table at work; arrays of rows that are drawn on the device are the library's."""

    def __init__(self, env: Any, rows: Any) -> None:
        self._library, self._module, self._counted = env._library, env._library.module, np.zeros(env.num_envs, np.int64)
        super().__init__(env, rows)
        pushed = [field for field in _FORCES if field in self._own]
        self._unpushed = {field: self._library.from_numpy(self._values.pop(field)) for field in pushed}
        for field in pushed:
            del self._own[field]
        self._shown: dict[str, Any] = {}  # of rows that are drawn on the host

    def _make_rows(self, wanted):
        super()._make_rows(wanted)
        for row in self.rows:
            if not row.is_parameter and not isinstance(row.drawn, self._library.type):
                row.drawn, row.active = map(self._library.from_numpy, (row.drawn, row.active))

    @property
    def _drawn_here(self):
        return [row for row in self.rows if row.is_parameter]

    @property
    def _steps(self):
        return self._counted

    @property
    def _drawn_there(self):
        return [row for row in self.rows if not row.is_parameter]

    def _later(self):
        """Rows for which the host looks at each step."""
        return [row for row in self._drawn_here if row.every != "world"]

    def check_graph(self) -> None:
        """A step that is one graph has no host that looks."""
        for row in self._later():
            _refuse(f"{row.who}: graph=True leaves the host nothing to draw in a step; use every='world' for "
                    "parameters of the physics, or graph=False")

    def changes_states(self) -> bool:
        """Whether the initial states differ from those that `begin` has left."""
        return bool(self._rows_of(*_STATES))

    def written(self) -> list[Any]:
        """Arrays of the sim that a step writes."""
        return [self._sim.array(field) for field in self._unpushed]

    # ---- when it is drawn --------------------------------------------------------------------------------------------

    def begin(self, begins: Any, mask: Any = None) -> None:
        """The worlds of begins, bool on the device, begin an episode; mask: the same on the host, if that knows it."""
        if mask is None and self._later():
            mask = self._library.to_numpy(begins)
        if mask is not None and self._drawn_here:
            self._begin_here(np.flatnonzero(mask))
        first = self._env._device.number == 0
        for row in self._drawn_there:
            self._draw(row, begins & first if row.every == "world" else begins, 0)
        self._push()

    def _begin_here(self, worlds):
        episode = self._env._episode
        new = worlds if self._later() else worlds[episode[worlds] == 0]
        if len(new):  # what is set anew drops a graph
            super().begin(new)
            self._shown.clear()
        episode[worlds] += 1
        self._counted[worlds] = 0

    def before_step(self) -> None:
        if self._later():
            super().before_step()
            self._counted += 1
            self._shown.clear()
        steps, pushed = self._env.steps, False
        for row in self._drawn_there:
            if not row.interval or row.fields[0] == "observation":
                continue
            phase = steps % row.interval
            due = (phase == 0) & (steps > 0)
            if row.lasting:
                row.active = self._library.put(row.active, row.active & (phase != row.lasting))
            self._draw(row, due, steps // row.interval)
            if row.fields[0] in _STATES:
                self._kick_where(row, due)
            pushed = pushed or row.fields[0] in _FORCES
        if pushed:
            self._push()

    def after_step(self) -> None:
        self._stepped = True
        for row, _ in self._rows_of("observation"):
            if row.interval:
                steps = self._env.steps
                self._draw(row, steps % row.interval == 0, steps // row.interval)

    def _draw(self, row, where, occasion):
        """New numbers of a row, in some worlds."""
        library = self._library
        drawn = row.distribution.draw(self._env._device.draws.branch(row.number, occasion), row.groups)
        row.drawn = library.put(row.drawn, library.where_rows(where, drawn, row.drawn))
        row.active = library.put(row.active, row.active | where)

    # ---- what it does ------------------------------------------------------------------------------------------------

    def _change(self, row, part, values, worlds):
        return row.change(part, values, worlds, self._module, self._env._device.constant)

    def _push(self):
        for field, values in self._unpushed.items():
            for row, part in self._rows_of(field):
                values = self._change(row, part, values, slice(None))
            self._library.write(self._sim.array(field), values)

    def _kick_where(self, row, due):
        library, array = self._library, self._sim.array(row.fields[0])
        now = library.see(array)
        kicked = self._kicked(row, library.cast(now, row.drawn), slice(None))
        library.write(array, library.where_rows(due, library.cast(kicked, now), now))

    def _doubles(self, x):
        return self._library.cast(x, self._env._device.doubles)

    def _like(self, values, x):
        return self._library.cast(values, x)

    def seen(self) -> dict[str, Any]:
        for row in self._drawn_here:
            if row.name not in self._shown:
                self._shown[row.name] = self._library.from_numpy(row.drawn.copy())
        return {row.name: self._shown[row.name] if row.is_parameter else row.drawn for row in self.rows}
