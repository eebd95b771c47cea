"""doc/environments.md: its Python runs as it stands."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

pytest.importorskip("dm_control")
PAGE = (Path(__file__).resolve().parents[2] / "doc" / "environments.md").read_text()

PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def page():
    """What the page's programs without PyTorch, run one after the other, have defined and printed, and what each has
    observed.
    """
    names, out, seen = {}, io.StringIO(), []
    for program in PROGRAMS:
        if "import torch" in program:
            continue
        with contextlib.redirect_stdout(out):
            exec(compile(program, "doc/environments.md", "exec"), names)
        seen.append(names["observation"])
    yield names, out.getvalue(), seen
    for name in ("Reach-v0", "ReachOne-v0"):
        del gymnasium.registry[name]


def test_programs_run(page):
    _, printed, seen = page
    assert "episodes that ended: " in printed and "upright: 0.99" in printed
    parts = {"joints": (64, 2), "rates": (64, 2)}
    shapes = [x.shape if hasattr(x, "shape") else {name: part.shape for name, part in x.items()} for x in seen]
    assert shapes == [(64, 21), (21,), parts, (64, 4), (64, 48), (64, 105), (64, 105), (64, 24), (64, 48)]


def test_programs_with_pytorch_run(capsys):
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    names = {}
    for program in (PROGRAMS[0].split("\n\n\n")[0], *(x for x in PROGRAMS if "import torch" in x)):
        exec(compile(program, "doc/environments.md", "exec"), names)
    assert int(capsys.readouterr().out.rpartition(":")[2]) > 64 and names["observation"].shape == (64, 4)


def test_the_arm_of_the_page_reaches(page):
    """Its reward is the way to the target: actions along its gradient end episodes, none at all does not."""
    env = page[0]["ReachEnv"](8, "cpu", autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=3)
    begin = env.target.copy()
    jacobian = env.sim.jacobian("site", env.grasp)
    total, reached = np.zeros(8), np.zeros(8, bool)
    for _ in range(100):
        site = slice(3 * env.grasp, 3 * env.grasp + 3)
        gap = env.target - env.sim.site_xpos.numpy()[:, site]
        turn = np.einsum("nxv,nx->nv", jacobian.numpy().reshape(8, 6, -1)[:, :3, :7], gap)
        action = np.zeros(env.action_space.shape, np.float32)
        action[:, :7] = (env.sim.qpos.numpy()[:, :7] + 8 * turn - env.hold[:7]) / (0.5 * env.half[:7])
        _, reward, terminated, _, _ = env.step(np.clip(action, -1, 1))
        reached |= terminated
        total += reward
    assert np.array_equal(begin, env.target) and reached.sum() >= 4 and (total[reached] > 0).all()
    env.close()
