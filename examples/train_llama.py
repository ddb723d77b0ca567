# SPDX-License-Identifier: Apache-2.0
"""Trains a small Llama of transformers on this repository's own pages, packed, and meters every step.

    python examples/train_llama.py [--steps 30] [--padded] [--waterfall]

Needs PyTorch and transformers; runs on a CPU in a minute. The meter reads the model's config once and is told the
boundaries of each microbatch. Beside it PyTorch's FlopCounterMode counts the products that really run, and both must be
equal in every step. `--padded` trains on rows that are padded to the longest instead: the meter's padded view is then
what runs, and its useful view what the documents need. `--waterfall` times the same steps without PyTorch's counter,
which is slow, and says where the time went, against the best rate of a matmul on this machine (docs/waterfall.md).
"""

from __future__ import annotations

import argparse
import pathlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import AttentionInterface

import floptally

PAGES = pathlib.Path(__file__).resolve().parents[1] / "docs"
CONFIG = {
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
}
#: PyTorch counts every mask as its square, and a fused kernel's QK^T once more in the backward.
CONVENTION = "torch_flop_counter"
#: The cores of this process alone, so that what others do to the machine is not measured: right for one thread.
CLOCK = time.process_time


def attend_by_document(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    cu_seq_lens_q: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention within each document of a packed sequence: what variable-length kernels do on a GPU."""
    bounds = [0, query.shape[2]] if cu_seq_lens_q is None else cu_seq_lens_q.tolist()
    parts = [
        torch.nn.functional.scaled_dot_product_attention(
            query[:, :, begin:end],
            key[:, :, begin:end],
            value[:, :, begin:end],
            is_causal=True,
            scale=scaling,
            enable_gqa=True,
        )
        for begin, end in zip(bounds, bounds[1:])
    ]
    return torch.cat(parts, 2).transpose(1, 2), None


def documents(longest: int) -> list[torch.Tensor]:
    """The paragraphs of the pages, as bytes; longer ones are cut."""
    paragraphs = [part for page in sorted(PAGES.glob("*.md")) for part in page.read_text().split("\n\n")]
    return [torch.tensor(list(part.encode()[:longest])) for part in paragraphs if len(part) > 1]


def batches(pages: list[torch.Tensor], tokens: int, seed: int = 0) -> Iterator[list[torch.Tensor]]:
    """Documents at random, as many as fit `tokens`."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        chosen: list[torch.Tensor] = []
        while sum(map(len, chosen)) < tokens:
            chosen.append(pages[int(torch.randint(len(pages), (1,), generator=generator))])
        yield chosen[:-1] if len(chosen) > 1 else chosen


def build_model(attention: str = "by_document") -> Any:
    AttentionInterface.register("by_document", attend_by_document)  # type: ignore[no-untyped-call]
    config = transformers.LlamaConfig(**CONFIG)
    config.use_cache = False
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM._from_config(config, attn_implementation=attention).train()


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Next-byte loss; -100 marks the last byte of each document."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


def with_targets(page: torch.Tensor) -> torch.Tensor:
    return torch.cat((page[1:], torch.tensor([-100])))


def packed(model: Any, pages: list[torch.Tensor], meter: floptally.Meter) -> torch.Tensor:
    """One row of whole documents."""
    lengths = torch.tensor([len(page) for page in pages])
    cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    meter.add(cu_seqlens=cu_seqlens)
    logits = model(
        input_ids=torch.cat(pages)[None],
        position_ids=torch.cat([torch.arange(len(page)) for page in pages])[None],
        cu_seq_lens_q=cu_seqlens,
    ).logits
    return loss_of(logits, torch.cat([with_targets(page) for page in pages]))


def padded(model: Any, pages: list[torch.Tensor], meter: floptally.Meter) -> torch.Tensor:
    """A row for each document, as long as the longest."""
    meter.add(lengths=[len(page) for page in pages], row_length=max(map(len, pages)))
    rows = torch.nn.utils.rnn.pad_sequence(pages, batch_first=True)
    targets = torch.nn.utils.rnn.pad_sequence([with_targets(p) for p in pages], batch_first=True, padding_value=-100)
    return loss_of(model(input_ids=rows).logits, targets)


@dataclass
class Step:
    loss: float
    counted: int  #: by the meter: what the documents need
    slots: int  #: by the meter: what all slots need
    ran: int  #: by PyTorch


def train(meter: floptally.Meter, model: Any, steps: int, microbatches: int = 2, rows: bool = False) -> Iterator[Step]:
    """Trains and yields what every step counted."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    stream = batches(documents(longest=192), tokens=512)
    for _ in range(steps):
        total = 0.0
        with meter.step(), FlopCounterMode(display=False) as pytorch:
            for _ in range(microbatches):
                loss = (padded if rows else packed)(model, next(stream), meter) / microbatches
                loss.backward()  # type: ignore[no-untyped-call]
                total += float(loss.detach())
            optimizer.step()
            optimizer.zero_grad()
        last = meter.last_step
        yield Step(total, last.useful, last.padded, pytorch.get_total_flops())


def measured_peak(size: int = 512, seconds: float = 1.0) -> float:
    """TFLOP/s of the fastest of many matmuls: the most that a core does for us."""
    a, b, out = (torch.randn(size, size) for _ in range(3))
    fastest, end = float("inf"), CLOCK() + seconds
    while CLOCK() < end:
        begin = CLOCK()
        torch.matmul(a, b, out=out)
        fastest = min(fastest, CLOCK() - begin)
    return 2 * size**3 / fastest / 1e12


def masked_flops(work: floptally.Breakdown) -> int:
    """FLOPs of the kernel on masked pairs: it computes squares of which the mask lets half through, as PyTorch counts."""
    return floptally.flops(CONFIG, tally=work.tally, convention=CONVENTION).padded_total - work.executed_total


@contextmanager
def adding_to(times: dict[str, float], name: str) -> Iterator[None]:
    begin = CLOCK()
    yield
    times[name] = times.get(name, 0.0) + CLOCK() - begin


def take_apart(steps: int = 20, microbatches: int = 2, padded_rows: bool = False) -> floptally.Waterfall:
    """Trains on one core, after three steps that warm up, and says where the time of all steps went."""
    torch.set_num_threads(1)
    model, peak = build_model(), measured_peak()
    cost = floptally.cost(model.config)
    hardware: dict[str, Any] = {"gpus": 1, "peak_tflops": peak}
    meter = floptally.Meter(cost, clock=CLOCK, **hardware)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    stream = batches(documents(longest=192), tokens=512)
    apart: dict[str, float] = {}
    for step in range(-3, steps):
        if step == 0:
            meter = floptally.Meter(cost, clock=CLOCK, **hardware)
            apart.clear()
        with meter.step():
            for _ in range(microbatches):
                with adding_to(apart, "data"):
                    pages = next(stream)
                loss = (padded if padded_rows else packed)(model, pages, meter) / microbatches
                loss.backward()  # type: ignore[no-untyped-call]
            with adding_to(apart, "optimizer"):
                optimizer.step()
                optimizer.zero_grad()
    work = meter.breakdown("run")
    return work.waterfall(seconds=meter.run.seconds, apart=apart, masked_tiles=masked_flops(work), **hardware)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--padded", action="store_true", help="rows padded to the longest document")
    parser.add_argument("--waterfall", action="store_true", help="say where the time went")
    arguments = parser.parse_args()
    if arguments.waterfall:
        print(take_apart(arguments.steps, padded_rows=arguments.padded))
        return
    torch.set_num_threads(2)

    model = build_model()
    # The peak is of the machine: here a made-up one of 0.1 TFLOPS for two cores.
    meter = floptally.Meter(floptally.cost(model.config), gpus=1, peak_tflops=0.1, convention=CONVENTION)
    for index, step in enumerate(train(meter, model, arguments.steps, rows=arguments.padded)):
        shown = step.slots if arguments.padded else step.counted
        if shown != step.ran:
            raise SystemExit(f"step {index}: the meter counts {shown}, PyTorch {step.ran}")
        print(f"step {index:3}  loss {step.loss:6.3f}  {floptally.readable(step.counted)} = {step.counted}, as PyTorch")
    run = meter.run
    print(f"{run.steps} steps, {run.tokens} tokens, {floptally.readable(run.useful)}, {run.tflops_per_gpu:.4f} TFLOPS")


if __name__ == "__main__":
    main()
