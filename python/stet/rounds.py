"""Rounds: the same sim run again and again, set up once. The library has them in stet/round.h; here they read as
Python.

    with sim.round(qpos=start, gravity=(0, 0, -5)) as r:
        sim.step(10)
        out = r.end("qpos", "xpos")       # {"qpos": …, "xpos": …}, NumPy's
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import Array
from ._errors import ArgumentTypeError, InvalidArgumentError, StateError
from ._libraries import progress


def _pairs(inputs, named):
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ArgumentTypeError(f"a round's inputs are a dict of names or arrays, not a {type(inputs).__name__!r}")
    return [*(inputs or {}).items(), *named.items()]


class Round:
    """One round of a sim, begun; see Sim.round. At the end of its `with` it ends, if end() was not called."""

    def __init__(self, sim: Any, number: int) -> None:
        self._sim, self._number = sim, number

    @property
    def number(self) -> int:
        """1, 2, 3 …: which round of the sim it is."""
        return self._number

    @property
    def open(self) -> bool:
        """Begun, and neither ended nor followed by another."""
        if self._sim.closed:
            return False
        info = self._sim.round_info()
        return info["open"] and info["round"] == self._number

    def end(
        self, *outputs: str | Array | tuple[Array, Array], allow_faulty: bool = False
    ) -> dict[str | Array, NDArray[Any]]:
        """Ends the round: its outputs as NumPy's arrays, by what they were asked for. An output is a field's name; an
        array of the caller's; or (array, header) where only the device knows which rows are meant: header is a plain
        int64 array [2], first row and number of rows. StateError: there is no such round any more; or the state of all
        worlds became NaN or huge, unless allow_faulty.
        """
        if not self.open:
            raise self._over()
        values = self._sim._round_end(list(outputs), bool(allow_faulty))
        return {key[0] if isinstance(key, tuple) else key: value for key, value in zip(outputs, values)}

    def _over(self):
        return StateError(f"round {self._number} is over; begin another with sim.round()")

    def __enter__(self) -> Round:
        return self

    def __exit__(self, *_: object) -> None:
        if self.open:  # nothing is taken from it, so it matters to nobody how it went
            self._sim._round_end([], True)

    def __repr__(self) -> str:
        return f"<stet.Round {self._number}{', open' if self.open else ''}>"


class Rounds:
    """What a Sim can do with rounds."""

    def round(self, inputs: Mapping[Any, ArrayLike] | None = None, /, **named: ArrayLike) -> Round:
        """Begins a round: the sim is put back to how it was made, and gets these inputs. It has the bits then that a
        new sim would have, whatever rounds came before; the first sets up, later ones copy in what differs.

        named    fields of the state ([world, item]; broadcast as in an assignment), parameters of the physics
                 (gravity=(x, y, z), friction=0.5, body_mass=…: see set_parameter; for all worlds alike, or
                 [world, item]), controls=[frame, nu] or [frame, world, nu] (a step takes the next frame), seed
        inputs   the same as a dict, whose keys may also be arrays of the caller's (zeros(), from_dlpack())

        An input of which nothing is said is as the sim was made with; so is an array of the caller's, but for its
        contract().
        """
        self._round_begin(_pairs(inputs, named))
        return Round(self, self.round_info()["round"])

    def stage(self, inputs: Mapping[Any, ArrayLike] | None = None, /, **named: ArrayLike) -> None:
        """Looks at the inputs of the next round while the present one runs; on a GPU those that differ cross meanwhile,
        in a stream of their own.
        """
        self._round_stage(_pairs(inputs, named))

    def contract(self, array: Array, contract: str) -> None:
        """What becomes of an array of the caller's when a round begins: "keep" (as it is), "zero", or "epoch" (scratch:
        invalid).
        """
        self._round_contract(array, contract)

    def round_info(self) -> dict[str, Any]:
        """The latest round: round (its number), open, why (of setting all up; None: nothing but inputs), inputs,
        copied_in, staged (of those that were copied in, what `stage` had brought), outputs, copied_out, bytes_in,
        bytes_out, setup and seconds, faulty (worlds whose state became NaN or huge).
        """
        return self._round_info()

    def sweep(
        self,
        run: int | Callable[[Rounds], object],
        outputs: Iterable[str | Array | tuple[Array, Array]] = ("qpos",),
        *,
        inputs: Mapping[Any, ArrayLike] | None = None,
        **axes: Iterable[ArrayLike],
    ) -> dict[Any, NDArray[Any]]:
        """A round for each combination of the axes' values, the last axis fastest, as `stet run --sweep`.

        run       how many steps of one time step each, or what is called with the sim for each round
        outputs   as of Round.end
        inputs    of every round
        axes      name=[value, …]: values as of round(); of gravity a number alone is along z

        Returns, each with the rounds as its first axis: the outputs; "given_<name>" of each axis; "faulty",
        "setup_seconds", "seconds". The inputs of the next round are staged while one runs. `np.savez(path, **result)`
        is the file that the command writes, where outputs are named by texts. On a terminal a bar shows how far it is,
        where tqdm is installed.
        """
        return _sweep(self, run, list(outputs), inputs, axes)


def _axis(name, values):
    try:
        values = list(values)
    except TypeError:
        raise ArgumentTypeError(f"sweep: {name} is a list of values, not a {type(values).__name__!r}") from None
    if not values:
        raise InvalidArgumentError(f"sweep: {name} has no values; give one or more")
    if name == "gravity":
        values = [(0.0, 0.0, v) if np.ndim(v) == 0 else v for v in values]
    return values


def _run(sim, run):
    if callable(run):
        run(sim)
        return
    for _ in range(run):
        sim.step()


def _sweep(sim, run, outputs, inputs, axes):
    if not callable(run) and not (hasattr(run, "__index__") and run.__index__() >= 0):
        raise ArgumentTypeError(f"sweep: run is a number of steps or a function of the sim, not {run!r}")
    names = list(axes)
    points = list(itertools.product(*(_axis(name, axes[name]) for name in names)))
    given = [dict(zip(names, point)) for point in points]
    for values in given:
        sim._round_check(_pairs(inputs, values))  # all of it, before anything is run
    rows, infos = [], []
    for k, values in enumerate(progress(given, "sweep")):
        with sim.round(inputs, **values) as r:
            if k + 1 < len(given):
                sim.stage(inputs, **given[k + 1])
            _run(sim, run)
            rows.append(r.end(*outputs, allow_faulty=True))
        infos.append(sim.round_info())
    result = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    for name in names:
        result[f"given_{name}"] = np.stack([np.asarray(values[name]) for values in given])
    result["faulty"] = np.array([info["faulty"] for info in infos], np.int64)
    result["setup_seconds"] = np.array([info["setup"] for info in infos])
    result["seconds"] = np.array([info["seconds"] for info in infos])
    return result
