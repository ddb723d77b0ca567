#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the public names of C++ and Python to tests/surface/; with --check, exits 1 and prints the difference.

C++: what the headers of include/floptally outside of `detail/` declare in namespace floptally, without `detail` and without
inline namespaces: types with their public members, enumerators, concepts, functions with their parameters, constants.
Headers in `detail/` that those include are read too. Python: the modules of the package whose names have no underscore, and
what `floptally` itself offers.
"""

import ast
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include/floptally"
PACKAGE = ROOT / "examples/python/floptally"
LISTS = ROOT / "tests/surface"

# ---- C++ ----

TOKEN = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'  # a raw string
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)+'"
    r"|[A-Za-z_]\w*|\.?\d(?:[\w.']|(?<=[eEpP])[+-])*"
    r"|::|->\*?|\.\.\.|<=>|&&|\|\||==|!=|<=|>=|\+=|-=|\*=|/=|%=|\|=|&=|\^=|\+\+|--|\[\[|\]\]|<<=?|[^\s\w]",
    re.S,
)
PAIRS = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
#: Words before a declaration that say nothing of how it is used.
SILENT = re.compile(r"inline|FLOPTALLY_[A-Z_]+|__host__|__device__|__forceinline__|__global__")
#: Words whose parentheses are no parameters.
NOT_CALLED = {"explicit", "alignas", "decltype", "noexcept", "requires", "__launch_bounds__", "sizeof"}
LONGEST_VALUE = 60


def tokens_of(text):
    text = re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    return [match[0] for match in TOKEN.finditer(text)]


def end_of(tokens, at):
    """The place behind the bracket that closes the one at `at`."""
    depth, begin = [], at
    while at < len(tokens):
        token = tokens[at]
        if token in PAIRS and not (token == "[[" and depth and tokens[begin] != "[["):
            depth.append(PAIRS[token])
        elif depth and token == depth[-1]:
            depth.pop()
            if not depth:
                return at + 1
        elif token == "]]" and len(depth) > 1 and depth[-1] == depth[-2] == "]":
            del depth[-2:]
            if not depth:
                return at + 1
        elif token == "[[":
            depth += ["]", "]"]
        at += 1
    raise SyntaxError("no bracket closes " + " ".join(tokens[begin : begin + 12]))


def end_of_angles(tokens, at):
    """The place behind the `>` that closes the `<` at `at`."""
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        if token in PAIRS:
            at = end_of(tokens, at)
            continue
        depth += (token == "<") - (token == ">")
        at += 1
        if depth == 0:
            return at
    raise SyntaxError("no > closes a <")


def spelled(tokens):
    """The tokens as one line, in one spelling whatever line breaks the header has."""
    text = " ".join(token for token in tokens if not SILENT.fullmatch(token))
    text = re.sub(r"\[\[.*?\]\] ?", "", text)
    text = re.sub(r" ?(::|->(?=\w)) ?", r"\1", text)
    text = re.sub(r" (?=[,;)\]>.])|(?<=[(\[!~.]) |(?<=\w) (?=[(\[<])|(?<=<) | (?=\.\.\.)", "", text)
    text = re.sub(r"(?<=[\w>)]) ([&*]+)(?=[\w\s,)>]|$)", r"\1", text)
    text = re.sub(r"\b(operator) (?=\W)", r"\1", text)
    text = re.sub(r"\{ ", "{", re.sub(r" \}", "}", text))
    text = re.sub(r"(?<=\w) \{(?=\})", "{", text)
    text = re.sub(r'\.\.\.(?=\w)', "... ", re.sub(r'" (?=s\b|sv\b)', '"', text))
    return re.sub(r"\b(template|requires|if|return)(?=[<(])", r"\1 ", text).strip()


def shortened(value):
    return value if len(value) <= LONGEST_VALUE else "…"


class Scan:
    """The declarations of one header."""

    def __init__(self, tokens, lines):
        self.tokens, self.lines = tokens, lines

    def add(self, path, text):
        self.lines.add(f"{'::'.join(path)} | {text}" if path else text)

    def namespaces(self, at, end, path):
        tokens = self.tokens
        while at < end:
            if tokens[at] == "inline" and tokens[at + 1] == "namespace":
                at += 1
            if tokens[at] != "namespace":
                at = self.declaration(at, end, path, None)
                continue
            at += 1
            inner, is_inline = list(path), tokens[at - 2] == "inline"
            while tokens[at] not in ("{", "=", ";"):
                if tokens[at] == "inline":
                    is_inline = True
                elif tokens[at] == "::":
                    is_inline = False
                elif not is_inline:
                    inner.append(tokens[at])
                at += 1
            if tokens[at] != "{":
                at += tokens[at:end].index(";") + 1
                continue
            stop = end_of(tokens, at)
            if inner != path or is_inline:  # not one without a name
                self.namespaces(at + 1, stop - 1, inner)
            at = stop

    def members(self, at, end, path, name, is_public):
        tokens = self.tokens
        while at < end:
            if tokens[at] in ("public", "private", "protected") and tokens[at + 1] == ":":
                is_public = tokens[at] == "public"
                at += 2
            else:
                at = self.declaration(at, end, path, name, is_public or tokens[at] == "friend")

    def head(self, at):
        """The place behind `template <…>` and its `requires`."""
        tokens = self.tokens
        while tokens[at] == "template" and tokens[at + 1] == "<":
            at = end_of_angles(tokens, at + 1)
            if tokens[at] == "requires":
                at = self.constraint(at + 1)
        return at

    def constraint(self, at):
        """The place behind a requires-clause in a template's head."""
        tokens = self.tokens
        while True:
            while tokens[at] == "!":
                at += 1
            if tokens[at] == "requires":
                at += 1
                if tokens[at] == "(":
                    at = end_of(tokens, at)
                at = end_of(tokens, at)
            elif tokens[at] == "(":
                at = end_of(tokens, at)
            else:
                at += 1
                while tokens[at] in ("::", "<") or tokens[at - 1] == "::":
                    at = end_of_angles(tokens, at) if tokens[at] == "<" else at + 1
            if tokens[at] not in ("&&", "||"):
                return at
            at += 1

    def declaration(self, at, end, path, owner, is_shown=True):
        tokens = self.tokens
        if tokens[at] in (";", "}"):
            return at + 1
        if tokens[at].startswith("FLOPTALLY_") and tokens[at + 1] == "(":
            return end_of(tokens, at + 1)
        begin = at
        at = self.head(at)
        first = at
        while tokens[first] == "[[" or SILENT.fullmatch(tokens[first]) or tokens[first] in ("friend", "typedef", "extern"):
            first = end_of(tokens, first) if tokens[first] == "[[" else first + 1
        is_public = is_shown and bool(path) and path[0] == "floptally" and "detail" not in path
        word = tokens[first]
        if word == "static_assert":
            return at + tokens[at:end].index(";") + 1
        if word in ("struct", "class", "union"):
            behind = self.type(begin, first, path, owner, is_public)
            if behind is not None:
                return behind
        if word == "enum":
            return self.enumeration(first, path, is_public)
        if word == "concept":
            stop = self.end_of_statement(first)
            if is_public:
                self.add([*path, tokens[first + 1]][1:], spelled(tokens[begin : first + 2]))
            return stop
        if word == "using":
            stop = self.end_of_statement(first)
            if is_public:
                is_alias = "=" in tokens[first:stop]
                name = tokens[first + 1] if is_alias else spelled(tokens[first + 1 : stop - 1]).rpartition("::")[2]
                self.add([*path, name][1:], spelled(tokens[begin : stop - 1]))
            return stop
        return self.function_or_value(begin, at, path, owner, is_public)

    def type(self, begin, first, path, owner, is_public):
        tokens, at = self.tokens, first + 1
        while tokens[at] == "[[" or tokens[at] == "alignas":
            at = end_of(tokens, at if tokens[at] == "[[" else at + 1)
        name = tokens[at]
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            return None
        at += 1
        if tokens[at] == "<":
            at = end_of_angles(tokens, at)
        if tokens[at] == ";":  # declared, or a friend
            return at + 1
        stop = at
        while tokens[stop] not in ("{", ";", "(", "="):
            stop = end_of_angles(tokens, stop) if tokens[stop] == "<" else stop + 1
        if tokens[stop] != "{":
            return None
        behind = end_of(tokens, stop)
        if is_public:
            bases = self.public_bases(tokens[at:stop], tokens[first])
            self.add([*path, name][1:], spelled([token for token in tokens[begin:at] if token != "friend"]) + bases)
            self.members(stop + 1, behind - 1, [*path, name], name, tokens[first] != "class")
        if tokens[behind] != ";" and is_public:  # a member of a type without another name
            self.add([*path, tokens[behind]][1:], f"{name} {tokens[behind]}")
        while tokens[behind] != ";":
            behind = end_of(tokens, behind) if tokens[behind] in PAIRS else behind + 1
        return behind + 1

    @staticmethod
    def public_bases(tokens, kind):
        if ":" not in tokens:
            return " final" if "final" in tokens else ""
        bases, piece, depth = [], [], 0
        for token in [*tokens[tokens.index(":") + 1 :], ","]:
            depth += (token in "<(") - (token in ">)")
            if token == "," and depth == 0:
                is_public = "public" in piece or (kind != "class" and "private" not in piece)
                if is_public and "detail" not in piece:
                    bases.append(spelled([one for one in piece if one not in ("public", "virtual")]))
                piece = []
            else:
                piece.append(token)
        return (" final" if "final" in tokens else "") + (" : " + ", ".join(bases) if bases else "")

    def enumeration(self, at, path, is_public):
        tokens = self.tokens
        name = tokens[at + 1 + (tokens[at + 1] in ("class", "struct"))]
        while tokens[at] not in ("{", ";"):
            at += 1
        if tokens[at] == ";":
            return at + 1
        stop = end_of(tokens, at)
        if is_public:
            self.add([*path, name][1:], "enum " + name)
            place = 0
            piece = []
            for token in [*tokens[at + 1 : stop - 1], ","]:
                if token != ",":
                    piece.append(token)
                elif piece:
                    value = spelled(piece[piece.index("=") + 1 :]) if "=" in piece else str(place)
                    self.add([*path, name, piece[0]][1:], f"= {value}")
                    place = int(value) + 1 if value.isdigit() else place + 1
                    piece = []
        return stop + 1

    def end_of_statement(self, at):
        tokens = self.tokens
        while tokens[at] != ";":
            at = end_of(tokens, at) if tokens[at] in PAIRS else at + 1
        return at + 1

    def function_or_value(self, begin, at, path, owner, is_public):
        """Reads on from a declaration's head to behind its body."""
        tokens = self.tokens
        called = None  # where the parameters begin
        name = None
        while True:
            token = tokens[at]
            if token == "operator" and called is None:
                name_at = at
                at += 1
                if tokens[at] == "(":
                    at += 2
                else:
                    while tokens[at] != "(":
                        at += 1
                name = "operator" + spelled(tokens[name_at + 1 : at]).strip()
                name = re.sub(r"^operator(?=\w)", "operator ", name)
                called = at
                at = end_of(tokens, at)
            elif token == "<" and called is None:
                at = end_of_angles(tokens, at)
            elif token == "(" and called is None and tokens[at + 1] == "*":  # a pointer to a function
                name, stop = tokens[at + 2], self.end_of_statement(at)
                if is_public:
                    self.add([*path, name][1:], spelled(tokens[begin : stop - 1]))
                return stop
            elif token == "(" and called is None and tokens[at - 1] not in NOT_CALLED:
                called = at
                name = tokens[at - 1]
                if name == ">":  # a specialization
                    name = "specialization"
                if tokens[at - 2] == "~":
                    name = "~" + name
                at = end_of(tokens, at)
            elif token == "requires" and called is not None:
                at = self.constraint(at + 1)
            elif token in ("(", "[", "[["):
                at = end_of(tokens, at)
            elif token == "=" and called is not None and tokens[at + 1] in ("default", "delete", "0"):
                at += 3
                self.show(begin, at - 1, path, name, is_public)
                return at
            elif token == "=":
                stop = self.end_of_statement(at)
                self.value(begin, at, stop - 1, path, is_public)
                return stop
            elif token == ":" and called is not None:  # members of a constructor
                self.show(begin, at, path, name, is_public)
                at += 1
                while True:
                    while tokens[at] not in ("(", "{"):
                        at = end_of_angles(tokens, at) if tokens[at] == "<" else at + 1
                    at = end_of(tokens, at)
                    if tokens[at] == "...":
                        at += 1
                    if tokens[at] == "{":
                        return end_of(tokens, at)
                    at += 1
            elif token == "{":
                stop = end_of(tokens, at)
                if called is not None:
                    self.show(begin, at, path, name, is_public)
                    return stop
                self.value(begin, at, stop, path, is_public)
                return self.end_of_statement(stop)
            elif token == ";":
                if called is not None:
                    self.show(begin, at, path, name, is_public)
                else:
                    self.value(begin, at, at, path, is_public)
                return at + 1
            else:
                at += 1

    def show(self, begin, end, path, name, is_public):
        if is_public:
            self.add([*path, name][1:], spelled(self.tokens[begin:end]))

    def value(self, begin, at, stop, path, is_public):
        if not is_public:
            return
        tokens = self.tokens[begin:at]
        while tokens and tokens[-1] == "]":
            del tokens[len(tokens) - 1 - tokens[::-1].index("[") :]
        colon = tokens.index(":") if ":" in tokens else len(tokens)  # a field of bits
        name = tokens[colon - 1] if tokens else ""
        initial = spelled(self.tokens[at:stop])
        gap = " " if initial.startswith("=") else ""
        self.add([*path, name][1:], f"{spelled(self.tokens[begin:at])}{gap or ' ' * (len(initial) > LONGEST_VALUE)}{shortened(initial)}")


def cpp_surface():
    lines, seen = set(), set()
    open_files = [path for path in sorted(HEADERS.rglob("*")) if path.suffix in (".hpp", ".cuh") and "detail" not in path.parts]
    while open_files:
        path = open_files.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        text = path.read_text()
        open_files += [HEADERS / name for name in re.findall(r"#include <floptally/(.*?\.(?:hpp|cuh))>", text)]
        tokens = tokens_of(text)
        try:
            Scan(tokens, lines).namespaces(0, len(tokens), [])
        except (IndexError, SyntaxError) as problem:
            raise SystemExit(f"{path.relative_to(ROOT)}: tests/surface.py cannot read it: {problem}") from problem
    return sorted(lines)


# ---- Python ----


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def signature(node):
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    marks = "".join(f"@{ast.unparse(mark)} " for mark in node.decorator_list)
    return f"{marks}{'async ' * isinstance(node, ast.AsyncFunctionDef)}def {node.name}({ast.unparse(node.args)}){result}"


def names_in(body, prefix, lines):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            lines.add(f"{prefix}{node.name} | {signature(node)}")
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            bases = ", ".join(ast.unparse(base) for base in [*node.bases, *node.keywords])
            marks = "".join(f"@{ast.unparse(mark)} " for mark in node.decorator_list)
            lines.add(f"{prefix}{node.name} | {marks}class {node.name}" + (f"({bases})" if bases else ""))
            names_in(node.body, f"{prefix}{node.name}.", lines)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id):
            value = f" = {shortened(ast.unparse(node.value))}" if node.value else ""
            lines.add(f"{prefix}{node.target.id} | {ast.unparse(node.annotation)}{value}")
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and is_public(target.id):
                    lines.add(f"{prefix}{target.id} | = {shortened(ast.unparse(node.value))}")
        elif isinstance(node, (ast.If, ast.Try)):
            names_in([*node.body, *node.orelse], prefix, lines)


def parsed(path):
    """The statements of a file. A class has the members of its private bases; `**batch: Unpack[Batch]` are the keywords
    of a TypedDict, each None by default."""
    module = ast.parse(path.read_text())
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}

    def is_private(base):
        return isinstance(base, ast.Name) and base.id in classes and not is_public(base.id)

    def keywords(name):
        for base in classes[name].bases:
            yield from keywords(base.id) if is_private(base) else ()
        yield from (one for one in classes[name].body if isinstance(one, ast.AnnAssign))

    for node in ast.walk(module):
        taken = getattr(node.args.kwarg, "annotation", None) if isinstance(node, ast.FunctionDef) else None
        if isinstance(taken, ast.Subscript) and ast.unparse(taken.value) == "Unpack":
            for one in keywords(ast.unparse(taken.slice)):
                node.args.kwonlyargs.append(ast.arg(one.target.id, one.annotation))
                node.args.kw_defaults.append(ast.Constant(None))
            node.args.kwarg = None
    for node in classes.values():
        node.body = [*(one for base in node.bases if is_private(base) for one in classes[base.id].body), *node.body]
        node.bases = [base for base in node.bases if not is_private(base)]
    return module.body


def python_surface():
    """What `floptally` imports for its users stands under its own name; submodules under theirs."""
    lines = set()
    for node in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text())):
        if not (isinstance(node, ast.ImportFrom) and node.level == 1 and node.module):
            continue
        wanted = {alias.name: alias.asname or alias.name for alias in node.names}
        source = PACKAGE / f"{node.module.replace('.', '/')}.pyi"
        source = source if source.is_file() else source.with_suffix(".py")
        for one in parsed(source) if source.is_file() else []:
            names = {getattr(one, "name", None)}
            if isinstance(one, ast.Assign):
                names = {target.id for target in one.targets if isinstance(target, ast.Name)}
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                names = {one.target.id}
            if names & wanted.keys():
                names_in([one], "floptally.", lines)
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if any(part.startswith("_") and part != "__init__" for part in parts) or parts == ("__init__",):
            continue
        module = ".".join(("floptally", *(part for part in parts if part != "__init__")))
        body = parsed(path)
        names_in(body, f"{module}.", lines)
        for node in body:  # what a folder's __init__ takes from its private modules
            if isinstance(node, ast.ImportFrom) and node.level == 1 and path.name == "__init__.py" and node.module:
                source = path.parent / f"{node.module}.py"
                wanted = {alias.name for alias in node.names if is_public(alias.name)}
                taken = parsed(source) if source.is_file() else []
                names_in([one for one in taken if getattr(one, "name", None) in wanted], f"{module}.", lines)
    return sorted(lines)


def main():
    changed = False
    for name, lines in (("cpp.txt", cpp_surface()), ("python.txt", python_surface())):
        path, text = LISTS / name, "\n".join(lines) + "\n"
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
            continue
        known = path.read_text() if path.is_file() else ""
        if known != text:
            changed = True
            before, after = f"tests/surface/{name}", "this tree"
            print("\n".join(difflib.unified_diff(known.splitlines(), lines, before, after, n=0, lineterm="")))
    if changed:
        print("\nThe public surface changed. If that is meant, run `python tests/surface.py` and commit tests/surface/.")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
