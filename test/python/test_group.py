"""Processes that share the worlds of a run. Here they are threads, with a transport of queues; the last test has
processes of torch.distributed.
"""

import queue
import threading

import numpy as np
import pytest

import stet
from conftest import SCENE


class Queues:
    """A transport between threads: `rooms` of all ranks, one queue for each pair."""

    def __init__(self, rank, mail):
        self.rank, self.nrank, self._mail = rank, len(mail), mail

    def send(self, data, to):
        self._mail[self.rank][to].put(data)

    def receive(self, size, source):
        data = self._mail[source][self.rank].get(timeout=30)
        assert len(data) == size
        return data

    def all_gather(self, data):
        for to in range(self.nrank):
            self.send(data, to)
        return b"".join(self.receive(len(data), source) for source in range(self.nrank))

    def broadcast(self, data, root):
        if self.rank == root:
            for to in range(self.nrank):
                self.send(data, to)
        return self.receive(len(data), root)


def in_ranks(nrank, body):
    """What body(transport) returns, or raises, in each of so many threads."""
    mail = [[queue.Queue() for _ in range(nrank)] for _ in range(nrank)]
    out = [None] * nrank

    def work(rank):
        try:
            out[rank] = body(Queues(rank, mail))
        except Exception as error:
            out[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(nrank)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def live(sim, frames=2):
    sim.reset(qpos_noise=0.1)
    for frame in range(frames):
        sim.control_noise(0.5, frame)
        sim.step(4)
    sim.render()


OPTIONS = {"device": "cpu", "threads": 1, "seed": 7, "outputs": "depth", "width": 16, "height": 12}


def test_worlds_have_the_bits_of_one_process(tmp_path):
    file = tmp_path / "state"

    def rank(transport):
        group = stet.Group(5, transport)
        with stet.Sim(SCENE, group=group, **OPTIONS) as sim:
            live(sim)
            group.save(sim, file)
            found = group.gather(sim.qpos), group.sum(sim.qpos), group.hash(sim), group.hash_frame(sim)
            sim.step(3)
            group.resume(sim, file)
            assert group.hash(sim) == found[2]
            assert group.blocks == ((0, 2), (2, 2), (4, 1)) and (group.rank, group.nrank) == (transport.rank, 3)
            return found

    def alone():
        group = stet.Group(5, Queues(0, [[queue.Queue()]]))
        with stet.Sim(SCENE, group=group, **OPTIONS) as sim:
            live(sim)
            return sim.qpos.numpy(), group.sum(sim.qpos), group.hash(sim), group.hash_frame(sim)

    whole, parts = alone(), in_ranks(3, rank)
    for part in parts:
        assert not isinstance(part, Exception), part
        np.testing.assert_array_equal(part[1], whole[1])
        assert part[2:] == whole[2:]
    np.testing.assert_array_equal(parts[0][0], whole[0])
    assert parts[1][0] is None
    with stet.Sim(SCENE, worlds=5, **OPTIONS) as sim:
        sim.resume(file)
        np.testing.assert_array_equal(sim.qpos.numpy(), whole[0])


def test_arrays_cross():
    x = np.arange(7 * 6, dtype=np.int16).reshape(7, 2, 3)

    def rank(transport):
        group = stet.Group(7, transport, own=(3, 0, 4)[transport.rank])
        own = group.scatter(x if transport.rank == 0 else None)
        assert own.dtype == x.dtype and own.shape == (group.own, 2, 3)
        assert group.share(bytes([group.rank] * 2)) == [b"\0\0", b"\1\1", b"\2\2"]
        return group.gather(own), group.sum(own)

    parts = in_ranks(3, rank)
    np.testing.assert_array_equal(parts[0][0], x)
    for part in parts:
        np.testing.assert_array_equal(part[1], x.sum(axis=0))


def tree_sum(x):
    """The order of Group.sum and Group.reduce, of whole worlds."""
    while len(x) > 1:
        odd = x[len(x) // 2 * 2 :]
        x = np.concatenate((x[0 : len(x) - len(odd) : 2] + x[1::2], odd))
    return x[0]


def test_arrays_of_devices_cross():
    x = np.random.default_rng(3).normal(size=(7, 1000)).astype(np.float32)

    def rank(transport):
        group = stet.Group(7, transport, own=(3, 4)[transport.rank])
        with stet.Sim(SCENE, group=group, **OPTIONS) as sim:
            assert "host memory, because rank 0 of 2: cpu" in group.link(sim)
            own = sim.zeros((group.own, 1000))
            everything = sim.zeros((7, 1000)) if group.rank == 0 else None
            given = sim.zeros((7, 1000)) if group.rank == 0 else None
            if given is not None:
                given.write(x)
            total = sim.zeros(1000)
            group.scatter_array(given, own)
            group.reduce(own, total)
            group.gather_array(own, everything, wait=False)
            group.wait(sim)
            group.broadcast_array(own := sim.zeros(3))
            live(sim)
            depth = sim.read("depth")
            shape = (7, *depth.shape[1:])
            pictures = sim.zeros(shape) if group.rank == 0 else None
            group.gather_array(sim.tensor("depth"), pictures)
            found = group.gather(depth)
            if group.rank == 0:
                np.testing.assert_array_equal(pictures.numpy(), found)
                np.testing.assert_array_equal(everything.numpy(), x)
            with pytest.raises(stet.InvalidArgumentError, match="must be plain and of 1000 numbers"):
                group.reduce(sim.zeros((group.own, 1000)), own)
            return total.numpy()

    for part in in_ranks(2, rank):
        assert not isinstance(part, Exception), part
        np.testing.assert_array_equal(part, tree_sum(x))


GROW = """#include "stet/lang.h"
/* x = x + by * (rate[i] - x^2). */
world_kernel void k_grow(real *x, const ureal *rate, ureal by, int n)
{
    each (i, n) put(x, i, fma(splat(by), fma(-x[i], x[i], splat(rate[i])), x[i]));
}
"""


def test_gradients_of_tapes_are_those_of_one_process():
    """A plain array's gradient has a share a world; Group.reduce adds them as one process with all worlds does."""
    worlds, items = 11, 3
    start = np.random.default_rng(7).uniform(0.1, 1, (worlds, items)).astype(np.float32)

    def rank(transport):
        group = stet.Group(worlds, transport)
        with stet.Sim("<mujoco><worldbody/></mujoco>", group=group, physics="external", device="cpu", threads=1) as sim:
            group.link(sim)
            grow, tape = sim.kernel(GROW), stet.Tape(sim)
            x, rate, total = sim.zeros((group.own, items), worlds=True), sim.zeros(items), sim.zeros(items)
            by = sim.zeros(1)
            x[:], rate[:] = start[group.first : group.first + group.own], np.float32([0.5, 1, 2])
            with tape:
                for _ in range(20):
                    tape.step()
                    grow(group.own, x, rate, 0.05, items)
            tape.zero()
            tape.gradient(x)[:] = 1.0
            tape.backward()
            group.reduce(tape.gradient(rate), total, wait=False)  # while the next gradient is reduced
            group.reduce(tape.number_gradient(grow, "by"), by)
            return total.numpy(), by.numpy()

    parts = in_ranks(1, rank) + in_ranks(2, rank) + in_ranks(3, rank)
    for part in parts:
        assert not isinstance(part, Exception), part
        np.testing.assert_array_equal(part[0], parts[0][0])
        np.testing.assert_array_equal(part[1], parts[0][1])
    x, to_rate, rate = start.astype(float), np.zeros_like(start, float), np.array([0.5, 1, 2])
    for _ in range(20):
        to_rate = (1 - 0.1 * x) * to_rate + 0.05
        x = x + 0.05 * (rate - x * x)
    np.testing.assert_allclose(parts[0][0], to_rate.sum(axis=0), rtol=1e-5)


def test_failures_are_those_of_all():
    def rank(transport):
        group = stet.Group(4, transport)
        if group.rank == 1:
            return group.fail("the disk is full")
        return group.share(b"x")

    for part in (in_ranks(3, rank)[k] for k in (0, 2)):
        assert isinstance(part, stet.StateError) and "rank 1 of 3: the disk is full" in str(part)
    refused = in_ranks(2, lambda transport: stet.Group(4 + transport.rank, transport))
    assert all("rank 1 of 2: its run has 5 worlds, that of rank 0 has 4" in str(part) for part in refused)

    def broken(transport):
        transport.all_gather = lambda data: data[:1]
        return stet.Group(4, transport)

    assert all("all_gather gave 1 bytes in place of" in str(part) for part in in_ranks(2, broken))


def test_what_is_not_possible_is_refused():
    group = stet.Group(3, Queues(0, [[queue.Queue()]]))
    with pytest.raises(stet.InvalidArgumentError, match="the group says how many worlds"):
        stet.Sim(SCENE, worlds=3, group=group)
    with pytest.raises(stet.InvalidArgumentError, match=r"gather: the shape is \(2,\); this process has 3 worlds"):
        group.gather(np.zeros(2))


def _torch_rank(rank, port, file):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    group = stet.Group.torch(5)
    with stet.Sim(SCENE, group=group, **OPTIONS) as sim:
        live(sim)
        group.save(sim, file)
    dist.destroy_process_group()


def test_torch_distributed(tmp_path):
    pytest.importorskip("torch")
    import socket

    import torch.multiprocessing as processes

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes.spawn(_torch_rank, (port, str(tmp_path / "state")), nprocs=2)
    with stet.Sim(SCENE, worlds=5, **OPTIONS) as whole, stet.Sim(SCENE, worlds=5, **OPTIONS) as sim:
        live(whole)
        sim.resume(tmp_path / "state")
        np.testing.assert_array_equal(sim.qpos.numpy(), whole.qpos.numpy())
