"""Models that nobody here wrote: all of those in the packages gymnasium and dm_control load, step and render.

A model is an .xml file whose root is <mujoco>, which has a <worldbody>, and which MuJoCo's own library loads. The
others are fragments that models include, files whose meshes are made by a program, or broken on purpose; the command
refuses what MuJoCo refuses.
"""

import ctypes
import os
import sys
import xml.etree.ElementTree as ElementTree

from command import PACKAGES, folder, run, stet

# Of the versions that tools/requirements-test.txt pins.
LEAST = {"gymnasium": 14, "dm_control": 50}

mujoco = ctypes.CDLL(os.environ["STET_TEST_MUJOCO"])
mujoco.mj_loadXML.restype = ctypes.c_void_p
mujoco.mj_deleteModel.argtypes = [ctypes.c_void_p]


def has_world(path):
    root = ElementTree.parse(path).getroot()
    return root.tag == "mujoco" and root.find("worldbody") is not None


def mujoco_loads(path):
    error = ctypes.create_string_buffer(1000)
    model = mujoco.mj_loadXML(path.encode(), None, error, len(error))
    if model:
        mujoco.mj_deleteModel(model)
    return bool(model)


def xml_files(package):
    for where, _, names in os.walk(os.path.join(PACKAGES, package)):
        yield from (os.path.join(where, name) for name in names if name.endswith(".xml"))


def try_model(path):
    """Why it does not run; None if it does."""
    try:
        done = run(path, "--worlds", 2, "--frames", 2, "--substeps", 2, "--size", "16x12", "--control", "noise",
                   "--output", "rgb,depth")
    except AssertionError as error:
        return str(error)
    return None if done["mechanisms"]["frame"]["misses"] > 0 else "nothing was rendered"


def try_refused(path):
    done = stet("run", path, "--worlds", 1, "--frames", 1)
    good = done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and path in done.stderr
    return None if good else f"MuJoCo refuses it; stet: exit code {done.returncode}: {done.stderr}"


def try_package(package):
    ran = refused = failed = 0
    files = sorted(path for path in xml_files(package) if has_world(path))
    for path in files:
        loads = mujoco_loads(path)
        wrong = try_model(path) if loads else try_refused(path)
        ran += loads
        refused += not loads
        if wrong:
            failed += 1
            print(f"{os.path.relpath(path, PACKAGES)}: {wrong}", flush=True)
    print(f"{package}: {ran} models ran, {refused} that MuJoCo cannot load were refused, {failed} failures", flush=True)
    assert ran >= LEAST[package], f"{package}: there should be {LEAST[package]} models"
    return failed


def main():
    assert PACKAGES, "gymnasium and dm_control are not installed; tools/setup.sh test does that"
    with folder() as here:  # MuJoCo's library writes its warnings into a file where it is
        os.chdir(here)
        failed = sum(try_package(package) for package in LEAST)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
