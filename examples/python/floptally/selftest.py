# SPDX-License-Identifier: Apache-2.0
"""Checks in less than a second that an installed floptally counts correctly: python -m floptally.selftest

    $ python -m floptally.selftest
    floptally 0.3.1, numbers 2: 6 checks passed
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

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
}
LENGTHS = [1, 700, 8192]
WINDOW = 512


def _by_hand(lengths: list[int]) -> int:
    """Returns the FLOPs of a training step of LLAMA_3_8B, computed from its matrix sizes without the library. lengths:
    tokens of each sequence."""
    weights = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 4096 * 128256
    pairs = sum(query + 1 for length in lengths for query in range(length))
    return 6 * weights * sum(lengths) + 3 * 2 * 2 * 32 * 4096 * pairs


def _config_is_read() -> bool:
    return floptally.cost(LLAMA_3_8B).parameters == 8_030_261_248


def _step_is_exact() -> bool:
    return int(floptally.cost(LLAMA_3_8B).flops(lengths=LENGTHS).total) == _by_hand(LENGTHS)


def _window_is_exact() -> bool:
    masks = [floptally.Mask.sliding_window(WINDOW)]
    pairs = sum(min(query + 1, WINDOW) for length in LENGTHS for query in range(length))
    tally = floptally.Tally(masks)
    tally.add_lengths(LENGTHS)
    return int(tally.pairs(masks[0])) == pairs


def _meter_adds_up() -> bool:
    meter = floptally.Meter(floptally.cost(LLAMA_3_8B), gpus=2, peak_tflops=989, counted="all_gpus")
    meter.begin_step()
    meter.add(lengths=LENGTHS)
    meter.end_step(seconds=2.0)
    return abs(meter.run.mfu - _by_hand(LENGTHS) / (2 * 2.0 * 989e12)) < 1e-12


def _pickle_comes_back() -> bool:
    cost = floptally.cost(LLAMA_3_8B)
    return bool(pickle.loads(pickle.dumps(cost)) == cost)


def _program_counts() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(LLAMA_3_8B))
        lengths = ",".join(str(length) for length in LENGTHS)
        command = [sys.executable, "-m", "floptally", "flops", "--config", str(config), "--lengths", lengths]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode == 0 and str(_by_hand(LENGTHS)) in result.stdout


CHECKS: list[Callable[[], bool]] = [
    _config_is_read, _step_is_exact, _window_is_exact, _meter_adds_up, _pickle_comes_back, _program_counts,
]  # fmt: skip


def main() -> None:
    """Runs all checks. Prints how many passed, or exits with the name of the first that failed."""
    for check in CHECKS:
        if not check():
            raise SystemExit(f"floptally {floptally.__version__}: {check.__name__} failed: install this version again, and report it if the check still fails")
    print(f"floptally {floptally.__version__}, numbers {floptally.numbers_version}: {len(CHECKS)} checks passed")


if __name__ == "__main__":
    main()
