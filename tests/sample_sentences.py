#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws texts of the project for a reader: 60 comments, 20 errors, 20 docstrings and 30 names of tests.

The seed is the hash of a commit, HEAD where none is given; the texts are those of the working tree. Each is printed whole, with a
number and its file and line, a comment with the code that it stands at. Somebody who did not write them reads each once and counts
what is understood at once.
"""

import ast
import random
import re
import subprocess
import sys
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
CPP = (".hpp", ".cuh", ".cpp", ".cu")
STRING = r'"((?:[^"\\\n]|\\.)*)"'


def files(*folders, suffixes):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(suffixes) and (ROOT / name).is_file()]


def place(path, line):
    return f"{path.relative_to(ROOT)}:{line}"


def comments():
    """Comments of headers, `detail/` too: all lines of one, without licenses and what clang-format is told."""
    for path in files("include", suffixes=CPP):
        lines = path.read_text().splitlines()
        at = 0
        while at < len(lines):
            found = re.match(r"(.*?)\s*(//+<? ?)(.*)", re.sub(r"\"(?:[^\"\\]|\\.)*\"", lambda m: "x" * len(m[0]), lines[at]))
            if not found:
                at += 1
                continue
            begin, is_own_line = at, not found[1].strip()
            before = lines[at][: len(found[1])]
            text = [lines[at][len(lines[at]) - len(found[3]) :] if found[3] else ""]
            at += 1
            goes_on = r"\s*//" if is_own_line else rf"\s{{{found.start(2)}}}//"  # below a line's end in the same column
            while at < len(lines) and re.match(goes_on, lines[at]):
                text.append(re.sub(r"^\s*//+<? ?", "", lines[at]))
                at += 1
            code = "".join(lines[at : at + 1]) if is_own_line else before
            code = "" if "@file" in "".join(text) else code.strip()
            joined = re.sub(r"\n\n(?=    )", "\n", "\n".join(text).replace("@file\n", ""))  # code with the words before it
            for paragraph in joined.split("\n\n"):
                whole = " ".join(paragraph.split())
                if whole and not re.match(r"SPDX|clang-format|IWYU|namespace |@file$|NOLINT|-{3}", whole):
                    yield place(path, begin + 1), whole + (f"\n     on: {code}" if code else "")


def split_at(separators, code):
    """Splits code at each of the characters of separators that stands outside of brackets and strings."""
    pieces, begin, depth, at = [], 0, 0, 0
    while at < len(code):
        if string := re.compile(STRING).match(code, at):
            at = string.end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
        if not depth and code[at] in separators and ":" not in (code[at - 1 : at], code[at + 1 : at + 2]):
            pieces.append(code[begin:at])
            begin = at + 1
        at += 1
    return [*pieces, code[begin:]]


def inside(code):
    """The name and the arguments of `name(arguments)` or `name{arguments}` if the code is one such call, or None."""
    found = re.match(r"([\w:.>-]*)\s*([({])", code)
    if not found or code[-1:] != {"(": ")", "{": "}"}[found[2]]:
        return None
    body = code[found.end() : -1]
    depth = 0
    for sign in re.sub(STRING, "", body):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if depth < 0:
            return None
    return found[1], split_at(",", body)


def cpp_text(code):
    """The text that an expression of C++ yields, with {expression} for what is known only at run time."""
    code = " ".join(code.split())
    if re.fullmatch(rf"({STRING}\s*)+", code):
        return "".join(re.findall(STRING, code)).replace('\\"', '"')
    condition, *choices = split_at("?", code)
    if choices:
        both = [cpp_text(choice) for choice in split_at(":", "?".join(choices))]
        return "[" + " | ".join(choice for choice in both if choice) + "]"
    if len(pieces := split_at("+", code)) > 1:
        return "".join(map(cpp_text, pieces))
    if appended := re.fullmatch(r"(.+)\.append\((.*?)\)", code):
        return cpp_text(appended[1]) + cpp_text(appended[2])
    call = inside(code)
    if call and call[0] in ("fmt::format", "format"):
        values = iter([cpp_text(value) for value in call[1][1:]])
        return re.sub(r"\{[^{}]*\}", lambda _: next(values, "{}"), cpp_text(call[1][0]))
    if call and (not call[0] or call[0].split("::")[-1] in ("string", "string_view", "text_of", "to_string", "move")):
        return "".join(map(cpp_text, call[1]))
    return f"{{{code}}}" if code else ""


#: Constants of the package whose texts end several errors.
ENDS = {
    name: value
    for path in ("_cost.py", "callbacks/_names.py")
    for name, value in re.findall(
        r'^([A-Z_]+) = "(.*)"$', (ROOT / "examples/python/floptally" / path).read_text(), flags=re.MULTILINE
    )
}


def python_text(node):
    """The text that an expression of Python yields, with {expression} for what is known only at run time."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name) and node.id in ENDS:
        return ENDS[node.id]
    if isinstance(node, ast.JoinedStr):
        return "".join(map(python_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return python_text(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return python_text(node.left) + python_text(node.right)
    if isinstance(node, ast.IfExp):
        return "[" + " | ".join(text for text in (python_text(node.body), python_text(node.orelse)) if text) + "]"
    return f"{{{ast.unparse(node)}}}"


def has_own_text(text):
    """Whether a text has two words or more of its own: the rest is put in, and a reader cannot judge it."""
    return len(re.findall(r"[^\W\d]+", re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", " ", text))) > 1


def errors():
    """Errors of the library, the binding and the package: `field: text`, with {expression} for what is put in.

    An error that only passes on the text of another is left out: the other is drawn where its text stands.
    """
    for path in files("include", "examples/python/src", "examples/program", suffixes=CPP):
        text = path.read_text()
        for found in re.finditer(r"\b(?:throw (?:floptally::)?(?:error|overflow)|refuse|reject|fail)\s*\(", text):
            depth, at = 1, found.end()
            while depth and at < len(text):
                string = re.compile(STRING).match(text, at)
                at = string.end() if string else at + 1
                depth += 0 if string else {"(": 1, ")": -1}.get(text[at - 1], 0)
            arguments = [cpp_text(argument) for argument in split_at(",", text[found.end() : at - 1])]
            if len(arguments) == 1:  # of an error whose field another function puts before the text
                arguments.insert(0, "{field}")
            if has_own_text(arguments[-1]):
                yield place(path, text.count("\n", 0, found.start()) + 1), ": ".join(arguments)
    for path in files("examples/python/floptally", suffixes=(".py",)):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(called, ast.Call) and called.args:
                arguments = [python_text(argument) for argument in called.args]
                if has_own_text(arguments[-1]):
                    yield place(path, node.lineno), ": ".join(arguments)


def docstrings():
    for path in files("examples/python/floptally", suffixes=(".py", ".pyi")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                name = getattr(node, "name", path.stem)
                if text and not (name.startswith("_") and not name.startswith("__")):
                    yield place(path, getattr(node, "lineno", 1)), f"{name}: {' '.join(text.split())}"


def test_names():
    for path in files("tests", suffixes=CPP):
        text = path.read_text()
        for found in re.finditer(rf"\bTEST_CASE\(\s*((?:{STRING}\s*)+)", text):
            yield place(path, text.count("\n", 0, found.start()) + 1), "".join(re.findall(STRING, found[1]))
    for path in files("tests/python", suffixes=(".py",)):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := re.match(r"(?:async )?def test_(\w+)", line):
                yield place(path, number), found[1].replace("_", " ")


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    seed = subprocess.run(["git", "rev-parse", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for title, texts, number in (
        ("comments", comments(), 60),
        ("errors", errors(), 20),
        ("docstrings", docstrings(), 20),
        ("names of tests", test_names(), 30),
    ):
        every = sorted(set(texts))
        print(f"\n{number} of {len(every)} {title}\n")
        for count, (where, text) in enumerate(drawn.sample(every, number), 1):
            print(f"{count:3}. {text}\n     {where}")


if __name__ == "__main__":
    main()
