# SPDX-License-Identifier: Apache-2.0
"""Writes the pictures of the docs, light and dark.

    python examples/pictures.py [FOLDER]     # default: docs/pictures

`conventions_*.svg`: one step of Llama-3-8B as the tools of the README's table count it. `waterfall_*.svg`: the step that
docs/waterfall.md takes apart. `search_*.svg`: the layouts of docs/search.md. `expect_*.svg`, `expect_gaps_*.svg`: the published runs of docs/expect.md.
`masks_*.svg`, `views_*.svg`: what docs/counting.md counts. `ranks_*.svg`: the ranks of docs/parallel.md. `memory_*.svg`: the
published run of docs/how_to/does_it_fit.md.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import floptally
import floptally.plots
from floptally.plots._figure import (
    GREEN, ORANGE, THEMES, Theme, bar_label, blank, caption, look, name_rows, save, short, three_digits, unit_of,
)  # fmt: skip
from floptally.selftest import LLAMA_3_8B

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHOWN = ("megatron", "exact", "flash_attention", "verl", "torchtitan", "torch_flop_counter", "palm", "nanogpt")


class DrawnMask(NamedTuple):
    """A mask of `TOKENS` tokens as the picture of masks draws it.

    sees: 0 if query q does not attend key k, 1 if it does, 2 if it does although the mask of text does not let it.
    library: the same mask of the library, which counts its pairs.
    documents: the lengths of the sequences; grid_thw: the images in the text. `tests/python/test_pictures.py` compares each row
        with the library's count.
    """

    title: str
    sees: Callable[[int, int], int]
    library: floptally.Mask
    documents: tuple[int, ...]
    grid_thw: tuple[tuple[int, int, int], ...] = ()


TOKENS = 16
DOCUMENTS = (5, 7, 4)
IMAGE = range(4, 10)  # six tokens of one image, after four of text


def document_of(token: int, documents: Sequence[int] = DOCUMENTS) -> int:
    """Returns the number of the document, or of the slot, that a token of a packed sequence belongs to."""
    return next(i for i in range(len(documents)) if token < sum(documents[: i + 1]))


MASKS = (
    DrawnMask("causal", lambda q, k: k <= q, floptally.Mask.causal(), (TOKENS,)),
    DrawnMask("sliding_window(4)", lambda q, k: q - 4 < k <= q, floptally.Mask.sliding_window(4), (TOKENS,)),
    DrawnMask("chunked(4)", lambda q, k: k <= q and k // 4 == q // 4, floptally.Mask.chunked(4), (TOKENS,)),
    DrawnMask("packed documents", lambda q, k: k <= q and document_of(q) == document_of(k), floptally.Mask.causal(), DOCUMENTS),
    DrawnMask("bidirectional", lambda q, k: True, floptally.Mask.bidirectional(), (TOKENS,)),
    DrawnMask("prefix_lm(5)", lambda q, k: k <= q or k < 5, floptally.Mask.prefix_lm(5), (TOKENS,)),
    DrawnMask("block_causal(4)", lambda q, k: k // 4 <= q // 4, floptally.Mask.from_text("block_causal(4)"), (TOKENS,)),
    DrawnMask("image in causal text", lambda q, k: 1 if k <= q else 2 * (q in IMAGE and k in IMAGE),
              floptally.Mask.causal(), (TOKENS,), ((1, 2, 3),)),
)  # fmt: skip


def pairs_of(mask: DrawnMask) -> int:
    """Returns how many pairs the library counts under a mask, with those that an image adds."""
    image = floptally.Mask.from_text("vision.later_image_tokens(1)")
    entries = [floptally.Entry("attention", mask.library, "scores", 2), floptally.Entry("image", image, "scores", 2)]
    cost = floptally.Cost.from_entries(entries if mask.grid_thw else entries[:1])
    batch = {"grid_thw": list(mask.grid_thw)} if mask.grid_thw else {}
    return cost.flops(lengths=list(mask.documents), plan=floptally.Plan(phase="forward"), **batch).total // 2


def square(axes: Axes, tokens: int, colour_of: Callable[[int, int], str | None], theme: Theme) -> None:
    """Draws the pairs of queries (rows) and keys (columns) as cells. A pair of colour None is not attended."""
    axes.broken_barh([(0, tokens)], (0, tokens), color=theme.pale, linewidth=0)
    for q in range(tokens):
        colours = [colour_of(q, k) for k in range(tokens)]
        begin = 0
        for k in range(1, tokens + 1):
            if k == tokens or colours[k] != colours[begin]:
                colour = colours[begin]
                if colour is not None:
                    axes.broken_barh([(begin, k - begin)], (q, 1), color=colour, linewidth=0)
                begin = k
    grid(axes, tokens, tokens, theme)
    axes.set_aspect("equal")


def grid(axes: Axes, columns: int, rows: int, theme: Theme) -> None:
    """Separates cells by lines of the paper's colour, and shows no ticks."""
    for x in range(1, columns):
        axes.plot([x, x], [0, rows], color=theme.paper, linewidth=0.5)
    for y in range(1, rows):
        axes.plot([0, columns], [y, y], color=theme.paper, linewidth=0.5)
    axes.set(xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)


def masks(theme: Theme, path: pathlib.Path) -> None:
    """Draws which keys each query attends under eight masks."""
    with look(theme):
        figure = blank(7.2, 4.5)
        for axes, mask in zip(figure.subplots(2, 4).flat, MASKS, strict=True):
            colours = (None, theme.first, ORANGE)
            square(axes, TOKENS, lambda q, k, mask=mask, colours=colours: colours[int(mask.sees(q, k))], theme)
            axes.set_title(mask.title, fontsize=9)
            axes.set_xlabel(f"{pairs_of(mask)} pairs", fontsize=8.5)
            axes.set_ylabel("query", fontsize=8)
        caption(figure, None, [f"{TOKENS} tokens", "a row is a query, a column a key", "coloured: the query attends the key",
                               "orange: because both are of one image"], color=theme.faint)  # fmt: skip
        save(figure, path)


#: A packed sequence: three documents in slots that are longer, and a mock sequence.
LENGTHS, SLOTS = (5, 10, 7), (8, 12, 8, 4)


def boundaries(slots: Sequence[int]) -> list[int]:
    """Returns slots as cu_seqlens."""
    return [sum(slots[:i]) for i in range(len(slots) + 1)]


def kind_of(token: int) -> int:
    """Returns what a slot of the packed sequence holds: 0 a real token, 1 padding, 2 a token of a mock sequence."""
    slot = document_of(token, SLOTS)
    return 2 if slot == len(LENGTHS) else int(token - sum(SLOTS[:slot]) >= LENGTHS[slot])


def packed_work() -> floptally.Breakdown:
    """Returns the work of the packed sequence: Mistral-7B, everything recomputed."""
    mistral = floptally.cost(ROOT / "examples/data/mistral-7b-v0.1.json")
    real = boundaries([*LENGTHS, SLOTS[-1]])
    return mistral.flops(
        cu_seqlens=real, cu_seqlens_padded=boundaries(SLOTS), num_real_seqs=len(LENGTHS), plan=floptally.Plan(recompute="full")
    )


def views(theme: Theme, path: pathlib.Path) -> None:
    """Draws the tokens, pairs and FLOPs that each view of one packed sequence counts."""
    work, tokens = packed_work(), sum(SLOTS)
    counts, pairs = work.statistics["tokens"], work.statistics["pairs"][0]["value"]
    named = {"useful": "real tokens", "padded": "every slot", "executed": "slots, and again"}
    with look(theme):
        figure = blank(7.2, 4.9)
        above, below = figure.subfigures(2, 1, height_ratios=[3.2, 1.6])
        cells = above.subplots(2, 3, height_ratios=[1, 11], sharex=False)
        kinds = (theme.first, ORANGE, GREEN)
        for column, (view, what) in enumerate(named.items()):
            strip, field = cells[0][column], cells[1][column]
            counted = 1 if view == "useful" else 3
            for token in range(tokens):
                colour = kinds[kind_of(token)] if kind_of(token) < counted else theme.pale
                strip.broken_barh([(token, 1)], (0, 1), color=colour, linewidth=0)
            grid(strip, tokens, 1, theme)
            strip.set_title(f"{view}: {what}", fontsize=9.5)

            def colour_of(q: int, k: int, counted: int = counted) -> str | None:
                is_seen = k <= q and document_of(q, SLOTS) == document_of(k, SLOTS) and kind_of(q) < counted
                return kinds[kind_of(q)] if is_seen else None

            square(field, tokens, colour_of, theme)
            field.set_anchor("N")
            of = "useful" if view == "useful" else "padded"
            field.set_xlabel(f"{counts[of]} tokens, {pairs[of]} pairs", fontsize=8.5)
            if column == 0:
                strip.set_ylabel("tokens", fontsize=8, rotation=0, ha="right", va="center")
                field.set_ylabel("pairs", fontsize=8)
        axes = below.subplots()
        shown = {view: getattr(work, view) for view in named}
        scale, prefix = unit_of(max(one.total for one in shown.values()))
        left = [0.0] * 3
        for phase, colour in (("forward", theme.first), ("backward", theme.second), ("recompute", theme.grey)):
            widths = [getattr(one, phase) / scale for one in shown.values()]
            axes.barh(range(3), widths, left=left, color=colour, height=0.62, label=phase)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for row, one in enumerate(shown.values()):
            bar_label(axes, left[row], row, three_digits(one.total / scale), theme)
        name_rows(axes, list(shown))
        axes.set_xlim(0, 1.12 * max(left))
        axes.set_xlabel(f"{prefix}FLOP of Mistral-7B with full recompute", fontsize=8.5)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.98), ncols=3, fontsize=8, handlelength=1.1, borderpad=0.2)
        caption(figure, None, ["blue: real", "orange: padding of a slot", "green: mock sequence", "empty: not counted"], color=theme.faint)
        save(figure, path)


CP_TOKENS, CP = 32, 4
SPLITS = {
    "contiguous": floptally.TokenSplit.contiguous(CP_TOKENS, CP),
    "zigzag": floptally.TokenSplit.zigzag(CP_TOKENS, CP),
}


def rank_pairs(split: floptally.TokenSplit) -> list[int]:
    """Returns the attended pairs of each context-parallel rank, as the library counts them."""
    return floptally.ContextParallelPack(split, cu_seqlens=[0, split.tokens]).pairs(floptally.Mask.causal())


def ranks(theme: Theme, path: pathlib.Path) -> None:
    """Draws which rank computes which pairs under two splits of a sequence, and what each stage of a pipeline computes."""
    llama = floptally.cost({**LLAMA_3_8B, "architectures": ["LlamaForCausalLM"]})
    stages = [llama.on_rank(floptally.ParallelLayout(rank=rank, pp=CP)).flops(lengths=[8192]).useful for rank in range(CP)]
    parts = {"attention": theme.first, "mlp": theme.second, "lm_head": ORANGE}
    palette = (theme.first, ORANGE, theme.grey, GREEN)
    with look(theme):
        figure = blank(7.2, 6.2)
        above, below = figure.subfigures(2, 1, height_ratios=[4.2, 2])
        cells = above.subplots(2, 2, height_ratios=[3, 1.15])
        for column, (name, split) in enumerate(SPLITS.items()):
            owner = {int(token): rank for rank in range(CP) for token in split.indices(rank)}
            square(cells[0][column], CP_TOKENS, lambda q, k, owner=owner: palette[owner[q]] if k <= q else None, theme)
            cells[0][column].set_title(f"context parallelism, {name}", fontsize=9.5)
            cells[0][column].set_ylabel("query", fontsize=8)
            cells[0][column].set_xlabel("key", fontsize=8)
            loads, axes = rank_pairs(split), cells[1][column]
            axes.barh(range(CP), loads, color=palette, height=0.66)
            for rank, load in enumerate(loads):
                bar_label(axes, load, rank, str(load), theme)
            name_rows(axes, [f"rank {rank}" for rank in range(CP)])
            axes.set_xlim(0, 270)
            axes.set_xlabel(f"attended pairs, {CP_TOKENS} tokens", fontsize=8.5)
        axes = below.subplots()
        scale, prefix = unit_of(max(stage.total for stage in stages))
        left = [0.0] * CP
        for part, colour in parts.items():
            widths = [sum(one.total for name, one in stage.components.items() if name.startswith(part)) / scale for stage in stages]
            axes.barh(range(CP), widths, left=left, color=colour, height=0.66, label=part)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for rank, stage in enumerate(stages):
            bar_label(axes, left[rank], rank, short(stage.total, "FLOP"), theme)
        name_rows(axes, [f"rank {rank}" for rank in range(CP)])
        axes.set_xlim(0, 1.2 * max(left))
        axes.set_xlabel(f"{prefix}FLOP of a step of Llama-3-8B, one sequence of 8192 tokens", fontsize=8.5)
        axes.set_title(f"pipeline of {CP} stages", fontsize=9.5, pad=20)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.98), ncols=3, fontsize=8, handlelength=1.1, borderpad=0.2)
        caption(figure, None, ["colours above: the rank that holds the query"], color=theme.faint)
        save(figure, path)


#: The run of docs/how_to/does_it_fit.md, with the options of its command.
RUN = {"dp": 2, "tp": 4, "pp": 8, "vpp": 5, "microbatches": 128, "sequence_parallel": True, "zero": "optimizer",
       "matrix_inputs": "fp8", "matrix_weights": "fp8"}  # fmt: skip
MEMORY_GIB = 80


def memory(theme: Theme, path: pathlib.Path) -> None:
    """Draws what a rank of each pipeline stage holds, next to the memory of its GPU."""
    llama = floptally.cost(ROOT / "examples/data/llama-3.1-70b-sizes.json")
    stages = [stage.held for stage in llama.flops(lengths=[8192]).fit(**RUN).stages]
    parts = {"weights": theme.first, "gradients": theme.second, "optimizer": theme.grey, "activations": ORANGE, "logits": GREEN}
    with look(theme):
        figure = blank(7.2, 3.4)
        axes = figure.subplots()
        left = [0.0] * len(stages)
        for part, colour in parts.items():
            widths = [held[part] / 2**30 for held in stages]
            axes.barh(range(len(stages)), widths, left=left, color=colour, height=0.66, label=part)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for row in range(len(stages)):
            bar_label(axes, left[row], row, f"{left[row]:.1f}", theme)
        axes.axvline(MEMORY_GIB, color=theme.ink, linewidth=1.2, linestyle="--")
        axes.text(MEMORY_GIB - 0.8, len(stages) - 0.6, f"{MEMORY_GIB} GiB", ha="right", va="bottom", fontsize=8.5)
        name_rows(axes, [f"stage {stage}" for stage in range(len(stages))])
        axes.set_xlim(0, 1.04 * MEMORY_GIB)
        axes.set_xlabel("GiB that a rank holds: Llama 3.1 70B in FP8 on 64 H100", fontsize=8.5)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.02), ncols=5, fontsize=8, handlelength=1.1, borderpad=0.2)
        save(figure, path)


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
        masks(THEMES[theme], folder / f"masks_{theme}.svg")
        views(THEMES[theme], folder / f"views_{theme}.svg")
        ranks(THEMES[theme], folder / f"ranks_{theme}.svg")
        memory(THEMES[theme], folder / f"memory_{theme}.svg")


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
