# SPDX-License-Identifier: Apache-2.0
"""Reads the public declarations of C++ with their comments and errors: tests/surface.py finds the declarations, and this
module what stands before and behind each."""

import dataclasses
import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import surface

HEADERS = surface.HEADERS
PIECE = re.compile(rf"(?P<doc>///[^\n]*)|(?://[^\n]*|/\*.*?\*/)|(?P<token>{surface.TOKEN.pattern})", re.S)
#: Calls that throw `floptally::error`, and the class they throw.
THROWS = {"error": "error", "overflow": "overflow", "refuse": "error"}


class Token(str):
    """A token, the comment before it, and the comment behind it (`///<`)."""

    before = ""
    behind = ""
    place = 0


@dataclasses.dataclass
class Entry:
    """A declaration: its name in floptally, as one line of C++, and its comment."""

    path: tuple
    text: str
    comment: str
    kind: str
    errors: list = dataclasses.field(default_factory=list)
    file: str = ""

    @property
    def name(self):
        return "::".join(self.path)


def tokens_of(text):
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", lambda found: "\n" * found[0].count("\n"), text, flags=re.M)
    tokens, comment, end = [], [], 0
    for found in PIECE.finditer(text):
        if text.count("\n", end, found.start()) > 1:  # a comment of the file
            comment = []
        end = found.end()
        if found["doc"]:
            line = found["doc"][3:]
            if line.startswith("<"):
                if tokens:
                    tokens[-1].behind = f"{tokens[-1].behind}\n{line[1:]}".strip("\n")
            else:
                comment.append(line)
        elif found["token"]:
            token = Token(found["token"])
            token.place = len(tokens)
            token.before = "\n".join(comment)
            comment = []
            tokens.append(token)
    return tokens


def unindented(comment):
    """A comment without the blank that each line begins with."""
    return "\n".join(line.removeprefix(" ").rstrip() for line in comment.splitlines()).strip("\n")


class Scan(surface.Scan):
    """The declarations of one header with their comments, in their order."""

    def __init__(self, tokens, file):
        super().__init__(tokens, set())
        self.file, self.found, self.begin, self.kind = file, [], 0, "type"

    def add(self, path, text):
        comment = unindented(self.tokens[self.begin].before)
        self.found.append(Entry(tuple(map(str, path)), text, comment, self.kind, file=self.file))
        self.found[-1].place = getattr(path[-1], "place", None)

    def declaration(self, at, end, path, owner, is_shown=True):
        self.begin, self.kind, known = at, "type", len(self.found)
        stop = super().declaration(at, end, path, owner, is_shown)
        if len(self.found) == known + 1 and not self.found[-1].comment:
            self.found[-1].comment = behind(self.tokens[stop - 1])
        return stop

    def enumeration(self, at, path, is_public):
        known = len(self.found)
        stop = super().enumeration(at, path, is_public)
        for enumerator in self.found[known + 1 :]:
            place = enumerator.place
            enumerator.kind = "enumerator"
            enumerator.comment = unindented(self.tokens[place].before)
            while self.tokens[place] not in (",", "}"):
                place += 1
            place -= self.tokens[place] == "}"
            enumerator.comment = enumerator.comment or behind(self.tokens[place])
        return stop

    def show(self, begin, end, path, name, is_public):
        self.kind, known = "function", len(self.found)
        super().show(begin, end, path, name, is_public)
        if len(self.found) > known and self.tokens[end] in ("{", ":"):
            self.found[-1].errors = errors_in(self.tokens, end)

    def value(self, begin, at, stop, path, is_public):
        self.kind = "value"
        super().value(begin, at, stop, path, is_public)


def behind(token):
    return re.sub(r"\s*\n\s*", " ", token.behind).strip()


def errors_in(tokens, at):
    """The errors that a body throws itself: (class, field, problem), with … for what is computed."""
    while tokens[at] != "{":  # members of a constructor
        at = surface.end_of(tokens, at) if tokens[at] == "(" else at + 1
    found = []
    stop = surface.end_of(tokens, at)
    for place in range(at, stop):
        if tokens[place] not in THROWS or tokens[place + 1] != "(":
            continue
        if tokens[place] != "refuse" and tokens[place - 1] != "throw":
            continue
        arguments = split(tokens[place + 2 : surface.end_of(tokens, place + 1) - 1])
        if len(arguments) == 2 and any(token.startswith('"') for token in arguments[1]):
            found.append((THROWS[tokens[place]], *map(text_of, arguments)))
    return found


def split(tokens):
    """Arguments of a call."""
    pieces, piece, at = [], [], 0
    while at < len(tokens):
        end = surface.end_of(tokens, at) if tokens[at] in surface.PAIRS else at + 1
        if tokens[at] == ",":
            pieces.append(piece)
            piece = []
        else:
            piece += tokens[at:end]
        at = end
    return [*pieces, piece]


def text_of(tokens):
    """The text that an expression makes of literals and other things, each of which is …"""
    text = ""
    for token in tokens:
        if token.startswith('"'):
            text += token[1:-1].replace('\\"', '"').replace("\\n", "\n")
        elif re.match(r"[A-Za-z_?]", token) and not text.endswith("…"):
            text += "…"
    return text


def entries_of(path):
    """The public declarations of a header, in their order."""
    return entries_in(path.read_text(encoding="utf-8"), path.relative_to(HEADERS).as_posix())


@functools.cache
def entries_in(text, file):
    tokens = tokens_of(text)
    scan = Scan(tokens, file)
    scan.namespaces(0, len(tokens), [])
    names = {entry.path[0] for entry in scan.found if len(entry.path) > 1}
    return [*(entry for entry in namespaces(tokens, scan.file) if entry.name in names), *scan.found]


def namespaces(tokens, file):
    """The namespaces that have a comment."""
    for at, token in enumerate(tokens):
        if token == "namespace" and token.before:
            name = next(str(tokens[end - 1]) for end in range(at, len(tokens)) if tokens[end] == "{")
            yield Entry((name,), f"namespace {name}", unindented(token.before), "namespace", file=file)


# ---- public headers ----


def includes_of(path):
    """What a header includes: names of headers."""
    return re.findall(r"#include <(.*?)>", path.read_text(encoding="utf-8"))


def own_includes(path):
    found = [HEADERS / name.removeprefix("floptally/") for name in includes_of(path) if name.startswith("floptally/")]
    return [header for header in found if header.suffix in (".hpp", ".cuh") and header.is_file()]


def reached(path, seen=None):
    """A header and all headers of the library that it includes, directly or not."""
    seen = {} if seen is None else seen
    if path not in seen:
        seen[path] = True
        for header in own_includes(path):
            reached(header, seen)
    return seen


#: The first that fits is what a header needs: nccl.h brings the CUDA runtime.
PARTIES = [("nccl", "NCCL"), ("mpi", "MPI"), ("nlohmann/", "nlohmann_json"), ("fmt/", "{fmt}"), ("cuda", "the CUDA runtime")]


def needs(path):
    if path.suffix == ".cuh":
        return "nvcc or hipcc"
    included = [name for header in reached(path) for name in includes_of(header)]
    return next((party for begin, party in PARTIES if any(name.startswith(begin) for name in included)), "the standard library")


def file_comment(path):
    """The `@file` comment of a header: an error where it has none."""
    found = re.search(r"^/// @file\n((?:///.*\n)+)", path.read_text(encoding="utf-8"), re.M)
    if not found:
        sys.exit(f"{path.name}: has no comment that begins with /// @file: say in one sentence what the header brings")
    return unindented("\n".join(line[3:] for line in found[1].splitlines()))


def first_sentence(comment):
    paragraph = " ".join(comment.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])(?<!\b[A-Z]\.)\s+(?=[A-Z`{])", paragraph)[0]


#: The order of the pages: a header of module goes to the first that includes it. What only floptally.hpp includes is last.
ORDER = (
    "core.hpp", "meter.hpp", "json.hpp", "hardware.hpp", "conventions.hpp", "compare.hpp", "plan.hpp", "input.hpp", "statistics.hpp",
    "descriptors.hpp", "report.hpp", "memory.hpp", "search.hpp", "layout.hpp", "pipeline.hpp", "reduction.hpp", "balance.hpp",
    "waterfall.hpp",
)  # fmt: skip


def public_headers():
    """In the order of the reference: those of ORDER, the adapters, floptally.hpp."""
    found = {path.name: path for path in sorted(HEADERS.iterdir()) if path.suffix in (".hpp", ".cuh")}
    names = [*ORDER, *(name for name in found if name not in ORDER and name != "floptally.hpp"), "floptally.hpp"]
    return [found[name] for name in names]


def declarations():
    """The entries of each public header, in the order of the headers of modules that it includes."""
    headers = public_headers()
    owner = {}
    for header in headers:
        for path in (header, *own_includes(header)):
            owner.setdefault(path, header)
    for header in headers:
        for path in reached(header):
            owner.setdefault(path, header)
    found = {header.name: [] for header in headers}
    for path, header in owner.items():
        if "detail" not in path.parts:
            found[header.name] += entries_of(path)
    return found
