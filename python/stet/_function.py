"""Launches on a tape as a differentiable function of some arrays: what stet.torch and stet.jax have in common.

The tape holds one run, the latest. Each run has a number. A pass back through an earlier one runs it again, from the
inputs that the caller kept, and compares what it leaves with what it left then.
"""

from __future__ import annotations

import itertools
import weakref

from ._core import Array, Tape
from ._errors import ArgumentTypeError, InvalidArgumentError, StateError

_numbers = itertools.count(1)
_latest = weakref.WeakKeyDictionary()  # the number of the run on each tape, which functions may share


class Launches:
    """`run`, recorded by `tape`, as a function of `inputs`, which gives `outputs`."""

    def __init__(self, tape, run, inputs, outputs):
        if not isinstance(tape, Tape):
            raise ArgumentTypeError(f"what records the run is a stet.Tape, not a {type(tape).__name__!r}")
        if not callable(run):
            raise ArgumentTypeError(f"run is a function that launches kernels, not a {type(run).__name__!r}")
        self.tape, self.run, self.inputs, self.outputs = tape, run, list(inputs), list(outputs)
        for array in (*self.inputs, *self.outputs):
            if not isinstance(array, Array):
                raise ArgumentTypeError(f"inputs and outputs are arrays of the sim, not {type(array).__name__!r}")
            if array.dtype not in ("float32", "float64"):
                raise InvalidArgumentError(
                    f"array {array.name} is {array.dtype}; inputs and outputs are arrays of reals"
                )

    def check(self, shapes, dtypes, wanted=None):
        """What the caller gives for the inputs: shapes (wanted: those of the arrays), and names of element types."""
        if len(shapes) != len(self.inputs):
            raise InvalidArgumentError(f"{len(shapes)} tensors for {len(self.inputs)} inputs")
        wanted = wanted or [array.shape for array in self.inputs]
        for array, shape, dtype, want in zip(self.inputs, shapes, dtypes, wanted):
            if tuple(shape) != tuple(want):
                raise InvalidArgumentError(
                    f"array {array.name} is {list(want)}, and its tensor {list(shape)}; reshape it"
                )
            if dtype == "float64" and array.dtype == "float32":
                raise InvalidArgumentError(
                    f"array {array.name} is float32, and its tensor float64; make the sim with isa='f64', "
                    "or convert the tensor"
                )

    def forward(self, values, write):
        """Runs; write(array, value) fills an input. Returns the number of the run."""
        number = _latest[self.tape] = next(_numbers)  # also where this run fails: the one before is gone
        for array, value in zip(self.inputs, values):
            write(array, value)
        with self.tape:
            self.run()
        return number

    def backward(self, number, values, write, same, gradients):
        """From gradients with respect to what run `number` left to those with respect to its inputs, which
        gradient(array) gives then. values: of its inputs; same(): are the outputs now what they were then?
        Returns the number of the run that the tape has now.
        """
        if number != _latest.get(self.tape):
            number = self.forward(values, write)
            if not same():
                del _latest[self.tape]
                raise StateError(
                    "run again for its gradient, the function gives other outputs: it reads arrays that are not among "
                    "its inputs and were changed since; make them inputs, or go backwards before they change"
                )
        self.tape.zero()
        for array, gradient in zip(self.outputs, gradients):
            write(self.tape.gradient(array), gradient)
        self.tape.backward()
        return number
