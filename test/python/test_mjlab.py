"""stet.mjlab without mjlab: over a double of its interface (mjlab_fake.py), against what its Simulation over
mujoco_warp held after the same calls (mjlab_calls.py). With mjlab: test/clients.
"""

import subprocess
import sys
import types

import mjlab_calls
import numpy as np
import pytest
import stet

# Whether mjlab is installed or not, it is not found.
WITHOUT = """import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "mjlab" else find(name, *rest)
import stet
try:
    import stet.mjlab
except stet.UnsupportedError as error:
    print(error)
"""
NEAR = 1e-5  # of the greatest number of an array, at least 1; mujoco_warp's are in float, too


def test_it_says_what_it_needs():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stet.mjlab needs mjlab") and "pip install mjlab" in done.stdout


@pytest.fixture(scope="module")
def fake():
    pytest.importorskip("torch")
    import mjlab_fake

    with mjlab_fake.installed() as modules:
        import stet.mjlab

        yield types.SimpleNamespace(modules=modules, entity=mjlab_fake.entity, config=mjlab_fake.config)


def make_simulation(fake, worlds=mjlab_calls.WORLDS, **more):
    with np.load(mjlab_calls.STORED) as stored:
        config = fake.config(str(stored["options"]))
    robot = fake.entity(mjlab_calls.SCENE)
    scene = fake.modules["mjlab.scene.scene"].Scene(robot.spec, {"": robot})
    return fake.modules["mjlab.sim"].Simulation(worlds, config, spec=scene.spec, device="cpu", **more)


def test_data_are_mujoco_warps_after_the_same_calls(fake):
    import torch
    from stet.mjlab._jacobian import fill_jacobian

    simulation = make_simulation(fake)

    def fill(body, point, positions, rotations):
        fill_jacobian(simulation.mj_model, simulation.data, body, point, positions, rotations)

    ours = mjlab_calls.make_calls(simulation, None, torch) | mjlab_calls.jacobian(fill, torch, simulation)
    assert simulation.nan_guard.watched == mjlab_calls.STEPS + 1 and not simulation.nan_guard.found
    with np.load(mjlab_calls.STORED) as stored:
        assert set(ours) == set(stored.files) - {"wheels", "options"}
        for name, array in ours.items():
            theirs = stored[name]
            assert array.shape == theirs.shape, name
            assert np.abs(array - theirs).max() <= NEAR * max(1, np.abs(theirs).max()), name


def test_tensors_last_and_what_a_step_left_is_late(fake):
    simulation = make_simulation(fake, 2)
    data = simulation.data
    qpos, before = data.qpos, data.xpos.clone()
    qpos[:, 2] += 1
    assert (data.xpos == before).all()  # of the last evaluation
    simulation.forward()
    assert data.qpos is qpos and np.allclose(data.xpos[:, 1, 2], before[:, 1, 2] + 1)
    simulation.step()
    fell = data.xpos[:, 1, 2].clone()
    simulation.forward()
    assert (data.xpos[:, 1, 2] < fell).all()


def test_only_the_worlds_of_a_reset_begin_anew(fake):
    import torch

    simulation = make_simulation(fake)
    simulation.step()
    before = simulation.data.qpos.clone()
    simulation.reset(torch.tensor([0, 2]))
    assert (simulation.data.qpos[1] == before[1]).all() and simulation.data.time.tolist()[0::2] == [0, 0]
    assert np.allclose(simulation.data.qpos[0], simulation.mj_model.qpos0) and simulation.data.time[1] > 0
    simulation.reset()
    assert np.allclose(simulation.data.qpos, simulation.mj_model.qpos0)


def test_a_world_that_is_lost_stays_so_for_the_guard(fake):
    simulation = make_simulation(fake)
    simulation.data.qpos[1, 2] = float("nan")
    simulation.step()
    assert simulation.nan_guard.found == {1}


def test_what_stet_lacks_is_refused_by_name(fake):
    with pytest.raises(stet.UnsupportedError, match="cube: entities with variants"):
        make_simulation(fake, variant_info=[("cube/", None)])
    simulation = make_simulation(fake, 1)
    with pytest.raises(stet.UnsupportedError, match="mesh_pos does not differ between worlds"):
        simulation.expand_model_fields(("mesh_pos",))
    with pytest.raises(ValueError, match="no_such_field"):
        simulation.expand_model_fields(("no_such_field",))
    with pytest.raises(AttributeError, match="the data have no 'no_such_array'"):
        simulation.data.no_such_array
    with pytest.raises(stet.InvalidArgumentError, match="give spec="):
        type(simulation)(1, simulation.cfg, simulation.mj_model)


def test_it_can_be_taken_back(fake):
    import stet.mjlab

    package, own = fake.modules["mjlab.sim"], stet.mjlab.Simulation
    stet.mjlab.uninstall()
    assert package.Simulation is not own and issubclass(own, package.Simulation)
    stet.mjlab.install()
    assert package.Simulation is own
