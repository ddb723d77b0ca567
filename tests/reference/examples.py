# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/reference/ in Python. Each begins with a line `example NAME`; what it prints stands behind `output`.
tests/python/test_readme.py runs them as the pages show them, in the folder of the clone."""

import floptally

# example cost
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
print(model.model_type, model.parameters)
print(model.components)
small = floptally.cost({"model_type": "llama", "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 4096,
                        "num_hidden_layers": 16, "num_attention_heads": 16, "architectures": ["LlamaForCausalLM"]})
print(small.parameters)
# output
# mistral 7241732096
# ['attention.qkv', 'attention.core', 'attention.output', 'mlp', 'norm', 'lm_head', 'embedding']
# 334005248

# example Meter
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
meter = floptally.Meter(model, gpus=1, accelerator="H100 SXM")
for microbatches in ([[0, 700, 6000, 8100], [0, 8192]], [[0, 8192], [0, 8192]]):
    with meter.step(seconds=2.0):  # without seconds the clock measures the step
        for cu_seqlens in microbatches:
            meter.add(cu_seqlens=cu_seqlens)
print(f"{meter.last_step.mfu:.2%} of the last step, {meter.run.mfu:.2%} of the run")
scalars = meter.scalars()
print({name: round(scalars[name], 2) for name in ("train/mfu_pct", "train/hfu_pct", "train/tokens_per_second")})
# output
# 39.34% of the last step, 38.87% of the run
# {'train/mfu_pct': 38.87, 'train/hfu_pct': 39.47, 'train/tokens_per_second': 8169.0}

# example flops
work = floptally.flops("examples/data/mistral-7b-v0.1.json", lengths=[512, 1024, 9000])
print(work.total, work.useful.components["attention.core"].total)
# output
# 495313798299648 45823140298752

# example Cost
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
for entry in model.entries[:3]:
    print(entry.component, entry.unit, entry.kind, entry.flops_per_unit)
print(model.total_flops(lengths=[4096]), model.sample_flops([100, 4096]))
own = floptally.Cost.from_entries([("encoder", "tokens", "linear", 2 * 1024 * 4096)])
print(own.flops(lengths=[100]).total)  # forward, and twice that backward
# output
# attention.qkv tokens linear 1073741824
# attention.qkv tokens linear 268435456
# attention.qkv tokens linear 268435456
# 187942400163840 [4274179276800, 187942400163840]
# 2516582400

# example Tally
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
step = floptally.Tally(model.masks)
step.add_cu_seqlens([0, 700, 6000, 8100])
step.add_padded([3000, 4096], row_length=4096)
print(step.tokens, step.get("tokens", "padded"), step.get("squares"))
print(model.flops(tally=step).total)
# output
# 15196 16292 58767216
# 693384668774400

# example Breakdown
work = floptally.cost("examples/data/mistral-7b-v0.1.json").flops(lengths=[3000], row_length=4096)
print(work.total, work.padded_total, work.executed_total)
mlp = work.useful.components["mlp"]
print(mlp.forward, mlp.backward, mlp.recompute)
rates = work.measure(0.45, gpus=1, accelerator="H100 SXM")
print(f"MFU {rates.mfu:.2%}, HFU {rates.hfu:.2%}, {rates.tflops_per_gpu:.1f} TFLOP/s per GPU")
# output
# 135067336704000 187942400163840 190141960290304
# 33822867456000 67645734912000 0
# MFU 30.35%, HFU 42.72%, 300.1 TFLOP/s per GPU

# example Plan
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
frozen = floptally.WeightSetting("*", state="frozen")
adapters = floptally.WeightSetting("attention.*", state="lora", rank=16)
for plan in (floptally.Plan(), floptally.Plan(recompute="full"), floptally.Plan(weights=[frozen, adapters])):
    work = model.flops(lengths=[4096], plan=plan)
    print(work.total, work.executed_total)
# output
# 187942400163840 190141960290304
# 187942400163840 251715685187584
# 129821292101632 132020852228096

# example Mask
print(floptally.Mask.causal().pairs(1000), floptally.Mask.sliding_window(256).pairs(1000))
every_other = floptally.Mask.from_callable("every_other", lambda length, past, keys: length * length // 2)
print(every_other.pairs(1000), every_other.name)
# output
# 500500 223360
# 500000 every_other

# example conventions
model = floptally.cost("examples/data/mistral-7b-v0.1.json")
for convention in floptally.conventions()[:3]:
    print(convention.name, model.total_flops(lengths=[8192], convention=convention), convention.summary)
# output
# exact 389075718635520 every matmul of the step, attention over the attended pairs
# megatron 402266636943360 6 x matmul weights x tokens + causal attention as L²/2; no router, windows ignored
# megatron_2026_10 402266636943360 as megatron; the best K keys as LK − K²/2, indexers as the plan trains them, without a teacher

# example accelerator
part = floptally.accelerator("NVIDIA H100 80GB HBM3")
print(part.name, part.peak_tflops(), part.peak_tflops("fp8"), part.memory_gib)
# output
# H100 SXM 989.0 1978.9 {'H100 SXM': 80.0, 'NVIDIA H100 80GB HBM3': 80.0}

# example from_torch
import torch

with torch.device("meta"):
    layer = torch.nn.TransformerEncoderLayer(512, 8, batch_first=True)
cost = floptally.from_torch(layer, lambda batch, length: torch.zeros(batch, length, 512))
print(cost.flops(lengths=[100, 2000]).total)
# output
# 60970598400

# example Totals
meter = floptally.Meter(floptally.cost("examples/data/mistral-7b-v0.1.json"), gpus=8, counted="all_gpus", peak_tflops=989)
for seconds in (0.25, 0.2, 0.3):
    with meter.step(seconds):
        meter.add(lengths=[4096, 4096, 3000, 5000])
run = meter.run
print(run.steps, run.seconds, run.tokens, run.useful)
print(f"{run.mfu:.2%}, {run.tokens_per_second:.0f} tokens/s, {run.tflops_per_gpu:.1f} TFLOP/s per GPU")
# output
# 3 0.75 48576 2229855867371520
# 37.58%, 64768 tokens/s, 371.6 TFLOP/s per GPU

# example readable
print(floptally.readable(370374931906560), floptally.readable(370374931906560, unit="macs"))
# output
# 370.37 TFLOP 185.19 TMAC

# example expect
found = floptally.expect("examples/data/mistral-7b-v0.1.json", accelerator="H100 SXM", mfu=0.41, lengths=[8192])
print(f"{found.low:.1%} to {found.high:.1%}, median {found.median:.1%}, {found.below} of {len(found.runs)} are lower")
print(found.runs[0].model, found.runs[0].accelerator, f"{found.runs[0].mfu:.1%}")
# output
# 34.6% to 55.4%, median 37.0%, 12 of 20 are lower
# Llama 3 8B H100 SXM 55.6%

# example Error
try:
    floptally.cost("examples/data/mistral-7b-v0.1.json").flops(lengths=[100, -1])
except floptally.Error as error:
    print(error)
# output
# lengths[1]: must be at least 0, got -1
