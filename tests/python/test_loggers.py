# SPDX-License-Identifier: Apache-2.0
"""The scalars of callbacks in the files of loggers: each name once, on the step axis of the trainer's own metrics."""

from __future__ import annotations

import csv
import importlib
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from floptally import callbacks
from test_callbacks import examples, new_meter, trainer_in

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

#: By the name of a metric: the steps at which a file has it.
Steps = dict[str, list[int]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for all files. Nothing is sent anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return tmp_path


def in_tensorboard(folder: Path) -> Steps:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found: Steps = {}
    for file in folder.rglob("events.out.tfevents.*"):
        events = accumulator.EventAccumulator(str(file.parent))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found[tag] = [event.step for event in events.Scalars(tag)]
    return found


def records_of(data: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format: chunks in blocks of 32 KiB, after W&B's own header of 7 bytes."""
    at, record, block = 7, b"", 32768
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        size, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        record += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the end of one
            yield record
            record = b""


def in_wandb(folder: Path, axis: str) -> Steps:
    """Of the files of W&B's offline runs. axis: the metric that the trainer logs as its step."""
    pytest.importorskip("wandb")
    protocol = importlib.import_module("wandb.proto.wandb_internal_pb2")
    found: Steps = defaultdict(list)
    (file,) = folder.rglob("*.wandb")
    for record in _finished(file, protocol.Record):
        row = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        for name in row:
            if axis in row:
                found[name].append(int(float(row[axis])))
    return dict(found)


def _finished(file: Path, new_record: Callable[[], Any]) -> list[Any]:
    """All records of a run, once its end is among them. W&B's service still writes after `finish` has returned."""
    for _ in range(300):
        records = []
        for data in records_of(file.read_bytes()):
            records.append(new_record())
            records[-1].ParseFromString(data)
        if any(record.HasField("exit") for record in records):
            return records
        time.sleep(0.2)
    raise AssertionError(f"{file} has no end of the run")


def in_mlflow(folder: Path) -> Steps:
    """Of MLflow's file store: a file for each metric, of lines with time, value and step."""
    pytest.importorskip("mlflow")
    found: Steps = {}
    for file in folder.rglob("metrics/**/*"):
        if file.is_file():
            name = file.relative_to(next(parent for parent in file.parents if parent.name == "metrics"))
            found[str(name)] = [int(line.split()[2]) for line in file.read_text().splitlines()]
    return found


def in_csv(folder: Path) -> Steps:
    """Of Lightning's CSV files."""
    found: Steps = defaultdict(list)
    for file in folder.rglob("metrics.csv"):
        for row in csv.DictReader(file.open()):
            for name, value in row.items():
                if value not in ("", None):
                    found[name].append(int(row["step"]))
    return dict(found)


@pytest.mark.parametrize(
    ("logger", "read", "group"),
    [
        ("tensorboard", in_tensorboard, "train/"),
        ("wandb", lambda folder: in_wandb(folder, "train/global_step"), "train/"),
        ("mlflow", in_mlflow, ""),
    ],
)
def test_log_files_of_the_hugging_face_trainer_have_each_scalar_of_the_meter_once_next_to_the_loss(
    folder: Path, logger: str, read: Callable[[Path], Steps], group: str
) -> None:
    pytest.importorskip(logger)
    trainer, _ = trainer_in(folder, new_meter(), report_to=[logger])
    trainer.train()
    if logger != "tensorboard":
        getattr(importlib.import_module(logger), "finish" if logger == "wandb" else "end_run")()
    found = read(folder)
    assert found[f"{group}loss"] == [1, 2, 3]
    for name in ("mfu_pct", "tflops_per_gpu", "tokens_per_second", "step_seconds", "steps"):
        assert found[f"{group}{name}"] == [1, 2, 3], name
        assert [other for other in found if other.endswith(name) and other not in (f"{group}{name}",)] == []


def lightning_loggers(folder: Path) -> dict[str, Any]:
    loggers = pytest.importorskip("lightning.pytorch.loggers", reason="Lightning is not installed")
    return {
        "csv": lambda: loggers.CSVLogger(folder),
        "tensorboard": lambda: loggers.TensorBoardLogger(folder),
        "wandb": lambda: loggers.WandbLogger(save_dir=folder, offline=True),
        "mlflow": lambda: loggers.MLFlowLogger(tracking_uri=(folder / "mlruns").as_uri()),
    }


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize(
    ("name", "package", "read"),
    [
        ("csv", "lightning", in_csv),
        ("tensorboard", "tensorboard", in_tensorboard),
        ("wandb", "wandb", lambda folder: in_wandb(folder, "trainer/global_step")),
        ("mlflow", "mlflow", in_mlflow),
    ],
)
def test_log_files_of_lightning_have_the_scalars_of_the_meter_at_the_steps_of_the_other_metrics(
    folder: Path, name: str, package: str, read: Callable[[Path], Steps], every: int
) -> None:
    pytest.importorskip(package)
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Model(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.weight = torch.nn.Parameter(torch.ones(()))

        def training_step(self, batch: Any, index: int) -> None:
            for optimizer in self.optimizers():  # two steps of optimizers are one of Lightning's
                optimizer.zero_grad()
                self.manual_backward(self.weight * batch["attention_mask"].sum())
                optimizer.step()
            self.log("train/own", 1.0 + index)

        def configure_optimizers(self) -> Any:
            return [torch.optim.SGD(self.parameters(), lr=1e-3), torch.optim.SGD(self.parameters(), lr=1e-3)]

    rows = [{"attention_mask": row["attention_mask"]} for row in examples()]
    trainer = lightning.Trainer(
        max_epochs=1, limit_train_batches=6, logger=lightning_loggers(folder)[name](), accelerator="cpu",
        enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=every, enable_checkpointing=False,
        callbacks=[callbacks.LightningMeter(new_meter())],
    )  # fmt: skip
    trainer.fit(Model(), torch.utils.data.DataLoader(rows, batch_size=2, shuffle=False))  # type: ignore[arg-type,unused-ignore]
    if name == "wandb":
        importlib.import_module("wandb").finish()
    found = read(folder)
    assert found["train/own"] == list(range(every - 1, 6, every))
    for metric in ("mfu_pct", "tflops_per_gpu", "tokens_per_second", "steps"):
        assert found[f"train/{metric}"] == found["train/own"], metric
        assert [other for other in found if other.endswith(f"/{metric}") and other != f"train/{metric}"] == []
