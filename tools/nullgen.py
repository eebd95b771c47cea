#!/usr/bin/env python3
"""Writes a call of each public function for the test that hands NULL to each of their pointers
(test/sim/faults/nulls_test.c).

    nullgen.py OUT: a row CALL_RESULT, CALL_TEXT or CALL_OTHER(function, names of its pointers, arguments) for each of
    include/stet/*.h.

An argument that is a pointer is N(place among the pointers, type, valid value); the values are those of the test's
fixture. A type or a result that is not in the tables below is an error here: give it a value.
"""

import re
import sys

import source

VALUES = {
    "bool": "true",
    "double": "0.5",
    "float": "0.5f",
    "int": "0",
    "int64_t": "1",
    "uint32_t": "1",
    "size_t": "4",
    "uint64_t": "1",
    "const char *": '"x"',
    "const void *": "f.room",
    "void *": "f.room",
    "const stet_array_def *": "&f.array_def",
    "const stet_device_def *": "&f.device_def",
    "const stet_kernel_def *": "&f.kernel_def",
    "const stet_mechanism_options *": "&f.options",
    "const stet_reset_def *": "&f.reset_def",
    "const stet_sim_def *": "&f.sim_def",
    "const stet_tape_def *": "&f.tape_def",
    "const stet_tiles_def *": "&f.tiles_def",
    "const stet_trace_def *": "&f.trace_def",
    "const stet_ranges_def *": "&f.ranges_def",
    "const stet_worlds_def *": "&f.worlds_def",
    "const stet_export_def *": "&f.export_def",
    "const stet_import_def *": "&f.import_def",
    "const stet_gradcheck_def *": "&f.gradcheck_def",
    "const stet_group_def *": "&f.group_def",
    "stet_alloc_fn *": "f.alloc",
    "stet_free_fn *": "f.release",
    "stet_log_fn *": "f.log",
    "stet_interrupt_fn *": "0",
    "stet_foreign_fn *": "f.foreign",
}
# Things that the fixture has one of, by the end of their type's name.
THINGS = "adjoint array device group id_table kernel model sim snapshot stage step tape tiles worlds".split()
# Arguments that mean something else than their type's value.
NAMED = {
    ("stet_model_load", "path"): "f.path",
    ("stet_model_load_string", "xml"): "f.xml",
    ("stet_model_find", "name"): '"ball"',
    ("stet_worlds_get_array", "field"): '"qpos"',
    ("stet_worlds_set_parameter", "name"): '"gravity"',
    ("stet_worlds_set_parameter", "nvalue"): "3",
    ("stet_sim_get_control_table", "name"): '"hold"',
    ("stet_depth_colour", "far"): "1",
    ("stet_depth_colours", "far"): "1",
    ("stet_sim_place_camera", "camera"): "1",
    ("stet_sim_place_camera", "name"): '"free"',
    ("stet_stage_find", "name"): '"ball"',
    ("stet_stage_find", "kind"): "STET_PRIM_BODY",
    ("stet_model_find", "kind"): "STET_OBJECT_BODY",
    ("stet_stage_add", "name"): '"added"',
    ("stet_mechanism_find", "name"): '"frame"',
    ("stet_output_find", "name"): '"rgb"',
    ("stet_decoration_find", "name"): '"com"',
}


# And for every function; lists have an element.
EVERYWHERE = {"first": "0", "nworld": "1", "nvalue": "1", "nstep": "1", "narg": "1", "nuse": "1", "ngradient": "1"}


def functions():
    """(result, name, [(type, parameter)]) of each declaration."""
    for path in source.files("include/stet"):
        text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", source.code(source.read(path)), flags=re.MULTILINE)
        for result, name, parameters in re.findall(r"STET_API\s+([^;{}]*?)\b(\w+)\s*\(([^;{}]*?)\)\s*;", text):
            listed = [] if parameters.strip() == "void" else parameters.split(",")
            yield " ".join(result.split()), name, [parameter(p) for p in listed]


def parameter(text):
    kind, name, array = re.fullmatch(r"\s*(.*?)(\w+)(\[\d*\])?\s*", text, re.DOTALL).groups()
    kind = " ".join(kind.split())
    return (kind + " *" if array else kind), name


def value(function, kind, name):
    thing = re.fullmatch(r"(?:const )?stet_(\w+) \*", kind)
    if (function, name) in NAMED:
        return NAMED[function, name]
    if name in EVERYWHERE:
        return EVERYWHERE[name]
    if kind in VALUES:
        return VALUES[kind]
    if thing and thing.group(1) in THINGS:
        return "f." + thing.group(1)
    if kind.endswith("*"):
        return f"({kind})f.room"
    if re.fullmatch(r"stet_\w+", kind):
        return f"({kind})0"
    sys.exit(f"nullgen.py: {function}: no value for {name}, {kind}: give it one")


def row(result, name, parameters):
    arguments, pointers = [], []
    for kind, parameter_name in parameters:
        chosen = value(name, kind, parameter_name)
        if kind.endswith("*"):
            chosen = f"N({len(pointers)}, {kind}, {chosen})"
            pointers.append(parameter_name)
        arguments.append(chosen)
    kind = "RESULT" if result == "stet_result" else "TEXT" if result.endswith("*") else "OTHER"
    return f'CALL_{kind}({name}, "{" ".join(pointers)}", {", ".join(arguments)})\n' if pointers else ""


def main(out):
    rows = [row(*function) for function in functions()]
    if len(rows) < 100:
        sys.exit(f"nullgen.py: only {len(rows)} functions found: the headers changed their form")
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(rows)


if __name__ == "__main__":
    main(sys.argv[1])
