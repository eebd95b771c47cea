#!/usr/bin/env python3
"""Writes tools/corpus.txt again: the model files (MJCF and URDF) of the sources that its head lists, with a hash each.

    .venv/bin/python tools/list_corpus.py [SOURCE...]

Without names all sources are listed whose folders are there (tools/corpus.sh); what the list says of others stays. A
file is a model if MuJoCo loads it, in a process of its own that may use MEMORY and SECONDS; any other has its reason.
Needs MuJoCo's Python package, of the release that stet is built with.
"""

import hashlib
import os
import re
import resource
import select
import signal
import sys
import sysconfig

import mujoco

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "tools/corpus.txt")
MEMORY, SECONDS = 6 << 30, 60
REASON_MOST = 100  # letters
LOADED = "loads"


def folders():
    """Where sources are looked for, in this order; test/physics/corpus.c and corpus.sh have the same."""
    own = os.environ.get("CORPUS_FOLDER")
    return ([own] if own else []) + [os.path.join(ROOT, ".venv/corpus"), sysconfig.get_paths()["purelib"]]


def find_folder(source):
    return next((f for f in folders() if os.path.isdir(os.path.join(f, source))), None)


def root_element(text):
    """The name of an XML file's first element."""
    text = re.sub(r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>", "", text, flags=re.DOTALL)
    found = re.search(r"<\s*([\w:]+)", text)
    return found.group(1) if found else ""


def model_files(folder, source):
    """Paths below the folder, and texts, of the source's files that are MJCF or URDF, or parts of such."""
    for where, below, names in os.walk(os.path.join(folder, source)):
        below.sort()
        for name in sorted(names):
            if name.endswith((".xml", ".urdf", ".mjcf")):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
                if root_element(text) in ("mujoco", "mujocoinclude", "robot"):
                    yield os.path.relpath(path, folder), text


def included(files):
    """Of each path that others include, those others, and what includes them."""
    by = {}
    for path, text in files:
        for name in re.findall(r"<include\s[^>]*file\s*=\s*[\"']([^\"']+)", text):
            by.setdefault(os.path.normpath(os.path.join(os.path.dirname(path), name)), []).append(path)
    for parents in by.values():
        for parent in parents:  # which grows
            parents += [more for more in by.get(parent, []) if more not in parents]
    return by


def load(path, pipe):
    """In a process of its own: loads a file, and says into the pipe what MuJoCo says."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        mujoco.MjModel.from_xml_path(path)
        said = LOADED
    except MemoryError:
        said = f"MuJoCo wants more than {MEMORY >> 30} GiB for it"
    except Exception as error:
        said = str(error)
    os.write(pipe, said.encode())


def verdict(path):
    """LOADED, or what MuJoCo says, or what became of it."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            load(path, into)
        finally:
            os._exit(0)
    os.close(into)
    ready, _, _ = select.select([out], [], [], SECONDS)
    said = os.read(out, 4096).decode(errors="replace") if ready else f"MuJoCo loads for more than {SECONDS} s"
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(out)
    return said or f"MuJoCo ends the process (signal {status & 127}) or wants more than {MEMORY >> 30} GiB"


def reason(said, path, folder, whole):
    """Why a file is left out, in one line without paths of this machine. whole: a model that includes it, or None."""
    if whole:
        return f"a part of {os.path.relpath(whole, os.path.dirname(path))}"
    lost = re.search(r"(?:opening file|provider or OS filesystem:) '?([^']+)'?", said)
    line = f"needs a file that is not there: {lost.group(1)}" if lost else said.split("\n", maxsplit=1)[0]
    return " ".join(line.replace(folder + "/", "").split())[:REASON_MOST]


def rows(folder, source):
    """Lines of the list for one source, and how many of its files load."""
    files = list(model_files(folder, source))
    said, parents, lines = {}, included(files), []
    for path, text in files:
        part = root_element(text) == "mujocoinclude"
        said[path] = "a part, for an include" if part else verdict(os.path.join(folder, path))
    for path in said:
        with open(os.path.join(folder, path), "rb") as file:
            line = f"{hashlib.sha256(file.read()).hexdigest()[:16]} {path}"
        whole = next((parent for parent in parents.get(path, []) if said.get(parent) == LOADED), None)
        lines.append(line if said[path] == LOADED else f"{line} | {reason(said[path], path, folder, whole)}")
    return lines, sum(one == LOADED for one in said.values())


def read_list():
    """The list's head: comments and sources; and the rows of each source."""
    head, of = [], {}
    with open(LIST, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("source "):
                of[line.split()[1]] = []
            if line.startswith(("#", "source ")):
                head.append(line)
            elif line:
                of[line.split()[1].split("/")[0]].append(line)
    return head, of


def main(names):
    head, of = read_list()
    for name in set(names) - set(of):
        sys.exit(f"list_corpus: {LIST} has no source '{name}'; it has {', '.join(of)}")
    for source in names or of:
        folder = find_folder(source)
        if folder is None:
            print(f"{source}: not there; its lines stay")
            continue
        of[source], loaded = rows(folder, source)
        print(f"{source}: {loaded} of {len(of[source])} files load")
    every = [line for lines in of.values() for line in lines]
    print(f"all: {sum(' | ' not in line for line in every)} of {len(every)} files load")
    with open(LIST, "w", encoding="utf-8") as file:
        file.write("\n".join(head + [""] + every) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
