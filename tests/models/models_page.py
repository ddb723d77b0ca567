#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/models.md from the pages in include/floptally/models; with --check, exits 1 where it is not current.

For each model type: the page that it is written as a difference from, the parts that its layers multiply and what their
attention sees, by following the bases for what it does not replace; and the keys that its class reads and its base's do
not.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "include/floptally/models"
PAGE = ROOT / "docs/models.md"

NAMES = {
    "gqa": "attention", "mla": "latent attention", "cross": "cross attention", "indexer": "indexer",
    "delta_net": "gated delta net", "kda": "KDA", "mamba": "Mamba", "mamba2": "Mamba-2", "lightning": "lightning attention",
    "mlstm": "mLSTM", "rg_lru": "RG-LRU", "short_convolution": "short convolution", "time_mix": "RWKV time mix",
    "channel_mix": "RWKV channel mix", "experts": "experts", "gated": "gated MLP", "mlp": "MLP", "patches": "patches",
    "convolutions": "convolutions", "merger": "merger", "gated_merger": "gated merger", "core": "attention of its own",
    "compressed_attention": "compressed attention",
    "hyper_connections": "hyper-connections", "stream_head": "stream head", "gated_streams": "gated streams",
    "scores": "scores of its own", "state": "state of its own", "linear": "linears of its own", "pooling": "pooling",
}
MASKS = {
    "both": "both ways", "window": "windows", "around": "windows on both sides", "chunk": "chunks", "top": "best keys",
    "compressed": "compressed keys", "best_compressed": "best compressed keys", "best_blocks": "best blocks",
    "best_pools": "best pools", "prefix_lm": "a prefix both ways", "grid": "windows of a grid", "clip_squares": "whole clips",
    "level_windows": "windows of levels", "reduced": "fewer keys", "lines": "lines of a grid",
    "hstu": "HSTU", "frame_squares": "frames of sound", "frame_band": "bands of frames",
}
BLOCKS = ("mixer", "cross", "feed", "more", "before", "into_mixer", "stem")


class Page:
    def __init__(self, text):
        head = re.match(r"page (\S+?)(?:\s*:\s*(\S+)(?:\s+as\s+\S+)?)?(?:\s+prefix\s+(\S+))?\s*$", text.splitlines()[0])
        self.name, self.base, self.prefix = head.group(1), head.group(2), head.group(3)
        self.blocks = {}
        self.inner = re.findall(r"^inner (\S+)[^:\n]*:\s*(\S+?),?(?:\s|$)", text, re.M)
        self.encoder = re.search(r"^encoder (\S+)", text, re.M)
        text = re.sub(r"(?m)#.*$", "", text)
        self.names = dict(re.findall(r"(?m)^(\w+)\s*=(?!=)\s*(.*)$", text))
        self.parts = re.findall(r"\bsees ([^,\n]*)", text)
        declared = re.findall(r"(?m)^with (.*(?:,\n.*)*)", text)
        self.keys = re.findall(r"(?:^|,)\s*([\w.]+) ", re.sub(r"\[[^]]*\]", "", ",".join(declared)))
        block = None
        for line in text.splitlines()[1:]:
            begins = re.match(r"(\w+):(.*)", line)
            if begins and not line.startswith(" "):
                block = begins.group(1) if begins.group(1) in BLOCKS else None
                if block:
                    self.blocks[block] = []
                line = "  " + begins.group(2)
            elif not line.startswith(" "):
                block = None
            word = re.match(r"\s+([a-z_0-9]+)", line)
            if block and word and word.group(1) in NAMES and word.group(1) not in self.blocks[block]:
                self.blocks[block].append(word.group(1))


def read_pages():
    pages, types = {}, {}
    for path in sorted(PAGES.glob("*.page")):
        text = path.read_text(encoding="utf-8").removeprefix('R"page(\n').removesuffix(')page"\n')
        texts = re.split(r"(?m)^(?=page )", text)
        found = [Page(text) for text in texts if text.startswith("page ")]
        for one in found:
            pages[one.name] = one
        if path.stem != "base":
            types[found[0].name] = path.name
    return pages, types


def parts_of(pages, name):
    blocks, page = {}, pages.get(name)
    while page is not None:
        for block, parts in page.blocks.items():
            blocks.setdefault(block, parts)
        page = pages.get(page.base) if page.base else None
    return ", ".join(NAMES[part] for block in BLOCKS for part in blocks.get(block, []))


def bases_of(pages, name):
    page = pages.get(name)
    while page is not None:
        yield page
        page = pages.get(page.base) if page.base else None


def seen_by(pages, name):
    """The masks of what `sees` is worth, with the names that it asks for, and of lines of parts that say their own."""
    names = {}
    for page in bases_of(pages, name):
        names = {**page.names, **names}
    open_, asked, found = [names.get("sees", "")] + pages[name].parts, set(), []
    while open_:
        for word in re.findall(r"(?<![.\w])[a-z_]+\b", open_.pop(0)):
            if word in MASKS and word not in found:
                found.append(word)
            elif word in names and word not in asked:
                asked.add(word)
                open_.append(names[word])
    return ", ".join(MASKS[word] for word in found)


def own_keys(pages, name):
    known = {key for page in list(bases_of(pages, name))[1:] for key in page.keys}
    return " ".join(f"`{key}`" for key in dict.fromkeys(pages[name].keys) if key not in known)


def root_of(pages, name):
    page = pages[name]
    while page.base and page.base in pages and not page.base.startswith("base"):
        page = pages[page.base]
    return page.name


def what_of(pages, name):
    page, inner, encoder = pages[name], [], None
    while page is not None:
        inner = inner or page.inner
        encoder = encoder or page.encoder
        page = pages.get(page.base) if page.base else None
    if inner:
        return "of " + ", ".join(f"{part} `{of}`" if of.strip("*") else part for part, of in inner)
    parts = parts_of(pages, name) or "HSTU layers, MLPs"  # a page without blocks
    if encoder is not None and encoder.group(1) != "none":
        parts += f"; encoder `{encoder.group(1)}`"
    return parts


def written(pages, types):
    kin = {}
    for name in types:
        kin.setdefault(root_of(pages, name), []).append(name)
    lines = [
        "# Models",
        "",
        f"The {len(types)} types whose `config.json` is read, by kin: each is a page in `include/floptally/models/`, named after",
        "it, and most are written as another one with differences. This page is made from them by",
        "`tests/models/models_page.py`, which a test holds against it; `floptally models` prints the list.",
        "[pages.md](pages.md) says how to write one.",
        "",
        "Attention is causal unless the column behind it says more; keys are those that the class reads and its base does not.",
        "",
        "| type | as | its layers multiply | sees | keys of its own |",
        "| --- | --- | --- | --- | --- |",
    ]
    for root in sorted(kin, key=lambda root: (-len(kin[root]), root)):
        for name in sorted(kin[root], key=lambda name: (name != root, name)):
            base = pages[name].base or ""
            as_ = "" if base.startswith("base") or not base else f"`{base}`"
            sees, keys = seen_by(pages, name), own_keys(pages, name)
            lines.append(f"| `{name}` | {as_} | {what_of(pages, name)} | {sees} | {keys} |")
    return "\n".join(lines) + "\n"


def main():
    text = written(*read_pages())
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != text:
            print("docs/models.md is not what the pages say: run tests/models/models_page.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
