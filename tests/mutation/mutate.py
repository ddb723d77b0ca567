#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults in the core, each of which a test should see.

    pip install tree-sitter tree-sitter-cpp
    python3 tests/mutation/mutate.py [--count 500] [--seed 1] [--rooms rules,batch,count] [--folder build/mutants]
    python3 tests/mutation/mutate.py --at count/plan_walk.hpp:49,balance/balance.hpp:93    # every mutant of these lines

A mutant is one expression changed: an operator, a number by one, min for max, true for false, a statement that is left
out. All that are drawn stand behind a switch in one copy of the headers, and the tests of the core are compiled with it
once, at -O0. One run of them notes what each case takes and which mutants it reaches. A mutant is killed where a case that
reaches it fails, hangs or ends early, the cheap ones first; one that no case reaches, or that all pass, is compiled once
more by itself with its header's test, so that what the compiler computes is changed too. Survivors are printed, to be
read: a test is missing, or the change means nothing. A mutant that is no C++ is left out for another that was drawn.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import tree_sitter
import tree_sitter_cpp

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = "integer,rules,batch,descriptors,count,conventions,parallel,balance,step"
OPERATORS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=", "++": "--",
    "--": "++",
}  # fmt: skip
# What only the compiler computes, or what is no expression.
SKIPPED = {
    "static_assert_declaration", "template_argument_list", "template_parameter_list", "requires_clause", "requires_expression",
    "concept_definition", "noexcept", "enumerator", "array_declarator", "case_statement", "preproc_if", "preproc_def",
    "decltype", "explicit_function_specifier", "alias_declaration", "bitfield_clause", "attribute_declaration",
    "constraint_conjunction", "constraint_disjunction", "operator_name", "trailing_return_type", "type_descriptor",
}  # fmt: skip
TESTS_A_UNIT = 5


@dataclasses.dataclass(frozen=True)
class Mutant:
    header: str
    start: int
    end: int
    line: int
    before: str
    after: str  # `after` of a whole expression or statement, in place of `before`
    is_statement: bool

    def __str__(self) -> str:
        return f"{self.header}:{self.line}\n    - {self.before}\n    + {self.after}"

    def within(self, number: int, inner: str) -> str:
        """Both, behind the switch; `inner` is the text with the mutants that stand in it."""
        switch = f"floptally_mutants::on({number})"
        return f"if (!{switch}) {{ {inner} }}" if self.is_statement else f"({switch} ? ({self.after}) : ({inner}))"


def replaced(node: tree_sitter.Node, part: tree_sitter.Node, text: bytes, new: str) -> str:
    return (text[node.start_byte : part.start_byte] + new.encode() + text[part.end_byte : node.end_byte]).decode()


def changes_of(node: tree_sitter.Node, text: bytes) -> Iterator[tuple[str, bool]]:
    kind = node.type
    if kind in ("binary_expression", "assignment_expression", "update_expression"):
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type in OPERATORS:
            yield replaced(node, operator, text, OPERATORS[operator.type]), False
    elif kind == "unary_expression" and text[node.start_byte : node.start_byte + 1] == b"!":
        yield text[node.start_byte + 1 : node.end_byte].decode(), False
    elif kind in ("true", "false"):
        yield ("false" if kind == "true" else "true"), False
    elif kind == "number_literal":
        found = re.fullmatch(rb"(\d+)(U?)", text[node.start_byte : node.end_byte])
        if found:
            yield f"{int(found[1]) + 1}{found[2].decode()}", False
    elif kind == "call_expression":
        name = node.child_by_field_name("function")
        if name is not None and name.text in (b"std::min", b"std::max"):
            yield replaced(node, name, text, "std::max" if name.text == b"std::min" else "std::min"), False
    elif kind in ("expression_statement", "throw_statement") and node.parent is not None:
        if node.parent.type == "compound_statement":
            yield "", True


def is_computed_by_the_compiler(node: tree_sitter.Node) -> bool:
    if node.type in SKIPPED or node.is_error:
        return True
    begins = node.text.split(b"=")[0].split(b"{")[0]
    return node.type in ("declaration", "field_declaration") and re.search(rb"\bconstexpr\b", begins) is not None


def mutants_of(header: str, parser: tree_sitter.Parser) -> list[Mutant]:
    text = (ROOT / "include/floptally" / header).read_bytes()
    found: list[Mutant] = []

    def walk(node: tree_sitter.Node, in_function: bool) -> None:
        if is_computed_by_the_compiler(node):
            return
        if in_function:
            for after, is_statement in changes_of(node, text):
                before = node.text.decode()
                found.append(Mutant(header, node.start_byte, node.end_byte, node.start_point[0] + 1, before, after, is_statement))
        is_constexpr_if = node.type == "if_statement" and any(child.type == "constexpr" for child in node.children)
        for child in node.children:
            if is_constexpr_if and child == node.child_by_field_name("condition"):
                continue
            walk(child, in_function or child.type == "compound_statement")

    walk(parser.parse(text).root_node, False)
    return found


def written(header: str, mutants: dict[int, Mutant]) -> str:
    """The header with its mutants, each line where it was."""
    text = (ROOT / "include/floptally" / header).read_bytes()
    # From the smallest outwards: what stands around is made of what stands within.
    order = sorted(mutants.items(), key=lambda item: (item[1].start, -item[1].end, item[0]))

    def made(start: int, end: int, left: list[tuple[int, Mutant]]) -> str:
        out, at = [], start
        while left:
            number, mutant = left[0]
            inside = [item for item in left[1:] if item[1].start < mutant.end]
            left = left[1 + len(inside) :]
            out.append(text[at : mutant.start].decode())
            inner = made(mutant.start, mutant.end, inside)
            on_a_line = re.sub(r"//[^\n]*", "", mutant.after).replace("\n", " ")
            out.append(dataclasses.replace(mutant, after=on_a_line).within(number, inner))
            at = mutant.end
        out.append(text[at:end].decode())
        return "".join(out)

    code = made(0, len(text), order)
    return code.replace("#pragma once", "#pragma once\n#include <mutation/mutants.hpp>\n#line 3", 1) if mutants else code


@dataclasses.dataclass
class Program:
    folder: pathlib.Path
    compiler: str
    mutants: dict[int, Mutant]

    def write(self, headers: set[str]) -> None:
        for header in headers:
            path = self.folder / "include/floptally" / header
            text = written(header, {n: m for n, m in self.mutants.items() if m.header == header})
            if not path.exists() or path.read_text() != text:
                path.write_text(text)

    def command(self, source: pathlib.Path, out: pathlib.Path, *more: str) -> list[str]:
        definitions = [f'-DFLOPTALLY_SOURCE_DIR="{ROOT}"', f'-DFLOPTALLY_GOLDEN_DIR="{ROOT}/tests/golden"', *more]
        paths = [f"-I{path}" for path in (self.folder, self.folder / "include", ROOT / "tests")]
        return [self.compiler, "-std=c++20", "-O0", "-w", "-Wno-narrowing", "-fmax-errors=0", "-fdiagnostics-color=never",
                *definitions, *paths, "-c", str(source), "-o", str(out)]  # fmt: skip

    def compile(self, source: pathlib.Path, out: pathlib.Path) -> None:
        """Compiles a unit, and leaves out mutants that are no C++ until it does."""
        for _ in range(12):
            built = subprocess.run(self.command(source, out), capture_output=True, text=True, check=False)
            if built.returncode == 0:
                return
            bad = self.named_in(built.stderr)
            if not bad:
                sys.exit(f"{source} does not compile, and no mutant is why:\n{built.stderr[:4000]}")
            headers = {self.mutants.pop(number).header for number in bad}
            print(f"  {len(bad)} are no C++", flush=True)
            self.write(headers)
        sys.exit(f"{source} does not compile")

    def named_in(self, errors: str) -> set[int]:
        """Mutants on a line that an error names; where it names none, on those that it was required from."""
        blocks = re.split(r"(?m)^(?=In file included|\S+: In )", errors)
        bad: set[int] = set()
        for block in blocks:
            for pattern in (r"/floptally/([\w/]+\.hpp):(\d+):\d+: (?:fatal )?error", r"/floptally/([\w/]+\.hpp):(\d+):\d+:"):
                places = {(header, int(line)) for header, line in re.findall(pattern, block)}
                here = {n for n, m in self.mutants.items() if any((m.header, line) in places for line in lines_of(m))}
                if here:
                    bad |= here
                    break
        return bad


def lines_of(mutant: Mutant) -> range:
    return range(mutant.line, mutant.line + mutant.before.count("\n") + 1)


def limits(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def passes(program: pathlib.Path, mutant: int, seconds: float, names: list[str], notes: pathlib.Path | None = None) -> bool:
    """True where the cases of these names pass; without a name, all of them. To `notes` go the mutants that they reach."""
    environment = os.environ | {"FLOPTALLY_ACTIVE_MUTANT": str(mutant)} | ({"FLOPTALLY_REACHED": str(notes)} if notes else {})
    listed = program.parent / "names.txt"
    listed.write_text("".join('"' + re.sub(r'([\\",\[])', r"\\\1", name) + '"\n' for name in names))
    command = [str(program), *(["--abort", "-f", str(listed)] if names else ["~[.]"])]
    return subprocess.run(command, capture_output=True, env=environment, cwd=program.parent, check=False,
                          preexec_fn=lambda: limits(seconds)).returncode == 0  # fmt: skip


@dataclasses.dataclass
class Case:
    """A case of the tests: what it takes, and the mutants that it reaches."""

    name: str
    file: str
    seconds: float
    reached: set[int]


def cases_of(notes: pathlib.Path) -> list[Case]:
    cases = []
    for line in notes.read_text().splitlines():
        file, seconds, reached, name = line.split("\t")
        cases.append(Case(name, pathlib.Path(file).name.removesuffix(".test.cpp"), float(seconds), set(map(int, reached.split()))))
    return cases


def survives(tests: pathlib.Path, number: int, mutant: Mutant, cases: list[Case]) -> bool:
    """The header's own cases first, then the others in portions that take twice as long each."""
    own = pathlib.Path(mutant.header).stem
    order = sorted((case for case in cases if number in case.reached), key=lambda case: (case.file != own, case.seconds))
    most = 0.5
    while order:
        portion: list[Case] = []
        while order and (not portion or sum(case.seconds for case in portion) + order[0].seconds < most):
            portion.append(order.pop(0))
        if not passes(tests, number, 2 + 5 * sum(case.seconds for case in portion), [case.name for case in portion]):
            return False
        most *= 2
    return True


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rooms", default=ROOMS)
    options.add_argument("--at", default="", help="HEADER:LINE,...: every mutant that begins there, in place of random ones")
    options.add_argument("--compiler", default="g++")
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutants")
    given = options.parse_args()
    folder = given.folder.resolve()

    rooms = given.rooms.split(",")
    places = {place for place in given.at.split(",") if place}
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
    headers = [str(path.relative_to(ROOT / "include/floptally"))
               for room in rooms for path in sorted((ROOT / "include/floptally" / room).rglob("*.hpp"))]  # fmt: skip
    drawn = [mutant for header in headers for mutant in mutants_of(header, parser)]
    random.Random(given.seed).shuffle(drawn)
    if places:
        drawn = [mutant for mutant in drawn if f"{mutant.header}:{mutant.line}" in places]
        given.count = len(drawn)
    print(f"{len(drawn)} mutants of {len(headers)} headers, of which {given.count} are drawn with seed {given.seed}", flush=True)

    # Some are no C++: more are compiled, and the first of those that are left are counted.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "include", folder / "include")
    program = Program(folder, given.compiler, dict(enumerate(drawn[: given.count * 13 // 10], 1)))
    program.write({mutant.header for mutant in program.mutants.values()})

    sources = [ROOT / "tests/golden/indexer.test.cpp"]  # what a real model ran, without a reader of configs
    sources += sorted(path for room in {*rooms, "lists"} for path in (ROOT / "tests" / room).glob("*.test.cpp"))
    units = [sources[i : i + TESTS_A_UNIT] for i in range(0, len(sources), TESTS_A_UNIT)]
    objects = []
    start = time.process_time()
    for number, unit in enumerate([[ROOT / "tests/main.cpp"], [ROOT / "tests/mutation/mutants.cpp"], *units]):
        source = folder / f"unit_{number}.cpp"
        source.write_text("".join(f'#include "{path}"\n' for path in unit))
        objects.append(folder / f"unit_{number}.o")
        program.compile(source, objects[-1])
        print(f"unit {number} of {len(units) + 1}", flush=True)
    tests = folder / "tests"
    subprocess.run([given.compiler, *map(str, objects), "-o", str(tests), "-lpthread"], check=True)

    notes = folder / "reached.txt"
    if not passes(tests, 0, 3600, [], notes):
        print("cases that fail without a mutant are left out", flush=True)
    cases = cases_of(notes)
    ran = time.process_time() - start + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"{len(cases)} cases, {sum(case.seconds for case in cases):.0f} s; {ran:.0f} s of a processor until here", flush=True)

    counted = list(program.mutants)[: given.count]
    survivors = []
    killed = 0
    for number in counted:
        mutant = program.mutants[number]
        if survives(tests, number, mutant, cases):
            survivors.append(number)
            reaching = sum(number in case.reached for case in cases)
            print(f"survives {reaching} cases: {number}: {mutant}", flush=True)
        else:
            killed += 1
        if (killed + len(survivors)) % 50 == 0:
            print(f"{killed} of {killed + len(survivors)} killed", flush=True)

    # What the compiler computes: the mutant by itself, with the test of its header.
    for number in list(survivors):
        own = ROOT / "tests" / program.mutants[number].header.replace("/detail", "").replace(".hpp", ".test.cpp")
        if not own.exists():
            continue
        built = subprocess.run(program.command(own, folder / "own.o", f"-DFLOPTALLY_MUTANT={number}"), capture_output=True, text=True, check=False)
        if built.returncode != 0:
            survivors.remove(number)
            killed += 1
            print(f"killed by the compiler after all: {number}", flush=True)
    print(f"{killed} of {len(counted)} killed, {100 * killed / max(len(counted), 1):.1f} %; "
          f"{sum(all(n not in case.reached for case in cases) for n in survivors)} of {len(survivors)} survivors are reached by no case; "
          f"{time.process_time() - start + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.0f} s of a processor")  # fmt: skip
    for number in survivors:
        print(f"{number}: {program.mutants[number]}")


main()
