"""The state of a sim's worlds by names, in NumPy's arrays, PyTorch's or JAX's over the sim's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arrays import Numpy
from .named import Named


class State(Named):
    """The state of all worlds. Each field and quantity of the sim is an attribute by MuJoCo's name (qpos, qvel, ctrl,
    xpos, site_xpos, cfrc_ext, qacc, contact_dist …), [worlds, items]: a read-only view of what the sim keeps on the
    host (Array.host), or an array of PyTorch or JAX of what is on the device. What is not read is not computed. Parts
    of them go by names: state.sensor("gyro"), state.joint("knee").qpos, state.xpos[:, state.columns("xpos", "torso")].
    """

    def __init__(self, sim: Any, library: Any = None) -> None:
        self._sim, self._library, self._arrays = sim, library or Numpy(sim), {}

    def see(self, name: str, get: Any) -> Any:
        """The same of the array that get() returns, under a name of its own."""
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = get()
        return self._library.see(array)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.see(name, lambda: self._sim.array(name))

    if not TYPE_CHECKING:  # which would take any assignment then

        def __setattr__(self, name, value):
            if not name.startswith("_"):
                raise AttributeError(f"state.{name} shows what the sim has, and is no place to keep a result; use a "
                                     f"name of your own, or, to change the worlds, self.sim.{name}.write(…)")
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._sim.fields, *self._sim.quantities]

    def of_step(self, name: str) -> Any:
        """A quantity as MuJoCo's data have it after a step (Sim.step_quantity); with other physics, and in worlds that
        have just begun, that of the present state. Of sensordata every physics has what the step left, 0 at first.
        """
        if self._sim.physics != "mujoco" and name != "sensordata":
            return self.see(name, lambda: self._sim.array(name))
        return self.see("of_step " + name, lambda: self._sim.step_quantity(name))

    def _named_sim(self) -> Any:
        return self._sim

    def _named_part(self, array: str, columns: Any) -> Any:
        return getattr(self, array)[:, columns]

    def _named_write(self, array: str, columns: Any, values: Any) -> None:
        raise AttributeError(f"state.{array} shows what the sim has; to change the worlds: sim.{array}[:, "
                             f"sim.columns({array!r}, …)] = …")
