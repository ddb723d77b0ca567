#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/models.md from the specs in include/floptally/models and the runs of tests/golden/zoo; with --check, exits 1
where it is not current.

For each model type: the parts that its layers multiply and what their attention sees, by following the bases for what it
does not replace. For each difference that a run has from its count: why, and the types.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECS = ROOT / "include/floptally/models"
ZOO = ROOT / "tests/golden/zoo"
PAGE = ROOT / "docs/models.md"

NAMES = {
    "gqa": "attention", "mla": "latent attention", "cross": "cross attention", "indexer": "indexer",
    "delta_net": "gated delta net", "kda": "KDA", "mamba": "Mamba", "mamba2": "Mamba-2", "lightning": "lightning attention",
    "mlstm": "mLSTM", "rg_lru": "RG-LRU", "short_convolution": "short convolution", "time_mix": "RWKV time mix",
    "channel_mix": "RWKV channel mix", "experts": "experts", "gated": "gated MLP", "mlp": "MLP", "patches": "patches",
    "convolutions": "convolutions", "merger": "merger", "gated_merger": "gated merger", "core": "attention",
    "compressed_attention": "compressed attention",
    "hyper_connections": "hyper-connections", "stream_head": "stream head", "gated_streams": "gated streams",
    "scores": "scores", "state": "state", "linear": "linears", "pooling": "pooling",
}
MASKS = {
    "both": "two-way", "window": "windows", "around": "two-sided windows", "chunk": "chunks", "top": "best keys",
    "compressed": "compressed keys", "best_compressed": "best compressed keys", "best_blocks": "best blocks",
    "best_pools": "best pools", "prefix_lm": "two-way prefix", "grid": "windows of a grid", "clip_squares": "whole clips",
    "level_windows": "windows of levels", "reduced": "fewer keys", "lines": "lines of a grid",
    "hstu": "HSTU", "frame_squares": "frames of sound", "frame_band": "bands of frames",
}
BLOCKS = ("mixer", "cross", "feed", "more", "before", "into_mixer", "stem")


class Spec:
    def __init__(self, text):
        head = re.match(r"spec (\S+?)(?:\s*:\s*(\S+)(?:\s+as\s+\S+)?)?(?:\s+prefix\s+(\S.*?))?\s*$", text.splitlines()[0])
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


def read_specs():
    specs, types = {}, {}
    for path in sorted(SPECS.glob("*.spec")):
        text = path.read_text(encoding="utf-8").removeprefix('R"spec(\n').removesuffix(')spec"\n')
        texts = re.split(r"(?m)^(?=spec )", text)
        found = [Spec(text) for text in texts if text.startswith("spec ")]
        for one in found:
            specs[one.name] = one
        if path.stem != "base":
            types[found[0].name] = path.name
    return specs, types


def parts_of(specs, name):
    blocks, spec = {}, specs.get(name)
    while spec is not None:
        for block, parts in spec.blocks.items():
            blocks.setdefault(block, parts)
        spec = specs.get(spec.base) if spec.base else None
    return ", ".join(dict.fromkeys(NAMES[part] for block in BLOCKS for part in blocks.get(block, [])))


def bases_of(specs, name):
    spec = specs.get(name)
    while spec is not None:
        yield spec
        spec = specs.get(spec.base) if spec.base else None


def seen_by(specs, name):
    """The masks of what `sees` is worth, with the names that it asks for, and of lines of parts that say their own."""
    names = {}
    for spec in bases_of(specs, name):
        names = {**spec.names, **names}
    open_, asked, found = [names.get("sees", "")] + specs[name].parts, set(), []
    while open_:
        for word in re.findall(r"(?<![.\w])[a-z_]+\b", open_.pop(0)):
            if word in MASKS and word not in found:
                found.append(word)
            elif word in names and word not in asked:
                asked.add(word)
                open_.append(names[word])
    return ", ".join(MASKS[word] for word in found)


def what_of(specs, name):
    spec, inner, encoder = specs[name], [], None
    while spec is not None:
        inner = inner or spec.inner
        encoder = encoder or spec.encoder
        spec = specs.get(spec.base) if spec.base else None
    if inner:
        return " + ".join(f"`{of}`" if of.strip("*") else part for part, of in inner)
    parts = parts_of(specs, name) or "HSTU layers, MLPs"  # a spec without blocks
    if encoder is not None and encoder.group(1) != "none":
        parts += f"; encoder `{encoder.group(1)}`"
    return parts


def kinds(specs, types):
    """What is multiplied, and under which masks: the types of which it is so."""
    found = {}
    for name in sorted(types):
        what, sees = what_of(specs, name), seen_by(specs, name)
        found.setdefault(f"{what}; {sees}" if sees else what, []).append(name)
    return sorted(found.items(), key=lambda kind: (-len(kind[1]), kind[0]))


def zoo():
    """Pinned versions, the model types that ran, the number of runs, and the types of each difference with its reason."""
    pinned = dict(line.split("==") for line in (ZOO / "requirements.txt").read_text().splitlines() if "==" in line)
    ran, runs, differences = set(), 0, {}
    for path in sorted(ZOO.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            ran.add(case["model_type"])
            runs += len(case["runs"])
            for found in [run["differences"] for run in case["runs"]] + [case.get("unused_parameters", {})]:
                for name, difference in found.items():
                    differences.setdefault((difference["why"], name), set()).add(case["model_type"])
    return pinned, ran, runs, differences


def listed(names):
    return " ".join(f"`{name}`" for name in sorted(names))


def written(specs, types):
    pinned, ran, runs, differences = zoo()
    lines = [
        "# Models",
        "",
        f"floptally reads the `config.json` of {len(types)} types. `floptally models` lists them, each with its [spec](specs.md) in",
        "`include/floptally/models/`, which says the keys that it reads. What is not here is an error that names the nearest type;",
        "[limitations.md](limitations.md#types-that-are-not-read) says why.",
        "",
        "## What each type multiplies",
        "",
        "Attention is causal unless its row says more. A type with towers is a sum of types.",
        "",
        "multiplies; sees | types",
        "--- | ---",
    ]
    lines += [f"{what} | {listed(names)}" for what, names in kinds(specs, types)]
    lines += [
        "",
        "## What each type was compared with",
        "",
        f"{len(ran)} types ran {runs} times, as tiny models of transformers {pinned['transformers']}, diffusers "
        f"{pinned['diffusers']} and NeMo Automodel {pinned['nemo-automodel']} under `FlopCounterMode` of",
        f"PyTorch {pinned['torch']}. FLOPs of forward, FLOPs of backward and parameters are equal to the integer, for the config as a user",
        "writes it and as its class resolves it. Visible pairs are compared with attention weights where a model returns them.",
        "",
        "Some implementations execute other products than the model defines. Then the count is equal together with an integer",
        "that follows from the shapes:",
        "",
        "what runs besides | types",
        "--- | ---",
    ]
    by_reason, by_types = {}, {}
    for (why, _), names in differences.items():
        by_reason.setdefault(why, set()).update(names)
    for why, names in sorted(by_reason.items()):
        by_types.setdefault(listed(names), []).append(why)
    lines += [f"{'; '.join(reasons)} | {names}" for names, reasons in by_types.items()]
    lines += [
        "",
        "## Releases that were read",
        "",
        "Types, classes and defaults were read at these releases. `python tests/upstream.py` shows what installed ones have since then.",
        "",
        "source | release | read on",
        "--- | --- | ---",
    ]
    read = json.loads((ROOT / "tests/upstream.json").read_text(encoding="utf-8"))["sources"]
    lines += [f"{name} | {one['release']} | {one['read']}" for name, one in sorted(read.items())]
    lines += ["", "`tests/models/models_page.py` writes this page. Words that are floptally's own are in the [glossary](glossary.md)."]
    return "\n".join(lines) + "\n"


def main():
    text = written(*read_specs())
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != text:
            print("docs/models.md is not what the specs say: run tests/models/models_page.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
