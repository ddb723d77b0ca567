# SPDX-License-Identifier: Apache-2.0
"""Markdown of the reference's pages: text of comments, code, tables, links, examples."""

import functools
import re

#: The languages of blocks that are no examples. Tests compile or run all blocks of `cpp` and `python`.
CPP, PYTHON = "c++", "py"
GLOSSARY = "Words that are floptally's own are in the [glossary](../glossary.md)."


def slug(heading):
    """The anchor of a heading, as forges and mkdocs make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def snake(name):
    """CamelCase as C++ writes it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def plain(text):
    """Text of a comment as Markdown: outside of `code` no character means anything."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if at % 2 else re.sub(r"([*<\\]|_(?=_)|(?<=\])\(|\]\()", r"\\\1", piece) for at, piece in enumerate(pieces))


def paragraphs(comment):
    """The blocks of a comment: ("text", line) and ("code", lines) where it is indented by four."""
    found = []
    for block in re.split(r"\n\s*\n", comment.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines if line.strip()) and block.strip():
            if found and found[-1][0] == "code":
                found[-1] = ("code", found[-1][1] + "\n\n" + "\n".join(line[4:] for line in lines))
            else:
                found.append(("code", "\n".join(line[4:] for line in lines)))
        elif block.strip():
            found.append(("text", "\n".join(lines)))
    return found


def code_of(text):
    """A text as code on one line."""
    text = " ".join(text.split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def fenced(code, language):
    return f"```{language}\n{code}\n```"


def indented(text, by):
    return "\n".join(" " * by + line if line else "" for line in text.splitlines())


class Links:
    """Where the names of one language stand, for the first `name` of each text."""

    def __init__(self):
        self.places = {}

    def add(self, name, page, anchor):
        self.places.setdefault(name, (page, anchor))

    @functools.cached_property
    def by_snake_name(self):
        """Names without a module or a class, by their form in C++."""
        found = {}
        for name in self.places:
            if "." not in name:
                found.setdefault(snake(name), []).append(name)
        return found

    def to(self, name, page=None):
        there, anchor = self.places[name]
        return f"{'' if there == page else there}#{anchor}"

    def linked(self, text, page, own=()):
        """A text in which the first `name` of each name is a link."""
        done = set(own)

        def link(found):
            name = re.sub(r"\(.*\)$", "", found[1])
            if name not in self.places or name in done:
                return found[0]
            done.add(name)
            return f"[{found[0]}]({self.to(name, page)})"

        return re.sub(r"(?<!\[)`([^`\n]+)`(?!\])", link, text)


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(one.replace('|', chr(92) + '|') for one in row)} |" for row in rows])


def by_name(nodes, first):
    """The names that users meet first, then the others."""
    return sorted(nodes, key=lambda one: (first.index(one.name) if one.name in first else len(first), one.name.lower()))


def examples(path, mark):
    """Of each name: the code and the output of its example. They stand in a file that a test runs:
    `MARK example NAME`, the code, `MARK output`, the output in comments."""
    found = {}
    text = path.read_text(encoding="utf-8")
    pattern = rf"^ *{mark} example (\w+)\n(.*?)^ *{mark} output\n((?: *{mark}(?: [^\n]*)?\n)+)"
    for name, code, output in re.findall(pattern, text, re.M | re.S):
        lines = code.splitlines()
        gap = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        shown = [re.sub(rf"^ *{mark} ?", "", line) for line in output.splitlines()]
        found[name] = ("\n".join(line[gap:] for line in lines), "\n".join(shown))
    return found


def example_of(found, language):
    return "\n\n".join(["**Example**", fenced(found[0], language), fenced(found[1], "output")])
