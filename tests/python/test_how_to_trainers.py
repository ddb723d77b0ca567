# SPDX-License-Identifier: Apache-2.0
"""How to log MFU in a trainer: docs/how_to/hugging_face.md, trl_lora.md, lightning.md, own_loop.md, megatron.md, verl.md.

Scripts run on tiny models on the CPU. The numbers that a page shows are those of the model that it names, at the seconds
that it says. Megatron-LM and verl are not installed: their functions are called as the trainers call them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import os
import pathlib
import re
import socket
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import floptally
from conftest import SOURCE, golden
from floptally import adopt, callbacks
from floptally.adopt import _original
from shown import Block, blocks, printed
from test_adopt import arguments, named

FOLDER = SOURCE / "docs" / "how_to"
H100 = "NVIDIA H100 80GB HBM3"
MISTRAL = SOURCE / "examples/data/mistral-7b-v0.1.json"
SIX = ("mfu_pct", "mfu_padded_pct", "hfu_pct", "tflops_per_gpu", "tokens_per_second", "step_seconds")
PAGES = ("hugging_face.md", "trl_lora.md", "lightning.md", "own_loop.md", "megatron.md", "verl.md")


def text_of(page: str) -> str:
    return (FOLDER / page).read_text()


def of(page: str, text: str) -> Block:
    """The one block of a page with this text."""
    (found,) = [block for block in blocks(text_of(page)) if text in block.lines]
    return found


def says(page: str, sentence: str) -> bool:
    return sentence in " ".join(text_of(page).split())


def needs(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


# ---- the numbers of a page ----


def published(name: str) -> floptally.Cost:
    (config,) = [model["config"] for model in golden("published.json") if model["name"] == name]
    return floptally.cost(config)


def after_100_steps(meter: floptally.Meter, lengths: list[int], seconds: float) -> floptally.Meter:
    for _ in range(100):
        with meter.step(seconds):
            meter.add(lengths=lengths)
    return meter


def report(meter: floptally.Meter, *notes: str) -> str:
    """What a callback says of the meter's steps."""
    callback = callbacks.MeterAdapter(meter)
    for note in notes:
        callback.note(note)
    return callback.report() + "\n"


def six(meter: floptally.Meter, prefix: str = "") -> str:
    """The lines of a log that the pages show."""
    scalars = meter.scalars("run", "")
    return "".join(f"{prefix}{name:18} {scalars[name]:9.2f}\n" for name in SIX)


def without_numbers(text: str | None) -> str:
    assert text is not None
    return re.sub(r" +", " ", re.sub(r"[\d.]+", "#", text))


def lora() -> floptally.Plan:
    weights = [floptally.WeightSetting(f"*/{name}", "lora", rank=16) for name in ("q_proj", "v_proj")]
    return floptally.Plan(recompute="full", weights=[floptally.WeightSetting("*", "frozen"), *weights])


def test_the_report_and_the_log_of_the_hugging_face_page_have_the_numbers_of_the_model_that_its_script_trains() -> None:
    page = "hugging_face.md"
    meter = floptally.Meter(published("Qwen/Qwen3-0.6B"), gpus=1, accelerator=H100)
    after_100_steps(meter, [4096] * 4, 0.19)
    assert report(meter, "the model recomputes nothing") == of(page, "import datasets").output
    assert six(meter) == of(page, "trainer.state.log_history").output
    assert says(page, "100 steps of four full rows of 4096 tokens, 0.19 s each on one H100")


def test_the_report_and_the_log_of_the_lora_page_have_the_numbers_of_the_model_that_its_script_trains() -> None:
    page, qwen = "trl_lora.md", published("Qwen/Qwen2.5-7B")
    meter = floptally.Meter(qwen, gpus=8, counted="all_gpus", accelerator=H100)
    after_100_steps(meter, [4096] * 8, 0.3104)
    assert says(page, f"if another tool says {meter.scalars('run', '')['mfu_pct']:.0f} %")
    meter = floptally.Meter(qwen, gpus=8, counted="all_gpus", accelerator=H100, plan=lora())
    after_100_steps(meter, [4096] * 8, 0.3104)
    adapters = 28 * 16 * (3584 + 3584 + 3584 + 512)  # A and B of q_proj and v_proj
    notes = (
        "DDP over 8 of 8 processes: MFU is of 8 GPUs of 8, summed over all ranks",
        "the model recomputes all 28 layers",
        f"{adapters} of {qwen.parameters + adapters} parameters train, as PEFT says",
    )
    assert report(meter, *notes) == of(page, "import datasets, peft").output
    assert six(meter) == of(page, "trainer.state.log_history").output
    assert says(page, "100 steps of one full sequence of 4096 tokens on each H100, 0.3104 s each")


# ---- scripts of transformers and TRL ----

#: A model, a tokenizer and texts in folders with the names that the scripts have of the hub.
HUB = """
import json, os, tokenizers, transformers
words = {word: id for id, word in enumerate(["<pad>", "<eos>", *"abcdefgh"])}
words = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
words = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
tiny = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
def save(kind, name, dataset):
    words.save_pretrained(name)
    config = transformers.AutoConfig.for_model(kind, **tiny, num_key_value_heads=1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(name)
    os.makedirs(dataset)
    with open(f"{dataset}/train.jsonl", "w") as texts:
        for number in range(8):
            texts.write(json.dumps({"text": " ".join("abcdefgh"[: 1 + number])}) + "\\n")
save("qwen3", "Qwen/Qwen3-0.6B", "roneneldan/TinyStories")
save("qwen2", "Qwen/Qwen2.5-7B", "trl-lib/Capybara")
"""
ON_A_CPU = """
import functools, torch
torch.cuda.get_device_name = lambda: "NVIDIA H100 80GB HBM3"
"""
TRL_ON_A_CPU = ON_A_CPU + """
import trl
trl.SFTConfig = functools.partial(trl.SFTConfig, use_cpu=True, report_to=[], num_train_epochs=1)
"""
TRAINER_ON_A_CPU = ON_A_CPU + """
import transformers
transformers.TrainingArguments = functools.partial(transformers.TrainingArguments, use_cpu=True, report_to=[])
"""
#: Every logged line as JSON, and the step's FLOPs over all ranks.
AND_WHAT_WAS_COUNTED = """
if trainer.is_world_process_zero():
    import json
    logged = [line for line in trainer.state.log_history if "mfu_pct" in line]
    print("logged", json.dumps(logged))
    print("run", meter.run.steps, meter.run.useful, meter.run.executed)
"""


def script(folder: pathlib.Path, *texts: str) -> pathlib.Path:
    path = folder / "train.py"
    path.write_text("\n".join(texts))
    return path


def started(path: pathlib.Path, ranks: int = 1) -> str:
    """What a script prints in its folder on so many ranks, without the hub. Each rank has what torchrun sets."""
    common = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(path.parent / "home"), "OMP_NUM_THREADS": "1"}
    if ranks > 1:
        common |= {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    running = [
        subprocess.Popen(
            [sys.executable, path], cwd=path.parent, env={**common, **({"RANK": str(i), "LOCAL_RANK": str(i)} if ranks > 1 else {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in range(ranks)
    ]  # fmt: skip
    try:
        outputs = [one.communicate(timeout=900) for one in running]
    finally:
        for one in running:
            one.kill()
    for one, (_, problem) in zip(running, outputs, strict=True):
        assert one.returncode == 0, problem
    return outputs[0][0]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, str]:
    """A folder with what the scripts have of the hub, and what the script of the Hugging Face page prints there."""
    needs("torch", "transformers", "accelerate", "datasets")
    folder, page = tmp_path_factory.mktemp("trainers"), "hugging_face.md"
    train, look, ranks = of(page, "import datasets"), of(page, "trainer.state.log_history"), of(page, "world_size")
    lines = train.lines.replace("logging_steps=10", "logging_steps=2").replace("max_steps=100", "max_steps=4, seed=0")
    return folder, started(script(folder, HUB, TRAINER_ON_A_CPU, lines, look.lines, AND_WHAT_WAS_COUNTED, ranks.lines, "print(meter.gpus)"))


def test_the_script_of_the_hugging_face_page_trains_a_tiny_model_and_prints_the_lines_shown(trained: tuple[pathlib.Path, str]) -> None:
    folder, printed_there = trained
    train, look = of("hugging_face.md", "import datasets"), of("hugging_face.md", "trainer.state.log_history")
    said, _, counted = printed_there.partition("logged ")
    assert without_numbers(said).endswith(without_numbers(train.output) + without_numbers(look.output)), said

    # Four steps over eight texts of 1 to 8 words: each text twice.
    config = json.loads((folder / "Qwen/Qwen3-0.6B/config.json").read_text())
    work = floptally.flops(config, lengths=2 * list(range(1, 9)))
    logged, run, gpus = counted.splitlines()
    assert run.rpartition(" ")[0] == f"run 4 {work.total}" and gpus == "0"  # the callback sets the number
    lines = json.loads(logged)
    assert len(lines) == 2 and all(line["steps"] == 2 and line["mfu_padded_pct"] > line["mfu_pct"] > 0 for line in lines)


def test_the_script_of_the_lora_page_runs_with_trl_on_two_ranks_and_prints_the_lines_shown(trained: tuple[pathlib.Path, str]) -> None:
    needs("peft", "trl")
    folder, page = trained[0], "trl_lora.md"
    train, look = of(page, "import datasets, peft"), of(page, "trainer.state.log_history")
    lines = train.lines.replace("logging_steps=10", "logging_steps=2")  # eight texts on two ranks are four steps
    said, _, counted = started(script(folder, TRL_ON_A_CPU, lines, look.lines, AND_WHAT_WAS_COUNTED), ranks=2).partition("logged ")
    assert without_numbers(said).endswith(without_numbers(train.output) + without_numbers(look.output)), said

    # Texts of 1 to 8 words and an end, each once: forward, the backward of two adapters, and every layer once more.
    config = json.loads((folder / "Qwen/Qwen2.5-7B/config.json").read_text())
    work = floptally.flops(config, lengths=list(range(2, 10)), plan=lora())
    logged, run = counted.splitlines()
    assert run == f"run 4 {work.total} {work.executed.total}"
    lines = json.loads(logged)
    assert len(lines) == 2 and all(line["steps"] == 2 and line["hfu_pct"] > line["mfu_pct"] > 0 for line in lines)


# ---- loops whose clock is the page's: the model's forward takes as long as the page says ----


class Clock:
    """Seconds that pass only where a model runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def an_h100(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """PyTorch on a GPU of that name, in a folder with the examples."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: H100)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    return tmp_path


def test_the_lightning_page_prints_the_lines_shown(an_h100: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("lightning")
    import lightning
    import torch

    clock = Clock()

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            clock.now += 0.9
            return self.layer(batch["input_ids"][:, :1].float()).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    quiet: dict[str, Any] = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    monkeypatch.setattr(lightning, "Trainer", functools.partial(lightning.Trainer, **quiet, enable_model_summary=False))
    meter = functools.partial(callbacks.LightningMeter, clock=clock)
    monkeypatch.setitem(vars(callbacks), "LightningMeter", meter)
    rows: Any = [{"input_ids": torch.ones(8192, dtype=torch.int64)}] * 100
    loader = torch.utils.data.DataLoader(rows, batch_size=1)
    scope: dict[str, Any] = {"__name__": "a_script", "module": Module(), "loader": loader}
    for block in blocks(text_of("lightning.md"))[:2]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            said = printed(block.lines, "lightning.md", scope)
        assert block.output is not None and said.endswith(block.output), said
    assert says("lightning.md", "one sequence of 8192 tokens a step and 0.9 s a step")
    (ranks,) = blocks(text_of("lightning.md"))[2:]
    exec(ranks.lines, scope)  # before `fit` has made the process group
    scope["callback"].know_gpus(8, 1, "DDP over 8 of 8 processes")
    assert scope["meter"].gpus == 8 and scope["callback"].notes[-1].endswith("MFU is of 8 GPUs of 8, summed over all ranks")


#: What a loop of one's own has: a model whose forward takes 0.9 s, and rows of 4096 and 3000 tokens.
A_LOOP = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def forward(self, batch):
        clock.now += 0.9
        return self.layer(batch["input_ids"][:, :1].float()).sum()
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mask = torch.ones(2, 4096, dtype=torch.int64)
mask[1, 3000:] = 0
batch = {"input_ids": torch.ones(2, 4096, dtype=torch.int64), "attention_mask": mask}
loader = [batch] * 20
def evaluate():
    clock.now += 1000
"""


def test_the_page_about_a_loop_of_your_own_prints_the_lines_shown(an_h100: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(floptally.Meter, "_now", property(lambda meter: clock.now))
    scope: dict[str, Any] = {"__name__": "a_script", "clock": clock}
    exec(A_LOOP, scope)
    page = blocks(text_of("own_loop.md"))
    assert len(page) == 7 and "init_process_group" in page[-1].lines
    for block in page[:-1]:
        assert printed(block.lines, "own_loop.md", scope) == (block.output or ""), block.lines
    assert scope["meter"].run.seconds == pytest.approx(20 * 0.9 + 0.9 + 3 * 0.9)  # without the evaluation
    with callbacks.step(scope["meter"], scope["batch"]):
        scope["model"](scope["batch"])
    assert scope["meter"].last_step.seconds == pytest.approx(0.9)
    work = scope["cost"].flops(lengths=[4096, 3000])
    assert scope["meter"].last_step.useful == work.total
    assert says("own_loop.md", "rows of 4096 and 3000 real tokens in 4096 slots each, and 0.9 s a step, 20 steps print")


def test_the_page_about_a_loop_of_your_own_sums_over_two_ranks(tmp_path: pathlib.Path) -> None:
    needs("torch")
    block = of("own_loop.md", "init_process_group")
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    head = 'import types, floptally\nclock = types.SimpleNamespace(now=0.0)\ncost = floptally.cost("examples/data/mistral-7b-v0.1.json")'
    path = script(tmp_path, ON_A_CPU, head, A_LOOP, block.lines, "torch.distributed.destroy_process_group()")
    assert started(path, ranks=2) == block.output
    assert says("own_loop.md", "`torchrun --nproc-per-node 2 train.py`")


# ---- Megatron-LM and verl ----

MEGATRON = "megatron.training.training"
VERL = "verl.utils.flops_counter"


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> types.ModuleType:
    """A module of a trainer that is not installed."""
    parts = name.split(".")
    for i in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    module = types.ModuleType(name)
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, name, module)
    for i in range(1, len(parts)):
        above, below = ".".join(parts[:i]), ".".join(parts[: i + 1])
        setattr(sys.modules[above], parts[i], sys.modules[below])
    return module


@pytest.fixture
def log_on_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The log of `compare=True` goes where a block prints."""

    class Screen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            print(record.getMessage())

    monkeypatch.setattr(_original, "_warned", set())
    monkeypatch.setattr(_original.log, "propagate", False)
    screen = Screen()
    _original.log.addHandler(screen)
    yield
    _original.log.removeHandler(screen)


def megatrons_own(args: Any, batch_size: int, *sums: Any) -> float:
    """What Megatron-LM's function returned for Llama-3-8B (tests/golden/adopt.json), of any number of full rows."""
    case = named("megatron", "llama-3-8b/bshd")
    assert args.num_layers == 32 and args.padded_vocab_size == 128256 and sums in ((), (None, None))
    return case["expected"] / case["call"]["batch_size"] * batch_size  # type: ignore[no-any-return]


class VerlsOwn:
    """What verl's counter returned for Mistral-7B (tests/golden/peers.json), for the page's lengths."""

    def __init__(self, config: Any) -> None:
        pass

    def estimate_flops(self, lengths: list[int], seconds: float) -> tuple[float, float]:
        (case,) = [case for case in golden("peers.json") if case["id"] == "verl/mistral-7b-v0.1/mixed"]
        each, rest = divmod(len(lengths), 3)
        assert rest == 0 and lengths == case["batch"]["seqlens"] * each
        return each * case["expected"] / seconds / 1e12, 989.0


def test_the_megatron_page_prints_the_lines_shown(monkeypatch: pytest.MonkeyPatch, log_on_screen: None) -> None:
    scope: dict[str, Any] = {"__name__": "a_script"}
    call, both, compared = (block for block in blocks(text_of("megatron.md")) if block.language == "python")
    for block in (call, both):
        assert printed(block.lines, "megatron.md", scope) == block.output, block.lines
    args = arguments("megatron", named("megatron", "llama-3-8b/bshd"))
    assert all(getattr(args, name) == value for name, value in vars(scope["args"]).items() if name != "padded_vocab_size")
    (full, packed) = (named("megatron", f"llama-3-8b/{name}") for name in ("bshd", "packed"))  # of Megatron's own function
    assert both.output is not None
    assert f"{full['expected'] / 3 * 128 / 1e12:9.2f}" in both.output and f"{packed['expected'] / 1e12:9.2f}" in both.output
    assert packed["call"]["seqlen_squared_sum_in_batch"] == sum(n * n for n in packed["lengths"])

    stand_in(monkeypatch, MEGATRON, num_floating_point_operations=megatrons_own)
    scope["args"].padded_vocab_size = 128256
    assert printed(compared.lines, "megatron.md", scope) == compared.output


def test_the_verl_page_prints_the_lines_shown(an_h100: pathlib.Path, monkeypatch: pytest.MonkeyPatch, log_on_screen: None) -> None:
    scope: dict[str, Any] = {"__name__": "a_script"}
    call, compared, plan = (block for block in blocks(text_of("verl.md")) if block.language == "python")
    assert printed(call.lines, "verl.md", scope) == call.output
    own = VerlsOwn(None).estimate_flops(scope["lengths"], 0.4)[0]
    assert f"verl_2026  perf/mfu/actor {own / 989 / 8:.4f}\n" in (call.output or "")
    stand_in(monkeypatch, VERL, FlopsCounter=VerlsOwn)
    assert printed(compared.lines, "verl.md", scope) == compared.output
    assert printed(plan.lines, "verl.md", scope) == plan.output


@pytest.mark.parametrize("page", ["megatron.md", "verl.md"])
def test_each_diff_of_a_how_to_page_imports_existing_names_and_counts_exactly(page: str) -> None:
    found = [block.lines for block in blocks(text_of(page)) if block.language == "diff"]
    assert len(found) == (2 if page == "megatron.md" else 1)
    for lines in found:
        added = [line[1:].strip() for line in lines.splitlines() if line.startswith("+")]
        (imported,) = [line for line in added if line.startswith("from floptally.adopt.")]
        exec(imported, {})
        assert any('convention="exact"' in line for line in added)


def test_the_lines_of_the_megatron_page_replace_the_function_that_megatron_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {"megatron.training.training": MEGATRON, "flop_utils": "megatron.bridge.training.utils.flop_utils"}
    for text, name in lines.items():
        module = stand_in(monkeypatch, name, num_floating_point_operations=megatrons_own)
        diffs = [block.lines for block in blocks(text_of("megatron.md")) if block.language == "diff"]
        (diff,) = [one for one in diffs if text in one and (text != "megatron.training.training" or "bridge" not in one)]
        exec("".join(line[1:] + "\n" for line in diff.splitlines()), {})
        assert module.num_floating_point_operations.keywords == {"convention": "exact"}
        assert module.num_floating_point_operations.func.__module__.startswith("floptally.adopt.megatron")


def test_the_megatron_and_verl_pages_name_the_commits_that_the_drop_ins_were_compared_with() -> None:
    from originals import COMMITS

    for page, names in {"megatron.md": ("Megatron-LM", "Megatron-Bridge"), "verl.md": ("verl",)}.items():
        for name in names:
            assert COMMITS[name][:9] in text_of(page), name
    assert {"megatron", "megatron_bridge", "verl"} <= set(adopt.__all__)


# ---- the old curve next to the new one ----


@pytest.mark.parametrize(
    ("page", "convention", "name"),
    [
        ("hugging_face.md", "hf_6nd", "mfu_hf_6nd_pct"),
        ("trl_lora.md", "hf_6nd", "mfu_hf_6nd_pct"),
        ("lightning.md", "torch_flop_counter", "train/mfu_torch_flop_counter_pct"),
        ("own_loop.md", "nanogpt", "train/mfu_nanogpt_pct"),
    ],
)
def test_a_meter_logs_the_old_number_under_the_name_that_the_page_says(page: str, convention: str, name: str) -> None:
    assert f'beside="{convention}"' in text_of(page) and f"`{name}`" in text_of(page)
    meter = meter_of(gpus=1, beside=convention)
    with meter.step(1.0):
        meter.add(lengths=[100])
    assert meter.scalars("run", "train/" if "/" in name else "")[name] > 0


# ---- errors that people meet ----


def said(action: Callable[[], Any]) -> str:
    """The text of the error or warning that an action ends in."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            action()
        except Exception as error:
            return str(error)
    (text,) = {str(one.message) for one in caught}
    return text


def meter_of(**options: Any) -> floptally.Meter:
    return floptally.Meter(floptally.cost(MISTRAL), **{"accelerator": H100, **options})


def step_of(*batches: Any, **options: Any) -> None:
    with callbacks.step(meter_of(**{"gpus": 1, **options}), *batches, seconds=1.0):
        pass


def know(world: int, **options: Any) -> None:
    callbacks.MeterAdapter(meter_of(**options)).know_gpus(world, 1, f"DDP over {world} of {world} processes")


def contradict() -> None:
    """A plan of recomputed attention, and a model of 28 layers that recompute."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    layer = type("GradientCheckpointingLayer", (torch.nn.Linear,), {"gradient_checkpointing": True})
    model = torch.nn.ModuleList([layer(1, 1) for _ in range(28)])
    callbacks.MeterAdapter(meter_of(gpus=1, plan=floptally.Plan(recompute="attention"))).watch(model)


def compute_in_fp32() -> None:
    callbacks.MeterAdapter(meter_of(gpus=1, precision="bf16")).compare_precision("fp32")


def too_fast() -> None:
    meter = meter_of(gpus=1)
    with meter.step(0.001):
        meter.add(lengths=[8192])


def later_batch() -> None:
    adapter = callbacks.MeterAdapter(meter_of(gpus=1), prefix="", clock=Clock())
    for boundaries in ([0, 5], [0, 5, 3]):
        adapter.begin()
        adapter.add({"cu_seqlens": boundaries})
        adapter.end(1.0)


def resume_late() -> None:
    meter = meter_of(gpus=1)
    with meter.step(1.0):
        meter.add(lengths=[5])
    meter.load_state_dict(meter.state_dict())


def without_group() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cost = floptally.cost(MISTRAL)
    floptally.Meter(cost, reduce=floptally.distributed.Reduction(cost), accelerator=H100)


def with_a_sum(**options: Any) -> None:
    """A meter with a sum over 8 ranks, and more than it takes."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cost = floptally.cost(MISTRAL)
    reduction = floptally.distributed.Reduction(cost, layout=floptally.ParallelLayout(rank=0, dp=8))
    floptally.Meter(cost, reduce=reduction, accelerator=H100, **options)


def without_gpus() -> None:
    with callbacks.step(meter_of(), {"input_ids": IDS}):
        pass


def inside_another() -> None:
    meter = meter_of(gpus=1)
    with meter.step(), meter.step():
        pass


def megatron_args(**changes: Any) -> types.SimpleNamespace:
    return arguments("megatron", named("megatron", "llama-3-8b/bshd"), **changes)


def megatron_exact(args: Any, *batch: Any, **options: Any) -> Any:
    return adopt.megatron.num_floating_point_operations(args, *batch, convention="exact", **options)


def bridge_with_peft() -> None:
    cfg = types.SimpleNamespace(model=megatron_args(), peft=object())
    adopt.megatron_bridge.num_floating_point_operations(cfg, 2, convention="exact")


def counter(config: Any = MISTRAL, **options: Any) -> Any:
    return adopt.verl.FlopsCounter(config, convention="exact", **{"accelerator": H100, **options})


UNKNOWN = functools.partial(meter_of, gpus=1, accelerator="NVIDIA GeForce RTX 9090")
IDS, ONES = np.zeros((2, 8), np.int64), np.ones((2, 1, 8, 8))
MESSAGES: dict[str, list[Callable[[], Any]]] = {
    "hugging_face.md": [
        functools.partial(know, 8, gpus=8, counted="all_gpus"), contradict, compute_in_fp32, UNKNOWN, too_fast, later_batch, without_group,
    ],
    "trl_lora.md": [
        without_group, functools.partial(with_a_sum, gpus=8, counted="all_gpus"),
        functools.partial(with_a_sum, plan=floptally.Plan(recompute="full")), contradict, UNKNOWN,
    ],
    "lightning.md": [
        without_group, functools.partial(know, 8, gpus=8, counted="all_gpus"), functools.partial(step_of, {"text": IDS}), UNKNOWN, later_batch,
    ],
    "own_loop.md": [
        functools.partial(meter_of, gpus=8), without_gpus, without_group, functools.partial(with_a_sum, plan=floptally.Plan(recompute="full")),
        functools.partial(step_of, {"input_ids": IDS, "attention_mask": ONES}), inside_another,
        functools.partial(meter_of(gpus=1).add, lengths=[5]), resume_late, too_fast, UNKNOWN,
    ],
    "megatron.md": [
        lambda: megatron_exact(megatron_args(window_size=(128, 0)), 3, 1266690, 1636),
        lambda: megatron_exact(megatron_args(experimental_attention_variant="dsa"), 3),
        lambda: megatron_exact(megatron_args(), 3, compare=True), bridge_with_peft,
    ],
    "verl.md": [
        lambda: counter({"model_type": "my_model"}), lambda: counter(accelerator=None).estimate_flops([5], 1.0),
        lambda: counter(plan=lora()).estimate_flops([5], 1.0), lambda: counter().estimate_flops([5], 1.0, images_seqlens=[16]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_the_errors_of_a_how_to_page_are_those_that_floptally_says_word_for_word(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_original, "_warned", set())
    monkeypatch.setattr(_original.Original, "find", lambda self, *, load: None)  # no trainer is installed
    table = text_of(page).partition("\n## Errors\n")[2]
    shown = re.findall(r"^\| `(.*?)` \| \S", table, re.MULTILINE)
    found = [said(action) for action in MESSAGES[page]]
    patterns = [re.compile(".*".join(map(re.escape, message.split("…"))), re.DOTALL) for message in shown]
    for text in found:
        assert sum(pattern.fullmatch(text) is not None for pattern in patterns) == 1, text
    assert len(shown) == len(found) >= 4


@pytest.mark.parametrize("page", PAGES)
def test_each_how_to_page_begins_with_a_question_and_every_block_shows_what_it_prints(page: str) -> None:
    text = text_of(page)
    assert re.match(r"# How do I log MFU .*\?\n", text)
    for block in blocks(text):
        prints = "print(" in block.lines or "compare=True" in block.lines
        assert block.language in ("python", "diff") and (block.output is not None) == prints, block.lines


def test_six_flops_for_each_parameter_and_slot_are_the_padded_mfu_of_the_second_convention() -> None:
    meter = floptally.Meter(floptally.cost(MISTRAL), gpus=1, accelerator=H100, beside="hf_6nd")
    with meter.step(0.9):
        meter.add(lengths=[1000, 3000], row_length=4096)
    scalars = meter.scalars()
    six = 6 * floptally.cost(MISTRAL).parameters - 6 * 32000 * 4096  # the Trainer leaves out the embedding
    for name, tokens in (("mfu_hf_6nd_pct", 4000), ("mfu_hf_6nd_padded_pct", 8192)):
        assert scalars[f"train/{name}"] == pytest.approx(100 * six * tokens / 0.9 / 989e12, rel=1e-3), name
        assert all(f"`{name}`" in text_of(page) for page in ("hugging_face.md", "trl_lora.md"))
