"""PyTorch sees launches of stet's kernels as one differentiable function.

    tape = stet.Tape(sim)
    rollout = stet.torch.function(tape, run, inputs=[guess], outputs=[miss])
    loss = rollout(tensor).sum()      # writes the tensor into `guess`, runs `run` on the tape, returns what is in
                                      `miss`
    loss.backward()                   # is tape.backward()

Tensors may lie anywhere. On the GPU of the sim nothing comes to the host: tensors are copied on the device, behind
PyTorch's work in its current stream, and PyTorch's later work waits for stet's. torch.func's grad, vjp, jacrev and
vmap take such functions; vmap makes one run after the other. There are no second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._core import Array, Tape
from ._errors import ArgumentTypeError, UnsupportedError
from ._function import Launches
from ._rollout import States, Steps
from .sim import Sim

__all__ = ["Function", "Rollout", "function", "rollout"]


def __dir__() -> list[str]:
    return __all__


_CPU = 1  # as DLPack numbers devices


def _tensor(array: Array, device: torch.device) -> torch.Tensor:
    """What is in an array now: a tensor of its own."""
    if array.__dlpack_device__()[0] == _CPU:
        return torch.from_numpy(array.numpy()).to(device)
    return torch.from_dlpack(array.export()).clone().to(device)


def _write(array: Array, tensor: torch.Tensor) -> None:
    tensor = tensor.detach().to(torch.float64 if array.dtype == "float64" else torch.float32)
    on_host = array.__dlpack_device__()[0] == _CPU or not tensor.is_cuda
    array.write(tensor.cpu().numpy() if on_host else tensor.contiguous())


def _one_by_one(function, info, in_dims, *arguments):
    """The rule of vmap: a run for each element of the batch."""
    rows = [
        function.apply(*(x if dim is None else x.select(dim, k) for x, dim in zip(arguments, in_dims)))
        for k in range(info.batch_size)
    ]
    outputs = tuple(None if parts[0] is None else torch.stack(parts) for parts in zip(*rows))
    return outputs, tuple(None if x is None else 0 for x in outputs)


class _Run(torch.autograd.Function):
    """(launches, inputs …) → (outputs …, number of the run)."""

    @staticmethod
    def forward(launches, *tensors):
        number = launches.forward(tensors, _write)
        return *(_tensor(array, tensors[0].device) for array in launches.outputs), torch.tensor(number)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.launches, *tensors = inputs
        ctx.mark_non_differentiable(output[-1])
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx, *gradients):
        found = _Back.apply(ctx.launches, *ctx.saved_tensors, *gradients[:-1])
        return None, *(x if need else None for x, need in zip(found, ctx.needs_input_grad[1:]))

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return _one_by_one(_Run, info, in_dims, *arguments)


class _Back(torch.autograd.Function):
    """(launches, inputs …, outputs …, number of the run, gradients of the outputs …) → gradients of the inputs."""

    @staticmethod
    def forward(launches, *tensors):
        n, m = len(launches.inputs), len(launches.outputs)
        values, outputs, number, gradients = tensors[:n], tensors[n : n + m], tensors[n + m], tensors[n + m + 1 :]

        def same():
            return all(torch.equal(_bits(_tensor(array, x.device)), _bits(x))
                       for array, x in zip(launches.outputs, outputs))

        launches.backward(int(number), values, _write, same, gradients)
        return tuple(_tensor(launches.tape.total(array), x.device).to(x.dtype)
                     for array, x in zip(launches.inputs, values))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        raise UnsupportedError("stet.torch.function has no second derivatives")

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return _one_by_one(_Back, info, in_dims, *arguments)


def _bits(x):
    """NaN is equal to itself there."""
    return x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.int64)


class Function:
    """See function()."""

    def __init__(
        self, tape: Tape, run: Callable[[], object], inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        self._launches = Launches(tape, run, inputs, outputs)

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """Tensors of the inputs' shapes; returns a tensor an output, or, if there is one output, that."""
        for x in tensors:
            if not isinstance(x, torch.Tensor):
                raise ArgumentTypeError(f"an input is a tensor of PyTorch, not a {type(x).__name__!r}")
        self._launches.check([x.shape for x in tensors], [str(x.dtype).removeprefix("torch.") for x in tensors])
        outputs = _Run.apply(self._launches, *tensors)[:-1]
        return outputs[0] if len(outputs) == 1 else outputs


def function(tape: Tape, run: Callable[[], object], inputs: Sequence[Array], outputs: Sequence[Array]) -> Function:
    """A function of tensors: it writes them into `inputs`, calls run() on the tape, and returns what is in `outputs`
    then, as tensors of their own, of the arrays' element type (float64 for a sim with isa="f64", which float64 tensors
    need).

    run launches kernels and copies arrays, and may begin steps (tape.step()). Inputs and outputs are arrays of reals;
    an array may be both. Gradients go back through any call, as often as PyTorch asks for them. The tape has the last
    call; for an earlier one run() is called again, with the inputs of then. So what it reads besides them has to stay
    as it is; where outputs show that it did not, that is an error.
    """
    return Function(tape, run, inputs, outputs)


class Rollout:
    """See rollout()."""

    def __init__(self, sim: Sim, steps: int, substeps: int, every: int) -> None:
        self._steps = Steps(sim, steps, substeps, every)
        self._function = Function(self._steps.tape, self._steps.run, self._steps.inputs, self._steps.outputs)

    def __call__(
        self,
        qpos: torch.Tensor,
        qvel: torch.Tensor,
        ctrl: torch.Tensor | None = None,
        act: torch.Tensor | None = None,
    ) -> States:
        """qpos, qvel, act [world, …]: the state that it begins with. ctrl [step, world, control]. Returns the states
        behind the steps, States(qpos, qvel, act), each [step, world, …].
        """
        values = self._steps.arguments(qpos, qvel, ctrl, act, lambda x: x.transpose(0, 1).reshape(x.shape[1], -1))
        paths = self._function(*values)
        return self._steps.states(paths, lambda x, n: x.reshape(x.shape[0], -1, n).transpose(0, 1))


def rollout(sim: Sim, steps: int, substeps: int = 1, every: int = 0) -> Rollout:
    """`steps` times `substeps` time steps of a sim with native physics, as a function of tensors whose gradients are
    those of the physics (doc/gradients.md).

        rollout = stet.torch.rollout(sim, steps=100)
        states = rollout(qpos, qvel, ctrl)              # ctrl [100, world, control]
        (states.qpos[-1] - goal).square().sum().backward()

    every: steps between two checkpoints of its tape; 0: 1, while 1 GiB suffices for them. What the steps read besides
    (applied forces, mocap poses, parameters) stays as it is in the sim; the sim's own state becomes the last one.
    """
    return Rollout(sim, steps, substeps, every)
