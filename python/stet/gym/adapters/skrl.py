"""For skrl: `env = SkrlVecEnvWrapper(env)` in place of its wrap_env."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from skrl import config
from skrl.envs.wrappers.torch import Wrapper
from skrl.utils.spaces.torch import flatten_tensorized_space, tensorize_space, unflatten_tensorized_space

from ._check import check, space_of_float32
from ._tensors import Stepper


class SkrlVecEnvWrapper(Wrapper):
    """A gymnasium.vector.VectorEnv as skrl's environment; tensors stay where the environment's are.

    env   with autoreset_mode "SAME_STEP" or "DISABLED"; of a dict of observations "policy" is what the policy sees,
          "critic" the state
    """

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        check(env, "SkrlVecEnvWrapper")
        super().__init__(env)
        self._stepper = Stepper(env)
        self._device = self._stepper.device
        self._space = space = space_of_float32(env.single_observation_space)
        self._groups = isinstance(space, gymnasium.spaces.Dict) and "policy" in space.spaces
        self._seed, self._seen, self._state = config.torch.key, None, None

    @property
    def observation_space(self) -> gymnasium.Space:
        """Of one world."""
        return self._space["policy"] if self._groups else self._space

    @property
    def state_space(self) -> gymnasium.Space | None:
        """Of one world: what the critic sees beside, or None."""
        return self._space["critic"] if self._groups and "critic" in self._space.spaces else None

    @property
    def action_space(self) -> gymnasium.Space:
        """Of one world."""
        return self._env.single_action_space

    def _take(self, seen):
        policy = seen["policy"] if self._groups else seen
        if self.state_space is not None:
            self._state = self._flatten(self.state_space, seen["critic"])
        self._seen = self._flatten(self.observation_space, policy)
        return self._seen

    def _flatten(self, space, seen):
        return flatten_tensorized_space(tensorize_space(space, seen, device=self.device))

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Begins an episode in all worlds, the first time; after that the present observation."""
        if self._seen is None:
            self._take(self._stepper.reset(self._seed))
        return self._seen, {}

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Any]:
        """A step of all worlds; reward, terminated and truncated are [num_envs, 1]."""
        actions = unflatten_tensorized_space(self.action_space, actions)
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            actions = actions.flatten()
        seen, reward, terminated, truncated, info = self._stepper.step(actions)
        return self._take(seen), reward.view(-1, 1), terminated.view(-1, 1), truncated.view(-1, 1), info

    def state(self) -> torch.Tensor | None:
        """What the critic sees, or None."""
        return self._state

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """The environment's pictures."""
        return self._env.render()

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()
