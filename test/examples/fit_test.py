"""The example that fits springs: every attempt finds the constants, whatever it begins with and whatever is switched.
"""

import re

from descent import check_gradients, check_none_is_refused, check_switches, run, run_tests

LINE = re.compile(
    r"iteration +(\d+): loss ([\d.e+-]+), worst constant +([\d.]+) % off; "
    r"world 0: ([\d.]+) and ([\d.]+) N/m, ([\d.]+) N s/m"
)


def test_every_attempt_finds_them():
    for seed in 1, 2, 3:
        done = run("fit", "cpu", 16, 200, seed)
        assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
        *lines, tape, found = done.stdout.splitlines()
        numbers = [list(map(float, LINE.fullmatch(line).groups())) for line in lines]
        assert [n[0] for n in numbers] == list(range(0, 201, 25))
        assert numbers[0][2] > 50 and numbers[-1][1] < 1e-5 * numbers[0][1]
        assert abs(numbers[-1][3] - 120) < 2.4 and abs(numbers[-1][4] - 50) < 1 and abs(numbers[-1][5] - 0.4) < 0.008
        assert (
            tape.startswith("a tape of 301 launches: ") and found == "16 of 16 attempts found 120 and 50 N/m, 0.4 N s/m"
        )


def test_too_few_iterations_are_told():
    done = run("fit", "cpu", 4, 5)
    assert (
        done.returncode == 1
        and done.stdout.endswith("of 4 attempts found 120 and 50 N/m, 0.4 N s/m\n")
        and done.stderr == ""
    )


def test_the_same_whatever_is_switched():
    check_switches("fit", ("cpu", 5, 25), ("graph_replay,args", "fusion", "gather_plan", "adstack", "adstack_handle",
                                           "adstack,adstack_handle,kernel_cache"))


def test_gradients_of_its_kernels():
    """On a square of springs and one of its diagonals, against differences."""
    lists = {"spring": "0,1,1,2,2,3,3,0,0,2", "kind": "0,0,0,0,1", "first": "0,3,5,8,10", "side": "0,7,8,1,2,3,4,9,5,6"}
    words = [word for name, values in lists.items() for word in ("--values", f"{name}={values}")]
    for low in "0.1", "-0.9":  # above the floor, and in it
        check_gradients("springs.k.h", "--int", "nmass=4", "--int", "nspring=5", "--int", "step=1", "--range",
                        f"pos={low},0.9", *words)


def test_bad_input_is_one_sentence():
    check_none_is_refused("fit")


if __name__ == "__main__":
    run_tests(globals())
