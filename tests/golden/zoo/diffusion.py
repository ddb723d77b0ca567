# SPDX-License-Identifier: Apache-2.0
"""Counts small random models of diffusers, run forward and backward under PyTorch's FlopCounterMode.

    pip install -r requirements.txt
    python diffusion.py [CLASS...]           # runs the classes of *_cases.py (default: all), writes a *.json beside each
    python diffusion.py --check [CLASS...]   # writes nothing, compares with what is there

Without PyTorch and diffusers, or with other versions of them, it says so and exits with status 77.

Each class has a function in a file of cases that draws sizes and flags at random, from a seed that is the class's
name and the number of the draw: it returns the arguments of the class, and a function that makes the inputs of one run.
zoo.test.cpp compares with the library, as generate.py says. A config is what the class saves in config.json; runs have
`grids` (frames, rows, columns of what the class takes) and `texts`, the tokens of text of each sample (a list of a class
that takes several), and `conditions`, the cells of what each is made from; or `audio_frames`.
"""

import importlib
import json
import pathlib
import random
import sys
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
DRAWS = 4
FILES = sorted(HERE.glob("*_cases.py"))


def skip(reason):
    """Exit status 77 is a skipped test."""
    print(f"skipped: {reason}")
    sys.exit(77)


def count(mode):
    operators = mode.get_flop_counts().get("Global", {})
    return {str(operator).removeprefix("aten."): number for operator, number in sorted(operators.items(), key=str)}


def first_of(outputs):
    """The tensors of a loss: those of the sample."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, (list, tuple)):
        return [tensor for one in outputs for tensor in first_of(one)]
    return [] if outputs is None else [outputs]


def run(torch, counter, model, made):
    made = dict(made)
    record = {name: made.pop(name) for name in ("grids", "texts", "conditions", "audio_frames") if name in made}
    differences = made.pop("differences", {})
    loss_of = made.pop("loss", lambda outputs: first_of(outputs)[:1])
    forward_of = made.pop("call", lambda model, **inputs: model(**inputs))
    model.zero_grad(set_to_none=True)
    with counter(display=False) as forward:
        outputs = forward_of(model, **made, return_dict=False)
    loss = sum(tensor.float().sum() for tensor in loss_of(outputs))
    with counter(display=False) as backward:
        loss.backward()
    operators = {"forward": count(forward), "backward": count(backward)}
    kernel = any("scaled_dot_product" in name for name in operators["forward"])
    plain = not {"bmm", "baddbmm"}.isdisjoint([*operators["forward"], *operators["backward"]])
    return {"batch": len(next(iter(record.values()))), "length": 0, "lengths": [], **record, "attention": "sdpa",
            "fused": "mixed" if kernel and plain else kernel,
            "forward": sum(operators["forward"].values()), "backward": sum(operators["backward"].values()),
            "operators": operators,
            "differences": {name: one for name, one in differences.items() if one["forward"] or one["backward"]}}


def saved(model):
    """The config as a user finds it in config.json."""
    config = json.loads(model.to_json_string())
    return {name: value for name, value in config.items() if name not in ("_name_or_path", "_use_default_values")}


def describe(torch, diffusers, counter, name, draw, cases):
    choose = random.Random(f"{name} {draw}")
    arguments, inputs = getattr(cases, name)(choose)
    unused = arguments.pop("_unused", {})
    torch.manual_seed(0)
    model = getattr(diffusers, name)(**arguments).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    described = {"id": f"{name}/{draw}", "model_type": name, "class": name, "config": saved(model),
                 "no_resolved": "diffusers saves every argument",
                 "parameters": sum(parameter.numel() for parameter in model.parameters())}
    if unused:
        described["unused_parameters"] = unused
    described["runs"] = [run(torch, counter, model, inputs(choose, model)) for _ in range(2)]
    return described


def read(path):
    return {one["id"]: one for one in json.loads(path.read_text())} if path.exists() else {}


def draw_again(path, names, draws, describe):
    """The cases of a file with those of these names drawn again."""
    cases = read(path)
    for name in names:
        for draw in range(draws):
            one = json.loads(json.dumps(describe(name, draw)))
            cases[one["id"]] = one
    return cases


def write(path, after):
    lines = [json.dumps(after[key], separators=(",", ":")) for key in sorted(after)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def skip_unless_pinned(**versions):
    """Another version of a package may run other products than the one that the zoo was counted with."""
    pinned = dict(line.split("==") for line in (HERE / "requirements.txt").read_text().splitlines() if "==" in line)
    for package, version in versions.items():
        if version.partition("+")[0] != pinned[package]:
            skip(f"{package} is {version}, the zoo was counted with {pinned[package]}")


def redraw(script, classes, draws, describe, arguments, add=lambda cases: None):
    """Draws a script's classes again; writes them beside it or, with --check, compares them with what is there."""
    import torch

    skip_unless_pinned(torch=torch.__version__)
    torch.set_num_threads(1)
    path = pathlib.Path(script).with_suffix(".json")
    before = read(path)
    cases = draw_again(path, [word for word in arguments if word != "--check"] or classes, draws, describe)
    add(cases)
    if "--check" not in arguments:
        write(path, cases)
        return 0
    wrong = [key for key, one in cases.items() if one != before.get(key)]
    print(f"{len(cases)} cases" + ("" if not wrong else f", {len(wrong)} WRONG: " + " ".join(wrong)))
    return 1 if wrong else 0


def main(arguments):
    check_only = "--check" in arguments
    draws = next((int(word[8:]) for word in arguments if word.startswith("--draws=")), None)
    out = next((pathlib.Path(word[6:]) for word in arguments if word.startswith("--out=")), None)
    only = [word for word in arguments if not word.startswith("--")]
    warnings.filterwarnings("ignore")
    try:
        import diffusers
        import torch
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as missing:
        skip(f"{missing.name} cannot be imported")
    skip_unless_pinned(diffusers=diffusers.__version__, torch=torch.__version__)
    torch.set_num_threads(1)
    diffusers.utils.logging.set_verbosity_error()
    sys.path.insert(0, str(HERE))
    wrong, count = [], 0
    for path in FILES:
        cases = importlib.import_module(path.stem)
        chosen = [name for name in cases.CLASSES if not only or name in only]
        file = out or path.with_name(path.stem.removesuffix("_cases") + ".json")
        before = read(file)
        after = dict(before)
        for name in chosen:
            for draw in range(draws or getattr(getattr(cases, name), "draws", DRAWS)):
                key = f"{name}/{draw}"
                try:
                    one = json.loads(json.dumps(describe(torch, diffusers, FlopCounterMode, name, draw, cases)))
                except Exception:
                    wrong.append(key)
                    traceback.print_exc()
                    continue
                if check_only and before.get(key) != one:
                    wrong.append(key)
                after[key] = one
        if chosen and not check_only:
            write(file, after)
        count += len(after)
    print(f"{count} cases" + ("" if not wrong else f", {len(wrong)} WRONG: " + " ".join(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
