#!/usr/bin/env python3
"""Checks that each layer includes only itself and what is left of it.

Layers are the folders of src/, in the order below, and bench/. A public header belongs to the layer of its name, or to the one that
PUBLIC gives it. Exit code 1 names every include that points to the right.
"""

import os
import re
import sys

import source

LAYERS = "base device kernel model geom worlds physics step stage render tiles sim cli bench".split()

# May be used by; everything else follows from the order. `adjoint` hangs below kernel, beside the row.
BESIDE = {"adjoint": {"sees": {"base", "device", "kernel"}, "seen_by": {"step", "cli", "bench"}}}

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
    for candidate in ([beside] if mark == '"' else []) + ["include/" + name, "src/" + name] + ([name] if path.startswith("bench/") else []):
        if os.path.exists(os.path.join(source.ROOT, candidate)):
            return candidate
    return None


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
        if included is None:
            # Quotes, and the project's own prefix, are for the project's own headers.
            if mark == '"' or name.startswith("stet/"):
                wrong.append(f'{path}:{line}: includes "{name}", which is neither in src/ nor in include/')
        elif layer_of(included) not in sees(layer):
            wrong.append(f"{path}:{line}: {layer} includes {included}, which is not left of it")
    return wrong


def main():
    checked = source.files("src", "include", "bench")
    wrong = [line for path in checked for line in check(path)]
    print("\n".join(wrong) if wrong else f"layers: {len(checked)} files, each includes only what is left of it")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
