# SPDX-License-Identifier: Apache-2.0
"""What a count costs in Python, beside verl's and Megatron-Bridge's counters in the same run.

    python tests/benchmark/python_flops.py

Prints the tables of docs/performance.md as they stand there: the median of 21 repetitions, in microseconds a call, with
the commit of this file's repository, of which the installed floptally has to be. The other counters
are imported from their own packages (`pip install --no-deps verl megatron-bridge`, and of verl's dependencies
`ray tensordict codetiming omegaconf …`); what cannot be imported is left out with the reason. Of Megatron-Bridge only
the file with the formula is run, because the package itself imports transformer-engine and mamba-ssm, which need CUDA:
the classes that the file imports for type checks stand empty.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pathlib
import random
import statistics
import subprocess
import sys
import timeit
import types
from collections.abc import Callable
from typing import Any

import numpy

import floptally

LLAMA_3_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}


def microseconds(call: Callable[[], Any], repetitions: int = 21) -> float:
    """The median of repetitions that take two milliseconds each, or one call."""
    call()
    once = min(timeit.repeat(call, number=1, repeat=5))
    number = max(1, min(10000, int(0.002 / once)))
    return statistics.median(timeit.repeat(call, number=number, repeat=repetitions)) / number * 1e6


SIZES = (1, 16, 4096)


def figure(taken: float) -> str:
    return f"{taken:.0f}" if taken >= 10 else f"{taken:.1f}"


def table(title: str, rows: dict[str, list[str]]) -> None:
    """A row for each thing that is timed, a column for each number of sequences."""
    print(f"\n| `python_flops.py`: {title} | 1 sequence | 16 | 4096 |\n| --- | ---: | ---: | ---: |")
    for name, figures in rows.items():
        print(f"| {name} | {' | '.join(figures)} |", flush=True)


def verl_counter() -> Any:
    import transformers
    from verl.utils import flops_counter

    # Its count ends with a look-up of the GPU's peak, which fails without one.
    flops_counter.get_device_flops = lambda *_, **__: 1.0
    fields = {key: value for key, value in LLAMA_3_8B.items() if key != "model_type"}
    return flops_counter.FlopsCounter(transformers.LlamaConfig(**fields))


def megatron_bridge_formula() -> Callable[[Any, int], Any]:
    """`num_floating_point_operations` of megatron/bridge/training/utils/flop_utils.py, its file as it is."""
    files = importlib.metadata.files("megatron-bridge") or []

    def run(end: str, name: str) -> types.ModuleType:
        path = next(pathlib.Path(str(one.locate())) for one in files if str(one).endswith(end))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def empty(name: str, *members: str) -> None:
        module = types.ModuleType(name)
        for member in members:
            setattr(module, member, type(member, (), {}))
        sys.modules[name] = module

    for package in ("megatron.bridge", "megatron.bridge.data", "megatron.bridge.data.datasets", "megatron.bridge.peft"):
        empty(package)
    for package in ("megatron.bridge.training", "megatron.bridge.utils"):
        empty(package)
    empty("megatron.bridge.data.datasets.packing_utils", "calculate_avg_seqlen")
    empty("megatron.bridge.peft.lora", "LoRA")
    empty("megatron.bridge.training.config", "ConfigContainer")
    empty("megatron.bridge.utils.common_utils", "print_rank_0")
    run("bridge/utils/vocab_utils.py", "megatron.bridge.utils.vocab_utils")
    formula = run("bridge/training/utils/flop_utils.py", "flop_utils").num_floating_point_operations
    return formula  # type: ignore[no-any-return]


def megatron_config(length: int) -> Any:
    """Llama-3-8B as Megatron-Bridge names it."""
    import torch

    model = types.SimpleNamespace(
        num_layers=32,
        hidden_size=4096,
        ffn_hidden_size=14336,
        num_attention_heads=32,
        num_query_groups=8,
        kv_channels=128,
        seq_length=length,
        vocab_size=128256,
        make_vocab_size_divisible_by=128,
        tensor_model_parallel_size=1,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        num_moe_experts=None,
        moe_ffn_hidden_size=None,
        moe_shared_expert_intermediate_size=None,
        mtp_num_layers=None,
        multi_latent_attention=False,
    )
    return types.SimpleNamespace(model=model)


def counts() -> None:
    cost = floptally.cost(LLAMA_3_8B)
    rows: dict[str, list[str]] = {}
    base: list[float] = []

    def timed(name: str, column: int, call: Callable[[], Any], *, is_other: bool = False) -> None:
        taken = microseconds(call)
        if column == len(base):
            base.append(taken)
        ratio = taken / base[column]
        of_ours = f" ({ratio:.1f} x)" if ratio >= 0.1 else f" ({ratio:.2f} x)"
        rows.setdefault(name, []).append(figure(taken) + (of_ours if is_other else ""))

    left_out = []
    generator = random.Random(0)
    for column, sequences in enumerate(SIZES):
        lengths = [generator.randrange(1, 8192) for _ in range(sequences)]
        array = numpy.array(lengths, numpy.int32)
        timed("`floptally.flops(cost, lengths=list)`", column, lambda: floptally.flops(cost, lengths=lengths).total)
        timed("`floptally.flops(cost, lengths=array)`", column, lambda: floptally.flops(cost, lengths=array).total)
        timed(
            "`floptally.flops(config, lengths=list)`: reads the config again",
            column,
            lambda: floptally.flops(LLAMA_3_8B, lengths=lengths).total,
        )
        try:
            counter = verl_counter()
            theirs = counter.estimate_flops(lengths, 1.0)[0]
            ours = floptally.flops(cost, lengths=lengths, convention="verl").total / 1e12
            assert abs(theirs - ours) <= 1e-9 * ours, (theirs, ours)
            name = "verl `FlopsCounter.estimate_flops(list)`"
            timed(name, column, lambda: counter.estimate_flops(lengths, 1.0), is_other=True)
        except ImportError as missing:
            left_out.append(f"verl cannot be imported: {missing}")
        try:
            formula, config = megatron_bridge_formula(), megatron_config(8192)
            theirs = formula(config, sequences)
            ours = floptally.flops(cost, lengths=[8192] * sequences, convention="megatron").total
            assert abs(theirs - ours) <= 1e-9 * ours, (theirs, ours)
            name = "Megatron-Bridge's formula: one length for all"
            timed(name, column, lambda: formula(config, sequences), is_other=True)
        except (ImportError, StopIteration) as missing:
            left_out.append(f"Megatron-Bridge's formula cannot be imported: {missing!r}")
    table("FLOPs of a step", rows)
    print("\n".join(dict.fromkeys(left_out)))


def microbatches() -> None:
    window = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 4096}
    dense, windowed = (
        floptally.Meter(floptally.cost(config), gpus=8, counted="all_gpus", accelerator="H100 SXM")
        for config in (LLAMA_3_8B, {**LLAMA_3_8B, **window})
    )
    rows: dict[str, list[str]] = {}

    def timed(name: str, meter: floptally.Meter, bounds: Any) -> None:
        meter.begin_step()
        rows.setdefault(name, []).append(figure(microseconds(lambda: meter.add(cu_seqlens=bounds))))
        meter.discard_step()

    for sequences in SIZES:
        generator = random.Random(0)
        bounds = [0]
        for _ in range(sequences):
            bounds.append(bounds[-1] + generator.randrange(1, 8192))
        timed("a list", dense, bounds)
        timed("NumPy int32", dense, numpy.array(bounds, numpy.int32))
        timed("NumPy int64", dense, numpy.array(bounds, numpy.int64))
        try:
            import torch

            timed("a torch int32 tensor, through DLPack", dense, torch.tensor(bounds, dtype=torch.int32))
        except ImportError as missing:
            print(f"torch cannot be imported: {missing}")
        timed("with a sliding window: NumPy int32", windowed, numpy.array(bounds, numpy.int32))
    table("`meter.add(cu_seqlens=…)`, a microbatch", rows)
    print(f"\nA step of one microbatch, begin_step, one add, end_step: {figure(microseconds(lambda: whole_step(dense)))} µs.")


def whole_step(meter: floptally.Meter, bounds: Any = numpy.arange(0, 17 * 512, 512, dtype=numpy.int32)) -> None:
    meter.begin_step()
    meter.add(cu_seqlens=bounds)
    meter.end_step(seconds=1.0)


if __name__ == "__main__":
    where = pathlib.Path(__file__).parent
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=where, capture_output=True, text=True, check=False)
    print(f"Commit {commit.stdout.strip()}, floptally {floptally.__version__} at {floptally.__file__}.")
    counts()
    microbatches()
