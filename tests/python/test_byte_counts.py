# SPDX-License-Identifier: Apache-2.0
"""Bytes of a batch, the waterfall's line for them, and a step by component: by hand, and as the program prints them."""

from __future__ import annotations

import gzip
import json
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

import floptally
from conftest import SOURCE

CONFIG = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"
TRACE = SOURCE / "tests" / "golden" / "traces" / "cpu_step.json"
#: What the trace is of.
TINY = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 320, "hidden_size": 64,
        "intermediate_size": 176, "num_hidden_layers": 1, "num_attention_heads": 4}  # fmt: skip
SMALL = {"model_type": "llama", "vocab_size": 50, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False}  # fmt: skip
DECODE = floptally.Plan(phase="forward")


def printed(*arguments: object) -> str:
    command = [sys.executable, "-m", "floptally", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def by_step(made: floptally.Waterfall) -> dict[str, floptally.WaterfallLine]:
    return {line.step: line for line in made.lines}


# ---- bytes ----


def test_bytes_of_a_decode_step_match_a_hand_calculation() -> None:
    """Three layers of 8: two sequences, a token each, that see 10 and 20 keys of their own past."""
    cost = floptally.cost(SMALL)
    moved = cost.bytes(new_tokens=[(1, 10), (1, 20)], plan=DECODE, weight_bits=4, cache_bits=8, activation_bits=32)
    qkv, out, mlp, head = 3 * (8 + 4 + 4) * 8, 3 * 8 * 8, 3 * 3 * 8 * 12, 50 * 8
    norms, rows = 7 * 8, 2 * 8  # of the embedding a row for each token
    assert moved.kinds["weights"] == (qkv + out + mlp + head + norms + rows) // 2
    assert moved.kinds["cache"] == (10 + 20) * 3 * (4 + 4)  # keys and values of two heads of two, a byte each
    assert moved.kinds["gradients"] == 0
    assert moved.components["attention.output"].kinds == {
        "weights": out // 2, "gradients": 0, "activations": 2 * 3 * (8 + 8) * 4, "cache": 0}  # fmt: skip
    assert moved.components["attention.core"].total == moved.kinds["cache"] + 2 * 3 * (8 + 4 + 4 + 8) * 4
    assert moved.total == sum(one.total for one in moved.components.values()) == sum(moved.kinds.values())
    assert moved.mbu(1e-9, gpus=2, memory_tbps=3) == pytest.approx(
        (moved.kinds["weights"] + moved.kinds["cache"]) / 2 / 3000
    )
    assert moved.is_exact and moved.unsaid == moved.at_most == []
    mlp_bytes = moved.components["mlp"]
    assert mlp_bytes.flops == 2 * 2 * mlp and mlp_bytes.intensity == pytest.approx(mlp_bytes.flops / mlp_bytes.total)
    assert mlp_bytes.phases["forward"] == mlp_bytes.kinds and not any(mlp_bytes.phases["recompute"].values())
    assert repr(mlp_bytes) == f"<ComponentBytes mlp: {mlp_bytes.total}>"
    assert repr(moved) == f"<Bytes of llama: {moved.total}>"


def test_byte_counts_include_each_weight_once_for_each_batch_in_each_pass() -> None:
    cost = floptally.cost(SMALL)
    once, more = cost.bytes(lengths=[5, 6]), cost.bytes(lengths=[5, 6], batches=4, gradient_bits=32)
    weights = 3 * 3 * 8 * 12
    assert once.components["mlp"].phases["forward"]["weights"] == 2 * weights
    assert more.components["mlp"].phases["backward_data"]["weights"] == 4 * 2 * weights
    assert more.components["mlp"].phases["backward_weights"]["gradients"] == 4 * 4 * weights
    assert once.kinds["activations"] == more.kinds["activations"]
    full = cost.bytes(lengths=[5, 6], plan=floptally.Plan(recompute="full")).components["mlp"].phases
    assert full["recompute"] == full["forward"]


@pytest.mark.parametrize(
    ("batch", "options"),
    [
        ({"lengths": [4096, 2048], "row_length": 8192, "plan": floptally.Plan(recompute="full")},
         "--lengths 4096,2048 --row-length 8192 --recompute full"),
        ({"new_tokens": [(1, 2000), (3, 9000)], "plan": DECODE}, "--new-tokens 1@2000 --new-tokens 3@9000 --phase forward"),
        ({"new_tokens": [(1, 5)], "lengths": [9], "weight_bits": 4, "cache_bits": 8, "batches": 3, "gradient_bits": 32,
          "activation_bits": 64, "plan": floptally.Plan(repeated={"lm_head": 2})},
         "--new-tokens 1@5 --lengths 9 --weight-bits 4 --cache-bits 8 --batches 3 --gradient-bits 32 "
         "--activation-bits 64 --repeated lm_head=2"),
    ],
)  # fmt: skip
def test_byte_counts_of_the_package_equal_the_output_of_the_command_line_program(mistral: floptally.Cost, batch: dict[str, Any], options: str) -> None:
    moved = mistral.bytes(**batch)
    command = ["bytes", "--config", CONFIG, *options.split()]
    assert json.loads(printed(*command, "--format", "json")) == moved.to_dict() == json.loads(moved.to_json())
    assert printed(*command) == moved.to_table() == str(moved)
    again = pickle.loads(pickle.dumps(moved))
    assert again.to_json() == moved.to_json() and again.work.total == moved.work.total
    html = moved._repr_html_()
    assert f'title="{moved.total}"' in html and html.count("<tr>") == 2 + len(moved.components)


def test_a_batch_has_the_same_byte_count_whether_counted_from_lengths_or_a_mask_or_a_tally_or_a_meter(mistral: floptally.Cost) -> None:
    batch: dict[str, Any] = {"lengths": [900, 5000], "row_length": 5000}
    moved = mistral.bytes(**batch)
    assert mistral.flops(**batch).bytes().to_json() == moved.to_json()
    mask = [[1] * length + [0] * (12 - length) for length in (7, 12)]
    assert mistral.bytes(attention_mask=mask).to_json() == mistral.bytes(lengths=[7, 12], row_length=12).to_json()
    tally = floptally.Tally(mistral)
    tally.add_padded(batch["lengths"], batch["row_length"])
    assert mistral.flops(tally=tally).bytes().to_json() == moved.to_json()
    meter = floptally.Meter(mistral, gpus=1, peak_tflops=989)
    with meter.step(100.0) as step:
        step.add(**batch)
    assert meter.breakdown("run").bytes().total == moved.total
    with pytest.raises(floptally.Error, match="^tally: does not contain the cached tokens of each sequence"):
        mistral.bytes(tally=tally, plan=DECODE)
    remaining = pickle.loads(pickle.dumps(mistral.flops(new_tokens=[(1, 77)], plan=DECODE)))
    assert remaining.bytes().kinds["cache"] == 77 * 32 * 2 * 1024 * 2
    hstu = floptally.cost({"model_type": "hstu", "hidden_size": 32, "num_layers": 2, "num_attention_heads": 2,
                           "dim_per_head": 16})  # fmt: skip
    moved = hstu.bytes(sequences=[(3, 40, 5)])
    assert moved.unsaid == ["hstu.qk", "hstu.pv"] and not moved.is_exact
    assert moved.components["hstu.output"].kinds["weights"] == 2 * 2 * 2 * 32 * 32  # two passes of two layers, 16 bits each


def test_invalid_byte_options_are_errors_that_name_the_field(mistral: floptally.Cost) -> None:
    forward = mistral.flops(lengths=[5], plan=DECODE)
    wrong: list[tuple[Any, str]] = [
        (lambda: forward.bytes(weight_bits=0), "weight_bits: must be an integer from 1 to 64, got 0"),
        (lambda: forward.bytes(cache_bits=65), "cache_bits: must be an integer from 1 to 64, got 65"),
        (lambda: forward.bytes(batches=0), "batches: must be an integer from 1 to 4294967296, got 0"),
        (lambda: forward.bytes().mbu(1, gpus=1), "accelerator: is missing: pass accelerator= or memory_tbps="),
        (lambda: forward.bytes().mbu(1, gpus=1, accelerator="A100 SXM"), "memory_tbps: A100 SXM is sold with several memory"),
        (lambda: forward.bytes().mbu(0, gpus=1, memory_tbps=3), "seconds: must be a finite number above 0"),
        (lambda: forward.bytes().mbu(1, gpus=0, memory_tbps=3), "gpus: must be an integer from 1 to "),
        (lambda: forward.bytes().mbu(1, gpus=1, memory_tbps=-3), "memory_tbps: must be a finite number above 0"),
        (lambda: mistral.bytes(lengths=[5]).mbu(1, gpus=1, memory_tbps=3), "plan: must be Plan"),
        (lambda: mistral.flops(lengths=[5], convention="megatron").bytes(), "convention: must be exact, since only exact counts bytes"),
        (lambda: floptally.Cost.from_entries([("a", "tokens", "linear", 2)]).bytes(lengths=[5]), "parts: are missing"),
    ]  # fmt: skip
    for call, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            call()
        assert str(raised.value).startswith(text), raised.value
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights_bits'; did you mean 'weight_bits'"):
        mistral.bytes(lengths=[5], weights_bits=4)  # type: ignore[call-arg]


# ---- the waterfall's line ----


def test_memory_bound_time_of_a_step_matches_a_hand_calculation() -> None:
    """At a bandwidth where every byte takes longer than its FLOPs, the line is all bytes less all FLOPs."""
    work = floptally.cost(SMALL).flops(lengths=[5, 6])
    moved, peak, tbps = work.bytes(batches=2), 1000.0, 1e-6
    seconds = 2 * moved.total / 1e12 / tbps
    line = by_step(work.waterfall(seconds=seconds, gpus=1, peak_tflops=peak, memory_tbps=tbps, batches=2))["memory_bound"]
    assert line.is_known and line.gpu_nanoseconds == round(1e9 * (moved.total / 1e12 / tbps - moved.flops / 1e12 / peak))
    assert line.note == "what bytes need at 1e-06 TB/s beyond their FLOPs; weights read 2 times a pass"
    half = work.waterfall(seconds=seconds, gpus=1, peak_tflops=peak, memory_tbps=tbps, weight_bits=8, gradient_bits=8,
                          activation_bits=8)  # fmt: skip
    assert by_step(half)["memory_bound"].gpu_nanoseconds < line.gpu_nanoseconds / 2


@pytest.mark.parametrize(
    ("account", "options"),
    [
        ({"peak_tflops": 989, "memory_tbps": 3.35, "batches": 8, "weight_bits": 8},
         "--peak-tflops 989 --memory-tbps 3.35 --batches 8 --weight-bits 8"),
        ({"accelerator": "H100 SXM"}, "--accelerator H100\x20SXM"),
        ({"accelerator": "A100 SXM"}, "--accelerator A100\x20SXM"),
        ({"accelerator": "H100 SXM", "memory_tbps": 1, "precisions": "mlp=fp8"},
         "--accelerator H100\x20SXM --memory-tbps 1 --precisions mlp=fp8"),
    ],
)  # fmt: skip
def test_memory_bound_line_of_a_waterfall_equals_the_output_of_the_command_line_program(mistral: floptally.Cost, account: dict[str, Any], options: str) -> None:
    plan = floptally.Plan(recompute="full", repeated={"lm_head": 2})
    result = mistral.flops(lengths=[4096, 2048], row_length=8192, plan=plan).waterfall(seconds=1.6, gpus=4, **account)
    line = by_step(result)["memory_bound"]
    assert line.is_known == (account.get("accelerator") != "A100 SXM"), "memories of several rates are none"
    accelerator = ["--accelerator", account["accelerator"]] if "accelerator" in account else []
    rest = options.replace(f"--accelerator {account.get('accelerator')}", "").split()
    assert json.loads(printed("waterfall", "--config", CONFIG, "--lengths", "4096,2048", "--row-length", 8192, "--seconds", 1.6,
                              "--gpus", 4, "--recompute", "full", "--repeated", "lm_head=2", "--format", "json", *accelerator,
                              *rest)) == result.to_dict()  # fmt: skip
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()


def test_memory_bound_line_of_a_waterfall_uses_the_settings_passed_to_the_method_what_if(mistral: floptally.Cost) -> None:
    work = mistral.flops(lengths=[64])
    result = work.waterfall(seconds=1, gpus=1, accelerator="H100 SXM", memory_tbps=0.5)
    slow = by_step(result)["memory_bound"].gpu_nanoseconds
    assert slow > 0
    assert by_step(result.what_if(memory_tbps=1))["memory_bound"].gpu_nanoseconds < slow
    assert "at 3.35 TB/s" in by_step(result.what_if(accelerator="NVIDIA H100 80GB HBM3"))["memory_bound"].note
    assert "4 times" in by_step(result.what_if(batches=4))["memory_bound"].note
    assert not by_step(work.waterfall(seconds=1, gpus=1, peak_tflops=989))["memory_bound"].is_known
    lora = mistral.flops(lengths=[64], plan=floptally.Plan(weights=[floptally.WeightSetting("*", "lora", rank=4)]))
    assert by_step(lora.waterfall(seconds=1, gpus=1, accelerator="H100 SXM"))["memory_bound"].is_known
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"batches": 2}, "memory_tbps: is missing: pass memory_tbps=, which batches needs"),
        ({"memory_tbps": 0}, "memory_tbps: must be a finite number above 0, got 0"),
        ({"memory_tbps": "a"}, "memory_tbps: must be a number, got 'a'"),
        ({"memory_tbps": 3, "weight_bits": 99}, "weight_bits: must be an integer from 1 to 64, got 99"),
    ]
    for change, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            work.waterfall(seconds=1, gpus=1, peak_tflops=989, **change)
        assert str(raised.value).startswith(text), raised.value


# ---- by component ----

TIMES = {"seconds": 0.2, "times": [{"name": "attention", "components": ["attention.*"], "seconds": 0.05},
                                   {"name": "MLP", "components": ["mlp"], "pass": "backward", "seconds": 0.06},
                                   {"name": "optimizer", "seconds": 0.01}]}  # fmt: skip


def test_a_waterfall_by_component_matches_a_hand_calculation() -> None:
    tera = 10**12
    cost = floptally.Cost.from_entries([("mlp", floptally.Mask.measured("units"), "linear", 10**9)])
    work = cost.flops(measured={"units": round(60 * tera / 3e9)})
    step = {"times": [{"name": "MLP", "components": ["mlp"], "seconds": 0.5}, {"name": "optimizer", "seconds": 0.2}]}
    result = work.waterfall(seconds=1, gpus=2, peak_tflops=100, idle_gpus=0, component_times=step, apart={"data": 0.1})
    table = result.components
    assert table is not None
    mlp, optimizer, data, rest = table.lines
    assert [line.name for line in table.lines] == ["MLP", "optimizer", "data", "not timed"]
    assert mlp.gpu_nanoseconds == 10**9 and mlp.seconds == 0.5 and mlp.share == pytest.approx(0.5)
    assert mlp.mfu == mlp.kernel_rate == pytest.approx(0.6) and mlp.points_lost == pytest.approx(20)
    assert mlp.points_below_peak == pytest.approx(20) and mlp.points_not_useful == 0
    assert optimizer.points_lost == pytest.approx(20) and data.points_lost == pytest.approx(10)
    assert (mlp.components, mlp.passes, mlp.is_timed, rest.is_timed) == (["mlp"], "train", True, False)
    assert sum(line.points_lost for line in table.lines) == pytest.approx(100 * (1 - result.mfu))
    assert sum(line.gpu_nanoseconds for line in table.lines) == table.gpu_nanoseconds == 2 * 10**9
    assert repr(mlp) == "<ComponentLine MLP: 20.00 points lost>" and repr(table) == "<ComponentWaterfall of 4 lines>"
    assert result.what_if(gpus=4).components is None, "times are of the step that ran"
    assert work.waterfall(seconds=1, gpus=2, peak_tflops=100).components is None


def test_a_waterfall_reads_measured_component_times_from_a_dict_or_a_file_or_a_timer(mistral: floptally.Cost, tmp_path: pathlib.Path) -> None:
    class Timer:
        def times(self, work: floptally.Breakdown) -> dict[str, Any]:
            assert work.total == 0 or "mlp" in work.useful.components
            return TIMES

    path = tmp_path / "times.json"
    path.write_text(json.dumps(TIMES))
    work = mistral.flops(lengths=[512])
    account: dict[str, Any] = {"gpus": 1, "peak_tflops": 989}
    tables = []
    for arguments in (TIMES, Timer(), path, str(path)):
        result = work.waterfall(component_times=arguments, **account)
        assert result.components is not None and result.seconds == 0.2
        tables.append(result.components.to_json())
        path.touch()
        again = pickle.loads(pickle.dumps(result)).components
        assert again is not None and again.to_json() == tables[-1]
    assert len(set(tables)) == 1
    assert work.waterfall(seconds=0.3, component_times=TIMES, **account).seconds == 0.3
    out = json.loads(printed("waterfall", "--config", CONFIG, "--lengths", 512, "--gpus", 1, "--peak-tflops", 989,
                             "--component-times", path, "--format", "json"))  # fmt: skip
    assert out["components"] == json.loads(tables[0])


def test_package_and_command_line_program_read_the_same_times_from_a_trace(tmp_path: pathlib.Path) -> None:
    config, trace = tmp_path / "tiny.json", tmp_path / "trace.json"
    config.write_text(json.dumps(TINY))
    trace.write_bytes(TRACE.read_bytes())
    command = ["waterfall", "--config", config, "--lengths", "128,128", "--gpus", 1, "--peak-tflops", 0.1, "--trace", trace,
               "--modules", "TinyForCausalLM=loss"]  # fmt: skip
    work = floptally.cost(TINY).flops(lengths=[128, 128])
    result = work.waterfall(gpus=1, peak_tflops=0.1, trace=trace, modules="TinyForCausalLM=loss")
    trace.rename(tmp_path / "moved.json")
    table = result.components
    assert table is not None and "loss" in {line.name for line in table.lines}
    moved = [*command[:-3], tmp_path / "moved.json", *command[-2:]]
    out = json.loads(printed(*moved, "--format", "json"))
    assert out.pop("components") == json.loads(table.to_json()) and out.pop("notes") == table.notes
    assert out == result.to_dict()
    assert printed(*moved).startswith(str(result) + "\n" + str(table))
    assert table.to_markdown() in printed(*moved, "--format", "markdown")
    again = pickle.loads(pickle.dumps(result)).components
    assert again is not None and again.to_table() == table.to_table() and again.notes == table.notes
    html = table._repr_html_()
    assert html.count("<tr>") == len(table.lines) + 2 and "not timed" in html
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(TRACE.read_bytes()))
    assert work.waterfall(gpus=1, peak_tflops=0.1, trace=packed, modules="TinyForCausalLM=loss").to_dict() == result.to_dict()
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(floptally.Error, match="^trace: is a broken gzip file: "):
        work.waterfall(gpus=1, peak_tflops=0.1, trace=packed)
    # The program of the package unpacks by Python's gzip: its build needs no zlib.
    words = [sys.executable, "-m", "floptally", *map(str, command[:-3]), str(packed)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode != 0 and said.stderr.startswith("floptally: error: trace: is a broken gzip file: ")


def test_package_and_command_line_program_read_the_same_times_from_traces_of_several_ranks(tmp_path: pathlib.Path) -> None:
    config, slow = tmp_path / "tiny.json", tmp_path / "slow.json"
    config.write_text(json.dumps(TINY))
    traces = SOURCE / "tests" / "golden" / "traces"
    rank = json.loads((traces / "gpu_step.json").read_text())
    for event in rank["traceEvents"]:  # this rank waits longer in its collectives, and the step with it
        if "nccl" in event.get("name", "").lower() and event.get("cat") == "kernel":
            event["dur"] += 100
    slow.write_text(json.dumps(rank))
    work = floptally.cost(TINY).flops(lengths=[128, 128])
    command = ["waterfall", "--config", config, "--lengths", "128,128", "--gpus", 2, "--peak-tflops", 10]
    account: dict[str, Any] = {"gpus": 2, "peak_tflops": 10}
    for options, more in (([], {}), (["--apart", "optimizer=0.0001"], {"apart": {"optimizer": 0.0001}})):
        for paths in ([traces / "gpu_step.json"], [traces / "gpu_step.json", traces / "gpu_step.json.gz"],
                      [slow, str(traces / "gpu_step.json.gz")]):  # fmt: skip
            out = json.loads(printed(*command, *options, "--trace", ",".join(map(str, paths)), "--format", "json"))
            result = work.waterfall(trace=paths, **account, **more)
            assert result.components is not None and out.pop("components") == json.loads(result.components.to_json())
            assert out.pop("notes") == result.components.notes
            assert out.pop("ranks", []) == [vars(line) for line in result.ranks]
            assert out == result.to_dict()
            assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()
            assert result.what_if().seconds == pytest.approx(result.seconds, rel=1e-9)
    assert len(result.ranks) == 2 and result.ranks[0].waiting > result.ranks[1].waiting == 0
    assert "waiting" in repr(result.ranks[0])
    assert result.what_if(apart=None).seconds < result.what_if(gpus=2).seconds
    assert not by_step(result.what_if(apart=None))["elementwise"].is_known
    assert not by_step(result.what_if(rank_work=None))["imbalance"].is_known
    assert by_step(result.what_if(apart={"optimizer": 0.5}))["elementwise"].is_known
    with pytest.raises(floptally.Error, match="^trace: cannot read "):
        work.waterfall(trace=[slow, tmp_path / "none.json"], **account)


def test_invalid_component_times_are_errors_that_name_the_field(mistral: floptally.Cost, tmp_path: pathlib.Path) -> None:
    work = mistral.flops(lengths=[512])
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    one: dict[str, Any] = {"name": "a", "seconds": 0.1}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"component_times": TIMES, "trace": TRACE}, "component_times: cannot be passed with trace"),
        ({"component_times": TIMES, "modules": "a=b"}, "modules: works only with trace=, since it names modules of the trace: pass both, or leave it out"),
        ({"trace": TRACE, "modules": 3}, "modules: must be a str, got 3"),
        ({"trace": TRACE, "modules": "a"}, "modules[0]: must be PATTERN=NAME"),
        ({"trace": 3}, "trace: must be a path, or a list of a path for each rank, got 3"),
        ({"trace": []}, "trace: must be a path, or a list of a path for each rank, got []"),
        ({"trace": [TRACE, 3]}, "trace: must be a path, or a list of a path for each rank, got ["),
        ({"trace": tmp_path / "none.json"}, "trace: cannot read "),
        ({"component_times": tmp_path / "none.json"}, "component_times: cannot be read from "),
        ({"component_times": bad}, "component_times: must be JSON: "),
        ({"component_times": 3}, "component_times: must be a JSON object, got 3"),
        ({"component_times": {"time": []}}, "component_times.time: is an unknown key; known: seconds"),
        ({"component_times": {"times": [{"name": "a"}]}}, "times[0].seconds: is missing"),
        ({"component_times": {"times": [{**one, "seconds": float("nan")}]}}, "component_times: cannot be written as JSON"),
        ({"component_times": {"times": [{**one, "components": ["mpl"]}]}, "seconds": 1}, 'times[0]: "a" lists the component "mpl"'),
        ({"component_times": {"times": [one, one]}, "seconds": 1}, 'times[1]: "a" has two times'),
        ({"component_times": {"times": [one]}}, "seconds: is missing: pass it"),
        ({"component_times": {"times": [{**one, "seconds": 2}]}, "seconds": 1}, 'times[0]: "a" must be from 0 to the 1'),
    ]
    for change, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            work.waterfall(gpus=1, peak_tflops=989, **change)
        assert str(raised.value).startswith(text), (change, raised.value)
