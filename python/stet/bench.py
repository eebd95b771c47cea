"""What Python adds to a call of the library: `python -m stet.bench [--device cpu] [--calls 20000]`.

Each row is the best of several rounds, in microseconds a call. A step with physics "external" and nothing in it is as
little work as a step can be, so what a loop in Python takes longer than the same loop in C is the binding. The null
device runs no kernel either.
"""

import argparse
import time

from . import Sim

POINT = '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
KERNEL = """#include "stet/lang.h"
world_kernel void k_touch(real *x, ureal by, int n, int world) { each (i, 1) put(x, i, x[i] + splat(by)); }"""
ROUNDS = 7


def _best(work, calls):
    """Microseconds a call of work(calls), the best of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work(calls)
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / calls


def _loop(call):
    def work(calls):
        for _ in range(calls):
            call()

    return work


def rows(device="null", calls=20000, worlds=8):
    """(what, microseconds a call), in order: the step in C first."""
    with Sim(POINT, worlds=worlds, device=device, physics="external") as sim:
        sim.step()
        yield "step: a loop in C", _best(sim._step_loop, calls)
        yield "step: a loop in Python", _best(_loop(sim.step), calls)
        yield "an attribute: sim.qpos", _best(_loop(lambda: sim.qpos), calls)
        yield "a NumPy copy: sim.qpos.numpy()", _best(_loop(sim.qpos.numpy), calls)
        values, qpos = sim.qpos.numpy(), sim.qpos
        yield "writing NumPy's: sim.qpos.write(x)", _best(_loop(lambda: qpos.write(values)), calls)
        if device != "null":
            x = sim.zeros((worlds, 1), worlds=True)
            kernel = sim.kernel(KERNEL)
            yield "a kernel of three arguments: kernel(worlds, x, 0.5, 1)", _best(
                _loop(lambda: kernel(worlds, x, 0.5, 1)), calls
            )


def main():
    parser = argparse.ArgumentParser(prog="python -m stet.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default=None, help="null, cpu, cuda …; default: null and cpu")
    parser.add_argument("--calls", type=int, default=20000)
    options = parser.parse_args()
    for device in [options.device] if options.device else ["null", "cpu"]:
        table = list(rows(device, options.calls))
        print(f"{device}, microseconds a call, best of {ROUNDS} times {options.calls}")
        for what, time_ in table:
            print(f"  {time_:8.3f}  {what}")
        print(f"  {table[1][1] - table[0][1]:8.3f}  what Python adds to a step")


if __name__ == "__main__":
    main()
