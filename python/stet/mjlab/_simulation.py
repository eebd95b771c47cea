"""mjlab's Simulation on stet; see stet.mjlab."""

from __future__ import annotations

from typing import Any

import mjlab.envs.manager_based_rl_env as _env
import mjlab.scene.scene as _scene
import mjlab.sim as _package
import mjlab.sim.sim as _sim
import mujoco
import mujoco_warp as mjwarp
import torch
import warp as wp
from mjlab.envs.mdp.actions.differential_ik import DifferentialIKAction
from mjlab.sim.sim_data import WarpBridge
from mjlab.utils.nan_guard import NanGuard

from .._errors import InvalidArgumentError, UnsupportedError
from ..sim import Sim
from ._bridges import DataBridge, ModelBridge
from ._jacobian import compute_jacobian
from ._scene import load_scene, remember

_THEIRS, _THEIR_INIT = _sim.Simulation, _scene.Scene.__init__
_THEIR_JACOBIAN = DifferentialIKAction._compute_jacobian
# Fields of the model that are mujoco_warp's arrays: those that pictures alone show, which its kernels draw, and what
# MuJoCo derives, which mjlab computes for it and stet by itself.
_SHOWN, _LOOKS = ("cam_", "light_", "mat_", "tex_"), ("geom_rgba", "geom_matid")
_DERIVED = ("body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0", "tendon_length0", "tendon_invweight0",
            "actuator_acc0", "actuator_length0", "geom_rbound", "geom_aabb")
# Its kernels for rays and pictures read these of the data, and of the model, but for what is above, geom_size.
_POSES = ("xpos", "xquat", "xmat", "xipos", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "subtree_com")


class Simulation(_THEIRS):
    """One of mjlab's interface, whose worlds stet steps. `stet_sim` is the stet.Sim."""

    def __init__(self, num_envs: int, cfg: Any, model: Any = None, device: str = "cuda:0", *, spec: Any = None,
                 variant_info: Any = None) -> None:
        if variant_info:
            names = ", ".join(name.rstrip("/") for name, _ in variant_info)
            raise UnsupportedError(f"stet.mjlab: {names}: entities with variants have other meshes in other worlds, "
                                   "which stet's worlds do not; use one variant")
        if spec is None:
            raise InvalidArgumentError("stet.mjlab: a Simulation is made of a spec; give spec=, not a compiled model")
        self._spec = spec
        super().__init__(num_envs, cfg, model, device, spec=spec)

    def _finish_init(self) -> None:
        """In place of putting data on a device of mujoco_warp's."""
        where = {"device": "cuda", "index": torch.device(self.device).index or 0} if self.wp_device.is_cuda else {}
        self.stet_sim = Sim(load_scene(self._spec, self._mj_model), self.num_envs, physics="native", keyframe="qpos0",
                            **where)
        self.use_cuda_graph = False
        self._sensor_context = None
        self._mirror = None
        self._reset_mask = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._shown_bridge = WarpBridge(self._wp_model, nworld=self.num_envs)
        self._model_bridge = ModelBridge(self.stet_sim, self._shown_bridge)
        self._data_bridge = DataBridge(self.stet_sim, self._mirrored)
        self.nan_guard = NanGuard(self.cfg.nan_guard, self.num_envs, self._mj_model)
        self.forward()

    # ---- what mujoco_warp's kernels for sensors read -----------------------------------------------------------------

    def _mirrored(self) -> Any:
        """mujoco_warp's data with the poses of the last step or forward."""
        if self._mirror is None:
            empty = mujoco.MjData(self._mj_model)  # without contacts, for which there is no room
            self._mirror = mjwarp.put_data(self._mj_model, empty, nworld=self.num_envs, nconmax=1, njmax=1)
            for array in vars(self._mirror).values():  # whoever reads more than poses is not to get old numbers
                if isinstance(array, wp.array) and array.size > 0 and array.numpy().dtype.kind == "f":
                    array.fill_(float("nan"))
            self._mirror_bridge = WarpBridge(self._mirror)
        for name in _POSES:
            to = getattr(self._mirror_bridge, name)
            if to.numel() > 0:
                to[:] = getattr(self._data_bridge, name).view(to.shape)
        if "geom_size" in self._expanded_fields:
            self._shown_bridge.geom_size[:] = self._model_bridge.geom_size
        mjwarp.camlight(self._wp_model, self._mirror)
        return self._mirror

    @property
    def wp_data(self) -> Any:
        return self._mirrored()

    def sense(self) -> None:
        if self._sensor_context is None:
            return
        self._sensor_context.prepare()
        with wp.ScopedDevice(self.wp_device):
            self._sense_kernel()
        self._sensor_context.finalize()

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def create_graph(self) -> None:
        """Nothing: a step of stet's is a recording of its own."""
        self.step_graph = self.forward_graph = self.reset_graph = self.sense_graph = None

    def step(self) -> None:
        with self.nan_guard.watch(self.data):
            self.stet_sim.step()

    def forward(self) -> None:
        self.stet_sim.forward()

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        self._reset_mask.fill_(env_ids is None)
        if env_ids is not None:
            self._reset_mask[env_ids] = True
        mask = self._reset_mask if self.wp_device.is_cuda else self._reset_mask.numpy()
        self.stet_sim.reset(mask, keyframe="qpos0")

    # ---- domain randomisation ----------------------------------------------------------------------------------------

    def expand_model_fields(self, fields: tuple[str, ...]) -> None:
        missing = [name for name in fields if not hasattr(self._mj_model, name)]
        if missing:
            raise ValueError(f"Fields not found in model: {missing}")
        shown = [name for name in fields if name.startswith(_SHOWN) or name in (*_LOOKS, *_DERIVED)]
        for name in sorted(set(fields).difference(shown)):
            self._model_bridge.expand(name)
        super().expand_model_fields((*shown, *{"geom_size"}.intersection(fields)))
        self._expanded_fields.update(fields)

    def recompute_constants(self, level: Any) -> None:
        """Nothing: constants follow from parameters when they are next read."""


def _init_scene(scene: Any, *args: Any, **options: Any) -> None:
    _THEIR_INIT(scene, *args, **options)
    remember(scene.spec, scene.entities)


def install() -> None:
    """mjlab's environments make stet's Simulation from here on."""
    _scene.Scene.__init__ = _init_scene
    DifferentialIKAction._compute_jacobian = compute_jacobian
    for module in (_env, _package, _sim):
        module.Simulation = Simulation


def uninstall() -> None:
    """They make mujoco_warp's again."""
    _scene.Scene.__init__ = _THEIR_INIT
    DifferentialIKAction._compute_jacobian = _THEIR_JACOBIAN
    for module in (_env, _package, _sim):
        module.Simulation = _THEIRS
