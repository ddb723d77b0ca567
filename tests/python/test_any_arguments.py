# SPDX-License-Identifier: Apache-2.0
"""Any values for any argument of the package: a result, an error that names a field, or the TypeError of a wrong type;
an error changes nothing.

FLOPTALLY_FUZZ is the number of calls, FLOPTALLY_SEED what is drawn.
"""

from __future__ import annotations

import array
import inspect
import math
import os
import pickle
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import floptally
from conftest import SOURCE

CALLS = int(os.environ.get("FLOPTALLY_FUZZ", "2000"))
SEED = os.environ.get("FLOPTALLY_SEED", "1")
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
CONFIG = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"
SMALL = {"model_type": "mixtral", "hidden_size": 32, "vocab_size": 96, "num_hidden_layers": 2, "intermediate_size": 48,
         "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
         "sliding_window": 5, "tie_word_embeddings": False}  # fmt: skip


class Lies:
    """A list that has another length than it says, an integer that is none, a mapping without values."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, at: int) -> int:
        raise IndexError(at)

    def __index__(self) -> int:
        raise TypeError

    def keys(self) -> list[str]:
        return ["lengths"]


def numbers(r: random.Random) -> Any:
    return r.choice([
        0, 1, 2, 3, 7, -1, 5000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), 2**200, -(2**200),
        0.0, -0.0, 0.5, 1.0, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf, True, False, None, np.int64(3), np.float32(2),
    ])  # fmt: skip


WORDS = ["", "exact", "verl", "useful", "padded", "train", "forward", "full", "bf16", "fp8", "H100 SXM", "text", "mlp", "*", "mlp=fp8",
         "attention.core", "run", "step", "sharded", "zigzag", "1f1b", "lora", "frozen", "tokens", "linear", "0", "7", "nan", "causal",
         "\ud800", "\0", "é" * 50, "x" * 500, "hstu(1,2)", "sliding_window(3)", "402TFLOP/s", "40%", "-3PFLOP", "128x64"]  # fmt: skip


def texts(r: random.Random) -> str:
    return r.choice(WORDS)


def arrays(r: random.Random) -> Any:
    kind = r.choice(["int8", "int32", ">i4", "int64", "uint32", "uint64", "float32", "bool", "object", "complex64", "U3", "M8[s]"])
    shape = r.choice([(), (0,), (1,), (4,), (2, 3), (3, 0), (2, 2, 2)])
    result: Any = np.zeros(shape, dtype=kind) if kind in ("object", "U3", "M8[s]") else (np.arange(math.prod(shape)) % 5).reshape(shape).astype(kind)
    if result.ndim == 1 and r.random() < 0.3:
        result = result[:: r.choice([2, -1])]
    return result.data if kind in ("int32", "int64", "float32") and result.ndim == 1 and r.random() < 0.3 else result


def any_value(r: random.Random, depth: int = 0) -> Any:
    simple: list[Callable[[random.Random], Any]] = [numbers, numbers, texts, arrays]
    if depth > 2 or r.random() < 0.5:
        return r.choice(simple)(r)
    inner = [any_value(r, depth + 1) for _ in range(r.randrange(5))]
    forms: list[Callable[[], Any]] = [
        lambda: inner, lambda: tuple(inner), lambda: {texts(r): value for value in inner}, lambda: iter(inner), lambda: range(r.randrange(-3, 9)),
        lambda: [r.randrange(9) for _ in range(r.randrange(6))], lambda: [0, 3, 3 + r.randrange(9)], lambda: bytes(inner[:0]) + b"\xff\x01",
        lambda: array.array(r.choice("bhilqd"), [1, 2, 3]), lambda: Lies(), lambda: object(), lambda: len, lambda: floptally.Tally,
        lambda: [(1, 2)], lambda: [(2, 3, 4)], lambda: (3, 9), lambda: [[1, 1, 0], [1, 0, 0]], lambda: [(1, 4, 6)], lambda: {"mlp": "fp8"},
    ]  # fmt: skip
    return r.choice(forms)()


class Things:
    """Objects of each kind, made anew for each call, and what shows that they are as they were."""

    def __init__(self) -> None:
        self.cost = floptally.cost(SMALL)
        self.tally = floptally.Tally(self.cost)
        self.tally.add_lengths([7, 300])
        self.meter = floptally.Meter(self.cost, gpus=1, peak_tflops=989)
        with self.meter.step(0.5):
            self.meter.add(lengths=[5, 9])
        self.meter.begin_step()
        self.work = self.cost.flops(lengths=[7, 300])
        self.plan = floptally.Plan(recompute="full")
        self.layout = floptally.ParallelLayout(rank=1, dp=2, tp=2)

    def state(self) -> Any:
        return (self.tally.accumulators().tolist(), self.meter.run.useful, self.meter.run.steps, self.meter.in_step, pickle.dumps(self.cost),
                self.work.total, self.work.to_dict())  # fmt: skip


def calls(things: Things) -> dict[str, Callable[..., Any]]:
    """Every public callable by its name, those of an object with its kind before."""
    found: dict[str, Callable[..., Any]] = {}
    # The first two run modules of PyTorch, which the caller trusts; the others are what calls give back.
    left_out = {"from_torch", "verify", "Bytes", "Comparison", "ComponentWaterfall", "Expectation", "Fit", "FoundLayout", "Mbu", "Search",
                "StepPasses", "TimedPass", "Verification", "Waterfall"}  # fmt: skip
    for name in floptally.__all__:
        result = getattr(floptally, name)
        if callable(result) and name not in left_out and not (isinstance(result, type) and issubclass(result, BaseException)):
            found[name] = result
    for kind, of in (("Mask", floptally.Mask), ("Cost", floptally.Cost), ("Tally", floptally.Tally), ("cost", things.cost),
                     ("tally", things.tally), ("meter", things.meter), ("work", things.work), ("layout", things.layout)):  # fmt: skip
        for name in dir(of):
            stands = inspect.getattr_static(of, name)
            called = isinstance(stands, staticmethod) if isinstance(of, type) else callable(stands)
            if called and not name.startswith("_") and name not in ("save", "load", "finish", "plot"):
                found[f"{kind}.{name}"] = getattr(of, name)
    return found


def parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return [one for one in inspect.signature(call).parameters.values() if one.name != "self"]
    except (TypeError, ValueError):
        return []


def well_meant(name: str, r: random.Random, things: Things) -> Any:
    """A value of the kind that an argument of this name takes, now and then."""
    known: dict[str, Callable[[], Any]] = {
        "cost": lambda: things.cost, "model": lambda: things.cost, "config": lambda: r.choice([SMALL, CONFIG, things.cost]),
        "tally": lambda: things.tally, "plan": lambda: things.plan, "lengths": lambda: [r.randrange(9) for _ in range(3)],
        "cu_seqlens": lambda: [0, 3, 9], "layout": lambda: things.layout, "mask": lambda: floptally.Mask.causal(), "rank": lambda: 0,
        "seconds": lambda: 0.5, "gpus": lambda: 1, "peak_tflops": lambda: 989.0, "accelerator": lambda: "H100 SXM",
        "encoder_lengths": lambda: [2, 2, 2], "ranks": lambda: 2, "costs": lambda: [5, 6, 7, 8], "work": lambda: things.work,
    }  # fmt: skip
    return known[name]() if name in known and r.random() < 0.8 else any_value(r)


def test_public_functions_called_with_random_arguments_return_a_result_or_raise_an_error_and_leave_all_objects_unchanged() -> None:
    r = random.Random(SEED)
    names = list(calls(Things()))
    assert len(names) > 120, names
    results = refused = 0
    things = Things()
    before = things.state()
    for number in range(CALLS):
        name = r.choice(names)
        call = calls(things)[name]
        known = parameters(call)
        given: dict[str, Any] = {}
        positional: list[Any] = []
        for one in known:
            is_needed = one.default is inspect.Parameter.empty
            if one.kind in VARIABLE or not (is_needed or r.random() < 0.2):
                continue
            value = well_meant(one.name, r, things)
            if one.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                given[one.name] = value
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(*positional, **given)
            results += 1
            things = Things()
        except (floptally.Error, TypeError, MemoryError) as problem:
            if isinstance(problem, floptally.Error):
                assert problem.field and problem.problem and len(str(problem)) < 2000, (number, name, given, problem)
            if isinstance(problem, TypeError):  # of a wrong type alone, and it says of which argument
                named, asked = re.findall(r"\w+", str(problem)), [one.name for one in known if one.kind not in VARIABLE]
                own = any(map(callable, given.values()))  # which raises as it likes
                assert own or not asked or set(asked) & set(named), (number, name, positional, given, problem)
            assert things.state() == before, (number, name, given)
            refused += 1
        except Exception as problem:
            raise AssertionError(f"{number}: {name}(*{positional!r:.300}, **{given!r:.600}): {problem!r}") from problem
    assert results > CALLS // 20 and refused > CALLS // 3, (results, refused)


def test_a_list_argument_with_a_wrong_length_or_an_exception_in_its_methods_is_an_error_that_names_the_argument() -> None:
    things = Things()
    cost, tally, meter = things.cost, things.tally, things.meter
    wrong: list[tuple[Callable[[Any], Any], Any, str]] = [
        (lambda rows: floptally.Cost.from_entries(rows), 3, "entries: must be a list of floptally.Entry or tuples, got 3"),
        (lambda rows: floptally.Cost.from_entries(rows), [Lies()], "entries[0].row: must be a floptally.Entry or (component,"),
        (lambda rows: floptally.Cost.from_entries(rows), [(1, "tokens", "linear", 2)], "entries[0].component: must be a str, got 1"),
        (lambda loads: cost.sample_loads([tally], loads), 0.5, "loads: must be a list of (components, load[, weight]), got 0.5"),
        (lambda loads: cost.sample_loads([tally], loads), [Lies()], "loads[0]: must be (components, load)"),
        (lambda steps: tally.add_speculative(9, steps), np.array(4), "steps: must be a list of (drafted, accepted), got array(4)"),
        (lambda steps: tally.add_speculative(9, steps), [Lies()], "steps[0]: must be (drafted, accepted), got <"),
        (lambda pairs: cost.flops(new_tokens=pairs), [Lies()], "new_tokens[0]: must be (n, past)"),
        (lambda visits: cost.flops(lengths=[3], routed=visits), Lies(), "routed: must be (useful, padded)"),
        (lambda modules: floptally.utilize(modules, seconds=1, gpus=1, peak_tflops=9), True, "modules: must be a list of floptally.StepModule, got True"),
        (lambda lengths: meter.add_hstu(lengths), len, "lengths: must be a list, got <built-in"),
        (lambda targets: meter.add_hstu([9], targets=targets), [None], "targets[0]: must be an integer from 0 to"),
        (lambda targets: meter.add_hstu([9], targets=targets), [10], "lengths[0]: must be at least 10, the sum of 0 contextual tokens and 10 targets, got 9"),
        (lambda span: meter.passes(span), [], "span: must be one of step, interval, run, got []"),
        (lambda other: meter.timed("a", cost=other), [1], "cost: must be a floptally.Cost, got [1]"),
        (lambda parts: floptally.cost(SMALL, parts=parts), 7, "parts: must be a list of names, got 7"),
        (lambda spec: floptally.cost(SMALL, spec=spec), "\0", 'spec: cannot read "'),
        (lambda name: cost.total_flops(lengths=[3], convention=name), "\ud800", "convention: must be valid Unicode"),
        (lambda clock: meter.begin_run(clock=clock), lambda: None, "clock: must be a number, got None"),
    ]  # fmt: skip
    before = things.state()
    for call, value, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            call(value)
        assert str(raised.value).startswith(text), raised.value
    assert things.state() == before
