"""Threads of Python: two sims at once, one sim from two, and what is dropped while another thread is inside."""

import threading
import time

import numpy as np

import stet
from stet import _core
from conftest import KERNEL


def together(*works):
    """Runs each in a thread of its own, and raises what one of them raised."""
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def loop(sim, n):
    for k in range(n):
        sim.control_noise(0.5, k)
        sim.step(2)
        sim.render()
        sim.read("rgb")


def test_two_sims(make):
    alone = make(outputs="rgb", width=16, height=16)
    loop(alone, 30)
    one, two = (make(outputs="rgb", width=16, height=16) for _ in range(2))
    together(lambda: loop(one, 30), lambda: loop(two, 30))
    assert one.hash() == two.hash() == alone.hash() and one.hash_frame() == two.hash_frame() == alone.hash_frame()


def test_one_sim(make):
    """They take turns, call by call."""
    sim = make(outputs="rgb", width=16, height=16)

    def steps():
        for _ in range(200):
            sim.step()

    def looks():
        for _ in range(100):
            sim.qpos.numpy()
            sim.render()
            assert sim.read("rgb").shape == (5, 16, 16, 3)

    together(steps, steps, looks)
    np.testing.assert_allclose(sim.time.numpy(), 400 * 0.005, rtol=1e-5)


def test_other_threads_run_meanwhile(make):
    sim, ran, done = make(worlds=256), [0], threading.Event()

    def count():
        while not done.is_set():
            ran[0] += 1
            time.sleep(0)

    def step():
        steps = 200
        try:
            while steps < 10_000_000:  # one call, without the GIL, that takes long enough
                before = ran[0]
                sim.step(steps)
                if ran[0] >= before + 10:  # a thread may come between two lines once
                    return
                steps *= 4
            raise AssertionError("no other thread ran during a step")
        finally:
            done.set()

    together(count, step)


def test_dropped_while_another_thread_is_inside(make):
    sim, done = make(worlds=256), threading.Event()

    def drop():
        while not done.is_set():
            array = sim.zeros(10)
            array.host()
            del array

    def step():
        try:
            for _ in range(50):
                sim.step(5)
        finally:
            done.set()

    together(drop, step, drop)
    sim.synchronize()
    alive = _core._alive()["owned"]
    array = sim.zeros(10)
    del array
    assert _core._alive()["owned"] == alive


def test_closed_while_another_thread_is_inside(make):
    for _ in range(10):
        sim = make(worlds=64)
        kernel, x = sim.kernel(KERNEL), sim.zeros((64, 2), worlds=True)

        def work(sim=sim, kernel=kernel, x=x):
            try:
                while True:
                    sim.step(3)
                    kernel(64, sim.qpos, x, 1.0, 0, 2)
            except stet.StateError:
                pass

        def close(sim=sim):
            time.sleep(0.005)
            sim.close()

        together(work, close, work)
        assert sim.closed
