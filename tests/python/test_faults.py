# SPDX-License-Identifier: Apache-2.0
"""Hostile JSON, files that were cut or changed, and disks that are full: a named error, and nothing lost."""

from __future__ import annotations

import json
import pathlib
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import floptally
from floptally import hstu_report, plots
from floptally.kernel_times import read_kernel_times

MILLION = 1_000_000
LLAMA = {"model_type": "llama", "hidden_size": 64, "vocab_size": 96, "num_hidden_layers": 2, "intermediate_size": 160,
         "num_attention_heads": 4}  # fmt: skip

HOSTILE = {
    "nothing": b"",
    "lists without an end": b"[" * MILLION,
    "objects without an end": b'{"a":' * MILLION,
    "deep": b"[" * MILLION + b"]" * MILLION,
    "digits": b'{"a": ' + b"9" * MILLION + b"}",
    "an exponent": b'{"a": 1e' + b"9" * MILLION + b"}",
    "no number": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "large": b'{"a": 1e999}',
    "twice": b'{"a": 1, "a": 1}',
    "twice within": b'{"b": [{"a": 1, "c": 2, "a": 1}]}',
    "half a character": b'{"a": "\xc3"}',
    "bytes": b"\xff\xfe\x00",
    "two values": b"{} {}",
    "cut": b'{"a": [1, 2',
}


def meter() -> floptally.Meter:
    return floptally.Meter(floptally.cost(LLAMA), gpus=1, peak_tflops=989)


def counted(steps: int) -> floptally.Meter:
    result = meter()
    for step in range(steps):
        with result.step(0.1 + step / 3):
            result.add(lengths=[7, 100 + step])
    return result


def timed(path: pathlib.Path) -> Any:
    return floptally.cost(LLAMA).flops(lengths=[7]).waterfall(gpus=1, peak_tflops=989, seconds=1, component_times=path)


READERS: dict[str, Callable[[pathlib.Path], Any]] = {
    "config": floptally.cost,
    "path": floptally.Cost.load,
    "state": lambda path: meter().load(path),
    "component_times": timed,
    "trace": lambda path: floptally.cost(LLAMA).flops(lengths=[7]).waterfall(gpus=1, peak_tflops=989, seconds=1, trace=path),
    "kernel_times": read_kernel_times,
    "records": lambda path: plots.utilization_over_time(str(path)),
    "log": hstu_report.read_log,
}


@pytest.mark.parametrize("field", READERS)
def test_a_corrupted_file_is_an_error_that_names_the_field(field: str, tmp_path: pathlib.Path) -> None:
    if field == "records":
        pytest.importorskip("matplotlib")
    path = tmp_path / "given.json"
    for name, content in HOSTILE.items():
        path.write_bytes(content)
        with pytest.raises(floptally.Error) as refused:
            READERS[field](path)
        assert refused.value.field.split(".")[0].split("[")[0] in (field, "model_type", "traceEvents", "version"), (name, refused.value)
        assert len(str(refused.value)) < 600, name


def nested() -> dict[str, Any]:
    result: dict[str, Any] = {}
    for _ in range(MILLION // 10):  # which Python's own memory holds
        result = {"a": result}
    return result


@pytest.mark.parametrize("value", [nested(), {"a": float("nan")}, {"a": {1}}, {"a": 10**5000}, {"a": "\ud800"}],
                         ids=["deep", "nan", "set", "digits", "half a pair"])  # fmt: skip
def test_an_absurd_value_in_a_config_or_saved_state_is_an_error(value: dict[str, Any]) -> None:
    for call in (floptally.cost, meter().load_state_dict):
        with pytest.raises(floptally.Error):
            call(value)
    with pytest.raises(floptally.Error):
        floptally.cost(LLAMA).flops(lengths=[7]).waterfall(gpus=1, peak_tflops=989, seconds=1, component_times=value)


def variants(whole: bytes) -> list[bytes]:
    """Each beginning, and the whole with each bit turned."""
    cut = [whole[:size] for size in range(len(whole))]
    return cut + [
        whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :] for at in range(len(whole)) for bit in range(8)
    ]


def test_a_corrupted_saved_cost_is_an_error_or_loads_with_the_same_value(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.cost"
    cost = floptally.Cost.from_entries([("mixer", "tokens", "linear", 200, 100)])
    cost.save(path)
    whole = path.read_bytes()
    read = 0
    for text in variants(whole):
        path.write_bytes(text)
        try:
            found = floptally.Cost.load(path)
        except floptally.Error as problem:
            assert problem.field in ("path", "numbers_version"), problem
        else:
            assert found == cost, text
            read += 1
    assert read < 0.01 * 8 * len(whole) + 8 * len(floptally.__version__)  # the name of the version is for people


def test_a_corrupted_saved_state_is_an_error_or_loads_with_the_same_value(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "state"
    counted(2).save(path)
    whole, expected = path.read_bytes(), counted(2).state_dict()
    read = 0
    for text in variants(whole):
        path.write_bytes(text)
        resumed = meter()
        try:
            resumed.load(path)
        except floptally.Error:
            assert resumed.run.steps == 0
        else:
            assert resumed.state_dict() == expected, text
            read += 1
    assert read < 0.01 * 8 * len(whole)


SAVERS: dict[str, Callable[[pathlib.Path], None]] = {
    "cost": lambda path: floptally.cost(LLAMA).save(path),
    "meter": lambda path: counted(3).save(path),
}


@pytest.mark.parametrize("name", SAVERS)
def test_saving_to_a_full_disk_is_an_error_and_keeps_the_old_file(name: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(floptally.Error, match='^path: cannot write "/dev/full": No space left on device$'):
        SAVERS[name](pathlib.Path("/dev/full"))
    path = tmp_path / "saved"
    SAVERS[name](path)
    size = path.stat().st_size
    path.write_bytes(b"the file before")
    code = (
        "import pathlib, resource, signal, sys; sys.path.insert(0, sys.argv[1]); import test_faults, floptally\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "room = int(sys.argv[4]); resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))\n"
        "try: test_faults.SAVERS[sys.argv[2]](pathlib.Path(sys.argv[3]))\n"
        "except floptally.Error as problem: sys.exit(0 if str(problem).endswith('File too large') else 1)\n"
        "sys.exit(2)"
    )
    for room in (0, 1, size - 1):
        command = [sys.executable, "-c", code, str(pathlib.Path(__file__).parent), name, str(path), str(room)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert path.read_bytes() == b"the file before" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(floptally.Error, match="^path: cannot write .*: No such file or directory$"):
        SAVERS[name](tmp_path / "no" / "saved")
    SAVERS[name](path)
    assert path.stat().st_size == size and resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0


def test_a_meter_resumes_from_its_saved_file(tmp_path: pathlib.Path) -> None:
    whole = counted(3)
    whole.save(tmp_path / "state")
    resumed = meter()
    resumed.load(tmp_path / "state")
    assert resumed.state_dict() == whole.state_dict() == json.loads((tmp_path / "state").read_text())
    with pytest.raises(floptally.Error, match="^resume: must be called before the first step: call it when the meter is created$"):
        resumed.load(tmp_path / "state")
    with pytest.raises(floptally.Error, match="^path: cannot read "):
        meter().load(tmp_path / "absent")
