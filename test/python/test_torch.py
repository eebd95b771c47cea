"""PyTorch: the same memory on both sides, streams, and graphs that PyTorch captures with stet's launches in them. The
first part runs on the CPU and, where there is one, on a GPU; the second on a GPU only.
"""

import threading

import numpy as np
import pytest

import stet
from conftest import KERNEL, SCENE

torch = pytest.importorskip("torch")

COUNT = """#include "stet/lang.h"
item_kernel void k_add(int *x, int by, int n, int block) { items (p, n) { x[p] = x[p] + by; } }"""
DEVICES = ["cpu", "cuda"]


@pytest.fixture(params=DEVICES)
def sim(request, make):
    """Plain arrays are shared on every device; arrays of worlds on a GPU, and shown by a plain view on a CPU."""
    if request.param == "cuda":
        request.getfixturevalue("gpu")
        if not torch.cuda.is_available():
            pytest.skip("PyTorch has no CUDA here")
    return make(device=request.param)


@pytest.fixture
def gpu_sim(gpu, make):
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA here")
    return make(device=gpu)


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# ---- memory --------------------------------------------------------------------------------------------------------


def test_the_same_memory(sim):
    array = sim.zeros((4, 3))
    one, two = torch.from_dlpack(array), torch.from_dlpack(array.export(writable=True, announced=True))
    assert one.data_ptr() == two.data_ptr() and one.device.type == sim.device.type and tuple(one.shape) == (4, 3)
    array[:] = 3
    sim.synchronize()
    assert (one.cpu() == 3).all()
    one[1] = 7
    synchronize()
    assert (array.numpy()[1] == 7).all()
    again = sim.from_dlpack(one)
    assert torch.from_dlpack(again).data_ptr() == one.data_ptr()


def test_worlds(sim):
    qpos = torch.from_dlpack(sim.qpos)
    assert tuple(qpos.shape) == (5, 2)
    np.testing.assert_array_equal(qpos.cpu().numpy(), sim.qpos.numpy())
    if sim.device.type == "cuda":
        assert qpos.data_ptr() == torch.from_dlpack(sim.qpos.export()).data_ptr()
        return
    sim.step(3)
    np.testing.assert_array_equal(qpos.numpy(), sim.qpos.numpy())
    qpos[2, 1] = 0.5
    assert sim.qpos.numpy()[2, 1] == 0.5
    xpos = torch.from_dlpack(sim.xpos)
    np.testing.assert_array_equal(xpos.numpy(), sim.xpos.numpy())
    if sim.device.lanes > 1:
        xpos[0, 0] = 99  # PyTorch takes no notice of the flag
        with pytest.raises(stet.StateError, match="for reading"):
            sim.step()


def test_every_type(sim):
    for name in ("float32", "int32", "int64", "uint8", "float16"):
        array = sim.zeros(6, name)
        array[:] = np.arange(6)
        tensor = torch.from_dlpack(array.export())
        assert str(tensor.dtype) == f"torch.{name}" and tensor.cpu().tolist() == list(range(6))


def test_writing_tensors(sim):
    values = torch.arange(10, dtype=torch.float32, device=sim.device.type).reshape(5, 2)
    sim.clear_counters()
    sim.ctrl.write(values)
    if sim.device.type == "cuda":
        assert sim.counters()["readback"]["done_bytes"] == 0  # nothing went over the host
    np.testing.assert_array_equal(sim.ctrl.numpy(), values.cpu().numpy())
    sim.ctrl[:] = values.cpu() + 1
    np.testing.assert_array_equal(sim.ctrl.numpy(), values.cpu().numpy() + 1)
    for bad in (values.double().repeat(1, 2)[:, ::2], values.T, values[:3]):
        if sim.device.type == "cuda":  # on a CPU, values are converted and broadcast as NumPy does it
            with pytest.raises(stet.Error):
                sim.ctrl.write(bad)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32])
def test_a_mask_as_a_tensor(sim, make, dtype):
    ours, theirs = (make(device=sim.device.type, physics="native") for _ in range(2))
    ours.reset(), theirs.reset()  # the state of the keyframe goes to the device once
    for k in range(4):
        mask = torch.arange(5, device=sim.device.type) % (k + 2) == 0
        for one in (ours, theirs):
            one.step(2)
            one.qpos.host()
        ours.clear_counters()
        ours.reset(mask.to(dtype), qvel_noise=0.3)
        if sim.device.type == "cuda":
            counters = ours.counters()
            assert counters["readback"]["done_bytes"] == 0 and counters["total"]["bytes_copied"] == 0
        theirs.reset(mask.cpu().numpy(), qvel_noise=0.3)
        assert ours.hash() == theirs.hash()
    if sim.device.type == "cuda":
        with pytest.raises(ValueError, match="a mask of worlds on a GPU has bool, uint8 or int32; convert it first"):
            ours.reset(mask.long())


def test_a_mask_comes_after_its_stream(gpu_sim, make):
    ours, theirs = (make(device="cuda", physics="native") for _ in range(2))
    stream, mask = torch.cuda.Stream(), torch.zeros(5, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    ours.step(5), theirs.step(5)
    with torch.cuda.stream(stream):
        spin(mask)
        ours.reset(mask)
    theirs.reset()
    assert ours.hash() == theirs.hash()


def test_tensors_of_the_wrong_device(gpu_sim, make):
    tensor = torch.zeros(3, device="cuda")
    with pytest.raises(stet.UnsupportedError, match="lies on the CPU"):
        gpu_sim.from_dlpack(torch.zeros(3))
    with pytest.raises((stet.Error, TypeError, RuntimeError)):
        make().zeros(3).write(tensor)
    array = gpu_sim.zeros(3)
    array[:] = 2
    on_host = torch.from_dlpack(array, device="cpu")
    assert on_host.device.type == "cpu" and on_host.tolist() == [2, 2, 2]


def test_a_tensor_outlives_the_sim(sim):
    array = sim.zeros(1000)
    array[:] = 4
    tensor = torch.from_dlpack(array)
    sim.close()
    del array
    assert (tensor == 4).all()


def test_unannounced_writes_are_seen(sim):
    array, kernel = sim.zeros((5, 2), worlds=True), sim.kernel(KERNEL)
    out = sim.zeros((5, 2), worlds=True)
    if sim.device.type != "cuda":
        pytest.skip("arrays of worlds lie in blocks")
    tensor = torch.from_dlpack(array)
    for k in range(1, 4):
        tensor.fill_(k)
        sim.wait_stream(torch.cuda.current_stream())
        kernel(5, array, out, 2.0, 0, 2)
        assert (out.numpy() == 2 * k).all() and (array.numpy() == k).all()


# ---- streams -------------------------------------------------------------------------------------------------------


def spin(x, times=40):
    """Some milliseconds of work on PyTorch's current stream, after which x is 1."""
    a = torch.ones(2048, 2048, device="cuda")
    for _ in range(times):
        a = a @ a / 2048
    x.copy_(a[0, 0].expand_as(x).to(x.dtype))


def test_waiting_for_a_stream(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array = sim.zeros(64, "int32")
    x = torch.from_dlpack(array.export(writable=True, announced=True))
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        x.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            spin(x)
        sim.wait_stream(stream)
        array.mark_written()
        kernel(1, array, 1, 64)
        assert (array.numpy() == 2).all()


def test_a_stream_that_waits_for_stet(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array, stream = sim.zeros(1 << 20, "int32"), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.from_dlpack(array)  # asks for this stream
    for k in range(1, 6):
        for _ in range(20):
            kernel(1, array, 1, 1 << 20)
        sim.signal_stream(stream)
        with torch.cuda.stream(stream):
            found = x.min().item(), x.max().item()  # waits for this stream
        assert found == (20 * k, 20 * k)
    with torch.cuda.stream(stream):
        kernel(1, array, 1, 1 << 20)
        assert torch.from_dlpack(array).min().item() == 101  # from_dlpack alone orders it


def test_in_pytorch_s_stream(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array = sim.zeros(64, "int32")
    x = torch.from_dlpack(array.export(writable=True, announced=True))
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        sim.use_stream(stream)
        with torch.cuda.stream(stream):
            spin(x)
            array.mark_written()
            for _ in range(9):
                kernel(1, array, 1, 64)
            x += 1
        assert x.cpu().tolist() == [11] * 64
    sim.use_stream(None)
    with pytest.raises(stet.ArgumentTypeError, match="stream"):
        sim.use_stream("mine")


# ---- graphs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "inside"])
def test_pytorch_captures_stet(gpu_sim, when):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array, other = sim.zeros(64, "int32"), sim.zeros(64, "int32")
    x = torch.from_dlpack(array.export(writable=True, announced=True))
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    kernel(1, array, 0, 64)  # compiled, and its code is on the device
    kernel(1, other, 0, 64)
    sim.synchronize()
    if when == "before":
        sim.use_stream(stream)
    with torch.cuda.graph(graph, stream=stream):
        if when == "inside":
            sim.use_stream(stream)
        x += 1
        kernel(1, array, 10, 64)
        kernel(1, other, 1, 64)
        x *= 2
        recording = sim.recording
    sim.use_stream(None)
    assert recording > 0 and (array.numpy() == 0).all()
    expected = 0
    for k in range(1, 5):
        graph.replay()
        torch.cuda.synchronize()
        sim.replayed(recording)
        array.mark_written()  # PyTorch's own part of it
        expected = 2 * (expected + 11)
        assert (array.numpy() == expected).all() and (other.numpy() == k).all()


def test_a_replay_that_is_announced_moves_generations(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array, stream, graph = sim.zeros(64, "int32"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    kernel(1, array, 0, 64)
    sim.use_stream(stream)
    sim.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        kernel(1, array, 1, 64)
        recording = sim.recording
    sim.use_stream(None)
    before = array.generation
    graph.replay()
    torch.cuda.synchronize()
    assert array.generation == before
    sim.replayed(recording)
    assert array.generation > before and (array.numpy() == 1).all()


def test_what_a_capture_refuses(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array, stream, graph = sim.zeros(64, "int32"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    kernel(1, array, 0, 64)
    sim.use_stream(stream)
    sim.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        kernel(1, array, 1, 64)
        with pytest.raises(stet.UnsupportedError):
            array.numpy()
        with pytest.raises(stet.UnsupportedError):
            array[:] = np.arange(64)
        kernel(1, array, 1, 64)
    sim.use_stream(None)
    graph.replay()
    torch.cuda.synchronize()
    array.mark_written()
    assert (array.numpy() == 2).all()


def test_recordings_while_another_thread_uses_the_legacy_stream(gpu_sim):
    sim, kernel = gpu_sim, gpu_sim.kernel(COUNT)
    array, other = sim.zeros(64, "int32"), sim.zeros(64, "int32")
    stop, wrong, rounds = threading.Event(), [], [0]

    def use_legacy_stream():
        with torch.cuda.stream(torch.cuda.default_stream()):
            while not stop.is_set():
                x = torch.full((1000,), 3.0, device="cuda")
                if (x * 2).sum().item() != 6000:
                    wrong.append(rounds[0])
                rounds[0] += 1

    thread = threading.Thread(target=use_legacy_stream)
    thread.start()
    try:
        for k in range(300):
            with sim.record("three"):
                kernel(1, array, 1, 64)
                kernel(1, other, k % 3, 64)
                kernel(1, array, 1, 64)
    finally:
        stop.set()
        thread.join()
    assert not wrong and rounds[0] > 0
    assert (array.numpy() == 600).all() and (other.numpy() == 300).all()
    assert sim.counters()["graph_replay"]["hits"] > 250


def test_pictures_as_tensors(gpu, make):
    sim = make(device=gpu, outputs=("rgb", "depth"), width=32, height=24)
    sim.render()
    rgb, depth = torch.from_dlpack(sim.tensor("rgb")), torch.from_dlpack(sim.tensor("depth"))
    assert rgb.dtype == torch.uint8 and tuple(rgb.shape) == (5, 24, 32, 3) and rgb.device.type == "cuda"
    np.testing.assert_array_equal(rgb.cpu().numpy(), sim.read("rgb"))
    np.testing.assert_array_equal(depth.cpu().numpy(), sim.read("depth"))


def test_the_same_bits_as_on_the_cpu(gpu, make):
    frames = []
    for device in ("cpu", gpu):
        sim = make(SCENE, device=device, outputs=("rgb", "depth"), width=32, height=24, seed=5)
        for k in range(5):
            sim.control_noise(0.5, 10 * k)
            sim.step(3)
            sim.render()
        frames.append((sim.hash_frame(), sim.hash()))
    assert frames[0] == frames[1]
