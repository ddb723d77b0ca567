# SPDX-License-Identifier: Apache-2.0
"""Writes what the extension shows of its classes and functions as C++: parameters, defaults and docstrings stand in
floptally/_core.pyi alone. Arguments: the stub, the header."""

from __future__ import annotations

import ast
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator


def parameters(of: ast.arguments) -> list[str]:
    """As they are written, without their types."""
    plain: list[ast.expr | None] = [*[None] * (len(of.args) - len(of.defaults)), *of.defaults]
    star = ["*"] if of.kwonlyargs else []
    others = [f"**{of.kwarg.arg}"] if of.kwarg else []
    return [*map(written, of.args, plain), *star, *map(written, of.kwonlyargs, of.kw_defaults), *others]


def written(parameter: ast.arg, default: ast.expr | None) -> str:
    return parameter.arg if default is None else f"{parameter.arg}={ast.unparse(default)}"


def entries(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Name, parameters and docstring of each class and function."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name, "", ast.get_docstring(node) or ""
            yield from entries(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name, "\n".join(parameters(node.args)), ast.get_docstring(node) or ""


def expanded(text: str, docs: dict[str, str]) -> str:
    """A docstring in which "first, …, last: as in `Cost.flops`." has become the lines that stand there."""
    lines: list[str] = []
    for line in text.splitlines():
        found = re.fullmatch(r"( *)(\w+), …, (\w+): as in `([\w.]+)`\.", line)
        if found is None:
            lines.append(line)
            continue
        indent, first, last, other = found.groups()
        there = docs[other].splitlines()
        starts = [next(i for i, one in enumerate(there) if one.startswith(f"{indent}{name}: ")) for name in (first, last)]
        lines += there[starts[0] : starts[1] + 1]
    return "\n".join(lines)


def main(stub: str, header: str) -> None:
    found = list(entries(ast.parse(pathlib.Path(stub).read_text("utf-8")).body))
    docs = {name: text for name, _, text in found}
    rows = [
        f'    {{{json.dumps(name)}, {json.dumps(lines)}, R"~({expanded(text, docs)})~"}},\n'
        for name, lines, text in found
    ]
    pathlib.Path(header).write_text("".join(rows), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
