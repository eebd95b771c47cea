"""mjlab's guard against NaN, over stet: it writes the states before, and says in which world."""

import mujoco
import numpy as np
import stet.mjlab
from mjlab.sim import SimulationCfg
from mjlab.utils.nan_guard import NanGuardCfg


def test_the_guard_writes_the_states_before_and_names_the_world(tmp_path, capsys):
    ball = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    spec = mujoco.MjSpec.from_string(ball)
    config = SimulationCfg(nan_guard=NanGuardCfg(enabled=True, output_dir=str(tmp_path), buffer_size=4))
    simulation = stet.mjlab.Simulation(3, config, spec=spec, device="cpu")
    for _ in range(3):
        simulation.step()
    assert not list(tmp_path.iterdir())
    simulation.data.qpos[1, 2] = float("nan")
    simulation.step()
    with np.load(tmp_path / "nan_dump_latest.npz", allow_pickle=True) as dump:
        assert len([name for name in dump.files if name.startswith("states_step_")]) == 4
        assert dump["_metadata"].item()["nan_env_ids"] == [1]
    assert "NaN/Inf found in envs: [1]" in capsys.readouterr().out
