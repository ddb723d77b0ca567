#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/ from the comments of the C++ headers and the docstrings of the Python package; with --check, exits 1
where a page is not current.

A page has the names of one public header, or of one module of the package. It is an error where a public header has no `@file`
sentence, where a public name has no comment, where a name of C++ has neither a partner in Python nor a reason (pairs.py), or the
other way round, and where one of the FIRST names has no example (reference_examples.test.cpp, examples.py).
"""

import pathlib
import sys

import cpp_pages
import pairs
import python_pages

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs/reference"


def all_pages(problems):
    modules = python_pages.names_of(problems)
    python = python_pages.links_to(modules)
    trees = cpp_pages.trees_of_headers()
    pages, cpp = cpp_pages.pages_of(trees, python, problems)
    pages |= python_pages.pages_of(modules, python, cpp, problems)
    problems += pairs.problems(trees, modules, cpp, python, cpp_pages.is_operator)
    return pages


def main():
    problems = []
    pages = all_pages(problems)
    for name in sorted(path.name for path in PAGES.glob("*.md") if path.name not in pages):
        if "--check" in sys.argv[1:]:
            problems.append(f"docs/reference/{name}: nothing writes it")
        else:
            (PAGES / name).unlink()
    for name, text in pages.items():
        path = PAGES / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            problems.append(f"docs/reference/{name} is not what the sources say: run tests/reference/reference_page.py")
    print("\n".join(problems) or f"{len(pages)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
