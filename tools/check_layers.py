#!/usr/bin/env python3
"""Checks that layers, and folders inside a layer, include only what is left of them, and that files do not call in
circles.

Layers are the folders of src/, in the order below, and bench/. A public header belongs to the layer of its name, or to
the one that PUBLIC gives it. FOLDERS has the order inside a layer. Two files form a circle of calls if each uses,
directly or through others, a function or table that the other defines. Exit code 1 names every include that points to
the right, and every circle that CIRCLES does not allow.
"""

import os
import re
import sys

import source

LAYERS = "base device kernel model geom worlds physics step stage render tiles sim group cli bench".split()

# May be used by; everything else follows from the order. `adjoint` hangs below kernel, beside the row.
BESIDE = {"adjoint": {"sees": {"base", "device", "kernel"}, "seen_by": {"step", "cli", "bench"}}}

# Inside a layer: its folders from left to right, "." for its own files; folders of one group do not see each other.
FOLDERS = {
    "group": ["mpi", "."],
    "device": [".", {"cpu", "gpu", "null"}],
    "adjoint": ["tree", "analysis", "normalize", "sizing", "transform", "launch", "tape", "gradcheck", "."],
    "physics": [
        "model",
        "kinematics",
        "dynamics",
        "sensors",
        "collide",
        "contact",
        "solver",
        "constraint",
        "gradient",
        ".",
    ],
    "kernel": [".", "check", "compile", "checked", "gpu", "launch", "record", "user"],
}

# Circles of calls that may be, as files without suffix: a set may become smaller, not larger. Grammars are recursive.
CIRCLES = [
    {"src/kernel/check/expression", "src/kernel/check/parser", "src/kernel/check/statement"},
    {"src/kernel/check/call", "src/kernel/check/operator"},
    {"src/kernel/check/directive", "src/kernel/check/macro"},
]
UNORDERED = {"adjoint"}  # layers whose files may form circles: they have no order yet

# Public headers that do not bear their layer's name.
PUBLIC = {
    "dlpack": "device",
    "mechanisms": "base",
    "lang": "kernel",
    "lang_checked": "kernel",
    "lang_common": "kernel",
    "lang_cpu": "kernel",
    "lang_gpu": "kernel",
    "lang_list": "kernel",
    "lang_math": "kernel",
    "round": "sim",
    "stet": "cli",
    "trace": "base",
}

# Headers in the build tree, made when it is configured.
MADE = {"physics/access.k.h", "render/names.k.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.MULTILINE)


def sees(layer):
    """The layers that a file of this layer may include."""
    if layer in BESIDE:
        return BESIDE[layer]["sees"] | {layer}
    left = set(LAYERS[: LAYERS.index(layer) + 1])
    return left | {name for name, rule in BESIDE.items() if layer in rule["seen_by"]}


def layer_of(path):
    """The layer of a file, given from the top of the checkout; None where it has none."""
    parts = path.split("/")
    name = None
    if parts[0] == "src" and len(parts) > 2:
        name = parts[1]
    elif parts[0] == "bench":
        name = "bench"
    elif parts[:2] == ["include", "stet"] and len(parts) == 3:
        stem = parts[2].split(".")[0]
        name = PUBLIC.get(stem, stem)
    return name if name in LAYERS or name in BESIDE else None


def target(path, mark, name):
    """The file that an include names, from the top of the checkout; None for a header of somebody else."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    for candidate in (
        ([beside] if mark == '"' else [])
        + ["include/" + name, "src/" + name]
        + ([name] if path.startswith("bench/") else [])
    ):
        if os.path.exists(os.path.join(source.ROOT, candidate)):
            return candidate
    return None


def folder_of(path):
    """The layer and the folder inside it of a file of src/; None where FOLDERS does not order them."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 3 or parts[1] not in FOLDERS:
        return None
    return parts[1], parts[2] if len(parts) > 3 else "."


def folder_sees(layer, folder, other):
    """May a file in this folder of the layer include one in the other? None: the folder has no place in FOLDERS."""
    groups = [group if isinstance(group, set) else {group} for group in FOLDERS[layer]]
    place = next((i for i, group in enumerate(groups) if folder in group), None)
    if place is None:
        return None
    return folder == other or any(other in group for group in groups[:place])


def check_folders(path, included, line):
    own, other = folder_of(path), folder_of(included)
    if own is None or other is None or own[0] != other[0]:
        return []
    seen = folder_sees(own[0], own[1], other[1])
    if seen:
        return []
    if seen is None:
        return [
            f"{path}: its folder has no place in the order of {own[0]}; name it in FOLDERS of tools/check_layers.py"
        ]
    return [f"{path}:{line}: {own[0]}/{own[1]} includes {included}, which is not left of it"]


def check(path):
    layer = layer_of(path)
    if layer is None:
        return [f"{path}: belongs to no layer; name its layer in tools/check_layers.py"]
    text = source.uncommented(source.read(path))
    wrong = []
    for found in INCLUDE.finditer(text):
        mark, name = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        included = target(path, mark, name)
        if name in MADE:
            continue
        if included is None:
            # Quotes, and the project's own prefix, are for the project's own headers.
            if mark == '"' or name.startswith("stet/"):
                wrong.append(f'{path}:{line}: includes "{name}", which is neither in src/ nor in include/')
        elif layer_of(included) not in sees(layer):
            wrong.append(f"{path}:{line}: {layer} includes {included}, which is not left of it")
        else:
            wrong += check_folders(path, included, line)
    return wrong


DEFINED = re.compile(
    r"^(?!static\b|typedef\b|extern\b|struct\b|enum\b|union\b|#)\w[^;{}#=()]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE
)
TABLE = re.compile(r"^(?!static\b|typedef\b|extern\b)(?:const )?[\w ]+[ *](sti_\w+)(?:\[\w*\])* = ", re.MULTILINE)


def calls_between(paths):
    """For each file the files that define a function or table whose name it mentions."""
    text = {path: source.code(source.read(path)) for path in paths}
    home = {name: path for path in paths for pattern in (DEFINED, TABLE) for name in pattern.findall(text[path])}
    return {
        path: {home[word] for word in set(re.findall(r"\w+", text[path])) if home.get(word, path) != path}
        for path in paths
    }


def circles(uses):
    """The strongly connected sets of more than one file (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in sorted(uses[path]):
            if other not in index:
                visit(other)
            if other in stack:
                low[path] = min(low[path], low[other])
        if low[path] == index[path]:
            at = stack.index(path)
            found.append(set(stack[at:]))
            del stack[at:]

    for path in sorted(uses):
        if path not in index:
            visit(path)
    return [circle for circle in found if len(circle) > 1]


def check_circles(paths):
    """The circles that CIRCLES does not allow, as sentences."""
    wrong = []
    for circle in circles(calls_between(paths)):
        names = {path.rsplit(".", 1)[0] for path in circle}
        if {layer_of(path) for path in circle} <= UNORDERED:
            continue
        if not any(names <= known for known in CIRCLES):
            wrong.append("files that call each other in a circle: " + " ".join(sorted(circle)))
    return wrong


def main():
    checked = source.files("src", "include", "bench")
    wrong = [line for path in checked for line in check(path)]
    wrong += check_circles([path for path in checked if path.startswith("src/") and path.endswith(".c")])
    print(
        "\n".join(wrong)
        if wrong
        else f"layers: {len(checked)} files, each includes only what is left of it; no new circle of calls"
    )
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
