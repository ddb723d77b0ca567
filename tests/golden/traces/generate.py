# SPDX-License-Identifier: Apache-2.0
"""The trace of a real training step on a CPU, and where its time went, found another way than the library's.

    generate.py --record    a new cpu_step.json of torch.profiler, cut to what says where time went, and its numbers
    generate.py             the numbers of the trace that is there
    generate.py --check     whether they are those of cpu_step_times.json; needs no PyTorch

The numbers go moment by moment: between any two times at which something begins or ends, of each thread the operator
that contains all of the moment and begins last is what runs. Nothing nests, no stack is kept, and the components of this
one model are listed by their whole paths. The trace of a GPU was made by hand; its numbers go moment by moment too, and
count in halves of a nanosecond, since two streams share one.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRACE = HERE / "cpu_step.json"
TIMES = HERE / "cpu_step_times.json"
GPU_TRACE = HERE / "gpu_step.json"
GPU_TIMES = HERE / "gpu_step_times.json"

MODEL = "TinyForCausalLM"
LAYER = f"{MODEL}/TinyModel/TinyDecoderLayer"
COMPONENTS = {
    f"{MODEL}/Linear": "lm_head",
    f"{MODEL}/TinyModel/Embedding": "embedding",
    f"{MODEL}/TinyModel/TinyRMSNorm": "norm",
    f"{LAYER}/TinyRMSNorm": "norm",
    f"{LAYER}/TinyAttention": "attention.core",
    f"{LAYER}/TinyAttention/Linear": "attention.qkv+attention.output",
    f"{LAYER}/TinyMLP": "mlp",
    f"{LAYER}/TinyMLP/Linear": "mlp",
}


def record() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.set_num_threads(1)
    torch.manual_seed(0)

    class TinyRMSNorm(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.rms_norm(x, self.weight.shape, self.weight)

    class TinyAttention(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(self, name, nn.Linear(width, width, bias=False))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            def split(y: torch.Tensor) -> torch.Tensor:
                return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)

            q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o_proj(y.transpose(1, 2).reshape(x.shape))

    class TinyMLP(nn.Module):
        def __init__(self, width: int, inner: int) -> None:
            super().__init__()
            self.gate_proj = nn.Linear(width, inner, bias=False)
            self.up_proj = nn.Linear(width, inner, bias=False)
            self.down_proj = nn.Linear(inner, width, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))

    class TinyDecoderLayer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.input_layernorm, self.post_attention_layernorm = TinyRMSNorm(64), TinyRMSNorm(64)
            self.self_attn, self.mlp = TinyAttention(64, 4), TinyMLP(64, 176)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.self_attn(self.input_layernorm(x))
            return x + self.mlp(self.post_attention_layernorm(x))

    class TinyModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed_tokens = nn.Embedding(320, 64)
            self.layers = nn.ModuleList([TinyDecoderLayer()])
            self.norm = TinyRMSNorm(64)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.embed_tokens(ids)
            for layer in self.layers:
                x = layer(x)
            return self.norm(x)

    class TinyForCausalLM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = TinyModel()
            self.lm_head = nn.Linear(64, 320, bias=False)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.lm_head(self.model(ids))

    model = TinyForCausalLM()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    ids = torch.randint(0, 320, (2, 128))
    whole = HERE / "whole.json"
    with profile(
        activities=[ProfilerActivity.CPU], with_stack=True, schedule=schedule(wait=0, warmup=3, active=1, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(whole)),
    ) as profiler:  # fmt: skip
        for _ in range(4):
            loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    cut(json.loads(whole.read_text(), parse_float=Decimal), torch.__version__)
    whole.unlink()


def cut(whole: dict[str, Any], version: str) -> None:
    """Only events that say where time went, with the arguments that do, timed from just before the step."""
    kept = []
    for event in whole["traceEvents"]:
        cat = event.get("cat")
        module = cat == "python_function" and event["name"].startswith("nn.Module: ")
        if not (module or cat in ("cpu_op", "user_annotation", "fwdbwd")):
            continue
        args = {name: event["args"][name] for name in ("Sequence number", "Fwd thread id") if name in event.get("args", {})}
        one = {key: event[key] for key in ("ph", "cat", "name", "id", "pid", "tid", "ts", "dur") if key in event}
        kept.append({**one, "args": args} if args and cat == "cpu_op" else one)
    kept = [one for one in kept if not is_inside(one, kept)]
    marks = [one for one in kept if one["name"].startswith("ProfilerStep#")]
    first = min(Decimal(one["ts"]) for one in marks) - 1000
    pid = marks[0]["pid"]
    for one in kept:
        one["ts"] = Decimal(one["ts"]) - first
        one["tid"] = one["tid"] - pid + 1000
        one["pid"] = 1000
        for time in ("ts", "dur"):
            if time in one:
                one[time] = float(one[time])
    head = {"schemaVersion": whole["schemaVersion"], "recorded_with": f"torch {version}, CPU, 1 thread, cut"}
    events = ",\n".join(json.dumps(one, separators=(",", ":")) for one in kept)
    TRACE.write_text(json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + events + "\n]}\n")


def is_inside(one: dict[str, Any], others: list[dict[str, Any]]) -> bool:
    """Whether it is a step of another operator and says nothing that the other does not."""
    return one["cat"] == "cpu_op" and "args" not in one and one["name"].startswith("aten::") and any(
        other["cat"] == "cpu_op" and other is not one and other["tid"] == one["tid"] and other["ts"] <= one["ts"]
        and one["ts"] + one["dur"] <= other["ts"] + other["dur"] for other in others
    )  # fmt: skip


def nanoseconds(value: Decimal | int) -> int:
    return int(Decimal(value) * 1000)


class Event:
    def __init__(self, fields: dict[str, Any]) -> None:
        args = fields.get("args", {})
        self.cat, self.name, self.tid = fields["cat"], fields["name"], fields["tid"]
        self.begin = nanoseconds(fields["ts"])
        self.end = self.begin + nanoseconds(fields["dur"])
        self.sequence, self.forward_thread = args.get("Sequence number"), args.get("Fwd thread id", 0)

    def covers(self, begin: int, end: int) -> bool:
        return self.begin <= begin and self.end >= end


def times() -> dict[str, Any]:
    content = json.loads(TRACE.read_text(), parse_float=Decimal)
    events = [Event(one) for one in content["traceEvents"] if one["ph"] == "X"]
    (mark,) = [one for one in events if one.name.startswith("ProfilerStep#")]
    forward = [one for one in events if one.cat == "cpu_op" and one.sequence is not None and not one.forward_thread]

    def around(tid: int, begin: int, end: int) -> list[Event]:
        """From outside to inside."""
        found = [one for one in events if one.tid == tid and one.covers(begin, end)]
        return sorted(found, key=lambda one: (one.begin, -one.end))

    def run_at(tid: int, begin: int, end: int) -> tuple[str, str] | None:
        inside = around(tid, begin, end)
        if not any(one.cat == "cpu_op" for one in inside):
            return None
        for one in inside:
            if one.name.startswith("Optimizer."):
                return "optimizer", "forward"
            if "torch::autograd::AccumulateGrad" in one.name:
                return "gradient accumulation", "forward"
        backward = [one for one in inside if one.forward_thread]
        if backward:
            made = [one for one in forward if one.sequence == backward[-1].sequence and one.end <= backward[-1].begin]
            if not made:
                return "not attributed", "forward"
            last = max(made, key=lambda one: one.begin)
            found = run_at(last.tid, last.begin, last.end)
            return ("not attributed", "forward") if found is None or found[0] == "not attributed" else (found[0], "backward")
        path = [one.name[len("nn.Module: ") :].rpartition("_")[0] for one in inside if one.cat == "python_function"]
        return COMPONENTS.get("/".join(path), "not attributed"), "forward"

    taken: dict[tuple[str, str], int] = defaultdict(int)
    threads = {one.tid for one in events if one.cat == "cpu_op"}
    edges = sorted({edge for one in events for edge in (one.begin, one.end)} | {mark.begin, mark.end})
    for begin, end in zip(edges, edges[1:]):
        if begin < mark.begin or end > mark.end:
            continue
        runs = [run for run in (run_at(tid, begin, end) for tid in sorted(threads)) if run is not None]
        assert len(runs) <= 1, "two threads at once: not in this trace"
        taken[runs[0] if runs else ("no operator runs", "forward")] += end - begin
    return {
        "nanoseconds": mark.end - mark.begin,
        "times": [
            {"part": part, "pass": during, "nanoseconds": taken[part, during]} for part, during in sorted(taken)
        ],
    }


GPU_PATHS = {
    "LlamaForCausalLM/LlamaAttention/Linear": "attention.qkv+attention.output",
    "LlamaForCausalLM/LlamaAttention": "attention.core",
    "LlamaForCausalLM/LlamaMLP/Linear": "mlp",
    "LlamaMLP": "mlp",
}


def gpu_times() -> dict[str, Any]:
    content = json.loads(GPU_TRACE.read_text(), parse_float=Decimal)["traceEvents"]
    spans = [one for one in content if one["ph"] == "X"]

    def begin(one: dict[str, Any]) -> int:
        return nanoseconds(one["ts"])

    def end(one: dict[str, Any]) -> int:
        return begin(one) + nanoseconds(one["dur"])

    (mark,) = [one for one in spans if one["name"].startswith("ProfilerStep#") and one["cat"] == "user_annotation"]
    linked = {"s": {}, "f": {}}  # of fwdbwd: which operator is whose backward
    for one in content:
        if one.get("cat") == "fwdbwd":
            linked[one["ph"]][one["id"]] = (one["tid"], begin(one))
    forward_threads = {tid for tid, _ in linked["s"].values()}

    def launch(kernel: dict[str, Any]) -> dict[str, Any] | None:
        args = kernel["args"]
        for one in spans:
            if one["cat"].startswith("cuda_") and one["cat"] != "cuda_sync" and one["args"]["correlation"] == args["correlation"]:
                return one
        for one in spans:
            if one["cat"] == "cpu_op" and one["args"].get("External id") == args.get("External id", -1):
                return one
        return None

    def inside_of(place: dict[str, Any]) -> list[dict[str, Any]]:
        found = [one for one in spans if one["tid"] == place["tid"] and begin(one) <= begin(place) and end(one) >= end(place)]
        return sorted(found, key=lambda one: (begin(one), -end(one)))

    def part_of(place: dict[str, Any]) -> tuple[str, str]:
        inside = inside_of(place)
        names = [one["name"] for one in inside]
        if any(name.startswith("Optimizer.") for name in names):
            return "optimizer", "forward"
        if any("AccumulateGrad" in name for name in names):
            return "gradient accumulation", "forward"
        backward = [one for one in inside if one["cat"] == "cpu_op" and one["args"].get("Fwd thread id")]
        if backward:
            made = [one for one in spans if one["cat"] == "cpu_op" and one["tid"] in forward_threads
                    and one["args"].get("Sequence number") == backward[-1]["args"]["Sequence number"]]  # fmt: skip
            return part_of(max(made, key=begin))[0], "backward"
        path = "/".join(
            name[len("nn.Module: ") :].rpartition("_")[0] for name in names if name.startswith("nn.Module: ")
        )
        return GPU_PATHS.get(path, "not attributed"), "forward"

    kernels = []
    for one in spans:
        if one["cat"] in ("kernel", "gpu_memcpy"):
            place = launch(one)
            is_copy, sends = one["cat"] == "gpu_memcpy", one["name"].startswith("nccl")
            part = ("copies", "forward") if is_copy else ("communication", "forward") if sends else (
                part_of(place) if place else ("not attributed", "forward"))  # fmt: skip
            of_step = place is None or begin(mark) <= begin(place) < end(mark)
            kernels.append((begin(one), end(one), is_copy or sends, part, of_step))
    first = max(until for _, until, _, _, of_step in kernels if not of_step)
    last = max(until for _, until, _, _, of_step in kernels if of_step)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    edges = sorted({edge for one in kernels for edge in one[:2] if first <= edge <= last})
    for since, until in zip(edges, edges[1:]):
        runs = [one for one in kernels if one[4] and one[0] <= since and one[1] >= until]
        computes = [one for one in runs if not one[2]] or runs
        for one in computes:
            taken[one[3]] += 2 * (until - since) // len(computes)
        if not computes:
            taken["no kernel runs", "forward"] += 2 * (until - since)
    assert all(time % 2 == 0 for time in taken.values())
    return {
        "nanoseconds": last - first,
        "times": [
            {"part": part, "pass": during, "nanoseconds": time // 2} for (part, during), time in sorted(taken.items())
        ],
    }


def main() -> int:
    if "--record" in sys.argv:
        record()
    same = True
    for path, numbers in ((TIMES, times()), (GPU_TIMES, gpu_times())):
        text = json.dumps(numbers, indent=1) + "\n"
        if "--check" in sys.argv:
            same = same and path.exists() and text == path.read_text()
        else:
            path.write_text(text)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
