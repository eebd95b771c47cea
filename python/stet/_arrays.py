"""What functions over the worlds' state see and return: arrays of NumPy, PyTorch or JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InvalidArgumentError


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

    def where(self, mask, x, other):
        return np.where(mask, x, other)


class _OfDevice(Numpy):
    """Arrays of a library that takes what is on a GPU by DLPack, with its _from_dlpack."""

    def see(self, array):
        if self._on_host:  # worlds lie in blocks, which no tensor shows
            return self.from_numpy(array.numpy())
        return self._from_dlpack(array.export())

    def see_picture(self, sim, name, frame):
        if self._on_host:
            return self.from_numpy(sim.read(name, frame=frame))
        return self._from_dlpack(sim.tensor(name, frame=frame))


class Torch(_OfDevice):
    def __init__(self, sim):
        import torch

        super().__init__(sim)
        self.module, self._from_dlpack = torch, torch.from_dlpack
        self.type, self.bool = torch.Tensor, torch.bool
        self.device = torch.device("cpu") if self._on_host else self.see(sim.qpos).device
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
        return self.module.as_tensor(x, device=self.device)

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

    def where(self, mask, x, other):
        return self.module.where(mask, x, other)


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


_KINDS = {"numpy": Numpy, "torch": Torch, "jax": Jax}


def find_arrays(arrays, sim, known=tuple(_KINDS)):
    """The functions for arrays="numpy", "torch" or "jax"."""
    if arrays not in known:
        raise ValueError(f"arrays is {arrays!r}; use {', '.join(map(repr, known[:-1]))} or {known[-1]!r}")
    return _KINDS[arrays](sim)
