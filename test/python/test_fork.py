"""Sim.fork and Snapshot.select: worlds become copies of one, also of a sim of another size."""

import numpy as np
import pytest
import stet

SCENE = stet.scenes / "quadruped.xml"


@pytest.fixture(params=["mujoco", "native"])
def sims(request):
    with stet.Sim(SCENE, 5, physics=request.param, seed=3, threads=1) as large, \
            stet.Sim(SCENE, 2, physics=request.param, seed=4, threads=1) as small:
        large.reset(qpos_noise=0.1, qvel_noise=0.2)
        large.control_noise(0.5, 40)
        large.step(20)
        yield large, small


def run(sim, steps=15):
    sim.step(steps)
    return sim.qpos.numpy(), sim.qvel.numpy(), sim.time.numpy(), sim.sensordata.numpy()


def test_one_world_for_all(sims):
    large, small = sims
    before = large.snapshot()
    expected = run(large)
    large.restore(before)
    small.fork(3, of=large)
    assert all(np.array_equal(ours, theirs[[3, 3]]) for ours, theirs in zip(run(small), expected))
    large.fork([4, 0, 3, 3, 1])
    assert all(np.array_equal(ours, theirs[[4, 0, 3, 3, 1]]) for ours, theirs in zip(run(large), expected))
    large.fork(0, of=small)  # and back, into more worlds
    assert np.array_equal(large.qpos.numpy(), np.repeat(small.qpos.numpy()[:1], 5, axis=0))
    assert large.hash() == large.hash() and (large.time.numpy() == small.time.numpy()[0]).all()


def test_parameters_go_along(sims):
    large, small = sims
    large.set_parameter("body_mass", np.linspace(1, 3, 5)[:, None] * large.parameter("body_mass"))
    large.set_parameter("gravity", [0, 0, -5])
    small.set_parameter("friction", 0.1)
    small.fork(4, of=large)
    assert np.array_equal(small.parameter("body_mass"), large.parameter("body_mass")[[4, 4]])
    assert (small.parameter("gravity") == [0, 0, -5]).all() and (small.parameter("friction") == 1).all()
    expected = run(large)
    assert all(np.array_equal(ours, theirs[[4, 4]]) for ours, theirs in zip(run(small), expected))


def test_later_resets_differ(sims):
    _, small = sims
    small.fork(0)
    small.reset(qpos_noise=0.1)
    assert not np.array_equal(*small.qpos.numpy())


def test_select(sims):
    large, small = sims
    snapshot = large.snapshot()
    with pytest.raises(stet.InvalidArgumentError, match="the snapshot has 5 worlds, these are 2; select as many of it"):
        small.restore(snapshot)
    small.restore(snapshot.select([1, 1]))
    assert np.array_equal(small.qpos.numpy(), large.qpos.numpy()[[1, 1]])
    for bad, sentence in (([5], "there is no world 5 in the snapshot; it has 5"), ([-1], "no world -1"),
                          ([], "nworld is at least 1")):
        with pytest.raises(stet.InvalidArgumentError, match=sentence):
            snapshot.select(bad)


def test_refusals(sims):
    large, small = sims
    with pytest.raises(stet.InvalidArgumentError, match="a world is 5; it may be 0 to 4"):
        small.fork(5, of=large)
    with pytest.raises(stet.InvalidArgumentError, match="3 numbers of worlds for a sim of 2"):
        small.fork([0, 1, 2], of=large)
    with pytest.raises(stet.ArgumentTypeError, match="of is a stet.Sim, not a 'int'"):
        small.fork(0, of=3)
    with stet.Sim(stet.scenes / "cartpole.xml", 2, threads=1, physics=small.physics) as other, \
            pytest.raises(stet.InvalidArgumentError, match="the snapshot is of another model"):
        small.fork(0, of=other)
    other = "native" if small.physics == "mujoco" else "mujoco"
    with stet.Sim(SCENE, 2, threads=1, physics=other) as unlike, \
            pytest.raises(stet.InvalidArgumentError, match="make both alike"):
        small.fork(0, of=unlike)
