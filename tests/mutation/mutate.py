#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults in the core, each of which a test should see.

    pip install tree-sitter tree-sitter-cpp
    python3 tests/mutation/mutate.py [--count 500] [--seed 1] [--modules statistics,batch,count] [--folder build/mutants]
    python3 tests/mutation/mutate.py --at count/plan_walk.hpp:49,balance/balance.hpp:93    # every mutant of these lines

A mutant is one expression changed: an operator, a number by one, min for max, true for false, a statement that is left
out. All that are drawn stand behind a switch in one copy of the headers, and the tests of the core are compiled with it
once, at -O0. One run of them notes what each case takes and which mutants it reaches. A mutant is killed where a case that
reaches it fails, hangs or ends early, the cheap ones first. Survivors stand once more in a program of all other tests,
which read configs and compare with real models; what survives these too is compiled by itself with its header's test, so
that what the compiler computes is changed. Survivors are printed, to be read: a test is missing, or the change means
nothing. survivors.tsv has those that were read, each with the reason. A mutant that is no C++ is left out for another
that was drawn.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import os
import pathlib
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
MODULES = "integer,statistics,batch,descriptors,count,conventions,parallel,balance,step"
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
MAIN, SWITCH = ROOT / "tests/main.cpp", ROOT / "tests/mutation/mutants.cpp"
READER = "-DFLOPTALLY_SEPARATE_COMPILATION"  # the reader of configs is compiled once
LEFT_OUT = {"architecture", "branches", "program", "readme", "snippets"}  # read the sources, start programs or take minutes


@dataclasses.dataclass(frozen=True)
class Mutant:
    header: str
    start: int
    end: int
    line: int
    before: str
    after: str  # `after` of a whole expression or statement, in place of `before`
    is_statement: bool
    means_nothing: bool  # how much memory is reserved: results are the same

    def __str__(self) -> str:
        return f"{self.header}:{self.line}\n    - {self.before}\n    + {self.after}"

    def key(self) -> tuple[str, str, str, str]:
        """The header, its line, and what is changed on it: a line of survivors.tsv, without the reason."""
        line = (ROOT / "include/floptally" / self.header).read_text().splitlines()[self.line - 1]
        return self.header, *(" ".join(text.split()) for text in (line, self.before, self.after))

    def within(self, number: int, inner: str) -> str:
        """Both, behind the switch; `inner` is the text with the mutants that stand in it."""
        switch = f"floptally_mutants::on({number})"
        # What `!` stands before may be no bool, and both ways must be of one type.
        after = f"!({self.before})" if self.before == f"!{self.after}" else self.after
        return f"if (!{switch}) {{ {inner} }}" if self.is_statement else f"({switch} ? ({after}) : ({inner}))"


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

    def walk(node: tree_sitter.Node, in_function: bool, reserves: bool) -> None:
        reserves = reserves or (node.type == "expression_statement" and re.match(rb"[^(;]*[.]reserve\(", node.text) is not None)
        if is_computed_by_the_compiler(node):
            return
        if in_function:
            for after, is_statement in changes_of(node, text):
                before = node.text.decode()
                place = (node.start_byte, node.end_byte, node.start_point[0] + 1)
                found.append(Mutant(header, *place, before, after, is_statement, reserves))
        is_constexpr_if = node.type == "if_statement" and any(child.type == "constexpr" for child in node.children)
        for child in node.children:
            if is_constexpr_if and child == node.child_by_field_name("condition"):
                continue
            walk(child, in_function or child.type == "compound_statement", reserves)

    walk(parser.parse(text).root_node, False, False)
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
    compiler: list[str]
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
        return [*self.compiler, "-std=c++20", "-O0", "-w", "-Wno-narrowing", "-fmax-errors=0", "-fdiagnostics-color=never",
                "-D_GLIBCXX_ASSERTIONS", *definitions, *paths, "-c", str(source), "-o", str(out)]  # fmt: skip

    def compile(self, source: pathlib.Path, out: pathlib.Path, *more: str) -> None:
        """Compiles a unit, and leaves out mutants that are no C++ until it does."""
        for _ in range(12):
            built = subprocess.run(self.command(source, out, *more), capture_output=True, text=True, check=False)
            if built.returncode == 0:
                return
            bad = self.named_in(built.stderr)
            if not bad:
                sys.exit(f"{source} does not compile, and no mutant is why:\n{built.stderr[:4000]}")
            headers = {self.mutants.pop(number).header for number in bad}
            print(f"  {len(bad)} are no C++", flush=True)
            self.write(headers)
        sys.exit(f"{source} does not compile")

    def build(self, name: str, sources: list[pathlib.Path], *more: str) -> Suite:
        """Compiles a program of these tests, and runs it once: its cases, with what each reaches."""
        if not (self.folder / "include").exists():
            shutil.copytree(ROOT / "include", self.folder / "include")
            self.write({mutant.header for mutant in self.mutants.values()})
        units = [sources[i : i + TESTS_A_UNIT] for i in range(0, len(sources), TESTS_A_UNIT)]
        texts = ["".join(f'#include "{path}"\n' for path in unit) for unit in [[MAIN], [SWITCH], *units]]
        texts += ["#include <floptally/json_src.hpp>\n"] * (READER in more)
        objects = []
        for number, text in enumerate(texts, 1):
            source = self.folder / f"{name}_{number}.cpp"
            source.write_text(text)
            objects.append(source.with_suffix(".o"))
            self.compile(source, objects[-1], *more)
            print(f"unit {number} of {len(texts)}", flush=True)
        tests = self.folder / name
        subprocess.run([*self.compiler, *map(str, objects), "-o", str(tests), "-lpthread"], check=True)
        notes = self.folder / f"{name}.tsv"
        if not passes(tests, 0, 3600, [], notes):
            print("cases that fail without a mutant are left out", flush=True)
        cases = cases_of(notes)
        print(f"{len(cases)} cases, {sum(case.seconds for case in cases):.0f} s", flush=True)
        return Suite(tests, cases)

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
    try:  # threads that wait for each other use no processor
        return subprocess.run(command, capture_output=True, env=environment, cwd=program.parent, check=False,
                              timeout=60 + 20 * seconds, preexec_fn=lambda: limits(seconds)).returncode == 0  # fmt: skip
    except subprocess.TimeoutExpired:
        return False


@dataclasses.dataclass
class Case:
    """A case of the tests: what it takes, and the mutants that it reaches."""

    name: str
    file: str
    seconds: float
    reached: set[int]


@dataclasses.dataclass
class Suite:
    """A program of tests, and its cases."""

    tests: pathlib.Path
    cases: list[Case]


def cases_of(notes: pathlib.Path) -> list[Case]:
    cases = []
    for line in notes.read_text().splitlines():
        file, seconds, reached, name = line.split("\t")
        cases.append(Case(name, pathlib.Path(file).name.removesuffix(".test.cpp"), float(seconds), set(map(int, reached.split()))))
    return cases


def survives(suite: Suite, number: int, mutant: Mutant) -> bool:
    """The header's own cases first, then the others in portions that take twice as long each. Last the cases beside
    them in their files: what a function keeps was made by the case that called it first."""
    own = pathlib.Path(mutant.header).stem
    files = {case.file for case in suite.cases if number in case.reached}
    order = sorted((case for case in suite.cases if case.file in files),
                   key=lambda case: (number not in case.reached, case.file != own, case.seconds))  # fmt: skip
    most = 0.5
    while order:
        portion: list[Case] = []
        while order and (not portion or sum(case.seconds for case in portion) + order[0].seconds < most):
            portion.append(order.pop(0))
        if not passes(suite.tests, number, 2 + 5 * sum(case.seconds for case in portion), [case.name for case in portion]):
            return False
        most *= 2
    return True


def tried(program: Program, suite: Suite, numbers: list[int]) -> list[int]:
    """Those of the mutants that survive."""
    survivors = []
    for i, number in enumerate(numbers, 1):
        if survives(suite, number, program.mutants[number]):
            survivors.append(number)
            reaching = sum(number in case.reached for case in suite.cases)
            print(f"survives {reaching} cases: {number}: {program.mutants[number]}", flush=True)
        if i % 50 == 0:
            print(f"{i - len(survivors)} of {i} killed", flush=True)
    return survivors


def killed_alone(program: Program, number: int, is_reached: bool) -> bool:
    """True where the header's test, compiled as this mutant, has an assertion of the compiler that fails, or fails itself
    where nothing else reaches the mutant."""
    header = program.mutants[number].header.replace("/detail", "")
    own = ROOT / "tests" / header.replace(".hpp", ".test.cpp")
    tests = [own] if own.exists() else sorted((ROOT / "tests" / header).parent.glob("*.test.cpp"))
    if is_reached and not own.exists():
        return False
    source = program.folder / "alone.cpp"
    source.write_text("".join(f'#include "{path}"\n' for path in tests))
    options = [f"-DFLOPTALLY_MUTANT={number}", *["-fsyntax-only"] * is_reached]
    built = subprocess.run(program.command(source, source.with_suffix(".o"), *options), capture_output=True, check=False)
    if built.returncode != 0 or is_reached:
        return built.returncode != 0
    objects = [str(program.folder / name) for name in ("core_1.o", "core_2.o", "alone.o")]
    alone = program.folder / "alone"
    subprocess.run([*program.compiler, *objects, "-o", str(alone), "-lpthread"], check=True)
    return not passes(alone, 0, 600, [])


def in_order(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """By a hash of the seed and what each changes: what is drawn stays so where other lines of the headers change."""
    seen: collections.Counter[tuple[str, ...]] = collections.Counter()
    places = {}
    for mutant in mutants:
        key = mutant.key()
        seen[key] += 1
        places[mutant] = hashlib.sha256("\t".join((str(seed), str(seen[key]), *key)).encode()).digest()
    return sorted(mutants, key=places.__getitem__)


def reasons() -> Iterator[tuple[tuple[str, ...], str]]:
    for line in (ROOT / "tests/mutation/survivors.tsv").read_text().splitlines():
        *key, reason = line.split("\t")
        yield tuple(key), reason


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--modules", default=MODULES)
    options.add_argument("--at", default="", help="HEADER:LINE,...: every mutant that begins there, in place of random ones")
    options.add_argument("--core-alone", action="store_true", help="without the tests of the modules around the core")
    options.add_argument("--compiler", default="g++", help='may have a cache before it: "ccache g++"')
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutants")
    given = options.parse_args()
    folder = given.folder.resolve()

    modules = given.modules.split(",")
    places = {place for place in given.at.split(",") if place}
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
    headers = [str(path.relative_to(ROOT / "include/floptally"))
               for module in modules for path in sorted((ROOT / "include/floptally" / module).rglob("*.hpp"))]  # fmt: skip
    drawn = in_order([mutant for header in headers for mutant in mutants_of(header, parser)], given.seed)
    drawn = [mutant for mutant in drawn if not mutant.means_nothing]
    if places:
        drawn = [mutant for mutant in drawn if f"{mutant.header}:{mutant.line}" in places]
        given.count = len(drawn)
    print(f"{len(drawn)} mutants of {len(headers)} headers, of which {given.count} are drawn with seed {given.seed}", flush=True)

    # Some are no C++: more are compiled, and the first of those that are left are counted.
    shutil.rmtree(folder, ignore_errors=True)
    start = time.process_time()
    program = Program(folder, given.compiler.split(), dict(enumerate(drawn[: given.count * 13 // 10], 1)))
    own = [ROOT / "tests/golden/indexer.test.cpp"]  # what a real model ran, without a reader of configs
    own += sorted(path for module in {*modules, "lists"} for path in (ROOT / "tests" / module).glob("*.test.cpp"))
    core = program.build("core", own)
    suites = [core]
    counted = list(program.mutants)[: given.count]
    survivors = tried(program, core, counted)
    print(f"{len(counted) - len(survivors)} of {len(counted)} killed by the core's own tests", flush=True)

    # The modules around, whose tests read configs and compare with what real models ran.
    if survivors and not given.core_alone:
        others = sorted({*(ROOT / "tests").rglob("*.test.cpp")} - {*own})
        drawn_again = dict(program.mutants)
        around = program.build("around", [path for path in others if path.name.split(".")[0] not in LEFT_OUT], READER)
        program.mutants = drawn_again  # none that the core's tests compiled is left out
        suites.append(around)
        survivors = tried(program, around, survivors)

    # What the compiler computes: the mutant by itself, with the test of its header, else of its module.
    for number in list(survivors):
        is_reached = any(number in case.reached for suite in suites for case in suite.cases)
        if killed_alone(program, number, is_reached):
            survivors.remove(number)
            print(f"killed by itself, in what the compiler computes: {number}", flush=True)
    killed = len(counted) - len(survivors)
    print(f"{killed} of {len(counted)} killed, {100 * killed / max(len(counted), 1):.1f} %; "
          f"{time.process_time() - start + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.0f} s of a processor")  # fmt: skip
    read = dict(reasons())
    for number in survivors:
        print(f"{number}: {program.mutants[number]}\n    = {read.get(program.mutants[number].key(), 'not read yet')}")


main()
