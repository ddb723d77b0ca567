# SPDX-License-Identifier: Apache-2.0
"""What the site has besides docs/: the README as its first page, and the pages of docs/reference/ in its contents. Links to
files of the repository lead to FLOPTALLY_REPOSITORY of .ci/address where it is set and are plain names elsewhere."""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
STYLE = """.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) { font-size: .65rem; }
.md-typeset table:not([class]) th, .md-typeset table:not([class]) td { padding: .45em .7em; min-width: 0; }
.md-typeset table:not([class]) td:first-child code, .md-typeset table:not([class]) th code { white-space: nowrap; }
.md-typeset pre > code { font-size: .72em; }
"""


def on_config(config):
    """Adds docs/reference/ to the contents, first in the section Reference, in the order in which its first pages link to it."""
    folder = ROOT / "docs/reference"
    sections = []
    for title, begin in (("C++", "cpp"), ("Python", "python")):
        links = re.findall(rf"\]\(({begin}\w*\.md)\)", (folder / f"{begin}.md").read_text(encoding="utf-8"))
        names = dict.fromkeys([f"{begin}.md", *links, *sorted(path.name for path in folder.glob(f"{begin}_*.md"))])
        sections.append({title: [f"reference/{name}" for name in names]})
    (section,) = [entry["Reference"] for entry in config.nav if isinstance(entry, dict) and "Reference" in entry]
    section[:0] = sections
    return config


def on_files(files, config):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/", "](").replace('"docs/', '"')
    for name, text in (("index.md", readme), ("site.css", STYLE)):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    address = os.environ.get("FLOPTALLY_REPOSITORY", "").rstrip("/")

    def outside(link):
        text, path = link.group(1), link.group(2)
        return f"[{text}]({address}/blob/HEAD/{path})" if address else f"`{text.strip('`')}`"

    markdown = re.sub(r"\[([^]]*)\]\((?:\.\./)*((?:examples|tests|include|\.packages)/[^)]*)\)", outside, markdown)
    # Pictures follow the page's own switch, and not the system's.
    markdown = re.sub(
        r'<picture>\s*<source[^>]*srcset="([^"]*)">\s*<img alt="([^"]*)" src="([^"]*)" width="(\d+)">\s*</picture>',
        r'![\2](\3#only-light){ width="\4" } ![\2](\1#only-dark){ width="\4" }', markdown)
    if page.file.src_uri == "browser.md":
        is_there = (ROOT / "build/browser/page/index.html").exists()
        button = ('<a class="md-button md-button--primary" href="browser/index.html">Open the page</a>' if is_there
                  else "This site was built without the page: run `.ci/browser`, then `.ci/site`.")
        markdown = markdown.replace("\n", f"\n\n{button}\n", 1)
    return markdown
