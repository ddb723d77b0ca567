# SPDX-License-Identifier: Apache-2.0
"""The cost of a count in Python, beside a formula by hand and verl's and Megatron-Bridge's counters in the same run.

    python tests/benchmark/python_flops.py

Prints tables of which docs/contributing.md has some rows: the least of 41 repetitions, in microseconds a call, in one process on one core,
with the commit of this file's repository, of which the installed floptally has to be.
The other counters are imported from their own packages (`pip install --no-deps verl megatron-bridge`, and of verl's
dependencies `ray tensordict codetiming omegaconf …`); what cannot be imported is left out with the reason. Of
Megatron-Bridge only the file with the formula is run, because the package itself imports transformer-engine and
mamba-ssm, which need CUDA: the classes that the file imports for type checks stand empty.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import os
import pathlib
import random
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


#: Targets of the library, in microseconds on the machine of docs/contributing.md.
TARGETS = {
    "cost.flops(lengths=list)": 2.3,
    "cost.flops(lengths=list, plan=lora)": 2.3,
    "floptally.flops(cost, lengths=list)": 2.6,
    "floptally.flops(cost, lengths=list, plan=lora)": 2.6,
    "cost.total_flops(lengths=NumPy)": 1.2,
    "meter.add(cu_seqlens=NumPy)": 1.5,
    "meter.add(cu_seqlens=torch)": 2.5,
    "meter.scalars('run') of 1000 steps": 20.0,
    "meter.scalars('run'), a budget and a second convention": 20.0,
    "breakdown.statistics": 5.0,
    "cost.sample_flops(list of 4096)": 100.0,
}


def microseconds(call: Callable[[], Any], repetitions: int = 41) -> float:
    """The least of repetitions that take two milliseconds each, or one call."""
    call()
    once = min(timeit.repeat(call, number=1, repeat=5))
    number = max(1, min(10000, int(0.002 / once)))
    return min(timeit.repeat(call, number=number, repeat=repetitions)) / number * 1e6


def figure(taken: float) -> str:
    return f"{taken:.2f}" if taken < 9.95 else f"{taken:.1f}" if taken < 99.5 else f"{taken:.0f}"


def row(name: str, *cells: str) -> None:
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def by_hand(lengths: list[int]) -> int:
    """Llama-3-8B's useful FLOPs as one would write them into a training script."""
    hidden, ffn, layers, keys, vocabulary = 4096, 14336, 32, 1024, 128256
    tokens = sum(lengths)
    weights = layers * (hidden * (2 * hidden + 2 * keys) + 3 * hidden * ffn) + hidden * vocabulary
    return 6 * tokens * weights + 6 * layers * hidden * sum(length * (length + 1) for length in lengths)


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


SIZES = (1, 16, 4096)


def lengths_of(sequences: int) -> list[int]:
    generator = random.Random(0)
    return [generator.randrange(1, 8192) for _ in range(sequences)]


def calls() -> None:
    """Every kind of call, of one sequence: what it takes beside the formula."""
    cost = floptally.cost(LLAMA_3_8B)
    frozen = floptally.WeightSetting("*", "frozen")
    lora = floptally.Plan(weights=[frozen, floptally.WeightSetting("attention.qkv/q_proj", "lora", rank=16)])
    meter = floptally.Meter(cost, gpus=8, counted="all_gpus", accelerator="H100 SXM")
    meter.begin_step()
    thousand, most = meter_of(cost), meter_of(cost, beside="megatron")
    most.set_budget(steps=5000, tokens=10**12)
    lengths, many = lengths_of(1), lengths_of(4096)
    array, bounds = numpy.array(lengths), numpy.array([0, *lengths], numpy.int32)
    work = cost.flops(lengths=lengths)
    assert by_hand(lengths) == work.total == cost.total_flops(lengths=array)
    every: dict[str, Callable[[], Any]] = {
        "a formula by hand, of a list": lambda: by_hand(lengths),
        "cost.total_flops(lengths=list)": lambda: cost.total_flops(lengths=lengths),
        "cost.total_flops(lengths=NumPy)": lambda: cost.total_flops(lengths=array),
        "cost.flops(lengths=list)": lambda: cost.flops(lengths=lengths),
        "cost.flops(lengths=NumPy)": lambda: cost.flops(lengths=array),
        "cost.flops(lengths=list, plan=lora)": lambda: cost.flops(lengths=lengths, plan=lora),
        "floptally.flops(cost, lengths=list)": lambda: floptally.flops(cost, lengths=lengths),
        "floptally.flops(cost, lengths=list, plan=lora)": lambda: floptally.flops(cost, lengths=lengths, plan=lora),
        "meter.add(cu_seqlens=NumPy)": lambda: meter.add(cu_seqlens=bounds),
        "meter.scalars('run') of 1000 steps": lambda: thousand.scalars("run"),
        "meter.scalars('run'), a budget and a second convention": lambda: most.scalars("run"),
        "breakdown.statistics": lambda: work.statistics,
        "cost.sample_flops(list of 4096)": lambda: cost.sample_flops(many),
    }
    try:
        import torch

        tensor = torch.tensor([0, *lengths], dtype=torch.int32)
        every["meter.add(cu_seqlens=torch)"] = lambda: meter.add(cu_seqlens=tensor)
    except ImportError as missing:
        print(f"torch cannot be imported: {missing}")
    print("| `python_flops.py`: one call | microseconds | of the formula | target |\n| --- | ---: | ---: | ---: |")
    base = 0.0
    for name, call in every.items():
        taken = microseconds(call)
        base = base or taken
        ratio = "" if "4096" in name else f"{taken / base:.1f} x"
        row(f"`{name}`" if "(" in name or "." in name else name, figure(taken), ratio, f"{TARGETS.get(name, '')}")


def meter_of(cost: floptally.Cost, **options: Any) -> floptally.Meter:
    """Returns a meter with all that it can log, after 1000 steps."""
    meter = floptally.Meter(cost, gpus=8, counted="all_gpus", accelerator="H100 SXM", **options)
    for place in range(1000):
        meter.begin_step()
        meter.add(lengths=[1000 + place % 7, 500])
        meter.end_step(seconds=1.0 + place % 5 / 100)
    return meter


def counts() -> None:
    cost = floptally.cost(LLAMA_3_8B)
    batches = [lengths_of(sequences) for sequences in SIZES]
    print("\n| `python_flops.py`: FLOPs of a step | 1 sequence | 16 | 4096 |\n| --- | ---: | ---: | ---: |")
    base = [microseconds(lambda lengths=lengths: floptally.flops(cost, lengths=lengths).total) for lengths in batches]
    row("`floptally.flops(cost, lengths=list)`", *map(figure, base))
    arrays = [numpy.array(lengths, numpy.int32) for lengths in batches]
    row("`floptally.flops(cost, lengths=array)`",
        *(figure(microseconds(lambda array=array: floptally.flops(cost, lengths=array).total)) for array in arrays))
    row("`floptally.flops(config, lengths=list)`: reads the config again",
        *(figure(microseconds(lambda lengths=lengths: floptally.flops(LLAMA_3_8B, lengths=lengths).total)) for lengths in batches))

    def others(name: str, taken: list[float]) -> None:
        row(name, *(f"{figure(one)} ({one / own:.1f} x)" for one, own in zip(taken, base, strict=True)))

    try:
        counter = verl_counter()
        for lengths in batches:
            theirs = counter.estimate_flops(lengths, 1.0)[0]
            ours = floptally.flops(cost, lengths=lengths, convention="verl").total / 1e12
            assert abs(theirs - ours) <= 1e-9 * ours, (theirs, ours)
        others("verl `FlopsCounter.estimate_flops(list)`",
               [microseconds(lambda lengths=lengths: counter.estimate_flops(lengths, 1.0)) for lengths in batches])
    except ImportError as missing:
        print(f"verl cannot be imported: {missing}")
    try:
        formula, config = megatron_bridge_formula(), megatron_config(8192)
        for size in SIZES:
            theirs = formula(config, size)
            ours = floptally.flops(cost, lengths=[8192] * size, convention="megatron").total
            assert abs(theirs - ours) <= 1e-9 * ours, (theirs, ours)
        others("Megatron-Bridge's formula: one length for all",
               [microseconds(lambda size=size: formula(config, size)) for size in SIZES])
    except (ImportError, StopIteration) as missing:
        print(f"Megatron-Bridge's formula cannot be imported: {missing!r}")


def microbatches() -> None:
    print("\n| `python_flops.py`: `meter.add(cu_seqlens=…)`, a microbatch | 1 sequence | 16 | 4096 |\n| --- | ---: | ---: | ---: |")
    window = {**LLAMA_3_8B, "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 4096}
    batches = [[0, *itertools.accumulate(lengths_of(sequences))] for sequences in SIZES]
    forms: dict[str, Callable[[list[int]], Any]] = {
        "a list": lambda bounds: bounds,
        "NumPy int32": lambda bounds: numpy.array(bounds, numpy.int32),
        "NumPy int64": lambda bounds: numpy.array(bounds, numpy.int64),
    }
    try:
        import torch

        forms["a torch int32 tensor"] = lambda bounds: torch.tensor(bounds, dtype=torch.int32)
    except ImportError as missing:
        print(f"torch cannot be imported: {missing}")
    for config, before, chosen in ((LLAMA_3_8B, "", list(forms)), (window, "with a sliding window: ", ["NumPy int32"])):
        meter = floptally.Meter(floptally.cost(config), gpus=8, counted="all_gpus", accelerator="H100 SXM")
        meter.begin_step()
        for form in chosen:
            given = [forms[form](bounds) for bounds in batches]
            row(before + form, *(figure(microseconds(lambda one=one: meter.add(cu_seqlens=one))) for one in given))
        meter.discard_step()
        row(f"{before}begin_step, one add, end_step", figure(microseconds(lambda: whole_step(meter))), "", "")


def whole_step(meter: floptally.Meter, bounds: Any = numpy.arange(0, 17 * 512, 512, dtype=numpy.int32)) -> None:
    meter.begin_step()
    meter.add(cu_seqlens=bounds)
    meter.end_step(seconds=1.0)


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    where = pathlib.Path(__file__).parent
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=where, capture_output=True, text=True, check=False)
    print(f"Commit {commit.stdout.strip()}, floptally {floptally.__version__} at {floptally.__file__}.\n")
    calls()
    counts()
    microbatches()
