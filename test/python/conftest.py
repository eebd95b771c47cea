"""What the tests of the Python package share. `gpu` is this machine's CUDA device, or the test is skipped; a skip that
test/skips.txt does not list fails the run. With STET_TEST_DRAW=K in the environment one in K of the tests with
parameters is run, which the run's seed draws (STET_TEST_SEED)."""

import gc
import os
import pathlib
import random
import re
import time

import pytest

import stet
from stet import _core

# Two bodies, two joints with motors, two cameras, two keyframes: enough of everything, and small.
SCENE = """
<mujoco model="pair">
  <option timestep="0.005"/>
  <visual><global offwidth="64" offheight="64"/></visual>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
    <camera name="top" pos="0 0 3"/>
    <geom type="plane" size="2 2 .1" rgba=".5 .6 .7 1"/>
    <body name="arm" pos="0 0 1">
      <joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0" rgba="1 .2 .2 1"/>
      <body name="tip" pos=".5 0 0">
        <joint name="wrist" axis="0 0 1"/>
        <geom type="box" size=".1 .1 .1" rgba=".2 1 .2 1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="lift" joint="hinge" ctrlrange="-1 1" gear="5"/>
    <motor name="turn" joint="wrist" ctrlrange="-2 2"/>
  </actuator>
  <sensor><jointpos joint="hinge"/></sensor>
  <keyframe><key name="home" qpos=".1 .2"/><key name="bent" qpos=".5 -.5"/></keyframe>
</mujoco>
"""

# Adds what a test needs: y = scale * x + n in every item of arrays of worlds.
KERNEL = """#include "stet/lang.h"
world_kernel void k_scale(const real *x, real *y, ureal scale, int n, int count, int world)
{
    each (i, count) put(y, i, fma(splat(scale), x[i], splat(n)));
}
"""


SKIPS = pathlib.Path(__file__).parents[1] / "skips.txt"
bad_skips = []


def allowed_skips(test):
    """Expressions of the reasons for which a test may skip, by the list, less those that STET_NO_SKIP names."""
    causes, allowed = {}, set()
    for line in SKIPS.read_text().splitlines():
        name, cause, rest = line.partition(" = ")
        if cause and not line.startswith("#"):
            causes[name] = rest.rpartition("|")[0].strip()
        elif line.startswith(test + " "):
            allowed = set(line.split()[1:])
    return [causes[name] for name in allowed - set(os.environ.get("STET_NO_SKIP", "").split())]


def check_skip(report):
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    test = "python/" + re.search(r"test_(\w+)\.py", report.nodeid).group(1)
    if not any(re.search(cause, reason) for cause in allowed_skips(test)):
        bad_skips.append(f"{report.nodeid} skips ({reason}), which test/skips.txt does not allow {test}: install what "
                         "it needs, or add its cause there")


def pytest_collection_modifyitems(config, items):
    step = int(os.environ.get("STET_TEST_DRAW", 1))
    if step <= 1:
        return
    seed = int(os.environ.get("STET_TEST_SEED", time.time()))
    dice, all_of_them = random.Random(seed), list(items)
    items[:] = [item for item in all_of_them if not hasattr(item, "callspec") or dice.randrange(step) == 0]
    left_out = [item for item in all_of_them if item not in items]
    config.hook.pytest_deselected(items=left_out)
    config.pluginmanager.get_plugin("terminalreporter").write_line(
        f"STET_TEST_SEED={seed}: {len(items)} of {len(all_of_them)} tests; the test <name>_whole runs all")


def pytest_runtest_logreport(report):
    check_skip(report)


def pytest_collectreport(report):
    check_skip(report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if bad_skips:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    for line in bad_skips:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Compiled kernels go to a folder of this run."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def gpu():
    try:
        stet.Sim(SCENE, device="cuda").close()
    except stet.Error as error:
        pytest.skip(f"no GPU: {error}")
    return "cuda"


@pytest.fixture
def make(monkeypatch):
    """Makes sims that are closed at the test's end; nothing of them may be alive then."""
    gc.collect()
    before = _core._alive()
    sims = []

    def make_sim(scene=SCENE, worlds=5, device="cpu", **more):
        sims.append(stet.Sim(scene, worlds, device, threads=2, **more))
        return sims[-1]

    yield make_sim
    for sim in sims:
        sim.close()
    del sims[:]
    gc.collect()
    assert _core._alive()["owned"] <= before["owned"]


def gpu_works():
    try:
        stet.Sim(SCENE, device="cuda").close()
    except stet.Error:
        return False
    return True


def keywords(place):
    """Arguments of Sim for a place: a device, or an instruction set of the CPU."""
    return {"device": place} if place in ("cpu", "cuda") else {"device": "cpu", "isa": place}


# The CPU with the machine's widest lanes, with 4 of them, with one; and a GPU, where there is one.
ON_CPU = ["cpu", "portable", "w1"]
PLACES = ON_CPU + ["cuda"] * gpu_works()


@pytest.fixture(params=PLACES)
def place(request):
    return request.param


@pytest.fixture
def sim(place, make):
    return make(**keywords(place))
