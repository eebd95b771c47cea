"""mjlab's tasks on stet: import this module before an environment is made.

    import stet.mjlab                                  # from here on mjlab's environments step stet's worlds
    from mjlab.envs import ManagerBasedRlEnv

    python -m stet.mjlab train|play TASK …             # mjlab's own scripts, on stet

mjlab 1.6 is written against mujoco_warp 3.11. In place of its Simulation this module puts one of the same interface:
the scene is exported (options from MujocoCfg, meshes from the entities), stet steps it with native physics, and
`sim.data`, `sim.model` are PyTorch's tensors over stet's arrays. What an environment reads after a step is what
MuJoCo's data hold then, one time step late, until `forward`: stet's quantities of the step. Fields that mjlab expands
for domain randomisation are parameters of stet's, whose derived constants follow by themselves.

Rays and cameras of mjlab's sensors are cast by mujoco_warp's kernels, over stet's poses; the Jacobian of its inverse
kinematics is computed from stet's. What stet lacks is refused by name: entities with variants, fields that are no
parameter, a model that native physics does not cover.
"""

from __future__ import annotations

from .._errors import UnsupportedError
from .._libraries import check_libraries

check_libraries("stet.mjlab", mjlab="mjlab", mujoco_warp="mujoco-warp", torch="torch")

from ._simulation import Simulation, install, uninstall  # noqa: E402

__all__ = ["Simulation", "UnsupportedError", "install", "uninstall"]

install()
