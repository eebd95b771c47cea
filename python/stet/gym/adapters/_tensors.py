"""Any vector environment, stepped with tensors of PyTorch."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from gymnasium.vector import AutoresetMode

from .._base import split
from .._episodes import Episodes
from ..vector import VectorEnv
from ._check import begin_ended


class Stepper:
    """Steps an environment; what it returns stays as it is when the next step comes.

    device   where the tensors are: that of the environment's arrays, if it has tensors, else the processor
    """

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        self.env, self._views, self._on_device = env, None, False
        self.device = torch.device("cpu")
        if isinstance(env, Episodes):
            self._views = env.tensors(torch.from_dlpack)
            self.device = self._views.action.device
            if self.device.type == "cuda":
                env.sim.use_stream(torch.cuda.current_stream(self.device))
        elif isinstance(env, VectorEnv):
            if env._arrays == "jax":
                raise ValueError(f"{type(env).__name__} has arrays='jax'; the learner's are PyTorch's: make it with "
                                 "arrays='torch', or 'numpy'")
            self.device, self._on_device = torch.device(env.device), env._arrays == "torch"

    def take(self, x: Any) -> Any:
        """Numbers of the environment: tensors, float32 for reals."""
        if isinstance(x, dict):
            return {name: self.take(part) for name, part in x.items()}
        x = torch.as_tensor(x, device=self.device)
        return x.to(torch.float32) if x.dtype == torch.float64 else x

    def reset(self, seed: Any = None) -> Any:
        """The first observation, of all worlds."""
        seen = self.env.reset(seed=seed)[0]
        return self.take(seen) if self._views is None else self._see()

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Observation, reward, terminated, truncated, info. actions [num_envs, …], on any device."""
        if self._views is not None:
            return self._step_views(actions)
        given = actions.detach()
        if not self._on_device:
            given = given.cpu().numpy()
        seen, reward, terminated, truncated, info = self.env.step(given)
        seen, _ = begin_ended(self.env, terminated | truncated, seen)
        return self.take(seen), self.take(reward), self.take(terminated), self.take(truncated), info

    def _step_views(self, actions):
        self._views.action.copy_(actions)
        _, *ends, info = self.env.step_tensors()
        reward, terminated, truncated = (x.clone() for x in ends)
        if self.env.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            begin_ended(self.env, (terminated | truncated).cpu().numpy().astype(bool), None)
        return self._see(), self.take(reward), terminated.bool(), truncated.bool(), info

    def _see(self):
        seen = self.env.tensors(torch.from_dlpack).observation.clone()
        return self.take(split(seen, getattr(self.env, "parts", None)))

    @property
    def steps(self) -> torch.Tensor:
        """[num_envs] int64: steps of each world's episode."""
        env = self.env
        steps = env._steps.numpy()[:, 0] if isinstance(env, Episodes) else env.unwrapped.steps
        return torch.as_tensor(steps, device=self.device).to(torch.int64)

    @steps.setter
    def steps(self, steps: torch.Tensor) -> None:
        env = self.env
        if isinstance(env, Episodes):
            env._steps.write(steps.to("cpu", torch.int32).numpy()[:, None])
        elif isinstance(env.unwrapped.steps, torch.Tensor):
            env.unwrapped.steps.copy_(steps)
        else:
            env.unwrapped.steps[:] = steps.cpu().numpy()
