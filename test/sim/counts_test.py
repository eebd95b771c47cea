"""Instructions of six short runs (counted.c), as callgrind counts them, are within 3 % of those in counts.txt: a change
that makes something dearer is seen, whatever the machine's clock says.

Counts hold for one compiler and one kind of build; for others the test skips. To write the numbers of this build into
counts.txt: run this test with STET_RENEW_COUNTS=1 in the environment.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = os.path.join(HERE, "counts.txt")
BUILD = os.environ["STET_TEST_BUILD"]
RUNS = ("step", "frame", "launch", "backward", "tiles", "round")
MOST = 0.03
# The C library copies, compares and fills by code that it picks by processor: here by that which each one has.
WITHOUT = (
    "AVX512F AVX512VL AVX512BW AVX2 AVX AVX_Fast_Unaligned_Load BMI1 BMI2 ERMS FSRM LZCNT MOVBE RTM SSE4_1 SSE4_2 SSSE3"
)
THRESHOLDS = ("x86_non_temporal_threshold", "x86_rep_movsb_threshold", "x86_rep_stosb_threshold")
TUNABLES = ":".join(
    ["glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in WITHOUT.split())]
    + [f"glibc.cpu.{name}={1 << 30}" for name in THRESHOLDS]
)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def measure(cwd):
    """The instructions of each run."""
    cache = os.path.join(os.environ["STET_TEST_BINARY_DIR"], "test", "kernel_cache", "counts")
    scene = os.path.join(os.environ["STET_TEST_SOURCE_DIR"], "scenes", "hand.xml")
    program = [os.environ["STET_TEST_COUNTED"], scene, cache, os.environ["STET_TEST_CC"]]
    os.makedirs(cache, mode=0o700, exist_ok=True)
    subprocess.run(program, check=True, timeout=600)  # compiles what is to be compiled
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=counts", "--collect-atstart=no"]
        + ["--toggle-collect=counted_*", *(f"--dump-after=counted_{name}" for name in RUNS), *program],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=800,
        env={**os.environ, "GLIBC_TUNABLES": TUNABLES},
    )
    assert done.returncode == 0, f"callgrind failed: {done.stderr}"
    counts = {}
    for name in os.listdir(cwd):
        with open(os.path.join(cwd, name), encoding="utf-8") as f:
            text = f.read()
        trigger = re.search(r"^desc: Trigger: --dump-after=counted_(\w+)", text, re.M)
        if trigger:
            counts[trigger[1]] = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M)[1])
    assert sorted(counts) == sorted(RUNS), f"callgrind counted {counts}, and not each of {RUNS}: {done.stderr}"
    return counts


def read_counts():
    """Comments and, for each build, the numbers of its runs."""
    builds, comments = {}, []
    with open(COUNTS, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("["):
                builds[line.strip("[]")] = now = {}
            elif line.startswith("#"):
                comments.append(line)
            elif line:
                name, number = line.split()
                now[name] = int(number)
    return builds, comments


def write_counts(builds, comments):
    with open(COUNTS, "w", encoding="utf-8") as f:
        print(*comments, sep="\n", file=f)
        for build in sorted(builds):
            print("", f"[{build}]", *(f"{name} {builds[build][name]}" for name in RUNS), sep="\n", file=f)


def test_counts():
    builds, comments = read_counts()
    renew = os.environ.get("STET_RENEW_COUNTS") == "1"
    if not shutil.which("valgrind"):
        skip("there is no valgrind: tools/setup.sh test installs it where apt-get can")
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        if " avx2 " not in f.read():
            skip("this machine has no AVX2, for which the counts are")
    if BUILD not in builds and not renew:
        skip(f"counts.txt has no counts for {BUILD}")
    with tempfile.TemporaryDirectory(prefix="counts-", dir=os.environ["STET_TEST_BINARY_DIR"]) as cwd:
        counts = measure(cwd)
    if renew:
        builds[BUILD] = counts
        write_counts(builds, comments)
        return
    wrong = []
    for name in RUNS:
        known = builds[BUILD][name]
        change = counts[name] / known - 1
        print(f"{name}: {counts[name]} instructions, {100 * change:+.2f} % of {known}")
        if abs(change) > MOST:
            wrong.append(
                f"{name} takes {counts[name]} instructions, {100 * abs(change):.1f} % "
                f"{'more' if change > 0 else 'less'} than the {known} in test/sim/counts.txt "
                f"(at most {100 * MOST:.0f} %)"
            )
    assert not wrong, "; ".join(wrong) + (
        ": find out what made it so and, if that is meant, write the new numbers: "
        "STET_RENEW_COUNTS=1 ctest --test-dir build -R '^sim/counts$'"
    )


if __name__ == "__main__":
    test_counts()
