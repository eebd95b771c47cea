"""Types of the package as mypy and pyright see them in strict mode: the stub of the extension, and a program over all
of it.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stet

pytest.importorskip("mypy")
pytest.importorskip("gymnasium")

PROGRAM = '''
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import stet
import stet.control
import stet.data
import stet.gym

with stet.Sim(stet.scenes / "arm_table.xml", worlds=4, device="cpu", physics="native", threads=1) as sim:
    sim.ctrl[:] = 0.1
    sim.step(3)
    x: np.ndarray = sim.qpos.numpy()
    sim.restore(sim.snapshot())
    sim.use_stream(None)
    assert_type(sim.model, stet.Model)
    assert_type(sim.model.joints, list[str])
    assert_type(stet.Sim.parameters, list[str])
    assert_type(sim.jacobian("site", 0), stet.Array)
    assert_type(sim.qacc, stet.Array)
    assert_type(sim.cameras, list[str])
    assert_type(sim.outputs, tuple[str, ...])
    assert_type(sim.nworld, int)
    assert_type(sim.hash(), int)
    torque: np.ndarray = sim.inverse_dynamics(np.zeros((4, sim.model.nv)))
    dofs: np.ndarray = sim.model.jnt_dofadr
    with sim.round(qpos=x) as r:
        sim.step(2)
        out = r.end("qpos")
        assert_type(out["qpos"], NDArray[Any])
    grid = sim.sweep(1, ["qpos"], gravity=[-9.81, -5])
    rows: int = grid["qpos"].shape[0]
    sim.set_parameter("gravity", (0, 0, -5))
    limb = stet.control.Limb(sim, site="grasp")
    assert_type(limb.joints, list[str])
    q, error = stet.control.InverseKinematics(limb, damping=0.1).solve((0.5, 0, 0.6), iterations=2)
    sim.ctrl.write(limb.controls(stet.control.JointPD(limb, 10, 1).force(q)))
    limb.applied(stet.control.OperationalSpace(limb, 10, 1).force((0.5, 0, 0.6)))
    state = stet.gym.State(sim)
    positions = [state.qpos, state.of_step("xpos")]

with stet.Pool() as pool:
    assert_type(pool.get(stet.scenes / "cartpole.xml", worlds=2, device="cpu"), stet.Sim)
    assert_type(pool.stats(), dict[str, int])
assert_type(stet.load(stet.scenes / "hand.xml").nq, int)


class Mine(stet.gym.VectorEnv):
    """An environment of one's own."""

    randomize = [stet.gym.Randomize("friction", uniform=(0.5, 1.0), operation="scale")]

    def setup(self) -> None:
        self.last = np.zeros((self.num_envs, self.sim.model.nu))

    def observation(self, state: stet.gym.State) -> np.ndarray:
        return np.asarray(state.qpos)

    def reward(self, state: stet.gym.State, action: np.ndarray) -> dict[str, np.ndarray]:
        return {"none": np.zeros(self.num_envs)}

    def begin(self, qpos: np.ndarray, qvel: np.ndarray, draws: stet.gym.Draws) -> None:
        qpos += draws.uniform(-0.1, 0.1, 2)


def look(sim: stet.Sim, folder: str) -> str:
    with sim.view(speed=1.0, rate=5) as viewer, stet.data.Writer(folder, sim, notes={"seed": 1}) as data:
        data.add(done=None, reward=np.zeros(sim.nworld))
        return viewer.url


class MineAlone(stet.gym.Env):
    vector_type = Mine


vectors: list[tuple[gymnasium.vector.VectorEnv[Any, Any, Any], np.ndarray]] = [
    (Mine(stet.scenes / "cartpole.xml", 4, "cpu", max_episode_steps=10), np.zeros((4, 1), np.float32)),
    (stet.gym.CartPoleVectorEnv(4, "cpu"), np.zeros(4, np.int64))]
for env, action in vectors:
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(action)
    env.close()
one = stet.gym.CartPoleEnv("cpu")
one.reset(seed=1)
one.step(one.action_space.sample())
one.close()
'''


def check(*arguments):
    """What mypy finds wrong, from the package as a user has it: it is followed, its own code is not reported."""
    folder = Path(stet.__file__).parent.parent
    out = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
                          "--cache-dir=/dev/null", *arguments], capture_output=True, text=True, check=False,
                         cwd="/", env={**os.environ, "MYPYPATH": str(folder)})
    return out.stdout + out.stderr


def check_by_pyright(folder, *files):
    """What pyright (basedpyright, which a wheel brings) finds wrong in strict mode."""
    pytest.importorskip("basedpyright")
    packages = [str(Path(stet.__file__).parent.parent), str(Path(pytest.__file__).parent.parent)]
    packages.append(str(Path(np.__file__).parent.parent))
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": packages}))
    out = subprocess.run([sys.executable, "-m", "basedpyright", "--project", str(folder / "pyrightconfig.json"),
                          *map(str, files)], capture_output=True, text=True, check=False, cwd=folder)
    return out.stdout


MISTAKES = """import stet
sim = stet.Sim('x.xml', wrlds=3)
sim.step('three')
sim.model.nose
sim.qpos = 3
sim.qops = 3
"""


@pytest.fixture
def files(tmp_path):
    """The program, the stub, and a file with mistakes in lines 2 to 6: looked at together, for most of the time goes
    into NumPy's own types.
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    return [tmp_path / "program.py", Path(stet.__file__).with_name("_core.pyi"), tmp_path / "mistakes.py"]


def mistaken(said, kind):
    """Lines of the mistakes' file that errors name; no error may name another file."""
    found = re.findall(rf"(\S*):(\d+):.*\b{kind}\b", said)
    assert found and all(Path(file).name == "mistakes.py" for file, _ in found), said
    return {int(line) for _, line in found}


def test_mypy_finds_mistakes_and_nothing_else(files):
    assert mistaken(check(*map(str, files)), "error") == {2, 3, 4, 5, 6}


def test_pyright_finds_mistakes_and_nothing_else(files):
    assert {2, 4} <= mistaken(check_by_pyright(files[0].parent, *files), "error") <= {2, 3, 4, 5, 6}


def test_the_program_runs():
    exec(compile(PROGRAM, "program.py", "exec"), {"__name__": "program"})
