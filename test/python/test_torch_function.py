"""stet.torch: PyTorch's autograd through stet's launches."""

import numpy as np
import pytest

import stet

torch = pytest.importorskip("torch")
import stet.torch  # noqa: E402

from test_tape import BY, ITEMS, POINT, STEPS, WORLDS, Growth, by_hand  # noqa: E402


@pytest.fixture(params=["cpu", "cuda"])
def growth(request):
    if request.param == "cuda":
        request.getfixturevalue("gpu")
    with stet.Sim(POINT, worlds=WORLDS, device=request.param, physics="external") as sim:
        growth = Growth(sim)
        growth.device = torch.device(request.param)
        yield growth


def tensor(growth, values):
    return torch.tensor(values, device=growth.device, requires_grad=True)


def grown(start, rate):
    """The same in PyTorch."""
    x = start
    for _ in range(STEPS):
        x = x + BY * (rate - x * x)
    return x * x


def close(a, b):
    np.testing.assert_allclose(
        a.detach().cpu().numpy(), b.detach().cpu().numpy() if hasattr(b, "detach") else b, rtol=1e-4, atol=1e-6
    )


def test_one_function(growth):
    """As a part of a longer computation, of an array of worlds and of a plain one, against PyTorch's own gradients."""
    rollout = stet.torch.function(growth.tape, growth.run, inputs=[growth.start, growth.rate], outputs=[growth.y])
    values = growth.start.numpy(), growth.rate.numpy()  # the rollout writes into them
    results = []
    for function in rollout, grown:
        start, rate = (tensor(growth, value) for value in values)
        y = function(torch.sin(start), rate * 2)
        (y * y).sum().backward()
        results.append((y, start.grad, rate.grad))
    for ours, theirs in zip(*results):
        assert ours.device == theirs.device and ours.dtype == theirs.dtype
        close(ours, theirs)


def test_an_input_that_is_written(growth):
    def run():
        growth.tape.step()
        growth.grow(WORLDS, growth.x, growth.rate, BY, ITEMS)

    rollout = stet.torch.function(growth.tape, run, inputs=[growth.x], outputs=[growth.x])
    start = tensor(growth, growth.start.numpy())
    rollout(start).sum().backward()
    close(start.grad, 1 - 2 * BY * growth.start.numpy())


def test_outputs_are_their_own(growth):
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start], [growth.y])
    start = tensor(growth, growth.start.numpy())
    first = rollout(start)
    before = first.detach().clone()
    second = rollout(start * 2)
    assert torch.equal(first.detach(), before) and not torch.equal(first, second)
    with pytest.raises(stet.StateError, match="was called again since"):
        first.sum().backward()
    second.sum().backward(retain_graph=True)
    once = start.grad.clone()
    second.sum().backward()
    close(start.grad, 2 * once)


def test_what_needs_no_gradient(growth):
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.x, growth.y])
    start, rate = tensor(growth, growth.start.numpy()), tensor(growth, growth.rate.numpy()).detach()
    x, y = rollout(start, rate)
    assert x.requires_grad and rate.grad is None
    y.sum().backward()
    close(start.grad, by_hand(growth.start.numpy(), growth.rate.numpy())[0])


def test_wrong_calls(growth):
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start], [growth.y])
    with pytest.raises(stet.InvalidArgumentError, match="2 tensors for 1 inputs"):
        rollout(torch.zeros(1), torch.zeros(1))
    with pytest.raises(stet.InvalidArgumentError, match="reshape it"):
        rollout(torch.zeros(WORLDS, ITEMS + 1))
    with pytest.raises(stet.ArgumentTypeError, match="not 'int'"):
        stet.torch.function(growth.tape, growth.run, [1], [growth.y])
