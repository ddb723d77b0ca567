# SPDX-License-Identifier: Apache-2.0
"""Times of modules: every moment once, backward and recompute among them, and nothing else of the model changes."""

from __future__ import annotations

import copy
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import floptally
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from floptally.module_times import ModuleTimer, named_in_traces  # noqa: E402


class Slow(torch.autograd.Function):
    """The identity, which takes its time."""

    @staticmethod
    def forward(ctx: Any, x: Any, forward: float, backward: float) -> Any:
        ctx.backward_seconds = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        time.sleep(ctx.backward_seconds)
        return gradient, None, None


class Attention(torch.nn.Module):
    def __init__(self, forward: float = 0, backward: float = 0) -> None:
        super().__init__()
        self.q_proj = torch.nn.Linear(8, 8)
        self.seconds = forward, backward

    def forward(self, hidden: Any, scale: float = 1) -> Any:
        return Slow.apply(self.q_proj(hidden) * scale, *self.seconds), None


class Layer(torch.nn.Module):
    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.self_attn = Attention(*seconds)
        self.mlp = torch.nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return x + self.mlp(x + self.self_attn(hidden=x, scale=2)[0])  # by keyword, as transformers does


class Model(torch.nn.Module):
    def __init__(self, *seconds: float, checkpoint: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed_tokens = torch.nn.Embedding(16, 8)
        self.layers = torch.nn.ModuleList([Layer(*seconds), Layer(*seconds)])
        self.lm_head = torch.nn.Linear(8, 16)
        self.checkpoint = checkpoint

    def forward(self, ids: Any) -> Any:
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False) if self.checkpoint else layer(x)
        return self.lm_head(x).square().sum()


IDS = torch.arange(8).reshape(2, 4)


class Counted:
    """A clock that goes on by one at each look: what lies between two marks is a second."""

    def __init__(self) -> None:
        self.now = 0

    def mark(self) -> int:
        self.now += 1
        return self.now

    def is_ready(self, mark: int) -> bool:
        return True

    def wait(self, mark: int) -> None: ...

    def seconds(self, begin: int, end: int) -> float:
        return float(end - begin)


def seconds_of(times: dict[str, Any]) -> dict[str, float]:
    return {one["name"]: one["seconds"] for one in times["times"]}


def test_all_time_of_a_step_belongs_to_exactly_one_module_or_named_part() -> None:
    model = Model()
    timer = ModuleTimer(model)
    timer._clock = Counted()  # type: ignore[assignment]
    for _ in range(3):
        with timer.step():
            loss = model(IDS)
            loss.backward()
            with timer.part("optimizer"):
                pass
    times = timer.times()
    # Two layers, each entered and left in the forward and in the backward: a second in each. The lm_head likewise.
    assert seconds_of(times) == {"attn": 4, "mlp": 4, "lm_head": 2, "optimizer": 1}
    # Between them: 11 marks of ends and 1 of the beginning, each with a second behind it.
    assert times["seconds"] == 4 + 4 + 2 + 1 + 12
    assert [one["pass"] for one in times["times"]] == ["train"] * 4
    assert times["times"][0]["components"] == ["attention.*", "linear_attention.*"]
    assert times["times"][3]["components"] == []


def test_module_timer_reads_gpu_events_when_ready_and_never_blocks_a_module() -> None:
    class Late(Counted):
        """As a device that is behind: nothing is ready until somebody waits."""

        waited = False

        def is_ready(self, mark: int) -> bool:
            return self.waited

        def wait(self, mark: int) -> None:
            self.waited = True

        def seconds(self, begin: int, end: int) -> float:
            assert self.waited
            return super().seconds(begin, end)

    model = Model()
    timer, clock = ModuleTimer(model), Late()
    timer._clock = clock  # type: ignore[assignment]
    for _ in range(2):
        with timer.step():
            model(IDS).backward()
    assert not clock.waited and not timer._seconds
    assert seconds_of(timer.times()) == {"attn": 4, "mlp": 4, "lm_head": 2}
    with timer.step():
        model(IDS).backward()
    assert not timer._finished  # a step that is ready is read at its end


def test_module_timer_does_not_change_losses_or_gradients() -> None:
    model = Model()
    other = copy.deepcopy(model)
    timer = ModuleTimer(model)
    with timer.step():
        loss = model(IDS)
        loss.backward()
    expected = other(IDS)
    expected.backward()
    assert loss.item() == expected.item()
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.grad, two.grad)
    timer.remove()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_module_time_is_split_into_forward_and_backward() -> None:
    model = Model(0.02, 0.03)
    timer = ModuleTimer(model, {"*.self_attn": ["attention.*"], "*.mlp": ["mlp"], "*.q_proj": ["attention.qkv"]})
    with timer.step():
        model(IDS).backward()
    assert timer._seconds["self_attn", "forward"] >= 0.04
    assert timer._seconds["self_attn", "backward"] >= 0.06
    assert timer._seconds["q_proj", "backward"] > 0
    found = seconds_of(timer.times())
    assert found["q_proj"] + found["mlp"] < found["self_attn"]  # which has none of what is timed within it
    times = timer.times()
    assert times["seconds"] >= sum(found.values())


def test_recomputation_of_a_module_counts_as_backward_time() -> None:
    model = Model(0.02, 0.03, checkpoint=True)
    timer = ModuleTimer(model)
    with timer.step():
        model(IDS).backward()
    assert 0.04 <= timer._seconds["attn", "forward"] < 0.06
    assert timer._seconds["attn", "backward"] >= 0.1


def test_a_step_with_only_a_forward_pass_is_marked_as_forward() -> None:
    model = Model()
    timer = ModuleTimer(model)
    with timer.step(), torch.no_grad():
        model(IDS)
    assert {one["pass"] for one in timer.times()["times"]} == {"forward"}


CONFIG = {
    "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "vocab_size": 16, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip


def timer_of_a_step(model: Model) -> ModuleTimer:
    timer = ModuleTimer(model)
    with timer.step():
        model(IDS).backward()
    return timer


def test_module_times_are_written_with_the_cost_components_that_count_the_work_of_each_module(tmp_path: Path) -> None:
    timer = timer_of_a_step(Model())
    timer.write(tmp_path / "times.json", floptally.flops(CONFIG, lengths=[4, 4]))
    written = json.loads((tmp_path / "times.json").read_text())
    assert [one["components"] for one in written["times"]] == [
        ["attention.qkv", "attention.core", "attention.output"], ["mlp"], ["lm_head"],
    ]  # fmt: skip


def test_the_command_line_program_reads_the_module_times_that_the_timer_wrote(tmp_path: Path, program: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    timer = timer_of_a_step(Model())
    timer.write(tmp_path / "times.json")  # with patterns: "moe.*" is of no component here
    done = subprocess.run(
        [program, "waterfall", "--config", tmp_path / "config.json", "--lengths", "4,4", "--gpus", "1", "--peak-tflops", "1",
         "--component-times", tmp_path / "times.json", "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["seconds"] == timer.times()["seconds"]
    assert [one["name"] for one in result["components"]] == ["attn", "mlp", "lm_head", "not timed"]
    lost = sum(int(one["lost"]) for one in result["components"])
    assert lost == sum(int(one["gpu_nanoseconds"]) for one in result["lines"][1:])


def test_a_waterfall_accepts_module_times_from_a_module_timer() -> None:
    model = Model()
    timer = timer_of_a_step(model)
    work = floptally.flops(CONFIG, lengths=[4, 4])
    result = work.waterfall(gpus=1, peak_tflops=1, component_times=timer)
    timed = timer.times(work)
    with timer.step():
        model(IDS).backward()
    assert result.seconds == timed["seconds"]
    assert result.components is not None
    lines = result.components.lines
    assert [line.name for line in lines] == ["attn", "mlp", "lm_head", "not timed"]
    assert [line.seconds for line in lines[:3]] == pytest.approx([one["seconds"] for one in timed["times"]], abs=2e-9)
    assert lines[1].components == ["mlp"]


def test_module_timer_leaves_out_a_failed_step_and_raises_an_error_if_no_step_was_timed() -> None:
    model = Model()
    timer = ModuleTimer(model)
    with pytest.raises(floptally.Error, match="times: no step was timed"):
        timer.times()
    with pytest.raises(RuntimeError, match="lost"), timer.step():
        model(IDS)
        raise RuntimeError("lost")
    with pytest.raises(IndexError), timer.step():
        model(IDS + 100)
    with timer.step():
        loss = model(IDS)
    loss.backward()  # outside: of no step
    assert {one["pass"] for one in timer.times()["times"]} == {"forward"}
    text = "step: begins inside another step: end that step first"
    with pytest.raises(floptally.Error, match=text), timer.step(), timer.step():
        pass
    text = r'components: must be \[\], as when the part "data" was timed first, got'
    with pytest.raises(floptally.Error, match=text), timer.step():
        with timer.part("data"):
            pass
        with timer.part("data", ["mlp"]):
            pass
    with pytest.raises(floptally.Error, match=r"parts: must match the name of a module of the model, got \*\.mixer: pass"):
        ModuleTimer(model, {"*.mixer": ["mamba.*"]})


def test_module_timer_raises_an_error_if_a_step_ends_during_the_backward_of_a_module() -> None:
    model = Model()
    timer = ModuleTimer(model, {"*.mlp": ["mlp"]})
    with pytest.raises(floptally.Error, match='step: ends during the backward of "mlp"'), timer.step():
        loss = model(IDS)
        torch.autograd.grad(loss, [model.layers[1].mlp.weight])  # no gradient reaches the module's input
    with timer.step():
        model(IDS).backward()
    assert timer._steps == 1


def test_a_profiler_trace_has_the_module_names_of_a_model_that_runs_under_named_in_traces(tmp_path: Path) -> None:
    model = Model()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with named_in_traces(model):
            model(IDS).backward()
        model(IDS)
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = [one["name"] for one in events if one.get("cat") == "user_annotation"]
    assert names.count("layers.1.self_attn.q_proj") == 1
    assert names.count("lm_head") == 1
