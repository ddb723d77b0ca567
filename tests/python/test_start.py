# SPDX-License-Identifier: Apache-2.0
"""docs/start.md: its blocks run one after the other and print what the page shows; trainers run on tiny models."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request
from typing import Any

import floptally
import pytest

from conftest import SOURCE
from shown import OF_A_TRAINER, OF_TORCH, PORT, Block, blocks, consoles, printed

PAGE = (SOURCE / "docs" / "start.md").read_text()
BLOCKS = blocks(PAGE)


def of(text: str) -> Block:
    """The one block with this text."""
    (found,) = [block for block in BLOCKS if text in block.lines]
    return found


def test_the_tutorial_runs_from_zero_to_a_dashboard(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    scope: dict[str, Any] = {"__name__": "a_script"}
    assert PAGE.count(f", {PORT})") == 1 and PAGE.count(f":{PORT}") == 1
    compared = 0
    for number, block in enumerate(BLOCKS):
        if block.language != "python" or any(text in block.lines for text in (*OF_A_TRAINER, *OF_TORCH)):
            continue
        lines = block.lines.replace(f", {PORT})", ", 0)")  # a port that is free
        lines = lines.replace(f'"http://localhost:{PORT}"', 'f"http://localhost:{server.server_port}"')
        assert printed(lines, f"docs/start.md, block {number}", scope) == block.output, block.lines
        compared += 1
    assert compared == 9
    (picture,) = re.findall(r"`(floptally\.plots\.\w+\(history, .*?\))`", PAGE)
    exec(f"import floptally.plots\n{picture}", scope)
    assert (tmp_path / "mfu.svg").read_text().startswith("<?xml")

    server = scope["server"]
    try:
        with urllib.request.urlopen(f"http://localhost:{server.server_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    assert "floptally_flops_total{" in text and 'run="night 7"' in text and text.endswith("# EOF\n")


def test_the_command_line_program_prints_the_output_shown_on_the_docs_page_start() -> None:
    assert PAGE.count("```console\n") == 4 and consoles(PAGE) == PAGE


def test_every_code_block_on_the_docs_page_start_prints_the_output_shown_there() -> None:
    for block in BLOCKS:
        assert (block.output is not None) == (block.language in ("python", "cpp")), block.lines
        assert block.output is None or block.output.strip(), block.lines


def test_the_pytorch_example_on_the_docs_page_start_prints_the_output_shown_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    block = of("from_torch(")
    assert printed(block.lines, "docs/start.md", {"__name__": "a_script"}) == block.output


# ---- trainers: the script runs on a tiny model, and the numbers of its report are those of the model that it names ----


def published(name: str) -> floptally.Cost:
    found = json.loads((SOURCE / "tests" / "golden" / "published.json").read_text())
    (config,) = [model["config"] for model in found if model["name"] == name]
    return floptally.cost(config)


def report(meter: floptally.Meter, lengths: list[int], seconds: float, *notes: str) -> str:
    """What a callback says after a hundred steps."""
    for _ in range(100):
        with meter.step(seconds):
            meter.add(lengths=lengths)
    callback = floptally.callbacks.MeterAdapter(meter)
    for note in notes:
        callback.note(note)
    return callback.report() + "\n"


def without_numbers(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)


def test_the_lora_report_on_the_docs_page_start_has_the_numbers_of_the_model_that_the_script_trains() -> None:
    qwen = published("Qwen/Qwen2.5-7B")
    lora = [floptally.WeightSetting(f"*/{name}", "lora", rank=16) for name in ("q_proj", "v_proj")]
    plan = floptally.Plan(recompute="full", weights=[floptally.WeightSetting("*", "frozen"), *lora])
    meter = floptally.Meter(qwen, gpus=8, counted="all_gpus", accelerator="NVIDIA H100 80GB HBM3", plan=plan)
    shown = of("import datasets, peft").output
    adapters = 28 * 16 * (3584 + 3584 + 3584 + 512)  # A and B of q_proj and v_proj
    notes = (
        "DDP over 8 of 8 processes: MFU is of 8 GPUs of 8, summed over all ranks",
        "the model recomputes all 28 layers",
        f"{adapters} of {qwen.parameters + adapters} parameters train, as PEFT says",
    )
    assert report(meter, [4096] * 8, 0.3104, *notes) == shown
    assert "100 steps of one full sequence of 4096 tokens on each H100, 0.3104 s each" in " ".join(PAGE.split())


def test_the_lightning_report_on_the_docs_page_start_has_the_numbers_of_the_model_in_the_code_block() -> None:
    mistral = floptally.cost(SOURCE / "examples/data/mistral-7b-v0.1.json")
    meter = floptally.Meter(mistral, gpus=1, accelerator="NVIDIA H100 80GB HBM3")
    note = "the model does not say what it recomputes; counted is nothing, as the plan says"
    assert report(meter, [8192], 0.9, note) == of("import lightning").output
    assert "one sequence of 8192 tokens a step and 0.9 s a step" in " ".join(PAGE.split())


#: A model, a tokenizer and texts in folders with the names that the script has of the hub.
HUB = """
import json, os, tokenizers, transformers
words = {word: id for id, word in enumerate(["<pad>", "<eos>", *"abcdefgh"])}
words = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
words = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
words.save_pretrained("Qwen/Qwen2.5-7B")
tiny = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**tiny, num_key_value_heads=1)).save_pretrained("Qwen/Qwen2.5-7B")
os.makedirs("trl-lib/Capybara")
with open("trl-lib/Capybara/train.jsonl", "w") as texts:
    for number in range(8):
        texts.write(json.dumps({"text": " ".join("abcdefgh"[: 1 + number])}) + "\\n")
"""
ON_A_CPU = """
import functools, torch
torch.cuda.get_device_name = lambda: "NVIDIA H100 80GB HBM3"
"""
TRL_ON_A_CPU = ON_A_CPU + """
import trl
trl.SFTConfig = functools.partial(trl.SFTConfig, use_cpu=True, report_to=[], num_train_epochs=1)
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


def test_the_lora_script_on_the_docs_page_start_runs_with_trl_on_two_ranks(tmp_path: pathlib.Path) -> None:
    for name in ("torch", "transformers", "accelerate", "datasets", "peft", "trl"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", HUB], cwd=tmp_path, env=environment, check=True, capture_output=True)
    block = of("import datasets, peft")
    assert block.output is not None
    lines = block.lines.replace("logging_steps=10", "logging_steps=2")  # eight texts on two ranks are four steps
    path = script(tmp_path, TRL_ON_A_CPU, lines, AND_WHAT_WAS_COUNTED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", path]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said, _, counted = done.stdout.partition("logged ")
    expected = without_numbers(block.output)
    assert without_numbers(said).endswith(expected), said

    # Texts of 1 to 8 words and an end, each once: forward, the backward of two adapters, and every layer once more.
    config = json.loads((tmp_path / "Qwen/Qwen2.5-7B/config.json").read_text())
    lora = [floptally.WeightSetting(f"*/{name}", "lora", rank=16) for name in ("q_proj", "v_proj")]
    plan = floptally.Plan(recompute="full", weights=[floptally.WeightSetting("*", "frozen"), *lora])
    work = floptally.flops(config, lengths=list(range(2, 10)), plan=plan)
    logged, run = counted.splitlines()
    assert run == f"run 4 {work.total} {work.executed.total}"
    lines = json.loads(logged)
    assert len(lines) == 2 and all(line["steps"] == 2 and line["hfu_pct"] > line["mfu_pct"] > 0 for line in lines)


A_MODULE = """
import lightning, torch
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
    def training_step(self, batch, number):
        return self.layer(batch["input_ids"][:, :1].float()).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
module = Module()
loader = torch.utils.data.DataLoader([{"input_ids": torch.ones(8, dtype=torch.int64)}] * 100, batch_size=1)
lightning.Trainer = functools.partial(lightning.Trainer, accelerator="cpu", logger=False, enable_checkpointing=False)
"""


def test_the_lightning_example_on_the_docs_page_start_reports_a_hundred_steps(tmp_path: pathlib.Path) -> None:
    for name in ("torch", "lightning"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    block = of("import lightning")
    assert block.output is not None
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    path = script(tmp_path, ON_A_CPU, A_MODULE, block.lines, "print('steps', meter.run.steps, meter.run.useful)")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said, _, counted = done.stdout.rpartition("steps ")
    assert without_numbers(said).endswith(without_numbers(block.output)), said
    step = floptally.flops(SOURCE / "examples/data/mistral-7b-v0.1.json", lengths=[8])
    assert counted == f"100 {100 * step.total}\n"
