"""For rsl_rl (5): `OnPolicyRunner(RslRlVecEnvWrapper(env), config, …)`."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from ._check import check
from ._tensors import Stepper


class RslRlVecEnvWrapper(VecEnv):
    """A gymnasium.vector.VectorEnv as rsl_rl's VecEnv, on the device where the environment's tensors are.

    env            with autoreset_mode "SAME_STEP" or "DISABLED"; parts of a dict of observations are rsl_rl's groups,
                   an array is the group "policy"
    clip_actions   actions are clipped to [-x, x]; None: not
    seed           of the first reset
    cfg            what rsl_rl's logger stores about the environment
    """

    def __init__(self, env: gymnasium.vector.VectorEnv, clip_actions: float | None = None, *, seed: int | None = None,
                 cfg: Any = None) -> None:
        check(env, "RslRlVecEnvWrapper")
        if not isinstance(env.single_action_space, gymnasium.spaces.Box):
            raise ValueError(f"RslRlVecEnvWrapper: rsl_rl has no policies for the action space "
                             f"{env.single_action_space}; it wants a Box")
        self._env, self._stepper, self._clip = env, Stepper(env), clip_actions
        self.num_envs, self.device = env.num_envs, self._stepper.device
        self.num_actions = gymnasium.spaces.flatdim(env.single_action_space)
        limit = getattr(env.unwrapped, "max_episode_steps", 0)
        self.max_episode_length = limit or 2**31 - 1
        self.cfg = {} if cfg is None else cfg
        self._seen = self._stepper.reset(seed)

    @property
    def unwrapped(self) -> gymnasium.vector.VectorEnv:
        """The environment itself."""
        return self._env.unwrapped

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """[num_envs] int64: steps of each world's episode; may be set, as OnPolicyRunner.learn does."""
        return self._stepper.steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self._stepper.steps = steps

    def get_observations(self) -> TensorDict:
        """The present observation, by groups."""
        groups = self._seen if isinstance(self._seen, dict) else {"policy": self._seen}
        return TensorDict(groups, batch_size=[self.num_envs], device=self.device)

    def reset(self, seed: int | None = None) -> tuple[TensorDict, dict[str, Any]]:
        """Begins an episode in all worlds."""
        self._seen = self._stepper.reset(seed)
        return self.get_observations(), {}

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """A step of all worlds. extras has time_outs, and log: means of the terms of the reward."""
        if self._clip is not None:
            actions = actions.clamp(-self._clip, self._clip)
        actions = actions.reshape(self.num_envs, *self._env.single_action_space.shape)
        self._seen, reward, terminated, truncated, info = self._stepper.step(actions)
        extras = {"time_outs": truncated & ~terminated, "log": self._means(info)}
        return self.get_observations(), reward, (terminated | truncated).to(torch.int64), extras

    def _means(self, info):
        """Of what info has as one number a world."""
        means = {}
        for name, x in info.items():
            if not name.startswith("_") and getattr(x, "shape", ()) == (self.num_envs,) and x.dtype != object:
                means[f"/{name}"] = torch.as_tensor(x, dtype=torch.float32, device=self.device).mean()
        return means

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()
