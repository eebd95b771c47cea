"""For Stable-Baselines3: `PPO("MlpPolicy", Sb3VecEnvWrapper(env))`."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from .._base import row_of
from ._check import begin_ended, check, space_of_float32


class Sb3VecEnvWrapper(VecEnv):
    """A gymnasium.vector.VectorEnv as Stable-Baselines3's VecEnv. Its arrays are NumPy's.

    env   with autoreset_mode "SAME_STEP" or "DISABLED", and arrays="numpy"

    Returns and lengths of episodes are in info as its Monitor writes them, so its logger has ep_rew_mean without a
    VecMonitor. All worlds are one environment, so get_attr, set_attr and env_method are of it, and `indices` say only
    how many results there are.
    """

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        check(env, "Sb3VecEnvWrapper")
        if getattr(env.unwrapped, "_arrays", "numpy") != "numpy":
            raise ValueError("Sb3VecEnvWrapper: Stable-Baselines3 wants arrays of NumPy; make the environment with "
                             "arrays='numpy'")
        self._env = env
        self.render_mode = env.render_mode
        super().__init__(env.num_envs, space_of_float32(env.single_observation_space),
                         space_of_float32(env.single_action_space))
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._began, self._actions = time.time(), None

    @property
    def unwrapped(self) -> gymnasium.vector.VectorEnv:
        """The environment itself."""
        return self._env.unwrapped

    def _take(self, seen, space):
        if isinstance(space, spaces.Dict):
            return {name: self._take(seen[name], part) for name, part in space.items()}
        return np.asarray(seen).astype(space.dtype, copy=False)

    def reset(self) -> Any:
        """The first observations, after the seeds that seed() gave."""
        if any(self._options):
            raise ValueError("Sb3VecEnvWrapper: the environments have no options of a reset")
        given = [seed for seed in self._seeds if seed is not None]
        seen, info = self._env.reset(seed=self._seeds if given else None)
        self._returns[:], self._lengths[:] = 0, 0
        self._reset_seeds()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self._take(seen, self.observation_space)

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions for step_wait."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """A step of all worlds; info has terminal_observation, TimeLimit.truncated and episode where one ended."""
        seen, reward, terminated, truncated, info = self._env.step(self._actions)
        over = terminated | truncated
        seen, last = begin_ended(self._env, over, seen)
        self._returns += reward
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for world in np.flatnonzero(over):
            infos[world] = {
                "TimeLimit.truncated": bool(truncated[world] and not terminated[world]),
                "terminal_observation": self._take(info["final_obs"][world] if last is None else row_of(last, world),
                                                   self.observation_space),
                "episode": {"r": float(self._returns[world]), "l": int(self._lengths[world]),
                            "t": round(time.time() - self._began, 6)},
            }
        self._returns[over], self._lengths[over] = 0, 0
        return self._take(seen, self.observation_space), np.asarray(reward, np.float32), over, infos

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()

    def get_images(self) -> list[np.ndarray | None]:
        """A picture of each world, with render_mode "rgb_array"."""
        pictures = self._env.render()
        return [None] * self.num_envs if pictures is None else list(pictures)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The environment's attribute, once for each world asked for."""
        found = getattr(self if attr_name == "render_mode" else self._env, attr_name)
        return [found for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the environment, for all worlds."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError(f"Sb3VecEnvWrapper.set_attr: all worlds are one environment; {attr_name!r} is set for all "
                             "(indices=None)")
        setattr(self._env.unwrapped, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls the environment's method once."""
        result = getattr(self._env, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        """Whether the environment is in such a wrapper; Stable-Baselines3's Monitor is not needed."""
        from stable_baselines3.common.monitor import Monitor

        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]
