# SPDX-License-Identifier: Apache-2.0
"""What the site has besides docs/: the README as its first page, the reference of the Python package, and links to files
of the repository, which lead to FLOPTALLY_REPOSITORY of .ci/address where it is set and are plain names elsewhere."""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = """# Python reference

From the comments of the package's stubs. C++ is [here](headers.md): every header, and its declarations.

::: floptally

"""
MODULES = ("adopt", "callbacks", "distributed", "memory", "module_times", "plots", "sampler")
STYLE = """.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) { font-size: .65rem; }
.md-typeset table:not([class]) th, .md-typeset table:not([class]) td { padding: .45em .7em; min-width: 0; }
.md-typeset table:not([class]) td:first-child code, .md-typeset table:not([class]) th code { white-space: nowrap; }
.md-typeset pre > code { font-size: .72em; }
"""


def on_files(files, config):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/", "](").replace('"docs/', '"')
    reference = REFERENCE + "\n".join(f"::: floptally.{name}\n" for name in MODULES)
    for name, text in (("index.md", readme), ("reference.md", reference), ("site.css", STYLE)):
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
    if page.file.src_uri == "headers.md":
        markdown = markdown.replace("\n", '\n\n<a href="cpp/annotated.html">Every declaration, with its comment</a>\n', 1)
    return markdown
