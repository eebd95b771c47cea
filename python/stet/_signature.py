"""Signatures of the extension's functions and methods, for inspect.signature and the tools that ask it."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any


def make_signature(function: Any) -> inspect.Signature:
    """What nanobind knows of a function, as Python has it: its text has `\\N` where the N-th default value is."""
    text, _, defaults = function.__nb_signature__[0]
    tree = ast.parse(re.sub(r"\\(\d+)", r"default[\1]", text) + ": ...").body[0]
    assert isinstance(tree, ast.FunctionDef)
    of, kinds = tree.args, inspect.Parameter
    plain = [(one, kinds.POSITIONAL_ONLY) for one in of.posonlyargs]
    plain += [(one, kinds.POSITIONAL_OR_KEYWORD) for one in of.args]
    rows = list(zip(plain, [None] * (len(plain) - len(of.defaults)) + of.defaults))
    rows += [((of.vararg, kinds.VAR_POSITIONAL), None)] * (of.vararg is not None)
    rows += [((one, kinds.KEYWORD_ONLY), default) for one, default in zip(of.kwonlyargs, of.kw_defaults)]

    def value(default):
        if isinstance(default, ast.Subscript):
            return defaults[ast.literal_eval(default.slice)]
        return kinds.empty if default is None else ast.literal_eval(default)

    parameters = [kinds(one.arg, kind, default=value(default),
                        annotation=ast.unparse(one.annotation) if one.annotation else kinds.empty)
                  for (one, kind), default in rows]
    bound = type(function).__name__ == "nb_bound_method"
    return inspect.Signature(parameters[bound:],
                             return_annotation=ast.unparse(tree.returns) if tree.returns else kinds.empty)
