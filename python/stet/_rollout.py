"""Steps of a sim as one differentiable function: what stet.torch.rollout and stet.jax.rollout have in common.

A rollout begins at the state that the caller gives, with no warm start of the solver, so that it is a function of its
arguments: it gives the same bits each time. Controls of all steps lie in one array, from which a kernel takes those of
a step; the states behind the steps are kept in others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._core import Tape
from ._errors import InvalidArgumentError, UnsupportedError

_SOURCE = """#include "stet/lang.h"
world_kernel void k_take(const real *plan, real *ctrl, int at, int n) { each (i, n) put(ctrl, i, plan[at + i]); }
world_kernel void k_keep(const real *state, real *path, int at, int n) { each (i, n) put(path, at + i, state[i]); }
world_kernel void k_begin(real *warm, int n) { each (i, n) put(warm, i, splat(0)); }
"""


class States(NamedTuple):
    """States behind each step, [step, world, …]."""

    qpos: Any
    qvel: Any
    act: Any


class Steps:
    """`steps` times `substeps` time steps of a sim on a tape: run(), from `inputs` to `outputs`."""

    def __init__(self, sim, steps, substeps, every):
        if sim.physics != "native":
            raise UnsupportedError(f"a rollout needs native physics, whose steps have gradients; this sim has physics "
                                   f"{sim.physics} ({sim.physics_reason}): make it with physics='native'")
        for name, value in (("steps", steps), ("substeps", substeps)):
            if not isinstance(value, int) or value < 1:
                raise InvalidArgumentError(f"rollout: {name} is {value!r}; give 1 or more")
        self.tape, self.steps = Tape(sim, every), steps
        self._sim, self._substeps, self._worlds = sim, substeps, sim.qpos.shape[0]
        self._state = [sim.qpos, sim.qvel, *([sim.act] if sim.act.shape[1] else [])]
        self._controls = sim.ctrl.shape[1]
        self._take, self._keep, self._begin = (sim.kernel(_SOURCE, name) for name in ("k_take", "k_keep", "k_begin"))
        self._plan = self._zeros(self._controls) if self._controls else None
        self.outputs = [self._zeros(array.shape[1]) for array in self._state]
        self.inputs = [*self._state, *([self._plan] if self._controls else [])]

    def _zeros(self, items):
        return self._sim.zeros((self._worlds, self.steps * items), worlds=True)

    def run(self):
        sim, warm = self._sim, self._sim.array("qacc_warmstart")
        self._begin(self._worlds, warm, warm.shape[1])
        for t in range(self.steps):
            self.tape.step()
            if self._controls:
                self._take(self._worlds, self._plan, sim.ctrl, t * self._controls, self._controls)
            sim.step(self._substeps)
            for array, path in zip(self._state, self.outputs):
                n = array.shape[1]
                self._keep(self._worlds, array, path, t * n, n)

    def arguments(self, qpos, qvel, ctrl, act, turn):
        """Values of the inputs. turn(x): [step, world, i] as [world, step * i]."""
        values = [qpos, qvel]
        for name, value, wanted in (("act", act, len(self._state) > 2), ("ctrl", ctrl, self._controls > 0)):
            if (value is None) == wanted:
                raise InvalidArgumentError(f"rollout: {name} is missing; give its values" if wanted else
                                           f"rollout: the model has no {name}; leave it out")
        if act is not None:
            values.append(act)
        if ctrl is not None:
            shape = (self.steps, self._worlds, self._controls)
            if tuple(ctrl.shape) != shape:
                raise InvalidArgumentError(f"rollout: ctrl is {list(ctrl.shape)}; give [step, world, control], "
                                           f"{list(shape)}")
            values.append(turn(ctrl))
        return values

    def states(self, paths, turn):
        """turn(x, n): [world, step * n] as [step, world, n]."""
        found = [turn(path, array.shape[1]) for path, array in zip(paths, self._state)]
        return States(found[0], found[1], found[2] if len(found) > 2 else None)
