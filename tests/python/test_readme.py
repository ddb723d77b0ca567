# SPDX-License-Identifier: Apache-2.0
"""The Python lines of the README and of all pages run, word for word, and print what stands behind them."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types
from collections.abc import Collection
from typing import Any

import pytest

import floptally
import shown
from conftest import SOURCE

FRAMEWORKS = ("torch", "lightning", "transformers", "matplotlib")


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)


def needed(lines: str) -> set[str]:
    """The frameworks that a block imports, itself or through ours."""
    found = {name for name in FRAMEWORKS if re.search(rf"^\s*import {name}\b", lines, re.MULTILINE)}
    own = {"floptally.plots": "matplotlib", "floptally.memory": "torch", "floptally.module_times": "torch"}
    return found | {name for module, name in own.items() if module in lines}


def are_here(frameworks: set[str]) -> bool:
    return all(importlib.util.find_spec(name) for name in frameworks)


def run(lines: str, name: str, scope: dict[str, Any]) -> int:
    """Runs a block. What a line prints is what the comment behind it says, where that has a number or is a list; how many."""
    compared = 0
    rows = lines.splitlines()
    for statement in ast.parse(lines).body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module([statement], []), name, "exec"), scope)
        assert statement.end_lineno is not None and statement.end_col_offset is not None
        comment = rows[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode().strip().removeprefix("#").strip()
        said = printed.getvalue().strip()
        if said and re.search(r"\d|^\[", comment):
            assert comment == said or comment.startswith(f"{said}:"), f"{name}: {ast.unparse(statement)}"
            compared += 1
    return compared


def test_examples_of_the_readme_run_without_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SOURCE)
    (block,) = [block for block in shown.blocks((SOURCE / "README.md").read_text()) if block.language == "python"]
    assert shown.printed(block.lines, "README.md", {}) == block.output


def test_output_shown_on_a_docs_page_is_what_the_code_block_above_the_output_prints() -> None:
    one, two, three = shown.blocks("```python\n1\n```\nprose\n```output\na\n```\n```sh\nls\n```\n```cpp\nx\n```\n\n```output\n\n```\n")
    assert [block.output for block in (one, two, three)] == ["a\n", None, "\n"]
    with pytest.raises(AssertionError, match="nothing prints this"):
        shown.blocks("```output\na\n```\n")


def test_numbers_in_the_text_of_the_readme_equal_the_table_of_the_readme_and_the_package() -> None:
    text = " ".join((SOURCE / "README.md").read_text().split())
    rows = re.findall(r"\| \**(\w+)\** \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text)
    totals = {name: [float(number) for number in numbers] for name, *numbers in rows}
    exact = totals.pop("exact")
    one, packed, window = zip(*totals.values())
    assert len(totals) == 8 and "Eight well-known tools" in text
    assert f"give {int(min(one))} to {int(max(one))} TFLOP for the same training step" in text
    assert f"by eight conventions, {int(min(one))} to {int(max(one))} TFLOP" in text
    assert f"With packed sequences they are up to {100 * (max(packed) / exact[1] - 1):.0f} % too high" in text
    assert f"with sliding windows up to {max(window) / exact[2]:.1f}x" in text
    alike = {name for name, numbers in totals.items() if numbers[0] == numbers[1]}
    assert alike == {"torch_flop_counter", "torch_flop_counter_eager", "torchtitan", "palm", "nanogpt"}
    assert "`torch_flop_counter`, `torchtitan`, `palm` and `nanogpt` do not see the boundaries" in text
    trainers = re.search(r"\| ((?:[\w-]+, )+[\w-]+) and (\d+) more \|", text)
    assert trainers is not None
    adopted = [path.stem for path in (SOURCE / "examples/python/floptally/adopt").glob("[!_]*.py")]
    assert trainers[1].count(",") + 1 + int(trainers[2]) == len(adopted)
    assert f"that {len(adopted)} trainers call" in (SOURCE / "docs/python.md").read_text()


def test_numbers_of_checks_in_the_readme_equal_those_of_the_test_data() -> None:
    text = " ".join((SOURCE / "README.md").read_text().split())
    golden = SOURCE / "tests" / "golden"
    zoo = [model for path in sorted(golden.glob("zoo/*.json")) for model in json.loads(path.read_text())]
    ran = sum(len(model["runs"]) for model in zoo)
    assert f"{len({model['model_type'] for model in zoo})} model types ran {ran} times" in text
    assert f"{len(json.loads((golden / 'published.json').read_text()))} published configs" in text
    peers = len(json.loads((golden / "peers.json").read_text()))
    assert f"{len(floptally.conventions())} conventions are held to {peers} numbers" in text
    contributing = (SOURCE / "docs" / "contributing.md").read_text()
    fuzzing = contributing.partition("\n## Fuzzing\n")[2].partition("\n## ")[0]
    survived = sum(int(row.rsplit("|", 2)[1].replace(" ", "")) for row in re.findall(r"^\| `.*$", fuzzing, re.MULTILINE))
    assert f"{survived / 1e6:.0f} million fuzzed inputs" in text
    (caught, changes) = re.findall(r"^\| mutants \| \S+ \| (\d+) of (\d+) killed", contributing, re.MULTILINE)[0]
    assert f"Of {changes} wrong changes made to the code on purpose, [the tests caught {caught}]" in text


def test_the_package_counts_the_numbers_that_the_glossary_gives_as_examples() -> None:
    text = " ".join((SOURCE / "docs" / "glossary.md").read_text().split())
    model = floptally.cost(SOURCE / "examples/data/mistral-7b-v0.1.json")
    sums = model.flops(lengths=[3, 5]).statistics
    assert f"has {sums['count']['useful']} sequences, {sums['tokens']['useful']} tokens and ΣL² = {sums['squares']['useful']}" in text
    token = model.flops(lengths=[1], plan=floptally.Plan(phase="forward")).useful.components["mlp"].total
    assert f"{token // 32:,}".replace(",", " ") + " FLOPs for each token" in text
    row = model.flops(lengths=[3000], row_length=4096).statistics["tokens"]
    assert f"has {row['useful']} useful and {row['padded']} padded tokens" in text


def test_pictures_of_the_docs_equal_those_that_the_drawing_script_draws(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    subprocess.run([sys.executable, "-B", SOURCE / "examples/pictures.py", tmp_path], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert [path.name for path in drawn] == sorted(path.name for path in (SOURCE / "docs/pictures").glob("*.svg"))
    for path in drawn:  # every text stands in a comment beside its glyphs, whose outlines are of a version of matplotlib
        texts = [re.findall(r"<!-- (.*?) -->", svg.read_text()) for svg in (path, SOURCE / "docs/pictures" / path.name)]
        assert len(texts[0]) > 15 and texts[0] == texts[1], path.name


def test_values_in_comments_of_docs_examples_equal_the_values_that_the_examples_compute() -> None:
    assert run("print(3)  # 3: a number\nprint(5)  # of five\n", "a page", {}) == 1
    with pytest.raises(AssertionError, match=r"a page: print\(3\)"):
        run("print(3)  # 4\n", "a page", {})


def config_in(folder: pathlib.Path) -> None:
    (folder / "config.json").write_bytes((SOURCE / "examples" / "data" / "mistral-7b-v0.1.json").read_bytes())


def test_examples_on_the_docs_page_python_run_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.chdir(tmp_path)
    config_in(tmp_path)
    scope: dict[str, Any] = {"__name__": "a_script"}
    compared = 0
    for number, lines in enumerate(blocks("docs/python.md")):
        if is_of_the_reader(lines) or not are_here(needed(lines)):
            continue  # the tests below run them
        compared += run(lines, f"docs/python.md, block {number}", scope)
    assert compared >= 2


#: Pages whose lines another test runs, in order and with what they print besides.
RUN_ELSEWHERE = {
    "docs/start.md": "test_start.py", "docs/waterfall.md": "test_waterfall.py",
    "docs/how_to/count_a_jax_function.md": "test_from_jax_models.py",
    **{f"docs/how_to/{name}.md": "test_how_to_trainers.py"
       for name in ("hugging_face", "trl_lora", "lightning", "own_loop", "megatron", "verl")},
}  # fmt: skip


def pages() -> list[str]:
    found = [path.relative_to(SOURCE).as_posix() for path in sorted((SOURCE / "docs").rglob("*.md"))]
    return [page for page in found if blocks(page)]


def given_to(page: str, folder: pathlib.Path) -> dict[str, Any]:
    """What a page says that its reader has: names, and files in the folder."""
    (folder / "examples").symlink_to(SOURCE / "examples")
    if page == "docs/counting.md":
        from test_diffusion import write_pipeline

        write_pipeline(folder / "FLUX.1-dev")
    if page == "docs/meter.md":
        model = floptally.cost("examples/data/mistral-7b-v0.1.json")
        logger = types.SimpleNamespace(log=lambda scalars: None)
        return {"model": model, "cu_seqlens": [0, 512], "logger": logger, "save": lambda state: None, "waited": 0.0}
    return {}


@pytest.mark.filterwarnings("ignore:mfu")  # of a step without a trainer
@pytest.mark.parametrize("page", [page for page in pages() if page not in ("docs/python.md", *RUN_ELSEWHERE)])
def test_python_examples_of_every_docs_page_run_without_errors(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "a_script", "floptally": floptally, **given_to(page, tmp_path)}
    python = [block for block in shown.blocks((SOURCE / page).read_text()) if block.language == "python"]
    for number, (_, lines, output, *_) in enumerate(python):
        if not are_here(needed(lines)) or is_of_the_reader(lines):
            continue
        name = f"{page}, block {number}"
        if output is not None:
            assert shown.printed(lines, name, scope) == output, name
            continue
        compared = run(lines, name, scope)
        assert compared >= len(re.findall(r"^print\(.*\) +#(?: \[|.*\d)", lines, re.MULTILINE))


# What the page says that its reader has, by what stands in the block: a model, a trainer and a loop; a dataset.
A_TRAINER = """
import torch, transformers
torch.cuda.get_device_name = lambda: "NVIDIA H100 80GB HBM3"
tiny = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**tiny, num_key_value_heads=1))
trainer = transformers.Trainer(model, transformers.TrainingArguments(output_dir="out", report_to=[], use_cpu=True))
batch = {"input_ids": torch.zeros(2, 9, dtype=torch.int64)}
train = lambda batch: model(**batch).logits.sum().backward()
"""
A_DATASET = "lengths, epoch = [100, 9000, 512, 512, 40, 8192, 3000, 7], 1\ndataset = lengths"
#: Ranks leave together, and without what ends the threads of a process group one by one, which aborts now and then.
LEAVE = """
group = getattr(sys.modules.get("torch"), "distributed", None)
if group is not None and group.is_available() and group.is_initialized():
    import os
    group.barrier()
    sys.stdout.flush()
    os._exit(0)
"""
RANKS = "import torch\ntorch.distributed.is_initialized() or torch.distributed.init_process_group('gloo')"
BATCHES = """
import torch
batches = [{"cu_seqlens": torch.tensor([0, 7, 16], dtype=torch.int32)}] * 2
train = lambda batch: None
import pickle
meter = pickle.loads(pickle.dumps(meter))  # another, so that what the page prints of it further down stands
"""
SAMPLES = f"""{RANKS}
import floptally
ranks, lengths, owners, destinations = 4, [3, 5, 2, 7], [0, 1, 2, 3], [1, 0, 3, 3]
mine = [i for i, owner in enumerate(owners) if owner == torch.distributed.get_rank()]
samples = {{i: torch.full([lengths[i]], i) for i in mine}}
"""
A_LOOP = "batch, forward_backward = {'attention_mask': [[1, 1, 0]]}, lambda batch: None"
A_STEP = "optimizer, batch = torch.optim.SGD(model.parameters()), {**batch, 'labels': batch['input_ids']}"
AN_EXTENSION = """
import torch.utils.cpp_extension as extension
extension.CUDA_HOME = "/usr"  # where nobody compiles
CUDAExtension = extension.CUDAExtension
"""
OF_THE_READER = {
    "batches and train() are yours": BATCHES,
    "import lightning": A_TRAINER,
    "torch.utils.data": A_DATASET,
    "floptally.from_torch(": "",
    "floptally.verify(": "",
    "import transformers, peft": "",
    "floptally.module_times.ModuleTimer(": A_TRAINER + A_STEP,
    "forward_backward(batch)": A_LOOP,
    "floptally.ExchangePlan(": SAMPLES,
    "torch.distributed": RANKS,
    "CUDAExtension(": AN_EXTENSION,
    "floptally.DeviceTally(": "",  # test_device.py, which has a driver
}


def is_of_the_reader(lines: str) -> bool:
    return any(text in lines for text in OF_THE_READER)


def page_script(folder: pathlib.Path, **which: Collection[str]) -> list[str]:
    """A script of the blocks of pages that have one of those texts, after those without a framework; it prints what it
    compared."""
    config_in(folder)
    (folder / "examples").symlink_to(SOURCE / "examples")
    script = [f"import sys\nsys.path[:0] = {[str(SOURCE / 'tests' / 'python')]!r}\nfrom test_readme import run",
              "compared = 0"]  # fmt: skip
    for page, texts in which.items():
        script.append("scope = {'__name__': 'a_script'}")
        for number, lines in enumerate(blocks(f"docs/{page}.md")):
            chosen = next((text for text in texts if text in lines), None)
            if chosen is None and (needed(lines) or is_of_the_reader(lines)):
                continue
            script.append("own = dict(scope)" if chosen else "own = scope")
            script.append(f"exec({OF_THE_READER[chosen] if chosen else ''!r}, own)")
            script.append(f"compared += run({lines!r}, 'docs/{page}.md, block {number}', own)")
    script.append("print('all of it ran', compared)")
    script.append(LEAVE)
    (folder / "page.py").write_text("\n".join(script))
    return [sys.executable, "page.py"]


def test_docs_examples_that_need_pytorch_run_without_errors(tmp_path: pathlib.Path) -> None:
    for name in ("torch", "transformers", "accelerate"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    chosen = ["torch.utils.data", "floptally.from_torch(", "floptally.verify(", "batches and train() are yours",
              "floptally.module_times.ModuleTimer(", "forward_backward(batch)"]  # fmt: skip
    if importlib.util.find_spec("lightning"):
        chosen.append("import lightning")
    if importlib.util.find_spec("peft"):
        chosen.append("import transformers, peft")
    done = subprocess.run(page_script(tmp_path, python=chosen, cuda=["CUDAExtension("]), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"all of it ran (\d+)", done.stdout)[0]) >= 5  # three of them of from_torch


def test_docs_examples_that_need_a_process_group_run_on_four_ranks_without_errors(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    command = page_script(tmp_path, python=["torch.distributed"], balance=["floptally.ExchangePlan("])
    ranks = []
    for rank in range(4):
        group = {"RANK": str(rank), "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1",
                 "MASTER_PORT": str(29500 + os.getpid() % 4000)}  # fmt: skip
        ranks.append(
            subprocess.Popen(command, env={**os.environ, **group}, cwd=tmp_path, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        )  # fmt: skip
    try:
        outputs = [one.communicate(timeout=300) for one in ranks]
    finally:
        for one in ranks:
            one.kill()
    for one, (printed, problem) in zip(ranks, outputs, strict=True):
        assert one.returncode == 0 and "all of it ran" in printed, problem


def test_every_python_block_of_the_docs_is_run_by_a_test() -> None:
    for page in pages():
        for lines in blocks(page):
            is_alone = needed(lines) <= {"matplotlib"} or "floptally.memory" in lines
            assert is_alone or is_of_the_reader(lines) or page in RUN_ELSEWHERE, f"{page}: {lines}"
    for page, where in RUN_ELSEWHERE.items():
        assert pathlib.Path(page).name in (SOURCE / "tests" / "python" / where).read_text(), page
