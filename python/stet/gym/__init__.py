"""stet's environments for gymnasium, `VectorEnv` and `KernelVectorEnv`, the bases of one's own, and `TensorVectorEnv`,
with which the latter's episodes stay on the device.

Importing this module registers them, so that `gymnasium.make_vec("stet/CartPole-v0", num_envs=…)` and
`gymnasium.make("stet/CartPole-v0")` find them; `gymnasium.make("stet.gym:stet/CartPole-v0")` imports it by itself.
"""

try:
    from gymnasium.envs.registration import register
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(
        "stet.gym needs gymnasium: pip install 'gymnasium>=1.1', or install stet with its extra [gym]", name=_error.name
    ) from None

from ._saved import Saved
from .cartpole import CartPoleEnv, CartPoleVectorEnv
from .draws import Draws
from .env import Env
from .hand import HandPixelsEnv, HandPixelsVectorEnv
from .kernels import KernelVectorEnv
from .mujoco import TASKS as _TASKS
from .randomize import Randomize
from .robots import TASKS as _ROBOTS
from .suite import TASKS as _SUITE
from .tasks import TASKS as _FAMOUS
from .tensors import TensorVectorEnv
from .vector import State, VectorEnv

__all__ = ["CartPoleEnv", "CartPoleVectorEnv", "Draws", "Env", "HandPixelsEnv", "HandPixelsVectorEnv",
           "KernelVectorEnv", "Randomize", "Saved", "State", "TensorVectorEnv", "VectorEnv"]

for _name, _steps in (("CartPole", 500), ("HandPixels", 250)):
    register(f"stet/{_name}-v0", entry_point=f"stet.gym:{_name}Env", vector_entry_point=f"stet.gym:{_name}VectorEnv",
             max_episode_steps=_steps)
for _name, _cls in _TASKS.items():
    register(f"stet/{_name}-v5", entry_point=f"stet.gym.mujoco:{_name}Env",
             vector_entry_point=f"stet.gym.mujoco:{_name}VectorEnv", max_episode_steps=_cls._most_steps)
for _name, (_cls, _keywords) in _SUITE.items():
    _entry = f"stet.gym.suite:{_cls.__name__}"
    register(f"stet/{_name}-v0", entry_point=_entry.replace("Vector", ""), vector_entry_point=_entry, kwargs=_keywords,
             max_episode_steps=_cls.limit())
for _name, _cls in {**_ROBOTS, **_FAMOUS}.items():
    _entry = f"{_cls.__module__}:{_cls.__name__}"
    register(f"stet/{_name}-v0", entry_point=_entry.replace("VectorEnv", "Env"), vector_entry_point=_entry,
             max_episode_steps=_cls._defaults["max_episode_steps"])
