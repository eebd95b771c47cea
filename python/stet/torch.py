"""PyTorch sees launches of stet's kernels as one differentiable function.

    tape = stet.Tape(sim)
    rollout = stet.torch.function(tape, run, inputs=[guess], outputs=[miss])
    loss = rollout(tensor).sum()      # writes the tensor into `guess`, runs `run` on the tape, returns what is in
                                      `miss`
    loss.backward()                   # is tape.backward()

Tensors may lie anywhere. On the GPU of the sim nothing comes to the host: tensors are copied on the device, behind
PyTorch's work in its current stream, and PyTorch's later work waits for stet's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ._core import Array, Tape
from ._errors import ArgumentTypeError, InvalidArgumentError, StateError


_CPU = 1  # as DLPack numbers devices


def _tensor(array: Array, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """What is in an array now: a tensor of its own."""
    if array.__dlpack_device__()[0] == _CPU:
        return torch.from_numpy(array.numpy()).to(device, dtype)
    return torch.from_dlpack(array.export()).clone().to(device, dtype)


def _write(array: Array, tensor: torch.Tensor) -> None:
    tensor = tensor.detach().to(torch.float64 if array.dtype == "float64" else torch.float32)
    if tuple(tensor.shape) != array.shape:
        raise InvalidArgumentError(
            f"array {array.name} is {list(array.shape)}, and its tensor {list(tensor.shape)}; reshape it"
        )
    on_host = array.__dlpack_device__()[0] == _CPU or not tensor.is_cuda
    array.write(tensor.cpu().numpy() if on_host else tensor.contiguous())


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rollout, *tensors):
        ctx.rollout, ctx.tensors = rollout, [(tensor.dtype, tensor.device) for tensor in tensors]
        ctx.set_materialize_grads(True)
        outputs = rollout._forward(tensors)
        ctx.serial = rollout._serial
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *gradients):
        return None, *ctx.rollout._backward(ctx.serial, gradients, ctx.tensors, ctx.needs_input_grad[1:])


class Function:
    """See function()."""

    def __init__(self, tape, run, inputs, outputs):
        for array in (*inputs, *outputs):
            if not isinstance(array, Array):
                raise ArgumentTypeError(f"inputs and outputs are arrays of the sim, not {type(array).__name__!r}")
        self._tape, self._run, self._inputs, self._outputs = tape, run, list(inputs), list(outputs)
        self._serial = 0

    def __call__(self, *tensors: torch.Tensor):
        """Tensors of the inputs' shapes; returns a tensor an output, or, if there is one output, that."""
        if len(tensors) != len(self._inputs):
            raise InvalidArgumentError(f"{len(tensors)} tensors for {len(self._inputs)} inputs")
        outputs = _Run.apply(self, *tensors)
        return outputs[0] if len(outputs) == 1 else outputs

    def _forward(self, tensors):
        for array, tensor in zip(self._inputs, tensors):
            _write(array, tensor)
        with self._tape:
            self._run()
        self._serial += 1
        return tuple(_tensor(array, tensors[0].dtype, tensors[0].device) for array in self._outputs)

    def _backward(self, serial, gradients, tensors, needed):
        if serial != self._serial:
            raise StateError(
                "the function was called again since: its tape holds the later run; "
                "go backwards before the next call, or give each call a tape"
            )
        self._tape.zero()
        for array, gradient in zip(self._outputs, gradients):
            _write(self._tape.gradient(array), gradient)
        self._tape.backward()
        for array, (dtype, device), need in zip(self._inputs, tensors, needed):
            yield _tensor(self._tape.total(array), dtype, device) if need else None


def function(tape: Tape, run: Callable[[], object], inputs: Sequence[Array], outputs: Sequence[Array]) -> Function:
    """A function of tensors: it writes them into `inputs`, calls run() on the tape, and returns what is in `outputs`
    then, as tensors of their own.

    run launches kernels and copies arrays, and may begin steps (tape.step()). Inputs and outputs are arrays of reals;
    an array may be both. Gradients go back through the last call only, once or several times (retain_graph).
    """
    return Function(tape, run, inputs, outputs)
