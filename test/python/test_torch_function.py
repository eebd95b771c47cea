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
    second.sum().backward(retain_graph=True)
    once = start.grad.clone()
    second.sum().backward()
    close(start.grad, 2 * once)


def test_several_live_runs(growth):
    """Gradients through two calls, in both orders, and through an earlier one alone; and a run in between that fails.
    """
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.y])
    values = growth.start.numpy(), growth.rate.numpy()
    results = []
    for function in rollout, grown:
        start, rate = (tensor(growth, value) for value in values)
        first = function(start, rate)
        second = function(2 * start, rate) * first
        with torch.no_grad():
            assert not function(start / 2, rate).requires_grad
        second.sum().backward(retain_graph=True)
        (first * first).sum().backward()
        results.append((start.grad, rate.grad))
    for ours, theirs in zip(*results):
        close(ours, theirs)


def test_functions_share_a_tape(growth):
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start], [growth.y])
    start = tensor(growth, growth.start.numpy())
    y = rollout(start)
    stet.torch.function(growth.tape, lambda: growth.run(2), [growth.start], [growth.y])(start)
    y.sum().backward()
    close(start.grad, by_hand(start.detach().cpu().numpy(), growth.rate.numpy())[0])


def test_a_run_that_fails_leaves_the_others(growth):
    runs = iter([growth.run, lambda: 1 / 0, growth.run])
    rollout = stet.torch.function(growth.tape, lambda: next(runs)(), [growth.start], [growth.y])
    start = tensor(growth, growth.start.numpy())
    y = rollout(start)
    with pytest.raises(ZeroDivisionError):
        rollout(start * 2)
    y.sum().backward()
    close(start.grad, by_hand(start.detach().cpu().numpy(), growth.rate.numpy())[0])


def test_what_changed_meanwhile_is_an_error(growth):
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start], [growth.y])
    start = tensor(growth, growth.start.numpy())
    first, _ = rollout(start), rollout(start * 2)
    growth.rate[:] = 3.0
    with pytest.raises(stet.StateError, match="not among its inputs"):
        first.sum().backward()


def test_func(growth):
    """torch.func: grad, jacrev (which is vmap over the pass back), vmap; and no second derivative."""
    rollout = stet.torch.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.y])
    start, rate = (tensor(growth, value).detach() for value in (growth.start.numpy(), growth.rate.numpy()))
    for ours, theirs in zip(*(torch.func.grad(lambda a, b, f=f: (f(a, b) ** 2).sum(), (0, 1))(start, rate)
                              for f in (rollout, grown))):
        close(ours, theirs)
    close(*(torch.func.jacrev(lambda b, f=f: f(start, b).sum(0))(rate) for f in (rollout, grown)))
    starts = torch.stack([start, start / 2, start / 3])
    close(*(torch.func.vmap(f, in_dims=(0, None))(starts, rate) for f in (rollout, grown)))
    with pytest.raises(stet.UnsupportedError, match="second derivatives"):
        torch.func.grad(lambda a: torch.func.grad(lambda b: rollout(b, rate).sum())(a).sum())(start)


def test_double():
    """PyTorch's own check of gradients, in double; and double is never rounded to float unasked."""
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", isa="f64", physics="external") as sim:
        growth = Growth(sim)
        rollout = stet.torch.function(growth.tape, lambda: growth.run(4), [growth.start, growth.rate], [growth.y])
        start, rate = (torch.tensor(x.numpy(), requires_grad=True) for x in (growth.start, growth.rate))
        assert start.dtype == rollout(start, rate).dtype == torch.float64
        assert torch.autograd.gradcheck(rollout, (start, rate))
        half = start.detach().float().requires_grad_()
        y = rollout(half, rate)
        y.sum().backward()
        assert y.dtype == torch.float64 and half.grad.dtype == torch.float32
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", physics="external") as sim:
        growth = Growth(sim)
        rollout = stet.torch.function(growth.tape, growth.run, [growth.start], [growth.y])
        with pytest.raises(stet.InvalidArgumentError, match="isa='f64'"):
            rollout(start)


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
    with pytest.raises(stet.ArgumentTypeError, match="a tensor of PyTorch, not a 'ndarray'"):
        rollout(np.zeros((WORLDS, ITEMS)))
    with pytest.raises(stet.ArgumentTypeError, match="not 'int'"):
        stet.torch.function(growth.tape, growth.run, [1], [growth.y])
    with pytest.raises(stet.ArgumentTypeError, match="is a stet.Tape, not a 'Sim'"):
        stet.torch.function(growth.sim, growth.run, [growth.y], [growth.y])
    with pytest.raises(stet.ArgumentTypeError, match="run is a function that launches kernels, not a 'list'"):
        stet.torch.function(growth.tape, [], [growth.y], [growth.y])
