"""stet gradcheck: what it says of gradients, and one sentence for each option that means nothing."""

import os
import subprocess

from command import COMMAND, folder, stet

KERNELS = """#include "stet/lang.h"
world_kernel void k_f(const real *x, const int *k, lint *turn, real *y, ureal a, int n)
{
    each (i, n) {
        put(y, i, select(ieq(turn[i], isplat(0)), x[k[i]] * splat(a), sin(x[i])));
        turn[i] = turn[i] + isplat(1);
    }
}
"""
LARGE = """#include "stet/lang.h"
world_kernel void k_f(const real *x, real *y, int n)
{
    each (i, n) {
        put(y, i * 2, rabs(x[i] - splat((ureal)0.5)));
        put(y, i * 2 + 1, splat((ureal)1e13));
    }
}
"""
STEEP = """#include "stet/lang.h"
world_kernel void k_f(const real *x, real *y, int n)
{
    each (i, n) put(y, i, sin(x[i] * splat((ureal)1e13)));
}
"""


def gradcheck(cwd, *words, text=KERNELS):
    with open(os.path.join(cwd, "k.k.h"), "w", encoding="utf-8") as f:
        f.write(text)
    return stet("gradcheck", "k.k.h", *words, cwd=cwd, env={"XDG_CACHE_HOME": cwd})


def test_right():
    with folder() as cwd:
        done = gradcheck(
            cwd, "--int", "n=4", "--values", "k=0,2,1,3", "--items", "x=8", "--range", "x=-1,1", "--tolerance", "1e-6"
        )
        assert done.returncode == 0 and " 0 wrong" in done.stdout, (done.stdout, done.stderr)


def test_rounding():
    with folder() as cwd:
        done = gradcheck(cwd, text=LARGE)
        assert "cannot be told from rounding" in done.stdout and " 0 wrong" in done.stdout, (done.stdout, done.stderr)


def test_undecided():
    with folder() as cwd:
        done = gradcheck(cwd, text=STEEP)
        assert "6 gradients not compared: differences do not converge" in done.stdout, (done.stdout, done.stderr)
        assert " 0 wrong" in done.stdout and done.returncode == 0, (done.stdout, done.stderr)


def test_refusals():
    with folder() as cwd:
        for words, mention in (
            (["--int", "m=4"], "kernel k_f has no parameter `m`; there are x, k, turn, y, a, n"),
            (["--items", "z=4"], "no parameter `z`"),
            (["--values", "kk=1,2"], "no parameter `kk`"),
            (["--range", "b=0,1"], "no parameter `b`"),
            (["--constant", "q"], "`q` is declared to be constant, but no kernel has such a parameter"),
            (["--int", "x=4"], "`x` is an array"),
            (["--int", "n=4x"], "--int n=4x: not understood"),
            (["--int", "n=99999999999999999999"], "--int n=99999999999999999999: not understood"),
            (["--int", "n=9999999999"], "does not fit into its type int"),
            (["--items", "n=4"], "`n` is a number"),
            (["--items", "x=0"], "--items x=0: not understood"),
            (["--values", "k=1,,2"], "--values k=1,,2: not understood"),
            (["--values", "k=1,2,"], "--values k=1,2,: not understood"),
            (["--values", "k=" + 3000 * "1," + "x,2"], "--values k: number 3000 of the list is `x`; give whole"),
            (["--values", "k=" + 5000 * "1," + "2"], "--values k: more than 4096 numbers"),
            (["--values", "k=" + 50 * "1," + "2", "--values", "k=" + 50 * "1," + "2"], "k: not understood; give each"),
            (["--values", 3000 * "k" + "=1"], "--values kkk"),
            (["--values", "k=1,9999999999"], "does not fit into its type int"),
            (["--values", "k=1,2", "--items", "k=9"], "--items k=9: not understood"),
            (["--values", "x=1,2"], "`x` holds reals"),
            (["--range", "x=1,0"], "--range x=1,0: not understood"),
            (["--range", "x=0,nan"], "--range x=0,nan: not understood"),
            (["--range", "x=0,1y"], "--range x=0,1y: not understood"),
            (["--range", "n=0,1"], "`n` holds whole numbers"),
            (["--tolerance", "nan"], "--tolerance nan: not understood"),
            (["--tolerance", "inf"], "--tolerance inf: not understood"),
            (["--tolerance", "-1"], "--tolerance -1: not understood"),
            (["--tolerance", "1e-3x"], "--tolerance 1e-3x: not understood"),
            (["--worlds", "0"], "--worlds 0: not understood"),
            (["--seed", "one"], "--seed one: not understood"),
            (["--kernel", "k_g"], "has no kernel k_g"),
        ):
            done = gradcheck(cwd, *words)
            told = (words, done.returncode, done.stdout, done.stderr)
            assert done.returncode == 2 and done.stdout == "", told
            assert done.stderr.count("\n") == 1 and mention in done.stderr and len(done.stderr) < 250, told


def test_a_compiler_that_takes_long_is_said_at_once():
    """The compiler here fails once the line was read."""
    with folder() as cwd:
        fifo, compiler = os.path.join(cwd, "go"), os.path.join(cwd, "bin", "cc")
        os.mkfifo(fifo)
        os.mkdir(os.path.dirname(compiler))
        with open(compiler, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\ncase "$*" in *--version*) echo "cc 1";; *) read line <{fifo}; exit 3;; esac\n')
        os.chmod(compiler, 0o755)
        with open(os.path.join(cwd, "k.k.h"), "w", encoding="utf-8") as f:
            f.write(KERNELS)
        env = dict(os.environ, PATH=os.path.dirname(compiler) + ":" + os.environ["PATH"], XDG_CACHE_HOME=cwd)
        with subprocess.Popen([COMMAND, "gradcheck", "k.k.h"], cwd=cwd, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline()
            with open(fifo, "w", encoding="utf-8") as f:
                f.write("go\n")
            process.communicate(timeout=120)
        said = "stet gradcheck: warning: k.k.h: the C compiler is not done with kernel k_f yet"
        assert line.startswith(said) and process.returncode == 2, (line, process.returncode)


if __name__ == "__main__":
    from command import main

    main(globals())
