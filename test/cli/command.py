"""What the tests of the command share: running it, reading its pictures, a folder of one's own."""

import contextlib
import functools
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

COMMAND = os.environ["STET_TEST_COMMAND"]
SOURCE = os.environ["STET_TEST_SOURCE_DIR"]
BUILD = os.environ["STET_TEST_BINARY_DIR"]
PACKAGES = os.environ["STET_TEST_PACKAGES"]


MPIRUN = shutil.which("mpirun")


@functools.cache
def is_open_mpi():
    return "Open MPI" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout


def launch(nrank, *words):
    """The words of a command line that starts `nrank` processes, as many as processors or not, also as root."""
    more = ["--oversubscribe", "--allow-run-as-root"] if is_open_mpi() else []
    return [MPIRUN, *more, "-n", str(nrank), *map(str, words)]


def skip_without_mpi():
    """Ends a test where this build has no module over MPI, or there is no mpirun."""
    if not MPIRUN or not os.path.exists(os.path.join(BUILD, "libstet_mpi.so")):
        print("skipped: " + ("this build has no module over MPI" if MPIRUN else "there is no mpirun"))
        sys.exit(77)


def scene(name):
    return os.path.join(SOURCE, "scenes", name)


@contextlib.contextmanager
def folder():
    """A fresh folder, removed afterwards."""
    path = tempfile.mkdtemp(prefix="cli-test-", dir=BUILD)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def stet(*words, cwd=None, env=None):
    """Runs the command; the result has returncode, stdout and stderr as text."""
    whole = dict(os.environ, **(env or {}))
    for _ in range(3):
        done = subprocess.run(
            [COMMAND, *map(str, words)], cwd=cwd, env=whole, capture_output=True, text=True, check=False, timeout=600
        )
        # Rarely the leak checker of a sanitizer's build fails itself, over a thread that is just ending.
        if "LeakSanitizer has encountered a fatal error" not in done.stderr:
            break
    return done


def run(*words, cwd=None, env=None):
    """`stet run … --json`, which must succeed; its object."""
    done = stet("run", *words, "--json", cwd=cwd, env=env)
    assert done.returncode == 0, f"stet run {words}: exit code {done.returncode}: {done.stderr}"
    assert done.stderr == "", f"stet run {words}: standard error has: {done.stderr}"
    return json.loads(done.stdout)


def double(at):
    """The environment in which the command takes the driver double for CUDA's driver and NVRTC; `at`: a folder of one's
    own.
    """
    for name in ("libcuda.so.1", "libnvrtc.so.13"):
        os.symlink(os.path.join(BUILD, "test", "double", "libdouble_cuda.so"), os.path.join(at, name))
    path = os.environ.get("LD_LIBRARY_PATH")
    return {
        "LD_LIBRARY_PATH": f"{at}:{path}" if path else at,
        "XDG_CACHE_HOME": os.path.join(BUILD, "test", "kernel_cache", "cli"),
    }


def is_running(pid):
    """False: the process has ended, also if nobody has waited for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def files_below(path):
    return sorted(os.path.relpath(os.path.join(at, name), path) for at, _, names in os.walk(path) for name in names)


def _unfilter(kind, row, above, step):
    """One row of a PNG, by the five filters of its standard (section 9.2), modulo 256."""
    out = bytearray(row)
    for i in range(len(out)):
        a = out[i - step] if i >= step else 0
        b = above[i]
        c = above[i - step] if i >= step else 0
        if kind == 1:
            out[i] = (out[i] + a) & 255
        elif kind == 2:
            out[i] = (out[i] + b) & 255
        elif kind == 3:
            out[i] = (out[i] + (a + b) // 2) & 255
        elif kind == 4:
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))
            out[i] = (out[i] + near[2]) & 255
    return out


def read_png(path):
    """Pixels [height][width][channels] of an 8-bit RGB or RGBA picture; checks every checksum."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, body, head = 8, b"", None
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert zlib.crc32(kind + content) == check, path
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", content)
        if kind == b"IDAT":
            body += content
        at += 12 + size
    width, height, depth, colour, _, _, interlaced = head
    assert depth == 8 and interlaced == 0, path
    channels = {2: 3, 6: 4}[colour]
    raw, stride = zlib.decompress(body), width * channels
    assert len(raw) == height * (stride + 1), path
    rows, above = [], bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        above = _unfilter(raw[start], raw[start + 1 : start + 1 + stride], above, channels)
        rows.append(bytes(above))
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, channels)


def main(tests):
    """Runs all functions of a module whose names begin with test_, and says which."""
    ran = 0
    for name, function in list(tests.items()):
        if name.startswith("test_"):
            function()
            print(f"{name}: passed", flush=True)
            ran += 1
    assert ran > 0, "no test in this file"
