"""stet's environments for gymnasium.

Importing this module registers them, so that `gymnasium.make_vec("stet/CartPole-v0", num_envs=…)` and
`gymnasium.make("stet/CartPole-v0")` find them; `gymnasium.make("stet.gym:stet/CartPole-v0")` imports it by itself.
"""

from gymnasium.envs.registration import register

from .cartpole import CartPoleEnv, CartPoleVectorEnv
from .hand import HandPixelsEnv, HandPixelsVectorEnv

__all__ = ["CartPoleEnv", "CartPoleVectorEnv", "HandPixelsEnv", "HandPixelsVectorEnv"]

for _name, _steps in (("CartPole", 500), ("HandPixels", 250)):
    register(f"stet/{_name}-v0", entry_point=f"stet.gym:{_name}Env", vector_entry_point=f"stet.gym:{_name}VectorEnv",
             max_episode_steps=_steps)
