"""The state of a sim's worlds by names, in NumPy's arrays or PyTorch's tensors over the sim's own memory."""

from __future__ import annotations

from typing import Any


class State:
    """The state of all worlds. Each field and quantity of the sim is an attribute by MuJoCo's name (qpos, qvel, ctrl,
    xpos, site_xpos, cfrc_ext, qacc, contact_dist …), [worlds, items]: a read-only view of what the sim keeps on the
    host (Array.host), or PyTorch's tensor of what is on the device. What nobody reads is not computed.
    """

    def __init__(self, sim: Any, torch: Any = None) -> None:
        self._sim, self._torch, self._arrays = sim, torch, {}

    def see(self, name: str, get: Any) -> Any:
        """The same of the array that get() returns, under a name of its own."""
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = get()
        if self._torch is None:
            return array.host()
        if self._sim.device.type == "cpu":  # worlds lie in blocks, which no tensor shows
            return self._torch.from_numpy(array.numpy())
        return self._torch.from_dlpack(array.export())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.see(name, lambda: self._sim.array(name))

    def of_step(self, name: str) -> Any:
        """A quantity as MuJoCo's data have it after a step (Sim.step_quantity); with other physics, and in worlds that
        have just begun, that of the present state.
        """
        if self._sim.physics != "mujoco":
            return self.see(name, lambda: self._sim.array(name))
        return self.see("of_step " + name, lambda: self._sim.step_quantity(name))


def find_torch(arrays):
    """The module torch for arrays="torch", None for "numpy"."""
    if arrays not in ("numpy", "torch"):
        raise ValueError(f"arrays is {arrays!r}; use 'numpy' or 'torch'")
    if arrays == "numpy":
        return None
    import torch

    return torch
