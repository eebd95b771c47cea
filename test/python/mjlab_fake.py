"""A double of mjlab's interface, as far as stet.mjlab uses it, and of mujoco_warp's and Warp's, for tests without these
(6 GB): modules by these names. Its Simulation compiles and configures, and steps nothing.
"""

import contextlib
import json
import sys
import types
from pathlib import Path

import mujoco
import torch

NAMES = ("mjlab", "mjlab.envs", "mjlab.envs.manager_based_rl_env", "mjlab.envs.mdp", "mjlab.envs.mdp.actions",
         "mjlab.envs.mdp.actions.differential_ik", "mjlab.scene", "mjlab.scene.scene", "mjlab.sim", "mjlab.sim.sim",
         "mjlab.sim.sim_data", "mjlab.utils", "mjlab.utils.nan_guard", "mjlab.utils.xml", "mujoco_warp", "warp")


class Options:
    """MujocoCfg: sets options of a compiled model."""

    def __init__(self, options):
        self.options = json.loads(options)

    def apply(self, model):
        for name, value in self.options.items():
            setattr(model.opt, name, value)


class NanGuard:
    def __init__(self, config, nworld, model):
        self.watched, self.found = 0, set()

    @contextlib.contextmanager
    def watch(self, data):
        data.qpos.clone(), data.qvel.clone()
        yield
        self.watched += 1
        for name in ("qpos", "qvel", "qacc", "qacc_warmstart", "sensordata"):
            self.found.update(torch.isnan(getattr(data, name)).any(-1).nonzero()[:, 0].tolist())


class Bridge:
    """WarpBridge over a model of MuJoCo's: tensors of arrays, one row for all worlds until they are expanded."""

    def __init__(self, struct, nworld=None):
        self.struct, self._held = struct, {}

    def clear_cache(self):
        pass

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._held:
            self._held[name] = torch.as_tensor(getattr(self.struct, name), dtype=torch.float32)[None].clone()
        return self._held[name]


class Simulation:
    def __init__(self, num_envs, cfg, model=None, device="cuda:0", *, spec=None, variant_info=None):
        self.cfg, self.device, self.num_envs = cfg, device, num_envs
        self.wp_device = types.SimpleNamespace(is_cuda=False)
        self._expanded_fields, self._default_model_fields = set(), {}
        self._mj_model = spec.compile()
        cfg.mujoco.apply(self._mj_model)
        self._wp_model = self._mj_model
        self._finish_init()

    mj_model = property(lambda self: self._mj_model)
    data = property(lambda self: self._data_bridge)
    model = property(lambda self: self._model_bridge)

    def expand_model_fields(self, fields):
        self.create_graph()
        for name in fields:
            own = getattr(self._shown_bridge, name)
            self._shown_bridge._held[name] = own.expand(self.num_envs, *own.shape[1:]).clone()
        self._expanded_fields.update(fields)


class Scene:
    def __init__(self, spec, entities):
        self.spec, self.entities = spec, entities


def config(options):
    return types.SimpleNamespace(mujoco=Options(options), nan_guard=None)


def entity(file):
    """An entity whose model is a file."""
    def spec():
        return mujoco.MjSpec.from_file(str(file))
    return types.SimpleNamespace(spec=spec(), cfg=types.SimpleNamespace(spec_fn=spec))


@contextlib.contextmanager
def installed():
    """With stet.mjlab over the double; it is forgotten afterwards."""
    made = {name: types.ModuleType(name) for name in NAMES}
    for name, module in made.items():
        module.__spec__ = types.SimpleNamespace(name=name, origin=str(Path(__file__)))
        above, _, last = name.rpartition(".")
        if above:
            setattr(made[above], last, module)
    made["mjlab.envs.mdp.actions.differential_ik"].DifferentialIKAction = type(
        "DifferentialIKAction", (), {"_compute_jacobian": lambda self: None})
    made["mjlab.scene.scene"].Scene = Scene
    made["mjlab.sim.sim"].Simulation = Simulation
    made["mjlab.sim.sim_data"].WarpBridge = Bridge
    made["mjlab.utils.nan_guard"].NanGuard = NanGuard
    made["mjlab.utils.xml"].fix_spec_xml = lambda text: text
    sys.modules.update(made)
    try:
        yield made
    finally:
        for name in [*made, *(name for name in sys.modules if name.startswith("stet.mjlab"))]:
            del sys.modules[name]
