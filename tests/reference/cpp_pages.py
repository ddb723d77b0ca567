# SPDX-License-Identifier: Apache-2.0
"""The pages of C++: one for each public header, and the first page."""

import pathlib
import re

import cpp_source
import pairs
from page_text import CPP, GLOSSARY, Links, by_name, code_of, example_of, examples, fenced, indented, paragraphs, plain, slug, table

EXAMPLES = pathlib.Path(__file__).resolve().parent / "reference_examples.test.cpp"
#: The names that users meet first, in the order of the tables.
FIRST = (
    "cost", "meter", "flop_counter", "tally", "breakdown", "utilize", "measurement", "utilization", "sequence", "flops", "view",
    "training_plan", "convention", "evaluate", "load_config", "accelerator_named", "presets", "report_of", "error",
)  # fmt: skip
#: Headers whose classes have a comment at each member function, not only at the class.
WITH_MEMBERS = ("core.hpp", "meter.hpp")
#: Members that every container has.
OF_CONTAINERS = ("begin", "end", "size", "empty", "data", "front", "back")


class Node:
    """A name of C++ with its declarations and its members."""

    def __init__(self, name, path):
        self.name, self.path, self.entries, self.members = name, path, [], {}

    def add(self, entry, depth=0):
        if depth == len(entry.path):
            self.entries.append(entry)
        else:
            name = entry.path[depth]
            self.members.setdefault(name, Node(name, entry.path[: depth + 1])).add(entry, depth + 1)

    def without_repeats(self):
        """Leaves out what is declared again where it is defined."""
        plain_texts = {re.sub(r" = [^,)]*", "", entry.text) for entry in self.entries if entry.comment}
        self.entries = [one for one in self.entries if one.comment or one.text not in plain_texts]
        for member in self.members.values():
            member.without_repeats()

    @property
    def comment(self):
        return next((entry.comment for entry in self.entries if entry.comment), "")

    def first_sentence(self):
        found = [self.comment] or [one.comment for one in self.members.values()]
        return cpp_source.first_sentence(found[0]) if found[0] else ""


def is_operator(name):
    return name.startswith("operator") and not name[8:9].isalnum() and name[8:9] != "_"


def is_plain(entry):
    """A declaration that says all by itself: a copy, a default, a comparison, a destructor."""
    name = entry.path[-1]
    return not entry.comment and (entry.text.endswith(("= default", "= delete")) or is_operator(name) or name.startswith("~"))


def words_of(text):
    """The words of a declaration: in its comment they are parameters, and no links."""
    return set(re.findall(r"[a-z_]\w*", text)) - {"class", "struct"}


def bases_of(entry):
    """The classes that a class derives from."""
    found = re.search(r"\b(?:class|struct) \w+[^:]*? : (.*)", entry.text) if entry.kind == "type" else None
    return re.findall(r"(?:^|, )(\w+)", found[1]) if found else []


def shown(text):
    """A declaration on one line."""
    return re.sub(r"\b(operator\S+) \(", r"\1(", text)


def text_of(comment, links, page, own=()):
    blocks = []
    for kind, text in paragraphs(comment):
        blocks.append(fenced(text, CPP) if kind == "code" else links.linked(plain(text), page, own))
    return "\n\n".join(blocks)


def errors_of(entry):
    lines = []
    for thrown, field, problem in entry.errors:
        lines.append(f"* `{thrown}`: {code_of(f'{field}: {problem}')}")
    return "\n".join(dict.fromkeys(lines))


def declaration_of(entry):
    """A top-level declaration as code, over several lines where it is long."""
    text = re.sub(r"^(template <.*?>(?: requires .*?)?) (?=(?:struct|class|concept|using|constexpr|inline|void|auto|bool|std::)\b)",
                  r"\1\n", entry.text)
    lines = []
    for line in text.split("\n"):
        while len(line) > 110 and ", " in line[20:110]:
            cut = line.rindex(", ", 20, 110) + 1
            lines.append(line[:cut])
            line = "    " + line[cut:].strip()
        lines.append(line)
    return "\n".join(lines)


def member_of(node, links, page, own, partner, depth=0):
    """Bullets of a member: its declarations with what each does, and the members of a nested type."""
    lines = []
    for entry in node.entries:
        if is_plain(entry):
            continue
        text = shown(entry.text if entry.kind != "enumerator" else f"{entry.path[-1]} {entry.text}")
        line = f"* `{text}`"
        if not lines and depth == 0:
            line = f'* <a id="{"-".join(node.path)}"></a>`{text}`'
            if partner:
                line += f" ([Python]({partner}))"
        blocks = paragraphs(entry.comment)
        if blocks and blocks[0][0] == "text":
            line += f"<br>{links.linked(plain(' '.join(blocks.pop(0)[1].split())), page, own | words_of(entry.text))}"
        lines.append(line)
        for kind, block in blocks:
            text = fenced(block, CPP) if kind == "code" else links.linked(plain(block), page, own | words_of(entry.text))
            lines += ["", indented(text, 4), ""]
        if entry.errors:
            lines += ["", indented("Errors:", 4), "", indented(errors_of(entry), 4), ""]
    for member in node.members.values():
        lines += [indented(line, 4) for line in member_of(member, links, page, own, None, depth + 1)]
    return lines


def title_of(node):
    if node.entries[0].kind == "namespace":
        return "**Names**"
    return "**Values**" if node.entries[0].text.startswith("enum ") else "**Members**"


def section_of(node, links, page, python, examples):
    heading = [f"## {node.name}"]
    partners = pairs.partners_of_cpp(node.name, python)
    if partners:
        heading.append(f"In Python: {', '.join(f'[`{one}`]({python.to(one)})' for one in partners)}")
    elif pairs.reason_of_cpp(node):
        heading.append(f"C++ only: {pairs.reason_of_cpp(node)}")
    blocks, own = [], {node.name, *node.members}
    for entry in node.entries:
        if not is_plain(entry):
            blocks += [fenced(declaration_of(entry), CPP), text_of(entry.comment, links, page, own | words_of(entry.text))]
            bases = [f"[`{base}`]({links.to(base, page)})" for base in bases_of(entry) if base in links.places]
            if bases:
                blocks.append(f"It also has the members of {' and '.join(bases)}.")
            if entry.errors:
                blocks += ["Errors:", errors_of(entry)]
    if node.name in examples and links.places[node.name][0] == page:
        blocks.append(example_of(examples[node.name], "cpp"))
    members, operators = [], []
    for member in node.members.values():
        if is_operator(member.name):
            operators += [f"`{member.name[8:]}`"] * (not member.comment and member.name != "operator=")
        if not is_operator(member.name) or member.comment:
            there = next((f"{one}.{member.name}" for one in partners if f"{one}.{member.name}" in python.places), None)
            members += member_of(member, links, page, own, python.to(there) if there else None)
    if operators:
        members.append(f"* Operators: {', '.join(operators)}")
    if members:
        blocks += [title_of(node), re.sub(r"\n{3,}", "\n\n", "\n".join(members))]
    return "\n\n".join([*heading, *(block for block in blocks if block)])


def trees_of_headers():
    """Of each public header its names: what a page has, in its order."""
    trees = {}
    for header, entries in cpp_source.declarations().items():
        root = Node("", ())
        for entry in entries:
            root.add(entry)
        root.without_repeats()
        trees[header] = root
    nodes = [node for root in trees.values() for node in root.members.values()]
    comments = {node.name: node.comment for node in nodes if node.entries and node.entries[0].kind == "namespace"}
    for node in nodes:  # a namespace has its comment in one of its headers
        if not node.entries:
            file = next(iter(node.members.values())).entries[0].file
            node.entries = [cpp_source.Entry((node.name,), f"namespace {node.name}", comments.get(node.name, ""), "namespace", file=file)]
    return trees


def page_of(header):
    return f"cpp_{header.replace('.hpp', '').replace('.cuh', '_device')}.md"


def silent_members(node):
    """Member functions without a comment, but for constructors, operators and what a container has."""
    return [member for member in node.members.values()
            if not member.comment and member.name not in (node.name, *OF_CONTAINERS) and not is_operator(member.name)
            and any(entry.kind == "function" and not is_plain(entry) for entry in member.entries)]


def pages_of(trees, python, problems):
    links = Links()
    for header, root in trees.items():
        for node in root.members.values():
            if not is_operator(node.name):
                links.add(node.name, page_of(header), slug(node.name))
                for member in node.members.values():
                    if not is_operator(member.name):
                        links.add(f"{node.name}::{member.name}", page_of(header), "-".join(member.path))
    shown = examples(EXAMPLES, "//")
    problems += [f"{name} has no example in tests/reference/reference_examples.test.cpp" for name in FIRST if name not in shown]
    problems += [f"tests/reference/reference_examples.test.cpp: {name} is no public name" for name in shown if name not in links.places]
    pages = {}
    for header, root in trees.items():
        pages[page_of(header)] = header_page(header, root, links, python, shown, problems)
    pages["cpp.md"] = first_page(trees, links, python)
    return pages, links


def header_page(header, root, links, python, found, problems):
    path, page = cpp_source.HEADERS / header, page_of(header)
    blocks = [f"# {header}", fenced(f"#include <floptally/{header}>", CPP), text_of(cpp_source.file_comment(path), links, page)]
    blocks.append(f"Needs {cpp_source.needs(path)}. Here are [all headers](cpp.md) and the [Python reference](python.md). {GLOSSARY}")
    nodes = [node for node in by_name(root.members.values(), FIRST) if not is_operator(node.name)]
    for node in nodes:
        silent = [node] if not node.comment else silent_members(node) if header in WITH_MEMBERS else []
        for one in silent:
            problems.append(f"{node.entries[0].file}: {'::'.join(one.path)} has no comment: say in /// what it does")
    rows = [(f"[`{node.name}`](#{slug(node.name)})", links.linked(plain(node.first_sentence()), page, [node.name])) for node in nodes]
    if header == "floptally.hpp" and not rows:
        blocks.append("It has no names of its own: it includes other public headers.")
    elif not rows:
        blocks.append("It has no names of its own in namespace `floptally`.")
    else:
        blocks.append(table(["name", "what it is"], rows))
    blocks += [section_of(node, links, page, python, found) for node in nodes]
    operators = [entry for node in root.members.values() if is_operator(node.name) for entry in node.entries]
    if operators:
        lines = []
        for entry in sorted(operators, key=lambda one: one.text):
            comment = " ".join(entry.comment.split())
            lines.append(f"* `{shown(entry.text)}`" + (f"<br>{links.linked(plain(comment), page)}" if comment else ""))
        blocks += ["## Operators", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def first_page(trees, links, python):
    nodes = {}
    for root in trees.values():
        for node in root.members.values():
            nodes.setdefault(node.name, node)
    first = []
    for name in FIRST:
        there = ", ".join(f"[`{one}`]({python.to(one)})" for one in pairs.partners_of_cpp(name, python))
        sentence = links.linked(plain(nodes[name].first_sentence()), "cpp.md", [name])
        first.append((f"[`{name}`]({links.to(name)})", sentence, there))
    headers = []
    for header in ("floptally.hpp", *(name for name in trees if name != "floptally.hpp")):
        path = cpp_source.HEADERS / header
        sentence = links.linked(plain(cpp_source.first_sentence(cpp_source.file_comment(path))), "cpp.md")
        sentence = re.sub(r"(?<!\[)`(?:floptally/)?(\w+\.\w+)`", lambda f: f"[{f[0]}]({page_of(f[1])})" if f[1] in trees else f[0], sentence)
        headers.append((f"[`{header}`]({page_of(header)})", sentence, cpp_source.needs(path)))
    letters = {}
    for name in sorted((name for name in nodes if not is_operator(name)), key=str.lower):
        letters.setdefault(name[0].upper(), []).append(f"[`{name}`]({links.to(name)})")
    return "\n\n".join([
        "# C++ reference",
        "Written from the comments of the headers. [C++: what you type first](../cpp.md) is the page to begin with. The\n"
        f"[Python reference](python.md) has the same names where they exist there. {GLOSSARY}",
        "All names are in namespace `floptally`. Bad input throws [`error`](cpp_core.md#error). An error says the field, the problem and what\n"
        "to do; `…` stands for the value that you passed. Each page shows the errors that a function throws itself.",
        "## First names", table(["name", "what it is", "Python"], first),
        "## Headers",
        "A program includes `<floptally/NAME.hpp>`, a header of this list. Begin with `floptally.hpp`, or with `core.hpp` where compile time\n"
        "counts. Each of the others is a theme, and costs only those who include it. The headers of modules, in the folders below, are the\n"
        "library's own ([architecture](../architecture.md)).",
        table(["header", "what it brings", "needs"], headers),
        "## All names", *(f"**{letter}** {', '.join(names)}" for letter, names in letters.items()),
        "`tests/reference/reference_page.py` writes this page and all that it links to.",
    ]) + "\n"  # fmt: skip
