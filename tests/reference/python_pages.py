# SPDX-License-Identifier: Apache-2.0
"""The pages of Python: one for floptally and one for each of its modules, the types of arguments, and the first page."""

import pathlib
import re

import cpp_source
import pairs
import python_source
from page_text import GLOSSARY, PYTHON, Links, by_name, example_of, examples, fenced, indented, paragraphs, plain, slug, table

EXAMPLES = pathlib.Path(__file__).resolve().parent / "examples.py"
#: The names that users meet first, in the order of the tables.
FIRST = (
    "cost", "Meter", "flops", "Cost", "Tally", "Breakdown", "Plan", "Mask", "conventions", "accelerator", "from_torch", "Totals",
    "readable", "expect", "Error",
)  # fmt: skip


def described(text, names):
    """A docstring in which "name: text" of a parameter or member begins a line of a list."""
    if not names:
        return text
    one = rf"\*{{0,2}}(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"
    begins = re.compile(rf"(^|(?<=[.!?…)])\s+|\n\s*\n\s*|\n){one_or_more(one)}:\s+")
    return begins.sub(lambda found: f"\n\n* `{' '.join(found[2].split()).replace(', ', '`, `').replace(' and ', '` and `')}`: ", text)


def one_or_more(one):
    return rf"({one}(?:(?:,| and)\s+(?:…|{one}))*)"


def text_of(text, names, links, page, own=()):
    """A docstring as Markdown: paragraphs, code, lists of parameters, and the parts `Args:`, `Raises:` and `Returns:`."""
    blocks, text = [], text.replace("``", "`")
    for part in re.split(r"\n(?=(?:Args|Raises|Returns|Yields|Warns|Attributes):\n)", "\n" + text):
        found = re.match(r"(Args|Raises|Returns|Yields|Warns|Attributes):\n((?:(?:    .*)?(?:\n|$))+)(.*)", part.strip("\n"), re.S)
        if not found:
            blocks += blocks_of(part, names, links, page, own)
            continue
        title = {"Args": "Parameters", "Raises": "Errors"}.get(found[1], found[1])
        blocks += [f"{title}:", items(found[2], links, page, own)]
        blocks += blocks_of(found[3], names, links, page, own)
    return "\n\n".join(block for block in blocks if block)


def items(text, links, page, own):
    """The lines of `Args:`: "name: text", the text over more lines that are indented further."""
    lines = []
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 4
        found = re.match(r"(\*{0,2}[\w.\"]+(?:, (?:…|\*{0,2}[\w.\"]+))*): (.*)", line.strip())
        if found and (depth == 1 or (depth > 1 and line.strip().startswith('"'))):
            name = found[1].replace(", ", "`, `").replace("`…`", "…")
            lines.append(f"{'    ' * (depth - 1)}* `{name}`: {found[2]}")
        elif line.strip() and lines:
            lines[-1] += " " + line.strip()
        elif line.strip():
            lines.append(line.strip())
    return "\n".join(links.linked(plain_item(line), page, own) for line in lines)


def plain_item(line):
    bullet = re.match(r" *\* ", line)
    begin = bullet[0] if bullet else ""
    return begin + plain(line[len(begin):])


def blocks_of(text, names, links, page, own):
    blocks = []
    for kind, block in paragraphs(text):
        if kind == "code":
            blocks.append(fenced(block, PYTHON))
            continue
        pieces = re.split(r"\n\n(?=\* )", described(block, names).strip("\n"))
        lines = []
        for piece in pieces:
            if piece.startswith("* "):
                lines.append(items_below(piece))
            elif piece.strip():
                blocks.append(links.linked(plain(piece), page, own))
        if lines:
            blocks.append("\n".join(links.linked(plain_item(line), page, own) for line in "\n".join(lines).splitlines()))
    return blocks


def items_below(piece):
    """One item of a list; lines `"value": text` below it are items of their own."""
    lines = []
    for line in piece.splitlines():
        if lines and re.match(r'\s+("[\w.]+"(?:, "[\w.]+")*): ', line):
            lines.append(re.sub(r'^\s+((?:"[\w.]+"(?:, )?)+): ', r"    * `\1`: ", line))
        elif lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def heading_of(one, module):
    name = one.name if module == "floptally" else f"{module.removeprefix('floptally.')}.{one.name}"
    return f"class {name}" if one.kind == "class" else f"`{name}`" if name.startswith("__") else name


def page_of(module):
    return f"python_{module.split('.')[1] if '.' in module else 'floptally'}.md"


def member_of(one, member, links, page, there):
    signature = " ".join(member.signature.split()).replace("( ", "(").replace(", )", ")")
    is_long = len(signature) > 120
    line = f'* <a id="{one.name}-{member.name}"></a>`{member.name + "(…)" if is_long else signature}`'
    if there:
        line += f" ([C++]({there}))"
    own = {one.name, *(each.name for each in one.members), *member.described}
    text = text_of(member.text, member.described, links, page, own)
    first, _, rest = text.partition("\n\n")
    if first and not first.startswith(("* ", "```")):
        line += "<br>" + " ".join(first.split())
    else:
        rest = text
    if is_long:
        rest = "\n\n".join(one for one in (fenced(member.signature, PYTHON), rest) if one)
    return line + (f"\n\n{indented(rest, 4)}\n" if rest else "")


def section_of(one, module, links, cpp, page, shown):
    blocks = [f"## {heading_of(one, module)}"]
    full = one.name if module == "floptally" else f"{module.removeprefix('floptally.')}.{one.name}"
    partners = pairs.partners_of_python(full, cpp)
    reason = pairs.reason_of_python(one.name, module)
    if partners:
        blocks.append(f"In C++: {', '.join(f'[`{name}`]({cpp.to(name)})' for name in partners)}")
    elif reason:
        blocks.append(f"Python only: {reason}")
    blocks += [fenced(one.signature, PYTHON), text_of(one.text, one.described, links, page, {one.name, *one.described})]
    if module == "floptally" and one.name in shown:
        blocks.append(example_of(shown[one.name], "python"))
    fields = [member for member in one.members if member.kind != "function"]
    functions = [member for member in one.members if member.kind == "function"]
    for title, members in (("**Attributes**", fields), ("**Methods**", functions)):
        lines = []
        for member in members:
            if member.kind == "function" and not member.text:
                continue  # a hook of a trainer
            there = pairs.partners_of_python(f"{one.name}.{member.name}", cpp)
            there += [f"{name}::{member.name}" for name in partners if f"{name}::{member.name}" in cpp.places]
            lines.append(member_of(one, member, links, page, cpp.to(there[0]) if there else None))
        if lines:
            blocks += [title, re.sub(r"\n{3,}", "\n\n", "\n".join(lines))]
    return "\n\n".join(block for block in blocks if block)


def names_of(problems):
    """Of each module: its docstring and its names."""
    known, found = {}, {}
    for module, path in python_source.modules().items():
        found[module] = python_source.module_of(module, path, known)
        problems += [f"{module}.{one.name} has no docstring" for one in found[module][1] if not one.text and one.name[0] != "_"]
    return found


def links_to(modules):
    links = Links()
    for module, (_, names) in modules.items():
        page = page_of(module)
        for one in names:
            full = one.name if module == "floptally" else f"{module.removeprefix('floptally.')}.{one.name}"
            anchor = slug(heading_of(one, module))
            links.add(full, page, anchor)
            links.add(f"floptally.{full}", page, anchor)
            for member in one.members:
                if member.text or member.kind != "function":
                    links.add(f"{full}.{member.name}", page, f"{one.name}-{member.name}")
    for name, _, _ in python_source.aliases():
        links.add(name, "python_types.md", slug(name))
    return links


def pages_of(modules, links, cpp, problems):
    shown = examples(EXAMPLES, "#")
    problems += [f"{name} has no example in tests/reference/examples.py" for name in FIRST if name not in shown]
    problems += [f"tests/reference/examples.py: {name} is no public name" for name in shown if name not in links.places]
    pages = {}
    for module, (text, names) in modules.items():
        page = page_of(module)
        blocks = pages.setdefault(page, [])
        top = module.count(".") < 2
        blocks.append(f"# {module}" if top else f"## {module}")
        if not top and not names:
            blocks.append(text_of(text, set(), links, page))
            continue
        if text:
            blocks.append(text_of(text, set(), links, page))
        if top:
            blocks.append(f"Here are [all modules](python.md) and the [C++ reference](cpp.md). {GLOSSARY}")
        names = by_name(names, FIRST if module == "floptally" else ())
        rows = []
        for one in names:
            sentence = cpp_source.first_sentence(one.text.replace("``", "`")) if one.text else ""
            rows.append((f"[`{one.name}`](#{slug(heading_of(one, module))})", links.linked(plain(sentence), page, [one.name])))
        if rows and top:
            blocks.append(table(["name", "what it is"], rows))
        for one in names:
            section = section_of(one, module, links, cpp, page, shown)
            blocks.append(section if top else section.replace("## ", "### ", 1))
    pages = {page: "\n\n".join(blocks) + "\n" for page, blocks in pages.items()}
    pages["python_types.md"] = types_page(links)
    pages["python.md"] = first_page(modules, links, cpp)
    return pages


def types_page(links):
    blocks = [
        "# Types of arguments",
        f"What the signatures of the [Python reference](python.md) call the types of their arguments. {GLOSSARY}",
    ]
    for name, definition, comment in python_source.aliases():
        blocks.append(f"## {name}")
        if comment:
            blocks.append(links.linked(plain(comment), "python_types.md", [name]))
        if definition != "protocol":
            blocks.append(fenced(f"{name} = {definition}", PYTHON))
    return "\n\n".join(blocks) + "\n"


def first_page(modules, links, cpp):
    names = {one.name: one for one in modules["floptally"][1]}
    first = []
    for name in FIRST:
        partners = pairs.partners_of_python(name, cpp)
        sentence = cpp_source.first_sentence(names[name].text)
        first.append((f"[`{name}`]({links.to(name)})", links.linked(plain(sentence), "python.md", [name]),
                      ", ".join(f"[`{one}`]({cpp.to(one)})" for one in partners)))  # fmt: skip
    rows = []
    for module, (text, _) in modules.items():
        sentence = links.linked(plain(cpp_source.first_sentence(text)), "python.md") if text else ""
        anchor = "" if module.count(".") < 2 else f"#{slug(module)}"
        rows.append((f"[`{module}`]({page_of(module)}{anchor})", sentence))
    every = {name: place for name, place in links.places.items() if "." not in name and place[0] != "python_types.md"}
    letters = {}
    for name in sorted(every, key=str.lower):
        letters.setdefault(name[0].upper(), []).append(f"[`{name}`]({links.to(name)})")
    return "\n\n".join([
        "# Python reference",
        "Written from the docstrings of the package. [Python](../python.md) is the page to begin with. The [C++ reference](cpp.md)\n"
        f"has the same names where they exist there. {GLOSSARY}",
        "Bad input raises [`floptally.Error`](python_floptally.md#class-error), a `ValueError`. It says the field, the problem and what\n"
        "to do.\n"
        "Signatures name the [types of arguments](python_types.md).",
        "## First names", table(["name", "what it is", "C++"], first),
        "## Modules", table(["module", "what it is"], rows),
        "## All names of floptally", *(f"**{letter}** {', '.join(shown)}" for letter, shown in letters.items() if letter != "_"),
        "`tests/reference/reference_page.py` writes this page and all that it links to.",
    ]) + "\n"  # fmt: skip
