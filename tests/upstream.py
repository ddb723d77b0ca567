#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what installed releases of transformers, diffusers and trainers have that floptally has not read.

    python tests/upstream.py            # prints the table; exit status 1 where a line is unread
    python tests/upstream.py --accept   # writes upstream.json (what was read, and when) and upstream.txt (the table)
    python tests/upstream.py --docs     # writes the table of sources into docs/conventions.md (docs/models.md has it too)
    python tests/upstream.py --docs --check

It reads whatever is installed, imports transformers and diffusers, and parses the files of trainers without importing them.
A package that is not installed is one line and no failure. docs/contributing.md says what to do with each line.
"""

import ast
import datetime
import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
STATE = ROOT / "tests/upstream.json"
OUTPUT = ROOT / "tests/upstream.txt"
LIMITATIONS = ROOT / "docs/limitations.md"

#: Files with FLOPs functions of peers: distribution, import name of its package, file in it. No wheel has Megatron-LM's.
FUNCTIONS = {
    "accelerate": ("accelerate", "utils/modeling.py"),
    "deepspeed": ("deepspeed", "profiling/flops_profiler/profiler.py"),
    "fvcore": ("fvcore", "nn/jit_handles.py"),
    "lightning": ("lightning", "fabric/utilities/throughput.py"),
    "llamafactory": ("llamafactory", "extras/misc.py"),
    "megatron-bridge": ("megatron", "bridge/training/utils/flop_utils.py"),
    "nemo-automodel": ("nemo_automodel", "components/utils/flops_utils.py"),
    "ai2-olmo-core": ("olmo_core", "nn/transformer/model.py"),
    "sglang": ("sglang", "srt/managers/scheduler_components/metrics_reporter.py"),
    "torch": ("torch", "utils/flop_counter.py"),
    "torchtitan": ("torchtitan", "tools/utils.py"),
    "transformers": ("transformers", "modeling_utils.py"),
    "trl": ("trl", "trainer/utils.py"),
    "verl": ("verl", "utils/flops_counter.py"),
}
#: Names of functions that count, in those files.
COUNTS = re.compile(r"flop|mfu|_per_token|estimate_tokens|estimate\w*_perf|floating_point_operations|attention_pairs", re.I)
#: Strings that name a device, in the same files.
DEVICE = re.compile(r"^(?:NVIDIA )?(?:[ABHLTV]\d{2,3}|GB\d{3}|RTX|MI\d{3}|TPU|v\d[ep]?$|910|Ascend)", re.I)
#: Keys of a config's defaults that change no product.
NOISE = re.compile(r"token|drop|eps|initializer|_version|dtype|theta|rope|output_|use_cache|_coef|_std|beam|length|label|prob|jitter|scal")


def release(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def file_of(package, path):
    """A file of an installed package, found without importing what it is in."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (pathlib.Path(place) / path).is_file():
            return pathlib.Path(place) / path
    return None


def listed(title):
    section = LIMITATIONS.read_text(encoding="utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"`([^`]+)`", section))


def without_texts(node):
    """A function without its docstrings: their changes are no changes."""
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            inner.body = body[1:] or [ast.Pass()]
    return node


def functions_of(path):
    """{name: hash} of the functions of a file that count."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and COUNTS.search(node.name):
            text = ast.dump(without_texts(node))
            name = node.name
            while name in found:
                name += "'"
            found[name] = hashlib.sha256(text.encode()).hexdigest()[:12]
    return found


def devices_of(path):
    """Names of devices that a file has a figure for: keys of its dicts, and texts that it compares."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        texts = node.keys if isinstance(node, ast.Dict) else [node.left] if isinstance(node, ast.Compare) else []
        found.update(one.value for one in texts if isinstance(one, ast.Constant) and isinstance(one.value, str) and DEVICE.match(one.value))
    return found


def defaults_of(config):
    """The numbers and flags of a configuration class that may be sizes, objects inside with dots."""
    found = {}
    for key, value in config.items():
        if isinstance(value, dict) and not NOISE.search(key):
            found.update({f"{key}.{name}": inner for name, inner in defaults_of(value).items()})
        elif isinstance(value, (bool, int)) and not NOISE.search(key):
            found[key] = value
        elif isinstance(value, list) and 0 < len(value) <= 8 and all(isinstance(one, int) for one in value) and not NOISE.search(key):
            found[key] = value
    return found


def transformers_lines(state, seen):
    """Types without a spec, classes of readable types, and defaults that changed."""
    try:
        from transformers.models.auto import configuration_auto, modeling_auto
    except ImportError:
        yield "transformers", "not installed", ""
        return
    import floptally

    known, skipped = set(floptally.models()), listed("Types that are not read")
    classes = {}
    for name in dir(modeling_auto):
        if name.endswith("MAPPING_NAMES") and name != "CONFIG_MAPPING_NAMES":
            for model_type, mapped in getattr(modeling_auto, name).items():
                classes.setdefault(model_type, set()).update([mapped] if isinstance(mapped, str) else filter(None, mapped))
    for model_type in sorted(set(configuration_auto.CONFIG_MAPPING_NAMES) | set(classes)):
        if model_type not in known | skipped:
            yield "transformers", "type without a spec", model_type
    warnings.simplefilter("ignore", floptally.AssumptionWarning)  # that a config without sizes has its class's defaults
    skipped_classes = listed("Classes that are not read")
    for model_type in sorted(set(classes) & known):
        for name in sorted(classes[model_type] - skipped_classes):
            try:
                floptally.cost({"model_type": model_type, "architectures": [name]}, strict=False)
            except floptally.Error as wrong:
                if "unknown class" in str(wrong):
                    yield "transformers", "class that is not read", f"{model_type}: {name}"
    seen["defaults"] = {}
    for model_type in sorted(set(configuration_auto.CONFIG_MAPPING_NAMES) & known):
        try:
            now = defaults_of(configuration_auto.CONFIG_MAPPING[model_type]().to_dict())
        except Exception:  # a config that has no defaults
            continue
        seen["defaults"][model_type] = now
        before = state.get("defaults", {}).get(model_type)
        for key in sorted({*now, *before} if before is not None else ()):
            if now.get(key) != before.get(key):
                yield "transformers", "default changed", f"{model_type}: {key} {before.get(key)} -> {now.get(key)}"


def diffusers_lines():
    try:
        import diffusers
    except ImportError:
        yield "diffusers", "not installed", ""
        return
    import floptally

    known, page = set(floptally.models()), LIMITATIONS.read_text(encoding="utf-8")
    for name in sorted(dir(diffusers)):
        if re.search(r"(Transformer\w*Model|UNet\w*|Autoencoder\w*|ControlNet\w*Model|DiT\w*)$", name) and "Pipeline" not in name:
            if name not in known and f"`{name}`" not in page:
                yield "diffusers", "class without a spec", name


def trainer_lines(state, seen):
    seen["functions"] = {}
    for distribution, (package, path) in FUNCTIONS.items():
        file = file_of(package, path) if release(distribution) else None
        before = state.get("functions", {}).get(distribution)
        if file is None:
            yield distribution, "not installed", ""
            if before is not None:
                seen["functions"][distribution] = before
            continue
        seen["functions"][distribution] = now = functions_of(file)
        for name in sorted({*now, *before} if before is not None else ()):
            if now.get(name) != before.get(name):
                what = "new" if name not in before else "gone" if name not in now else "changed"
                yield distribution, f"function {what}", f"{path}: {name}"
        seen.setdefault("devices", {})[distribution] = devices = sorted(devices_of(file))
        known = state.get("devices", {}).get(distribution)
        for device in devices if known is not None else ():
            if device not in known:
                yield distribution, "device new", f"{path}: {device}"


def sources():
    return ["transformers", "diffusers", *(name for name in FUNCTIONS if name != "transformers")]


def table_of(state):
    lines = ["source | release | read on", "--- | --- | ---"]
    for name, one in sorted(state["sources"].items()):
        lines.append(f"{name} | {one['release']} | {one['read']}")
    return "\n".join(lines)


BEGIN, END = "<!-- tests/upstream.py --docs writes this table -->", "<!-- end of the table -->"


def docs(check):
    wrong = 0
    state = json.loads(STATE.read_text(encoding="utf-8"))
    for page in ("conventions.md",):
        path = ROOT / "docs" / page
        text = path.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN, 1)
        after = before + BEGIN + "\n\n" + table_of(state) + "\n\n" + END + rest.split(END, 1)[1]
        if check and after != text:
            print(f"docs/{page} does not show tests/upstream.json: run tests/upstream.py --docs")
            wrong = 1
        elif not check:
            path.write_text(after, encoding="utf-8")
    return wrong


def main(arguments):
    if "--docs" in arguments:
        return docs("--check" in arguments)
    state = json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else {}
    seen, unread, lines = {}, 0, []
    for source, what, which in [*transformers_lines(state, seen), *diffusers_lines(), *trainer_lines(state, seen)]:
        lines.append(f"{source} | {what} | {which}".rstrip(" |"))
        unread += what != "not installed"
    unseen = {line.split(" | ")[0] for line in lines if line.endswith("| not installed")}
    releases = [f"{name} {release(name)}" for name in sources() if release(name) and name not in unseen]
    text = "read: " + ", ".join(releases) + "\n" + "".join(line + "\n" for line in lines) + f"{unread} unread\n"
    print(text, end="")
    if "--accept" in arguments:
        today = datetime.date.today().isoformat()
        read = state.get("sources", {})
        for name in sources():
            if release(name) and name not in unseen and read.get(name, {}).get("release") != release(name):
                read[name] = {"release": release(name), "read": today}
        kept = {**state, **seen, "sources": dict(sorted(read.items()))}
        body = ",\n".join(
            f"{json.dumps(part)}: {{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in sorted(kept[part].items())) + "\n}"
            for part in sorted(kept))
        STATE.write_text("{\n" + body + "\n}\n", encoding="utf-8")
        OUTPUT.write_text(text, encoding="utf-8")
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
