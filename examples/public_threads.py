# SPDX-License-Identifier: Apache-2.0
"""The numbers of five public threads beside ours, each by one command:

    python examples/public_threads.py megatron_bridge     # NVIDIA-NeMo/Megatron-Bridge PR 3529, issue 3498
    python examples/public_threads.py bionemo             # NVIDIA/bionemo-framework PR 1548, issue 1561
    python examples/public_threads.py areal               # inclusionAI/AReaL PR 1223, 1242, 1249
    python examples/public_threads.py megatron_mimo       # NVIDIA-NeMo/Megatron-Bridge PR 4608
    python examples/public_threads.py hstu                # NVIDIA/recsys-examples PR 340

Each runs its case from lengths to the number, prints a row for each number that the thread has, and says why ours is
another one where it is. Where a thread publishes a number and not its data, the data here are made, and the row says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import floptally

Row = tuple[str, str, str, str]


class Case(NamedTuple):
    """A thread's numbers beside ours, and the prose that they need."""

    title: str
    rows: list[Row]


def percent(fraction: float, digits: int = 2) -> str:
    return f"{100 * fraction:.{digits}f} %"


def tera(flops: int) -> str:
    return f"{flops / 1e12:.2f} TFLOP"


# ---- Megatron-Bridge: what a step of short samples of pictures did ----

VISION_LANGUAGE = {
    "model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"], "vocab_size": 152064,
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vision_config": {
        "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
        "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "in_channels": 3, "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
}  # fmt: skip


def megatron_bridge() -> Case:
    """Four microbatches of eight samples with a picture each, in a configured length of 4096."""
    model = floptally.cost(VISION_LANGUAGE)
    sides = [16, 20, 24, 28, 32, 36, 40, 44]  # patches of a picture's sides
    microbatches = [[60 + 37 * (i + j) + side * side // 4 for j, side in enumerate(sides)] for i in range(4)]
    lengths = [length for batch in microbatches for length in batch]
    meter = floptally.Meter(model, gpus=1, accelerator="H100 SXM")
    with meter.step(1.0):
        for batch in microbatches:  # once each, whatever the number of virtual stages
            meter.add(lengths=batch, grid_thw=[(1, side, side) for side in sides])
    work = meter.breakdown("step")
    vision = sum(component.total for name, component in work.useful.components.items() if name.startswith("vision."))
    text = work.total - vision
    configured = model.flops(lengths=[4096] * len(lengths)).total
    # Σn² as mean(n)²: the sums have it, and the formula did not read it.
    sums = sum(lengths), sum(n * n for n in lengths)
    jensen = len(lengths) * sums[1] / sums[0] ** 2
    ratio = configured / text
    stages = [floptally.ParallelLayout(rank=rank, pp=2, vpp=2) for rank in range(2)]
    shares = [model.on_rank(at).flops(lengths=lengths, grid_thw=[(1, s, s) for s in sides] * 4).total for at in stages]
    return Case(
        "Megatron-Bridge PR 3529: FLOPs of a step of short samples",
        [
            ("reported ÷ real FLOPs of the text", "2.6 to 10", f"{ratio:.2f}",
             f"made lengths, {min(lengths)} to {max(lengths)} tokens, mean {sums[0] / len(lengths):.0f} of 4096, which decide it"),
            ("vision encoder", "0", tera(vision), f"left out there; {percent(vision / work.total)} of the step here"),
            ("Σn² ÷ (Σn)²/B", "1", f"{jensen:.4f}", "attention was mean(n)², less than the mean of squares (Jensen)"),
            ("FLOPs over pp 2 x vpp 2", "counted twice", percent(sum(shares) / work.total, 0),
             "lengths are added once a microbatch; virtual stages share them"),
            ("MFU of the step, at 1 s on one H100", "-", percent(meter.last_step.mfu), "exact, with the encoder"),
        ],
    )  # fmt: skip


# ---- BioNeMo: useful and padded MFU with a mock sequence ----

ESM2 = {
    "model_type": "nv_esm", "architectures": ["NVEsmForMaskedLM"], "vocab_size": 33, "padded_vocab_size": 64,
    "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 33, "num_attention_heads": 20,
    "max_position_embeddings": 1026, "position_embedding_type": "rotary",
}  # fmt: skip


def bionemo() -> Case:
    """ESM-2 650M, a packed sequence that is filled up to a multiple of 16 by a mock sequence."""
    model = floptally.cost(ESM2)
    lengths = [1022, 377, 611, 1022, 205, 913, 1022, 740, 1022, 256, 998]
    real = [0]
    for length in lengths:
        real.append(real[-1] + length)
    with_mock = [*real, -(-real[-1] // 16) * 16]
    work = model.flops(cu_seqlens=with_mock, num_real_seqs=len(lengths))
    fooled = model.flops(cu_seqlens=with_mock)
    squares = sum(n * n for n in lengths)
    mock = (with_mock[-1] - real[-1]) ** 2
    done = work.measure(0.1, gpus=1, accelerator="H100 SXM")
    long = 46_341
    return Case(
        "BioNeMo PR 1548: mfu_pct and mfu_padded_pct",
        [
            ("mock sequence in Σn²", "< 1e-5", f"{mock / squares:.2e}",
             f"{with_mock[-1] - real[-1]} tokens: an exact integer here, {fooled.total - work.total} FLOPs"),
            ("train/mfu_pct, at 0.1 s on one H100", "with the mock sequence", percent(done.mfu, 4),
             f"{percent(fooled.measure(0.1, gpus=1, accelerator='H100 SXM').mfu, 4)} where it counts as real (issue 1561)"),
            ("train/mfu_padded_pct", "the same number", percent(done.padded_mfu, 4),
             "the mock sequence, and an lm_head of 64 integers for 33"),
            ("lm_head, useful and padded", "33 and 64 integers", f"{33 * 1280} and {64 * 1280}", "the same: weights"),
            ("n² in 32 bits", f"overflows at {long}", str(long * long), "squared in 64 bits"),
        ],
    )  # fmt: skip


# ---- AReaL: a loss of its own on each context-parallel rank ----


def areal() -> Case:
    """Sequences over context-parallel ranks: counts, ratios, logits."""
    config = {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 151_936, "hidden_size": 896,
        "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
    }  # fmt: skip
    model = floptally.cost(config)
    lengths, cp = [16_000, 9_300, 700, 6_000], 4
    slots = [0]
    for length in lengths:
        slots.append(slots[-1] + -(-length // (2 * cp)) * 2 * cp)
    real = [0]
    for length in lengths:
        real.append(real[-1] + length)
    row = floptally.ContextParallelPack(
        floptally.TokenSplit.zigzag_of_each(slots, cp), cu_seqlens=real, cu_seqlens_padded=slots
    )
    whole = floptally.Tally(model)
    whole.add_cu_seqlens(real, cu_seqlens_padded=slots)
    shares = [row.tally(rank, model) for rank in range(cp)]
    same = bool((sum(share.accumulators() for share in shares) == whole.accumulators()).all())
    tokens = row.tokens()
    # A ratio on each slice: of its loss-mask tokens, which stand in the first half of a long sequence.
    masked = [sum(min(last, 6_000) - min(first, 6_000) for first, last in
                  floptally.TokenSplit.contiguous(16_000, cp).ranges(rank)) for rank in range(cp)]  # fmt: skip
    weights = [1.0 * count for count in masked]
    correct = [0.9 * weights[0], 0.6 * weights[1], 0.0, 0.0]
    right = sum(correct) / sum(weights)
    wrong = correct[1] / weights[1]
    full = floptally.logits_bytes(131_072, 151_936, context_parallel=8)
    both = floptally.logits_bytes(16_384, 151_936, context_parallel=4, tensor_parallel=2)
    pairs = row.pairs(floptally.Mask.causal(), "padded")
    return Case(
        "AReaL PR 1223: statistics and memory of context-parallel ranks",
        [
            ("global tokens, reduced over dp alone", f"÷ {cp}", f"{sum(tokens)} of {whole.tokens}",
             f"rank 0 alone has {tokens[0]}; shares add up word for integer: {same}"),
            ("FLOPs of the ranks ÷ those of the batch", "-",
             f"{sum(model.flops(tally=share).total for share in shares) / model.flops(tally=whole).total:.6f}",
             "the same integer"),
            ("a ratio of one rank's slice", "up to 25 % off", percent(abs(wrong / right - 1), 1),
             "made accuracies, 0.9 and 0.6, of a loss mask over two slices; two slices are empty"),
            ("logits of 128K tokens in bf16", "about 37 GiB", f"{full.gathered / 2**30:.2f} GiB",
             f"gathered; {full.local / 2**30:.2f} GiB where each rank has its own"),
            ("16K tokens at d1p1t2c4, both copies", "about 5 GB", f"{both.gathering / 1e9:.2f} GB", "the same"),
            ("causal pairs of the ranks, max ÷ mean", "-", f"{max(pairs) * cp / sum(pairs):.6f}", "zigzag: equal"),
        ],
    )  # fmt: skip


# ---- MegatronMIMO: samples with pictures over data-parallel ranks ----

#: Patches of 32 receipts. The pull request publishes figures, not data: these are chosen so that its rule has them.
RECEIPTS = [5848, 5848, 1564, 2976, 2976, 2976, 2976, 2976, 2976, 5848, 5848, 2016, 2976, 5848, 2976, 2976, 2976, 2016,
            1564, 5848, 2976, 2016, 5848, 1564, 5848, 5848, 1564, 2016, 2016, 5848, 5848, 2016]  # fmt: skip


def equal_count_longest_first(costs: Sequence[int], ranks: int) -> list[int]:
    """The rule of the pull request: samples by descending cost, each to the lightest rank with room."""
    loads, counts, rank_of = [0] * ranks, [0] * ranks, [0] * len(costs)
    for sample in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        rank = min((r for r in range(ranks) if counts[r] < len(costs) // ranks), key=lambda r: (loads[r], r))
        rank_of[sample] = rank
        loads[rank] += costs[sample]
        counts[rank] += 1
    return rank_of


def spread(costs: Sequence[int], rank_of: Sequence[int], ranks: int) -> float:
    loads = [0] * ranks
    for cost, rank in zip(costs, rank_of):
        loads[rank] += cost
    return max(loads) / min(loads)


def megatron_mimo() -> Case:
    """32 samples on 4 ranks, and the bytes that move."""
    before = [i // 8 for i in range(32)]
    theirs = equal_count_longest_first(RECEIPTS, 4)
    found = floptally.balance(RECEIPTS, 4)
    balanced = found.rank_of.tolist()
    plan = floptally.ExchangePlan(before, balanced, RECEIPTS, 4, bytes_per_element=3 * 2 * 14 * 14 * 2)
    moved = sum(int(plan.sizes[i]) for i in range(32) if before[i] != balanced[i])
    rows = floptally.pack_by_assignment([patches // 4 for patches in RECEIPTS], balanced, 4, alignment=8)
    text = floptally.cost(VISION_LANGUAGE)
    tokens = [patches // 4 for patches in RECEIPTS]
    grids = [(1, 2, patches // 2) for patches in RECEIPTS]  # as many patches, in a row of merged cells
    both = text.flops(lengths=tokens, grid_thw=grids)
    module = floptally.utilize(
        [floptally.StepModule("model", range(4), both, 989.4, data_parallel_size=4)], seconds=2.0, gpus=4,
        peak_tflops=989.4,
    )  # fmt: skip
    return Case(
        "MegatronMIMO PR 4608: samples sharded anew within a microbatch",
        [
            ("largest ÷ smallest rank before", "about 1.27", f"{spread(RECEIPTS, before, 4):.2f}", "made patch counts"),
            ("after its rule", "about 1.07", f"{spread(RECEIPTS, theirs, 4):.2f}", "its rule, written again"),
            ("after ours", "-", f"{found.report['after'][0]['max_over_min']:.2f}", "exchanges after the seed"),
            ("samples that moved", "18 to 24 of 32",
             f"{sum(a != b for a, b in zip(before, theirs))} by its rule, {found.report['moved']} by ours", "of 32"),
            ("bytes that move", "-", f"{moved / 1e6:.1f} MB", "pixels in bf16, one all-to-all"),
            ("tokens of a rank's row", "-", ", ".join(str(row.tokens) for row in rows.packs), "packed, slots of 8"),
            ("FLOPs", "0 (\"non-trivial\")", tera(both.total), f"MFU {percent(module.mfu)} at 2 s on four H100"),
        ],
    )  # fmt: skip


# ---- recsys-examples: the benchmark of HSTU ----

HSTU = {"model_type": "hstu", "hidden_size": 1024, "num_layers": 8, "num_attention_heads": 4, "dim_per_head": 256}


def hstu() -> Case:
    """Eight layers on 32 sequences of 3 contextual and 4096 history tokens, and the published table."""
    model = floptally.cost(HSTU)
    batch = model.flops(sequences=[(3, 4096, 0)] * 32, convention="recsys_examples")
    exact = model.flops(sequences=[(3, 4096, 0)] * 32)
    of = {name: component.total for name, component in batch.useful.components.items()}
    attention = of["hstu.qk"] + of["hstu.pv"]
    rows: list[Row] = [
        ("UVQK", "26.41", tera(of["hstu.uvqk"]), "the same"),
        ("projection", "6.60", tera(of["hstu.output"]), "the same"),
        ("attention", "30.88", tera(attention), "the same"),
        ("element-wise", "6.45 GFLOP", f"{of['hstu.elementwise'] / 1e9:.2f} GFLOP", "the same"),
        ("a step", "63.89", tera(batch.total), "the same"),
        ("a step, exactly", "-", tera(exact.total), "causal pairs with their diagonal; backward of attention twice, not 2.5 times"),
    ]
    for tflops in (1092, 1667, 3933, 3919, 2880):
        mfu = tflops / (16 * 989)
        theirs = {1092: "6.38 %", 3933: "22.96 %"}.get(tflops, "between")
        rows.append((f"MFU of {tflops} TFLOP/s on 16 H100", theirs, percent(mfu),
                     f"of 989 TFLOP/s; {percent(tflops / (16 * 1070.5))} of 1070.5, which the table was made with"))  # fmt: skip
    return Case("recsys-examples PR 340: FLOPs and MFU of its benchmark", rows)


CASES: dict[str, Callable[[], Case]] = {
    "megatron_bridge": megatron_bridge, "bionemo": bionemo, "areal": areal, "megatron_mimo": megatron_mimo, "hstu": hstu,
}  # fmt: skip


def shown(case: Case) -> str:
    """The table as Markdown."""
    lines = [f"# {case.title}", "", "| what | the thread | ours | what differs, and why |", "| --- | ---: | ---: | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in case.rows)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=[*CASES, "all"])
    chosen = parser.parse_args(arguments).system
    print("\n\n".join(shown(CASES[name]()) for name in (CASES if chosen == "all" else [chosen])))


if __name__ == "__main__":
    main()
