"""JAX sees launches of stet's kernels as one differentiable function, called through its foreign-function interface.

    tape = stet.Tape(sim)
    rollout = stet.jax.function(tape, run, inputs=[guess], outputs=[miss])
    gradient = jax.jit(jax.grad(lambda x: rollout(x).sum()))(x)

It can stand anywhere in code that is compiled (jit), differentiated backwards (grad, vjp), and mapped (vmap: a run
after the other; over worlds: `one_world`). XLA calls it with its own memory, which is copied into the inputs. It may
change the number and the order of calls, as of any function without effects. There are no second derivatives.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._core import Array, Tape
from ._errors import InvalidArgumentError, StateError, UnsupportedError
from ._function import Launches
from ._rollout import States, Steps
from ._xla import Memory, handler
from .sim import Sim

__all__ = ["Function", "Rollout", "function", "rollout"]


def __dir__() -> list[str]:
    return __all__


_CPU, _CUDA = 1, 2  # as DLPack numbers devices

_functions: weakref.WeakValueDictionary[int, Function] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _call(arguments, results, attributes, stream=None):
    function = _functions.get(attributes["function"])
    if function is None:
        raise StateError("the stet.jax.function of a compiled program is gone; keep it as long as the program")
    way = _WAYS[attributes["way"]]
    if stream is None:
        function._called(way, arguments, results)
    else:
        function._called_on_gpu(way, arguments, results, stream)


_WAYS = _FORWARD, _TOTALS, _SHARES = range(3)  # a run; its gradients; of plain arrays the share of each world
_handlers = handler(_call), handler(_call, gpu=True)
for _made, _platform in zip(_handlers, ("cpu", "CUDA")):
    jax.ffi.register_ffi_target("stet_call", jax.ffi.pycapsule(_made), platform=_platform)


def _write(array, values):
    if isinstance(values, Memory):
        array.write(array._beside(values, array.worlds))
    else:
        array.write(np.asarray(values, array.dtype))


def _on_host(like, values):
    """In NumPy; memory of the GPU that the array `like` is on is copied."""
    return like._beside(values, False).numpy() if isinstance(values, Memory) else values


def _same(arrays, others):
    """Equal bytes: NaN is equal to itself there."""
    return all(np.array_equal(x.view(np.uint8), y.view(np.uint8)) for x, y in zip(arrays, others))


class Function:
    """See function()."""

    def __init__(
        self, tape: Tape, run: Callable[[], object], inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        self._launches = Launches(tape, run, inputs, outputs)
        self._ran = None, []  # the number of the last run, and its inputs
        for array in (*inputs, *outputs):
            if array.__dlpack_device__()[0] not in (_CPU, _CUDA):
                raise UnsupportedError("stet.jax.function takes sims on a CPU (device='cpu') or an NVIDIA GPU "
                                       "(device='cuda'); elsewhere there is from_dlpack for arrays")
            if array.dtype == "float64" and not jax.config.jax_enable_x64:
                raise InvalidArgumentError(f"array {array.name} is float64, which JAX rounds to float32; call "
                                           "jax.config.update('jax_enable_x64', True) first")
        self._number = next(_numbers)
        _functions[self._number] = self
        self._all_worlds = self._make_differentiable(
            lambda *values: self._invoke(_FORWARD, *values), lambda *values: self._invoke(_TOTALS, *values)
        )
        self._rows = None

    def __call__(self, *values: Any) -> Any:
        """Arrays of the inputs' shapes; returns an array an output, or, if there is one output, that."""
        return self._apply(self._all_worlds, values, [array.shape for array in self._launches.inputs])

    def one_world(self, *values: Any) -> Any:
        """The same of one world, for jax.vmap: inputs and outputs that are arrays of worlds have no first axis here,
        and vmap makes one run for as many elements as the sim has worlds, then the next one. Plain inputs are the same
        for all elements (in_axes=None). Outputs are arrays of worlds. Without vmap all worlds are the same one.
        """
        for array in self._launches.outputs:
            if not array.worlds:
                raise InvalidArgumentError(f"one_world: output {array.name} is a plain array, no world's own")
        self._rows = self._rows or self._make_differentiable(self._make_mapped(_FORWARD), self._make_mapped(_SHARES))
        shapes = [array.shape[1:] if array.worlds else array.shape for array in self._launches.inputs]
        return self._apply(self._rows, values, shapes)

    def _apply(self, function, values, shapes):
        values, inputs = [jnp.asarray(x) for x in values], self._launches.inputs
        self._launches.check([x.shape for x in values], [x.dtype.name for x in values], shapes)
        outputs = function(*(x.astype(array.dtype) for x, array in zip(values, inputs)))
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def _make_differentiable(forward, back):
        function = jax.custom_vjp(lambda *values: tuple(forward(*values)))

        def run(*values):
            outputs = tuple(forward(*values))
            return outputs, (values, outputs)

        function.defvjp(run, lambda kept, gradients: tuple(back(*kept[0], *kept[1], *gradients)))
        return function

    # ---- calls of XLA ------------------------------------------------------------------------------------------------

    def _invoke(self, way, *values):
        """What XLA does at this place of a program: _called."""
        of, n = self._launches, len(self._launches.outputs) if way == _FORWARD else len(self._launches.inputs)
        arrays = of.outputs if way == _FORWARD else of.inputs
        worlds = next((a.shape[:1] for a in (*of.inputs, *of.outputs) if a.worlds), ())
        shapes = [(worlds if way == _SHARES and not a.worlds else ()) + tuple(a.shape) for a in arrays[:n]]
        types = [jax.ShapeDtypeStruct(shape, a.dtype) for shape, a in zip(shapes, arrays)]
        call = jax.ffi.ffi_call("stet_call", types, vmap_method="sequential")
        return call(*values, function=np.int64(self._number), way=np.int64(way))

    def _called(self, way, arguments, results):
        of, n, m = self._launches, len(self._launches.inputs), len(self._launches.outputs)
        if way == _FORWARD:
            self._forward(arguments)
            found = of.outputs
        else:
            values, outputs, gradients = arguments[:n], arguments[n : n + m], arguments[n + m :]
            self._backward(values, outputs, gradients)
            find = of.tape.total if way == _TOTALS else of.tape.gradient
            found = [find(array) for array in of.inputs]
        for result, array in zip(results, found):
            if isinstance(result, Memory):
                array._beside(result, array.worlds).write(array)
            else:
                result[...] = array.numpy()

    def _called_on_gpu(self, way, arguments, results, stream):
        """The memory is the GPU's. stet's work comes after what is in XLA's stream, and what XLA adds to it comes after
        stet's.
        """
        array = self._launches.inputs[0]
        kind, index = array.__dlpack_device__()
        if kind != _CUDA:
            raise InvalidArgumentError("the sim of this stet.jax.function is on a CPU, and JAX's arrays are on a GPU: "
                                       "put them on jax.devices('cpu')[0], or make the sim with device='cuda'")
        arguments, results = ([Memory(*x, index, kind) for x in some] for some in (arguments, results))
        array._wait_stream(stream)
        try:
            self._called(way, arguments, results)
        finally:  # also what a failed call listed is in XLA's memory
            array._signal_stream(stream)
            self._kept = arguments, results  # imports of them may end after this

    def _forward(self, values):
        self._ran = self._launches.forward(values, _write), self._copies(values)

    def _copies(self, values):
        return [np.array(_on_host(array, x)) for array, x in zip(self._launches.inputs, values)]

    def _backward(self, values, outputs, gradients):
        of, (number, last) = self._launches, self._ran
        copies = self._copies(values)

        def same():
            left = [_on_host(array, x) for array, x in zip(of.outputs, outputs)]
            return _same([array.numpy() for array in of.outputs], left)

        number = number if number is not None and _same(last, copies) and same() else None
        number = of.backward(number, values, _write, same, gradients)
        self._ran = number, copies

    # ---- worlds as elements of vmap ----------------------------------------------------------------------------------

    def _make_mapped(self, way):
        of = self._launches
        own = [array.worlds for array in of.inputs]  # an argument's first axis is the world's
        own += [True] * (2 * len(of.outputs)) if way != _FORWARD else []
        nworld = of.outputs[0].shape[0]

        def run_rows(values):
            """Rows [k, …] of arrays of worlds; rows of what comes out."""
            k = next((x.shape[0] for x, mine in zip(values, own) if mine), 1)
            parts = []
            for first in range(0, k, nworld):
                rows = [self._fill(x[first : first + nworld], nworld) if mine else x for x, mine in zip(values, own)]
                parts.append([x[: min(nworld, k - first)] for x in self._invoke(way, *rows)])
            return tuple(jnp.concatenate(x) for x in zip(*parts))

        @jax.custom_batching.custom_vmap
        def mapped(*values):
            return tuple(x[0] for x in run_rows([x[None] if mine else x for x, mine in zip(values, own)]))

        @mapped.def_vmap
        def rule(size, batched, *values):
            for array, has in zip(of.inputs, batched):
                if has and not array.worlds:
                    raise InvalidArgumentError(f"one_world: {array.name} is one array for all worlds; vmap it with "
                                               "in_axes=None, or make it an array of worlds")
            values = [x if has or not mine else jnp.broadcast_to(x, (size, *x.shape))
                      for x, has, mine in zip(values, batched, own)]
            outputs = run_rows(values)
            return outputs, (True,) * len(outputs)

        return mapped

    @staticmethod
    def _fill(rows, n):
        """n rows: the last one again and again."""
        missing = n - rows.shape[0]
        return jnp.concatenate([rows, jnp.repeat(rows[-1:], missing, 0)]) if missing else rows


def function(tape: Tape, run: Callable[[], object], inputs: Sequence[Array], outputs: Sequence[Array]) -> Function:
    """A function of JAX's arrays: it writes them into `inputs`, calls run() on the tape, and returns what is in
    `outputs` then, of the arrays' element type (float64 for a sim with isa="f64", which needs jax_enable_x64).

    run launches kernels and copies arrays, and may begin steps (tape.step()). Inputs and outputs are arrays of reals of
    a sim on a CPU or an NVIDIA GPU, where JAX's arrays are, too; an array may be both. Gradients go back through any
    call: the tape has the last one, and for another run() is called again with its inputs. So what run() reads besides
    them has to stay as it is; where outputs show that it did not, that is an error.
    """
    return Function(tape, run, inputs, outputs)


class Rollout:
    """See rollout()."""

    def __init__(self, sim: Sim, steps: int, substeps: int, every: int) -> None:
        self._steps = Steps(sim, steps, substeps, every)
        self._function = Function(self._steps.tape, self._steps.run, self._steps.inputs, self._steps.outputs)

    def __call__(self, qpos: Any, qvel: Any, ctrl: Any = None, act: Any = None) -> States:
        """qpos, qvel, act [world, …]: the state that it begins with. ctrl [step, world, control]. Returns the states
        behind the steps, States(qpos, qvel, act), each [step, world, …].
        """
        given = [x if x is None else jnp.asarray(x) for x in (qpos, qvel, ctrl, act)]
        values = self._steps.arguments(*given, lambda x: x.swapaxes(0, 1).reshape(x.shape[1], -1))
        paths = self._function(*values)
        return self._steps.states(paths, lambda x, n: x.reshape(x.shape[0], -1, n).swapaxes(0, 1))


def rollout(sim: Sim, steps: int, substeps: int = 1, every: int = 0) -> Rollout:
    """`steps` times `substeps` time steps of a sim with native physics, as a function of JAX's arrays whose gradients
    are those of the physics (doc/gradients.md).

        rollout = stet.jax.rollout(sim, steps=100)
        gradient = jax.jit(jax.grad(lambda ctrl: loss(rollout(qpos, qvel, ctrl))))(ctrl)   # [100, world, control]

    every: steps between two checkpoints of its tape; 0: 1, while 1 GiB suffices for them. What the steps read besides
    (applied forces, mocap poses, parameters) stays as it is in the sim; the sim's own state becomes the last one.
    """
    return Rollout(sim, steps, substeps, every)
