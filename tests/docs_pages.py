#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the words of each page of docs/ and of the README, as `wc -w` counts them, with and without generated tables.

With --check, exits 1 where there are more than 22 pages or 45 000 words, where the README has more than 120 lines, or
where a link leads to no file or to no heading, or where .ci/site.yml leaves out a page.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_PAGES, MOST_WORDS, MOST_LINES_OF_README = 22, 45_000, 120
#: Pages that a program writes, and the first lines of tables that one writes into a page.
GENERATED_PAGES = {"models.md", "headers.md"}
GENERATED_TABLES = ("| part | fp64 |", "| convention | FLOPs |")


def pages():
    return sorted((ROOT / "docs").glob("*.md")) + [ROOT / "README.md"]


def words(path):
    """All words, and those that no program wrote."""
    text = path.read_text(encoding="utf-8")
    if path.name in GENERATED_PAGES:
        return len(text.split()), 0
    tables = [block for block in text.split("\n\n") if block.lstrip("\n").startswith(GENERATED_TABLES)]
    return len(text.split()), len(text.split()) - sum(len(table.split()) for table in tables)


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def anchors(path):
    """The anchors of a page's headings, as forges make them."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.*)$", without_code(path.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken_links():
    """Links of all pages to a file that is not there, or to a heading that its page has not."""
    for page in pages():
        text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text(encoding="utf-8")))
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
            link = target[0] or target[1]
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists():
                yield f"{page.relative_to(ROOT)}: {link}: there is no such file"
            elif anchor and anchor not in anchors(file):
                yield f"{page.relative_to(ROOT)}: {link}: there is no such heading"


def main():
    counted = {page: words(page) for page in pages()}
    every, by_hand = (sum(numbers) for numbers in zip(*counted.values()))
    if sys.argv[1:] != ["--check"]:
        for page, (number, own) in sorted(counted.items(), key=lambda one: -one[1][0]):
            print(f"{number:7} {own:7}  {page.relative_to(ROOT)}")
        print(f"{every:7} {by_hand:7}  words, and those without generated tables, on {len(counted) - 1} pages")
        return 0
    wrong = list(broken_links())
    site = (ROOT / ".ci/site.yml").read_text(encoding="utf-8")
    wrong += [f"{page.name} is not in the contents of .ci/site.yml" for page in pages()[:-1] if page.name not in site]
    if len(counted) - 1 > MOST_PAGES:
        wrong.append(f"docs/ has {len(counted) - 1} pages, more than {MOST_PAGES}")
    if every > MOST_WORDS:
        wrong.append(f"docs/ and the README have {every} words, more than {MOST_WORDS}")
    lines = (ROOT / "README.md").read_text(encoding="utf-8").count("\n")
    if lines > MOST_LINES_OF_README:
        wrong.append(f"the README has {lines} lines, more than {MOST_LINES_OF_README}")
    print("\n".join(wrong) or f"{every} words, {by_hand} without generated tables, on {len(counted) - 1} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
