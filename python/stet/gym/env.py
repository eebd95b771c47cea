"""An environment alone: world 0 of a vector environment with one world, so both have the same episodes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ._base import check_options
from ._saved import Saved


class Env(gymnasium.Env):
    """Base of single environments; a subclass names the class of the vector environment."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}
    vector_type: type

    def __init__(self, device: str | None = None, *, max_episode_steps: int = 0, **keywords: Any) -> None:
        keywords |= {} if device is None else {"device": device}
        self.vector = self.vector_type(
            1, max_episode_steps=max_episode_steps, autoreset_mode=AutoresetMode.DISABLED, **keywords
        )
        """The vector environment of one world."""
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.render_mode = self.vector.render_mode
        self.metadata = {name: value for name, value in self.vector.metadata.items() if name != "autoreset_mode"}

    def reset(self, *, seed: int | None = None,
              options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode. options: none are known."""
        check_options(options, type(self).__name__, ())
        super().reset(seed=seed)
        observation, info = self.vector.reset(seed=seed)
        return _first(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """A step: observation, reward, terminated, truncated, info."""
        observation, reward, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        info = {name: _first(value) for name, value in info.items() if name[0] != "_"}
        return _first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def save(self) -> Saved:
        """The whole of the environment as it is now (VectorEnv.save)."""
        return self.vector.save()

    def restore(self, saved: Saved) -> None:
        """Puts the environment back to what save() returned."""
        self.vector.restore(saved)

    def render(self) -> np.ndarray | None:
        """The picture, uint8 [height, width, 3]; None without render_mode "rgb_array"."""
        pictures = self.vector.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Closes the sim."""
        self.vector.close()


def _first(observation):
    if isinstance(observation, dict):
        return {name: rows[0] for name, rows in observation.items()}
    return observation[0]
