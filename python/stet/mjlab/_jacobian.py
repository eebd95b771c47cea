"""The Jacobian of mjlab's DifferentialIKAction, from what stet's data hold: as all that the action reads, that of the
last evaluation. mjlab asks mujoco_warp for it.
"""

from __future__ import annotations

from typing import Any

import mujoco
import torch


def _turn(positions: torch.Tensor, rotations: torch.Tensor, dofs: Any, axes: torch.Tensor, arms: torch.Tensor) -> None:
    """Columns of dofs that turn about axes [worlds, n, 3]; arms: from the axes to the point."""
    rotations[:, :, dofs] = axes.transpose(1, 2)
    positions[:, :, dofs] = torch.linalg.cross(axes, arms).transpose(1, 2)


def fill_jacobian(model: mujoco.MjModel, data: Any, body: int, point: torch.Tensor, positions: torch.Tensor,
                  rotations: torch.Tensor) -> None:
    """mj_jac of a point [worlds, 3] that is fixed to a body, into two tensors [worlds, 3, nv]."""
    positions.zero_()
    rotations.zero_()
    joints: list[list[int]] = [[], [], [], []]  # by type
    while body:
        first = model.body_jntadr[body]
        for joint in range(first, first + model.body_jntnum[body]):
            joints[int(model.jnt_type[joint])].append(joint)
        body = model.body_parentid[body]
    arm = point[:, None] - data.xanchor
    free, balls, slides, hinges = joints
    _turn(positions, rotations, model.jnt_dofadr[hinges], data.xaxis[:, hinges], arm[:, hinges])
    positions[:, :, model.jnt_dofadr[slides]] = data.xaxis[:, slides].transpose(1, 2)
    for joint in free + balls:
        dof = model.jnt_dofadr[joint]
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            positions[:, range(3), range(dof, dof + 3)] = 1
            dof += 3
        axes = data.xmat[:, model.jnt_bodyid[joint]].transpose(1, 2)
        _turn(positions, rotations, range(dof, dof + 3), axes, arm[:, joint, None].expand(-1, 3, -1))


def compute_jacobian(action: Any) -> None:
    """In place of DifferentialIKAction._compute_jacobian."""
    sim = action._env.sim
    fill_jacobian(sim.mj_model, sim.data, action._body_id, action._point_torch, action._jacp_torch, action._jacr_torch)
