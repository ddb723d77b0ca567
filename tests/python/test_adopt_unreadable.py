# SPDX-License-Identifier: Apache-2.0
"""Every drop-in of a model that floptally cannot read: one warning, and the number of the trainer's own function, also
if the drop-in already reads the model as it is constructed."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import floptally
import pytest
from floptally import adopt
from floptally.adopt import _original

H100 = "NVIDIA H100 80GB HBM3"
UNREADABLE = {"model_type": "a type of tomorrow"}
OWN = 77


class Named:
    """A config of an unknown type, as an object."""

    model_type = "a type of tomorrow"

    def to_dict(self) -> dict[str, Any]:
        return dict(UNREADABLE)


class Owner:
    """A model or config whose own methods count."""

    config = Named()

    def estimate_mfu(self, *given: Any) -> float:
        return float(OWN)

    def get_num_params(self) -> int:
        return 1

    def get_nparams_and_flops(self, model: Any, seq_len: int) -> tuple[int, int]:
        return 1, OWN

    def floating_point_ops(self, inputs: Any) -> int:
        return OWN

    def num_flops_per_token(self, seq_len: int) -> int:
        return OWN


def function(*given: Any, **more: Any) -> float:
    return float(OWN)


class Tracker:
    def __init__(self, *given: Any) -> None:
        self.total_flops = 0.0

    @classmethod
    def from_config(cls, *given: Any) -> Tracker:
        return cls()

    def track_batch(self, lengths: Any) -> None:
        self.total_flops += OWN


class Counter:
    def __init__(self, *given: Any) -> None:
        self.num_flop_per_token = OWN

    def estimate_flops(self, *given: Any, **more: Any) -> tuple[float, float]:
        return float(OWN), 1.0


class Dims:
    @classmethod
    def from_hf_config(cls, name: str) -> Dims:
        return cls()

    def flops(self, *given: Any, **more: Any) -> int:
        return OWN

    prefill_flops = decode_flops = flops


class Profiler:
    """As much of DeepSpeed's as the drop-in derives from."""

    def __init__(self, *given: Any) -> None: ...
    def start_profile(self, ignore_list: Any = None) -> None: ...
    def get_total_flops(self, as_string: bool = False) -> int:
        return OWN


def scalar_model() -> Any:
    """A model whose input has no axis of samples. It multiplies a matrix of 1 x 77 by a vector: 2 · 77 FLOPs."""
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):  # type: ignore[name-defined,misc,unused-ignore]
        def forward(self, x: Any) -> Any:
            return torch.ones(1, OWN) @ torch.ones(OWN, 1) * x

    return Model(), torch.tensor(1.0)


def of_lightning() -> float:
    model, x = scalar_model()
    cost = floptally.Cost.from_entries([("x", "count", "linear", 10, 5)])
    return adopt.lightning.measure_flops(model, lambda: model(x), convention="exact", cost=cost) / 2


def of_deepspeed() -> float:
    model, x = scalar_model()
    cost = floptally.Cost.from_entries([("x", "count", "linear", 10, 5)])
    profiler = adopt.deepspeed.FlopsProfiler(model, convention="exact", cost=cost)
    profiler.start_profile()
    model(x)
    return float(profiler.get_total_flops())


def of_nemo_rl() -> float:
    tracker = adopt.nemo_rl.FLOPTracker.from_config("name", UNREADABLE, convention="exact")
    tracker.track_batch([8])
    return tracker.total_flops


def of_miles() -> float:
    arguments = adopt.miles.flops_args_from_hf_config(UNREADABLE)
    return adopt.miles.calculate_fwd_flops([8], arguments, convention="exact")


def of_open_instruct() -> float:
    dims = adopt.open_instruct.ModelDims.from_hf_config("name", convention="exact", accelerator=H100)
    found = {dims.flops([8], [2]), dims.prefill_flops([8]), dims.decode_flops([8], [2])}
    peak = dims.device_flops
    found.add(round(dims.calculate_learner_utilization([8], [2], 1.0, 1, 1)["mfu"] * peak / 100))
    found.add(round(dims.approximate_learner_utilization(8, 8, 1.0, 1)["mfu"] * peak / 100))
    assert len(found) == 1
    return float(found.pop())


#: By the drop-in: the modules of the trainer with their contents, and a call of an unreadable model.
CASES: dict[str, tuple[dict[str, dict[str, Any]], Callable[[], float]]] = {
    "automodel": (
        {"nemo_automodel.components.utils.flops_utils": {"get_flops_formula_for_hf_config": lambda config: function}},
        lambda: adopt.automodel.get_flops_formula_for_hf_config(UNREADABLE, convention="exact")(gbs=1, seq_len=8),
    ),
    "bionemo": (
        {"perf_logger": {"_compute_non_attn_per_token_flops": function}},
        lambda: adopt.bionemo._compute_non_attn_per_token_flops(UNREADABLE, convention="exact"),
    ),
    "deepspeed": (
        {
            "deepspeed.profiling.flops_profiler.profiler": {"macs_to_string": str, "number_to_string": str},
            "deepspeed.profiling.flops_profiler": {"FlopsProfiler": Profiler},
        },
        of_deepspeed,
    ),
    "lightning": ({}, of_lightning),
    "maxtext": (
        {"maxtext.utils.maxtext_utils": {"calculate_tflops_training_per_device": lambda *given, **more: (OWN, 70.0, 7.0)}},
        lambda: adopt.maxtext.calculate_tflops_training_per_device(types.SimpleNamespace(), log=False, convention="exact")[0],
    ),
    "megatron": (
        {"megatron.training.training": {"num_floating_point_operations": function}},
        lambda: adopt.megatron.num_floating_point_operations(types.SimpleNamespace(), 2, convention="exact"),
    ),
    "megatron_bridge": (
        {"megatron.bridge.training.utils.flop_utils": {"num_floating_point_operations": function}},
        lambda: adopt.megatron_bridge.num_floating_point_operations(types.SimpleNamespace(), 2, convention="exact"),
    ),
    "miles": (
        {"miles.utils.flops_utils": {"calculate_fwd_flops": function, "flops_args_from_hf_config": lambda config: types.SimpleNamespace()}},
        of_miles,
    ),
    "nanogpt": ({}, lambda: adopt.nanogpt.estimate_mfu(Owner(), 1, 1.0, convention="exact")),
    "nemo_rl": ({"nemo_rl.utils.flops_tracker": {"FLOPTracker": Tracker}}, of_nemo_rl),
    "olmo_core": ({}, lambda: adopt.olmo_core.num_flops_per_token(Owner(), 8, convention="exact")),
    "open_instruct": ({"open_instruct.utils": {"ModelDims": Dims}}, of_open_instruct),
    "prime_rl": (
        {"prime_rl.trainer.perf": {"PerfCounter": Counter}},
        lambda: adopt.prime_rl.PerfCounter(Owner(), 8, convention="exact", accelerator=H100).num_flop_per_token,
    ),
    "slime": (
        {"slime.utils.flops_utils": {"calculate_fwd_flops": function}},
        lambda: adopt.slime.calculate_fwd_flops([8], types.SimpleNamespace(), convention="exact"),
    ),
    "torchtitan": (
        {},
        lambda: adopt.torchtitan.get_nparams_and_flops(Owner(), None, 8, convention="exact")[1],
    ),
    "transformers": ({}, lambda: adopt.transformers.floating_point_ops(Owner(), {}, convention="exact")),
    "trl": (
        {"trl.trainer.utils": {"compute_flops_per_token": function}},
        lambda: adopt.trl.compute_flops_per_token(UNREADABLE, 8, convention="exact"),
    ),
    "veomni": (
        {"veomni.utils.count_flops": {"VeomniFlopsCounter": Counter}},
        lambda: adopt.veomni.VeomniFlopsCounter(UNREADABLE, convention="exact", accelerator=H100).estimate_flops([8], 1.0)[0],
    ),
    "verl": (
        {"verl.utils.flops_counter": {"FlopsCounter": Counter}},
        lambda: adopt.verl.FlopsCounter(UNREADABLE, convention="exact", accelerator=H100).estimate_flops([8], 1.0)[0],
    ),
}


@pytest.fixture()
def modules(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The trainer's modules, with nothing in them but the functions that count."""
    monkeypatch.setattr(_original, "_warned", set())
    for module in CASES[request.param][0]:
        parts = module.split(".")
        for size in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:size]), types.ModuleType(".".join(parts[:size])))
    for module, contents in CASES[request.param][0].items():
        result = types.ModuleType(module)
        vars(result).update(contents)
        monkeypatch.setitem(sys.modules, module, result)
    monkeypatch.delitem(sys.modules, "floptally.adopt._deepspeed", raising=False)
    if request.param == "open_instruct":
        transformers = pytest.importorskip("transformers")
        monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda *given, **more: Named())


def test_every_adopted_trainer_is_tested_with_a_model_that_floptally_cannot_read() -> None:
    assert set(CASES) == set(adopt.__all__)


@pytest.mark.parametrize(("modules", "name"), [(name, name) for name in CASES], indirect=["modules"])
def test_a_model_that_floptally_cannot_read_gives_one_warning_and_the_count_of_the_trainers_own_function(modules: None, name: str) -> None:
    call = CASES[name][1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [call(), call()] == [OWN, OWN]
    texts = [str(one.message) for one in caught if "floptally.adopt" in str(one.message)]
    assert len(texts) == 1, texts
    assert texts[0].endswith("Its own count is returned")
