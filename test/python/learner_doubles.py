"""What stet.gym.adapters use of Stable-Baselines3, rsl_rl, skrl, tensordict and PyTorch, over NumPy: modules with the
same names, for where those are not installed. They refuse what the libraries refuse. `make test-learners` runs the same
tests with the libraries themselves.
"""

import sys
import types
from abc import ABC, abstractmethod

import gymnasium
import numpy as np

LIBRARIES = "torch", "tensordict", "rsl_rl", "skrl", "stable_baselines3"


class Tensor(np.ndarray):
    """An array with the methods of PyTorch's tensors that are used here."""

    device = types.SimpleNamespace(type="cpu")

    def to(self, *where):
        types_of = [x for x in where if isinstance(x, np.dtype)]
        return self.astype(types_of[0]) if types_of else self

    def cpu(self):
        return self

    detach = cpu

    def numpy(self):
        return np.asarray(self)

    def bool(self):
        return self.astype(np.bool_)

    def clone(self):
        return self.copy()

    def copy_(self, other):
        if not isinstance(other, Tensor):
            raise TypeError(f"copy_(): argument 'other' must be Tensor, not {type(other).__name__}")
        self[...] = other

    def clamp(self, low, high):
        return np.clip(self, low, high)

    def view(self, *shape):
        return self.reshape(*shape)


def tensor_of(x, dtype=None, device=None):
    return np.asarray(x, dtype).view(Tensor)


class TensorDict(dict):
    """Tensors of one batch size."""

    def __init__(self, source, batch_size, device=None):
        for name, x in source.items():
            if not isinstance(x, Tensor) or list(x.shape[: len(batch_size)]) != list(batch_size):
                raise RuntimeError(f"batch dimension mismatch of {name!r}: {getattr(x, 'shape', x)}, {batch_size}")
        super().__init__(source)
        self.batch_size = tuple(batch_size)


class RslRlVecEnv(ABC):
    @abstractmethod
    def get_observations(self):
        """Of rsl_rl.env.VecEnv."""

    @abstractmethod
    def step(self, actions):
        """Of rsl_rl.env.VecEnv."""


class OnPolicyRunner:
    """Calls an environment as rsl_rl's runner does, with random actions, and keeps what it got."""

    def __init__(self, env, config, log_dir=None, device="cpu"):
        self.env, self.config, self.kept, self.noise = env, config, [], np.random.default_rng(1)
        groups = env.get_observations()
        for names in config["obs_groups"].values():
            for name in names:
                if groups[name].ndim != 2:
                    raise ValueError(f"The MLP model only supports 1D observations, got {groups[name].shape} of {name}")

    def learn(self, iterations, init_at_random_ep_len=False):
        env, n = self.env, self.env.num_envs
        if init_at_random_ep_len:
            high = int(env.max_episode_length)
            env.episode_length_buf = tensor_of(self.noise.integers(high, size=n), env.episode_length_buf.dtype)
        for _ in range(iterations * self.config["num_steps_per_env"]):
            action = tensor_of(self.noise.normal(size=(n, env.num_actions)), np.float32)
            groups, reward, done, extras = env.step(action)
            shapes = [x.shape for x in (reward, done, extras["time_outs"])]
            if groups.batch_size != (n,) or shapes != [(n,)] * 3:
                raise ValueError(f"{groups.batch_size}, {shapes}; there are {n} environments")
            if not all(np.isfinite(x).all() for x in groups.values()):
                raise ValueError("an observation has NaN or Inf")
            if not all(name.startswith("/") for name in extras["log"]):
                raise ValueError(f"names of the log begin with /: {list(extras['log'])}")
            self.kept.append((reward, 1.0 - done.to(np.dtype("float32")), extras["time_outs"]))


class SkrlWrapper(ABC):
    """skrl.envs.wrappers.torch.Wrapper."""

    def __init__(self, env):
        self._env = env
        self._unwrapped = env.unwrapped

    def __getattr__(self, key):
        return getattr(self._env, key)

    num_envs = property(lambda self: self._unwrapped.num_envs)
    num_agents = property(lambda self: 1)
    device = property(lambda self: self._device)

    @abstractmethod
    def reset(self):
        """Of skrl's Wrapper, as those below."""

    @abstractmethod
    def step(self, actions):
        pass

    @abstractmethod
    def state(self):
        pass

    @abstractmethod
    def render(self, *args, **kwargs):
        pass

    @abstractmethod
    def close(self):
        pass


def tensorize_space(space, x, device=None):
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: tensorize_space(part, x[name]) for name, part in space.items()}
    if not isinstance(x, Tensor):
        raise ValueError(f"Unsupported type ({type(x)}) for the given space ({space})")
    return x.reshape(-1, *space.shape) if isinstance(space, gymnasium.spaces.Box) else x.reshape(-1, 1)


def flatten_tensorized_space(x):
    if isinstance(x, dict):
        return np.concatenate([flatten_tensorized_space(x[name]) for name in sorted(x)], -1)
    return x.reshape(x.shape[0], -1)


def unflatten_tensorized_space(space, x):
    return x.reshape(-1, *space.shape) if isinstance(space, gymnasium.spaces.Box) else x.reshape(-1, 1)


class Sb3VecEnv(ABC):
    """What the adapter uses of stable_baselines3.common.vec_env.VecEnv."""

    def __init__(self, num_envs, observation_space, action_space):
        self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space
        self._reset_seeds()
        self._options = [{} for _ in range(num_envs)]
        assert self.get_attr("render_mode") == [self.render_mode] * num_envs

    def _reset_seeds(self):
        self._seeds = [None] * self.num_envs

    def seed(self, seed):
        self._seeds = [seed + k for k in range(self.num_envs)]

    def _get_indices(self, indices):
        return range(self.num_envs) if indices is None else [indices] if isinstance(indices, int) else indices

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    @abstractmethod
    def step_async(self, actions):
        """Of its VecEnv, as step_wait, and those that are not listed here."""

    @abstractmethod
    def step_wait(self):
        pass


_TORCH = {"Tensor": Tensor, "device": lambda name: types.SimpleNamespace(type=name), "as_tensor": tensor_of,
          "from_dlpack": lambda array: np.from_dlpack(array).view(Tensor), "from_numpy": tensor_of,
          "equal": np.array_equal, "arange": lambda n: tensor_of(np.arange(n)),
          "zeros": lambda *shape: tensor_of(np.zeros(shape, np.float32)),
          **{name: np.dtype(name) for name in ("float32", "float64", "int32", "int64")}}
_SKRL = {"tensorize_space": tensorize_space, "flatten_tensorized_space": flatten_tensorized_space,
         "unflatten_tensorized_space": unflatten_tensorized_space}
MODULES = {
    "torch": _TORCH, "tensordict": {"TensorDict": TensorDict},
    "rsl_rl": {}, "rsl_rl.env": {"VecEnv": RslRlVecEnv}, "rsl_rl.runners": {"OnPolicyRunner": OnPolicyRunner},
    "skrl": {"config": types.SimpleNamespace(torch=types.SimpleNamespace(key=0))}, "skrl.envs": {},
    "skrl.envs.wrappers": {}, "skrl.envs.wrappers.torch": {"Wrapper": SkrlWrapper}, "skrl.utils": {},
    "skrl.utils.spaces": {}, "skrl.utils.spaces.torch": _SKRL,
    "stable_baselines3": {}, "stable_baselines3.common": {}, "stable_baselines3.common.vec_env": {"VecEnv": Sb3VecEnv}}


def install(monkeypatch, *libraries):
    """Until the test ends imports of these libraries find the modules here, and the adapters are imported anew."""
    for name, content in MODULES.items():
        if name.partition(".")[0] in libraries:
            module = types.ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)
    forget_adapters()


def forget_adapters():
    for name in [name for name in sys.modules if name.startswith("stet.gym.adapters.")]:
        del sys.modules[name]
