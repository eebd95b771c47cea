"""What tests of stet.gym share: devices, actions, and a run as one value."""

import hashlib

import numpy as np

import stet
from stet.gym import CartPoleVectorEnv


def _works(**keywords):
    try:
        stet.Sim(stet.scenes / "cartpole_classic.xml", **keywords).close()
        return True
    except stet.Error:
        return False


DEVICES = [
    "w1",
    *(isa for isa in ("avx2", "avx512") if _works(device="cpu", isa=isa)),
    *["cuda"] * _works(device="cuda"),
]
PHYSICS = ("external", "mujoco")


def device_of(name):
    """Keywords of an environment on a device, or with an instruction set of the CPU. One thread: the tests' worlds are
    few.
    """
    return (
        {"device": "cuda"}
        if name == "cuda"
        else {"device": "cpu", "isa": None if name == "cpu" else name, "threads": 1}
    )


def cartpole(n, device="cpu", **keywords):
    """Cart-poles on a device."""
    return CartPoleVectorEnv(n, **{**device_of(device), **keywords})


def act(step, n, seed=0):
    """Actions of a step, 0 or 1; those of world i are the same for any n."""
    return np.random.default_rng((seed, step)).integers(2, size=100)[:n]


def play(env, steps, seed=1):
    """Everything that an environment says over some steps of random actions, as a hash."""
    digest = hashlib.sha256()
    observation, _ = env.reset(seed=seed)
    for k in range(steps):
        digest.update(np.ascontiguousarray(observation).tobytes())
        observation, *rest, _ = env.step(act(k, env.num_envs))
        for values in rest:
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
