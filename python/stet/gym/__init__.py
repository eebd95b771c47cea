"""stet's environments for gymnasium.

Importing this module registers them, so that `gymnasium.make_vec("stet/CartPole-v0", num_envs=…)` and
`gymnasium.make("stet/CartPole-v0")` find them; `gymnasium.make("stet.gym:stet/CartPole-v0")` imports it by itself.
"""

try:
    from gymnasium.envs.registration import register
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(
        "stet.gym needs gymnasium: pip install 'gymnasium>=1.1', or install stet with its extra [gym]", name=_error.name
    ) from None

from .cartpole import CartPoleEnv, CartPoleVectorEnv
from .hand import HandPixelsEnv, HandPixelsVectorEnv

__all__ = ["CartPoleEnv", "CartPoleVectorEnv", "HandPixelsEnv", "HandPixelsVectorEnv"]

for _name, _steps in (("CartPole", 500), ("HandPixels", 250)):
    register(f"stet/{_name}-v0", entry_point=f"stet.gym:{_name}Env", vector_entry_point=f"stet.gym:{_name}VectorEnv",
             max_episode_steps=_steps)
