# SPDX-License-Identifier: Apache-2.0
"""Reads the public names of the Python package with their docstrings, from the sources and the stub of the extension."""

import ast
import dataclasses
import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import surface

PACKAGE = surface.PACKAGE
#: Longest line of a signature.
WIDTH = 100


@dataclasses.dataclass
class Name:
    """A public class, function or value: its signature, its docstring, the names that the docstring may describe, and its
    members."""

    name: str
    kind: str
    signature: str
    text: str
    described: set = dataclasses.field(default_factory=set)
    members: list = dataclasses.field(default_factory=list)
    file: str = ""


PARSED = {}


def parsed(path):
    """The statements of a file, read once for each text."""
    text = path.read_text(encoding="utf-8")
    if text not in PARSED:
        PARSED[text] = surface.parsed(path)
    return PARSED[text]


def modules():
    """Public modules, by their names: `floptally` first."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = [part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__"]
        # Names of these modules stand in the module above them.
        if not any(part.startswith("_") for part in parts) and not (len(parts) > 1 and parts[0] in ("callbacks", "plots")):
            found[".".join(["floptally", *parts])] = path
    return dict(sorted(found.items()))


def defined(path, name, seen=()):
    """The statement that defines a name of a file, and the file: imports from the package are followed."""
    stub = path.with_suffix(".pyi")
    path = stub if stub.is_file() else path
    if not path.is_file() or (path, name) in seen:
        return None, path
    body = parsed(path)
    for node in body:
        if name in names_of(node):
            return node, path
    imports = [*body, *(each for node in body if isinstance(node, (ast.If, ast.Try)) for each in node.body)]
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    folder = path.parents[node.level - 1]
                    source = folder / node.module.replace(".", "/")
                    source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
                    return defined(source, alias.name, (*seen, (path, name)))
    lazy = next((node for node in body if "_LAZY" in names_of(node)), None)  # submodules that are imported by name
    if lazy and name in (where := ast.literal_eval(lazy.value)):
        return defined(path.parent / f"{where[name]}.py", name)
    return None, path


def names_of(node):
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def public_names(path):
    """The names of `__all__`, or else those without an underscore that the file defines."""
    body = parsed(path)
    for node in body:
        if "__all__" in names_of(node):
            return ast.literal_eval(node.value)
    return [name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) for name in names_of(node) if name[0] != "_"]


def code(node):
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def signature_of(node, name=None):
    """A function's signature, over several lines where it is long."""
    of = node.args
    plain = [*of.posonlyargs, *of.args]
    defaults = [*[None] * (len(plain) - len(of.defaults)), *of.defaults]
    pieces = [written(*one) for one in zip(plain, defaults)]
    if of.posonlyargs:
        pieces.insert(len(of.posonlyargs), "/")
    if of.vararg:
        pieces.append("*" + written(of.vararg, None))
    elif of.kwonlyargs:
        pieces.append("*")
    pieces += [written(*one) for one in zip(of.kwonlyargs, of.kw_defaults)]
    if of.kwarg:
        pieces.append("**" + written(of.kwarg, None))
    if pieces and pieces[0] in ("self", "cls"):
        pieces = pieces[1:]
    returned = f" -> {code(node.returns)}" if node.returns and node.name != "__init__" else ""
    name = name or node.name
    line = f"{name}({', '.join(pieces)}){returned}"
    if len(line) <= WIDTH:
        return line
    lines = [f"{name}("]
    row = "   "
    for piece in pieces:
        if len(row) + len(piece) > WIDTH - 2 and row.strip():
            lines.append(row)
            row = "   "
        row += f" {piece},"
    return "\n".join([*lines, row, f"){returned}"])


def written(parameter, default):
    text = parameter.arg + (f": {code(parameter.annotation)}" if parameter.annotation else "")
    gap = " " if parameter.annotation else ""
    return text if default is None else f"{text}{gap}={gap}{code(default)}"


def docstring(node):
    """The docstring of a function or class, whose members of private bases may stand before it (surface.parsed)."""
    texts = [each.value.value for each in node.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
    return inspect.cleandoc(texts[-1]) if texts and isinstance(texts[-1], str) else ""


def marks_of(node):
    return {code(mark).split("(")[0].split(".")[-1] for mark in node.decorator_list}


def parameters_of(node):
    of = node.args
    return {one.arg for one in [*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg] if one} - {"self", "cls"}


def comment_above(lines, node):
    """The lines `#:` above an attribute."""
    found = []
    at = node.lineno - 2
    while at >= 0 and lines[at].strip().startswith("#:"):
        found.insert(0, lines[at].strip()[2:].strip())
        at -= 1
    return " ".join(found)


def name_of(node, path, name=None):
    """What the reference says of a class, a function or a value."""
    name = name or next(iter(names_of(node)))
    lines = path.read_text(encoding="utf-8").splitlines()
    if isinstance(node, ast.FunctionDef):
        marks = marks_of(node)
        kind = "property" if marks & {"property", "cached_property"} else "function"
        text = docstring(node)
        if kind == "property":
            return Name(name, kind, f"{name}: {code(node.returns)}" if node.returns else name, text, file=path.name)
        before = "".join(f"@{mark} " for mark in sorted(marks & {"staticmethod", "classmethod"}))
        return Name(name, kind, before + signature_of(node, name), text, parameters_of(node), file=path.name)
    if isinstance(node, ast.ClassDef):
        return class_of(node, path, name, lines)
    kind = code(node.annotation) if isinstance(node, ast.AnnAssign) else ""
    return Name(name, "value", f"{name}: {kind}" if kind else name, comment_above(lines, node), file=path.name)


def class_of(node, path, name, lines):
    members, made, described = [], "", set()
    for each in node.body:
        for member in names_of(each):
            if member == "__init__" and isinstance(each, ast.FunctionDef):
                made = signature_of(each, name)
                described |= parameters_of(each)
            elif member in ("__call__", "__enter__") or not member.startswith("_"):
                if isinstance(each, (ast.FunctionDef, ast.AnnAssign)) or comment_above(lines, each):
                    members.append(name_of(each, path, member))
    described |= {member.name for member in members}
    text = docstring(node)
    bases = ", ".join(code(base) for base in node.bases if code(base) not in ("object", "Report"))
    return Name(name, "class", made or f"class {name}" + (f"({bases})" if bases else ""), text, described, members, path.name)


def module_of(name, path, known):
    """The docstring of a module, and its names; names that stand in a module before it are left out."""
    found = []
    for each in sorted(public_names(path), key=str.lower):
        node, where = defined(path, each)
        if node is None:
            if each not in modules_in(path):
                sys.exit(f"{name}.{each}: its definition was not found")
            continue
        if (where, each) not in known:
            known[where, each] = name
            found.append(name_of(node, where, each))
    return inspect.cleandoc(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""), found


def modules_in(path):
    return {each.stem for each in path.parent.glob("*.py")}


def aliases():
    """Types of arguments: (name, definition, comment)."""
    found = []
    for file in ("_types.py", "_literals.py"):
        path = PACKAGE / file
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in parsed(path):
            if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias":
                found.append((node.target.id, code(node.value), comment_above(lines, node)))
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.append((node.name, "protocol", " ".join((ast.get_docstring(node) or "").split())))
    return sorted(found, key=lambda one: one[0].lower())
