"""One process among others: Ctrl-C in a long step, children that were forked."""

import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stet
from conftest import SCENE

ENDLESS = 1_000_000_000


def interrupt_soon(number=signal.SIGINT):
    """Sends this process a signal as soon as a step has surely begun; it comes early or late, and the step is endless.
    """
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.start()
    return timer


def test_ctrl_c_ends_a_long_step():
    sim, twin = (stet.Sim(SCENE, worlds=99, threads=2) for _ in range(2))
    for _ in range(2):
        timer = interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            sim.step(ENDLESS)
            timer.join()  # never reached
    times = sim.time.numpy()
    assert (times == times[0]).all() and times[0] > 0, times  # all worlds between the same two time steps
    for _ in range(3):
        sim.step(4)
    steps = round(float(times[0, 0]) / 0.005)
    twin.step(steps)
    twin.step(12)
    assert np.array_equal(sim.qpos.numpy(), twin.qpos.numpy())


def test_a_handler_that_raises_nothing():
    """A signal's handler is called in the step, which goes on."""
    sim, seen = stet.Sim(SCENE, worlds=3), []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    ended = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt_soon(signal.SIGUSR1)
        threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            sim.step(ENDLESS)
        assert seen == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.signal(signal.SIGINT, ended)


def test_another_thread_is_not_asked():
    """Handlers run in the main thread, which is in Python; a step of another thread goes its way."""
    sim, done = stet.Sim(SCENE, worlds=4), []
    thread = threading.Thread(target=lambda: done.append(sim.step(20_000)))
    thread.start()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:
            time.sleep(0.01)
    thread.join(120)
    assert done == [None]


def steps_of(sim):
    sim.step(30)
    return sim.qpos.numpy()


def allocate(sim):
    return sim.zeros((4, 1)).numpy()


def use_in_child(pipe, sim, use):
    try:
        pipe.send(use(sim if sim else stet.Sim(SCENE, worlds=40, threads=3, device="cpu")))
    except BaseException as error:  # noqa: BLE001
        pipe.send(error)


def result_of_child(sim, use=steps_of):
    """What a forked child has, which must answer within a minute."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=use_in_child, args=(theirs, sim, use))
    child.start()
    try:
        assert ours.poll(60), "the child hangs"
        answer = ours.recv()
        child.join(60)
        assert child.exitcode == 0
        return answer
    finally:
        child.kill()


@pytest.mark.parametrize("used_before", [False, True])
def test_a_forked_child_on_the_cpu(used_before):
    sim = stet.Sim(SCENE, worlds=40, threads=3, device="cpu")
    alone = steps_of(stet.Sim(SCENE, worlds=40, threads=3, device="cpu"))
    if used_before:
        stet.Sim(SCENE, worlds=40, threads=3, device="cpu").step(500)
    assert np.array_equal(result_of_child(None), alone)  # a sim of its own
    assert np.array_equal(result_of_child(sim), alone)  # the parent's
    assert np.array_equal(steps_of(sim), alone)  # of which the parent's half knows nothing


def test_a_forked_child_on_a_gpu(gpu):
    sim = stet.Sim(SCENE, worlds=4, device=gpu)
    sim.step(3)
    answer = result_of_child(sim, allocate)
    assert isinstance(answer, stet.StateError) and "spawn" in str(answer), answer


def test_models_are_pickled():
    """Another process makes of a pickled model the same worlds."""
    program = "import pickle, sys; s = pickle.load(sys.stdin.buffer); m = s.pop('model'); import stet\n" \
              "sim = stet.Sim(m, **s); sim.step(4); print(m.path, sim.hash())"
    for scene in (SCENE, stet.scenes / "hand.xml"):
        model, how = stet.load(scene), {"worlds": 3, "device": "cpu", "threads": 1}
        out = subprocess.run([sys.executable, "-c", program], input=pickle.dumps({"model": model, **how}),
                             capture_output=True, check=True).stdout.decode()
        with stet.Sim(model, **how) as sim:
            sim.step(4)
            assert out.rstrip("\n") == f"{model.path} {sim.hash()}"


def test_snapshots_are_pickled():
    """They bring a sim of a model loaded again to where another one was."""
    with stet.Sim(SCENE, 3, "cpu", threads=1) as sim, stet.Sim(SCENE, 3, "cpu", threads=1) as other:
        sim.ctrl[:] = 0.5
        sim.step(7)
        data = pickle.dumps(sim.snapshot())
        assert re.fullmatch(r"<stet\.Snapshot, \d+ bytes>", repr(sim.snapshot()))
        other.restore(pickle.loads(data))
        assert other.hash() == sim.hash()
    assert len(data) < 5000, "the model is not in it"
    with pytest.raises(stet.ParseError, match="damaged"):
        pickle.loads(data.replace(b"stetwrld", b"stetwrle"))


def test_bytes_that_are_no_model():
    with pytest.raises(stet.ParseError, match="MuJoCo cannot load it"):
        stet.sim._load_bytes(b"no model", "x.xml")


def test_kf59_the_end_waits_for_no_compiler(tmp_path):
    """A sim, its device and the interpreter end while code for the model is compiled, by a compiler that never ends."""
    double = os.path.join(os.path.dirname(stet.__file__), "..", "..", "test", "double", "libdouble_cuda.so")
    if not os.path.exists(double):
        pytest.skip("not in a build tree")
    for name in ("libcuda.so.1", "libnvrtc.so.13"):
        os.symlink(os.path.realpath(double), tmp_path / name)
    held = tmp_path / "held"
    text = f"""import os, stet, sys, time
sim = stet.Sim({SCENE!r}, worlds=256, device="cuda", physics="native")
sim.step()
sim.qpos.numpy()
while not os.path.exists({str(held)!r}):
    time.sleep(.01)
sim.close()
print("done", end="")
sys.exit(3)"""
    env = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"),
                        "STET_DOUBLE_HOLD": "#define PH_MODEL ", "STET_DOUBLE_HELD": str(held),
                        "STET_WAIT_FOR_CODE": "0"}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "done", "")
