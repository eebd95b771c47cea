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


# ---- steps of native physics -----------------------------------------------------------------------------------------


def arm():
    """Two links with a muscle-like filter at one of them: qpos, qvel, act and ctrl."""
    return ("<mujoco><option timestep='.01'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
            "<body pos='0 0 1'><joint name='a' axis='0 1 0' damping='.1'/><geom type='capsule' fromto='0 0 0 .3 0 0' "
            "size='.03'/><body pos='.3 0 0'><joint name='b' type='ball' damping='.05'/><geom type='capsule' "
            "fromto='0 0 0 .1 .2 0' size='.02'/></body></body></worldbody><actuator><general joint='a' "
            "dyntype='filter' dynprm='.1' gainprm='2'/><motor joint='b' gear='0 .1 .2'/></actuator></mujoco>")


def state(dtype, worlds):
    generator = torch.Generator().manual_seed(7)
    draw = lambda *shape: torch.rand(*shape, generator=generator, dtype=dtype) - 0.5  # noqa: E731
    q = draw(worlds, 4)
    qpos = torch.cat([draw(worlds, 1), q / q.norm(dim=1, keepdim=True)], 1)
    return qpos, draw(worlds, 4), draw(3, worlds, 2), draw(worlds, 1)


def test_a_rollout_by_differences():
    with stet.Sim(arm(), worlds=2, physics="native", isa="f64") as sim:
        rollout = stet.torch.rollout(sim, steps=3, substeps=2)
        qpos, *others = state(torch.float64, 2)
        given = [x.requires_grad_() for x in (qpos, *others)]

        def end(qpos, qvel, ctrl, act):
            unit = torch.cat([qpos[:, :1], qpos[:, 1:] / qpos[:, 1:].norm(dim=1, keepdim=True)], 1)
            states = rollout(unit, qvel, ctrl, act)
            assert states.qpos.shape == (3, 2, 5) and states.act.shape == (3, 2, 1)
            return states.qpos[-1], states.qvel, states.act[1]

        assert torch.autograd.gradcheck(end, given, eps=1e-5, atol=1e-7)


def test_a_rollout_is_a_function_of_its_arguments():
    """Also of one that ran before, back and again, whatever the sim was left with; and the sim takes the same steps."""
    with stet.Sim(arm(), worlds=4, physics="native") as sim:
        rollout = stet.torch.rollout(sim, steps=3)
        given = [x.requires_grad_() for x in state(torch.float32, 4)]
        first = rollout(*given)
        second = rollout(*(x * 0.5 for x in given))
        sum(x.square().sum() for x in second).backward()
        between = [x.grad.clone() for x in given]
        for x in given:
            x.grad = None
        sum(x.square().sum() for x in first).backward()  # runs again
        assert all(torch.isfinite(x.grad).all() and (x.grad != y).any() for x, y in zip(given, between))
        qpos, qvel, ctrl, act = (x.detach().numpy() for x in given)
        sim.reset()
        sim.qpos[:], sim.qvel[:], sim.act[:] = qpos, qvel, act
        for t in range(3):
            sim.ctrl[:] = ctrl[t]
            sim.step()
            assert np.array_equal(first.qpos[t].detach().numpy(), sim.qpos.numpy())


def test_rollouts_that_are_refused():
    with stet.Sim(arm(), worlds=2, physics="mujoco") as sim:
        with pytest.raises(stet.UnsupportedError, match="physics mujoco"):
            stet.torch.rollout(sim, steps=3)
    with stet.Sim(arm(), worlds=2, physics="native") as sim:
        with pytest.raises(stet.InvalidArgumentError, match="steps is 0"):
            stet.torch.rollout(sim, steps=0)
        rollout = stet.torch.rollout(sim, steps=3)
        qpos, qvel, ctrl, act = state(torch.float32, 2)
        with pytest.raises(stet.InvalidArgumentError, match="act is missing"):
            rollout(qpos, qvel, ctrl)
        with pytest.raises(stet.InvalidArgumentError, match=r"ctrl is \[2, 2, 2\]; give \[step, world, control\]"):
            rollout(qpos, qvel, ctrl[:2], act)
