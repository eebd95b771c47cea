"""What the library reports is in Python's logging, as the logger "stet"."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import stet
from conftest import SCENE

DIVERGE = "import stet\nsim = stet.Sim({scene!r}, worlds=2, physics='mujoco')\nsim.qvel[:] = 1e30\nsim.step()\n"


def diverge(worlds=40, threads=4):
    """Steps whose velocities are beyond all bounds: MuJoCo warns, in threads of stet's."""
    sim = stet.Sim(SCENE, worlds, "cpu", physics="mujoco", threads=threads)
    sim.qvel[:] = 1e30
    sim.step()
    return sim


def test_warnings_from_threads_are_messages(caplog):
    diverge()
    warnings = [record for record in caplog.records if record.name == "stet"]
    assert len(warnings) == 40 and {record.levelname for record in warnings} == {"WARNING"}
    assert all(record.getMessage().startswith("MuJoCo: ") for record in warnings)


def test_information_is_there_for_those_who_ask(caplog):
    caplog.set_level(logging.INFO, "stet")
    with stet.Sim(SCENE, device="auto") as sim:
        if sim.device.type != "cpu":
            pytest.skip("a GPU was found")
    assert any(record.getMessage().startswith("device auto: no GPU") for record in caplog.records)


LACKING = """<mujoco><option{option}/><worldbody><body><freejoint/><geom size=".1"/><site name="a"/></body>
<camera name="t" mode="track"/></worldbody><sensor>{sensors}</sensor></mujoco>"""


def test_auto_says_that_it_took_mujocos_physics(caplog):
    """With all of the reason, however long it is."""
    many = '<framepos objtype="camera" objname="t"/>', '<framepos objtype="site" objname="a" nsample="3"/>', \
        '<distance geom1="g" geom2="h"/>'
    scene = LACKING.format(option=' integrator="RK4"', sensors="".join(many))
    scene = scene.replace('<geom size=".1"/>', '<geom name="g" size=".1"/><geom name="h" size=".1" pos="1 0 0"/>')
    scene = scene.replace("<option ", '<option><flag nativeccd="disable"/></option><option ')
    scene = scene.replace("<camera ", '<geom size=".1" pos="0 0 9" gap=".1"/><camera ')
    with stet.Sim(scene) as sim:
        assert sim.physics == "mujoco"
        reason = sim.physics_reason
    with pytest.raises(stet.UnsupportedError) as refused:
        stet.Sim(scene, physics="native")
    lacks = reason.removeprefix("native physics lacks ")
    assert f"needs: {lacks};" in str(refused.value) and len(lacks.split(", ")) >= len(many)
    said = [record.getMessage() for record in caplog.records if record.name == "stet"]
    assert len(said) == 1 and reason in said[0] and 'physics="mujoco"' in said[0]
    caplog.clear()
    stet.Sim(scene, physics="mujoco").close()
    stet.Sim(SCENE).close()
    assert not caplog.records


def test_floods_end(caplog):
    diverge(3000)
    records = [record.getMessage() for record in caplog.records if record.name == "stet"]
    assert len(records) == 1001 and records[-1] == "2000 more messages at once"


def test_a_handler_may_use_the_library_and_may_fail(monkeypatch):
    class Curious(logging.Handler):
        def emit(self, record):
            seen.append(stet.load(SCENE).nq)
            if len(seen) == 2:
                raise RuntimeError("it fails")

    seen, failed, handler, logger = [], [], Curious(), logging.getLogger("stet")
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    logger.addHandler(handler)
    try:
        sim = diverge(3)
    finally:
        logger.removeHandler(handler)
    assert seen == [2, 2, 2] and [str(one.exc_value) for one in failed] == ["it fails"]
    assert np.isfinite(sim.qpos.numpy()).all()


@pytest.mark.parametrize("setup, shown", [("", False), ("import logging; logging.basicConfig()\n", True)])
def test_a_program_without_logging_stays_silent(setup, shown):
    done = subprocess.run([sys.executable, "-c", setup + DIVERGE.format(scene=SCENE)], capture_output=True, text=True)
    assert done.returncode == 0 and ("WARNING:stet:MuJoCo: " in done.stderr) == shown == bool(done.stderr), done.stderr


def test_threads_that_are_in_each_others_way(caplog):
    from stet._arrays import hint_threads

    with caplog.at_level(logging.WARNING, "stet"):
        for threads in ((1, 16, 16), (16, 1, 16), (4, 4, 16)):
            hint_threads(*threads)
        assert caplog.text == ""
        for _ in range(2):
            hint_threads(16, 15, 16)
    assert caplog.text.count("Try torch.set_num_threads(1)") == 1
    assert "with 16 threads, and the sim with 15, on 16" in caplog.text
