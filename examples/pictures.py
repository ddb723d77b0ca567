# SPDX-License-Identifier: Apache-2.0
"""Writes the pictures of the docs, light and dark.

    python examples/pictures.py [FOLDER]     # default: docs/pictures

`conventions_*.svg`: one step of Llama-3-8B as the tools of the README's table count it. `waterfall_*.svg`: the step that
docs/waterfall.md takes apart. `search_*.svg`: the layouts of docs/search.md. `expect_*.svg`, `expect_gaps_*.svg`: the published runs of docs/expect.md.
"""

from __future__ import annotations

import pathlib
import sys

import floptally
import floptally.plots
from floptally.selftest import LLAMA_3_8B

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHOWN = ("megatron", "exact", "flash_attention", "verl", "torchtitan", "torch_flop_counter", "palm", "nanogpt")


def draw(folder: pathlib.Path) -> None:
    """Writes all pictures into a folder."""
    totals = floptally.plots.convention_totals(LLAMA_3_8B, lengths=[8192])
    mistral = floptally.cost(ROOT / "examples/data/mistral-7b-v0.1.json")
    work = mistral.flops(
        lengths=[4096, 2048] + [8192] * 6, row_length=8192, plan=floptally.Plan(recompute="attention")
    )
    step = work.waterfall(
        seconds=1.6, gpus=4, peak_tflops=989, pp=4, microbatches=8, apart={"exposed_communication": 0.5}
    )
    llama = floptally.cost(ROOT / "examples/data/llama-3.1-70b-sizes.json")
    found = llama.search(lengths=[8192], global_batch=256, gpus=64, accelerator="H100 SXM", precision="fp8",
                         matrix_inputs="fp8", matrix_weights="fp8", top=100_000)  # fmt: skip
    runs = floptally.published_runs()
    for theme in ("light", "dark"):
        floptally.plots.convention_spread(
            {name: totals[name] for name in SHOWN}, theme=theme, path=folder / f"conventions_{theme}.svg"
        )
        floptally.plots.waterfall(step, theme=theme, path=folder / f"waterfall_{theme}.svg")
        floptally.plots.layouts(
            found, theme=theme, title="Llama 3.1 70B in FP8 on 64 H100: layouts that fit", path=folder / f"search_{theme}.svg"
        )
        floptally.plots.published_mfu(runs, theme=theme, path=folder / f"expect_{theme}.svg")
        floptally.plots.published_gaps(runs, theme=theme, path=folder / f"expect_gaps_{theme}.svg")


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
