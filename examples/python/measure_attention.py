# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's attention over batch sizes and sequence lengths, for the heatmap of `floptally.plots`.

    python examples/python/measure_attention.py --batch-sizes 1,2,4 --lengths 128,256,512 --out attention.json
    python -c "import floptally.plots as p; p.kernel_heatmap('attention.json', path='attention')"

Forward, backward and both are timed apart, each as the median of some repeats. A cell that does not fit into memory is
written as missing, with the reason.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


def median_milliseconds(prepare: Callable[[], Callable[[], object]], args: argparse.Namespace) -> float:
    """Seconds of what `prepare()` returns, whose own time does not count; once more before, to warm up."""
    device, repeats = args.device, args.repeats
    clock = time.process_time if args.cpu_time else time.perf_counter
    taken = []
    for index in range(repeats + 1):
        timed = prepare()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        start = clock()
        timed()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if index > 0:
            taken.append(1e3 * (clock() - start))
    return statistics.median(taken)


def measured(batch: int, length: int, args: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of one cell, phase by phase."""
    shape = (batch, args.num_heads, length, args.head_dim)
    q, k, v = (torch.randn(shape, device=args.device, dtype=args.dtype, requires_grad=True) for _ in range(3))
    gradient = torch.randn(shape, device=args.device, dtype=args.dtype)

    def forward() -> torch.Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    def ready_backward() -> Callable[[], object]:
        output = forward()
        return lambda: torch.autograd.grad(output, (q, k, v), gradient)

    return {
        "fwd": median_milliseconds(lambda: forward, args),
        "bwd": median_milliseconds(ready_backward, args),
        "e2e": median_milliseconds(
            lambda: lambda: torch.autograd.grad(forward(), (q, k, v), gradient), args
        ),
    }


def integers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch-sizes", type=integers, default=[1, 2, 4])
    parser.add_argument("--lengths", type=integers, default=[128, 256, 512, 1024])
    parser.add_argument("--num-heads", type=int, default=8)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--dtype", type=lambda name: getattr(torch, name), default=torch.float32)
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--device-name", help="as pictures name it (default: what the machine says)")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu-time", action="store_true",
                        help="of this process on the CPU: for one thread of a machine that has other work")  # fmt: skip
    args = parser.parse_args()

    times: list[dict[str, Any]] = []
    for batch in args.batch_sizes:
        for length in args.lengths:
            cell = {"batch": batch, "sequence_length": length}
            try:
                found = measured(batch, length, args)
                times += [{**cell, "phase": phase, "milliseconds": round(ms, 4)} for phase, ms in found.items()]
            except (torch.OutOfMemoryError, MemoryError):
                times += [
                    {**cell, "phase": phase, "milliseconds": None, "reason": "no memory"} for phase in ("fwd", "bwd", "e2e")
                ]
    on_gpu = args.device.type == "cuda"
    threads = f"{torch.get_num_threads()} thread{'' if torch.get_num_threads() == 1 else 's'}"
    cpu = f"{platform.machine()} CPU, {'CPU time of ' if args.cpu_time else ''}{threads}"
    machine = torch.cuda.get_device_name(args.device) if on_gpu else cpu
    result = {
        "kernel": f"scaled_dot_product_attention, causal, {args.num_heads} heads x {args.head_dim}, "
        f"{str(args.dtype).removeprefix('torch.')}",
        "device": f"{args.device_name or machine}, PyTorch {torch.__version__.split('+')[0]}",
        "batch_sizes": args.batch_sizes,
        "sequence_lengths": args.lengths,
        "config": {
            "model_type": "floptally",
            "hidden_size": args.num_heads * args.head_dim,
            "layers": [{"parts": [{"type": "attention", "num_heads": args.num_heads, "head_dim": args.head_dim}]}],
        },
        "components": ["attention.core"],
        "convention": "exact",
        "times": times,
    }
    rows = ",\n".join("    " + json.dumps(one) for one in result.pop("times"))
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items())
    args.out.write_text(f'{{\n{body},\n  "times": [\n{rows}\n  ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
