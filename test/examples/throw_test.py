"""The example that throws balls through rings: that every ring is hit, and that it does so by descending."""

import re

from descent import check_gradients, check_none_is_refused, check_switches, run, run_tests

LINE = re.compile(r"iteration +(\d+): (\d+) of (\d+) balls go through their rings; (\d+) of (\d+) rings")


def numbers(done):
    return [list(map(int, LINE.fullmatch(line).groups())) for line in done.stdout.splitlines()]


def test_every_ring_is_hit():
    for seed in 1, 2, 3:
        done = run("throw", "cpu", 64, 100, seed)
        assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
        lines = numbers(done)
        assert [line[0] for line in lines] == [0, 25, 50, 75, 100]
        assert lines[0][1] < 10, "before, hardly any ball goes through"
        assert lines[-1][1] > 200 and lines[-1][2:] == [256, 64, 64]


def test_too_few_iterations_are_told():
    done = run("throw", "cpu", 8, 2)
    assert done.returncode == 1 and done.stderr == "" and numbers(done)[-1][3] < 8


def test_the_same_whatever_is_switched():
    check_switches(
        "throw", ("cpu", 5, 20), ("graph_replay,args", "fusion,gather_plan", "adstack,adstack_handle,kernel_cache")
    )


def test_gradients_of_its_kernels():
    """Against differences, above the floor and in it."""
    for low in "0.1", "-0.5":
        check_gradients("throw.k.h", "--range", f"pos={low},0.5")


def test_bad_input_is_one_sentence():
    check_none_is_refused("throw")


if __name__ == "__main__":
    run_tests(globals())
