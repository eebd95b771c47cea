"""What the adapters ask of an environment, and the spaces that they give."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode


def check(env: gymnasium.vector.VectorEnv, adapter: str) -> None:
    """Learners for one step at which an episode ends and the next one begins can use the environment."""
    if not isinstance(env, gymnasium.vector.VectorEnv):
        raise TypeError(f"{adapter} takes a gymnasium.vector.VectorEnv, not a {type(env).__name__!r}; "
                        "gymnasium.make_vec makes one")
    mode = env.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        raise ValueError(f"{adapter}: the environment's autoreset_mode is {getattr(mode, 'name', mode)}; make it with "
                         'autoreset_mode="SAME_STEP", for which the learner is written, or "DISABLED"')


def begin_ended(env: gymnasium.vector.VectorEnv, over: Any, seen: Any) -> tuple[Any, Any]:
    """With DISABLED: the worlds in the mask begin again. The observation then, and that before."""
    if env.metadata["autoreset_mode"] is not AutoresetMode.DISABLED or not over.any():
        return seen, None
    return env.reset(options={"reset_mask": over})[0], seen


def space_of_float32(space: spaces.Space) -> spaces.Space:
    """The space with float32 for float64, in which networks compute."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: space_of_float32(part) for name, part in space.items()})
    if not isinstance(space, spaces.Box) or space.dtype != np.float64:
        return space
    return spaces.Box(space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32)
