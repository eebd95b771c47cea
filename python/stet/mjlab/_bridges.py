"""mjlab's `sim.data` and `sim.model`: tensors over stet's arrays, by MuJoCo's names and in mujoco_warp's shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from .._core import Array
from .._errors import NotFoundError, UnsupportedError
from ..sim import Sim

# Numbers of an object: of arrays that mujoco_warp has as vectors, matrices or quaternions. Others are one a row.
_SHAPES = {
    "xpos": (3,), "xquat": (4,), "xmat": (3, 3), "xipos": (3,), "ximat": (3, 3), "geom_xpos": (3,),
    "geom_xmat": (3, 3), "site_xpos": (3,), "site_xmat": (3, 3), "subtree_com": (3,), "subtree_linvel": (3,),
    "subtree_angmom": (3,), "cvel": (6,), "cacc": (6,), "cfrc_int": (6,), "cfrc_ext": (6,), "cinert": (10,),
    "xanchor": (3,), "xaxis": (3,), "xfrc_applied": (6,), "mocap_pos": (3,), "mocap_quat": (4,),
}
# Fields of stet's state that are mjlab's to write, and those that a step writes in place.
_FIELDS = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "time",
           "qacc_warmstart")


_CPU = 1  # as DLPack numbers devices


def _view(array: Array) -> torch.Tensor:
    """A tensor for reading: over the memory of an array of a GPU, or over the host's copy of one of a CPU."""
    if array.__dlpack_device__()[0] == _CPU:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "is not writable": whoever reads does not write
            return torch.from_numpy(array.host())
    return torch.from_dlpack(array)


class DataBridge:
    """Data by name. A field of the state is one tensor for the life of the sim, which may be written; anything else is
    what the last step or forward left, computed when it is first read after that.
    """

    def __init__(self, sim: Sim, struct: Callable[[], Any]) -> None:
        self._sim, self._make_struct, self._held = sim, struct, {}

    @property
    def struct(self) -> Any:
        """mujoco_warp's data with the poses of now, for its kernels."""
        return self._make_struct()

    @property
    def nworld(self) -> int:
        return self._sim.nworld

    def _shaped(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        if name == "time":
            return tensor.view(self._sim.nworld)
        return tensor.view(self._sim.nworld, -1, *_SHAPES[name]) if name in _SHAPES else tensor

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._held:
            return self._held[name]
        if name == "sensordata" or name in _FIELDS:
            array = self._sim.step_sensordata if name == "sensordata" else self._sim.array(name)
            self._held[name] = self._shaped(name, torch.from_dlpack(array))
            return self._held[name]
        try:
            array = self._sim.step_quantity(name)
        except NotFoundError:
            raise AttributeError(f"stet.mjlab: the data have no {name!r}; stet has {', '.join(_FIELDS)} and "
                                 f"{', '.join(self._sim.quantities)}") from None
        return self._shaped(name, _view(array))


class ModelBridge:
    """The model by name: parameters that were expanded are tensors that stet steps with; others are mujoco_warp's."""

    def __init__(self, sim: Sim, own: Any) -> None:
        self._sim, self._own, self._held = sim, own, {}

    @property
    def struct(self) -> Any:
        return self._own.struct

    def expand(self, name: str) -> None:
        """From here on each world has its own numbers of an array of the model."""
        if name in self._held:
            return
        shape = getattr(self._own, name).shape[1:]
        if name not in self._sim.parameters:
            raise UnsupportedError(f"stet.mjlab: {name} does not differ between worlds in stet; leave its event out of "
                                   f"the task's config. These do: {', '.join(self._sim.parameters)}")
        tensor = torch.from_dlpack(self._sim.parameter_array(name))
        self._held[name] = tensor.view(self._sim.nworld, *shape)

    def clear_cache(self) -> None:
        self._own.clear_cache()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._held[name] if name in self._held else getattr(self._own, name)
