"""Rounds: bits of sims of their own, what goes in and comes out, staging, sweeps, pools, what is refused."""

import gc
import io

import numpy as np
import pytest

import stet
from conftest import KERNEL, SCENE, keywords

STEPS = 3


def values(k):
    """All kinds of inputs of a round in 5 worlds."""
    dice = np.random.default_rng(k)
    return {
        "qpos": dice.uniform(-0.2, 0.2, (5, 2)),
        "controls": dice.uniform(-1, 1, (STEPS, 5, 2)),
        "gravity": (0, 0.1 * k, -9.0 - k),
        "friction": np.linspace(0.5, 1, 5),
        "seed": k,
    }


def play(sim, r):
    for _ in range(STEPS):
        sim.step(2)
    out = r.end("qpos", "qvel", "xpos")
    return {name: x.tobytes() for name, x in out.items()}


@pytest.fixture
def alone(make, place):
    """The same round in a sim of its own."""

    def run(k):
        sim = make(**keywords(place))
        with sim.round(**values(k)) as r:
            return play(sim, r)

    return run


def test_rounds_are_sims_of_their_own(make, place, alone):
    want = [alone(k) for k in range(3)]
    assert len({w["qpos"] for w in want}) == 3
    sim = make(**keywords(place))
    for k in (2, 0, 0, 1, 2, 1):
        sim.step(4)  # what is done between two rounds leaves no trace
        sim.qpos[:] = 9
        with sim.round(**values(k)) as r:
            assert play(sim, r) == want[k], k
    info = sim.round_info()
    assert info["round"] == 6 and info["why"] is None and not info["open"]
    assert info["inputs"] == 5 and info["outputs"] == info["copied_out"] == 3


def test_later_rounds_copy_in_what_differs(make, place):
    sim = make(**keywords(place))
    for k in range(3):
        with sim.round(qpos=0.1, gravity=(0, 0, -5.0)) as r:
            assert r.number == k + 1 and r.open
            np.testing.assert_array_equal(sim.qpos.numpy(), np.full((5, 2), 0.1, "f4"))
            sim.step()
        assert not r.open
        info = sim.round_info()
        assert (info["copied_in"], info["why"]) == ((2, "first") if k == 0 else (0, None))
        assert info["seconds"] >= info["setup"] > 0 and info["faulty"] == 0
    with sim.round(qpos=0.1, gravity=(0, 0, -4.0)):
        pass
    info = sim.round_info()
    assert info["copied_in"] == 1 and info["bytes_in"] == 24
    assert sim.counters()["rounds"]["reasons"]["differs"] == 1


def test_broadcast_and_kinds(make):
    sim = make()
    with sim.round(qpos=[1, 2], qvel=np.zeros((5, 2), "i4"), ctrl=0, stiffness=2, controls=[[1, 0], [0.5, 0]]) as r:
        assert (sim.qpos.numpy() == [[1, 2]] * 5).all()
        sim.step()
        assert (sim.ctrl.numpy() == [[1, 0]] * 5).all()
        sim.step()
        sim.step()
        out = r.end("ctrl", sim.time)
    assert (out["ctrl"] == [[0.5, 0]] * 5).all()
    (key,) = [k for k in out if k != "ctrl"]
    assert key.name == "time" and np.allclose(out[key], 0.015)


def test_arrays_of_the_callers(make, place):
    sim = make(**keywords(place))
    x, y = (sim.zeros((5, 4), worlds=True, name=name) for name in "xy")
    kernel = sim.kernel(KERNEL)
    sim.add_kernel("after_physics", kernel, [x, y, 2.0, 1, 4])
    sim.contract(y, "zero")
    start = np.arange(20, dtype="f4").reshape(5, 4)
    for k in range(3):
        with sim.round({x: start + k, "qpos": 0.5}) as r:
            assert (y.numpy() == 0).all()
            sim.step()
            out = r.end(x, y, "qpos")
        assert (out[y] == 2 * (start + k) + 1).all() and (out[x] == start + k).all()
    other = sim.zeros((5, 4), worlds=True)
    other[:] = 7
    with sim.round({x: other}):
        assert (x.numpy() == 7).all()


def test_tensors_as_arrays(make):
    sim = make(isa="w1")
    tensor = np.zeros((5, 3), "f4")
    mine = sim.from_dlpack(tensor, worlds=True, nworld=5)
    with sim.round({mine: np.ones((5, 3))}) as r:
        assert (tensor == 1).all()
        tensor += 2
        assert (r.end(mine)[mine] == 3).all()
    with sim.round({mine: np.ones((5, 3))}):
        assert (tensor == 1).all()


def test_a_header_says_which_rows(make):
    sim = make()
    rows, header = sim.zeros((6, 2), "int32"), sim.zeros(2, "int64")
    rows[:] = np.arange(12).reshape(6, 2)
    with sim.round() as r:
        header[:] = [2, 3]
        out = r.end((rows, header))
    assert out[rows].tolist() == [[4, 5], [6, 7], [8, 9]]
    with sim.round() as r, pytest.raises(stet.LimitError, match="look at the kernel"):
        header[:] = [5, 3]
        r.end((rows, header))
    with sim.round():
        pass
    assert sim.round_info()["why"] == "failed"


def test_staged_rounds_are_the_same(make, place, alone):
    want = [alone(k) for k in range(3)]
    sim = make(**keywords(place))
    for k in (0, 1, 2, 0, 1):
        with sim.round(**values(k)) as r:
            staged = values((k + 1) % 3)
            sim.stage(**staged)
            staged["qpos"][:] = 9  # may change when stage() has returned
            assert play(sim, r) == want[k]


def test_seeds(make, place):
    noise = []
    for k in (0, 7, 7, 0, None):
        sim = make(**keywords(place), seed=0)
        with sim.round(**({} if k is None else {"seed": k})):
            sim.control_noise(0.5, 30)
            sim.reset(qpos_noise=0.1)
            noise.append(sim.ctrl.numpy().tobytes() + sim.qpos.numpy().tobytes())
    assert noise[1] == noise[2] != noise[0] == noise[3] == noise[4]


# ---- sweeps ----------------------------------------------------------------------------------------------------------


def test_sweep_is_a_grid(make, place):
    scene = SCENE.replace('<joint name="hinge"', '<joint damping=".3" name="hinge"')
    sim = make(scene, **keywords(place))
    axes = {"gravity": [-9.81, -5], "damping": [0, 1, 2]}
    got = sim.sweep(4, ("qpos", "xpos"), inputs={"qpos": 0.1}, **axes)
    assert got["qpos"].shape == (6, 5, 2) and got["xpos"].shape == (6, 5, 9)
    assert got["given_gravity"][:, 2].tolist() == [-9.81] * 3 + [-5] * 3
    assert got["given_damping"].tolist() == [0, 1, 2] * 2
    assert got["faulty"].tolist() == [0] * 6 and (got["seconds"] > got["setup_seconds"]).all()
    assert len({x.tobytes() for x in got["qpos"]}) == 6
    one = make(scene, **keywords(place))
    one.set_parameter("gravity", (0, 0, -5))
    one.set_parameter("damping", 1)
    one.qpos[:] = 0.1
    one.step(4)
    assert (one.qpos.numpy() == got["qpos"][4]).all()


def test_a_bar_shows_who_watches_how_far_a_sweep_is(make, monkeypatch):
    pytest.importorskip("tqdm")
    sim = make()
    for watched in True, False:
        shown = io.StringIO()
        shown.isatty = lambda watched=watched: watched
        monkeypatch.setattr("sys.stderr", shown)
        assert len(sim.sweep(1, gravity=[-1, -9])["qpos"]) == 2
        assert ("sweep:   0%" in shown.getvalue()) == watched


def test_sweep_of_seeds_with_a_function(make):
    sim = make()

    def run(which):
        assert which is sim
        for frame in range(3):
            sim.control_noise(0.5, 10 + frame)
            sim.step(2)

    got = sim.sweep(run, ["qpos"], seed=[3, 4, 3])
    assert (got["qpos"][0] == got["qpos"][2]).all() and (got["qpos"][0] != got["qpos"][1]).any()
    assert got["given_seed"].tolist() == [3, 4, 3]


def test_sweep_goes_through_rounds_that_fail(make, tmp_path):
    sim = make()
    got = sim.sweep(2, qpos=[np.zeros((5, 2)), np.full((5, 2), np.nan), np.zeros((5, 2))])
    assert got["faulty"].tolist() == [0, 5, 0]
    assert (got["qpos"][0] == got["qpos"][2]).all()
    np.savez(tmp_path / "rounds.npz", **got)
    with np.load(tmp_path / "rounds.npz") as file:
        assert set(file) == {"qpos", "given_qpos", "faulty", "setup_seconds", "seconds"}
        assert file["qpos"].shape == (3, 5, 2)


# ---- pools -----------------------------------------------------------------------------------------------------------

BALL = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"


def test_pool(make):
    with stet.Pool() as pool:
        pair, ball = pool.get(SCENE, 3, "cpu"), pool.get(BALL, 3, "cpu")
        assert pool.get(SCENE, 3, "cpu") is pair and pool.get(SCENE, 3, "cpu", seed=1) is not pair
        stats = pool.stats()
        assert (stats["sims"], stats["found"], stats["made"], stats["evicted"]) == (3, 1, 3, 0)
        assert stats["bytes"] >= pair.bytes + ball.bytes > 0
        ball.close()  # a closed one is made anew
        assert pool.get(BALL, 3, "cpu") is not ball
    assert pair.closed


def test_pool_lets_the_oldest_go(make):
    with stet.Pool(0) as pool:
        pair = pool.get(SCENE, 2, "cpu")
        assert not pair.closed, "the one that was asked for stays, however large it is"
        with pair.round():
            ball = pool.get(BALL, 2, "cpu")
            assert not pair.closed, "one is in its round"
        again = pool.get(BALL, 2, "cpu")
        assert again is ball and pair.closed
        with pytest.raises(stet.StateError):
            pair.step()
        assert pool.stats()["evicted"] == 1


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_refused_in_sentences(make):
    sim, other = make(), make()
    far, near = other.zeros(3), sim.zeros(3)
    cases = [
        (lambda: sim.round(speed=1), stet.NotFoundError, "no value 'speed'; the worlds' fields are qpos"),
        (lambda: sim.round(qpos=np.zeros((4, 2))), stet.InvalidArgumentError, r"shape \(4, 2\)"),
        (lambda: sim.round(sensordata=0), stet.InvalidArgumentError, "made by the physics"),
        (lambda: sim.round(gravity=(1, 2)), stet.InvalidArgumentError, "give 3"),
        (lambda: sim.round(friction=-1), stet.InvalidArgumentError, "0 or more"),
        (lambda: sim.round(friction="much"), stet.InvalidArgumentError, "numbers are wanted"),
        (lambda: sim.round(controls=[1, 2]), stet.InvalidArgumentError, r"\[frame, nu\]"),
        (lambda: sim.round(controls=np.zeros((2, 3))), stet.InvalidArgumentError, "controls of 2 frames"),
        (lambda: sim.round(seed=-1), stet.InvalidArgumentError, "seed is -1"),
        (lambda: sim.round(seed=1.5), stet.ArgumentTypeError, "whole number"),
        (lambda: sim.round({far: 1}), stet.InvalidArgumentError, "not one of this sim's"),
        (lambda: sim.round({3: 1}), stet.ArgumentTypeError, "str or stet.Array, not 'int'"),
        (lambda: sim.round([1]), stet.ArgumentTypeError, "a dict"),
        (lambda: sim.round({"qpos": 1}, qpos=2), stet.InvalidArgumentError, "an input twice"),
        (lambda: sim.contract(near, "copy_in"), stet.InvalidArgumentError, "cannot be stated"),
        (lambda: sim.contract(near, "often"), stet.NotFoundError, "no contract 'often'"),
        (lambda: sim.contract(sim.qpos, "zero"), stet.InvalidArgumentError, "a field of the worlds"),
        (lambda: sim.sweep(2, gravity=-5), stet.ArgumentTypeError, "gravity is a list"),
        (lambda: sim.sweep(2, gravity=[]), stet.InvalidArgumentError, "no values"),
        (lambda: sim.sweep("far"), stet.ArgumentTypeError, "a number of steps or a function"),
        (lambda: sim.sweep(2, damping=[1, -1]), stet.InvalidArgumentError, "0 or more"),
        (lambda: stet.Pool(-1), stet.InvalidArgumentError, "a number of bytes"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind, match=words):
            call()
        assert sim.round_info()["round"] == 0, words
    with sim.round() as r:
        with pytest.raises(stet.NotFoundError, match="no value 'speed'"):
            r.end("speed")
    with pytest.raises(stet.StateError, match="round 1 is over"):
        r.end()


def test_all_worlds_nan_and_ready_again(make, alone, place):
    sim = make(**keywords(place))
    with sim.round(qpos=np.nan) as r:
        sim.step()
        with pytest.raises(stet.StateError, match="all 5 worlds became NaN"):
            r.end("qpos")
    assert sim.round_info()["faulty"] == 5
    with sim.round(qpos=np.nan) as r:
        sim.step()
        assert r.end("qpos", allow_faulty=True)["qpos"].shape == (5, 2)
    with sim.round(**values(1)) as r:
        assert play(sim, r) == alone(1)


def test_left_by_an_exception(make, alone, place):
    sim = make(**keywords(place))
    with pytest.raises(ZeroDivisionError):
        with sim.round(qpos=0.3) as r:
            sim.step()
            1 / 0
    assert not r.open
    first = sim.round(qpos=0.3)  # begun and left
    with sim.round(**values(2)) as r:
        assert not first.open and play(sim, r) == alone(2)
    sim.close()
    assert not r.open
    with pytest.raises(stet.StateError):
        sim.round()


def test_memory_is_flat(make):
    from stet import _core

    sim = make()
    x = sim.zeros((5, 4), worlds=True)
    for k in range(600):
        with sim.round({x: float(k % 3)}, qpos=0.1 * (k % 2), seed=k % 5) as r:
            sim.stage({x: float((k + 1) % 3)}, qpos=0.1 * ((k + 1) % 2), seed=(k + 1) % 5)
            r.end("qpos", x)
        if k == 100:
            gc.collect()
            before = _core._memory()
    gc.collect()
    after = _core._memory()
    assert (after["blocks"], after["bytes"], after["allocations"]) == (
        before["blocks"],
        before["bytes"],
        before["allocations"],
    )
