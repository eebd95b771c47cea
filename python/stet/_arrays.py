"""What functions over the worlds' state see and return: arrays of NumPy, PyTorch or JAX."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from typing import Any

import numpy as np

from ._errors import InvalidArgumentError

_log = logging.getLogger("stet")


class Numpy:
    module: Any = np
    type: Any = np.ndarray
    bool: Any = np.bool_
    device: Any = "cpu"

    def __init__(self, sim):
        self._on_host = sim.device.type == "cpu"

    def see(self, array):
        """What the array holds, to be read until the sim writes it."""
        return array.host()

    def see_picture(self, sim, name, frame):
        return sim.read(name, frame=frame)

    def to_numpy(self, x):
        return np.asarray(x)

    def from_numpy(self, x):
        return x

    def like(self, values, x):
        """Values of NumPy as an array of x's type."""
        return values.astype(x.dtype)

    def given(self, x):
        """An array of the caller's."""
        return np.asarray(x)

    def act(self, x):
        """Actions of the caller's."""
        return self.given(x)

    def own(self, x):
        """A copy that is complete: the sim may go on."""
        return np.array(x)

    def put(self, old, new):
        """What lasts gets new content: in place, if arrays can be changed."""
        old[...] = new
        return old

    def where(self, mask, x, other):
        return np.where(mask, x, other)

    def where_rows(self, mask, x, other):
        """Rows of x where the mask is set, of the other elsewhere."""
        return self.where(self._over_rows(mask, other), x, other)

    @staticmethod
    def _over_rows(mask, x):
        return mask.reshape((-1,) + (1,) * (x.ndim - 1))


class _OfDevice(Numpy):
    """Arrays of a library that takes what is on a GPU by DLPack, with its _from_dlpack. For episodes on the device
    (gym/_device.py) it also has:

    write(array, x)   all of an array of stet's; the host reads nothing
    keep(x)           x as it is now, also after `put` and changes in place
    version(x)        how often x was changed in place; None: the library does not count
    cast(x, other)    x with the element type of the other
    zero(x, mask)     x with 0 in the rows of the mask
    unit(words)       int32 as numbers in [0, 1)
    compile(f)        a function of arrays that has no effects, perhaps compiled
    no_grad()         no gradients are recorded
    changes           whether arrays can be changed in place
    """

    changes = True

    def no_grad(self):
        return contextlib.nullcontext()

    def compile(self, f):
        return f

    def see(self, array):
        if self._on_host:  # worlds lie in blocks, which no tensor shows
            return self.from_numpy(array.numpy())
        return self._from_dlpack(array.export())

    def see_picture(self, sim, name, frame):
        if self._on_host:
            return self.from_numpy(sim.read(name, frame=frame))
        return self._from_dlpack(sim.tensor(name, frame=frame))


@functools.cache
def hint_threads(theirs: int, ours: int, processors: int) -> None:
    """Says once that PyTorch's threads and stet's may be in each other's way."""
    if theirs > 1 and ours > 1 and theirs + ours > processors:
        _log.warning("PyTorch computes with %d threads, and the sim with %d, on %d processors; with networks of a few "
                     "layers it is often faster with one. Try torch.set_num_threads(1)", theirs, ours, processors)


class Torch(_OfDevice):
    def __init__(self, sim):
        import torch

        super().__init__(sim)
        self.module, self._from_dlpack = torch, torch.from_dlpack
        self.type, self.bool = torch.Tensor, torch.bool
        self.device = torch.device("cpu") if self._on_host else self.see(sim.qpos).device
        if self._on_host:
            hint_threads(torch.get_num_threads(), sim.device.threads, os.cpu_count() or 1)
        self._to = {}  # tensors that are written, by their arrays' names

    def to_numpy(self, x):
        return x.cpu().numpy()

    def from_numpy(self, x):
        return self.module.from_numpy(x).to(self.device)

    def like(self, values, x):
        return self.module.from_numpy(values).to(x)

    def given(self, x):
        return x

    def act(self, x):
        """Actions of the caller's."""
        return self.module.as_tensor(x, device=self.device).detach()

    def write(self, array, x):
        """Writes all of an array in the order of PyTorch's current stream; the host waits for nothing."""
        if self._on_host:
            array.write(x.numpy())
            return
        to = self._to.get(array.name)
        if to is None:
            to = self._to[array.name] = self._from_dlpack(array.export(writable=True, announced=True))
        to.copy_(x)
        array.mark_written()

    def own(self, x):
        return x.clone()

    keep = own

    def put(self, old, new):
        return old.copy_(new)

    def version(self, x):
        return None if x.is_inference() else x._version

    def cast(self, x, other):
        return x.to(other.dtype)

    def where(self, mask, x, other):
        return self.module.where(mask, x, other)

    def zero(self, x, mask):
        return x.masked_fill(self._over_rows(mask, x), 0)

    def unit(self, words):
        words = words.to(self.module.float64)
        return self.module.where(words < 0, words + 2.0**32, words) * 2.0**-32

    def no_grad(self):
        return self.module.no_grad()


class Jax(_OfDevice):
    """JAX computes while its caller goes on, from memory that the sim writes next: so what is kept is waited for."""

    def __init__(self, sim):
        import jax

        super().__init__(sim)
        if sim.qpos.dtype == "float64" and not jax.config.jax_enable_x64:
            raise InvalidArgumentError("arrays='jax': the sim is float64, which JAX rounds to float32; call "
                                       "jax.config.update('jax_enable_x64', True) first")
        self._jax, self.module, self._from_dlpack = jax, jax.numpy, jax.dlpack.from_dlpack
        self.type = jax.Array
        self.device = jax.local_devices(backend="cpu")[0] if self._on_host else self.see(sim.qpos).device

    def from_numpy(self, x):
        return self._jax.device_put(np.array(x), self.device)  # which may take the copy's memory

    def like(self, values, x):
        return self.from_numpy(values.astype(x.dtype))

    def given(self, x):
        return x if isinstance(x, self._jax.Array) else self.from_numpy(x)

    def own(self, x):
        return self._jax.block_until_ready(self.module.array(x, copy=True))

    def where(self, mask, x, other):
        return self._jax.block_until_ready(self.module.where(mask, x, other))

    changes = False

    def write(self, array, x):
        x = x.astype(array.dtype)
        array.write(np.asarray(x) if self._on_host else x)

    def put(self, old, new):
        return self._jax.block_until_ready(new)

    def keep(self, x):
        return x

    def version(self, x):
        return 0

    def cast(self, x, other):
        return x.astype(other.dtype)

    def zero(self, x, mask):
        return self.module.where(self._over_rows(mask, x), self.module.zeros_like(x), x)

    def unit(self, words):
        """With 32 bits if JAX has doubles, else with the 24 that a float has."""
        if not self._jax.config.jax_enable_x64:
            return ((words >> 8) & 0xFFFFFF).astype(np.float32) * np.float32(2.0**-24)
        words = words.astype(np.float64)
        return self.module.where(words < 0, words + 2.0**32, words) * 2.0**-32

    def compile(self, f):
        return self._jax.jit(f)


def tensor_type(x: Any) -> str | None:
    """"torch" or "jax" of their arrays, without importing either."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch" and hasattr(x, "detach"):
        return "torch"
    return "jax" if library in ("jax", "jaxlib") and hasattr(x, "devices") and hasattr(x, "dtype") else None


_KINDS = {"numpy": Numpy, "torch": Torch, "jax": Jax}


def find_arrays(arrays, sim, known=tuple(_KINDS)):
    """The functions for arrays="numpy", "torch" or "jax"."""
    if arrays not in known:
        raise ValueError(f"arrays is {arrays!r}; use {', '.join(map(repr, known[:-1]))} or {known[-1]!r}")
    return _KINDS[arrays](sim)
