# SPDX-License-Identifier: Apache-2.0
"""How-to pages: blocks that need PyTorch print what the page shows, every quoted error is one, and the table of
diffusion models says what the pipelines of diffusers and floptally do. tests/python/test_readme.py runs the other blocks."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import floptally
import shown
from conftest import SOURCE
from floptally import Plan, WeightSetting

FOLDER = SOURCE / "docs" / "how_to"
MISTRAL = str(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")
STEP = ["--config", MISTRAL, "--lengths", "8192"]
SEARCH = ["--config", str(SOURCE / "examples/data/llama-3.1-70b-sizes.json"), "--lengths", "8192", "--global-batch", "256"]


def diffusion_cells() -> types.ModuleType:
    """tests/golden/generate_diffusion_cells.py."""
    spec = importlib.util.spec_from_file_location("diffusion_cells", SOURCE / "tests/golden/generate_diffusion_cells.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The table of docs/how_to/diffusion.md.


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
def test_table_of_diffusion_grids_is_what_pipelines_of_diffusers_make_and_what_floptally_makes_of_pixels() -> None:
    cells = diffusion_cells()
    page = cells.PAGE.read_text()
    shown_table = page[page.index(cells.BEGIN) + len(cells.BEGIN) : page.index(cells.END)]
    assert shown_table == cells.table()  # which compares each grid with that of pixels=
    rows = json.loads(cells.CELLS.read_text())["rows"]
    assert [row["class"] for row in rows] == sorted(cells.PIPELINES)
    assert shown_table.count("| yes |") >= 30


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
@pytest.mark.parametrize(
    "config, pixels, grid",
    [
        ({"_class_name": "WanTransformer3DModel", "in_channels": 48}, (49, 1024, 768), (13, 64, 48)),
        ({"_class_name": "SanaVideoTransformer3DModel", "in_channels": 128}, (49, 1024, 768), (7, 32, 24)),
        ({"_class_name": "CosmosTransformer3DModel", "extra_pos_embed_type": None}, (49, 1024, 768), (13, 128, 96)),
        ({"_class_name": "PRXTransformer2DModel", "in_channels": 32}, (1, 1024, 768), (1, 32, 24)),
    ],
)
def test_other_checkpoints_of_a_diffusion_class_have_the_cells_that_the_page_says(
    config: dict[str, Any], pixels: tuple[int, int, int], grid: tuple[int, int, int]
) -> None:
    model = floptally.cost(config)
    assert model.total_flops(pixels=[pixels], encoder_lengths=[16]) == model.total_flops(grid_thw=[grid], encoder_lengths=[16])


# The errors that the pages quote.

VISION: dict[str, Any] = {
    "model_type": "qwen2_5_vl", "hidden_size": 256, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 64, "vision_config": {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
    "out_hidden_size": 256, "patch_size": 14, "spatial_merge_size": 2, "window_size": 112, "fullatt_block_indexes": [0]},
}  # fmt: skip
HSTU: dict[str, Any] = {"model_type": "hstu", "hidden_size": 64, "num_layers": 1, "num_attention_heads": 2}
LLAMA: dict[str, Any] = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1, "intermediate_size": 9, "vocab_size": 9}
MINE = {"model_type": "my_model", "vocab_size": 9, "hidden_size": 64}


def mistral(**batch: Any) -> object:
    return floptally.cost(MISTRAL).flops(**batch)


def of_lora(name: str, rank: int = 16) -> object:
    return mistral(lengths=[9], plan=Plan(weights=[WeightSetting(name, "lora", rank=rank)]))


def diffusion(name: str, **batch: Any) -> object:
    return floptally.cost({"_class_name": name}).flops(**batch)


def in_a_pass(seconds: float, beside: bool = False) -> None:
    meter = floptally.Meter(floptally.cost(MISTRAL), gpus=8, counted="all_gpus", accelerator="H100 SXM")
    with meter.step(1.0):
        if beside:
            meter.add(lengths=[9])
        with meter.timed("update", seconds=seconds) as update:
            update.add(lengths=[9])


def in_a_step(array: Any) -> None:
    meter = floptally.Meter(floptally.cost(MISTRAL), gpus=1, accelerator="H100 SXM")
    with meter.step(1.0):
        meter.add(cu_seqlens=array)


def numpy_array(values: list[Any], kind: str) -> Any:
    import numpy as np

    return np.array(values, dtype=kind)


def program(*arguments: str) -> str:
    return shown.by_the_program(list(arguments))


ERRORS: dict[str, list[Callable[[], object]]] = {
    "lora.md": [
        lambda: of_lora("*/query_proj"),
        lambda: of_lora("*/q_proj", rank=0),
        lambda: of_lora("norm"),
        lambda: floptally.cost(MISTRAL).planned(Plan(recompute="full")).flops(lengths=[9], plan=Plan(recompute="attention")),
    ],
    "vision_language.md": [
        lambda: floptally.cost(VISION).flops(lengths=[1000], grid_thw=[(1, 64, 64)]),
        lambda: floptally.cost(VISION).flops(lengths=[1324], grid_thw=[(1, 63, 64)]),
        lambda: mistral(lengths=[1324], grid_thw=[(1, 64, 64)]),
        lambda: floptally.cost(VISION).flops(lengths=[1324], images=1),
    ],
    "rl.md": [
        lambda: mistral(requests=[(900, 400)]),
        lambda: mistral(lengths=[900], plan=Plan(logits="measured")),
        lambda: in_a_pass(2.0),
        lambda: in_a_pass(0.5, beside=True),
    ],
    "diffusion.md": [
        lambda: diffusion("FluxTransformer2DModel", pixels=[(1, 1024, 1000)], encoder_lengths=[512]),
        lambda: diffusion("WanTransformer3DModel", pixels=[(80, 480, 832)], encoder_lengths=[512]),
        lambda: diffusion("AllegroTransformer3DModel", pixels=[(49, 480, 832)], encoder_lengths=[512]),
        lambda: diffusion("FluxTransformer2DModel", pixels=[(1, 1024, 1024)]),
        lambda: diffusion("FluxTransformer2DModel", grid_thw=[(1, 64, 64)], encoder_lengths=[512], lengths=[77]),
    ],
    "hstu.md": [
        lambda: floptally.cost(HSTU),
        lambda: floptally.cost({**HSTU, "dim_per_head": 32}).flops(sequences=[(1, 2)]),
        lambda: mistral(sequences=[(1, 2, 3)]),
    ],
    "on_the_gpu.md": [
        lambda: in_a_step(numpy_array([0, 4], "float32")),
        lambda: in_a_step(numpy_array([0, 9, 7], "int64")),
        lambda: in_a_step(numpy_array([0, 9, 17], "int64")[::2]),
    ],
    "does_it_fit.md": [
        lambda: program("fit", *STEP, "--largest", "microbatch", "--memory-gib", "80"),
        lambda: program("fit", *STEP, "--tp", "3"),
        lambda: program("fit", *STEP, "--zero", "full"),
    ],
    "which_convention.md": [
        lambda: floptally.cost(MISTRAL).compare(lengths=[8192], observed="444.4"),
        lambda: floptally.cost(MISTRAL).compare(lengths=[8192], observed="40%"),
        lambda: program("compare", *STEP, "--observed", "44.44%", "--seconds", "1", "--gpus", "1", "--accelerator", "H100 SXM"),
    ],
    "add_my_model.md": [
        lambda: floptally.cost({**LLAMA, "model_type": "lama"}),
        lambda: floptally.cost(MINE, spec="spec my_model : llama\nfeed: mlp inner .ffn_size\n"),
        lambda: floptally.cost(MINE, spec="spec my_model : llama\nfeed: mpl inner .intermediate_size\n"),
        lambda: floptally.cost({**LLAMA, "moe_latent_dim": 64}),
        lambda: floptally.cost({**LLAMA, "num_attention_heads": 30}),
    ],
    "../search.md": [
        lambda: program("search", *SEARCH, "--gpus", "4", "--accelerator", "H100 SXM"),
        lambda: program("search", *SEARCH, "--gpus", "64", "--accelerator", "H100 SXM", "--explain", "tp=3"),
        lambda: program("search", *SEARCH, "--gpus", "64", "--accelerator", "MI300X"),
        lambda: program("search", *SEARCH, "--gpus", "64", "--accelerator", "H100 SXM", "--precision", "fp4"),
    ],
    "../expect.md": [
        lambda: program("expect", *STEP, "--accelerator", "H100"),
        lambda: program("expect", *STEP, "--accelerator", "H100 SXM", "--seconds", "0.9"),
        lambda: program("expect", *STEP, "--accelerator", "H100 SXM", "--mfu", "141%"),
    ],
    "many_ranks.md": [lambda: floptally.Meter(floptally.cost(MISTRAL), gpus=8, accelerator="H100 SXM")],
}
#: Those of several ranks, which another test makes.
OF_RANKS = ("tokens: is declared replicated", "count: is sharded over dp")


def quoted(page: str) -> list[str]:
    """The messages of a page's table of errors."""
    table = (FOLDER / page).read_text().partition("\n## Errors\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(.*?)`(?: …)? \|", table, re.MULTILINE)


def said(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except floptally.Error as error:
        return str(error)


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
@pytest.mark.parametrize("page", ERRORS)
def test_errors_quoted_on_a_how_to_page_are_the_words_of_the_library(page: str) -> None:
    messages = [message for message in quoted(page) if not message.startswith(OF_RANKS)]
    texts = [said(call) for call in ERRORS[page]]
    assert len(messages) == len(texts)
    for message, text in zip(messages, texts, strict=True):
        assert message in text


# Blocks that need PyTorch.


def torch_blocks(page: str, text: str) -> list[shown.Block]:
    return [block for block in shown.blocks((FOLDER / page).read_text()) if block.language == "python" and text in block.lines]


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")  # of transformers
@pytest.mark.parametrize("page, text, needs", [("lora.md", "import transformers, peft", "peft"), ("add_my_model.md", "from_torch(", "torch")])
def test_example_with_pytorch_on_a_how_to_page_prints_the_output_shown_there(page: str, text: str, needs: str) -> None:
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    (block,) = torch_blocks(page, text)
    assert shown.printed(block.lines, page, {}) == block.output


@pytest.mark.filterwarnings("ignore:mfu")  # of steps that take no time
def test_example_of_lengths_on_a_gpu_counts_the_batches_that_the_page_names() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    (block,) = torch_blocks("on_the_gpu.md", "import torch")
    model = floptally.cost(MISTRAL)
    scope: dict[str, Any] = {
        "meter": floptally.Meter(model, gpus=1, accelerator="H100 SXM"),
        "batches": [{"cu_seqlens": torch.tensor([0, 700, 6000, 8192], dtype=torch.int32)}] * 2,
        "train": lambda batch: None,
    }
    assert "boundaries 0, 700, 6000, 8192 print" in (FOLDER / "on_the_gpu.md").read_text()
    assert shown.printed(block.lines, "on_the_gpu.md", scope) == block.output


#: Four ranks that are forks of one process, which imports PyTorch once.
RANKS = """
import os, sys, torch
sys.path[:0] = {path!r}
import floptally, shown
rank = next((rank for rank in (1, 2, 3) if os.fork() == 0), 0)
os.environ["RANK"] = str(rank)
torch.distributed.init_process_group("gloo")
for lines, output in {blocks!r}:
    printed = shown.printed(lines, "many_ranks.md", {{}})
    assert printed == output, printed
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
for sizes in ({{"dp": 2, "tp": 2}}, {{"dp": 2, "tp": 4}}):
    try:
        reduction = floptally.distributed.Reduction(model, layout=floptally.ParallelLayout(rank=rank, **sizes))
        meter = floptally.Meter(model, reduce=reduction, accelerator="H100 SXM")
        with meter.step(0.5):
            meter.add(lengths=[100 + rank])
    except floptally.Error as error:
        os.write(1, (str(error) + "\\n").encode())
torch.distributed.barrier()
if rank == 0:
    assert all(os.wait()[1] == 0 for _ in range(3))
os._exit(0)
"""


def test_examples_of_many_ranks_print_the_output_shown_on_each_of_four_ranks(tmp_path: Any) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    blocks = [(block.lines, block.output) for block in torch_blocks("many_ranks.md", "import torch")]
    assert len(blocks) == 2
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    (tmp_path / "ranks.py").write_text(RANKS.format(path=[str(SOURCE / "tests" / "python")], blocks=blocks))
    group = {"WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 9000), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "ranks.py"], env={**os.environ, **group}, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    messages = [message for message in quoted("many_ranks.md") if message.startswith(OF_RANKS)]
    assert len(messages) == 2
    for message in messages:
        assert done.stdout.count(message) == 4, done.stdout
