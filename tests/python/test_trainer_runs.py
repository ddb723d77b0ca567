# SPDX-License-Identifier: Apache-2.0
"""Real train() calls at random: accumulation, recompute, evaluation, checkpoints, failures, retries, resumes and
processes, in any mixture. A plain sum over the batches that the trainer trained says what must have been counted.

FLOPTALLY_RUNS sets how many train() calls run; .ci/long runs 40, some in two to four processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import floptally
import pytest
from floptally import Plan, callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
COST = floptally.cost(CONFIG)
RUNS = int(os.environ.get("FLOPTALLY_RUNS", "6"))
SEED = int(os.environ.get("FLOPTALLY_SEED", "1"))
LONGEST = 12
USEFUL = {length: COST.flops(lengths=[length]).total for length in range(1, LONGEST + 1)}
EXECUTED = {
    again: {
        (length, row): COST.flops(lengths=[length], row_length=row, plan=Plan(recompute="full" if again else "none")).executed_total
        for row in range(1, LONGEST + 1)
        for length in range(1, row + 1)
    }
    for again in (False, True)
}


class Truth:
    """What a run has trained: a plain sum over its batches, step by step."""

    def __init__(self) -> None:
        self.done = (0, 0, 0)  # steps, useful and executed FLOPs
        self.open = (0, 0)
        self.saved: dict[int, tuple[int, int, int]] = {}  # by the step of the checkpoint

    def add(self, mask: Any, again: bool) -> None:
        lengths, row = mask.sum(dim=1).tolist(), int(mask.shape[1])
        useful = sum(USEFUL[length] for length in lengths)
        self.open = (self.open[0] + useful, self.open[1] + sum(EXECUTED[again][length, row] for length in lengths))

    def step(self) -> None:
        self.done = (self.done[0] + 1, self.done[1] + self.open[0], self.done[2] + self.open[1])
        self.open = (0, 0)


def rows_of(seed: str, number: int = 24) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        length, row = draw.randint(2, LONGEST), LONGEST
        ids = [draw.randint(1, 31) for _ in range(length)] + [0] * (row - length)
        mask = [1] * length + [0] * (row - length)
        labels = [token if there else -100 for token, there in zip(ids, mask)]
        rows.append({"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask), "labels": torch.tensor(labels)})
    return rows


def new_model() -> Any:
    import transformers

    torch.manual_seed(0)
    known = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**known, attn_implementation="eager", use_cache=False))


class Settings:
    """How one life trains, drawn at random."""

    def __init__(self, name: str, world: int) -> None:
        draw = random.Random(name)
        self.accumulates = draw.choice((1, 1, 2, 3))
        self.recomputes = draw.random() < 0.3
        self.evaluates = draw.random() < 0.5
        self.steps = draw.randint(3, 5)
        self.saves = draw.choice((1, 2))
        self.batch = draw.choice((1, 2))
        self.reduces = world > 1 and draw.random() < 0.5
        # What happens in each further train() call of this life.
        self.events = [draw.choice(("again", "resume", "resume")) for _ in range(draw.randint(0, 1 if world > 1 else 2))]
        self.fails_at = draw.randint(1, 3) if world == 1 and draw.random() < 0.5 else 0
        self.too_large = world == 1 and draw.random() < 0.25


def trainer_of(folder: Path, settings: Settings, meter: floptally.Meter, truth: Truth, fails: list[int]) -> Any:
    import transformers

    class Trains(transformers.Trainer):  # type: ignore[name-defined,misc,unused-ignore]
        def training_step(self, model: Any, inputs: Any, *given: Any, **named: Any) -> Any:
            rows = len(inputs["attention_mask"])
            if settings.too_large and rows > 1:
                raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
            mask = inputs["attention_mask"].clone()
            loss = super().training_step(model, inputs, *given, **named)
            if fails and fails[0] == self.state.global_step:
                fails.pop()
                raise ZeroDivisionError
            truth.add(mask, settings.recomputes)
            return loss

    class Plain(transformers.TrainerCallback):  # type: ignore[name-defined,misc,unused-ignore]
        def on_step_begin(self, *given: Any, **named: Any) -> None:
            truth.open = (0, 0)

        def on_step_end(self, *given: Any, **named: Any) -> None:
            truth.step()

        def on_save(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            truth.saved[state.global_step] = truth.done

    options: dict[str, Any] = {
        "output_dir": str(folder), "per_device_train_batch_size": 2 if settings.too_large else settings.batch,
        "max_steps": settings.steps, "gradient_accumulation_steps": settings.accumulates, "logging_steps": 1, "report_to": [],
        "use_cpu": True, "disable_tqdm": True, "save_strategy": "steps", "save_steps": settings.saves,
        "gradient_checkpointing": settings.recomputes, "auto_find_batch_size": settings.too_large,
        "eval_strategy": "steps" if settings.evaluates else "no", "eval_steps": 2,
    }  # fmt: skip
    if settings.recomputes:
        options["gradient_checkpointing_kwargs"] = {"use_reentrant": False}
    if "WORLD_SIZE" in os.environ:
        options["ddp_backend"] = "gloo"
    rows = rows_of("rows")
    trainer = Trains(
        model=new_model(), args=transformers.TrainingArguments(**options), train_dataset=rows, eval_dataset=rows[:4], callbacks=[Plain()]
    )
    callbacks.TrainerMeter(meter).attach(trainer)
    return trainer


def new_meter(settings: Settings) -> floptally.Meter:
    if settings.reduces:
        from floptally.distributed import Reduction

        return floptally.Meter(COST, peak_tflops=1e-3, reduce=Reduction(COST))
    return floptally.Meter(COST, peak_tflops=1e-3)


Numbers = tuple[int, int, int]


def forget_optimizer(checkpoint: str | None) -> None:
    """Removes the optimizer's state from a checkpoint of several processes if this transformers cannot load it: before
    release 5 it asks PyTorch for a device "cpu:0", which newer releases of PyTorch do not know."""
    import transformers

    if checkpoint is None or not torch.distributed.is_initialized() or int(transformers.__version__.partition(".")[0]) >= 5:
        return
    torch.distributed.barrier()
    for file in ("optimizer.pt", "scheduler.pt"):
        Path(checkpoint, file).unlink(missing_ok=True)
    torch.distributed.barrier()


def live(name: str, folder: Path, world: int) -> tuple[Settings, list[tuple[Numbers, Numbers]]]:
    """Runs a life in this process. Returns (what the meter counted, what was trained) after each train() call."""
    settings = Settings(name, world)
    meter, truth = new_meter(settings), Truth()
    fails = [settings.fails_at] if settings.fails_at else []
    trainer = trainer_of(folder, settings, meter, truth, fails)
    found = []
    for place, event in enumerate(["begin", *settings.events]):
        checkpoint = None
        if event == "resume" and truth.saved:
            step = max(truth.saved)
            settings.steps = step + 2
            meter, saved = new_meter(settings), truth.saved
            truth = Truth()
            truth.done = saved[step]
            truth.saved = saved
            checkpoint = str(folder / f"checkpoint-{step}")
            settings.too_large = False  # the batch size that was found is not in a checkpoint
            trainer = trainer_of(folder, settings, meter, truth, fails)
        try:
            forget_optimizer(checkpoint)
            trainer.train(resume_from_checkpoint=checkpoint)
            assert not meter.in_step, f"{name}: call {place}"
        except ZeroDivisionError:
            truth.open = (0, 0)  # the next train() forgets the step
        done = meter.run
        found.append(((done.steps, done.useful, done.executed), truth.done))
    return settings, found


def on_rank(rank: int, world: int, port: int, folder: str, name: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings, found = live(name, Path(folder) / "run", world)
    Path(folder, f"{rank}.txt").write_text(repr((settings.reduces, found)))
    torch.distributed.destroy_process_group()


def server_of_ranks() -> Any:
    """Where ranks start: a process that has imported the trainers once, which takes longer than a rank's training."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "transformers", "accelerate", "test_trainer_runs"])
    return context


def in_processes(name: str, folder: Path, world: int) -> int:
    """Runs a life in several processes. Returns the number of its train() calls."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = server_of_ranks()
    ranks = [context.Process(target=on_rank, args=(rank, world, port, str(folder), name)) for rank in range(world)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(500)
        assert process.exitcode == 0, name
    of_ranks = [eval((folder / f"{rank}.txt").read_text()) for rank in range(world)]
    reduces, calls = of_ranks[0][0], len(of_ranks[0][1])
    for call in range(calls):
        counted, trained = (tuple(found[call][what] for _, found in of_ranks) for what in range(2))
        if reduces:
            whole = (trained[0][0], sum(one[1] for one in trained), sum(one[2] for one in trained))
            assert counted == (whole,) * world, f"{name}: call {call}"
            continue
        assert counted == trained, f"{name}: call {call}"  # each rank has totals of its own
    return calls


def test_random_train_calls_count_the_same_as_a_plain_sum_over_their_batches(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    torch.set_num_threads(1)
    calls = place = 0
    worlds: list[int] = []
    while calls < RUNS:
        name, folder = f"{SEED} life {place}", tmp_path / str(place)
        folder.mkdir()
        world = (1, 1, 2, 1, 1, 4, 1, 2, 1, 3)[place % 10] if RUNS > 6 else (1, 1, 2)[place % 3]
        if world == 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, found = live(name, folder, 1)
            for call, (counted, trained) in enumerate(found):
                assert counted == trained and counted[0] > 0, f"{name}: call {call}"
            calls += len(found)
        else:
            calls += in_processes(name, folder, world)
        worlds.append(world)
        place += 1
    assert 2 in worlds or RUNS < 3


TERMINATED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import test_trainer_runs as t
from pathlib import Path

settings = t.Settings("terminated", 1)
settings.accumulates, settings.recomputes, settings.evaluates, settings.steps, settings.saves = 2, False, False, 4, 1
settings.batch, settings.fails_at, settings.too_large = 2, 0, False
meter, truth = t.new_meter(settings), t.Truth()
trainer = t.trainer_of(Path({folder!r}), settings, meter, truth, [])
trains = trainer.training_step
microbatches = []

def training_step(*given, **named):
    loss = trains(*given, **named)
    microbatches.append(1)
    if len(microbatches) == 5 and {dies}:  # inside of the third step
        os.kill(os.getpid(), signal.SIGTERM)
    return loss

trainer.training_step = training_step
trainer.train(resume_from_checkpoint=None if {dies} else str(Path({folder!r}) / "checkpoint-2"))
print("counted", meter.run.steps, meter.run.useful)
"""


def test_a_run_that_is_terminated_inside_a_step_continues_from_its_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    tests = str(Path(__file__).resolve().parent)

    def run(dies: bool) -> Any:
        program = TERMINATED.format(tests=tests, folder=str(tmp_path), dies=dies)
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=900, check=False)

    first = run(True)
    assert first.returncode == -signal.SIGTERM, first.stderr
    again = run(False)
    assert again.returncode == 0, again.stderr
    steps, useful = (int(number) for number in again.stdout.split("counted ")[1].split())
    # Four steps of two microbatches of two rows: what is trained is what a run without an end in between trains.
    whole = tmp_path / "whole"
    settings = Settings("terminated", 1)
    settings.accumulates, settings.recomputes, settings.evaluates, settings.steps, settings.saves = 2, False, False, 4, 4
    settings.batch, settings.fails_at, settings.too_large = 2, 0, False
    meter, truth = new_meter(settings), Truth()
    trainer_of(whole, settings, meter, truth, []).train()
    assert (steps, useful) == (meter.run.steps, meter.run.useful) == truth.done[:2]


def test_a_lightning_run_that_is_terminated_inside_a_step_continues_from_its_checkpoint(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")
    rows = [{"input_ids": row["input_ids"], "attention_mask": row["attention_mask"]} for row in rows_of("rows", 12)]

    class Module(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self, dies_at: int) -> None:
            super().__init__()
            self.net, self.dies_at, self.trained = torch.nn.Embedding(32, 4), dies_at, []

        def training_step(self, batch: Any, index: int) -> Any:
            self.trained.append(sum(USEFUL[length] for length in batch["attention_mask"].sum(dim=1).tolist()))
            if len(self.trained) == self.dies_at:
                os.kill(os.getpid(), signal.SIGTERM)
            return self.net(batch["input_ids"]).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    ended: list[int] = []  # Lightning's own number of steps

    def run(dies_at: int, checkpoint: Any) -> tuple[floptally.Meter, list[int]]:
        meter, module = floptally.Meter(COST, gpus=1, peak_tflops=1e-3), Module(dies_at)
        saves = lightning.pytorch.callbacks.ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=1, save_top_k=-1, filename="{step}")
        trainer = lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
            accumulate_grad_batches=2, default_root_dir=str(tmp_path), callbacks=[callbacks.LightningMeter(meter), saves],
        )  # fmt: skip
        loader = torch.utils.data.DataLoader(rows, batch_size=2)  # type: ignore[arg-type]
        try:
            trainer.fit(module, loader, ckpt_path=checkpoint)
        except BaseException as problem:  # Lightning turns the signal into an exception of its own
            assert "SIGTERM" in type(problem).__name__ or isinstance(problem, (SystemExit, KeyboardInterrupt)), problem
            assert not meter.in_step
        ended.append(trainer.global_step)
        return meter, module.trained

    before = signal.getsignal(signal.SIGTERM)
    try:
        died, before_the_end = run(4, None)
    finally:
        signal.signal(signal.SIGTERM, before)
    newest = max(tmp_path.glob("*.ckpt"), key=lambda file: int(file.stem.rpartition("=")[2].split("-")[0]))
    steps = int(newest.stem.rpartition("=")[2].split("-")[0])
    assert 0 < steps == died.run.steps < 3 and died.run.useful == sum(before_the_end[: 2 * steps])
    again, after_it = run(0, str(newest))
    # An older Lightning trains a batch of the last step again.
    assert 3 <= again.run.steps == ended[-1] <= 4
    assert again.run.useful == died.run.useful + sum(after_it)
